// SPDX-License-Identifier: GPL-2.0-or-later
/* The order of a summary's rows: the largest first, equal ones as they came. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/summary.h"

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

static int by_process_events(const void *a, const void *b)
{
	const struct tapir_process_row *x = a, *y = b;
	int order = more_first(x->events + x->samples, y->events + y->samples);

	return order ? order : more_first(y->pid, x->pid);
}

static int by_function_samples(const void *a, const void *b)
{
	const struct tapir_function_row *x = a, *y = b;
	int order = more_first(x->samples, y->samples);

	return order ? order : more_first(y->made_idx, x->made_idx);
}

static int by_stack_events(const void *a, const void *b)
{
	const struct tapir_stack_row *x = a, *y = b;
	int order = more_first(x->events, y->events);

	return order ? order : more_first(y->event, x->event);
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
	int err = event_idx && function_idx ? 0 : -ENOMEM;

	if (!err) {
		SORT(s->events, by_event_hits);
		SORT(s->functions, by_function_samples);
		move_stacks(s, event_idx, function_idx);
		SORT(s->processes, by_process_events);
		SORT(s->stacks, by_stack_events);
	}
	free(event_idx);
	free(function_idx);
	return err;
}
