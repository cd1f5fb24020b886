// SPDX-License-Identifier: GPL-2.0-or-later
/* Spans from switches: in order, out of order, with pieces missing, and from a hostile file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/offcpu.h"

#define MS 1000000u

static struct tapir_offcpu *offcpu;
static struct tapir_offcpu_span spans[16];
static unsigned span_cnt;

static uint64_t on_out(void *ctx, const struct tapir_rec_switch *out,
		       const struct tapir_trace_ids *ids)
{
	assert_int_equal(ids != NULL, out->out_tid % 2);
	assert_true(!ids || ids->span_id[7] == (uint8_t)out->out_tid);
	assert_ptr_equal(ctx, &span_cnt);
	return out->out_stack_id + 1;
}

static void on_span(void *ctx, const struct tapir_offcpu_span *span)
{
	assert_ptr_equal(ctx, &span_cnt);
	assert_true(span->from_ns <= span->until_ns);
	if (span_cnt < 16)
		spans[span_cnt] = *span;
	span_cnt++;
}

static int setup(void **state)
{
	static const struct tapir_offcpu_fns fns = {on_out, on_span};

	(void)state;
	span_cnt = 0;
	offcpu = tapir_offcpu__new(&fns, &span_cnt);
	return offcpu ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	tapir_offcpu__free(offcpu);
	return 0;
}

static void add(struct tapir_rec_switch rec, uint64_t time_ns)
{
	struct {
		struct tapir_rec_switch rec;
		struct tapir_trace_ids ids;
	} r = {rec, {.span_id[7] = (uint8_t)rec.out_tid}};

	r.rec.h.type = TAPIR_REC_SWITCH;
	r.rec.h.size = rec.out_tid % 2 ? sizeof(r) : sizeof(rec);
	r.rec.h.time_ns = time_ns;
	assert_int_equal(tapir_offcpu__add(offcpu, &r.rec.h, NULL, NULL), 0);
}

static void leave(uint32_t tid, uint64_t time_ns, uint16_t state)
{
	add(
		(struct tapir_rec_switch){
			.out_tgid = 100, .out_tid = tid, .out_state = state, .out_stack_id = tid},
		time_ns);
}

static void come(uint32_t tid, uint64_t time_ns, uint64_t wake_ns)
{
	add((struct tapir_rec_switch){.in_tgid = 100,
				      .in_tid = tid,
				      .in_wake_ns = wake_ns,
				      .in_waker_tid = wake_ns ? 7 : 0},
	    time_ns);
}

static const struct tapir_offcpu_stats *finish(void)
{
	assert_int_equal(tapir_offcpu__finish(offcpu), 0);
	return tapir_offcpu__stats(offcpu);
}

static void span_lasts_from_leaving_to_coming_back(void **state)
{
	const struct tapir_offcpu_stats *stats;

	(void)state;
	leave(1, 10 * MS, TAPIR_STATE_SLEEPING);
	come(1, 60 * MS, 59 * MS);
	leave(1, 70 * MS, 0);
	come(1, 71 * MS, 65 * MS); /* of an earlier sleep: it was not asleep */
	stats = finish();
	assert_int_equal(span_cnt, 2);
	assert_int_equal(spans[0].tgid, 100);
	assert_int_equal(spans[0].tid, 1);
	assert_int_equal(spans[0].from_ns, 10 * MS);
	assert_int_equal(spans[0].until_ns, 60 * MS);
	assert_int_equal(spans[0].wake_ns, 59 * MS);
	assert_int_equal(spans[0].waker_tid, 7);
	assert_int_equal(spans[0].token, 2);
	assert_int_equal(spans[1].wake_ns, 70 * MS);
	assert_int_equal(spans[1].waker_tid, 0);
	assert_int_equal(stats->spans, 2);
	assert_int_equal(stats->unpaired + stats->open, 0);
}

static void one_record_ends_a_span_and_begins_another(void **state)
{
	(void)state;
	leave(1, 1 * MS, TAPIR_STATE_SLEEPING);
	add(
		(struct tapir_rec_switch){
			.out_tgid = 100, .out_tid = 2, .out_state = 1, .in_tgid = 100, .in_tid = 1},
		5 * MS);
	add(
		(struct tapir_rec_switch){
			.out_tgid = 100, .out_tid = 1, .out_state = 1, .in_tgid = 100, .in_tid = 2},
		9 * MS);
	assert_int_equal(finish()->open, 1);
	assert_int_equal(span_cnt, 2);
	assert_int_equal(spans[0].tid, 1);
	assert_int_equal(spans[1].tid, 2);
	assert_int_equal(spans[1].until_ns - spans[1].from_ns, 4 * MS);
}

/* One ring is read behind the other: a thread that moves between CPUs comes out of order. */
static void order_of_time_is_found_when_rings_come_one_by_one(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++)
		leave(1, (10 + 10 * i) * MS, TAPIR_STATE_SLEEPING);
	for (unsigned i = 0; i < 8; i++)
		come(1, (15 + 10 * i) * MS, 0);
	assert_int_equal(finish()->unpaired, 0);
	assert_int_equal(span_cnt, 8);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(spans[i].until_ns - spans[i].from_ns, 5 * MS);
}

static void spans_come_while_records_do(void **state)
{
	(void)state;
	leave(1, 1 * MS, 1);
	come(1, 2 * MS, 0);
	assert_int_equal(span_cnt, 0);
	leave(2, 3 * MS + TAPIR_OFFCPU_WINDOW_NS, 1);
	assert_int_equal(span_cnt, 1);
}

static void nothing_is_made_up_when_pieces_are_missing(void **state)
{
	const struct tapir_offcpu_stats *stats;

	(void)state;
	come(1, 1 * MS, 0); /* its leaving was before the recording */
	leave(1, 2 * MS, 1);
	leave(1, 8 * MS, 1); /* its coming back was lost */
	come(1, 9 * MS, 0);
	leave(2, 10 * MS, 1); /* never back */
	stats = finish();
	assert_int_equal(span_cnt, 1);
	assert_int_equal(spans[0].from_ns, 8 * MS);
	assert_int_equal(stats->unpaired, 2);
	assert_int_equal(stats->open, 1);
}

static void another_thread_of_the_same_id_ends_no_span(void **state)
{
	(void)state;
	leave(1, 1 * MS, TAPIR_STATE_DEAD);
	come(1, 2 * MS, 0);
	leave(3, 3 * MS, 1);
	add((struct tapir_rec_switch){.in_tgid = 200, .in_tid = 3}, 4 * MS);
	come(3, 5 * MS, 0);
	assert_int_equal(finish()->unpaired, 3);
	assert_int_equal(span_cnt, 0);
}

static void wake_up_lies_within_its_span_or_is_unknown(void **state)
{
	(void)state;
	leave(1, 10 * MS, 1);
	come(1, 20 * MS, 9 * MS);
	leave(1, 30 * MS, 1);
	come(1, 40 * MS, 41 * MS);
	leave(1, 50 * MS, 1);
	come(1, 60 * MS, UINT64_MAX);
	finish();
	assert_int_equal(span_cnt, 3);
	assert_int_equal(spans[0].wake_ns, 10 * MS);
	assert_int_equal(spans[1].wake_ns, 0);
	assert_int_equal(spans[2].wake_ns, 0);
}

/* No order, no sense: bounded memory, spans that never end before they begin. */
static void hostile_order_does_no_harm(void **state)
{
	uint64_t seed = 1;

	(void)state;
	leave(1, UINT64_MAX, 1);
	come(1, 0, 0);
	leave(1, 0, 1);
	come(1, UINT64_MAX, 1);
	for (unsigned i = 0; i < 300000; i++) {
		struct tapir_rec_switch rec = {.out_tgid = 1, .in_tgid = 1};

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		rec.out_tid = (uint32_t)(seed >> 33) % 100000;
		rec.in_tid = (uint32_t)(seed >> 20) % 100000;
		rec.out_state = (uint16_t)(seed >> 50);
		rec.in_wake_ns = seed;
		add(rec, seed >> (seed & 63));
	}
	finish();
	assert_true(span_cnt > 0);
}

static void window_is_bounded_when_time_stands_still(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TAPIR_OFFCPU_WINDOW_CNT; i++)
		leave(i % 1000 + 1, 5, 1);
	assert_int_equal(tapir_offcpu__stats(offcpu)->unpaired, 0);
	for (unsigned i = 0; i < 5000; i++)
		leave(i % 1000 + 1, 5, 1);
	assert_true(tapir_offcpu__stats(offcpu)->unpaired > 3000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(span_lasts_from_leaving_to_coming_back),
		TEST(one_record_ends_a_span_and_begins_another),
		TEST(order_of_time_is_found_when_rings_come_one_by_one),
		TEST(spans_come_while_records_do),
		TEST(nothing_is_made_up_when_pieces_are_missing),
		TEST(another_thread_of_the_same_id_ends_no_span),
		TEST(wake_up_lies_within_its_span_or_is_unknown),
		TEST(hostile_order_does_no_harm),
		TEST(window_is_bounded_when_time_stands_still),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
