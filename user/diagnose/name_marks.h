/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * name_marks.h - what names of functions imply, found once per name: a recording has a million
 * stacks and a few thousand names. One thread.
 */
#ifndef TAPIR_USER_NAME_MARKS_H
#define TAPIR_USER_NAME_MARKS_H

#include <stdint.h>

#include "base/vec.h"

struct tapir_diagnosis;
struct tapir_lore;
struct tapir_lore_activity;

/*
 * The meanings of a function's name: the lists of runtimes (spec/runtime_db) that have it, a
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
	X(GLUE, loop_glue, 0)                                                                      \
	X(QUEUE, loop_queue, ONE | WHOLE)                                                          \
	X(QUEUE_STEP, loop_queue_steps, 0)                                                         \
	X(SYNC, loop_blocking_calls, 0)                                                            \
	X(THROWS, exception_functions, 0)                                                          \
	X(WORKER, workers, MANAGED)                                                                \
	X(DEQUEUES, dequeue_functions, MANAGED)                                                    \
	X(TASK_WAIT, join_functions, MANAGED)

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
	TAPIR_MARK_POLLS = 1 << 24,	   /* the kernel's or the C library's wait for events */
	TAPIR_MARK_NO_FILE = 1 << 25,	   /* an address: the code is of no file */
	TAPIR_MARK_ACTIVITY = 1 << 26,	   /* says what the CPU is used for */
	TAPIR_MARK_TIMER = 1 << 27,	   /* a timer of .NET */
	TAPIR_MARK_CONTINUATION = 1 << 28, /* a task, which a timer may complete */
	TAPIR_MARK_IS_KNOWN = 1 << 29,
};

/* A list that a runtime has: its row of TAPIR_NAME_MARKS. */
struct tapir_name_list {
	const struct tapir_lore *lore;
	size_t row;
};

struct tapir_name_marks {
	struct tapir_vec(struct tapir_name_list) lists;
	struct tapir_vec(uint32_t) by_name; /* 0: not judged yet */
};

/* Returns the marks of the function of a node, which the tree has. */
uint32_t tapir_diagnosis__marks(struct tapir_diagnosis *f, uint32_t node);
/* Returns the first runtime that gives the name this mark; NULL: none does. */
const struct tapir_lore *tapir_name_mark__lore(enum tapir_name_mark mark, const char *name);
/* Returns what the CPU is used for in a function of that name; NULL: not known. */
const struct tapir_lore_activity *tapir_name_mark__activity(const char *name);

#endif
