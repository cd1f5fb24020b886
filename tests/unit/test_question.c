// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Questions to records that are made here: what is counted, and that nothing is left out of the
 * sum.
 *
 * runtimes: dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyze/interval_names.h"
#include "analyze/question.h"
#include "base/diag.h"
#include "trace/recbuf.h"

#define SV(text) ((struct tapir_sv){"" text, sizeof("" text) - 1})

static struct tapir_recbuf buf;
static struct tapir_catalog *catalog;
static struct tapir_questions *qs;
static const struct tapir_sums_state no_state;

static int setup(void **state)
{
	(void)state;
	catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	qs = tapir_questions__new(NULL);
	tapir_diag__clear();
	return !catalog || !qs;
}

static int teardown(void **state)
{
	(void)state;
	tapir_questions__free(qs);
	tapir_catalog__free(catalog);
	tapir_recbuf__fini(&buf);
	return 0;
}

static int take(const struct tapir_rec *rec)
{
	tapir_catalog__describe(catalog, rec);
	return tapir_questions__take(qs, catalog, rec);
}

static void probe(uint32_t id, const char *event, const char *field_name)
{
	const struct tapir_rec_probe fixed = {.h.time_ns = id, .probe_id = id};
	const struct tapir_field field = {.type = TAPIR_FIELD_INT, .size = 8};
	const struct tapir_sv name = tapir_sv__of(field_name);

	assert_int_equal(take(tapir_recbuf__probe(&buf, &fixed, SV("shop"), tapir_sv__of(event),
						  SV("/bin/x"), SV("\1"), &field, &name, 1)),
			 0);
}

static int event(uint32_t id, uint32_t tid, uint64_t time_ns, int64_t value, bool is_readable)
{
	struct tapir_rec_event fixed = {.h = {.time_ns = time_ns},
					.probe_id = id,
					.tgid = 100,
					.tid = tid,
					.fault_mask = !is_readable};
	struct tapir_event_view view = {
		.rec = &fixed, .payload = (const uint8_t *)&value, .payload_bytes = 8};

	return take(tapir_recbuf__event(&buf, &view));
}

static bool has_shop(void *ctx, const struct tapir_probe_view *p)
{
	(void)ctx;
	return !tapir_sv__is(p->event, "other");
}

static bool has_order(void *ctx, const struct tapir_interval_kind *kind)
{
	(void)ctx;
	return !strcmp(kind->name, "order");
}

static struct tapir_question *ask(struct tapir_question_opts opts)
{
	opts.has_event = has_shop;
	opts.has_kind = has_order;
	assert_int_equal(tapir_questions__add(qs, &opts), 0);
	return tapir_questions__at(qs, tapir_questions__cnt(qs) - 1);
}

static struct tapir_words *words(const char *text, struct tapir_words *out)
{
	*out = (struct tapir_words){};
	assert_true(tapir_vec__push(out, text));
	return out;
}

static void every_hit_is_in_one_part_of_the_sum(void **state)
{
	struct tapir_words sum, by;
	struct tapir_question *q;
	uint64_t in_rows = 0;
	int64_t total = 0;

	(void)state;
	q = ask((struct tapir_question_opts){.where = "100 / value < 30",
					     .aggregates[TAPIR_AGGREGATE_SUM] =
						     *words("value", &sum),
					     .by = *words("bucket(value, 10), tid", &by)});
	probe(1, "order", "value");
	probe(2, "other", "nothing");
	for (int64_t i = 0; i < 200; i++) {
		assert_int_equal(event(1, 5 + (uint32_t)(i % 2), 10, i, i % 7 != 6), 0);
		assert_int_equal(event(2, 5, 10, i, true), 0); /* of no question */
		total += i % 7 != 6 && i > 3 ? i : 0;
	}
	for (size_t i = 0; i < q->fold.rows.cnt; i++)
		in_rows += tapir_fold_row__cnt(&q->fold.rows.data[i], false);
	assert_int_equal(q->counts.hits, 200);
	assert_int_equal(q->counts.undefined, 28 + 1); /* unreadable, and divided by zero */
	assert_int_equal(q->counts.rejected, 3);
	assert_int_equal(in_rows + q->counts.rejected + q->counts.undefined, 200);
	for (size_t i = 0; i < q->fold.rows.cnt; i++)
		total -= (int64_t)q->fold.rows.data[i].values[0].sum.whole;
	assert_int_equal(total, 0);
	tapir_vec__fini(&sum);
	tapir_vec__fini(&by);
}

static void expression_is_bound_again_when_an_id_is_anothers(void **state)
{
	struct tapir_question *q =
		ask((struct tapir_question_opts){.where = "value > 3", .wants_count = true});

	(void)state;
	probe(1, "order", "value");
	assert_int_equal(event(1, 5, 10, 4, true), 0);
	probe(1, "other", "nothing");
	assert_int_equal(event(1, 5, 10, 4, true), 0);
	assert_int_equal(q->counts.hits, 1);
	probe(1, "order", "price");
	assert_int_equal(event(1, 5, 10, 4, true), -EINVAL);
	assert_string_equal(tapir_diag__line(0), "--where: shop:order has no field 'value'");
	tapir_diag__clear();
}

static void intervals_have_both_ends(void **state)
{
	struct tapir_words hist, by;
	struct tapir_question *q = ask((struct tapir_question_opts){
		.is_of_intervals = true,
		.where = "took >= 2us && begin.id < 100",
		.aggregates[TAPIR_AGGREGATE_HIST] = *words("took", &hist),
		.by = *words("end.status", &by)});

	(void)state;
	probe(1, "order__start", "id");
	probe(2, "order__done", "status");
	event(2, 5, 500, 7, true); /* its begin was before */
	event(1, 5, 1000, 1, true);
	event(1, 6, 1500, 2, true);
	event(2, 5, 4000, 200, true);
	event(2, 6, 2000, 404, true); /* took 500 ns */
	event(1, 7, 5000, 100, true);
	event(2, 7, 9000, 200, true);
	event(1, 8, 9000, 3, true); /* does not end */
	assert_int_equal(tapir_questions__finish(qs), 0);
	assert_int_equal(q->counts.hits, 3);
	assert_int_equal(q->counts.rejected, 2);
	assert_int_equal(q->counts.unbegun, 1);
	assert_int_equal(q->counts.unended, 1);
	assert_int_equal(q->fold.rows.cnt, 1);
	assert_int_equal(q->fold.rows.data[0].key[0].u64, 200);
	assert_true(q->fold.rows.data[0].values[0].sum.whole == 3000);
	assert_int_equal(q->columns[0].unit_ns, 1);
	tapir_vec__fini(&hist);
	tapir_vec__fini(&by);
}

/* ---- what the kernel decides ---------------------------------------------------------------- */

static struct {
	unsigned cnt;
	uint32_t probe_id;
	struct tapir_hit_question last;
	const char *reason;
} offered;

static void on_offer(void *ctx, uint32_t probe_id, const struct tapir_hit_question *question)
{
	(void)ctx;
	offered.cnt++;
	offered.probe_id = probe_id;
	offered.last = *question;
}

static void on_decline(void *ctx, const char *subject, const char *reason)
{
	(void)ctx;
	assert_string_equal(subject, "shop:order");
	offered.reason = reason;
}

static void ask_with_a_kernel(void)
{
	const struct tapir_question_sink sink = {.offer = on_offer, .decline = on_decline};

	tapir_questions__free(qs);
	qs = tapir_questions__new(&sink);
	assert_non_null(qs);
	memset(&offered, 0, sizeof(offered));
}

/* Counts the offers of a condition for a probe with one number, after two events. */
static unsigned offers_of(const char *where, bool with_second)
{
	ask_with_a_kernel();
	(void)ask((struct tapir_question_opts){.where = where, .wants_count = true});
	if (with_second)
		(void)ask((struct tapir_question_opts){.wants_count = true});
	probe(7, "order", "value");
	assert_int_equal(event(7, 5, 1000, 1, true), 0);
	assert_int_equal(event(7, 5, 1001, 30, true), 0);
	return offered.cnt;
}

static void condition_over_numbers_is_offered_to_the_kernel(void **state)
{
	static const char *const others[] = {"value + 1 > 20", "pid > 5", "comm == \"x\"",
					     "value > 20 && tid == 5"};

	(void)state;
	assert_int_equal(offers_of("value > 20 || arg0 == -3", false), 1);
	assert_int_equal(offered.probe_id, 7);
	assert_int_equal(offered.last.term_cnt, 2);
	assert_int_equal(offered.last.terms[0].which, 0);
	assert_true(tapir_questions__may_offer(qs));
	tapir_questions__add_rejected(qs, 5);
	assert_int_equal(tapir_questions__at(qs, 0)->counts.hits, 7);
	assert_int_equal(tapir_questions__at(qs, 0)->counts.rejected, 6);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(offers_of(others[i], false), 0);
	assert_int_equal(offers_of("value > 20", true), 0); /* another question is about all */
	assert_false(tapir_questions__may_offer(qs));
}

/* It is offered with the description of its probe, before the first event. */
static void sums_by_numbers_are_offered_to_the_kernel(void **state)
{
	struct tapir_words sum, hist, by;

	(void)state;
	ask_with_a_kernel();
	(void)ask((struct tapir_question_opts){
		.aggregates[TAPIR_AGGREGATE_SUM] = *words("value", &sum),
		.aggregates[TAPIR_AGGREGATE_HIST] = *words("arg0", &hist),
		.by = *words("value,tid,event,cpu", &by)});
	probe(7, "order", "value");
	probe(8, "other", "value"); /* of no question */
	assert_int_equal(offered.cnt, 1);
	assert_int_equal(offered.probe_id, 7);
	assert_null(offered.reason);
	assert_true(offered.last.adds_up && offered.last.needs_slots);
	assert_int_equal(offered.last.value_slots, 1);
	assert_int_equal(offered.last.values[0].has_steps, 0);
	assert_int_equal(offered.last.values[1].has_steps, 1);
	assert_int_equal(offered.last.values[1].is_signed, 1);
	assert_int_equal(offered.last.keys[0].source, TAPIR_HIT_SLOT);
	assert_int_equal(offered.last.keys[1].source, TAPIR_HIT_TID);
	assert_int_equal(offered.last.keys[2].source, TAPIR_HIT_CONSTANT);
	assert_int_equal(offered.last.namer, 7); /* of the event's name */
	assert_int_equal(event(7, 5, 1000, 1, true), 0);
	assert_int_equal(offered.cnt, 1);
	tapir_vec__fini(&sum);
	tapir_vec__fini(&hist);
	tapir_vec__fini(&by);
}

/* A row whose text has not come is left to the next reading; NULL, cut and empty are different. */
static void texts_of_keys_come_before_their_rows(void **state)
{
	static const struct tapir_sums_text texts[] = {
		{.len = 2, .text = "ab"},
		{.len = 2, .text = "ab", .state = TAPIR_STATE_TRUNCATED},
		{.state = TAPIR_STATE_NULL},
		{}};
	static const uint8_t kinds[] = {TAPIR_FOLD_TEXT, TAPIR_FOLD_TRUNCATED, TAPIR_FOLD_NULL,
					TAPIR_FOLD_TEXT};
	struct tapir_sums_row row = {.cnt = 2};
	struct tapir_question *q;
	struct tapir_words by;

	(void)state;
	ask_with_a_kernel();
	q = ask((struct tapir_question_opts){.by = *words("comm", &by)});
	probe(7, "order", "value");
	assert_true(offered.last.adds_up && !offered.last.needs_slots);
	assert_int_equal(offered.last.keys[0].source, TAPIR_HIT_COMM);
	for (unsigned known = 0; known <= 4; known++) {
		tapir_questions__begin_reading(qs, known, false);
		for (unsigned i = 0; i < known; i++)
			tapir_questions__add_text(qs, i + 1, &texts[i]);
		for (unsigned i = 0; i < 4; i++) {
			struct tapir_sums_key key = {.kinds = {TAPIR_SUMS_TEXT_ID},
						     .parts = {i + 1}};

			tapir_questions__add_row(qs, &key, &row, sizeof(row), 1);
		}
		tapir_questions__end_reading(qs, &no_state);
		assert_int_equal(q->counts.hits, 2 * known);
		assert_int_equal(q->fold.rows.cnt, known);
	}
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(q->fold.rows.data[i].key[0].kind, kinds[i]);
	tapir_vec__fini(&by);
}

/* Counts a row of the kernel with that stack, in an interval. */
static void read_stack(uint64_t interval, const struct tapir_sums_stack *stack, bool is_last)
{
	const struct tapir_sums_key key = {
		.kinds = {TAPIR_SUMS_STACK_ID},
		.parts = {tapir_sums__stack_id(stack, TAPIR_SUMS_STACK)}};
	const struct tapir_sums_row row = {.cnt = 2};

	tapir_questions__begin_reading(qs, interval, is_last);
	tapir_questions__add_row(qs, &key, &row, sizeof(row), 1);
	tapir_questions__end_reading(qs, &no_state);
}

/* The first hit with a stack is an event: rows before it wait, and later ones are its row. */
static void stacks_of_keys_come_with_their_first_hit(void **state)
{
	static const uint64_t frames_va[] = {0x1000, 0x2000};
	static const struct tapir_rec_stack stack = {.stack_id = 7, .frame_cnt = 2};
	const struct tapir_rec_event first = {
		.h = {.time_ns = 1000}, .probe_id = 7, .tgid = 100, .tid = 5, .stack_id = 7};
	const struct tapir_event_view view = {
		.rec = &first, .payload = (const uint8_t[8]){}, .payload_bytes = 8};
	struct tapir_sums_stack of_hit = {.user = 7, .tgid = 100};
	struct tapir_question *q;
	struct tapir_words by;

	(void)state;
	ask_with_a_kernel();
	q = ask((struct tapir_question_opts){.by = *words("stack", &by)});
	probe(7, "order", "value");
	assert_true(offered.last.adds_up && offered.last.needs_stack);
	assert_int_equal(offered.last.keys[0].source, TAPIR_HIT_STACK);
	assert_int_equal(offered.last.keys[0].slot, TAPIR_SUMS_STACK);
	read_stack(1, &of_hit, false);
	assert_int_equal(q->counts.hits, 0);
	assert_int_equal(take(tapir_recbuf__stack(&buf, &stack, frames_va, 2)), 0);
	assert_int_equal(take(tapir_recbuf__event(&buf, &view)), 0);
	assert_int_equal(tapir_questions__finish(qs), 0);
	read_stack(2, &of_hit, true);
	assert_int_equal(q->counts.hits, 3);
	assert_int_equal(q->fold.rows.cnt, 1);
	assert_int_equal(q->fold.rows.data[0].cnt, 3);
	of_hit.tgid = 101; /* whose event was lost */
	read_stack(3, &of_hit, true);
	assert_int_equal(q->fold.rows.cnt, 2);
	assert_int_equal(q->fold.rows.data[1].key[0].kind, TAPIR_FOLD_ABSENT);
	tapir_vec__fini(&by);
}

static const char *declined_by(const char *key)
{
	struct tapir_words by;

	ask_with_a_kernel();
	(void)ask((struct tapir_question_opts){.by = *words(key, &by)});
	probe(7, "order", "value");
	tapir_vec__fini(&by);
	assert_int_equal(offered.cnt, 0);
	return offered.reason;
}

static void what_the_kernel_cannot_add_up_is_said(void **state)
{
	(void)state;
	assert_string_equal(declined_by("value + 1"), "arithmetic");
	assert_string_equal(declined_by("cgroup"),
			    "a key is neither a number nor a short text of the event");
	assert_null(declined_by("price")); /* no field, which is a mistake once it happens */
	assert_int_equal(event(7, 5, 1000, 1, true), -EINVAL);
	tapir_diag__clear();
}

/* ---- intervals in the kernel ----------------------------------------------------------------- */

static struct tapir_hit_question offered_of[16]; /* by probe */
static unsigned offered_order[16], order_cnt;
static char declined_subject[64];
static const char *declined_reason;

static void on_pair(void *ctx, uint32_t probe_id, const struct tapir_hit_question *question)
{
	(void)ctx;
	assert_true(probe_id < 16 && order_cnt < 16);
	offered_of[probe_id] = *question;
	offered_order[order_cnt++] = probe_id;
}

static void on_pair_declined(void *ctx, const char *subject, const char *reason)
{
	(void)ctx;
	snprintf(declined_subject, sizeof(declined_subject), "%s", subject);
	declined_reason = reason;
}

static struct tapir_question *ask_pairs(struct tapir_question_opts opts, const char *pair)
{
	const struct tapir_question_sink sink = {.offer = on_pair, .decline = on_pair_declined};

	tapir_questions__free(qs);
	tapir_catalog__free(catalog);
	catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	qs = tapir_questions__new(&sink);
	assert_true(catalog && qs);
	assert_int_equal(tapir_pairs__name(tapir_questions__pairs(qs), pair), 0);
	memset(offered_of, 0, sizeof(offered_of));
	order_cnt = 0;
	declined_reason = NULL;
	opts.is_of_intervals = true;
	return ask(opts);
}

/* A begin that is kept needs an end that looks for it. */
static void ends_are_offered_before_begins(void **state)
{
	struct tapir_words sum, by;
	struct tapir_question *q;

	(void)state;
	q = ask_pairs((struct tapir_question_opts){.where = "took > 5ms",
						   .aggregates[TAPIR_AGGREGATE_SUM] =
							   *words("value", &sum),
						   .by = *words("tid", &by)},
		      "order,done");
	probe(1, "order", "value");
	probe(2, "done", "value");
	probe(3, "other", "value");
	assert_int_equal(event(1, 5, 1000, 1, true), 0);
	assert_int_equal(order_cnt, 1);
	assert_int_equal(offered_order[0], 2);
	assert_int_equal(event(2, 5, 2000, 1, true), 0);
	assert_int_equal(order_cnt, 2);
	assert_int_equal(offered_order[1], 1);
	assert_int_equal(offered_of[1].role, TAPIR_HIT_BEGIN);
	assert_int_equal(offered_of[1].keys[0].source, TAPIR_HIT_TID);
	assert_true(offered_of[1].needs_slots && !offered_of[2].needs_slots);
	assert_int_equal(offered_of[2].role, TAPIR_HIT_END);
	assert_int_equal(offered_of[2].terms[0].which, TAPIR_HIT_TOOK);
	assert_int_equal(offered_of[2].value_slots, 1);
	assert_null(declined_reason);
	/* Seven were kept: five rows' hits, one rejected, one not ended. */
	tapir_questions__add_begun(qs, 7);
	tapir_questions__add_rejected(qs, 1);
	tapir_questions__begin_reading(qs, 1, true);
	tapir_questions__add_row(qs, &(struct tapir_sums_key){.parts = {5}},
				 &(struct tapir_sums_row){.cnt = 4}, sizeof(struct tapir_sums_row),
				 1);
	tapir_questions__end_reading(qs, &(struct tapir_sums_state){.undefined = 1});
	assert_int_equal(q->counts.hits, 4 + 1 + 1);
	assert_int_equal(q->counts.undefined, 1);
	assert_int_equal(q->counts.unended, 1);
	tapir_vec__fini(&sum);
	tapir_vec__fini(&by);
}

static const char *pair_declined_by(const char *key, const char *pair)
{
	struct tapir_words by;

	(void)ask_pairs((struct tapir_question_opts){.by = *words(key, &by)}, pair);
	probe(1, "order", "value");
	probe(2, "done", "value");
	assert_int_equal(event(1, 5, 1000, 1, true), 0);
	assert_int_equal(event(2, 5, 2000, 1, true), 0);
	tapir_vec__fini(&by);
	if (declined_reason)
		assert_int_equal(order_cnt, 0);
	return declined_reason;
}

static void what_the_kernel_cannot_pair_is_said(void **state)
{
	(void)state;
	assert_null(pair_declined_by("value", "order,done"));
	assert_int_equal(order_cnt, 2);
	assert_null(pair_declined_by("value", "order,done,key=value"));
	assert_int_equal(offered_of[1].scope, TAPIR_HIT_OF_KEY);
	assert_string_equal(pair_declined_by("stack", "order,done"),
			    "a key is the stack of an interval");
	assert_string_equal(pair_declined_by("event", "order,done"),
			    "a key is the name of a number or event");
	assert_string_equal(pair_declined_by("end.value", "order,done"),
			    "a key is neither a number nor a short text of the event");
	assert_string_equal(pair_declined_by("value", "order,order"),
			    "an event is an end of several intervals");
	assert_string_equal(declined_subject, "order");
}

/* Two CPUs, of which one has hits of the next interval already. */
static void rows_of_the_kernel_are_rows_of_the_table(void **state)
{
	static const struct tapir_sums_key key = {.kinds = {TAPIR_SUMS_INT},
						  .parts = {(uint64_t)-3}};
	static const struct tapir_sums_key step = {
		.kinds = {TAPIR_SUMS_INT}, .parts = {(uint64_t)-3}, .step = 1 + 40};
	struct tapir_sums_row rows[2] = {};
	struct tapir_words hist, by;
	struct tapir_fold_row *row;
	struct tapir_question *q;

	(void)state;
	ask_with_a_kernel();
	q = ask((struct tapir_question_opts){.aggregates[TAPIR_AGGREGATE_HIST] =
						     *words("value", &hist),
					     .by = *words("value", &by)});
	probe(7, "order", "value");
	assert_int_equal(event(7, 5, 1000, -3, true), 0);
	for (uint64_t interval = 0; interval < 2; interval++) {
		for (int cpu = 0; cpu < 2; cpu++) {
			uint64_t its = interval + (uint64_t)cpu;

			rows[cpu].cnt += 2;
			assert_true(tapir_sums__claim_interval(&rows[cpu], 1, its));
			tapir_sums__add(&rows[cpu].columns[0], (uint64_t)-7, 1, its);
			tapir_sums__add(&rows[cpu].columns[0], 1ull << 62, 1, its);
		}
		tapir_questions__begin_reading(qs, interval, false);
		tapir_questions__add_row(qs, &key, rows, sizeof(rows[0]), 2);
		tapir_questions__add_step(qs, &step, 4 * (interval + 1));
		tapir_questions__end_reading(
			qs, &(struct tapir_sums_state){.unkeyed = 10 * (interval + 1)});
		assert_int_equal(q->counts.hits, 1 + 14 * (interval + 1));
		assert_int_equal(q->fold.unkeyed, 10 * (interval + 1));
		assert_int_equal(q->fold.rows.cnt, 1);
		row = &q->fold.rows.data[0];
		assert_int_equal(row->cnt, 1 + 4 * (interval + 1));
		assert_true(row->values[0].sum.whole ==
			    -3 + (__int128)(interval + 1) * 2 * ((1ll << 62) - 7));
		assert_true(row->values[0].least.whole == -7);
		assert_true(row->values[0].interval_max.whole == 1ll << 62);
		assert_int_equal(row->values[0].steps.data[0].idx, 40);
		assert_int_equal(row->values[0].steps.data[0].cnt, 4 * (interval + 1));
		tapir_questions__begin_interval(qs);
	}
	assert_int_equal(tapir_questions__counted(qs), 28);
	tapir_vec__fini(&hist);
	tapir_vec__fini(&by);
}

/* "arg0" is the first one, however it is called. */
static void a_key_may_be_named_by_its_place(void **state)
{
	struct tapir_question *q;

	(void)state;
	assert_int_equal(tapir_pairs__name(tapir_questions__pairs(qs), "order,ended,key=arg0"), 0);
	q = ask((struct tapir_question_opts){.is_of_intervals = true, .wants_count = true});
	probe(1, "order", "id");
	probe(2, "ended", "id");
	event(1, 5, 1000, 1, true);
	event(1, 6, 1500, 2, true);
	event(2, 5, 2000, 2, true);
	event(2, 5, 2500, 3, true);
	assert_int_equal(tapir_questions__finish(qs), 0);
	assert_int_equal(q->counts.hits, 1);
	assert_int_equal(q->counts.unbegun, 1);
	assert_int_equal(q->counts.unended, 1);
}

/* Their names are not copied before they are counted. */
static void refuse_many_keys(void)
{
	const size_t bytes = 100000;
	char *keys = test_malloc(bytes + 1);
	struct tapir_words list;

	memset(keys, ',', bytes);
	for (size_t i = 0; i < bytes; i += 2)
		keys[i] = 'a';
	keys[bytes] = '\0';
	tapir_diag__clear();
	assert_int_equal(
		tapir_questions__add(qs, &(struct tapir_question_opts){.by = *words(keys, &list)}),
		-EINVAL);
	assert_non_null(strstr(tapir_diag__line(0), "at most 4 keys"));
	tapir_vec__fini(&list);
	test_free(keys);
}

static void a_key_that_events_lack_pairs_nothing(void **state)
{
	struct tapir_question *q;

	(void)state;
	assert_int_equal(tapir_pairs__name(tapir_questions__pairs(qs), "order,ended,key=idd"), 0);
	q = ask((struct tapir_question_opts){.is_of_intervals = true, .wants_count = true});
	probe(1, "order", "id");
	probe(2, "ended", "id");
	event(1, 5, 1000, 1, true);
	event(1, 6, 1500, 2, true);
	assert_int_equal(event(2, 5, 2000, 1, true), 0);
	assert_int_equal(tapir_questions__finish(qs), -EINVAL);
	assert_int_equal(q->counts.hits, 0);
	assert_string_equal(tapir_diag__line(0), "--pair, --key: shop:order has no field 'idd'");
	tapir_diag__clear();
}

static void mistakes_are_told_before_anything_comes(void **state)
{
	static const char *const lhists[] = {"value",	     "value,1,2",	 "value,5,1,1",
					     "value,0,10,0", "value,0,100000,1", "value,a,b,c"};
	struct tapir_words list;

	(void)state;
	for (size_t i = 0; i < sizeof(lhists) / sizeof(*lhists); i++) {
		struct tapir_question_opts opts = {.aggregates[TAPIR_AGGREGATE_LHIST] =
							   *words(lhists[i], &list)};

		tapir_diag__clear();
		assert_int_equal(tapir_questions__add(qs, &opts), -EINVAL);
		assert_non_null(strstr(tapir_diag__line(0), "--lhist"));
		tapir_vec__fini(&list);
	}
	tapir_diag__clear();
	assert_int_equal(
		tapir_questions__add(
			qs, &(struct tapir_question_opts){.by = *words("a,b,c,d,e", &list)}),
		-EINVAL);
	assert_non_null(strstr(tapir_diag__line(0), "at most 4 keys"));
	tapir_vec__fini(&list);
	refuse_many_keys();
	tapir_diag__clear();
	assert_int_equal(
		tapir_questions__add(
			qs, &(struct tapir_question_opts){.by = *words("ustack(0)", &list)}),
		-EINVAL);
	assert_string_equal(tapir_diag__line(0),
			    "--by: 'ustack(0)' is not ustack(N) with 1 to 512 frames");
	tapir_vec__fini(&list);
	assert_int_equal(tapir_questions__cnt(qs), 0);
	tapir_diag__clear();
}

static void names_of_intervals_mean_their_kinds(void **state)
{
	struct tapir_interval_kind gc = {.provider = (char *)"python", .name = (char *)"gc"};
	struct tapir_interval_kind lock = {.provider = (char *)"postgresql",
					   .name = (char *)"lock"};
	struct tapir_interval_kind own = {.provider = (char *)"shop", .name = (char *)"order"};
	struct tapir_interval_specs specs = {};
	char **spec;

	(void)state;
	assert_true(tapir_interval_name__is_known("python:gc"));
	assert_true(tapir_interval_name__is_known("dotnet:gc"));
	assert_true(tapir_interval_name__is_known("request"));
	assert_false(tapir_interval_name__is_known("python:gc__start"));
	assert_false(tapir_interval_name__is_known("shop:order"));
	assert_true(tapir_interval_name__means("python:gc", &gc));
	assert_false(tapir_interval_name__means("hotspot:gc", &gc));
	assert_true(tapir_interval_name__means("locks", &lock));
	assert_false(tapir_interval_name__means("locks", &gc));
	assert_true(tapir_interval_name__means("shop:order", &own));
	assert_int_equal(tapir_interval_name__add_specs("python:gc", &specs), 0);
	assert_int_equal(specs.cnt, 1);
	assert_string_equal(specs.data[0], "python:ev=gc__start,ev=gc__done");
	/* both say the same of a request: only DiagnosticSource's events can be paired by a key */
	assert_int_equal(tapir_interval_name__add_specs("dotnet:http_request", &specs), 0);
	assert_int_equal(specs.cnt, 2);
	assert_non_null(strstr(specs.data[1], "Microsoft-Diagnostics-DiagnosticSource:"));
	assert_non_null(strstr(specs.data[1], ";host=Request.RequestUri.Host"));
	tapir_vec_for_each (spec, &specs)
		free(*spec);
	tapir_vec__fini(&specs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_hit_is_in_one_part_of_the_sum, setup,
						teardown),
		cmocka_unit_test_setup_teardown(expression_is_bound_again_when_an_id_is_anothers,
						setup, teardown),
		cmocka_unit_test_setup_teardown(intervals_have_both_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(condition_over_numbers_is_offered_to_the_kernel,
						setup, teardown),
		cmocka_unit_test_setup_teardown(sums_by_numbers_are_offered_to_the_kernel, setup,
						teardown),
		cmocka_unit_test_setup_teardown(texts_of_keys_come_before_their_rows, setup,
						teardown),
		cmocka_unit_test_setup_teardown(stacks_of_keys_come_with_their_first_hit, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_the_kernel_cannot_add_up_is_said, setup,
						teardown),
		cmocka_unit_test_setup_teardown(ends_are_offered_before_begins, setup, teardown),
		cmocka_unit_test_setup_teardown(what_the_kernel_cannot_pair_is_said, setup,
						teardown),
		cmocka_unit_test_setup_teardown(rows_of_the_kernel_are_rows_of_the_table, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_key_may_be_named_by_its_place, setup, teardown),
		cmocka_unit_test_setup_teardown(a_key_that_events_lack_pairs_nothing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(mistakes_are_told_before_anything_comes, setup,
						teardown),
		cmocka_unit_test_setup_teardown(names_of_intervals_mean_their_kinds, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
