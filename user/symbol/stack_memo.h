/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_memo.h - remembers one number for a stack of a process while its frames keep their
 * names, so that a file of ten million samples names each stack a few times only.
 *
 * Names have a time: a number holds from one change of the process's mappings or JIT names to
 * the next, and no longer than the catalog learns nothing new. Bounded. One thread.
 */
#ifndef TAPIR_USER_STACK_MEMO_H
#define TAPIR_USER_STACK_MEMO_H

#include "base/map.h"
#include "base/vec.h"
#include "trace/catalog.h"

#define TAPIR_STACK_MEMO_MAX (1u << 17) /* numbers remembered */

struct tapir_stack_memo {
	/* for the memo alone */
	struct tapir_map numbers, times_by_tgid;
	struct tapir_vec(struct tapir_catalog_times) times;
	struct {
		uint32_t tgid;
		bool is_set;
		uint64_t from_ns, until_ns, epoch;
	} last;
	uint64_t version;
};

/* A stack as a record names it: ids may be 0. salt: what else the number depends on. */
struct tapir_stack_ref {
	uint32_t tgid;
	uint64_t time_ns, stack_id, kstack_id, salt;
};

/*
 * Call before each __at: true when everything was forgotten, because the catalog has changed or
 * there is too much.
 */
bool tapir_stack_memo__renew(struct tapir_stack_memo *memo, const struct tapir_catalog *catalog);
/* The place for the stack's number, 0 and *is_new the first time. NULL: out of memory. */
uint64_t *tapir_stack_memo__at(struct tapir_stack_memo *memo, const struct tapir_catalog *catalog,
			       const struct tapir_stack_ref *ref, bool *is_new);
void tapir_stack_memo__fini(struct tapir_stack_memo *memo);

#endif
