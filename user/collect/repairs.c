// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables by file, ranges by process. */
#include "collect/repairs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/proc.h"
#include "attach/programs.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "elf/image.h"
#include "runtime/dotnet/dotnet.h"
#include "trace/record.h"
#include "unwind/repair.h"

#define KNOWN_MAX 4096 /* files that were read: a storm of copies ends there */

struct file {
	uint64_t start_off; /* in the file: where its table begins */
	uint32_t size;
	bool is_leaf; /* its functions call nothing */
};

struct tapir_repairs {
	struct tapir_programs *programs;
	struct tapir_map idx_by_file_id; /* TAPIR_REPAIR_FILES: a file without a table */
	struct file files[TAPIR_REPAIR_FILES];
	uint32_t file_cnt;
	uint32_t leaves_idx;	    /* + 1; 0: not made */
	struct tapir_map processes; /* tgid -> struct tapir_repair_process * */
	uint64_t left_cnt;	    /* files for whose table there was no room */
};

int tapir_repairs__new(struct tapir_programs *programs, struct tapir_repairs **out)
{
	struct tapir_repairs *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->programs = programs;
	*out = r;
	return 0;
}

void tapir_repairs__free(struct tapir_repairs *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->processes.cap; i++)
		if (r->processes.slots[i].used)
			free((void *)(uintptr_t)r->processes.slots[i].value);
	tapir_map__fini(&r->processes);
	tapir_map__fini(&r->idx_by_file_id);
	free(r);
}

/* ---- files ---------------------------------------------------------------------------------- */

static int make_table(struct tapir_repairs *r, struct tapir_elf *elf, const char *only)
{
	struct file file = {};
	struct tapir_repair_table *table;
	int err;

	if (r->file_cnt == TAPIR_REPAIR_FILES)
		return -ENOSPC;
	err = tapir_repair_table__make(elf, only, &table);
	if (err)
		return err;
	file.size = table->size;
	file.is_leaf = only;
	err = tapir_elf__va_to_off(elf, table->start_va, &file.start_off)
		      ? tapir_programs__set_repair_file(r->programs, r->file_cnt, &table->file)
		      : -ENOENT;
	tapir_debug("%s: %u rows for the stack walker", tapir_elf__name(elf), table->row_cnt);
	free(table);
	if (!err)
		r->files[r->file_cnt++] = file;
	return err;
}

/* Which table a file has, of one function of it or (NULL) of all; TAPIR_REPAIR_FILES: none. */
static uint32_t table_of(struct tapir_repairs *r, uint64_t file_id, int fd, const char *only)
{
	uint64_t *idx = tapir_map__get(&r->idx_by_file_id, file_id);
	struct tapir_elf *elf = NULL;
	int mark = tapir_diag__cnt(), err;

	if (idx)
		return (uint32_t)*idx;
	if (fd < 0)
		return TAPIR_REPAIR_FILES;
	idx = r->idx_by_file_id.cnt < KNOWN_MAX ? tapir_map__put(&r->idx_by_file_id, file_id, NULL)
						: NULL;
	if (!idx) {
		r->left_cnt++;
		return TAPIR_REPAIR_FILES;
	}
	*idx = TAPIR_REPAIR_FILES;
	err = tapir_elf__open_fd(fd, &elf);
	if (!err)
		err = make_table(r, elf, only);
	if (!err)
		*idx = r->file_cnt - 1;
	r->left_cnt += err == -ENOSPC;
	tapir_elf__free(elf);
	tapir_diag__rewind(mark);
	return (uint32_t)*idx;
}

/* The table of write barriers: CoreCLR copies them, they have no file. */
static uint32_t leaves(struct tapir_repairs *r)
{
	struct tapir_repair_file *file;

	if (r->leaves_idx)
		return r->leaves_idx - 1;
	file = r->file_cnt < TAPIR_REPAIR_FILES ? malloc(sizeof(*file)) : NULL;
	if (!file)
		return TAPIR_REPAIR_FILES;
	tapir_repair_file__set_leaves(file);
	if (!tapir_programs__set_repair_file(r->programs, r->file_cnt, file)) {
		r->files[r->file_cnt] = (struct file){.size = UINT32_MAX, .is_leaf = true};
		r->leaves_idx = ++r->file_cnt;
	}
	free(file);
	return r->leaves_idx ? r->leaves_idx - 1 : TAPIR_REPAIR_FILES;
}

/* ---- processes ------------------------------------------------------------------------------ */

static struct tapir_repair_process *process_of(const struct tapir_repairs *r, uint32_t tgid)
{
	const uint64_t *value = tapir_map__get(&r->processes, tgid);

	return value ? (void *)(uintptr_t)*value : NULL;
}

static struct tapir_repair_process *add_process(struct tapir_repairs *r, uint32_t tgid)
{
	struct tapir_repair_process *p = process_of(r, tgid);
	uint64_t *value;

	if (p || r->processes.cnt >= TAPIR_REPAIR_PROCESSES)
		return p;
	p = calloc(1, sizeof(*p));
	value = p ? tapir_map__put(&r->processes, tgid, NULL) : NULL;
	if (!value) {
		free(p);
		return NULL;
	}
	*value = (uint64_t)(uintptr_t)p;
	return p;
}

static void del_process(struct tapir_repairs *r, uint32_t tgid)
{
	struct tapir_repair_process *p = process_of(r, tgid);

	if (!p)
		return;
	tapir_programs__del_repair_process(r->programs, tgid);
	tapir_map__del(&r->processes, tgid);
	free(p);
}

/* A fork runs its parent's code. */
static void inherit(struct tapir_repairs *r, uint32_t parent_tgid, uint32_t tgid)
{
	const struct tapir_repair_process *parent = process_of(r, parent_tgid);
	struct tapir_repair_process *p = parent && parent->size ? add_process(r, tgid) : NULL;

	if (!p)
		return;
	*p = *parent;
	(void)tapir_programs__set_repair_process(r->programs, tgid, p);
}

static void on_process(struct tapir_repairs *r, const struct tapir_rec_process *rec)
{
	if (rec->kind == TAPIR_PROCESS_EXISTING)
		return;
	del_process(r, rec->tgid);
	if (rec->kind == TAPIR_PROCESS_FORK)
		inherit(r, rec->parent_tgid, rec->tgid);
}

static void set_hull(const struct tapir_repairs *r, struct tapir_repair_process *p)
{
	uint64_t low_va = UINT64_MAX, high_va = 0;

	for (unsigned i = 0; i < TAPIR_REPAIR_RANGES; i++) {
		const struct tapir_repair_range *range = &p->ranges[i];

		if (!range->size || r->files[range->file_idx].is_leaf)
			continue;
		low_va = range->start_va < low_va ? range->start_va : low_va;
		if (range->start_va + range->size > high_va)
			high_va = range->start_va + range->size;
	}
	p->low_va = low_va;
	p->size = high_va > low_va ? high_va - low_va : 0;
}

/* The place for a range: the one that is there already, or one that is free. */
static struct tapir_repair_range *place_for(struct tapir_repair_process *p, uint64_t start_va)
{
	for (unsigned i = 0; i < TAPIR_REPAIR_RANGES; i++)
		if (!p->ranges[i].size || p->ranges[i].start_va == start_va)
			return &p->ranges[i];
	return NULL;
}

/* A process maps [file_off, + bytes) of a file at start_va. */
static void add_range(struct tapir_repairs *r, uint32_t tgid, uint32_t idx, uint64_t start_va,
		      uint64_t bytes, uint64_t file_off)
{
	const struct file *file = &r->files[idx];
	uint64_t into = file->start_off - file_off, left;
	int mark = tapir_diag__cnt();
	struct tapir_repair_process *p;
	struct tapir_repair_range *range;

	if (file->start_off < file_off || into >= bytes)
		return;
	left = bytes - into;
	p = add_process(r, tgid);
	range = p ? place_for(p, start_va + into) : NULL;
	if (!range) {
		r->left_cnt++;
		return;
	}
	*range =
		(struct tapir_repair_range){.start_va = start_va + into,
					    .size = left < file->size ? (uint32_t)left : file->size,
					    .file_idx = idx};
	set_hull(r, p);
	r->left_cnt += tapir_programs__set_repair_process(r->programs, tgid, p) != 0;
	tapir_diag__rewind(mark);
}

/* ---- what else belongs to a .NET process ----------------------------------------------------- */

struct search {
	struct tapir_repairs *r;
	uint32_t tgid;
	const char *exe; /* of a single-file app; NULL: it is not one */
};

/* CoreCLR's allocators ask it for the thread's own memory. */
static bool is_dynamic_linker(const struct tapir_mapping_line *m)
{
	const char *slash = strrchr(m->path, '/');

	return slash && (!strncmp(slash, "/ld-linux", 9) || !strncmp(slash, "/ld-musl", 8));
}

static int on_line(const struct tapir_mapping_line *m, void *ctx)
{
	const struct search *search = ctx;
	bool is_exe = search->exe && !strcmp(m->path, search->exe);
	tapir_autofd int fd = -1;
	struct tapir_elf *elf;
	uint64_t file_id = 0;
	uint32_t idx;

	if (!m->is_executable || !tapir_mapping_line__is_file(m) ||
	    !(is_exe || is_dynamic_linker(m)))
		return 0;
	fd = tapir_proc__open_mapped(search->tgid, m, NULL);
	if (fd < 0 || tapir_elf__open_fd(fd, &elf))
		return 0;
	file_id = tapir_elf__file_id(elf);
	tapir_elf__free(elf);
	idx = table_of(search->r, file_id, fd, is_exe ? NULL : "__tls_get_addr");
	if (idx < TAPIR_REPAIR_FILES)
		add_range(search->r, search->tgid, idx, m->start_va, m->end_va - m->start_va,
			  m->file_off);
	return 0;
}

/* The first sign of .NET: earlier mappings are checked now. */
static void look_around(struct tapir_repairs *r, uint32_t tgid)
{
	struct search search = {.r = r, .tgid = tgid};
	struct tapir_dotnet_info info;
	int mark = tapir_diag__cnt();

	if (!add_process(r, tgid)) /* checked: once is enough */
		return;
	if (tapir_dotnet__inspect(tgid, &info) > 0 && info.kind == TAPIR_DOTNET_SINGLE_FILE)
		search.exe = info.path;
	(void)tapir_proc__each_mapping(tgid, on_line, &search);
	tapir_diag__rewind(mark);
}

/* ---- mappings ------------------------------------------------------------------------------- */

static bool is_runtimes(struct tapir_sv path)
{
	static const char *const names[] = {"libcoreclr.so", "libclrjit.so", "libclrgc.so",
					    "libclrgcexp.so"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (tapir_mapping_path__is_called(path.data, path.len, names[i]))
			return true;
	return false;
}

static void on_mapping(struct tapir_repairs *r, const struct tapir_rec_mapping *rec, int fd)
{
	struct tapir_mapping_view view;
	uint32_t idx = TAPIR_REPAIR_FILES;
	bool is_memory, is_file;

	tapir_mapping_view__of(&rec->h, &view);
	is_memory = tapir_dotnet__is_code_memory(view.path.data, view.path.len);
	is_file = rec->file_id && is_runtimes(view.path);
	if (!is_memory && !is_file)
		return;
	if (!process_of(r, rec->tgid))
		look_around(r, rec->tgid);
	if (is_file)
		idx = table_of(r, rec->file_id, fd, NULL);
	else if (!rec->file_off)
		idx = leaves(r); /* it begins with the write barriers */
	if (idx < TAPIR_REPAIR_FILES)
		add_range(r, rec->tgid, idx, rec->start_va, rec->end_va - rec->start_va,
			  rec->file_off);
}

uint64_t tapir_repairs__left_cnt(const struct tapir_repairs *r)
{
	return r->left_cnt;
}

void tapir_repairs__on_record(struct tapir_repairs *r, const struct tapir_rec *rec, int fd)
{
	if (!r->programs)
		return;
	if (rec->type == TAPIR_REC_PROCESS)
		on_process(r, (const void *)rec);
	else if (rec->type == TAPIR_REC_MAPPING)
		on_mapping(r, (const void *)rec, fd);
}
