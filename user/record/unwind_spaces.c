// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps, for the BPF walker, a sorted list of each process's executable mappings, cut into blocks
 * that are written when they have changed. A fork runs its parent's code, an exec removes all of
 * it; memory without a file has names, too, by which an interpreter's or a JVM's code is
 * recognized.
 */
#include "record/unwind_spaces.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "attach/proc.h"
#include "attach/unwind_maps.h"
#include "base/diag.h"
#include "base/map.h"
#include "base/vec.h"
#include "record/names/interp_stacks.h"
#include "record/unwind_mappings.h"
#include "record/unwind_tables.h"
#include "runtime/interpreters.h"
#include "runtime/runtime_ops.h"
#include "symbol/vdso.h"
#include "trace/record.h"

#define PRUNED_PER_SEC	  4
#define INTERPRETER_LOOKS 10u
#define DESCRIBED_AT_ONCE 8u
#define INTERPS_AT_ONCE	  32u
#define MAX_VA		  (1ull << 56) /* the vsyscall page is beyond: the walker compares with a sign */

struct space {
	uint32_t tgid;
	uint32_t block_cnt; /* in the kernel */
	uint64_t generation;
	struct tapir_unwind_mappings mappings;
	bool is_changed, is_listed; /* since the last flush; in the list of changed ones */
	bool is_stale;		    /* some of it may be gone */
	/* The code of a runtime that describes it: how many more times it is searched, and where it
	 * is. */
	const struct tapir_code_ops *code;
	unsigned code_read_cnt;
	struct tapir_code_place place;
	/* The same of another interpreter that it may have. */
	unsigned interp_read_cnt;
	uint64_t interp_since_ns; /* it was mapped */
	struct tapir_interp interp;
};

struct tapir_unwind_spaces {
	struct tapir_unwind_maps *maps;
	struct tapir_unwind_tables *tables;
	struct tapir_interp_stacks *interp_stacks; /* NULL: they are not merged */
	struct tapir_map by_tgid;		   /* -> struct space * */
	struct tapir_vec(uint32_t) changed, stale, described,
		interps; /* the last two: to be searched */
	uint64_t refused_cnt;
	struct tapir_unwind_space scratch;
};

/* ---- spaces --------------------------------------------------------------------------------- */

static struct space *space_of(const struct tapir_unwind_spaces *s, uint32_t tgid)
{
	const uint64_t *value = tapir_map__get(&s->by_tgid, tgid);

	return value ? (void *)(uintptr_t)*value : NULL;
}

static struct space *add_space(struct tapir_unwind_spaces *s, uint32_t tgid)
{
	struct space *space = space_of(s, tgid);
	uint64_t *value;

	if (space)
		return space;
	space = calloc(1, sizeof(*space));
	value = space ? tapir_map__put(&s->by_tgid, tgid, NULL) : NULL;
	if (!value) {
		free(space);
		return NULL;
	}
	space->tgid = tgid;
	*value = (uint64_t)(uintptr_t)space;
	return space;
}

static void free_space(struct space *space)
{
	tapir_vec__fini(&space->mappings);
	free(space);
}

static void del_space(struct tapir_unwind_spaces *s, uint32_t tgid)
{
	struct space *space = space_of(s, tgid);

	if (!space)
		return;
	for (uint32_t i = 0; i < space->block_cnt || !i; i++)
		tapir_unwind_maps__del_space(s->maps, tgid, i);
	tapir_map__del(&s->by_tgid, tgid);
	free_space(space);
}

static void mark(struct tapir_unwind_spaces *s, struct space *space)
{
	space->is_changed = true;
	if (!space->is_listed && tapir_vec__push(&s->changed, space->tgid))
		space->is_listed = true;
}

/* ---- records ---------------------------------------------------------------------------------- */

/* Nothing is mapped in a child that would cause the search that its parent's has not ended. */
static void inherit_search(struct tapir_unwind_spaces *s, const struct space *parent,
			   struct space *space)
{
	if (!parent->interp_read_cnt || !tapir_vec__push(&s->interps, space->tgid))
		return;
	space->interp_read_cnt = INTERPRETER_LOOKS;
	space->interp_since_ns = parent->interp_since_ns;
}

/* A fork runs its parent's code. */
static void inherit(struct tapir_unwind_spaces *s, uint32_t parent_tgid, uint32_t tgid)
{
	const struct space *parent = space_of(s, parent_tgid);
	struct space *space = parent ? add_space(s, tgid) : NULL;
	struct tapir_space_mapping *data;

	if (!space || !parent->mappings.cnt)
		return;
	data = malloc(parent->mappings.cnt * sizeof(*data));
	if (!data)
		return;
	memcpy(data, parent->mappings.data, parent->mappings.cnt * sizeof(*data));
	free(space->mappings.data);
	space->interp = parent->interp;
	inherit_search(s, parent, space);
	space->mappings.data = data;
	space->mappings.cnt = space->mappings.cap = parent->mappings.cnt;
	mark(s, space);
}

/* An EXEC removes what was mapped until then; mappings of the new program stay. */
static void on_exec(struct tapir_unwind_spaces *s, const struct tapir_rec_process *rec)
{
	struct space *space = space_of(s, rec->tgid);
	size_t kept = 0;

	if (!space)
		return;
	for (size_t i = 0; i < space->mappings.cnt; i++)
		if (space->mappings.data[i].since_ns >= rec->h.time_ns)
			space->mappings.data[kept++] = space->mappings.data[i];
	space->mappings.cnt = kept;
	space->place = (struct tapir_code_place){};
	space->code_read_cnt = 0;
	if (space->interp_since_ns < rec->h.time_ns) {
		space->interp.root = TAPIR_INTERP_NONE;
		space->interp_read_cnt = 0;
	}
	mark(s, space);
}

static void on_process(struct tapir_unwind_spaces *s, const struct tapir_rec_process *rec)
{
	if (rec->kind == TAPIR_PROCESS_EXEC)
		on_exec(s, rec);
	if (rec->kind == TAPIR_PROCESS_EXIT || rec->kind == TAPIR_PROCESS_FORK)
		del_space(s, rec->tgid);
	if (rec->kind == TAPIR_PROCESS_FORK)
		inherit(s, rec->parent_tgid, rec->tgid);
}

/*
 * Memory has names, too: of the kernel in brackets, of memory files a path. CoreCLR's begins with
 * copies of its write barriers, which have no frames.
 */
static uint8_t unwind_mapping_kind(const struct tapir_rec_mapping *rec)
{
	struct tapir_mapping_view view;

	if (rec->file_id)
		return TAPIR_UNWIND_KIND_FILE;
	tapir_mapping_view__of(&rec->h, &view);
	if (tapir_runtimes__is_code_memory(view.path) && !rec->file_off)
		return TAPIR_UNWIND_KIND_LEAF;
	if (rec->flags & TAPIR_MAPPING_ANON || !tapir_sv__starts_with(view.path, "/") ||
	    tapir_sv__starts_with(view.path, "/memfd:") ||
	    tapir_sv__starts_with(view.path, "/dev/"))
		return TAPIR_UNWIND_KIND_JIT;
	return TAPIR_UNWIND_KIND_IMAGE;
}

/*
 * An assembly is no ELF file, and has no file_id: it is known by its device and inode. Of most
 * mappings there is no descriptor, since the file was seen before.
 */
static uint32_t file_of_assembly(struct tapir_unwind_spaces *s, const struct tapir_rec_mapping *rec,
				 int fd)
{
	struct tapir_mapping_view view;

	tapir_mapping_view__of(&rec->h, &view);
	if (!rec->inode || !tapir_sv__ends_with(view.path, ".dll"))
		return TAPIR_UNWIND_NO_FILE;
	return tapir_unwind_tables__see(s->tables, rec, tapir_hash__mix(rec->dev, rec->inode), fd);
}

static uint32_t file_of(struct tapir_unwind_spaces *s, const struct tapir_rec_mapping *rec, int fd)
{
	const struct tapir_vdso *vdso = fd < 0 ? tapir_vdso__get() : NULL;

	if (!rec->file_id)
		return file_of_assembly(s, rec, fd);
	if (vdso && vdso->file_id == rec->file_id)
		fd = vdso->fd;
	return tapir_unwind_tables__see(s->tables, rec, rec->file_id, fd);
}

/* A JVM creates its interpreter once it has started; then its place stays. */
static void want_code(struct tapir_unwind_spaces *s, struct space *space,
		      const struct tapir_rec_mapping *rec)
{
	const struct tapir_runtime_ops *runtime;
	struct tapir_mapping_view view;

	if (space->code_read_cnt || space->place.interpreter_va)
		return;
	tapir_mapping_view__of(&rec->h, &view);
	runtime = tapir_runtimes__of_path(view.path);
	if (!runtime || !runtime->code || !tapir_vec__push(&s->described, space->tgid))
		return;
	space->code = runtime->code;
	space->code_read_cnt = INTERPRETER_LOOKS;
}

/* Generated code that is mapped, as far as it is the interpreter's. */
static void mark_interpreter(struct tapir_unwind_spaces *s, struct space *space)
{
	struct tapir_space_mapping new = {.m = {.start_va = space->place.interpreter_va,
						.end_va = space->place.interpreter_end_va,
						.file_idx = TAPIR_UNWIND_NO_FILE,
						.kind = TAPIR_UNWIND_KIND_INTERPRETER}};
	size_t at = tapir_sorted__upper_bound(space->mappings.data, space->mappings.cnt, m.start_va,
					      new.m.start_va);
	const struct tapir_space_mapping *there = at ? &space->mappings.data[at - 1] : NULL;

	if (!new.m.start_va || !there || there->m.kind != TAPIR_UNWIND_KIND_JIT ||
	    there->m.end_va < new.m.end_va)
		return;
	new.since_ns = there->since_ns;
	if (!tapir_unwind_mappings__add(&space->mappings, &new))
		s->refused_cnt++;
	mark(s, space);
}

/* The first generated code in [start, end) that nothing more is known of. */
static const struct tapir_space_mapping *next_generated(const struct space *space, uint64_t start,
							uint64_t end)
{
	const struct tapir_space_mapping *m;

	tapir_vec_for_each (m, &space->mappings)
		if (m->m.kind == TAPIR_UNWIND_KIND_JIT && m->m.start_va < end &&
		    m->m.end_va > start)
			return m;
	return NULL;
}

/*
 * Marks what is mapped of the heaps of compiled code, except the interpreter, which has a mark of
 * its own.
 */
static void mark_code_heaps(struct tapir_unwind_spaces *s, struct space *space)
{
	for (unsigned i = 0; i < space->place.heap_cnt; i++) {
		const struct tapir_walk_heap *heap = &space->place.heaps[i];
		const struct tapir_space_mapping *there;

		while ((there = next_generated(space, heap->start_va, heap->end_va))) {
			struct tapir_space_mapping new = *there;

			if (new.m.start_va < heap->start_va)
				new.m.start_va = heap->start_va;
			if (new.m.end_va > heap->end_va)
				new.m.end_va = heap->end_va;
			new.m.kind = TAPIR_UNWIND_KIND_CODE_HEAP;
			new.m.bias = heap->segment_map_va - (heap->start_va >> heap->segment_shift);
			new.m.segment_shift = heap->segment_shift;
			new.m.frame_size_at = heap->frame_size_at;
			if (!tapir_unwind_mappings__add(&space->mappings, &new)) {
				s->refused_cnt++;
				return;
			}
			mark(s, space);
		}
	}
}

static void mark_code(struct tapir_unwind_spaces *s, struct space *space)
{
	mark_interpreter(s, space);
	mark_code_heaps(s, space);
}

static void find_code(struct tapir_unwind_spaces *s, struct space *space)
{
	void *state = space->code->find(space->tgid, NULL, &space->place);

	space->code_read_cnt--;
	if (!state)
		return;
	free(state);
	space->code_read_cnt = 0;
	mark_code(s, space);
}

/* A program that has just started may not have its library yet. */
static void want_interp(struct tapir_unwind_spaces *s, struct space *space,
			const struct tapir_rec_mapping *rec)
{
	struct tapir_mapping_view view;

	tapir_mapping_view__of(&rec->h, &view);
	if (!s->interp_stacks || space->interp.root || !tapir_interpreters__is_path(view.path) ||
	    (!space->interp_read_cnt && !tapir_vec__push(&s->interps, space->tgid)))
		return;
	space->interp_read_cnt = INTERPRETER_LOOKS;
	space->interp_since_ns = rec->h.time_ns;
}

static void find_interp(struct tapir_unwind_spaces *s, struct space *space)
{
	space->interp_read_cnt--;
	if (!tapir_interp_stacks__find(s->interp_stacks, space->tgid, space->interp_since_ns,
				       &space->interp))
		return;
	space->interp_read_cnt = 0;
	mark(s, space);
}

/* Searches in spaces of tgids by one of their counts of looks; some ms each, so not in all. */
static void find_each(struct tapir_unwind_spaces *s, __typeof__(s->described) *tgids,
		      size_t looks_off, size_t most,
		      void (*find)(struct tapir_unwind_spaces *s, struct space *space),
		      bool looks_again)
{
	size_t kept = 0, scanned = 0;

	for (size_t i = 0; i < tgids->cnt; i++) {
		struct space *space = space_of(s, tgids->data[i]);
		unsigned *looks = space ? (void *)((char *)space + looks_off) : NULL;

		if (looks && *looks && (looks_again || *looks == INTERPRETER_LOOKS) &&
		    scanned++ < most)
			find(s, space);
		if (looks && *looks)
			tgids->data[kept++] = space->tgid;
	}
	tgids->cnt = kept;
}

/* A process that is left out is searched a second later. */
static void find_interpreters(struct tapir_unwind_spaces *s, bool looks_again)
{
	find_each(s, &s->described, offsetof(struct space, code_read_cnt), DESCRIBED_AT_ONCE,
		  find_code, looks_again);
	find_each(s, &s->interps, offsetof(struct space, interp_read_cnt), INTERPS_AT_ONCE,
		  find_interp, looks_again);
}

static void unwind_on_mapping(struct tapir_unwind_spaces *s, const struct tapir_rec_mapping *rec,
			      int fd)
{
	struct tapir_space_mapping new = {.m = {.start_va = rec->start_va,
						.end_va = rec->end_va,
						.bias = rec->start_va - rec->file_off,
						.kind = unwind_mapping_kind(rec)},
					  .since_ns = rec->h.time_ns};
	struct space *space;

	if (!(rec->flags & TAPIR_MAPPING_EXEC) || rec->end_va <= rec->start_va || !rec->tgid ||
	    rec->end_va > MAX_VA)
		return;
	new.m.file_idx = file_of(s, rec, fd);
	if (new.m.file_idx == TAPIR_UNWIND_NO_FILE)
		new.m.bias = 0; /* of no meaning: so that pieces are equal */
	space = add_space(s, rec->tgid);
	if (!space || tapir_unwind_mappings__have(&space->mappings, &new.m))
		return;
	s->refused_cnt += tapir_unwind_mappings__make_room(&space->mappings, &new.m);
	if (!tapir_unwind_mappings__add(&space->mappings, &new))
		s->refused_cnt++;
	want_code(s, space, rec);
	want_interp(s, space, rec);
	mark_code(s, space);
	if (!space->is_stale && tapir_vec__push(&s->stale, rec->tgid))
		space->is_stale = true;
	mark(s, space);
}

void tapir_unwind_spaces__on_record(struct tapir_unwind_spaces *s, const struct tapir_rec *rec,
				    int fd)
{
	if (!s)
		return;
	if (rec->type == TAPIR_REC_PROCESS)
		on_process(s, (const void *)rec);
	else if (rec->type == TAPIR_REC_MAPPING)
		unwind_on_mapping(s, (const void *)rec, fd);
}

/* ---- into the kernel ---------------------------------------------------------------------------- */

static uint32_t blocks_for(size_t mapping_cnt)
{
	uint32_t cnt = (uint32_t)((mapping_cnt + TAPIR_UNWIND_SPACE_MAPPINGS - 1) /
				  TAPIR_UNWIND_SPACE_MAPPINGS);

	return cnt ? cnt : 1;
}

static void fill_block(struct tapir_unwind_space *out, const struct space *space, uint32_t block,
		       uint32_t block_cnt)
{
	size_t first = (size_t)block * TAPIR_UNWIND_SPACE_MAPPINGS;

	memset(out, 0, sizeof(*out));
	memset(out->first_va, 0xff, sizeof(out->first_va));
	out->block_cnt = block_cnt;
	out->generation = space->generation;
	out->interp = space->interp;
	for (uint32_t i = 1; i < block_cnt; i++)
		out->first_va[i] =
			space->mappings.data[(size_t)i * TAPIR_UNWIND_SPACE_MAPPINGS].m.start_va;
	out->first_va[0] = 0;
	while (out->cnt < TAPIR_UNWIND_SPACE_MAPPINGS && first + out->cnt < space->mappings.cnt) {
		out->mappings[out->cnt] = space->mappings.data[first + out->cnt].m;
		out->cnt++;
	}
}

/* Block 0 last: it leads to the others. */
static void write_space(struct tapir_unwind_spaces *s, struct space *space)
{
	uint32_t block_cnt = blocks_for(space->mappings.cnt);
	int err = 0;

	space->is_changed = false;
	space->generation++;
	for (uint32_t i = block_cnt; i-- && !err;) {
		fill_block(&s->scratch, space, i, block_cnt);
		err = tapir_unwind_maps__set_space(s->maps, space->tgid, i, &s->scratch);
	}
	for (uint32_t i = block_cnt; i < space->block_cnt; i++)
		tapir_unwind_maps__del_space(s->maps, space->tgid, i);
	s->refused_cnt += err != 0;
	space->block_cnt = block_cnt;
}

void tapir_unwind_spaces__flush(struct tapir_unwind_spaces *s)
{
	if (!s)
		return;
	find_interpreters(s, false);
	for (size_t i = 0; i < s->changed.cnt; i++) {
		struct space *space = space_of(s, s->changed.data[i]);

		if (!space)
			continue;
		space->is_listed = false;
		if (space->is_changed)
			write_space(s, space);
	}
	s->changed.cnt = 0;
}

/* ---- what is mapped no more ----------------------------------------------------------------------- */

static int see_line(const struct tapir_mapping_line *line, void *ctx)
{
	struct space *space = ctx;
	size_t at;

	if (!line->is_executable)
		return 0;
	at = tapir_sorted__upper_bound(space->mappings.data, space->mappings.cnt, m.start_va,
				       line->start_va);
	if (at && space->mappings.data[at - 1].m.end_va > line->start_va)
		space->mappings.data[at - 1].is_seen = true;
	for (; at < space->mappings.cnt && space->mappings.data[at].m.start_va < line->end_va; at++)
		space->mappings.data[at].is_seen = true;
	return 0;
}

/* Mappings that came after the list was read stay: they are not in it. */
static void prune(struct tapir_unwind_spaces *s, struct space *space)
{
	int diag_mark = tapir_diag__cnt(), err;
	size_t kept = 0, cnt = space->mappings.cnt;

	for (size_t i = 0; i < cnt; i++)
		space->mappings.data[i].is_seen = false;
	err = tapir_proc__each_mapping(space->tgid, see_line, space);
	tapir_diag__rewind(diag_mark);
	if (err)
		return;
	for (size_t i = 0; i < cnt; i++)
		if (space->mappings.data[i].is_seen)
			space->mappings.data[kept++] = space->mappings.data[i];
	space->mappings.cnt = kept;
	if (kept < cnt)
		mark(s, space);
}

void tapir_unwind_spaces__poll(struct tapir_unwind_spaces *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < PRUNED_PER_SEC && s->stale.cnt; i++) {
		struct space *space = space_of(s, s->stale.data[0]);

		memmove(s->stale.data, s->stale.data + 1,
			(s->stale.cnt - 1) * sizeof(*s->stale.data));
		s->stale.cnt--;
		if (!space)
			continue;
		space->is_stale = false;
		prune(s, space);
	}
	find_interpreters(s, true);
	tapir_unwind_spaces__flush(s);
}

void tapir_unwind_spaces__mapped(const struct tapir_unwind_spaces *s, uint64_t *bits)
{
	for (size_t i = 0; i < s->by_tgid.cap; i++) {
		const struct space *space = (void *)(uintptr_t)s->by_tgid.slots[i].value;

		for (size_t j = 0; s->by_tgid.slots[i].used && j < space->mappings.cnt; j++) {
			uint32_t idx = space->mappings.data[j].m.file_idx;

			if (idx != TAPIR_UNWIND_NO_FILE)
				bits[idx / 64] |= 1ull << (idx % 64);
		}
	}
}

void tapir_unwind_spaces__renew(struct tapir_unwind_spaces *s, uint32_t file_idx)
{
	for (size_t i = 0; i < s->by_tgid.cap; i++) {
		struct space *space = (void *)(uintptr_t)s->by_tgid.slots[i].value;

		if (!s->by_tgid.slots[i].used)
			continue;
		for (size_t j = 0; j < space->mappings.cnt; j++)
			if (space->mappings.data[j].m.file_idx == file_idx)
				mark(s, space);
	}
}

uint64_t tapir_unwind_spaces__refused(const struct tapir_unwind_spaces *s)
{
	return s ? s->refused_cnt : 0;
}

/* ---- lifecycle ------------------------------------------------------------------------------------ */

int tapir_unwind_spaces__new(struct tapir_unwind_maps *maps, struct tapir_unwind_tables *tables,
			     struct tapir_interp_stacks *interp_stacks,
			     struct tapir_unwind_spaces **out)
{
	struct tapir_unwind_spaces *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->maps = maps;
	s->tables = tables;
	s->interp_stacks = interp_stacks;
	*out = s;
	return 0;
}

void tapir_unwind_spaces__free(struct tapir_unwind_spaces *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->by_tgid.cap; i++)
		if (s->by_tgid.slots[i].used)
			free_space((void *)(uintptr_t)s->by_tgid.slots[i].value);
	tapir_map__fini(&s->by_tgid);
	tapir_vec__fini(&s->changed);
	tapir_vec__fini(&s->stale);
	tapir_vec__fini(&s->described);
	tapir_vec__fini(&s->interps);
	free(s);
}
