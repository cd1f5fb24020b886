// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tables of questions, as text and as JSON: rows by count, and a last line where rows are not all,
 * so that the sums of a table are always the totals.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/question_options.h"
#include "decode/value.h"
#include "output/render/human_units.h"
#include "output/render/screen.h"
#include "output/render/table.h"

#define STACK_FRAMES 8 /* of a stack in a table */
#define BAR_COLUMNS  40

/* One question, as it is read now. */
struct reading {
	const struct tapir_questions *questions;
	const struct tapir_question *question;
	bool since;
	uint32_t *order;
	size_t row_cnt, shown;
	uint64_t shown_hits, more_hits, unkeyed;
	struct tapir_question_counts counts;
};

static const char *const names[] = {"sum", "avg", "min", "max", "hist", "lhist"};
static const double percents[] = {50, 90, 99};

/* ---- reading ---------------------------------------------------------------------------------- */

static struct tapir_question_counts difference(struct tapir_question_counts a,
					       struct tapir_question_counts b)
{
	return (struct tapir_question_counts){.hits = a.hits - b.hits,
					      .rejected = a.rejected - b.rejected,
					      .undefined = a.undefined - b.undefined,
					      .lost = a.lost - b.lost,
					      .unbegun = a.unbegun - b.unbegun,
					      .unended = a.unended - b.unended};
}

static bool read_now(const struct tapir_cli_questions *queries, const struct tapir_question *q,
		     bool since, struct reading *r)
{
	uint32_t column = q->fold.column_cnt && q->columns[0].aggregate == TAPIR_AGGREGATE_SUM
				  ? 0
				  : TAPIR_FOLD_BY_COUNT;
	long cnt;

	*r = (struct reading){.questions = queries->questions, .question = q, .since = since};
	cnt = tapir_fold__sort(&q->fold, column, since, &r->order);
	if (cnt < 0)
		return false;
	r->row_cnt = (size_t)cnt;
	r->shown = r->row_cnt < queries->top ? r->row_cnt : (size_t)queries->top;
	for (size_t i = 0; i < r->row_cnt; i++)
		*(i < r->shown ? &r->shown_hits : &r->more_hits) +=
			tapir_fold_row__cnt(&q->fold.rows.data[r->order[i]], since);
	r->unkeyed = q->fold.unkeyed - (since ? q->fold.unkeyed_before : 0);
	r->counts = since ? difference(q->counts, q->before) : q->counts;
	return true;
}

static const struct tapir_fold_row *row_at(const struct reading *r, size_t i)
{
	return &r->question->fold.rows.data[r->order[i]];
}

/* ---- numbers ---------------------------------------------------------------------------------- */

/* Adds a time in the unit that suits it: "840 ns", "88 us", "12.3 ms". */
static void add_time(struct tapir_str *out, uint64_t ns)
{
	if (ns < 1000)
		tapir_str__addf(out, "%" PRIu64 " ns", ns);
	else if (ns < 10000)
		tapir_str__addf(out, "%.1f us", (double)ns / 1e3);
	else if (ns < 1000000)
		tapir_str__addf(out, "%" PRIu64 " us", (ns + 500) / 1000);
	else
		tapir_human__add_duration(out, ns);
}

static void add_result_number(struct tapir_str *out, struct tapir_fold_number n, uint64_t unit_ns)
{
	double ns = n.real * (double)unit_ns;

	if (unit_ns && ns >= 0 && ns < 0x1p63)
		add_time(out, (uint64_t)ns);
	else if (!n.is_float && n.whole >= 0 && n.whole <= UINT64_MAX)
		tapir_human__add_count(out, (uint64_t)n.whole);
	else
		tapir_fold_number__add_text(out, n);
}

static struct tapir_fold_number mean_of(const struct reading *r, const struct tapir_fold_row *row,
					unsigned column)
{
	struct tapir_fold_number sum = tapir_fold_value__sum(&row->values[column], r->since);
	uint64_t cnt = tapir_fold_row__cnt(row, r->since);

	return tapir_fold__real(cnt ? sum.real / (double)cnt : 0);
}

static struct tapir_fold_number column_value(const struct reading *r,
					     const struct tapir_fold_row *row, unsigned column)
{
	const struct tapir_fold_value *v = &row->values[column];

	switch (r->question->columns[column].aggregate) {
	case TAPIR_AGGREGATE_SUM:
		return tapir_fold_value__sum(v, r->since);
	case TAPIR_AGGREGATE_AVG:
		return mean_of(r, row, column);
	case TAPIR_AGGREGATE_MIN:
		return tapir_fold_value__least(v, r->since);
	default:
		return tapir_fold_value__max(v, r->since);
	}
}

static bool has_percentiles(const struct tapir_question_column *c)
{
	return c->aggregate == TAPIR_AGGREGATE_HIST;
}

/* ---- text ------------------------------------------------------------------------------------- */

static void cell(struct tapir_table *table, struct tapir_str *text)
{
	tapir_table__cell_bytes(table, text->data ? text->data : "", text->len);
	tapir_str__clear(text);
}

static void add_value_cells(const struct reading *r, const struct tapir_fold_row *row,
			    unsigned column, struct tapir_table *table)
{
	const struct tapir_question_column *c = &r->question->columns[column];
	struct tapir_str text = {};

	if (has_percentiles(c))
		for (int i = 0; i < 3; i++) {
			add_result_number(&text,
					  tapir_fold_value__percentile(&row->values[column],
								       percents[i], r->since),
					  c->unit_ns);
			cell(table, &text);
		}
	add_result_number(&text, column_value(r, row, column), c->unit_ns);
	cell(table, &text);
	tapir_str__fini(&text);
}

/*
 * Adds the idx-th key of a row as a person reads it. A stack is kept as its number while rows are
 * added up, and becomes functions only here.
 */
static void add_key(const struct reading *r, unsigned idx, const struct tapir_fold_part *part,
		    struct tapir_str *out)
{
	const struct tapir_question_key *key = &r->question->keys[idx];

	if (key->kind == TAPIR_KEY_STACK && part->kind == TAPIR_FOLD_UINT) {
		tapir_question__add_stack(r->questions, part->u64, STACK_FRAMES, " < ", out);
		return;
	}
	switch (part->kind) {
	case TAPIR_FOLD_TEXT:
	case TAPIR_FOLD_TRUNCATED:
		if (part->len)
			tapir_str__add(out, part->text, part->len);
		else
			tapir_str__adds(out, "\"\"");
		if (part->kind == TAPIR_FOLD_TRUNCATED)
			tapir_str__adds(out, "\u2026");
		return;
	case TAPIR_FOLD_NULL:
		tapir_str__adds(out, "<null>");
		return;
	case TAPIR_FOLD_ABSENT:
		tapir_str__adds(out, key->kind == TAPIR_KEY_VALUE ? "<unreadable>" : "<no stack>");
		return;
	case TAPIR_FOLD_FLOAT:
		tapir_fold_number__add_text(out, tapir_fold__real(part->f64));
		return;
	default:
		if (key->unit_ns && part->kind == TAPIR_FOLD_UINT)
			add_result_number(out, tapir_fold__whole(part->u64), key->unit_ns);
		else if (part->kind == TAPIR_FOLD_INT)
			tapir_str__addd(out, part->i64);
		else
			tapir_str__addu(out, part->u64);
	}
}

/* "STATUS" of "status"; ">" in front: to the right. */
static char *title_of(const char *label, const char *text, bool is_right)
{
	struct tapir_str out = {};

	tapir_str__addf(&out, "%s%s%s%s", is_right ? ">" : "", label, *label && *text ? " " : "",
			text);
	for (size_t i = 0; i < out.len; i++)
		if (out.data[i] >= 'a' && out.data[i] <= 'z')
			out.data[i] = (char)(out.data[i] - 'a' + 'A');
	return out.data;
}

static unsigned column_cnt(const struct tapir_question *q)
{
	unsigned cnt = 1 + q->fold.key_cnt;

	for (unsigned i = 0; i < q->fold.column_cnt; i++)
		cnt += has_percentiles(&q->columns[i]) ? 4 : 1;
	return cnt;
}

#define MAX_COLUMNS (1 + 4 * TAPIR_FOLD_MAX_VALUES + TAPIR_FOLD_MAX_KEYS)

static void make_titles(const struct tapir_question *q, char *titles[MAX_COLUMNS + 1])
{
	static const char *const words[] = {"p50", "p90", "p99", "max"};
	bool is_alone = q->fold.column_cnt == 1;
	unsigned at = 0;

	titles[at++] = title_of("count", "", true);
	for (unsigned i = 0; i < q->fold.column_cnt; i++) {
		const struct tapir_question_column *c = &q->columns[i];

		for (int w = 0; has_percentiles(c) && w < 4; w++)
			titles[at++] = title_of(words[w], is_alone ? "" : c->text, true);
		if (c->aggregate == TAPIR_AGGREGATE_LHIST)
			titles[at++] = title_of("max", c->text, true);
		else if (!has_percentiles(c))
			titles[at++] = title_of(names[c->aggregate], c->text, true);
	}
	for (unsigned i = 0; i < q->fold.key_cnt; i++)
		titles[at++] = title_of("", q->keys[i].text, false);
	titles[at] = NULL;
}

static void write_question_rows(const struct reading *r, struct tapir_str *out)
{
	char *titles[MAX_COLUMNS + 1];
	struct tapir_table table = {.titles = (const char *const *)titles,
				    .fit_columns = tapir_screen__fit_columns()};
	struct tapir_str text = {};

	make_titles(r->question, titles);
	for (size_t i = 0; i < r->shown; i++) {
		const struct tapir_fold_row *row = row_at(r, i);

		tapir_human__add_count(&text, tapir_fold_row__cnt(row, r->since));
		cell(&table, &text);
		for (unsigned c = 0; c < r->question->fold.column_cnt; c++)
			add_value_cells(r, row, c, &table);
		for (unsigned k = 0; k < r->question->fold.key_cnt; k++) {
			add_key(r, k, &row->key[k], &text);
			cell(&table, &text);
		}
	}
	tapir_table__write(&table, tapir_screen__palette(stdout), out);
	out->failed |= table.failed || text.failed;
	for (unsigned i = 0; titles[i]; i++)
		free(titles[i]);
	tapir_table__fini(&table);
	tapir_str__fini(&text);
}

/* One bar an octave, as people read them, or one a linear step. */
struct bar {
	struct tapir_fold_number low, high;
	uint64_t cnt;
};

/* Widens it to the powers of two around it. */
static void widen_to_octave(struct bar *b)
{
	int octave = b->low.real > 0 ? ilogb(b->low.real) : 0;

	if (b->low.is_float) {
		b->low = tapir_fold__real(b->low.real > 0 ? ldexp(1, octave) : 0);
		b->high = tapir_fold__real(ldexp(1, octave + 1));
	} else if (b->low.whole > 0) {
		b->low = tapir_fold__whole((__int128)1 << octave);
		b->high = tapir_fold__whole((__int128)2 << octave);
	}
}

/* Returns the number of bars, at most that of the steps. 0 also if there is no memory. */
static size_t make_bars(const struct reading *r, const struct tapir_fold_column *column,
			const struct tapir_fold_value *v, struct bar **out)
{
	struct bar *bars = malloc((v->steps.cnt + 1) * sizeof(*bars));
	const struct tapir_fold_step *step;
	size_t cnt = 0;

	*out = bars;
	if (!bars)
		return 0;
	tapir_vec_for_each (step, &v->steps) {
		struct bar b = {.cnt = tapir_fold_step__cnt(step, r->since)};
		bool is_same;

		tapir_fold_step__range(column, step, &b.low, &b.high);
		if (!b.cnt)
			continue;
		if (column->scale == TAPIR_FOLD_LOG)
			widen_to_octave(&b);
		is_same = cnt && !tapir_fold_number__compare(b.low, bars[cnt - 1].low);
		if (!is_same)
			bars[cnt++] = b;
		else
			bars[cnt - 1].cnt += b.cnt;
	}
	return cnt;
}

static void write_bars(const struct reading *r, unsigned column, struct tapir_str *out)
{
	const struct tapir_question_column *c = &r->question->columns[column];
	const struct tapir_fold_column *scale = &r->question->fold.columns[column];
	struct bar *bars;
	size_t cnt = make_bars(r, scale, &row_at(r, 0)->values[column], &bars);
	uint64_t max = 1;

	out->failed |= !bars;
	for (size_t i = 0; i < cnt; i++)
		max = bars[i].cnt > max ? bars[i].cnt : max;
	tapir_str__addf(out, "\n  %s\n", c->text);
	for (size_t i = 0; i < cnt; i++) {
		size_t from = out->len;
		unsigned len = (unsigned)(bars[i].cnt * BAR_COLUMNS / max);

		tapir_str__adds(out, "  ");
		if (scale->scale == TAPIR_FOLD_LINEAR && bars[i].low.whole < scale->low) {
			tapir_str__adds(out, "below ");
			add_result_number(out, bars[i].high, c->unit_ns);
		} else if (scale->scale == TAPIR_FOLD_LINEAR && bars[i].low.whole >= scale->high) {
			tapir_str__adds(out, "from ");
			add_result_number(out, bars[i].low, c->unit_ns);
		} else {
			add_result_number(out, bars[i].low, c->unit_ns);
			tapir_str__adds(out, " to ");
			add_result_number(out, bars[i].high, c->unit_ns);
		}
		/*
		 * A range has 28 columns, its count 12. The shortest bar is one '#', because a step
		 * that has no value has no line.
		 */
		tapir_str__pad(out, from, 28);
		tapir_str__addc(out, ' ');
		tapir_human__add_count(out, bars[i].cnt);
		tapir_str__pad(out, from, 40);
		tapir_str__addc(out, ' ');
		for (unsigned b = 0; b < (len ? len : 1); b++)
			tapir_str__addc(out, '#');
		tapir_str__addc(out, '\n');
	}
	free(bars);
}

static void add_part(struct tapir_str *out, size_t from, uint64_t cnt, const char *label)
{
	if (!cnt)
		return;
	tapir_str__adds(out, out->len > from ? " + " : "");
	tapir_human__add_count(out, cnt);
	tapir_str__addf(out, " %s", label);
}

/* hits = rejected + rows + more + unkeyed + undefined + lost, where not all of them are rows. */
static void write_rest(const struct reading *r, struct tapir_str *out)
{
	const struct tapir_question_counts *c = &r->counts;
	size_t from;

	if (r->more_hits) {
		tapir_str__addf(out, "\u2026 and %zu more with ", r->row_cnt - r->shown);
		tapir_human__add_count(out, r->more_hits);
		tapir_str__adds(out, " (--top 0)\n");
	}
	if (r->more_hits || r->unkeyed || c->undefined ||
	    (c->lost && !r->question->is_of_intervals)) {
		tapir_human__add_count(out, c->hits);
		tapir_str__adds(out, " hits = ");
		from = out->len;
		add_part(out, from, r->shown_hits, "in rows");
		add_part(out, from, r->more_hits, "in more rows");
		add_part(out, from, c->rejected, "rejected");
		add_part(out, from, r->unkeyed, "without room for their key (--table-size)");
		add_part(out, from, c->undefined,
			 "undefined: a value could not be read, or was divided by 0");
		add_part(out, from, c->lost, "lost");
		tapir_str__addc(out, '\n');
	}
	if (c->unbegun || c->unended) {
		from = out->len;
		add_part(out, from, c->unbegun, "without a begin");
		add_part(out, from, c->unended, "without an end");
		tapir_str__adds(out, ": not counted\n");
	}
	/* The number of intervals that lost events would have made is not known: no hits. */
	if (c->lost && r->question->is_of_intervals) {
		tapir_human__add_count(out, c->lost);
		tapir_str__adds(out, " events lost\n");
	}
}

static uint64_t unbinned_cnt(const struct tapir_question *q)
{
	const struct tapir_fold_row *row;
	uint64_t cnt = 0;

	tapir_vec_for_each (row, &q->fold.rows)
		for (unsigned i = 0; i < q->fold.column_cnt; i++)
			cnt += row->values[i].unbinned;
	return cnt;
}

static void write_text(const struct reading *r, uint64_t from_ns, uint64_t until_ns,
		       struct tapir_str *out)
{
	uint64_t unbinned = unbinned_cnt(r->question);

	if (r->question->text)
		tapir_str__addf(out, "%s\n", r->question->text);
	if (r->since)
		tapir_str__addf(out, "%.1f s to %.1f s\n", (double)from_ns / 1e9,
				(double)until_ns / 1e9);
	if (!r->row_cnt) {
		tapir_human__add_count(out, 0);
		tapir_str__addf(out, " of ");
		tapir_human__add_count(out, r->counts.hits);
		tapir_str__adds(out, r->question->is_of_intervals ? " intervals\n" : " events\n");
	} else if (column_cnt(r->question) <= TAPIR_TABLE_MAX_COLUMNS) {
		write_question_rows(r, out);
	} else {
		tapir_str__adds(out, "more columns than a table has: use --json\n");
	}
	for (unsigned i = 0;
	     r->row_cnt && !r->question->fold.key_cnt && i < r->question->fold.column_cnt; i++)
		if (r->question->fold.columns[i].scale != TAPIR_FOLD_NO_HISTOGRAM)
			write_bars(r, i, out);
	write_rest(r, out);
	if (unbinned) {
		tapir_human__add_count(out, unbinned);
		tapir_str__adds(out, " values found no room in histograms (--table-size)\n");
	}
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static void json_number(struct tapir_json *j, const char *key, struct tapir_fold_number n)
{
	if (n.is_float || n.whole < INT64_MIN || n.whole > UINT64_MAX)
		tapir_json__f64(j, key, n.real);
	else if (n.whole < 0)
		tapir_json__i64(j, key, (int64_t)n.whole);
	else
		tapir_json__u64(j, key, (uint64_t)n.whole);
}

/* null is the bound of the steps below and above a linear histogram, which have none. */
static void json_steps(const struct reading *r, unsigned column, const struct tapir_fold_value *v,
		       struct tapir_json *j)
{
	const struct tapir_fold_column *scale = &r->question->fold.columns[column];
	const struct tapir_fold_step *step;

	tapir_json__open(j, "steps", '[');
	tapir_vec_for_each (step, &v->steps) {
		struct tapir_fold_number low, high;
		uint64_t cnt = tapir_fold_step__cnt(step, r->since);

		if (!cnt)
			continue;
		tapir_fold_step__range(scale, step, &low, &high);
		tapir_json__open(j, NULL, '[');
		if (scale->scale == TAPIR_FOLD_LINEAR && low.whole < scale->low)
			tapir_json__null(j, NULL);
		else
			json_number(j, NULL, low);
		if (scale->scale == TAPIR_FOLD_LINEAR && low.whole >= scale->high)
			tapir_json__null(j, NULL);
		else
			json_number(j, NULL, high);
		tapir_json__u64(j, NULL, cnt);
		tapir_json__close(j, ']');
	}
	tapir_json__close(j, ']');
}

static void json_value(const struct reading *r, unsigned column, const struct tapir_fold_row *row,
		       struct tapir_json *j)
{
	const struct tapir_question_column *c = &r->question->columns[column];
	static const char *const keys[] = {"p50", "p90", "p99"};
	const struct tapir_fold_value *v = &row->values[column];

	tapir_json__open(j, NULL, '{');
	tapir_json__str(j, "of", c->text);
	if (r->question->fold.columns[column].scale == TAPIR_FOLD_NO_HISTOGRAM) {
		json_number(j, names[c->aggregate], column_value(r, row, column));
	} else {
		for (int i = 0; has_percentiles(c) && i < 3; i++)
			json_number(j, keys[i],
				    tapir_fold_value__percentile(v, percents[i], r->since));
		json_number(j, "max", column_value(r, row, column));
		json_number(j, "sum", tapir_fold_value__sum(v, r->since));
		json_steps(r, column, v, j);
		if (v->below)
			tapir_json__u64(j, "below_0", tapir_fold_value__below(v, r->since));
		if (v->unbinned)
			tapir_json__u64(j, "unbinned", v->unbinned);
	}
	tapir_json__close(j, '}');
}

/*
 * Writes the i-th part of a key. Returns why the value is not that of the program (its word in
 * "marks"), or NULL.
 */
static const char *json_key(const struct reading *r, unsigned idx,
			    const struct tapir_fold_part *part, struct tapir_json *j)
{
	const struct tapir_question_key *key = &r->question->keys[idx];
	struct tapir_str text = {};

	if (key->kind == TAPIR_KEY_STACK && part->kind == TAPIR_FOLD_UINT) {
		tapir_question__add_stack(r->questions, part->u64, 0, ";", &text);
		tapir_json__strn(j, key->text, text.data, text.len);
		tapir_str__fini(&text);
		return NULL;
	}
	switch (part->kind) {
	case TAPIR_FOLD_TEXT:
	case TAPIR_FOLD_TRUNCATED:
		tapir_json__strn(j, key->text, part->text, part->len);
		return part->kind == TAPIR_FOLD_TRUNCATED ? "cut" : NULL;
	case TAPIR_FOLD_NULL:
		tapir_json__null(j, key->text);
		return "null";
	case TAPIR_FOLD_ABSENT:
		tapir_json__null(j, key->text);
		return "unreadable";
	case TAPIR_FOLD_FLOAT:
		tapir_json__f64(j, key->text, part->f64);
		return NULL;
	case TAPIR_FOLD_INT:
		tapir_json__i64(j, key->text, part->i64);
		return NULL;
	default:
		tapir_json__u64(j, key->text, part->u64);
		return NULL;
	}
}

static void json_row(const struct reading *r, const struct tapir_fold_row *row,
		     struct tapir_json *j)
{
	const char *marks[TAPIR_FOLD_MAX_KEYS] = {};
	bool has_marks = false;

	tapir_json__open(j, NULL, '{');
	tapir_json__open(j, "key", '{');
	for (unsigned i = 0; i < r->question->fold.key_cnt; i++) {
		marks[i] = json_key(r, i, &row->key[i], j);
		has_marks |= !!marks[i];
	}
	tapir_json__close(j, '}');
	if (has_marks) {
		tapir_json__open(j, "marks", '{');
		for (unsigned i = 0; i < r->question->fold.key_cnt; i++)
			if (marks[i])
				tapir_json__str(j, r->question->keys[i].text, marks[i]);
		tapir_json__close(j, '}');
	}
	tapir_json__u64(j, "count", tapir_fold_row__cnt(row, r->since));
	tapir_json__open(j, "values", '[');
	for (unsigned i = 0; i < r->question->fold.column_cnt; i++)
		json_value(r, i, row, j);
	tapir_json__close(j, ']');
	tapir_json__close(j, '}');
}

static void write_json(const struct reading *r, uint64_t from_ns, uint64_t until_ns,
		       struct tapir_str *out)
{
	struct tapir_json j = tapir_json__to(out);

	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "type", r->since ? "interval" : "total");
	if (r->question->text)
		tapir_json__str(&j, "question", r->question->text);
	tapir_json__str(&j, "of", r->question->is_of_intervals ? "intervals" : "events");
	tapir_json__u64(&j, "from_ns", from_ns);
	tapir_json__u64(&j, "until_ns", until_ns);
	tapir_json__u64(&j, "hits", r->counts.hits);
	tapir_json__u64(&j, "rejected", r->counts.rejected);
	tapir_json__u64(&j, "rows_hits", r->shown_hits);
	tapir_json__u64(&j, "more_rows", r->row_cnt - r->shown);
	tapir_json__u64(&j, "more_hits", r->more_hits);
	tapir_json__u64(&j, "unkeyed", r->unkeyed);
	tapir_json__u64(&j, "undefined", r->counts.undefined);
	tapir_json__u64(&j, "lost", r->counts.lost);
	if (r->question->is_of_intervals) {
		tapir_json__u64(&j, "unbegun", r->counts.unbegun);
		tapir_json__u64(&j, "unended", r->counts.unended);
	}
	tapir_json__open(&j, "rows", '[');
	for (size_t i = 0; i < r->shown; i++)
		json_row(r, row_at(r, i), &j);
	tapir_json__close(&j, ']');
	tapir_json__close(&j, '}');
	tapir_str__addc(out, '\n');
}

void tapir_cli_questions__write(const struct tapir_cli_questions *queries, bool since, bool json,
				uint64_t from_ns, uint64_t until_ns, struct tapir_str *out)
{
	for (size_t i = 0; i < tapir_questions__cnt(queries->questions); i++) {
		const struct tapir_question *q = tapir_questions__at(queries->questions, i);
		struct reading r;

		if (!q->is_table)
			continue;
		if (!read_now(queries, q, since, &r)) {
			out->failed = true;
			return;
		}
		if (json) {
			write_json(&r, from_ns, until_ns, out);
		} else {
			if (out->len)
				tapir_str__addc(out, '\n');
			write_text(&r, from_ns, until_ns, out);
		}
		free(r.order);
	}
}

/* ---- an interval ------------------------------------------------------------------------------ */

static void hit_json(const struct tapir_hit *hit, struct tapir_str *out)
{
	const struct tapir_rec_event *rec = hit->begin.event.rec;
	struct tapir_json j = tapir_json__to(out);

	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "type", "interval");
	tapir_json__u64(&j, "time_ns", rec->h.time_ns);
	tapir_json__u64(&j, "took_ns", hit->took_ns);
	tapir_json__u64(&j, "pid", rec->tgid);
	tapir_json__u64(&j, "tid", rec->tid);
	tapir_json__strn(&j, "provider", hit->begin.probe.provider.data,
			 hit->begin.probe.provider.len);
	tapir_json__strn(&j, "begin", hit->begin.probe.event.data, hit->begin.probe.event.len);
	tapir_json__strn(&j, "end", hit->end->probe.event.data, hit->end->probe.event.len);
	tapir_json__open(&j, "args", '{');
	for (unsigned i = 0; i < hit->begin.fields->cnt; i++) {
		const struct tapir_value *v = &hit->begin.fields->values[i];
		struct tapir_str name = {}, value = {};

		tapir_value__add_name(&name, v->name, i);
		tapir_event_fields__add_value(v, TAPIR_EXPRESSION_MAX_BYTES, &value);
		if (v->flags & TAPIR_VALUE_ABSENT)
			tapir_json__null(&j, name.data ? name.data : "");
		else
			tapir_json__strn(&j, name.data ? name.data : "",
					 value.data ? value.data : "", value.len);
		tapir_str__fini(&name);
		tapir_str__fini(&value);
	}
	tapir_json__close(&j, '}');
	tapir_json__close(&j, '}');
	tapir_str__addc(out, '\n');
}

void tapir_hit__write(const struct tapir_hit *hit, bool json, uint64_t start_ns,
		      struct tapir_str *out)
{
	const struct tapir_rec_event *rec = hit->begin.event.rec;
	uint64_t since_ns = rec->h.time_ns > start_ns ? rec->h.time_ns - start_ns : 0;
	size_t from;

	if (json) {
		hit_json(hit, out);
		return;
	}
	tapir_str__addf(out, "%11.6f %u/%u ", (double)since_ns / 1e9, rec->tgid, rec->tid);
	from = out->len;
	add_time(out, hit->took_ns);
	tapir_str__pad(out, from, 10);
	tapir_str__addc(out, ' ');
	tapir_str__add_printable(out, hit->begin.probe.provider.data,
				 hit->begin.probe.provider.len);
	tapir_str__addc(out, ':');
	tapir_str__add_printable(out, hit->begin.probe.event.data, hit->begin.probe.event.len);
	for (unsigned i = 0; i < hit->begin.fields->cnt; i++) {
		tapir_str__addc(out, ' ');
		tapir_value__add_name(out, hit->begin.fields->values[i].name, i);
		tapir_str__addc(out, '=');
		tapir_value__add_text(out, &hit->begin.fields->values[i]);
	}
	tapir_str__addc(out, '\n');
}
