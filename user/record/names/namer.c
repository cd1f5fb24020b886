// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names stacks of a segment before it ends: stack by stack, frame by frame; a symbol that is known
 * costs a lookup. Code of .NET's assemblies and generated code have other sources, which may have
 * the name later: such a frame is tried again in the next rounds.
 */
#include "record/names/namer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "record/names/code_names.h"
#include "base/foreign/foreign_file.h"
#include "symbol/dotnet_r2r.h"
#include "symbol/symbolizer.h"
#include "trace/recbuf.h"

#define LATE_NAME_NS	  (3 * TAPIR_NS_PER_SEC) /* a runtime has reported by then, or never will */
#define REQUESTED_NAME_NS (15 * TAPIR_NS_PER_SEC) /* one that is asked for has answered by then */
#define LAST_REST_US	  2000
#define SUCCESSORS_MAX	  256
#define ASSEMBLIES_MAX	  65536u

struct tapir_namer {
	struct tapir_catalog *catalog;
	struct tapir_code_names *code_names;
	struct tapir_symbolizer *symbolizer;
	struct tapir_map assemblies; /* mappings of .NET: the replacement of their file_id */
	struct tapir_recbuf recbuf;
	uint64_t next_poll_ns;
	bool have_pending;
};

int tapir_namer__new(struct tapir_catalog *catalog, bool dotnet_reports_methods,
		     struct tapir_namer **out)
{
	struct tapir_namer *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return -ENOMEM;
	n->catalog = catalog;
	err = tapir_symbolizer__new(&n->symbolizer);
	if (!err)
		err = tapir_code_names__new(catalog, dotnet_reports_methods, &n->code_names);
	if (err) {
		tapir_namer__free(n);
		return err;
	}
	*out = n;
	return 0;
}

void tapir_namer__free(struct tapir_namer *n)
{
	if (!n)
		return;
	tapir_symbolizer__free(n->symbolizer);
	tapir_code_names__free(n->code_names);
	tapir_recbuf__fini(&n->recbuf);
	tapir_map__fini(&n->assemblies);
	free(n);
}

/*
 * Assemblies are not ELF files: their mappings have no file_id. Its replacement; 0: not an
 * assembly.
 */
static uint64_t assembly_id(const struct tapir_namer *n, const struct tapir_rec_mapping *mapping)
{
	const uint64_t *id =
		tapir_map__get(&n->assemblies, tapir_hash__mix(mapping->tgid, mapping->start_va));

	return id ? *id : 0;
}

static void add_assembly(struct tapir_namer *n, const struct tapir_rec_mapping *mapping, int fd,
			 const char *path)
{
	uint64_t key = tapir_hash__mix(mapping->tgid, mapping->start_va), *id;
	struct stat st;

	if (n->assemblies.cnt >= ASSEMBLIES_MAX || tapir_foreign__stat(fd, &st))
		return;
	id = tapir_map__put(&n->assemblies, key, NULL);
	if (!id)
		return;
	*id = tapir_file__key(&st);
	tapir_symbolizer__add_file(n->symbolizer, *id, fd, path, mapping->tgid);
}

static void add_file(struct tapir_namer *n, const struct tapir_rec_mapping *mapping, int fd)
{
	struct tapir_mapping_view view;
	char path[4096];

	tapir_mapping_view__of(&mapping->h, &view);
	snprintf(path, sizeof(path), "%.*s", (int)view.path.len, view.path.data);
	if (mapping->file_id)
		tapir_symbolizer__add_file(n->symbolizer, mapping->file_id, fd, path,
					   mapping->tgid);
	else if (fd >= 0 && mapping->flags & TAPIR_MAPPING_EXEC &&
		 tapir_sv__ends_with(view.path, ".dll"))
		add_assembly(n, mapping, fd, path);
}

void tapir_namer__on_record(struct tapir_namer *n, const struct tapir_rec *rec, int fd)
{
	if (rec->type == TAPIR_REC_PROCESS) {
		tapir_code_names__on_process(n->code_names, (const void *)rec);
	} else if (rec->type == TAPIR_REC_PROBE) {
		tapir_code_names__on_probe(n->code_names, (const void *)rec);
	} else if (rec->type == TAPIR_REC_MAPPING) {
		add_file(n, (const void *)rec, fd);
		tapir_code_names__on_mapping(n->code_names, (const void *)rec, fd);
	}
}

bool tapir_namer__on_event(struct tapir_namer *n, const struct tapir_rec_event *rec)
{
	return tapir_code_names__on_event(n->code_names, rec);
}

void tapir_namer__reports_methods(struct tapir_namer *n, const struct tapir_note_methods *note)
{
	tapir_code_names__reports_methods(n->code_names, note->tgid, note->h.time_ns);
}

void tapir_namer__on_loss(struct tapir_namer *n, const struct tapir_rec_loss *loss)
{
	tapir_code_names__on_loss(n->code_names, loss->probe_id);
}

int tapir_namer__poll(struct tapir_namer *n, uint64_t now_ns)
{
	int more;

	if (now_ns < n->next_poll_ns)
		return 0;
	n->next_poll_ns = now_ns + TAPIR_NAMER_POLL_NS;
	more = tapir_code_names__read(n->code_names, now_ns, false);
	return more < 0 ? more : 0;
}

bool tapir_namer__is_for_names(const struct tapir_namer *n, uint32_t probe_id)
{
	return tapir_code_names__is_for_names(n->code_names, probe_id);
}

uint64_t tapir_namer__missed(const struct tapir_namer *n)
{
	return tapir_symbolizer__missed(n->symbolizer);
}

bool tapir_namer__has_files(const struct tapir_namer *n)
{
	return tapir_code_names__has_files(n->code_names);
}

int tapir_namer__finish(struct tapir_namer *n)
{
	uint64_t now_ns = tapir_clock__now_ns(), end_ns = now_ns + TAPIR_NS_PER_SEC;
	int more, err = tapir_namer__name_new_stacks(n); /* finds out what is still wanted */

	if (err)
		return err;
	for (;;) {
		more = tapir_code_names__read(n->code_names, now_ns, true);
		now_ns = tapir_clock__now_ns();
		if (more <= 0 || now_ns >= end_ns)
			break;
		usleep(LAST_REST_US);
	}
	return more < 0 ? more : 0;
}

/*
 * True: va is generated code, and the catalog has its name now; and the names it has had since
 * then, because a stack that was named once is not requested again.
 */
static bool name_code(struct tapir_namer *n, uint32_t tgid, uint64_t va, uint64_t time_ns, int *err)
{
	struct tapir_jit_name name;
	bool is_known = tapir_catalog__jit(n->catalog, tgid, va, time_ns);

	for (int i = 0; i < SUCCESSORS_MAX && !is_known; i++) {
		if (!tapir_code_names__find(n->code_names, tgid, va, time_ns, &name))
			return i > 0;
		*err = tapir_code_names__describe(n->code_names, tgid, &name);
		if (*err < 0 || name.until_ns <= time_ns)
			break;
		time_ns = name.until_ns;
	}
	return true;
}

/*
 * Made by a runtime; .NET's ReadyToRun code is mapped from files that are not ELF. Not the kernel's
 * own ("[vdso]", "[uprobes]"), nor a library whose file is gone, such as tapir's in a .NET process.
 */
static bool is_runtimes_code(const struct tapir_rec_mapping *mapping)
{
	struct tapir_mapping_view view;

	tapir_mapping_view__of(&mapping->h, &view);
	if (mapping->file_id)
		return tapir_sv__ends_with(view.path, ".dll");
	return !view.path.len || (*view.path.data != '[' && !tapir_sv__ends_with(view.path, ".so"));
}

/* The runtime has no name for it: the assembly itself may identify the method. */
static bool name_compiled(struct tapir_namer *n, const struct tapir_rec_mapping *mapping,
			  uint64_t va)
{
	uint64_t id = assembly_id(n, mapping);
	const struct tapir_r2r *r2r = id ? tapir_symbolizer__r2r(n->symbolizer, id) : NULL;
	uint64_t to_va = mapping->start_va - mapping->file_off;
	struct tapir_str raw = {};
	struct tapir_r2r_method method;
	bool ok;

	if (!r2r || !tapir_r2r__find(r2r, va - to_va, &method))
		return false;
	tapir_r2r__put_name(r2r, &method, &raw);
	ok = !raw.failed &&
	     tapir_code_names__add_compiled(n->code_names, mapping, to_va + method.start_off,
					    method.size, (struct tapir_sv){raw.data, raw.len});
	tapir_str__fini(&raw);
	return ok;
}

/* A runtime's code without a name: as name_frame. */
static int name_late(struct tapir_namer *n, const struct tapir_rec_mapping *mapping, uint64_t va,
		     uint64_t time_ns)
{
	uint32_t tgid = mapping->tgid;
	int err = 1;

	if (tapir_code_names__miss(n->code_names, mapping, va, time_ns))
		return -EAGAIN;
	if (!tapir_code_names__name_stub(n->code_names, mapping, va, time_ns) &&
	    !name_compiled(n, mapping, va))
		return 0;
	return name_code(n, tgid, va, time_ns, &err) ? err : 0;
}

/*
 * 1: it has a name, 0: none is known, -EAGAIN: none yet, -ESRCH: nothing is known to be mapped
 * there yet, or the writer's error. Callers are return
 * addresses: the call is the instruction before, maybe of another function.
 */
static int name_frame(struct tapir_namer *n, uint32_t tgid, uint64_t va, uint64_t time_ns,
		      bool is_return)
{
	const struct tapir_rec_mapping *mapping =
		tapir_catalog__mapping(n->catalog, tgid, va, time_ns);
	struct tapir_symbol_name found;
	struct tapir_rec_symbol fixed = {};
	const struct tapir_rec *rec;
	uint64_t off;
	int err = 1;

	if (name_code(n, tgid, va, time_ns, &err)) {
		if (err >= 0)
			err = tapir_code_names__name_inlined(n->code_names, tgid, va, time_ns,
							     is_return);
		return err < 0 ? err : 1;
	}
	/* Code outside of every file is generated: only its runtime knows what it is. */
	if (!mapping)
		return -ESRCH;
	if (is_runtimes_code(mapping))
		return name_late(n, mapping, va, time_ns);
	if (!mapping->file_id)
		return 0;
	off = va - mapping->start_va + mapping->file_off;
	if (tapir_catalog__symbol(n->catalog, mapping->file_id, off))
		return 1;
	if (!tapir_symbolizer__name(n->symbolizer, mapping->file_id, off, &found))
		return 0;
	fixed.file_id = mapping->file_id;
	fixed.start_off = found.start_off;
	fixed.size = found.size;
	fixed.flags = found.is_range ? TAPIR_SYMBOL_RANGE : 0;
	tapir_rec__init(&fixed.h, TAPIR_REC_SYMBOL, sizeof(fixed), tapir_clock__now_ns());
	rec = tapir_recbuf__symbol(&n->recbuf, &fixed, tapir_sv__of(found.name));
	err = rec ? tapir_catalog__describe(n->catalog, rec) : -ENOMEM;
	return err < 0 ? err : 1;
}

/* Describing a name may move the stack: its frames are copied first. */
static int name_stack(struct tapir_namer *n, const struct tapir_unnamed *unnamed)
{
	uint64_t frames[TAPIR_MAX_FRAMES];
	unsigned cnt = unnamed->stack->frame_cnt, named_cnt = 0;
	uint64_t age_ns = tapir_clock__now_ns() - unnamed->time_ns;
	bool is_requested = false, is_unmapped = false;

	if (cnt > TAPIR_MAX_FRAMES)
		cnt = TAPIR_MAX_FRAMES;
	memcpy(frames, unnamed->stack + 1, cnt * sizeof(frames[0]));
	for (unsigned i = 0; i < cnt; i++) {
		int err =
			/*
			 * A return address is behind the call, which may be the last instruction of
			 * its function.
			 */
			name_frame(n, unnamed->tgid, frames[i] - (i > 0), unnamed->time_ns, i > 0);

		if (err < 0 && err != -ENOSPC && err != -EAGAIN && err != -ESRCH)
			return err;
		named_cnt += err > 0;
		is_requested |= err == -EAGAIN;
		is_unmapped |= err == -ESRCH;
	}
	/*
	 * A runtime reports a method when it has compiled it, which may be after the stack is here.
	 * The stack is named again until that is too long ago for an answer to come. So it is where
	 * the process's mappings are not read yet, because a file of another one does not answer.
	 */
	if ((is_requested && age_ns < REQUESTED_NAME_NS) ||
	    (is_unmapped && age_ns < LATE_NAME_NS) ||
	    (named_cnt < cnt && age_ns < LATE_NAME_NS &&
	     tapir_code_names__have_pending(n->code_names, unnamed->tgid))) {
		tapir_catalog__ask_again(n->catalog, unnamed);
		n->have_pending |=
			age_ns < TAPIR_NAMER_WORTH_NS &&
			tapir_code_names__poll(n->code_names, unnamed->tgid, unnamed->time_ns,
					       unnamed->time_ns + TAPIR_NAMER_WORTH_NS);
	}
	return 0;
}

int tapir_namer__name_new_stacks(struct tapir_namer *n)
{
	struct tapir_unnamed unnamed;
	int err = 0;

	n->have_pending = false;
	while (!err && tapir_catalog__next_unnamed(n->catalog, &unnamed))
		err = name_stack(n, &unnamed);
	return err;
}

bool tapir_namer__have_pending(const struct tapir_namer *n)
{
	return n->have_pending;
}
