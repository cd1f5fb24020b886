// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of copied threads, by the tables of the files that their process maps. A thousand threads
 * wait at few places, so pages of generated code and names of methods are read once per process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "runtime/interpreters.h"
#include "runtime/runtime_ops.h"
#include "runtime/process_memory.h"
#include "tapir/stack_walk.h"
#include "record/threads/snapshot_impl.h"
#include "attach/flow/queue.h"
#include "symbol/vdso.h"
#include "trace/family.h"
#include "trace/recbuf.h"
#include "attach/unwind/unwind_cache.h"
#include "attach/unwind/unwind_table.h"
#include "attach/unwind/walk.h"

struct tapir_walk_tables {
	struct tapir_vec(struct tapir_unwind_table *) vec;
	struct tapir_map idx_by_file; /* of vec, and 1; 0: the file has none */
	uint64_t vdso;		      /* of the vdso: idx_by_file's value */
	bool has_vdso;
	struct tapir_unwind_cache *cache; /* may be NULL */
};

#define CODE_PAGE_BYTES 4096u
#define CODE_PAGES_MAX	4096u /* of a process */
#define METHODS_MAX	65536u

/* Generated code that its threads' stacks lead through: a thousand threads wait at few places. */
struct code_page {
	size_t bytes; /* that could be read */
	uint8_t data[CODE_PAGE_BYTES];
};

struct code_pages {
	struct tapir_map idx_by_number; /* of vec, and 1 */
	struct tapir_vec(struct code_page *) vec;
};

/*
 * The methods that interpreters (HotSpot's, CPython) run in stacks of a process, each with a flag:
 * it has a name.
 */
struct methods {
	const struct tapir_code_ops *code; /* NULL: the runtime does not describe its code */
	void *code_state;
	struct tapir_code_place place;
	const struct tapir_process_copy *of;
	struct tapir_map method_is_named;
	struct tapir_str name; /* of one, being put together */
	struct tapir_recbuf recbuf;
	struct tapir_queue *queue;
	uint64_t from_ns; /* by then they were there */
};

/* The executable memory of a process. */
struct space {
	uint32_t tgid;
	struct tapir_vec(struct tapir_walk_code) codes;
	struct tapir_walk_tables *tables;
	struct code_pages *pages;
	struct methods *methods;
};

/* Values of a file's slot in tables. */
#define NO_TABLE 0u
#define NO_ELF	 UINT64_MAX

static uint64_t read_file(struct tapir_walk_tables *tables, int fd)
{
	struct tapir_unwind_table *table = NULL;
	struct tapir_unwind_key key;
	bool has_key = fd >= 0 && !tapir_unwind_key__of(fd, &key), is_cached;
	int err = fd < 0 ? -ENOENT
			 : tapir_unwind_cache__make(tables->cache, has_key ? &key : NULL, fd,
						    &table, &is_cached);

	if (!err && tapir_vec__push(&tables->vec, table))
		return tables->vec.cnt;
	tapir_unwind_table__free(table);
	return err == -ENOEXEC ? NO_ELF : NO_TABLE;
}

static void set_kind(const struct space *space, uint64_t file, struct tapir_walk_code *code)
{
	if (file != NO_ELF && file != NO_TABLE)
		code->table = space->tables->vec.data[file - 1];
	code->kind = file == NO_ELF || (code->table && code->table->shape.is_assembly)
			     ? TAPIR_UNWIND_KIND_IMAGE
			     : TAPIR_UNWIND_KIND_FILE;
}

static int add_file(struct space *space, const struct tapir_mapping_line *line,
		    struct tapir_walk_code *code)
{
	uint64_t key = tapir_hash__mix(line->dev, line->inode), *file;
	int mark = tapir_diag__cnt();
	bool is_new = false;

	file = tapir_map__put(&space->tables->idx_by_file, key, &is_new);
	if (!file)
		return -ENOMEM;
	if (is_new) {
		tapir_autofd int fd = tapir_proc__open_mapped(space->tgid, line, NULL);

		*file = read_file(space->tables, fd);
	}
	tapir_diag__rewind(mark);
	set_kind(space, *file, code);
	return 0;
}

static uint64_t vdso_of(struct tapir_walk_tables *tables, int fd)
{
	if (!tables->has_vdso)
		tables->vdso = read_file(tables, fd);
	tables->has_vdso = true;
	return tables->vdso;
}

static void find_code(struct space *space, const struct tapir_mapping_line *line)
{
	struct methods *methods = space->methods;
	const struct tapir_runtime_ops *runtime =
		tapir_runtimes__of_path((struct tapir_sv){line->path, line->path_len});

	if (!runtime || !runtime->code)
		return;
	methods->code_state = runtime->code->find(space->tgid, line, &methods->place);
	if (methods->code_state)
		methods->code = runtime->code;
}

static int add_mapping(const struct tapir_mapping_line *line, void *ctx)
{
	struct space *space = ctx;
	const struct tapir_vdso *vdso = tapir_vdso__at(line);
	struct tapir_walk_code code = {
		.start_va = line->start_va,
		.end_va = line->end_va,
		.bias = line->start_va - line->file_off,
		.kind = TAPIR_UNWIND_KIND_JIT,
	};
	int err = 0;

	if (!line->is_executable)
		return 0;
	if (!space->methods->code)
		find_code(space, line);
	if (vdso) {
		code.bias = line->start_va;
		set_kind(space, vdso_of(space->tables, vdso->fd), &code);
	} else if (tapir_mapping_line__is_file(line) && strncmp(line->path, "/memfd:", 7) != 0) {
		err = add_file(space, line, &code);
	}
	return err || tapir_vec__push(&space->codes, code) ? err : -ENOMEM;
}

struct tapir_walk_tables *tapir_walk_tables__new(void)
{
	struct tapir_walk_tables *tables = calloc(1, sizeof(*tables));

	if (tables)
		tables->cache = tapir_unwind_cache__new();
	return tables;
}

void tapir_walk_tables__free(struct tapir_walk_tables *tables)
{
	struct tapir_unwind_table **table;

	if (!tables)
		return;
	tapir_vec_for_each (table, &tables->vec)
		tapir_unwind_table__free(*table);
	tapir_vec__fini(&tables->vec);
	tapir_map__fini(&tables->idx_by_file);
	tapir_unwind_cache__free(tables->cache);
	free(tables);
}

/* ---- records -------------------------------------------------------------------------------- */

struct stack_rec {
	struct tapir_rec_stack rec;
	uint64_t frames[TAPIR_MAX_FRAMES];
};

/* Returns its id; 0: there is none. */
static uint64_t post_stack(struct tapir_queue *queue, struct stack_rec *stack, uint64_t hash,
			   uint64_t time_ns)
{
	struct tapir_rec_stack *rec = &stack->rec;

	if (!rec->frame_cnt)
		return 0;
	for (unsigned i = 0; i < rec->frame_cnt; i++)
		hash = tapir_walk__hash(hash, stack->frames[i]);
	rec->stack_id = hash ? hash : 1;
	tapir_rec__init(&rec->h, TAPIR_REC_STACK, sizeof(*rec) + 8u * rec->frame_cnt, time_ns);
	(void)tapir_queue__post(queue, &rec->h, -1); /* the queue counts what it refuses */
	return rec->stack_id;
}

static uint64_t post_kernel_stack(struct tapir_queue *queue, const struct tapir_thread_seen *seen)
{
	struct stack_rec stack = {.rec.flags = TAPIR_STACK_KERNEL};

	stack.rec.frame_cnt = (uint16_t)seen->kernel_frame_cnt;
	memcpy(stack.frames, seen->kernel_frames, 8u * seen->kernel_frame_cnt);
	return post_stack(queue, &stack, 1, seen->thread.h.time_ns);
}

/* NULL: there are too many of them, or there is no memory. */
static const struct code_page *page_of(const struct space *space, uint64_t number)
{
	struct code_pages *pages = space->pages;
	uint64_t *idx = tapir_map__get(&pages->idx_by_number, number);
	struct code_page *page;

	if (idx && *idx)
		return pages->vec.data[*idx - 1];
	page = pages->vec.cnt < CODE_PAGES_MAX ? malloc(sizeof(*page)) : NULL;
	idx = page ? tapir_map__put(&pages->idx_by_number, number, NULL) : NULL;
	if (!idx || !tapir_vec__push(&pages->vec, page)) {
		free(page);
		return NULL;
	}
	*idx = pages->vec.cnt;
	page->bytes = tapir_process_memory__read(space->tgid, number * CODE_PAGE_BYTES, page->data,
						 CODE_PAGE_BYTES);
	return page;
}

static void free_pages(struct code_pages *pages)
{
	struct code_page **page;

	tapir_vec_for_each (page, &pages->vec)
		free(*page);
	tapir_vec__fini(&pages->vec);
	tapir_map__fini(&pages->idx_by_number);
}

/* Reads code of a process, which may have ended: then there are no bytes. */
static size_t read_code(const void *ctx, uint64_t va, uint8_t *out, size_t bytes)
{
	const struct space *space = ctx;
	size_t done = 0;

	while (done < bytes) {
		uint64_t at_va = va + done;
		const struct code_page *page = page_of(space, at_va / CODE_PAGE_BYTES);
		size_t off = at_va % CODE_PAGE_BYTES, left;

		if (!page)
			return done + tapir_process_memory__read(space->tgid, at_va, out + done,
								 bytes - done);
		left = page->bytes > off ? page->bytes - off : 0;
		left = left < bytes - done ? left : bytes - done;
		memcpy(out + done, page->data + off, left);
		done += left;
		if (off + left < CODE_PAGE_BYTES)
			break;
	}
	return done;
}

static void post_name(struct methods *methods, uint32_t tgid, uint64_t method_va)
{
	struct tapir_rec_jit fixed = {.h = {.cpu = TAPIR_CPU_UNKNOWN, .time_ns = methods->from_ns},
				      .tgid = tgid,
				      .source = TAPIR_JIT_INTERPRETED,
				      .start_va = method_va,
				      .size = TAPIR_INTERP_NAME_BYTES,
				      .from_ns = methods->from_ns};
	const struct tapir_rec *rec = tapir_recbuf__jit(
		&methods->recbuf, &fixed, (struct tapir_sv){methods->name.data, methods->name.len});

	if (rec)
		(void)tapir_queue__post(methods->queue, rec, -1); /* it counts what it refuses */
}

/* A thousand threads wait in few methods: each is read once. NULL: there are too many. */
static uint64_t *method_is_named(struct methods *methods, uint64_t va, bool *is_new)
{
	*is_new = false;
	if (methods->method_is_named.cnt >= METHODS_MAX)
		return tapir_map__get(&methods->method_is_named, va);
	return tapir_map__put(&methods->method_is_named, va, is_new);
}

/* Reads the name of a function of one interpreter. */
typedef bool (*add_name_fn)(const struct methods *methods,
			    const struct tapir_process_memory *memory, uint64_t va,
			    struct tapir_str *out);

static bool find_name(const struct space *space, uint64_t va, add_name_fn add_name)
{
	struct methods *methods = space->methods;
	struct tapir_process_memory memory = {tapir_process_memory__read_fn,
					      (void *)(uintptr_t)&space->tgid};
	bool is_new;
	uint64_t *known = method_is_named(methods, va, &is_new);

	if (!known || !is_new)
		return known && *known;
	tapir_str__clear(&methods->name);
	*known = add_name(methods, &memory, va, &methods->name);
	if (*known)
		post_name(methods, space->tgid, va);
	return *known;
}

static bool add_method(const struct methods *methods, const struct tapir_process_memory *memory,
		       uint64_t va, struct tapir_str *out)
{
	return methods->code && methods->code->add_name(methods->code_state, memory, va, out);
}

static bool add_interpreted_function(const struct methods *methods,
				     const struct tapir_process_memory *memory, uint64_t va,
				     struct tapir_str *out)
{
	const struct tapir_interp_frame frame = {.va = va};
	bool is_internal = false;

	return methods->of->interpreter->add_name(methods->of->interpreter_state, memory, &frame,
						  out, &is_internal);
}

static bool is_method(const void *ctx, uint64_t va)
{
	const struct space *space = ctx;

	return find_name(space, va, add_method);
}

static bool is_function(void *ctx, uint64_t va)
{
	return find_name(ctx, va, add_interpreted_function);
}

static bool is_generated(void *ctx, uint64_t va)
{
	const struct space *space = ctx;
	const struct tapir_walk_code *code;

	tapir_vec_for_each (code, &space->codes)
		if (va > code->start_va && va <= code->end_va)
			return code->kind == TAPIR_UNWIND_KIND_JIT;
	return false;
}

/* Puts an interpreter's functions among those of the walk. */
static void add_thread_frames(struct stack_rec *stack, const struct space *space,
			      const struct tapir_thread_copy *copy, const struct tapir_walk *walk)
{
	const struct tapir_interp_namer namer = {is_function, is_generated,
						 (void *)(uintptr_t)space};
	size_t cnt = tapir_interp__merge(&space->methods->of->loop, copy->functions,
					 copy->function_cnt, &namer, walk->frames, walk->frame_cnt,
					 walk->end == TAPIR_STACK_END_WHOLE, stack->frames,
					 TAPIR_MAX_FRAMES);

	stack->rec.frame_cnt = (uint16_t)(cnt < TAPIR_MAX_FRAMES ? cnt : TAPIR_MAX_FRAMES);
	stack->rec.end = cnt > TAPIR_MAX_FRAMES ? TAPIR_STACK_END_MORE : walk->end;
	stack->rec.flags = walk->used_table ? TAPIR_STACK_UNWOUND : 0;
}

static void free_methods(struct methods *methods)
{
	free(methods->code_state);
	tapir_map__fini(&methods->method_is_named);
	tapir_str__fini(&methods->name);
	tapir_recbuf__fini(&methods->recbuf);
}

static uint64_t post_user_stack(struct tapir_queue *queue, const struct space *space,
				const struct tapir_thread_copy *copy)
{
	const struct tapir_thread_seen *seen = &copy->seen;
	struct stack_rec stack = {};
	struct tapir_walk walk = {
		.codes = space->codes.data,
		.code_cnt = space->codes.cnt,
		.ip = seen->ip,
		.sp = seen->sp,
		.fp = seen->fp,
		.stack = copy->memory,
		/* The copy begins at an aligned word, as it was made. */
		.stack_va = seen->sp & ~7ull,
		.stack_bytes = copy->bytes,
		.read_code = read_code,
		.code_ctx = space,
		.interpreter_va = space->methods->place.interpreter_va,
		.interpreter_end_va = space->methods->place.interpreter_end_va,
		.method_below = TAPIR_UNWIND_METHOD_BELOW_FP,
		.is_method = is_method,
		.heaps = space->methods->place.heaps,
		.heap_cnt = space->methods->place.heap_cnt,
	};

	/* The kernel gave no registers: the thread ran, or has ended since. */
	if (!seen->ip)
		return 0;
	tapir_walk__run(&walk);
	add_thread_frames(&stack, space, copy, &walk);
	return post_stack(queue, &stack, 0, seen->thread.h.time_ns);
}

static void post_thread(struct tapir_queue *queue, const struct space *space,
			const struct tapir_thread_copy *copy, bool is_end)
{
	const struct tapir_thread_seen *seen = &copy->seen;
	struct {
		struct tapir_rec_switch rec;
		uint64_t futex_va;
	} with_futex = {.rec.flags = TAPIR_SWITCH_SNAPSHOT | (is_end ? TAPIR_SWITCH_AT_END : 0),
			.futex_va = copy->has_moved ? 0 : copy->futex_va};
	struct tapir_rec_switch *rec = &with_futex.rec;

	rec->flags |= with_futex.futex_va ? TAPIR_SWITCH_HAS_FUTEX : 0;
	tapir_rec__init(&rec->h, tapir_families[TAPIR_FAMILY_SWITCH].type,
			with_futex.futex_va ? sizeof(with_futex) : sizeof(*rec),
			seen->thread.h.time_ns);
	(void)tapir_queue__post(queue, &seen->thread.h, -1);
	if (copy->has_moved) { /* it runs */
		rec->in_tgid = seen->thread.tgid;
		rec->in_tid = seen->thread.tid;
	} else {
		rec->out_tgid = seen->thread.tgid;
		rec->out_tid = seen->thread.tid;
		rec->out_state = (uint16_t)seen->state;
		rec->out_kstack_id = post_kernel_stack(queue, seen);
		rec->out_stack_id = post_user_stack(queue, space, copy);
		rec->flags |= seen->state ? 0 : TAPIR_SWITCH_PREEMPTED;
	}
	(void)tapir_queue__post(queue, &rec->h, -1);
}

static uint64_t first_ns(const struct tapir_process_copy *p)
{
	uint64_t first_ns = p->copies.cnt ? UINT64_MAX : 0;
	const struct tapir_thread_copy *copy;

	tapir_vec_for_each (copy, &p->copies)
		if (copy->seen.thread.h.time_ns < first_ns)
			first_ns = copy->seen.thread.h.time_ns;
	return first_ns;
}

void tapir_process_copy__post(const struct tapir_process_copy *p, struct tapir_poster *poster)
{
	struct code_pages pages = {};
	struct methods methods = {.of = p, .queue = poster->queue, .from_ns = first_ns(p)};
	struct space space = {
		.tgid = p->tgid, .tables = poster->tables, .pages = &pages, .methods = &methods};
	const struct tapir_thread_copy *copy;
	int err = p->copies.cnt ? tapir_proc__each_mapping(p->tgid, add_mapping, &space) : 0;

	if (err)
		tapir_debug("cannot read the mappings of process %u: %s", p->tgid,
			    tapir_errno__text(err));
	tapir_vec_for_each (copy, &p->copies)
		post_thread(poster->queue, &space, copy, poster->is_end);
	tapir_process_copy__post_calls(p, poster);
	free_pages(&pages);
	free_methods(&methods);
	tapir_vec__fini(&space.codes);
}
