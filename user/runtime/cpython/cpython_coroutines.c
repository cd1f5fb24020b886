// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See cpython_coroutines.h. An object that may be part of a circle has two words before it, the
 * next one in its list and the previous one; the lists are those of the collector's generations.
 *
 * Each coroutine is a node; "next" leads from it to the one for which it waits: what it awaits, or
 * the one that has the lock. So each node has at most one next, and circles are found by walking.
 */
#include "runtime/cpython/cpython_coroutines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "runtime/cpython/cpython_lines.h"
#include "runtime/page_cache.h"

#define MAX_INTERPRETERS 256u
#define MAX_OBJECTS	 (1u << 27)
#define MAX_NODES	 (1u << 20)
#define MAX_TASKS	 (1u << 20)
#define MAX_TYPES	 65536u
#define MAX_TEXTS	 65536u
#define MAX_FRAMES	 64u	/* of a stack */
#define MAX_WRAPPERS	 8u	/* between a coroutine and what it awaits */
#define MAX_VALUES	 64u	/* of a coroutine's stack are searched for locks */
#define MAX_STACK	 65536u /* of a deeper one it is no coroutine */
#define MAX_BASES	 8u
#define MAX_NAME_CHARS	 256u
#define MAX_FILE_CHARS	 1024u
#define MAX_TABLE_BYTES	 (1u << 20)
#define NONE		 UINT32_MAX

enum {
	HEAD_BYTES = 16, /* before an object of the collector's lists */
	TYPE = 8,	 /* of an object */
	WRAPPED = 16,	 /* of any that stands between a coroutine and what it awaits */
	TYPE_NAME = 24,
	TYPE_BASE = 256,
	METHOD_FUNCTION = 16,
	METHOD_SELF = 24,
	FUNCTION_CODE = 48,
	GENERATIONS = 24, /* of the collector's state; 24 bytes each, and one that is permanent */
	GENERATION_BYTES = 24,
	PERMANENT = 104,
	COLLECTING = 200,
	INSTRUCTION = 56, /* of a frame */
	STACK_TOP = 64,
	VALUES = 72,	  /* local variables, and behind them the stack */
	LINE_TABLE = 136, /* of code */
	BYTES_SIZE = 16,
	BYTES_DATA = 32,
	INT_TAG = 16, /* of an int, from 3.12 on: 8 is one digit */
	INT_DIGIT = 24,
	SUSPENDED = -1, /* state of a frame: from 3.13 on only of one that awaits */
};

/* Offsets and sizes that differ between versions, on x86-64. */
struct coroutine_layout {
	uint16_t version;
	uint16_t frame, frame_state, running_async; /* of a coroutine */
	uint16_t task_coroutine, task_name;
	uint16_t first_line, value_cnt, code; /* of code */
};

static const struct coroutine_layout layouts[] = {
	{0x030b, 80, 75, 74, 136, 144, 72, 76, 184},
	{0x030c, 72, 67, 66, 136, 144, 68, 72, 192},
	{0x030d, 72, 67, 66, 120, 128, 68, 72, 200},
};

enum kind {
	IS_NO_TYPE,
	OTHER,
	COROUTINE,
	ASYNC_GENERATOR,
	GENERATOR,
	WRAPPER, /* leads to what is awaited */
	TASK,
	FUTURE,
	METHOD,
	INT
};

struct type {
	enum kind kind;
	char name[64];
};

struct node {
	uint64_t va, code_va;
	uint64_t top_va;     /* what it awaits, on its stack of values */
	uint64_t awaited_va; /* that is no node; 0: not known, or a node */
	uint64_t lock_va;    /* the lock that it awaits */
	uint64_t task_va;    /* that runs it */
	uint32_t unit;	     /* of its code, where it is suspended */
	int32_t stack_top;
	uint32_t callee, caller; /* the node that it awaits; the first one that awaits it */
	uint32_t next;
	uint32_t walk; /* number of the last walk through it; 0: none */
	uint8_t kind;
	bool is_stuck, is_in_bare_circle;
};

struct coroutines {
	const struct tapir_cpython *python;
	const struct coroutine_layout *layout;
	struct tapir_page_cache cache;
	struct tapir_keyed(struct type) types;
	struct tapir_keyed(struct node) nodes;
	struct tapir_vec(uint64_t) tasks;
	struct tapir_keyed(char *) texts; /* of frames */
	struct tapir_map locks;		  /* that are awaited: idx + 1 of the node that has it */
	bool is_torn, is_full, failed;
};

/* ---- objects -------------------------------------------------------------------------------- */

static uint64_t word_at(const struct coroutines *c, uint64_t va)
{
	return tapir_process_memory__u64(&c->cache.memory, va);
}

/* Reads a type's name, which is printable. */
static bool read_type_name(const struct coroutines *c, uint64_t type_va, char *out, size_t size)
{
	uint64_t name_va = word_at(c, type_va + TYPE_NAME);
	size_t cnt =
		name_va ? c->cache.memory.read(c->cache.memory.ctx, name_va, out, size - 1) : 0;

	out[cnt] = 0;
	for (size_t i = 0; out[i]; i++)
		if ((uint8_t)out[i] < ' ' || out[i] == 0x7f)
			return false;
	return out[0];
}

static enum kind kind_by_name(const char *name)
{
	static const struct {
		const char *name;
		enum kind kind;
	} known[] = {{"coroutine_wrapper", WRAPPER},
		     {"async_generator_asend", WRAPPER},
		     {"async_generator_athrow", WRAPPER},
		     {"anext_awaitable", WRAPPER},
		     {"_asyncio.FutureIter", WRAPPER},
		     {"_asyncio.Task", TASK},
		     {"_asyncio.Future", FUTURE},
		     {"method", METHOD},
		     {"int", INT}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(name, known[i].name))
			return known[i].kind;
	return OTHER;
}

static enum kind kind_of_type(const struct coroutines *c, uint64_t type_va, char *name, size_t size)
{
	const struct tapir_cpython *p = c->python;
	char base_name[64];
	enum kind kind;

	if (!type_va || type_va & 7 || !read_type_name(c, type_va, name, size))
		return IS_NO_TYPE;
	if (type_va == p->coroutine_type_va)
		return COROUTINE;
	if (type_va == p->async_generator_type_va)
		return ASYNC_GENERATOR;
	if (type_va == p->generator_type_va)
		return GENERATOR;
	kind = kind_by_name(name);
	for (unsigned i = 0; kind == OTHER && i < MAX_BASES; i++) {
		type_va = word_at(c, type_va + TYPE_BASE);
		if (!type_va || !read_type_name(c, type_va, base_name, sizeof(base_name)))
			break;
		kind = kind_by_name(base_name);
		kind = kind == TASK || kind == FUTURE ? kind : OTHER;
	}
	return kind;
}

/* Borrowed until the next. */
static const struct type *type_at(struct coroutines *c, uint64_t type_va)
{
	static const struct type none = {OTHER, "object"};
	struct type *known = tapir_keyed__get(&c->types, type_va), read;

	if (known)
		return known;
	read.kind = kind_of_type(c, type_va, read.name, sizeof(read.name));
	known = tapir_keyed__add(&c->types, type_va, MAX_TYPES, read);
	return known ? known : &none;
}

static const struct type *type_of(struct coroutines *c, uint64_t object_va)
{
	return type_at(c, object_va ? word_at(c, object_va + TYPE) : 0);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* Reads a coroutine or generator that is suspended in an await. False: it is none. */
static bool read_node(struct coroutines *c, uint64_t va, struct node *out)
{
	const struct coroutine_layout *l = c->layout;
	uint64_t frame_va = va + l->frame, value_va, instruction_va;
	uint8_t head[HEAD_BYTES + 80];
	int32_t top;

	if (!tapir_process_memory__get(&c->cache.memory, va, head, sizeof(head)))
		return false;
	*out = (struct node){.va = va, .callee = NONE, .caller = NONE, .next = NONE};
	out->kind = (uint8_t)type_of(c, va)->kind;
	if ((out->kind != COROUTINE && out->kind != ASYNC_GENERATOR && out->kind != GENERATOR) ||
	    (int8_t)head[l->frame_state] != SUSPENDED ||
	    (out->kind == ASYNC_GENERATOR && !head[l->running_async]))
		return false;
	out->code_va = word_at(c, frame_va + c->python->layout.code);
	instruction_va = word_at(c, frame_va + INSTRUCTION);
	if (!tapir_process_memory__get(&c->cache.memory, frame_va + STACK_TOP, &top, sizeof(top)) ||
	    top < 1 || top > (int32_t)MAX_STACK || instruction_va < out->code_va + l->code)
		return false;
	out->stack_top = top;
	out->unit = (uint32_t)((instruction_va - out->code_va - l->code) / 2);
	value_va = frame_va + VALUES + 8 * ((uint64_t)top - 1);
	out->top_va = word_at(c, value_va);
	return true;
}

/* The node of a coroutine that is suspended; NONE: it is not, or there is no room. */
static uint32_t add_node(struct coroutines *c, uint64_t va)
{
	struct node *node = tapir_keyed__get(&c->nodes, va), made;

	if (!node && read_node(c, va, &made)) {
		node = tapir_keyed__add(&c->nodes, va, MAX_NODES, made);
		c->is_full |= !node;
	}
	return node ? (uint32_t)(node - c->nodes.data) : NONE;
}

/* Finds the node that one awaits, or what it awaits instead. */
static void find_callee(struct coroutines *c, uint32_t idx)
{
	uint64_t va = c->nodes.data[idx].top_va, coroutine_va = 0, awaited_va = 0;
	enum kind of = c->nodes.data[idx].kind, kind = type_of(c, va)->kind;
	uint32_t callee;

	for (unsigned i = 0; kind == WRAPPER && i < MAX_WRAPPERS; i++) {
		va = word_at(c, va + WRAPPED);
		kind = type_of(c, va)->kind;
	}
	if (kind == TASK)
		coroutine_va = word_at(c, va + c->layout->task_coroutine);
	else if (kind == COROUTINE || kind == ASYNC_GENERATOR ||
		 (kind == GENERATOR && of != GENERATOR))
		coroutine_va = va;
	if (kind == TASK || kind == FUTURE || (kind == OTHER && of != GENERATOR))
		awaited_va = va;
	callee = coroutine_va ? add_node(c, coroutine_va) : NONE;
	c->nodes.data[idx].callee = c->nodes.data[idx].next = callee;
	c->nodes.data[idx].awaited_va = callee == NONE ? awaited_va : 0;
	if (callee != NONE && c->nodes.data[callee].caller == NONE)
		c->nodes.data[callee].caller = idx;
}

/* ---- lists of objects ----------------------------------------------------------------------- */

static void add_object(struct coroutines *c, uint64_t va, enum kind kind)
{
	if (kind == COROUTINE || kind == ASYNC_GENERATOR) {
		(void)add_node(c, va);
	} else if (kind == TASK) {
		if (c->tasks.cnt >= MAX_TASKS)
			c->is_full = true;
		else if (!tapir_vec__push(&c->tasks, va))
			c->failed = true;
	}
}

/*
 * A list ends where it began. One that changed leads anywhere: its objects have types, and a circle
 * is found by an object that is compared with the next ones, twice as many each time.
 */
static void read_list(struct coroutines *c, uint64_t head_va)
{
	uint64_t va = word_at(c, head_va), mark_va = 0, words[4];
	uint32_t cnt, until = 1;

	for (cnt = 0; va != head_va && cnt < MAX_OBJECTS; cnt++) {
		enum kind kind;

		if (va == mark_va || va & 7 ||
		    !tapir_process_memory__get(&c->cache.memory, va, words, sizeof(words)))
			break;
		kind = type_at(c, words[3])->kind;
		if (kind == IS_NO_TYPE)
			break;
		add_object(c, va + HEAD_BYTES, kind);
		if (cnt == until) {
			until *= 2;
			mark_va = va;
		}
		va = words[0];
	}
	c->is_torn |= va != head_va;
}

static bool is_collecting(const struct coroutines *c, uint64_t gc_va)
{
	return (uint32_t)word_at(c, gc_va + COLLECTING);
}

static void read_interpreter(struct coroutines *c, uint64_t interpreter_va)
{
	uint64_t gc_va = interpreter_va + c->python->layout.gc;

	c->is_torn |= is_collecting(c, gc_va);
	for (unsigned i = 0; i < 3; i++)
		read_list(c, gc_va + GENERATIONS + i * GENERATION_BYTES);
	read_list(c, gc_va + PERMANENT);
	tapir_page_cache__clear(&c->cache);
	c->is_torn |= is_collecting(c, gc_va);
}

static void read_objects(struct coroutines *c)
{
	const struct tapir_cpython_layout *l = &c->python->layout;
	uint64_t va = word_at(c, c->python->runtime_va + l->interpreters);

	for (unsigned i = 0; va && i < MAX_INTERPRETERS; i++) {
		read_interpreter(c, va);
		va = word_at(c, va + l->interpreter_next);
	}
}

/* Nodes are added while they are read: generators, which are in no list that is read. */
static void connect_nodes(struct coroutines *c)
{
	const uint64_t *task_va;

	for (uint32_t i = 0; i < c->nodes.cnt; i++)
		find_callee(c, i);
	tapir_vec_for_each (task_va, &c->tasks) {
		struct node *node = tapir_keyed__get(
			&c->nodes, word_at(c, *task_va + c->layout->task_coroutine));

		if (node)
			node->task_va = *task_va;
	}
}

/* ---- text ----------------------------------------------------------------------------------- */

static uint32_t line_of(const struct coroutines *c, uint64_t code_va, uint32_t unit)
{
	uint64_t table_va = word_at(c, code_va + LINE_TABLE);
	uint64_t bytes = table_va ? word_at(c, table_va + BYTES_SIZE) : 0;
	uint32_t line = 0;
	int32_t first_line;
	uint8_t *table;

	if (!bytes || bytes > MAX_TABLE_BYTES ||
	    !tapir_process_memory__get(&c->cache.memory, code_va + c->layout->first_line,
				       &first_line, sizeof(first_line)))
		return 0;
	table = malloc(bytes);
	if (table &&
	    tapir_process_memory__get(&c->cache.memory, table_va + BYTES_DATA, table, bytes))
		line = tapir_cpython_lines__at(table, bytes, first_line, unit);
	free(table);
	return line;
}

/* "Shop.pay(/srv/shop.py:12)"; of what is no function, "(function without a name)". */
static void add_frame_text(const struct coroutines *c, const struct node *node,
			   struct tapir_str *out)
{
	const struct tapir_cpython_layout *l = &c->python->layout;
	const struct tapir_process_memory *memory = &c->cache.memory;
	struct tapir_str file = {};
	uint32_t line = line_of(c, node->code_va, node->unit);

	if (!tapir_cpython__add_text(l, memory, word_at(c, node->code_va + l->name), MAX_NAME_CHARS,
				     out) ||
	    !tapir_cpython__add_text(l, memory, word_at(c, node->code_va + l->file), MAX_FILE_CHARS,
				     &file)) {
		tapir_str__clear(out);
		tapir_str__adds(out, "(function without a name)");
	} else {
		tapir_str__addf(out, "(%s", file.data);
		if (line)
			tapir_str__addf(out, ":%" PRIu32, line);
		tapir_str__addc(out, ')');
	}
	out->failed |= file.failed;
	tapir_str__fini(&file);
}

/* The text of a node's frame, borrowed; functions are suspended at few places. */
static const char *frame_text(struct coroutines *c, uint32_t idx)
{
	const struct node *node = &c->nodes.data[idx];
	uint64_t key = tapir_hash__mix(node->code_va, node->unit);
	char **known = tapir_keyed__get(&c->texts, key);
	struct tapir_str text = {};

	if (known)
		return *known;
	add_frame_text(c, node, &text);
	if (!text.failed && tapir_keyed__add(&c->texts, key, MAX_TEXTS, text.data))
		return text.data;
	c->failed |= text.failed || c->texts.failed;
	c->is_full |= !c->failed;
	tapir_str__fini(&text);
	return "(function without a name)";
}

static bool has_name(struct coroutines *c, uint32_t idx, const char *name, const char *file)
{
	const char *text = frame_text(c, idx), *at = strstr(text, name);

	return at && (at == text || at[-1] == '.') && strstr(at, file);
}

/* ---- locks ---------------------------------------------------------------------------------- */

/* self of Lock.acquire is the lock. */
static void note_awaited_lock(struct coroutines *c, uint32_t idx)
{
	struct node *node = &c->nodes.data[idx];

	if (node->callee != NONE || !has_name(c, idx, "Lock.acquire(", "/asyncio/locks.py"))
		return;
	node->lock_va = word_at(c, node->va + c->layout->frame + VALUES);
	c->failed |= node->lock_va && !tapir_map__put(&c->locks, node->lock_va, NULL);
}

/* Returns true for a bound method "__aexit__". */
static bool is_exit(struct coroutines *c, uint64_t method_va)
{
	static const char exit_name[] = "__aexit__";
	uint64_t function_va = word_at(c, method_va + METHOD_FUNCTION);
	uint64_t code_va = function_va ? word_at(c, function_va + FUNCTION_CODE) : 0;
	const size_t len = sizeof(exit_name) - 1;
	struct tapir_str name = {};
	bool is_one = code_va &&
		      tapir_cpython__add_text(&c->python->layout, &c->cache.memory,
					      word_at(c, code_va + c->python->layout.name),
					      MAX_NAME_CHARS, &name) &&
		      name.len >= len && !memcmp(name.data + name.len - len, exit_name, len);

	tapir_str__fini(&name);
	return is_one;
}

/*
 * `async with` has the method that is to release the lock on the stack, already while it acquires:
 * then it is the uppermost one, and __aenter__ is awaited.
 */
static void find_held_locks(struct coroutines *c, uint32_t idx)
{
	const struct node *node = &c->nodes.data[idx];
	bool is_entering = node->callee != NONE && has_name(c, node->callee, "__aenter__(", "");
	uint32_t local_cnt = 0, searched = 0;

	(void)tapir_process_memory__get(&c->cache.memory, node->code_va + c->layout->value_cnt,
					&local_cnt, sizeof(local_cnt));
	for (int64_t at = node->stack_top - 2; at >= (int64_t)local_cnt && searched < MAX_VALUES;
	     at--, searched++) {
		uint64_t value_va =
			word_at(c, node->va + c->layout->frame + VALUES + 8 * (uint64_t)at);
		uint64_t *holder;

		if (type_of(c, value_va)->kind != METHOD)
			continue;
		holder = tapir_map__get(&c->locks, word_at(c, value_va + METHOD_SELF));
		if (holder && is_exit(c, value_va) && !is_entering)
			*holder = idx + 1ull;
		is_entering = false;
	}
}

static void find_locks(struct coroutines *c)
{
	for (uint32_t i = 0; i < c->nodes.cnt; i++)
		note_awaited_lock(c, i);
	for (uint32_t i = 0; c->locks.cnt && i < c->nodes.cnt; i++)
		find_held_locks(c, i);
	for (uint32_t i = 0; i < c->nodes.cnt; i++) {
		const uint64_t *holder =
			c->nodes.data[i].lock_va
				? tapir_map__get(&c->locks, c->nodes.data[i].lock_va)
				: NULL;

		if (holder && *holder)
			c->nodes.data[i].next = (uint32_t)(*holder - 1);
	}
}

/* ---- circles -------------------------------------------------------------------------------- */

/* bare: no lock is in it, so no stack has an innermost function. */
static void mark_circle(struct coroutines *c, uint32_t first)
{
	bool is_bare = true;
	uint32_t i = first;

	do {
		is_bare &= c->nodes.data[i].callee != NONE;
		i = c->nodes.data[i].next;
	} while (i != first);
	do {
		c->nodes.data[i].is_stuck = true;
		c->nodes.data[i].is_in_bare_circle = is_bare;
		i = c->nodes.data[i].next;
	} while (i != first);
}

static void find_circles(struct coroutines *c)
{
	for (uint32_t i = 0; i < c->nodes.cnt; i++) {
		uint32_t walk = i + 1, at = i;

		while (at != NONE && !c->nodes.data[at].walk) {
			c->nodes.data[at].walk = walk;
			at = c->nodes.data[at].next;
		}
		if (at != NONE && c->nodes.data[at].walk == walk)
			mark_circle(c, at);
	}
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* The name of a task may be a number still: "Task-7". */
static void add_task_name(struct coroutines *c, uint64_t task_va, struct tapir_str *out)
{
	uint64_t name_va = task_va ? word_at(c, task_va + c->layout->task_name) : 0;

	if (!name_va)
		return;
	if (type_of(c, name_va)->kind == INT) {
		if (word_at(c, name_va + INT_TAG) == 8)
			tapir_str__addf(out, "Task-%" PRIu32,
					(uint32_t)word_at(c, name_va + INT_DIGIT));
	} else if (!tapir_cpython__add_text(&c->python->layout, &c->cache.memory, name_va,
					    MAX_NAME_CHARS, out)) {
		tapir_str__clear(out);
	}
}

static void add_awaited_object(struct coroutines *c, const struct node *node, struct tapir_str *out)
{
	const struct type *type = node->awaited_va ? type_of(c, node->awaited_va) : NULL;

	if (node->is_in_bare_circle)
		tapir_str__adds(out, frame_text(c, node->callee));
	else if (!type || type->kind == IS_NO_TYPE)
		return;
	else if (!strcmp(type->name, "_GatheringFuture"))
		tapir_str__adds(out, "asyncio.gather");
	else if (type->kind == TASK)
		tapir_str__adds(out, "a task that runs or has ended");
	else if (!strcmp(type->name, "_asyncio.Future"))
		tapir_str__adds(out, "a future");
	else
		tapir_str__adds(out, type->name);
}

/* The frames from a node to its outermost caller, and the first task among them. */
static uint64_t add_frames(struct coroutines *c, uint32_t idx, struct tapir_str *out)
{
	uint64_t task_va = 0;
	uint32_t at = idx;

	for (unsigned i = 0; at != NONE && i < MAX_FRAMES; i++) {
		tapir_str__adds(out, frame_text(c, at));
		tapir_str__addc(out, '\n');
		task_va = task_va ? task_va : c->nodes.data[at].task_va;
		at = c->nodes.data[at].caller;
		if (at == idx)
			break;
	}
	return task_va;
}

static struct tapir_sv text_of(const struct tapir_str *text)
{
	return (struct tapir_sv){text->data, text->len};
}

static void emit_stack(struct coroutines *c, uint32_t idx, struct tapir_suspended_sink *sink)
{
	const struct node *node = &c->nodes.data[idx];
	struct tapir_str frames = {}, awaits = {}, task = {};
	bool has_holder = node->callee == NONE && node->next != NONE;

	add_task_name(c, add_frames(c, idx, &frames), &task);
	add_awaited_object(c, node, &awaits);
	c->failed |= frames.failed || awaits.failed || task.failed;
	if (!c->failed)
		sink->add(sink->ctx,
			  &(struct tapir_suspended_stack){
				  .frames = text_of(&frames),
				  .awaits = text_of(&awaits),
				  .holder = has_holder ? tapir_sv__of(frame_text(c, node->next))
						       : (struct tapir_sv){},
				  .task = text_of(&task),
				  .is_parked = true,
				  .is_stuck = node->is_stuck});
	sink->stuck_cnt += node->is_stuck;
	tapir_str__fini(&frames);
	tapir_str__fini(&awaits);
	tapir_str__fini(&task);
}

/* A node that awaits another one is in its stack; in a bare circle each task has a stack. */
static void emit_stacks(struct coroutines *c, struct tapir_suspended_sink *sink)
{
	for (uint32_t i = 0; i < c->nodes.cnt && !c->failed; i++) {
		const struct node *node = &c->nodes.data[i];

		if (node->callee == NONE || (node->is_in_bare_circle && node->task_va))
			emit_stack(c, i, sink);
		sink->cnt += node->kind != GENERATOR;
	}
	sink->is_truncated = c->is_full || c->is_torn || c->types.more;
}

/* ---- all ------------------------------------------------------------------------------------ */

static void end_coroutines(struct coroutines *c)
{
	char **text;

	tapir_vec_for_each (text, &c->texts)
		free(*text);
	tapir_keyed__fini(&c->texts);
	tapir_keyed__fini(&c->types);
	tapir_keyed__fini(&c->nodes);
	tapir_vec__fini(&c->tasks);
	tapir_map__fini(&c->locks);
	tapir_page_cache__fini(&c->cache);
}

static const struct coroutine_layout *layout_of(const struct tapir_cpython *python)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (python->version == layouts[i].version && python->coroutine_type_va &&
		    python->layout.gc)
			return &layouts[i];
	return NULL;
}

int tapir_cpython_coroutines__list(const struct tapir_cpython *python,
				   const struct tapir_process_memory *memory, bool is_last,
				   struct tapir_suspended_sink *sink)
{
	struct coroutines c = {.python = python, .layout = layout_of(python)};

	if (!c.layout)
		return -EOPNOTSUPP;
	if (tapir_page_cache__init(&c.cache, memory))
		return -ENOMEM;
	read_objects(&c);
	if (c.is_torn && !is_last) {
		end_coroutines(&c);
		return -EAGAIN;
	}
	connect_nodes(&c);
	find_locks(&c);
	find_circles(&c);
	emit_stacks(&c, sink);
	c.failed |= c.types.failed || c.nodes.failed;
	end_coroutines(&c);
	return c.failed ? -ENOMEM : 0;
}
