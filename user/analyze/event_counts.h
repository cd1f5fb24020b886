/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_counts.h - events counted by one of their texts (a type), and under it by another (a
 * message) and by their stacks; each with a weight. For views. Bounded. One thread.
 */
#ifndef TAPIR_USER_EVENT_COUNTS_H
#define TAPIR_USER_EVENT_COUNTS_H

#include "base/keyed.h"
#include "analyze/view_result.h"
#include "analyze/timeline.h"
#include "spec/runtime_db/lore.h"

#define TAPIR_EVENT_COUNTS_MAX_ROWS 16384u
#define TAPIR_EVENT_COUNTS_STACKS   32u /* stacks of a row; what is more is in its last one */

struct tapir_event_counts_stack {
	uint32_t node;
	uint64_t cnt, weight;
};

#define TAPIR_EVENT_COUNTS_MESSAGES 12u /* of a row, the first ones */

struct tapir_event_counts_message {
	char *text;
	uint64_t cnt;
};

struct tapir_event_counts_row {
	char *label; /* "" if the event has none */
	unsigned message_cnt;
	struct tapir_event_counts_message messages[TAPIR_EVENT_COUNTS_MESSAGES];
	uint64_t other_messages;
	uint64_t cnt, weight;
	unsigned stack_cnt;
	struct tapir_event_counts_stack stacks[TAPIR_EVENT_COUNTS_STACKS];
};

struct tapir_event_counts {
	enum tapir_event_counts_id id; /* which events count: spec/runtime_db */
	struct tapir_timeline *tl;
	uint64_t cnt, weight; /* of all events; weight: bytes, or events where they have none */
	struct tapir_keyed(struct tapir_event_counts_row *) rows; /* by text */
	struct tapir_event_counts_row *last; /* to which __add counted; NULL: to none */
	uint64_t last_weight;
	struct tapir_map
		by_probe; /* -> idx of its tapir_lore__counted_event + 1; 0: it does not count */
	bool failed;
};

/*
 * Counts an event, of the innermost stack of thread, if it is of id: true, also if it
 * found no row (rows.more) or no memory (failed), since cnt and weight are of all events. The views
 * are borrowed for the call. Costs a lookup by probe, and for an event that counts a copy of its
 * texts.
 */
bool tapir_event_counts__add(struct tapir_event_counts *t, const struct tapir_tl_thread *thread,
			     const struct tapir_probe_view *probe,
			     const struct tapir_event_view *event);
/* Sorts rows and their stacks by weight, the largest first. Nothing may be added afterwards. */
void tapir_event_counts__sort(struct tapir_event_counts *t);
/*
 * Writes at most `top` rows to the table `key` of result, each with a table "stacks". is_bytes: the
 * unit of weights, else a number. A lack of memory is in the result's.
 */
void tapir_event_counts__write(const struct tapir_event_counts *t, struct tapir_view_result *result,
			       const char *key, bool is_bytes, uint64_t top);
/* Frees rows and texts; tl is not touched. */
void tapir_event_counts__fini(struct tapir_event_counts *t);

#endif
