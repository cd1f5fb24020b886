// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Divides the timeline's counts of an interval by what was seen inside of it. The sums are the
 * timeline's; the details are scaled to them, and the last one takes the rounding error, so that
 * the parts always add up to the interval.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/view_slow_impl.h"

#define MAX_ROWS 12 /* of its details that are shown */

static const struct tapir_column part_columns[] = {
	{"part", "TIME SPENT", TAPIR_CELL_TEXT},
	{"ns", ">TIME", TAPIR_CELL_NS},
	{"percent", ">SHARE", TAPIR_CELL_PERCENT},
	{"count", ">TIMES", TAPIR_CELL_COUNT},
	{"state", NULL, TAPIR_CELL_TEXT},
	{"cause", NULL, TAPIR_CELL_TEXT},
	{"reason", NULL, TAPIR_CELL_TEXT},
	{"cause_label", NULL, TAPIR_CELL_TEXT},
	{"ended_by", "ENDED BY", TAPIR_CELL_TEXT},
	{"ended_in", "INSIDE", TAPIR_CELL_TEXT},
	{"stack", "STACK", TAPIR_CELL_ORIGIN},
	{"holder_stack", "WAKER STACK", TAPIR_CELL_ORIGIN},
	{"chain", "WHICH WAITED ITSELF", TAPIR_CELL_TEXT}, /* text shows the last one whole */
	{}};

const char *const tapir_slow_state_names[TAPIR_THREAD_STATE_CNT] = {
	"unknown", "running", "runnable", "sleeping", "between", "inside", "queued"};

/* Without switches it is not known if a thread ran. */
const char *tapir_slow__state_text(const struct slow *s, unsigned state)
{
	static const char *const texts[] = {"not known",
					    "on CPU",
					    "waits for a CPU",
					    "waits",
					    "awaited, between threads",
					    "in",
					    "queued for a thread of the pool"};

	if (state == TAPIR_THREAD_RUNNING && !tapir_timeline__stats(s->args.tl)->switches)
		return "on CPU or asleep";
	return texts[state];
}

const char *tapir_slow__cause_text(unsigned cause)
{
	static const char *const texts[] = {
		"", "in GC: ", "process stopped: ", "in JIT: ", "in a lock: ", "in I/O: "};

	return texts[cause];
}

static void add_part(struct slow *s, struct tapir_view_result *result, size_t table,
		     const struct slow_one *one, const struct detail *d, uint64_t ns,
		     const char *prefix, const char *reason)
{
	struct tapir_str text = {};

	tapir_str__adds(&text, tapir_slow__cause_text(d->cause));
	tapir_str__adds(&text, prefix);
	if (reason) {
		tapir_str__addc(&text, ' ');
		tapir_str__adds(&text, reason);
	}
	tapir_view_result__text(result, table, text.data);
	tapir_view_result__u64(result, table, ns);
	tapir_view_result__share(result, table, ns, one->until_ns - one->from_ns);
	tapir_view_result__known(result, table, d->cnt, d->cnt);
	tapir_view_result__text(result, table, tapir_slow_state_names[d->state]);
	tapir_view_result__text(result, table, tapir_cause__name(d->cause));
	tapir_view_result__text(result, table, reason);
	tapir_view_result__text(result, table, d->label);
	tapir_view_result__name(result, table, d->comm, d->waker_tid);
	tapir_view_result__text(result, table, d->holder_in);
	tapir_view_result__stack(result, table, d->node);
	tapir_view_result__stack(result, table, d->holder_node);
	tapir_view_result__text(result, table, d->chain);
	s->args.failed |= text.failed;
	tapir_str__fini(&text);
}

/* The details of one state under one cause. */
struct known {
	uint64_t amount; /* of all details */
	unsigned cnt;
};

static struct known known_of(const struct slow_one *one, uint8_t cause, uint8_t state)
{
	struct known known = {};
	const struct detail *d;

	if (one->details)
		tapir_vec_for_each (d, &one->details->rows) {
			if (d->cause != cause || d->state != state)
				continue;
			known.amount += d->amount;
			known.cnt++;
		}
	return known;
}

static const char *label_of(const struct detail *awaited)
{
	return awaited->label ? awaited->label : "a task";
}

/* Names the rest of a state that its details, if it has any, do not cover. */
static const char *label_of_rest(const struct slow *s, uint8_t state, bool has_details)
{
	if (has_details && state != TAPIR_THREAD_AWAITING)
		return "(other)";
	if (state == TAPIR_THREAD_IN_CHILD_ACTIVITY)
		return "another activity";
	return state == TAPIR_THREAD_RUNNING && tapir_timeline__stats(s->args.tl)->samples
		       ? "(no sample)"
		       : NULL;
}

/*
 * Writes the details, scaled to what the timeline counted; the last one takes the rounding error.
 */
static void add_state(struct slow *s, struct tapir_view_result *result, size_t table,
		      const struct slow_one *one, uint8_t cause, uint8_t state)
{
	const char *prefix =
		state == TAPIR_THREAD_SLEEPING ? "waits:" : tapir_slow__state_text(s, state);
	uint64_t whole_ns = one->parts.ns[cause][state], left_ns = whole_ns;
	struct known known = known_of(one, cause, state);
	struct detail rest = {.cause = cause,
			      .state = state,
			      .node = TAPIR_NO_NODE,
			      .holder_node = TAPIR_NO_NODE};
	/* Waits are in ns: the remainder of the total is a separate part. */
	bool is_in_ns = state == TAPIR_THREAD_SLEEPING || state == TAPIR_THREAD_IN_CHILD_ACTIVITY ||
			state == TAPIR_THREAD_AWAITING;
	bool is_partly = known.cnt > MAX_ROWS || (is_in_ns && known.amount < whole_ns);
	uint64_t amount = is_in_ns && known.amount < whole_ns ? whole_ns : known.amount;
	const struct detail *d;
	unsigned row = 0;

	if (!whole_ns)
		return;
	if (known.cnt)
		tapir_vec_for_each (d, &one->details->rows) {
			uint64_t ns =
				(uint64_t)((double)whole_ns * (double)d->amount / (double)amount);

			if (d->cause != cause || d->state != state || row++ >= MAX_ROWS)
				continue;
			ns = ns > left_ns || (row == known.cnt && !is_partly) ? left_ns : ns;
			left_ns -= ns;
			if (state == TAPIR_THREAD_AWAITING)
				add_part(s, result, table, one, d, ns, "awaits", label_of(d));
			else
				add_part(s, result, table, one, d, ns, prefix,
					 state == TAPIR_THREAD_IN_CHILD_ACTIVITY ? d->label
										 : d->reason);
		}
	if (left_ns)
		add_part(s, result, table, one, &rest, left_ns, prefix,
			 label_of_rest(s, state, row > 0));
}

static int by_amount(const void *a, const void *b)
{
	const struct detail *x = a, *y = b;

	return x->amount < y->amount ? 1 : x->amount > y->amount ? -1 : 0;
}

void tapir_slow__add_parts(struct slow *s, struct tapir_view_result *result, size_t slowest,
			   const struct slow_one *one)
{
	size_t table =
		tapir_view_result__table_of_row(result, slowest, "parts", NULL, part_columns);

	if (one->details && one->details->rows.cnt)
		qsort(one->details->rows.data, one->details->rows.cnt, sizeof(struct detail),
		      by_amount);
	for (uint8_t cause = 0; cause < TAPIR_CAUSE_CNT; cause++)
		for (uint8_t state = TAPIR_THREAD_STATE_CNT; state-- > 0;)
			add_state(s, result, table, one, cause, state);
}
