/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * condition_filter.h - leaves out events for which a condition is not true (record --where), in the
 * kernel where it can decide that. All that are left out are counted by probe and reported as LOSS
 * records of cause NOT_WHERE: captured + left out + lost = fired. One thread, the session's.
 */
#ifndef TAPIR_USER_CONDITION_FILTER_H
#define TAPIR_USER_CONDITION_FILTER_H

#include "attach/programs.h"
#include "record/loss_poll.h"
#include "trace/catalog.h"

struct tapir_condition_filter;

/*
 * where: the condition, borrowed, which may be NULL: *out is NULL then, and nothing is left out.
 * catalog and programs are borrowed until __free. 0, -EINVAL with lines, -ENOMEM.
 */
int tapir_condition_filter__new(const char *where, const struct tapir_catalog *catalog,
				struct tapir_programs *programs,
				struct tapir_condition_filter **out);
/* Accepts NULL, as all below do. */
void tapir_condition_filter__free(struct tapir_condition_filter *f);

/* Returns false if the event is to be left out; it was counted then. */
bool tapir_condition_filter__has(struct tapir_condition_filter *f,
				 const struct tapir_rec_event *ev);

/* Calls fn with a LOSS record for each probe of which events were left out since the last call. */
void tapir_condition_filter__report(struct tapir_condition_filter *f, tapir_loss_fn fn, void *ctx);

/* Call it at the end. -EINVAL with lines: no event had the fields of the condition; -ENOMEM. */
int tapir_condition_filter__check(struct tapir_condition_filter *f);

#endif
