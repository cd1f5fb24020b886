/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node_facts.h - what the stack of a sample implies for each kind of finding, found once per node
 * of the tree: of ten million samples most are of a stack that was there before, and cost one
 * look-up. Nodes and their names never change, so nothing goes stale. One thread.
 */
#ifndef TAPIR_USER_NODE_FACTS_H
#define TAPIR_USER_NODE_FACTS_H

#include "base/vec.h"
#include "diagnose/loop_spot.h"

struct tapir_finding;
struct tapir_lore;
struct tapir_lore_doing;

/*
 * What the name of a function implies: the lists of runtimes (spec/runtime_db) that have it, a
 * member of struct tapir_lore each, as one string or a list, of whole names or of prefixes. MANAGED
 * names are compared without the type that a JVM puts before them.
 *
 * X(ID, member, how)
 */
#define TAPIR_NAME_MARKS(X)                                                                        \
	X(LOOP, loop_function, ONE | WHOLE)                                                        \
	X(OF_LOOP, loop_prefix, ONE)                                                               \
	X(CALLER, loop_callers, 0)                                                                 \
	X(INTERPRETER, interpreter_loops, WHOLE)                                                   \
	X(LOOP_NAME, loop_names, 0)                                                                \
	X(PLUMBING, loop_plumbing, 0)                                                              \
	X(QUEUE, loop_queue, ONE | WHOLE)                                                          \
	X(QUEUE_STEP, loop_queue_steps, 0)                                                         \
	X(SYNC, loop_sync, 0)                                                                      \
	X(THROWS, throwing, 0)                                                                     \
	X(WORKER, workers, MANAGED)                                                                \
	X(TAKES_WORK, takes_work, MANAGED)                                                         \
	X(TASK_WAIT, task_waits, MANAGED)

enum tapir_name_mark_bit {
#define TAPIR_NAME_MARK_BIT(id, ...) TAPIR_NAME_MARK_BIT_##id,
	TAPIR_NAME_MARKS(TAPIR_NAME_MARK_BIT)
#undef TAPIR_NAME_MARK_BIT
		TAPIR_NAME_MARK_CNT
};

enum tapir_name_mark {
#define TAPIR_NAME_MARK(id, ...) TAPIR_MARK_##id = 1 << TAPIR_NAME_MARK_BIT_##id,
	TAPIR_NAME_MARKS(TAPIR_NAME_MARK)
#undef TAPIR_NAME_MARK
	/* Names that are of no list. */
	TAPIR_MARK_ASKS = 1 << 24,	   /* the kernel's or the C library's wait for events */
	TAPIR_MARK_NO_FILE = 1 << 25,	   /* an address: the code is of no file */
	TAPIR_MARK_DOING = 1 << 26,	   /* says what the CPU is used for */
	TAPIR_MARK_TIMER = 1 << 27,	   /* a timer of .NET */
	TAPIR_MARK_CONTINUATION = 1 << 28, /* a task, which a timer may complete */
	TAPIR_MARK_IS_KNOWN = 1 << 29,
};

/* Members that each sample reads come first, so that they are in one line of memory. */
struct tapir_node_facts {
	uint64_t sample_cnt; /* samples at it that are not in the sums by function yet */
	const struct tapir_lore_doing *doing; /* NULL: none is known */
	uint32_t node;
	uint8_t work;	   /* enum tapir_work, of a thread that does not tell it */
	uint8_t gil_place; /* enum tapir_gil_place */
	bool is_outside_loops;
	bool is_in_timer;
	uint32_t thrown;   /* node of the outermost function of throwing; 0: none */
	uint32_t function; /* the program's own, or TAPIR_OWN_CODE_NONE */
	uint32_t marks;	   /* of the names of all functions on the stack */
	struct tapir_loop_spot spot;
};

struct tapir_nodes_facts {
	struct tapir_vec(uint32_t) by_node; /* idx + 1 of its row; 0: it has none */
	struct tapir_vec(struct tapir_node_facts) rows;
	uint32_t expected;			  /* the last one */
	struct tapir_node_facts spare;		  /* where there is no memory for another row */
	struct tapir_vec(uint32_t) marks_by_name; /* 0: not judged yet */
};

/*
 * Returns what is known of a node, which may be TAPIR_NO_NODE; never NULL: without memory it is
 * worked out for this call alone. Borrowed until the next call.
 */
struct tapir_node_facts *tapir_node_facts__of(struct tapir_finding *f, uint32_t node);
/* Returns the marks of the function of a node, which the tree has. */
uint32_t tapir_node_facts__marks(struct tapir_finding *f, uint32_t node);
/* Returns the first runtime that gives the name this mark; NULL: none does. */
const struct tapir_lore *tapir_name_mark__lore(enum tapir_name_mark mark, const char *name);
/* Prefetches what asking for these nodes, one after the other, will take. */
void tapir_node_facts__expect(struct tapir_finding *f, uint32_t node);
void tapir_node_facts__fini(struct tapir_finding *f);

#endif
