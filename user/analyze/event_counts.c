// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows by a hash of their text. The heaviest stacks of a row that begin in one place are shown as
 * one.
 */
#include "base/keyed.h"
#include "base/order.h"
#include "analyze/event_counts.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/allocators.h"

#define MAX_PROBES 65536u
#define TEXT_BYTES 300
#define WAYS_SHOWN 4u

/* NULL: it does not count. */
static const struct tapir_counted_event *event_of(struct tapir_event_counts *t,
						  const struct tapir_probe_view *probe)
{
	uint64_t *known = tapir_map__get(&t->by_probe, probe->rec->probe_id);
	const struct tapir_counted_event *event;
	size_t i = 0;

	if (known)
		return *known ? tapir_lore__counted_event(t->id, *known - 1) : NULL;
	while ((event = tapir_lore__counted_event(t->id, i)) &&
	       !(tapir_sv__is(probe->provider, event->provider) &&
		 tapir_sv__is(probe->event, event->event)))
		i++;
	if (t->by_probe.cnt < MAX_PROBES)
		known = tapir_map__put(&t->by_probe, probe->rec->probe_id, NULL);
	if (known)
		*known = event ? i + 1 : 0;
	return event;
}

static uint64_t weight_of(const struct tapir_event_fields *f, const char *names)
{
	uint64_t weight = names ? 0 : 1;

	for (size_t len; names && *names && !weight; names += len + (names[len] == ' ')) {
		const struct tapir_value *v;

		len = strcspn(names, " ");
		v = tapir_event_fields__find(f, names, len);
		weight = v && !v->bytes ? v->u64 : 0;
	}
	return weight;
}

static char *event_fields_text(const struct tapir_event_fields *f, const char *names)
{
	struct tapir_str text = {};

	if (names)
		tapir_event_fields__add_text(f, names, TEXT_BYTES, &text);
	return text.data ? text.data : strdup("");
}

/* Takes the text. NULL: no room, or out of memory. */
static struct tapir_event_counts_row *counts_row_of(struct tapir_event_counts *t, char *label)
{
	uint64_t key = tapir_hash__bytes(1, label, strlen(label) + 1);
	struct tapir_event_counts_row **known = tapir_keyed__get(&t->rows, key);
	struct tapir_event_counts_row *row = known ? NULL : calloc(1, sizeof(*row));

	if (row && tapir_keyed__add(&t->rows, key, TAPIR_EVENT_COUNTS_MAX_ROWS, row)) {
		row->label = label;
		return row;
	}
	t->failed |= !known && (!row || t->rows.failed);
	free(row);
	free(label);
	return known ? *known : NULL;
}

/* Takes the text. */
static void count_message(struct tapir_event_counts_row *row, char *text)
{
	struct tapir_event_counts_message *m = row->messages;

	while (m < row->messages + row->message_cnt && strcmp(m->text, text))
		m++;
	if (m == row->messages + TAPIR_EVENT_COUNTS_MESSAGES) {
		row->other_messages++;
		free(text);
		return;
	}
	if (m == row->messages + row->message_cnt) {
		row->message_cnt++;
		m->text = text;
	} else {
		free(text);
	}
	m->cnt++;
}

static void count_stack(struct tapir_event_counts_row *row, uint32_t node, uint64_t weight)
{
	struct tapir_event_counts_stack *stack = row->stacks;

	while (stack < row->stacks + row->stack_cnt && stack->node != node)
		stack++;
	if (stack == row->stacks + TAPIR_EVENT_COUNTS_STACKS)
		stack--; /* the last one is all others */
	else if (stack == row->stacks + row->stack_cnt)
		row->stacks[row->stack_cnt++].node = node;
	stack->cnt++;
	stack->weight += weight;
}

bool tapir_event_counts__add(struct tapir_event_counts *t, const struct tapir_tl_thread *thread,
			     const struct tapir_probe_view *probe,
			     const struct tapir_event_view *event)
{
	const struct tapir_counted_event *counted = event_of(t, probe);
	const struct tapir_event_fields *f;
	struct tapir_event_counts_row *row;
	char *label, *more;
	uint64_t weight;

	if (!counted)
		return false;
	f = tapir_timeline__fields(t->tl, probe, event);
	weight = weight_of(f, counted->weight);
	label = event_fields_text(f, counted->label);
	more = event_fields_text(f, counted->more);
	if (t->id == TAPIR_COUNTS_ALLOCATION_SAMPLES)
		weight = tapir_allocation_sample__bytes(weight);
	/* The sums are of all events; rows have a limit. */
	t->cnt++;
	t->weight += weight;
	t->last = NULL;
	t->last_weight = weight;
	if (!label || !more) {
		free(label);
		free(more);
		t->failed = true;
		return true;
	}
	row = counts_row_of(t, label);
	if (!row) {
		free(more);
		return true;
	}
	if (counted->more)
		count_message(row, more);
	else
		free(more);
	row->cnt++;
	row->weight += weight;
	t->last = row;
	count_stack(row, event->rec->stack_id ? thread->last_node : TAPIR_NO_NODE, weight);
	return true;
}

static int by_weight(const void *a, const void *b)
{
	const struct tapir_event_counts_row *x = *(struct tapir_event_counts_row *const *)a;
	const struct tapir_event_counts_row *y = *(struct tapir_event_counts_row *const *)b;

	return tapir_order__by(tapir_order__down(x->weight, y->weight),
			       tapir_order__down(x->cnt, y->cnt), strcmp(x->label, y->label));
}

static int stack_by_weight(const void *a, const void *b)
{
	const struct tapir_event_counts_stack *x = a, *y = b;

	return x->weight < y->weight ? 1 : x->weight > y->weight ? -1 : 0;
}

void tapir_event_counts__sort(struct tapir_event_counts *t)
{
	struct tapir_event_counts_row **row;

	tapir_keyed__sort(&t->rows, by_weight);
	tapir_vec_for_each (row, &t->rows)
		qsort((*row)->stacks, (*row)->stack_cnt, sizeof(*(*row)->stacks), stack_by_weight);
}

static uint32_t origin_name(const struct tapir_view_result *result, uint32_t node)
{
	uint32_t origin = tapir_app_code__origin(result->tree, node);

	return origin ? result->tree->nodes.data[origin].name : TAPIR_APP_CODE_NONE;
}

/* Stacks that begin in the same function of the program's own are one, the heaviest of them. */
static unsigned merge_stacks(const struct tapir_view_result *result,
			     const struct tapir_event_counts_row *row,
			     struct tapir_event_counts_stack *out)
{
	uint32_t names[TAPIR_EVENT_COUNTS_STACKS];
	unsigned cnt = 0, at;

	for (unsigned i = 0; i < row->stack_cnt; i++) {
		uint32_t name = origin_name(result, row->stacks[i].node);

		for (at = 0; at < cnt; at++)
			if (names[at] == name && name != TAPIR_APP_CODE_NONE && !result->unfold)
				break;
		if (at == cnt) {
			names[cnt] = name;
			out[cnt++] = row->stacks[i];
			continue;
		}
		out[at].cnt += row->stacks[i].cnt;
		out[at].weight += row->stacks[i].weight;
	}
	qsort(out, cnt, sizeof(*out), stack_by_weight);
	return cnt;
}

static void write_stacks(struct tapir_view_result *result, size_t rows,
			 const struct tapir_event_counts_row *row, bool is_bytes)
{
	static const struct tapir_column in_bytes[] = {{"bytes", ">BYTES", TAPIR_CELL_BYTES},
						       {"count", ">TIMES", TAPIR_CELL_COUNT},
						       {"stack", "FROM", TAPIR_CELL_ORIGIN},
						       {}};
	static const struct tapir_column in_times[] = {{"weight", NULL, TAPIR_CELL_COUNT},
						       {"count", ">TIMES", TAPIR_CELL_COUNT},
						       {"stack", "FROM", TAPIR_CELL_ORIGIN},
						       {}};
	size_t table = tapir_view_result__table_of_row(result, rows, "stacks", NULL,
						       is_bytes ? in_bytes : in_times);
	struct tapir_event_counts_stack stacks[TAPIR_EVENT_COUNTS_STACKS];
	unsigned cnt = merge_stacks(result, row, stacks);

	for (unsigned i = 0; i < cnt && (result->top || i < WAYS_SHOWN); i++) {
		tapir_view_result__u64(result, table, stacks[i].weight);
		tapir_view_result__u64(result, table, stacks[i].cnt);
		tapir_view_result__stack(result, table, stacks[i].node);
	}
}

static void write_messages(struct tapir_view_result *result, size_t rows,
			   const struct tapir_event_counts_row *row)
{
	static const struct tapir_column columns[] = {
		{"count", ">TIMES", TAPIR_CELL_COUNT}, {"message", "MESSAGE", TAPIR_CELL_TEXT}, {}};
	size_t table = tapir_view_result__table_of_row(result, rows, "messages", NULL, columns);

	for (unsigned i = 0; i < row->message_cnt && (result->top || i < WAYS_SHOWN); i++) {
		tapir_view_result__u64(result, table, row->messages[i].cnt);
		tapir_view_result__text(result, table, row->messages[i].text);
	}
	if (row->other_messages) {
		tapir_view_result__u64(result, table, row->other_messages);
		tapir_view_result__text(result, table, "(others)");
	}
}

void tapir_event_counts__write(const struct tapir_event_counts *t, struct tapir_view_result *result,
			       const char *key, bool is_bytes, uint64_t top)
{
	static const struct tapir_column in_bytes[] = {{"bytes", ">BYTES", TAPIR_CELL_BYTES},
						       {"percent", ">SHARE", TAPIR_CELL_PERCENT},
						       {"count", ">TIMES", TAPIR_CELL_COUNT},
						       {"type", "TYPE", TAPIR_CELL_TEXT},
						       {}};
	static const struct tapir_column in_times[] = {{"weight", NULL, TAPIR_CELL_COUNT},
						       {"percent", ">SHARE", TAPIR_CELL_PERCENT},
						       {"count", ">TIMES", TAPIR_CELL_COUNT},
						       {"type", "TYPE", TAPIR_CELL_TEXT},
						       {}};
	size_t table = tapir_view_result__table(result, key, NULL, is_bytes ? in_bytes : in_times);

	for (size_t i = 0; i < t->rows.cnt && i < top; i++) {
		const struct tapir_event_counts_row *row = t->rows.data[i];

		tapir_view_result__u64(result, table, row->weight);
		tapir_view_result__share(result, table, row->weight, t->weight);
		tapir_view_result__u64(result, table, row->cnt);
		tapir_view_result__text(result, table, row->label);
		if (row->message_cnt)
			write_messages(result, table, row);
		write_stacks(result, table, row, is_bytes);
	}
	if (t->rows.more)
		tapir_view_result__note(result, "%llu more are not listed",
					(unsigned long long)t->rows.more);
}

void tapir_event_counts__fini(struct tapir_event_counts *t)
{
	struct tapir_event_counts_row **row;

	tapir_vec_for_each (row, &t->rows) {
		free((*row)->label);
		for (unsigned i = 0; i < (*row)->message_cnt; i++)
			free((*row)->messages[i].text);
		free(*row);
	}
	tapir_keyed__fini(&t->rows);
	tapir_map__fini(&t->by_probe);
}
