// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random recordings: whatever is in one, what leads the report and what its views say agree,
 * percentiles are in order, and parts add up to the whole.
 *
 * runtimes: dotnet
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/view.h"
#include "finding_fixture.h"

#define RECORDINGS 150
#define RECORDS	   400
#define THREADS	   6
#define WORKERS	   3 /* of them, of the pool */
#define FLOWS	   4

static uint64_t seed;

static uint64_t below(uint64_t limit)
{
	seed = tapir_hash__mix(seed, 0x9e3779b97f4a7c15ull);
	return seed % limit;
}

/* ---- a recording ----------------------------------------------------------------------------- */

static bool is_out[THREADS], is_blocked[THREADS], is_asked[FLOWS];
static unsigned gc_cnt;
static bool is_paused, is_collecting;

static const char *what_collection(void)
{
	static const char *const labels[] = {
		"0 AllocSmall NonConcurrentGC", "1 AllocSmall NonConcurrentGC",
		"2 AllocLarge NonConcurrentGC", "2 AllocLarge BackgroundGC",
		"2 Induced NonConcurrentGC"};

	return labels[below(5)];
}

static void fire_gc(uint64_t time_ns)
{
	if (!is_paused && below(2)) {
		fire(PAUSE, time_ns, 0, NULL, 0);
		is_paused = true;
	} else if (is_paused && below(2)) {
		fire(GOES_ON, time_ns, 0, NULL, 0);
		is_paused = false;
	} else if (!is_collecting) {
		fire(GC_START, time_ns, ++gc_cnt, what_collection(), 0);
		is_collecting = true;
	} else {
		fire(GC_END, time_ns, gc_cnt, NULL, 0);
		is_collecting = false;
	}
}

static void fire_lock(uint32_t idx, uint64_t time_ns)
{
	fire_on(is_blocked[idx] ? ENTERED : BLOCKED, 10 + idx, time_ns, below(20),
		below(2) ? "0xa" : "0xb", 2 + below(2));
	is_blocked[idx] = !is_blocked[idx];
}

static void switch_thread(uint32_t idx, uint64_t time_ns)
{
	uint64_t wake_ns = time_ns - below(MS);

	if (is_out[idx])
		feeder_come(&f, 10 + idx, time_ns, wake_ns, 10 + (uint32_t)below(THREADS));
	else
		feeder_switch(
			&f, time_ns,
			(struct tapir_rec_switch){.out_tgid = TGID,
						  .out_tid = 10 + idx,
						  .out_state = below(4) ? TAPIR_STATE_SLEEPING : 0,
						  .out_stack_id = 1 + below(7)});
	is_out[idx] = !is_out[idx];
}

/* A flow is open or not, whichever thread goes on with it. */
static void fire_order(uint32_t idx, uint64_t time_ns)
{
	uint8_t flow = (uint8_t)below(FLOWS);
	const uint8_t id[16] = {7, flow};

	feeder_event(&f, (struct feeder_event){.probe_id = is_asked[flow] ? ASKED : ASK,
					       .tgid = TGID,
					       .tid = 10 + idx,
					       .time_ns = time_ns,
					       .number = flow,
					       .has_number = true,
					       .activity = id});
	is_asked[flow] = !is_asked[flow];
}

static void fire_pool(uint32_t idx, uint64_t time_ns)
{
	static const char *const reasons[] = {"CooperativeBlocking", "Starvation", "ClimbingMove"};

	if (below(4))
		fire_on(POOL_IDLE, 10 + idx % WORKERS, time_ns, 3, NULL, 0);
	else
		fire_on(POOL_GREW, 10 + idx, time_ns, 1 + below(20), reasons[below(3)], 0);
}

static void add_record(uint64_t time_ns)
{
	uint32_t idx = (uint32_t)below(THREADS);

	switch (below(9)) {
	case 0:
		fire_gc(time_ns);
		break;
	case 1:
		fire_lock(idx, time_ns);
		break;
	case 2:
		fire_on(THROWN, 10 + idx, time_ns, 0, below(3) ? "Shop.SoldOut" : "Shop.Late",
			1 + below(3));
		break;
	case 3:
		fire_on(METHOD_LOADED, 10 + idx, time_ns, below(2), below(2) ? "Draw7" : "Price",
			1 + below(3));
		break;
	case 5:
		fire_order(idx, time_ns);
		break;
	case 6:
		fire_pool(idx, time_ns);
		break;
	case 4:
		sample(10 + idx, time_ns, 1, 1 + below(7));
		break;
	default:
		switch_thread(idx, time_ns);
	}
}

/* ---- what is reported ---------------------------------------------------------------------- */

static const struct tapir_view *const views[] = {
	&tapir_view_gc,	    &tapir_view_contention, &tapir_view_exceptions, &tapir_view_jit,
	&tapir_view_offcpu, &tapir_view_threadpool, &tapir_view_cpu,	    &tapir_view_slow};
enum { GC, LOCKS, EXCEPTIONS, JIT, OFFCPU, POOL, CPU, SLOW };

#define VIEWS (sizeof(views) / sizeof(*views))

static struct tapir_view_result results[VIEWS];
static void *contexts[VIEWS];

static uint64_t fact(unsigned view, const char *key)
{
	for (size_t i = 0; i < results[view].facts.cnt; i++)
		if (!strcmp(results[view].facts.data[i].column.key, key))
			return results[view].facts.data[i].cell.u64;
	return 0;
}

/* The sum of a column of one of its tables. */
static uint64_t sum_of(unsigned view, const char *table, const char *column)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < results[view].tables.cnt; i++) {
		const struct tapir_view_result_table *t = &results[view].tables.data[i];

		for (unsigned c = 0; !strcmp(t->key, table) && c < t->column_cnt; c++)
			for (size_t row = 0; !strcmp(t->columns[c].key, column) &&
					     row < tapir_view_result_table__rows(t);
			     row++)
				sum += t->cells.data[row * t->column_cnt + c].u64;
	}
	return sum;
}

/* Parts of an interval are its whole. */
static void on_interval(void *ctx, struct tapir_interval *i)
{
	uint64_t sum = 0;

	(void)ctx;
	for (unsigned c = 0; c < TAPIR_CAUSE_CNT; c++)
		sum += tapir_time_breakdown__sum(&i->parts, c);
	assert_true(i->until_ns >= i->from_ns);
	assert_int_equal(sum, i->until_ns - i->from_ns);
}

static const struct tapir_timeline_fns interval_fns = {.close = on_interval};

/* Of the only process. */
static const struct tapir_collector *collector(void)
{
	static const struct tapir_collector none;

	assert_true(finding.gc.processes.cnt <= 1);
	return finding.gc.processes.cnt ? finding.gc.processes.data : &none;
}

static void collections_agree(void)
{
	uint64_t p50 = fact(GC, "p50_ns"), p90 = fact(GC, "p90_ns"), p99 = fact(GC, "p99_ns");

	assert_int_equal(fact(GC, "count"), collector()->cnt);
	assert_int_equal(fact(GC, "sum_ns"), collector()->ns);
	assert_int_equal(fact(GC, "collections"), collector()->dotnet_cnt);
	assert_int_equal(fact(GC, "gen2"), collector()->dotnet_gen2_cnt);
	assert_int_equal(fact(GC, "background"), collector()->background_cnt);
	assert_int_equal(collector()->dotnet_cnt, collector()->started_cnt);
	assert_true(p50 <= p90 && p90 <= p99 && p99 <= collector()->worst_ns);
}

static void locks_agree(void)
{
	assert_int_equal(fact(LOCKS, "waited_ns"), finding.locks.ns);
	assert_int_equal(fact(LOCKS, "count"), finding.locks.cnt);
	assert_int_equal(sum_of(LOCKS, "locks", "ns"), finding.locks.ns);
	assert_int_equal(sum_of(LOCKS, "locks", "count"), finding.locks.cnt);
}

static void counts_agree(void)
{
	assert_int_equal(fact(EXCEPTIONS, "count"), finding.exceptions.cnt);
	assert_int_equal(sum_of(EXCEPTIONS, "exceptions", "count"), finding.exceptions.cnt);
	assert_int_equal(sum_of(EXCEPTIONS, "stacks", "count"), finding.exceptions.cnt);
	assert_int_equal(sum_of(EXCEPTIONS, "messages", "count"), finding.exceptions.cnt);
	assert_int_equal(fact(JIT, "loaded"), finding.jit.cnt);
	assert_int_equal(sum_of(JIT, "groups", "count"), finding.jit.cnt);
	assert_int_equal(sum_of(OFFCPU, "waits", "ns"), fact(OFFCPU, "waited_ns"));
	assert_int_equal(sum_of(OFFCPU, "waits", "ready_ns"), fact(OFFCPU, "ready_ns"));
	assert_true(fact(OFFCPU, "ready_ns") <= fact(OFFCPU, "waited_ns"));
}

static void pool_agrees(void)
{
	const struct tapir_pool_waits *waits = &finding.pool.waits;

	assert_int_equal(fact(POOL, "starved"), finding.pool.starved_cnt);
	assert_int_equal(fact(POOL, "idle_ns"), waits->idle_ns);
	assert_int_equal(fact(POOL, "blocked_ns"),
			 waits->blocked_ns + (finding.pool.starved_cnt ? waits->unbegun_ns : 0));
	assert_int_equal(sum_of(POOL, "blocked", "ns"), fact(POOL, "blocked_ns"));
}

static void samples_agree(void)
{
	assert_int_equal(fact(CPU, "samples"), finding.cpu.samples);
	assert_int_equal(sum_of(CPU, "works", "samples"), finding.cpu.samples);
	assert_int_equal(sum_of(CPU, "threads", "samples"), finding.cpu.samples);
	assert_int_equal(sum_of(CPU, "functions", "samples") + fact(CPU, "without_stack"),
			 finding.cpu.samples);
}

static void requests_agree(void)
{
	const struct tapir_request_kind *row =
		finding.requests.cnt ? &finding.requests.data[0] : NULL;

	if (!row)
		return;
	assert_int_equal(finding.requests.cnt, 1);
	assert_int_equal(fact(SLOW, "count"), row->took.cnt);
	assert_int_equal(fact(SLOW, "sum_ns"), row->sum_ns);
	assert_int_equal(sum_of(SLOW, "all", "ns"), row->sum_ns);
	assert_int_equal(sum_of(SLOW, "parts", "ns"), sum_of(SLOW, "slowest", "ns"));
	assert_true(fact(SLOW, "p50_ns") <= fact(SLOW, "p99_ns"));
	assert_true(fact(SLOW, "p99_ns") <= row->worst_ns);
}

/* The worst first, each within its kind's bounds. */
static void findings_are_ranked(void)
{
	for (size_t i = 0; i < found.rows.cnt; i++) {
		const struct tapir_finding *one = &found.rows.data[i];

		assert_true(tapir_finding__exceeds_threshold(one->kind, one->magnitude));
		assert_true(one->severity >= 0 && one->severity <= 100);
		assert_true(!i || found.rows.data[i - 1].severity >= one->severity);
		assert_non_null(one->text);
	}
}

static void record_something(void)
{
	uint64_t time_ns = MS;

	memset(is_out, 0, sizeof(is_out));
	memset(is_blocked, 0, sizeof(is_blocked));
	memset(is_asked, 0, sizeof(is_asked));
	for (uint32_t worker = 0; worker < WORKERS; worker++)
		feeder_thread(&f, 10 + worker, ".NET TP Worker");
	is_paused = is_collecting = false;
	gc_cnt = 0;
	for (unsigned i = 0; i < RECORDS; i++) {
		time_ns += 1 + below(3 * MS);
		add_record(time_ns);
	}
	fire(TICK, time_ns + MS, 0, "Object", 0);
}

static bool has_orders(void)
{
	const struct tapir_interval_kind *kind;

	tapir_vec_for_each (kind, &f.pairs.kinds)
		if (!strcmp(kind->name, "Order"))
			return kind->cnt + kind->unbegun + kind->unended;
	return false;
}

static void check_one(void)
{
	finding.has_clock = below(2);
	for (unsigned v = 0; v < VIEWS; v++) {
		results[v] = (struct tapir_view_result){.top = UINT32_MAX};
		contexts[v] = tapir_view__start(views[v], f.tl,
						v == SLOW ? "Shop-Orders:Order" : "", UINT32_MAX);
		assert_non_null(contexts[v]);
		assert_int_equal(tapir_timeline__listen(f.tl, &views[v]->fns, contexts[v]), 0);
	}
	assert_int_equal(tapir_timeline__listen(f.tl, &interval_fns, NULL), 0);
	record_something();
	finding_text(0);
	for (unsigned v = 0; v < VIEWS; v++) {
		results[v].tree = tapir_timeline__stacks(f.tl);
		/* Without a request there is nothing to show. */
		assert_int_equal(tapir_view__finish(views[v], contexts[v], &results[v]),
				 v == SLOW && !has_orders() ? -ENOENT : 0);
		assert_false(results[v].failed);
	}
	collections_agree();
	locks_agree();
	counts_agree();
	pool_agrees();
	samples_agree();
	requests_agree();
	findings_are_ranked();
	for (unsigned v = 0; v < VIEWS; v++) {
		tapir_view__free(views[v], contexts[v]);
		tapir_view_result__fini(&results[v]);
	}
}

static void headline_and_views_of_random_recordings_agree(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < RECORDINGS; i++) {
		seed = i;
		if (i)
			assert_int_equal(setup(NULL), 0);
		check_one();
		if (i + 1 < RECORDINGS)
			finding_teardown(NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(headline_and_views_of_random_recordings_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
