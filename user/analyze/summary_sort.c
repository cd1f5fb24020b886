// SPDX-License-Identifier: GPL-2.0-or-later
/* The order of a summary's rows: the largest first, equal ones as they came. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/summary_impl.h"

static int more_first(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int by_event_hits(const void *a, const void *b)
{
	const struct tapir_event_row *x = a, *y = b;
	int order = more_first(x->captured + x->lost, y->captured + y->lost);

	return order ? order : more_first(y->made_idx, x->made_idx);
}

/* A thread that only comes and goes is at work less than one that is seen to run. */
static uint64_t work(const uint64_t captured[TAPIR_FAMILY_CNT])
{
	return captured[TAPIR_FAMILY_EVENT] + captured[TAPIR_FAMILY_SAMPLE];
}

static int by_process_events(const void *a, const void *b)
{
	const struct tapir_process_row *x = a, *y = b;
	int order = more_first(work(x->captured), work(y->captured));

	if (!order)
		order = more_first(tapir_captured__sum(x->captured),
				   tapir_captured__sum(y->captured));
	return order ? order : more_first(y->pid, x->pid);
}

static int by_thread_events(const void *a, const void *b)
{
	const struct tapir_thread_row *x = a, *y = b;
	int order = more_first(work(x->captured), work(y->captured));

	if (!order)
		order = more_first(tapir_captured__sum(x->captured),
				   tapir_captured__sum(y->captured));
	if (!order)
		order = more_first(y->pid, x->pid);
	return order ? order : more_first(y->tid, x->tid);
}

static int by_function_samples(const void *a, const void *b)
{
	const struct tapir_function_row *x = a, *y = b;
	int order = more_first(x->self, y->self);

	if (!order)
		order = more_first(x->total, y->total);
	return order ? order : more_first(y->made_idx, x->made_idx);
}

static int by_module_samples(const void *a, const void *b)
{
	const struct tapir_module_row *x = a, *y = b;
	int order = more_first(x->self, y->self);

	if (!order)
		order = more_first(x->total, y->total);
	return order ? order : strcmp(x->name, y->name);
}

static int by_stack_events(const void *a, const void *b)
{
	const struct tapir_stack_row *x = a, *y = b;
	int order = more_first(x->cnt, y->cnt);

	return order ? order : more_first(y->made_idx, x->made_idx);
}

/* Stack rows name rows of two tables by the places they had before these were sorted. */
static void move_stacks(struct tapir_summary *s, uint32_t *event_idx, uint32_t *function_idx)
{
	for (size_t i = 0; i < s->events.cnt; i++)
		event_idx[s->events.data[i].made_idx] = (uint32_t)i;
	for (size_t i = 0; i < s->functions.cnt; i++)
		function_idx[s->functions.data[i].made_idx] = (uint32_t)i;
	for (size_t i = 0; i < s->stacks.cnt; i++) {
		struct tapir_stack_row *row = &s->stacks.data[i];

		if (row->event != TAPIR_SUMMARY_SAMPLED)
			row->event = event_idx[row->event];
		for (uint32_t f = 0; f < row->function_cnt; f++)
			row->functions[f] = function_idx[row->functions[f]];
	}
}

#define SORT(rows, compare)                                                                        \
	do {                                                                                       \
		if ((rows).cnt)                                                                    \
			qsort((rows).data, (rows).cnt, sizeof(*(rows).data), compare);             \
	} while (0)

int tapir_summary__sort(struct tapir_summary *s)
{
	uint32_t *event_idx = calloc(s->events.cnt + 1, sizeof(*event_idx));
	uint32_t *function_idx = calloc(s->functions.cnt + 1, sizeof(*function_idx));
	int err = event_idx && function_idx && !s->failed && !s->ends.failed ? 0 : -ENOMEM;

	if (!err) {
		tapir_summary__flush_stacks(s);
		SORT(s->events, by_event_hits);
		SORT(s->functions, by_function_samples);
		move_stacks(s, event_idx, function_idx);
		SORT(s->modules, by_module_samples);
		SORT(s->processes, by_process_events);
		SORT(s->threads, by_thread_events);
		SORT(s->stacks, by_stack_events);
		tapir_stack_ends__sort(&s->ends);
	}
	free(event_idx);
	free(function_idx);
	return err;
}
