// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recorder opens a file when it is mapped; an import comes later, so a file counts only if it is
 * proved to be the one that was mapped. A wrong name is worse than none.
 */
#include "output/import/import_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file_kind.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/foreign/foreign_file.h"
#include "base/keyed.h"
#include "base/map.h"
#include "elf/image.h"
#include "symbol/jitdump.h"
#include "symbol/kallsyms.h"
#include "symbol/mapping_bias.h"
#include "symbol/perf_map.h"
#include "symbol/symbolizer.h"
#include "trace/recbuf.h"

#define FILES_MAX      65536u
#define PROCESSES_MAX  4096u
#define SUCCESSORS_MAX 256
#define READ_BYTES     (16u << 20) /* of a jitdump or a perf map, in one step */
#define READ_STEPS     64u	   /* and that many at most */
#define NOTES_MAX      (64u << 10)

/* A file that was looked up, with its names or without. */
struct known_file {
	uint64_t file_id;
	int32_t vaddr_pages;
	uint8_t build_id[TAPIR_BUILD_ID_BYTES];
	uint8_t build_id_bytes;
};

struct code {
	struct tapir_jit_table *table;
	bool has_perf_map; /* it was looked for */
};

struct tapir_import_names {
	struct tapir_catalog *catalog;
	struct tapir_symbolizer *symbolizer;
	struct tapir_recbuf buf;
	struct tapir_keyed(struct known_file) files; /* by what was asked; more: looked up anew */
	struct tapir_map code_by_tgid;		     /* struct code * */
	int root_fd;
};

int tapir_import_names__new(struct tapir_catalog *catalog, struct tapir_import_names **out)
{
	struct tapir_import_names *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return -ENOMEM;
	n->catalog = catalog;
	n->root_fd = tapir_foreign__root(0);
	err = tapir_symbolizer__new(&n->symbolizer);
	if (err)
		tapir_import_names__free(n);
	else
		*out = n;
	return err;
}

void tapir_import_names__free(struct tapir_import_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->code_by_tgid.cap; i++) {
		struct code *code = n->code_by_tgid.slots[i].used
					    ? (void *)(uintptr_t)n->code_by_tgid.slots[i].value
					    : NULL;

		if (code)
			tapir_jit_table__free(code->table);
		free(code);
	}
	tapir_map__fini(&n->code_by_tgid);
	tapir_keyed__fini(&n->files);
	tapir_symbolizer__free(n->symbolizer);
	tapir_recbuf__fini(&n->buf);
	tapir_guard__fd(&n->root_fd);
	free(n);
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool is_same_file(const struct tapir_elf *elf, const struct tapir_import_file *file)
{
	const struct stat *st = tapir_elf__stat(elf);
	size_t len = 0;
	const uint8_t *id = tapir_elf__build_id(elf, &len);

	if (file->build_id_bytes)
		return id && len >= file->build_id_bytes &&
		       !memcmp(id, file->build_id, file->build_id_bytes);
	return file->inode && st->st_ino == file->inode && tapir_file__dev(st) == file->dev;
}

static void read_image(struct tapir_import_names *n, struct tapir_elf *elf, int fd,
		       const char *path, struct known_file *out)
{
	const Elf64_Phdr *code = tapir_elf__first_executable(elf);
	size_t len = 0;
	const uint8_t *id = tapir_elf__build_id(elf, &len);

	out->file_id = tapir_elf__file_id(elf);
	if (code)
		out->vaddr_pages = (int32_t)((int64_t)(code->p_vaddr - code->p_offset) /
					     TAPIR_VADDR_PAGE_BYTES);
	out->build_id_bytes = (uint8_t)(len < TAPIR_BUILD_ID_BYTES ? len : TAPIR_BUILD_ID_BYTES);
	if (id)
		memcpy(out->build_id, id, out->build_id_bytes);
	tapir_symbolizer__add_file(n->symbolizer, out->file_id, fd, path, 0);
}

/* Whatever stands in the way, the file has no names. */
static void find_file(struct tapir_import_names *n, const struct tapir_import_file *file,
		      struct known_file *out)
{
	tapir_autofree char *path = strndup(file->path, file->path_len);
	int mark = tapir_diag__cnt();
	tapir_autofd int fd = -1;
	struct tapir_elf *elf;

	if (!path || *path != '/' || path[1] == '/')
		return;
	fd = tapir_foreign__open(n->root_fd, path, 0);
	if (fd >= 0 && !tapir_elf__open_fd(fd, &elf)) {
		if (is_same_file(elf, file))
			read_image(n, elf, fd, path, out);
		tapir_elf__free(elf);
	}
	tapir_diag__rewind(mark);
}

static uint64_t import_file_key(const struct tapir_import_file *file)
{
	uint64_t key = tapir_hash__bytes(1, file->path, file->path_len);

	if (file->build_id_bytes)
		return tapir_hash__bytes(key, file->build_id, file->build_id_bytes);
	return tapir_hash__mix(tapir_hash__mix(key, file->dev), file->inode);
}

void tapir_import_names__of_file(struct tapir_import_names *n, const struct tapir_import_file *file,
				 struct tapir_rec_mapping *mapping)
{
	uint64_t key = import_file_key(file);
	const struct known_file *found = tapir_keyed__get(&n->files, key);
	struct known_file known = {};

	if (found) {
		known = *found;
	} else {
		find_file(n, file, &known);
		if (!known.file_id && file->build_id_bytes) {
			known.file_id =
				tapir_hash__bytes(2, file->build_id, file->build_id_bytes) | 1;
			known.build_id_bytes = (uint8_t)file->build_id_bytes;
			memcpy(known.build_id, file->build_id, file->build_id_bytes);
		}
		(void)tapir_keyed__add(&n->files, key, FILES_MAX, known);
	}
	mapping->file_id = known.file_id;
	mapping->vaddr_pages = known.vaddr_pages;
	mapping->build_id_bytes = known.build_id_bytes;
	memcpy(mapping->build_id, known.build_id, sizeof(mapping->build_id));
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static bool has_build_id(const uint8_t *build_id, size_t len)
{
	tapir_autofree char *notes = NULL;
	int mark = tapir_diag__cnt();
	size_t notes_len;
	bool found;

	if (!len)
		return false;
	found = !tapir_file__read("/sys/kernel/notes", NOTES_MAX, &notes, &notes_len) &&
		memmem(notes, notes_len, build_id, len);
	tapir_diag__rewind(mark);
	return found;
}

bool tapir_import_names__has_kernel(const char *release, const uint8_t *build_id,
				    size_t build_id_bytes, uint64_t text_va)
{
	struct tapir_kallsyms *kernel;
	struct utsname uts = {};
	uint64_t start_va, size;
	const char *name;
	bool found;

	uname(&uts);
	if (!release || strcmp(uts.release, release) || !has_build_id(build_id, build_id_bytes) ||
	    tapir_kallsyms__load("/proc/kallsyms", &kernel))
		return false;
	found = tapir_kallsyms__find(kernel, text_va, &name, &start_va, &size) &&
		start_va == text_va;
	tapir_kallsyms__free(kernel);
	return found;
}

/* ---- generated code -------------------------------------------------------------------------- */

/* NULL: too many processes, or out of memory. */
static struct code *code_of(struct tapir_import_names *n, uint32_t tgid, bool is_wanted)
{
	uint64_t *value = tapir_map__get(&n->code_by_tgid, tgid);
	struct code *code;

	if (value || !is_wanted || n->code_by_tgid.cnt >= PROCESSES_MAX)
		return value ? (void *)(uintptr_t)*value : NULL;
	code = calloc(1, sizeof(*code));
	if (code && !tapir_jit_table__new(&code->table))
		value = tapir_map__put(&n->code_by_tgid, tgid, NULL);
	if (!value) {
		if (code)
			tapir_jit_table__free(code->table);
		free(code);
		return NULL;
	}
	*value = (uintptr_t)code;
	return code;
}

int tapir_import_names__add_code(struct tapir_import_names *n, uint32_t tgid,
				 const struct tapir_jit_name *name)
{
	struct code *code = code_of(n, tgid, true);

	return code ? tapir_jit_table__add(code->table, name) : -ENOSPC;
}

void tapir_import_names__end_code(struct tapir_import_names *n, uint32_t tgid, uint64_t start_va,
				  uint64_t at_ns)
{
	struct code *code = code_of(n, tgid, false);

	if (code)
		tapir_jit_table__end(code->table, start_va, at_ns);
}

void tapir_import_names__read_jitdump(struct tapir_import_names *n, uint32_t tgid,
				      const char *path_text, size_t path_len, bool is_monotonic,
				      uint64_t end_ns)
{
	tapir_autofree char *path = strndup(path_text, path_len);
	struct code *code = code_of(n, tgid, true);
	int mark = tapir_diag__cnt();
	struct tapir_jitdump_opts opts = {.sz = sizeof(opts),
					  .uid = getuid(),
					  .is_picture = !is_monotonic,
					  .at_ns = is_monotonic ? 0 : end_ns};
	tapir_autofd int fd = path && code ? tapir_foreign__open(n->root_fd, path, 0) : -1;
	struct tapir_jitdump *dump;

	opts.fd = fd;
	if (fd >= 0 && !tapir_jitdump__open(&opts, &dump)) {
		for (unsigned i = 0; i < READ_STEPS; i++)
			if (tapir_jitdump__read(dump, end_ns, READ_BYTES, code->table) <= 0)
				break;
		tapir_jitdump__close(dump);
	}
	tapir_diag__rewind(mark);
}

/* perf itself reads the map of a process that has ended, by its number alone; so does this. */
static void read_perf_map(struct code *code, uint32_t tgid, uint64_t end_ns)
{
	struct tapir_perf_map_opts opts = {
		.sz = sizeof(opts), .tgid = (uint32_t)getpid(), .uid = getuid()};
	int mark = tapir_diag__cnt();
	struct tapir_perf_map *map;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", tgid);
	opts.path = path;
	if (!tapir_perf_map__open(&opts, &map)) {
		for (unsigned i = 0; i < READ_STEPS; i++)
			if (tapir_perf_map__read(map, end_ns, READ_BYTES, code->table) <= 0)
				break;
		tapir_perf_map__close(map);
	}
	tapir_diag__rewind(mark);
}

static int describe_code(struct tapir_import_names *n, uint32_t tgid,
			 const struct tapir_jit_name *name)
{
	struct tapir_rec_jit fixed = {.tgid = tgid,
				      .source = (uint16_t)name->source,
				      .start_va = name->start_va,
				      .size = name->size,
				      .from_ns = name->from_ns,
				      .until_ns = name->until_ns};
	const struct tapir_rec *rec;

	tapir_rec__init(&fixed.h, TAPIR_REC_JIT, sizeof(fixed), name->from_ns);
	rec = tapir_recbuf__jit(&n->buf, &fixed, (struct tapir_sv){name->name, name->name_len});
	return rec ? tapir_catalog__describe(n->catalog, rec) : -ENOMEM;
}

/* The name at that time, and those that the address has had since: a stack is named once. */
static int name_code(struct tapir_import_names *n, uint32_t tgid, uint64_t va, uint64_t time_ns,
		     bool *found)
{
	struct code *code = code_of(n, tgid, true);
	struct tapir_jit_name name;
	int err = 0;

	*found = tapir_catalog__jit(n->catalog, tgid, va, time_ns);
	if (code && !code->has_perf_map && !*found) {
		code->has_perf_map = true;
		read_perf_map(code, tgid, time_ns);
	}
	for (int i = 0; code && i < SUCCESSORS_MAX && !*found && err >= 0; i++) {
		if (!tapir_jit_table__find(code->table, va, time_ns, &name)) {
			*found = i > 0;
			return 0;
		}
		err = describe_code(n, tgid, &name);
		if (name.until_ns <= time_ns)
			*found = true;
		time_ns = name.until_ns;
	}
	return err;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* The imported file itself may name the kernel's code: code of process 0. */
static bool kernel_symbol(struct tapir_import_names *n, const struct tapir_rec_mapping *mapping,
			  uint64_t off, struct tapir_rec_symbol *fixed,
			  const struct tapir_rec **rec)
{
	struct code *code = code_of(n, 0, false);
	struct tapir_jit_name name;

	if (!code ||
	    !tapir_jit_table__find(code->table, mapping->start_va + off, mapping->h.time_ns, &name))
		return false;
	fixed->start_off = name.start_va - mapping->start_va;
	fixed->size = name.size;
	tapir_rec__init(&fixed->h, TAPIR_REC_SYMBOL, sizeof(*fixed), mapping->h.time_ns);
	*rec = tapir_recbuf__symbol(&n->buf, fixed, (struct tapir_sv){name.name, name.name_len});
	return true;
}

static int describe_symbol(struct tapir_import_names *n, const struct tapir_rec_mapping *mapping,
			   uint64_t off)
{
	struct tapir_rec_symbol fixed = {.file_id = mapping->file_id};
	struct tapir_symbol_name found;
	const struct tapir_rec *rec;

	if (tapir_catalog__symbol(n->catalog, mapping->file_id, off))
		return 0;
	if (!mapping->tgid && kernel_symbol(n, mapping, off, &fixed, &rec))
		return rec ? tapir_catalog__describe(n->catalog, rec) : -ENOMEM;
	if (!tapir_symbolizer__name(n->symbolizer, mapping->file_id, off, &found))
		return 0;
	fixed.start_off = found.start_off;
	fixed.size = found.size;
	fixed.flags = found.is_range ? TAPIR_SYMBOL_RANGE : 0;
	tapir_rec__init(&fixed.h, TAPIR_REC_SYMBOL, sizeof(fixed), mapping->h.time_ns);
	rec = tapir_recbuf__symbol(&n->buf, &fixed, tapir_sv__of(found.name));
	return rec ? tapir_catalog__describe(n->catalog, rec) : -ENOMEM;
}

static int name_frame(struct tapir_import_names *n, uint32_t tgid, uint64_t va, uint64_t time_ns)
{
	const struct tapir_rec_mapping *mapping =
		tapir_catalog__mapping(n->catalog, tgid, va, time_ns);
	bool found = false;
	int err = 0;

	if (tgid && (!mapping || !mapping->file_id))
		err = name_code(n, tgid, va, time_ns, &found);
	if (err < 0 || found || !mapping || !mapping->file_id)
		return err;
	return describe_symbol(n, mapping, va - mapping->start_va + mapping->file_off);
}

/* Describing a name may move the stack: its frames are copied first. */
static int name_stack(struct tapir_import_names *n, const struct tapir_unnamed *unnamed)
{
	uint64_t frames[TAPIR_MAX_FRAMES];
	unsigned cnt = unnamed->stack->frame_cnt;
	uint64_t time_ns = unnamed->time_ns;
	uint32_t tgid = unnamed->tgid;
	int err = 0;

	if (cnt > TAPIR_MAX_FRAMES)
		cnt = TAPIR_MAX_FRAMES;
	memcpy(frames, unnamed->stack + 1, cnt * sizeof(frames[0]));
	for (unsigned i = 0; i < cnt; i++) {
		err = name_frame(n, tgid, frames[i] - (i > 0), time_ns);
		if (err < 0 && err != -ENOSPC)
			return err;
	}
	return 0;
}

int tapir_import_names__name_new_stacks(struct tapir_import_names *n)
{
	struct tapir_unnamed unnamed;
	int err = 0;

	while (!err && tapir_catalog__next_unnamed(n->catalog, &unnamed))
		err = name_stack(n, &unnamed);
	return err;
}
