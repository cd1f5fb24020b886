/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary_impl.h - what the summary's files share. One thread. */
#ifndef TAPIR_USER_SUMMARY_IMPL_H
#define TAPIR_USER_SUMMARY_IMPL_H

#include "analyze/summary.h"

#define TAPIR_NO_ROW UINT64_MAX /* as a map's value: there were too many */

/* A copy that counts against the text's bound; "" past it. NULL: out of memory. */
char *tapir_summary__copy(struct tapir_summary *s, struct tapir_sv sv);
uint64_t tapir_summary__hash(uint64_t hash, struct tapir_sv sv);
/* Returns the value's place for a key that may be new; NULL: too many keys, or out of memory. */
uint64_t *tapir_summary__place(struct tapir_summary *s, struct tapir_map *map, uint64_t key,
			       bool *is_new);

/* The stack of a sample, as count_stack is called with it. */
static inline struct tapir_stack_ref
tapir_summary__sample_ref(const struct tapir_rec_sample *sample)
{
	return (struct tapir_stack_ref){.tgid = sample->tgid,
					.time_ns = sample->h.time_ns,
					.stack_id = sample->stack_id,
					.kstack_id = sample->kstack_id,
					.salt = TAPIR_SUMMARY_SAMPLED};
}

/*
 * Counts a stack. ref: of a sample or event; ref->salt: idx of the event's row, or
 * TAPIR_SUMMARY_SAMPLED.
 */
void tapir_summary__count_stack(struct tapir_summary *s, const struct tapir_catalog *catalog,
				const struct tapir_stack_ref *ref);
/* Adds what was counted since the last time to functions, modules and stacks. */
void tapir_summary__flush_stacks(struct tapir_summary *s);

#endif
