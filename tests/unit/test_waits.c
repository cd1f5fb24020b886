// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits in numbers: records of sums, whole waits on the timeline, what views say of them. */
#include "record/wait_records.h" /* before the names of the fixture */

#include "view_fixture.h"

#include "analyze/offcpu.h"
#include "bpf/control.h"

/* ---- records of sums --------------------------------------------------------------------------- */

struct written {
	unsigned cnt;
	struct tapir_rec_waits last;
	uint64_t sum_cnt, sum_ns, run_ns;
};

static void on_written(void *written, const struct tapir_rec *rec)
{
	const struct tapir_rec_waits *one = (const void *)rec;
	struct written *w = written;

	assert_true(tapir_record__ok(rec, rec->size));
	w->cnt++;
	w->last = *one;
	w->run_ns += one->run_ns;
	w->sum_cnt += one->cnt[TAPIR_WAIT_SLEEPING];
	w->sum_ns += one->ns[TAPIR_WAIT_SLEEPING];
}

static struct tapir_rec_wait_total total;

static bool end_thread(struct tapir_wait_records *w)
{
	tapir_rec__init(&total.h, TAPIR_REC_WAIT_TOTAL, sizeof(total), 5 * MS);
	return tapir_wait_records__end(w, &total.h);
}

static void last_sums_of_a_thread_are_written_once(void **state)
{
	struct written written = {};
	struct tapir_wait_records *w = tapir_wait_records__new(-1, on_written, &written);

	(void)state;
	assert_non_null(w);
	total.sums = (struct tapir_wait_sums){.tgid = 100,
					      .tid = 101,
					      .start_ns = 7,
					      .run_ns = 900,
					      .since_ns = 4 * MS,
					      .is_out = 1,
					      .out_state = TAPIR_STATE_DEAD};
	total.sums.kinds[TAPIR_WAIT_SLEEPING] = (struct tapir_wait_sum){.cnt = 3, .ns = 70};
	total.sums.kinds[TAPIR_WAIT_SLEEPING].steps[4] = 3;
	assert_true(end_thread(w));
	assert_int_equal(written.cnt, 1);
	assert_int_equal(written.last.tid, 101);
	assert_int_equal(written.last.step_cnt, 1);
	assert_int_equal(written.last.left_ns, 0);
	assert_int_equal(written.last.out_state, TAPIR_STATE_DEAD);
	assert_int_equal(written.sum_cnt, 3);
	assert_int_equal(written.sum_ns, 70);
	assert_int_equal(written.run_ns, 900);
	/* The id is another thread's now: its sums begin anew. */
	total.sums.start_ns = 8;
	total.sums.run_ns = 100;
	assert_true(end_thread(w));
	assert_int_equal(written.run_ns, 1000);
	assert_int_equal(written.sum_cnt, 6);
	total.h.size = sizeof(total) - 8;
	assert_false(tapir_wait_records__end(w, &total.h));
	assert_false(tapir_wait_records__end(NULL, &total.h));
	assert_int_equal(written.cnt, 2);
	tapir_wait_records__free(w);
}

/* ---- the timeline ------------------------------------------------------------------------------ */

static void add_wait(uint32_t tid, uint64_t since_ns, uint64_t wake_ns, uint64_t until_ns,
		     uint64_t stack_id)
{
	struct {
		struct tapir_rec_switch sw;
		struct tapir_switch_wait wait;
	} whole = {.sw = {.out_tgid = 100,
			  .out_tid = tid,
			  .in_tgid = 100,
			  .in_tid = tid,
			  .out_stack_id = stack_id,
			  .in_wake_ns = wake_ns,
			  .out_state = TAPIR_STATE_SLEEPING,
			  .flags = TAPIR_SWITCH_WAITED},
		   .wait = {.since_ns = since_ns}};

	tapir_rec__init(&whole.sw.h, TAPIR_REC_SWITCH, sizeof(whole), until_ns);
	assert_int_equal(feeder_add(&f, &whole.sw.h), 0);
}

static struct tapir_rec_waits sums_of(uint32_t tid, uint64_t since_ns, uint64_t run_ns)
{
	return (struct tapir_rec_waits){
		.tgid = 100, .tid = tid, .since_ns = since_ns, .run_ns = run_ns};
}

static void add_sums(struct tapir_rec_waits rec, uint64_t now_ns)
{
	tapir_rec__init(&rec.h, TAPIR_REC_WAITS, sizeof(rec), now_ns);
	assert_int_equal(feeder_add(&f, &rec.h), 0);
}

struct heard {
	unsigned cnt, truncated_cnt;
	uint64_t asleep_ns, runnable_ns, truncated_ns;
};

static void on_wait(void *heard, const struct tapir_wait *wait)
{
	struct heard *h = heard;

	h->cnt++;
	h->asleep_ns += wait->wake_ns - wait->from_ns;
	h->runnable_ns += wait->until_ns - wait->wake_ns;
}

static void on_cut_wait(void *heard, const struct tapir_wait *wait)
{
	struct heard *h = heard;

	h->truncated_cnt++;
	h->truncated_ns += wait->until_ns - wait->from_ns;
}

static const struct tapir_timeline_fns fns = {.wait = on_wait, .open_ended_wait = on_cut_wait};

/* 10 ms: short waits of 1 ms and a run of 3 ms are in sums, waits of 4 and 2 ms are whole. */
static void whole_waits_and_sums_make_up_the_time(void **state)
{
	struct tapir_rec_waits sums = sums_of(5, 0, 3 * MS);
	const struct tapir_timeline_stats *stats;
	struct heard heard = {};

	(void)state;
	assert_int_equal(tapir_timeline__listen(f.tl, &fns, &heard), 0);
	feeder_thread(&f, 5, "worker");
	add_wait(5, 1 * MS, 4 * MS, 5 * MS, 0);
	add_wait(5, 7 * MS, 9 * MS, 9 * MS, 0);
	sums.cnt[TAPIR_WAIT_SLEEPING] = 10;
	sums.ns[TAPIR_WAIT_SLEEPING] = 700000;
	sums.cnt[TAPIR_WAIT_WOKEN] = 10;
	sums.ns[TAPIR_WAIT_WOKEN] = 300000;
	add_sums(sums, 10 * MS);
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	stats = tapir_timeline__stats(f.tl);
	assert_int_equal(heard.cnt, 2);
	assert_int_equal(heard.asleep_ns, 5 * MS);
	assert_int_equal(heard.runnable_ns, 1 * MS);
	assert_int_equal(stats->cpu_ns, 3 * MS);
	assert_int_equal(stats->sleeping_ns, 5 * MS + 700000);
	assert_int_equal(stats->runnable_ns, 1 * MS + 300000);
	assert_int_equal(stats->short_cnt, 10); /* the end of a wait is none of its own */
	assert_int_equal(stats->unpaired, 0);
}

static void a_wait_that_has_not_ended_is_known_by_the_sums(void **state)
{
	struct tapir_rec_waits sums = sums_of(5, 0, 2 * MS);
	struct heard heard = {};

	(void)state;
	assert_int_equal(tapir_timeline__listen(f.tl, &fns, &heard), 0);
	feeder_thread(&f, 5, "worker");
	sums.left_ns = 2 * MS;
	sums.out_state = TAPIR_STATE_SLEEPING;
	add_sums(sums, 10 * MS);
	add_wait(5, 2 * MS, 12 * MS, 12 * MS, 0); /* the same, when it has */
	assert_int_equal(heard.truncated_cnt, 0);
	sums = sums_of(5, 10 * MS, 1 * MS);
	sums.left_ns = 13 * MS;
	sums.out_state = TAPIR_STATE_SLEEPING;
	add_sums(sums, 20 * MS);
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	assert_int_equal(heard.cnt, 1);
	assert_int_equal(heard.asleep_ns, 10 * MS);
	assert_int_equal(heard.truncated_cnt, 1);
	assert_int_equal(heard.truncated_ns, 7 * MS);
	assert_int_equal(tapir_timeline__stats(f.tl)->unpaired, 0);
}

static void sums_of_an_ended_thread_count_once(void **state)
{
	struct tapir_rec_waits sums = sums_of(5, 0, 2 * MS);

	(void)state;
	feeder_thread(&f, 5, "worker");
	add_wait(5, 1 * MS, 3 * MS, 3 * MS, 0);
	feeder_exit(&f, 100, 4 * MS); /* before the thread's last record */
	sums.out_state = TAPIR_STATE_DEAD;
	add_sums(sums, 5 * MS);
	feeder_thread(&f, 6, "other");
	add_wait(6, 5 * MS, 8 * MS, 8 * MS, 0);
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	assert_int_equal(tapir_timeline__stats(f.tl)->cpu_ns, 2 * MS);
}

/* A file may hold anything that its lengths allow. */
static void hostile_waits_are_taken_as_they_are(void **state)
{
	struct tapir_rec_waits sums = sums_of(5, UINT64_MAX, UINT64_MAX);
	struct heard heard = {};

	(void)state;
	assert_int_equal(tapir_timeline__listen(f.tl, &fns, &heard), 0);
	feeder_thread(&f, 5, "worker");
	add_wait(5, 9 * MS, 1 * MS, 8 * MS, 0); /* it began after its end: a switch as any other */
	add_wait(5, 1 * MS, 20 * MS, 12 * MS, 0);
	sums.left_ns = UINT64_MAX;
	sums.out_state = 1;
	add_sums(sums, 13 * MS);
	sums.left_ns = 1;
	add_sums(sums, 14 * MS);
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	assert_true(heard.asleep_ns <= 15 * MS);
}

/* ---- those who pair switches themselves ---------------------------------------------------------- */

static void on_span(void *spans, const struct tapir_offcpu_span *span)
{
	struct tapir_offcpu_span *last = spans;

	*last = *span;
}

static void a_whole_wait_is_one_span(void **state)
{
	const struct tapir_offcpu_fns offcpu_fns = {.on_span = on_span};
	struct tapir_offcpu_span span = {};
	struct tapir_offcpu *o = tapir_offcpu__new(&offcpu_fns, &span);
	struct {
		struct tapir_rec_switch sw;
		struct tapir_switch_wait wait;
	} whole = {.sw = {.out_tgid = 100,
			  .out_tid = 5,
			  .in_tgid = 100,
			  .in_tid = 5,
			  .in_wake_ns = 7 * MS,
			  .out_state = TAPIR_STATE_SLEEPING,
			  .flags = TAPIR_SWITCH_WAITED},
		   .wait = {.since_ns = 2 * MS}};

	(void)state;
	assert_non_null(o);
	tapir_rec__init(&whole.sw.h, TAPIR_REC_SWITCH, sizeof(whole), 8 * MS);
	assert_int_equal(tapir_offcpu__add(o, &whole.sw.h, NULL, NULL), 0);
	assert_int_equal(tapir_offcpu__finish(o), 0);
	assert_int_equal(span.from_ns, 2 * MS);
	assert_int_equal(span.wake_ns, 7 * MS);
	assert_int_equal(span.until_ns, 8 * MS);
	assert_int_equal(tapir_offcpu__stats(o)->unpaired, 0);
	tapir_offcpu__free(o);
}

/* ---- views ------------------------------------------------------------------------------------- */

static void a_view_of_waits_says_that_short_ones_are_summed(void **state)
{
	struct tapir_rec_waits sums = sums_of(5, 0, 3 * MS);

	(void)state;
	feeder_thread(&f, 5, "worker");
	ask("offcpu", 0);
	add_wait(5, 1 * MS, 5 * MS, 5 * MS, 0);
	sums.cnt[TAPIR_WAIT_RUNNABLE] = 4;
	sums.ns[TAPIR_WAIT_RUNNABLE] = 5000;
	add_sums(sums, 10 * MS);
	assert_int_equal(answer(), 0);
	tapir_view__note_sums(view, f.tl, &result);
	assert_non_null(strstr(result.notes.data[result.notes.cnt - 1],
			       "waits below 1 ms are summed: 4, with 0 ns asleep and 5.0 us"));
}

static void processes_have_the_time_of_their_sums(void **state)
{
	const struct tapir_view_result_table *t;

	(void)state;
	feeder_thread(&f, 5, "worker");
	ask("processes", 0);
	add_wait(5, 1 * MS, 5 * MS, 5 * MS, 0);
	add_sums(sums_of(5, 0, 3 * MS), 10 * MS);
	assert_int_equal(answer(), 0);
	t = table("processes", 0);
	assert_int_equal(cell(t, 0, "cpu_ns")->u64, 3 * MS);
	assert_int_equal(fact("cpu_ns"), 3 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(last_sums_of_a_thread_are_written_once),
		cmocka_unit_test_setup_teardown(whole_waits_and_sums_make_up_the_time, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_wait_that_has_not_ended_is_known_by_the_sums,
						setup, teardown),
		cmocka_unit_test_setup_teardown(sums_of_an_ended_thread_count_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(hostile_waits_are_taken_as_they_are, setup,
						teardown),
		cmocka_unit_test(a_whole_wait_is_one_span),
		cmocka_unit_test_setup_teardown(a_view_of_waits_says_that_short_ones_are_summed,
						setup, teardown),
		cmocka_unit_test_setup_teardown(processes_have_the_time_of_their_sums, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
