// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a comparison as sentence, tables and notes. Changes are given in terms of the first
 * recording; what only one of the two recorded is in the notes, since a missing figure is no
 * improvement.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "analyze/view.h"
#include "base/clock.h"

#define TOP 8

bool tapir_diff_change__is_time(const struct tapir_diff_change *c)
{
	if (c->figure == TAPIR_DIFF_COUNT || c->kind == TAPIR_DIFF_COUNTER)
		return false;
	return c->kind != TAPIR_DIFF_ALLOCATION && c->kind != TAPIR_DIFF_EVENT &&
	       c->kind != TAPIR_DIFF_EXCEPTION;
}

static bool is_rate(const struct tapir_diff_change *c)
{
	return c->figure == TAPIR_DIFF_COUNT || c->figure == TAPIR_DIFF_SUM;
}

static const char *per_text(const struct tapir_diff_change *c, enum tapir_diff_base base)
{
	if (!is_rate(c))
		return "";
	return base == TAPIR_DIFF_PER_REQUEST && c->kind != TAPIR_DIFF_ROUTE ? "/request" : "/s";
}

static void add_bytes(struct tapir_str *out, double value)
{
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
	unsigned unit = 0;

	while (value >= 1000 && unit + 1 < sizeof(units) / sizeof(*units)) {
		value /= 1000;
		unit++;
	}
	tapir_str__addf(out, "%.3g %s", value, units[unit]);
}

void tapir_diff_change__add_value(const struct tapir_diff_change *c, double value,
				  enum tapir_diff_base base, struct tapir_str *out)
{
	char text[TAPIR_NS_TEXT_BYTES];

	if (tapir_diff_change__is_time(c))
		tapir_str__adds(out, tapir_ns__text((uint64_t)llround(fmax(value, 0)), text));
	else if (c->kind == TAPIR_DIFF_ALLOCATION && c->figure != TAPIR_DIFF_COUNT)
		add_bytes(out, value);
	else
		tapir_str__addf(out, fabs(value) >= 1000 && fabs(value) < 1e9 ? "%.0f" : "%.3g",
				value);
	tapir_str__adds(out, per_text(c, base));
}

/* "+25%", "-40%", "3.1x", "new", "gone" */
static void add_change(const struct tapir_diff_change *c, struct tapir_str *out)
{
	double ratio = c->value[1] / c->value[0];

	if (c->value[0] == c->value[1])
		tapir_str__adds(out, "none");
	else if (c->value[0] == 0)
		tapir_str__adds(out, "new");
	else if (c->value[1] == 0)
		tapir_str__adds(out, "gone");
	else if (ratio >= 2)
		tapir_str__addf(out, "%.3gx", ratio);
	else
		tapir_str__addf(out, "%+.0f%%", (ratio - 1) * 100);
}

/* In terms of the first value, as a change is. */
static double noise_of(const struct tapir_diff_change *c)
{
	double base = fabs(c->value[0]) > 0 ? fabs(c->value[0]) : fabs(c->value[1]);

	return base > 0 ? c->threshold / base : 0;
}

/* ---- the sentence ------------------------------------------------------------------------------ */

static bool grew(const struct tapir_diff_change *c)
{
	return c->value[1] > c->value[0];
}

/* "GET /x became slower", "more CPU time in f" */
static void add_change_text(const struct tapir_diff_change *c, struct tapir_str *out)
{
	static const char *const more[TAPIR_DIFF_KIND_CNT][2] = {
		[TAPIR_DIFF_ROUTE] = {"faster: %s", "slower: %s"},
		[TAPIR_DIFF_GC] = {"less garbage collection: %s", "more garbage collection: %s"},
		[TAPIR_DIFF_PROCESS] = {"less CPU time of %s", "more CPU time of %s"},
		[TAPIR_DIFF_CPU] = {"less CPU time in %s", "more CPU time in %s"},
		[TAPIR_DIFF_TOTAL] = {"less CPU time in %s and what it calls",
				      "more CPU time in %s and what it calls"},
		[TAPIR_DIFF_WAIT] = {"shorter waits: %s", "longer waits: %s"},
		[TAPIR_DIFF_ALLOCATION] = {"fewer allocations of %s", "more allocations of %s"},
		[TAPIR_DIFF_EXCEPTION] = {"fewer exceptions %s", "more exceptions %s"},
		[TAPIR_DIFF_INTERVAL] = {"faster: %s", "slower: %s"},
		[TAPIR_DIFF_COUNTER] = {"lower: %s", "higher: %s"},
		[TAPIR_DIFF_EVENT] = {"less often: %s", "more often: %s"},
	};
	const char *form = c->figure == TAPIR_DIFF_COUNT && c->kind != TAPIR_DIFF_EXCEPTION
				   ? more[TAPIR_DIFF_EVENT][grew(c)]
				   : more[c->kind][grew(c)];
	const char *at = strstr(form, "%s");

	tapir_str__add(out, form, (size_t)(at - form));
	tapir_str__adds(out, c->name);
	tapir_str__adds(out, at + strlen("%s"));
}

/* Figures that grew come before those that fell; kinds are in the order in which they matter. */
static const struct tapir_diff_change *top_change(const struct tapir_diff *diff)
{
	const struct tapir_diff_change *c, *best = NULL;

	tapir_vec_for_each (c, &diff->changes) {
		bool is_worse = grew(c) &&
				(c->figure != TAPIR_DIFF_COUNT || c->kind == TAPIR_DIFF_EXCEPTION);

		if (!c->is_changed || c->is_minor)
			continue;
		if (is_worse)
			return c;
		best = best ? best : c;
	}
	return best;
}

static void add_diff_headline(const struct tapir_diff *diff, struct tapir_str *out)
{
	const struct tapir_diff_change *c = top_change(diff);

	if (!c) {
		tapir_str__addf(out, "no difference beyond noise in %zu figures",
				diff->changes.cnt);
		return;
	}
	add_change_text(c, out);
	tapir_str__addf(out, ": %s ", tapir_diff_figure__name(c->figure));
	tapir_diff_change__add_value(c, c->value[0], diff->base, out);
	tapir_str__adds(out, " -> ");
	tapir_diff_change__add_value(c, c->value[1], diff->base, out);
	tapir_str__adds(out, " (");
	add_change(c, out);
	tapir_str__addf(out, ", noise up to %.0f%%)", ceil(noise_of(c) * 100));
}

/* ---- tables ------------------------------------------------------------------------------------ */

static const struct tapir_column columns[] = {
	{"name", "NAME", TAPIR_CELL_TEXT},	     {"figure", "FIGURE", TAPIR_CELL_TEXT},
	{"first", NULL, TAPIR_CELL_NUMBER},	     {"second", NULL, TAPIR_CELL_NUMBER},
	{"ratio", NULL, TAPIR_CELL_NUMBER},	     {"noise", NULL, TAPIR_CELL_NUMBER},
	{"is_changed", NULL, TAPIR_CELL_COUNT},	     {"first_text", ">FIRST", TAPIR_CELL_TEXT},
	{"second_text", ">SECOND", TAPIR_CELL_TEXT}, {"change", ">CHANGE", TAPIR_CELL_TEXT},
	{"noise_text", ">NOISE", TAPIR_CELL_TEXT},   {}};

static void add_diff_text(struct tapir_view_result *result, size_t t, struct tapir_str *text)
{
	tapir_view_result__text(result, t, text->data ? text->data : "");
	result->failed |= text->failed;
	tapir_str__clear(text);
}

static void add_change_row(const struct tapir_diff *diff, const struct tapir_diff_change *c,
			   size_t t, struct tapir_view_result *result)
{
	struct tapir_str text = {};

	tapir_view_result__text(result, t, c->name);
	tapir_view_result__text(result, t, tapir_diff_figure__name(c->figure));
	tapir_view_result__f64(result, t, c->value[0]);
	tapir_view_result__f64(result, t, c->value[1]);
	if (c->value[0] > 0)
		tapir_view_result__f64(result, t, c->value[1] / c->value[0]);
	else
		tapir_view_result__none(result, t);
	tapir_view_result__f64(result, t, noise_of(c));
	tapir_view_result__u64(result, t, c->is_changed);
	tapir_diff_change__add_value(c, c->value[0], diff->base, &text);
	add_diff_text(result, t, &text);
	tapir_diff_change__add_value(c, c->value[1], diff->base, &text);
	add_diff_text(result, t, &text);
	add_change(c, &text);
	add_diff_text(result, t, &text);
	tapir_str__addf(&text, "%.0f%%", ceil(noise_of(c) * 100));
	add_diff_text(result, t, &text);
	tapir_str__fini(&text);
}

static void write_kind(const struct tapir_diff *diff, enum tapir_diff_kind kind, uint64_t top,
		       bool is_all, struct tapir_view_result *result)
{
	static const char *const titles[TAPIR_DIFF_KIND_CNT] = {
		[TAPIR_DIFF_ROUTE] = "requests",
		[TAPIR_DIFF_GC] = "garbage collection",
		[TAPIR_DIFF_PROCESS] = "CPU time of processes",
		[TAPIR_DIFF_CPU] = "CPU time in functions",
		[TAPIR_DIFF_TOTAL] = "CPU time in the program's functions and what they call",
		[TAPIR_DIFF_WAIT] = "waits of threads",
		[TAPIR_DIFF_ALLOCATION] = "allocations",
		[TAPIR_DIFF_EXCEPTION] = "exceptions",
		[TAPIR_DIFF_INTERVAL] = "intervals",
		[TAPIR_DIFF_COUNTER] = "counters",
		[TAPIR_DIFF_EVENT] = "events",
	};
	const struct tapir_diff_change *c;
	uint64_t shown = 0, left = 0;
	size_t t = tapir_view_result__table(result, tapir_diff_kind__name(kind), titles[kind],
					    columns);

	tapir_vec_for_each (c, &diff->changes) {
		if (c->kind != kind || (!is_all && (!c->is_changed || c->is_minor)))
			continue;
		if (shown < top)
			add_change_row(diff, c, t, result);
		else
			left++;
		shown++;
	}
	if (left)
		tapir_view_result__note(result, "%" PRIu64 " more of %s (--top 0 shows all)", left,
					titles[kind]);
}

/* ---- notes ------------------------------------------------------------------------------------- */

static void note_side(const struct tapir_diff *diff, int i, const char *name,
		      struct tapir_view_result *result)
{
	const struct tapir_diff_side *side = diff->sides[i];
	char span[TAPIR_NS_TEXT_BYTES];
	struct tapir_str text = {};

	tapir_str__addf(&text, "%s: %s, %s", i ? "second" : "first", name,
			tapir_ns__text(side->span_ns, span));
	if (side->request_cnt)
		tapir_str__addf(&text, ", %" PRIu64 " requests", side->request_cnt);
	for (int family = 0; family < TAPIR_FAMILY_CNT; family++)
		tapir_str__addf(
			&text, ", %" PRIu64 " %s", side->captured[family],
			tapir_family__noun(&tapir_families[family], side->captured[family]));
	if (text.data)
		tapir_view_result__note(result, "%s", text.data);
	result->failed |= text.failed;
	tapir_str__fini(&text);
}

static void note_lacks(const struct tapir_diff *diff, int i, const char *name,
		       struct tapir_view_result *result)
{
	const struct tapir_diff_side *side = diff->sides[i], *other = diff->sides[1 - i];

	for (int family = 0; family < TAPIR_FAMILY_CNT; family++)
		if (side->lost[family])
			tapir_view_result__note(
				result, "%s lost %" PRIu64 " %s: what they may be of is noise, too",
				name, side->lost[family], tapir_families[family].many);
	if (!side->has_samples && other->has_samples)
		tapir_view_result__note(result, "%s has no CPU samples: CPU time is not compared",
					name);
	if (!side->has_switches && other->has_switches)
		tapir_view_result__note(result,
					"%s has no context switches: waits are not compared", name);
	if (side->is_truncated)
		tapir_view_result__note(result, "%s is cut or damaged: this is what could be read",
					name);
	if (side->rows.more)
		tapir_view_result__note(
			result, "%s: %" PRIu64 " things beyond the limit of rows are not compared",
			name, side->rows.more);
	if (side->late || side->no_room)
		tapir_view_result__note(result,
					"%s: %" PRIu64
					" records arrived too late to be sorted, %" PRIu64
					" threads or intervals dropped: limit reached",
					name, side->late, side->no_room);
	if (diff->unknown_cnt[i])
		tapir_view_result__note(result,
					"%" PRIu64 " names are in %s alone, or too rare, and are "
					"not compared: what the other has of them is not known",
					diff->unknown_cnt[i], name);
}

void tapir_diff__write(struct tapir_diff *diff, const char *const names[2], uint64_t top,
		       bool is_all, struct tapir_view_result *result)
{
	uint64_t changed = 0;
	const struct tapir_diff_change *c;

	add_diff_headline(diff, &result->headline);
	tapir_vec_for_each (c, &diff->changes)
		changed += c->is_changed;
	tapir_view_result__fact(result, "compared", NULL, TAPIR_CELL_COUNT, diff->changes.cnt);
	tapir_view_result__fact(result, "changed", NULL, TAPIR_CELL_COUNT, changed);
	tapir_view_result__fact(result, "first_span_ns", NULL, TAPIR_CELL_NS,
				diff->sides[0]->span_ns);
	tapir_view_result__fact(result, "second_span_ns", NULL, TAPIR_CELL_NS,
				diff->sides[1]->span_ns);
	tapir_view_result__fact(result, "first_requests", NULL, TAPIR_CELL_COUNT,
				diff->sides[0]->request_cnt);
	tapir_view_result__fact(result, "second_requests", NULL, TAPIR_CELL_COUNT,
				diff->sides[1]->request_cnt);
	tapir_view_result__fact(result, "is_per_request", NULL, TAPIR_CELL_COUNT,
				diff->base == TAPIR_DIFF_PER_REQUEST);
	for (unsigned kind = 0; kind < TAPIR_DIFF_KIND_CNT; kind++)
		write_kind(diff, (enum tapir_diff_kind)kind, top ? top : TOP, is_all, result);
	for (int i = 0; i < 2; i++)
		note_side(diff, i, names[i], result);
	for (int i = 0; i < 2; i++)
		note_lacks(diff, i, names[i], result);
	tapir_view_result__note(result,
				"noise: how much the halves of one recording differ, chance, and "
				"losses; larger changes of at least 10%% are shown");
}
