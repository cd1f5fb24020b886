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
uint64_t *tapir_summary__slot(struct tapir_summary *s, struct tapir_map *map, uint64_t key,
			      bool *is_new);

/* Counts the stack of an event, ref->salt: idx of its row; and of a sample. */
void tapir_summary__count_event_stack(struct tapir_summary *s, const struct tapir_catalog *catalog,
				      const struct tapir_stack_ref *ref);
void tapir_summary__count_sample_stack(struct tapir_summary *s, const struct tapir_catalog *catalog,
				       const struct tapir_rec_sample *sample);
/* Adds what was counted since the last time to functions, modules and stacks. */
void tapir_summary__flush_stacks(struct tapir_summary *s);

#endif
