/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * suspended.h - stacks that no thread of the kernel has, those that are equal as one row: virtual
 * threads of a JVM, coroutines of CPython; and their table, for
 * output/render/view_result_print.h. Texts are a traced process's. One thread.
 */
#ifndef TAPIR_USER_SUSPENDED_H
#define TAPIR_USER_SUSPENDED_H

#include "analyze/view_result.h"
#include "base/keyed.h"
#include "trace/suspended_stack.h"

struct tapir_suspended_row {
	uint64_t cnt;
	uint64_t parked_cnt;	      /* of them: the others run, or are about to */
	char *frames;		      /* lines, innermost first */
	char *awaits, *holder, *task; /* of the first of them; empty: none */
	bool has_other_tasks;
	bool is_stuck;
	bool is_own; /* one of the functions is the program's */
};

/* A table of zeros is empty. */
struct tapir_suspended {
	uint64_t cnt, parked_cnt;
	struct tapir_keyed(struct tapir_suspended_row) rows;
};

void tapir_suspended__add(struct tapir_suspended *s, const struct tapir_suspended_stack *stack);
void tapir_suspended__fini(struct tapir_suspended *s);
/* Sorts the rows, once all were added: those that wait for each other, then the largest, first. */
void tapir_suspended__sort(struct tapir_suspended *s);

/* A kind of suspended stack: its noun in a note, and the columns that its runtime can fill. */
struct tapir_suspended_kind {
	const char *noun; /* "virtual threads" */
	const struct tapir_column *columns;
};
extern const struct tapir_suspended_kind tapir_suspended_virtual_threads,
	tapir_suspended_coroutines;

/* Adds "Shop.pay awaits Lock.acquire (held by Shop.refund)", of the first row. */
void tapir_suspended__add_first(const struct tapir_suspended *s, struct tapir_str *out);
/* Adds the table "suspended", at most top rows, to a result. */
void tapir_suspended__add_table(const struct tapir_suspended *s,
				const struct tapir_suspended_kind *kind, uint64_t top,
				struct tapir_view_result *out);

#endif
