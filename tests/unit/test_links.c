// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One program on sites of this very file, by each of the two ways: semaphores are the kernel's
 * to raise and drop, and what cannot be attached is reported. Needs root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/links.h"
#include "attach/programs.h"
#include "attach/sums.h"
#include "base/diag.h"
#include "elf/image.h"
#include "elf/notes.h"
#include "may_trace.h"
#include "tapir/usdt.h"

TAPIR_PROBE_DEFINE_SEMAPHORE(tapir_link, first);
TAPIR_PROBE_DEFINE_SEMAPHORE(tapir_link, second);

static __attribute__((noinline)) void fire_first(int value)
{
	TAPIR_PROBE_SEM(tapir_link, first, value);
}

static __attribute__((noinline)) void fire_second(int value)
{
	TAPIR_PROBE_SEM(tapir_link, second, value);
}

static void fire(int value)
{
	fire_first(value);
	fire_second(value);
}

static struct tapir_programs *programs;
static int link_fds[2] = {-1, -1};
static uint64_t offs[2], semaphore_offs[2];
static struct tapir_operand first_args[2];
static const uint64_t cookies[] = {1, 2};
static struct tapir_link_sites sites = {.file_fd = -1,
					.cnt = 2,
					.offs = offs,
					.semaphore_offs = semaphore_offs,
					.cookies = cookies};

static void find_sites(void)
{
	struct tapir_usdt_notes notes;
	const struct tapir_usdt_note *note;
	struct tapir_elf *elf;
	unsigned cnt = 0;

	assert_int_equal(tapir_elf__open_fd(sites.file_fd, &elf), 0);
	assert_true(tapir_usdt_notes__read(elf, &notes) >= 2);
	tapir_vec_for_each (note, &notes) {
		bool is_second = !strcmp(note->name, "second"); /* may stand first */

		if (strcmp(note->provider, "tapir_link") != 0)
			continue;
		offs[is_second] = note->site_off;
		semaphore_offs[is_second] = note->semaphore_off;
		first_args[is_second] = note->args[0];
		cnt++;
	}
	assert_int_equal(cnt, 2);
	tapir_usdt_notes__fini(&notes);
	tapir_elf__free(elf);
}

static int setup(void **state)
{
	(void)state;
	tapir_diag__clear();
	fire(1);
	sites.file_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	sites.cnt = 2;
	find_sites();
	return 0;
}

static void close_link(unsigned idx)
{
	if (link_fds[idx] >= 0)
		close(link_fds[idx]);
	link_fds[idx] = -1;
}

static int teardown(void **state)
{
	(void)state;
	close_link(0);
	close_link(1);
	close(sites.file_fd);
	tapir_programs__free(programs);
	programs = NULL;
	return 0;
}

static void load_with(const struct tapir_programs_opts *opts)
{
	if (!may_trace()) {
		print_message("skipped: loading BPF programs needs root\n");
		skip();
	}
	assert_int_equal(tapir_programs__load(opts, &programs), 0);
}

static int load(bool use_multi)
{
	const struct tapir_programs_opts opts = {
		.sz = sizeof(opts), .site_cap = 2, .ring_bytes = 4096, .use_multi = use_multi};

	load_with(&opts);
	return tapir_programs__usdt_fd(programs);
}

static void raised_are(unsigned first, unsigned second)
{
	assert_int_equal(*(volatile unsigned short *)&TAPIR_USDT_SEMAPHORE(tapir_link, first),
			 first);
	assert_int_equal(*(volatile unsigned short *)&TAPIR_USDT_SEMAPHORE(tapir_link, second),
			 second);
}

static void all_sites_are_on_by_one_link(void **state)
{
	int prog_fd = load(true);

	(void)state;
	raised_are(0, 0);
	link_fds[0] = tapir_link__multi(prog_fd, &sites, 0);
	assert_true(link_fds[0] >= 0);
	assert_true(fcntl(link_fds[0], F_GETFD) & FD_CLOEXEC);
	raised_are(1, 1);
	sites.cnt = 1;
	link_fds[1] = tapir_link__multi(prog_fd, &sites, 0);
	assert_true(link_fds[1] >= 0);
	raised_are(1, 1); /* the kernel counts sites that are on, not their tracers */
	close_link(0);
	raised_are(1, 0);
	close_link(1);
	raised_are(0, 0);
}

static void one_site_is_on_by_one_event(void **state)
{
	int prog_fd = load(false);

	(void)state;
	link_fds[0] = tapir_link__perf(prog_fd, &sites, 1, 0);
	assert_true(link_fds[0] >= 0);
	raised_are(0, 1);
	assert_true(fcntl(link_fds[0], F_GETFD) & FD_CLOEXEC);
	close_link(0);
	raised_are(0, 0);
}

/* Of this process alone; what follows adds up, or is nothing. */
#define QUESTION_OPTS(...)                                                                         \
	{                                                                                          \
		.sz = sizeof(struct tapir_programs_opts), .filter.use_tgids = 1, .site_cap = 2,    \
		.ring_bytes = 1 << 18, .use_multi = true, .with_questions = true, __VA_ARGS__      \
	}

/* Both sites are on, and the second one has the question. */
static void start_with(const struct tapir_programs_opts *opts,
		       const struct tapir_hit_question *question)
{
	load_with(opts);
	assert_int_equal(tapir_programs__add_tgid(programs, (uint32_t)getpid()), 0);
	for (uint32_t i = 1; i <= 2; i++) {
		struct tapir_site site = {.probe_id = i, .arg_cnt = 1};

		site.args[0] = (struct tapir_site_arg){.operand = first_args[i - 1],
						       .field_type = TAPIR_FIELD_INT};
		assert_int_equal(tapir_programs__set_site(programs, i, &site), 0);
	}
	assert_int_equal(tapir_programs__set_question(programs, 2, question), 0);
	link_fds[0] = tapir_link__multi(tapir_programs__usdt_fd(programs), &sites, 0);
	assert_true(link_fds[0] >= 0);
	tapir_programs__enable(programs, true);
}

/* The numbers of a hit decide before anything is recorded. */
static void hits_are_rejected_by_their_numbers(void **state)
{
	static const struct tapir_hit_question condition = {
		.term_cnt = 1,
		.terms[0] = {.compare = TAPIR_COMPARE_LT_SIGNED,
			     .yes = TAPIR_TERM_ACCEPT,
			     .no = TAPIR_TERM_REJECT,
			     .constant = (uint64_t)-2}};
	const struct tapir_programs_opts opts = QUESTION_OPTS();

	(void)state;
	start_with(&opts, &condition);
	for (int i = -10; i < 10; i++)
		fire(i);
	tapir_programs__enable(programs, false);
	assert_int_equal(tapir_programs__rejected(programs, 1), 0);
	assert_int_equal(tapir_programs__rejected(programs, 2), 12); /* -2 to 9 */
}

#define THREADS 4
#define ROUNDS	200

static void *fire_all(void *arg)
{
	(void)arg;
	for (int round = 0; round < ROUNDS; round++)
		for (int i = -10; i < 10; i++)
			fire(i);
	return NULL;
}

struct seen {
	unsigned row_cnt;
	uint64_t hits, steps;
	int64_t sum;
};

static void see_row(void *ctx, const struct tapir_sums_key *key, const struct tapir_sums_row *rows,
		    size_t stride, unsigned cpu_cnt)
{
	struct seen *seen = ctx;
	uint64_t cnt = 0;

	seen->row_cnt++;
	assert_int_equal(key->kinds[0],
			 (int64_t)key->parts[0] < 0 ? TAPIR_SUMS_INT : TAPIR_SUMS_UINT);
	for (unsigned i = 0; i < cpu_cnt; i++) {
		const struct tapir_sums_row *row = (const void *)((const char *)rows + i * stride);

		cnt += row->cnt;
		seen->sum += (int64_t)((row->columns[0].high << 32) + row->columns[0].low);
		seen->steps += row->columns[0].below;
	}
	assert_int_equal(cnt, THREADS * ROUNDS);
	seen->hits += cnt;
}

static void see_step(void *ctx, const struct tapir_sums_key *key, uint64_t cnt)
{
	struct seen *seen = ctx;

	assert_int_equal(key->step - 1, key->parts[0]); /* each of few values has a step */
	assert_int_equal(cnt, THREADS * ROUNDS);
	seen->steps += cnt;
}

/* Runs fn on four threads to its end. */
static void run_on_threads(void *(*fn)(void *))
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fn, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* Of four threads, by their value: nothing is recorded, and nothing is missing. */
static void hits_are_added_up_by_key(void **state)
{
	static const struct tapir_hit_question question = {
		.adds_up = 1,
		.needs_slots = 1,
		.value_slots = 1,
		.values[0] = {.is_signed = 1, .has_steps = 1},
		.keys[0] = {.source = TAPIR_HIT_SLOT, .is_signed = 1}};
	const struct tapir_programs_opts opts = QUESTION_OPTS(.sums = {.is_on = true,
								       .column_cnt = 1,
								       .key_cnt = 1,
								       .has_steps = true,
								       .table_bytes = 1 << 20});
	struct seen seen = {};
	const struct tapir_sums_sink sink = {.row = see_row, .step = see_step, .ctx = &seen};
	struct tapir_sums_state counted = {.unkeyed = 1};

	(void)state;
	start_with(&opts, &question);
	run_on_threads(fire_all);
	tapir_programs__enable(programs, false);
	assert_int_equal(tapir_sums__read(programs, &sink, &counted), 0);
	assert_int_equal(seen.row_cnt, 20);
	assert_int_equal(seen.hits, 20 * THREADS * ROUNDS);
	assert_int_equal(seen.steps, 20 * THREADS * ROUNDS);
	assert_int_equal(seen.sum, -10 * THREADS * ROUNDS);
	assert_int_equal(counted.unkeyed, 0);
}

struct totals {
	uint64_t rows, hits, steps;
	int64_t sum;
};

static void add_hits(void *ctx, const struct tapir_sums_key *key, const struct tapir_sums_row *rows,
		     size_t stride, unsigned cpu_cnt)
{
	struct totals *totals = ctx;

	(void)key;
	totals->rows++;
	for (unsigned i = 0; i < cpu_cnt; i++) {
		const struct tapir_sums_row *row = (const void *)((const char *)rows + i * stride);

		totals->hits += row->cnt;
		if (stride >= TAPIR_SUMS_ROW_BYTES(1))
			totals->sum +=
				(int64_t)((row->columns[0].high << 32) + row->columns[0].low);
	}
}

static void add_hits_of_step(void *ctx, const struct tapir_sums_key *key, uint64_t cnt)
{
	struct totals *totals = ctx;

	(void)key;
	totals->steps += cnt;
}

static struct totals totals_of(const struct tapir_programs_opts *opts,
			       const struct tapir_hit_question *question)
{
	struct totals totals = {};
	const struct tapir_sums_sink sink = {
		.row = add_hits, .step = add_hits_of_step, .ctx = &totals};
	struct tapir_sums_state counted = {.unkeyed = 1};
	uint64_t cnt = 0;

	start_with(opts, question);
	run_on_threads(fire_all);
	tapir_programs__enable(programs, false);
	assert_int_equal(tapir_sums__read(programs, &sink, &counted), 0);
	assert_int_equal(counted.unkeyed, 0);
	assert_int_equal(tapir_sums__count(programs, &cnt), 0);
	assert_int_equal(cnt, totals.hits);
	return totals;
}

/* Without keys a histogram has all hits, and no row counts them again. */
static void hits_are_counted_by_their_histogram(void **state)
{
	static const struct tapir_hit_question question = {
		.adds_up = 1,
		.needs_slots = 1,
		.value_slots = 1,
		.values[0] = {.is_signed = 1, .has_steps = 1}};
	const struct tapir_programs_opts opts = QUESTION_OPTS(.sums = {.is_on = true,
								       .column_cnt = 1,
								       .has_steps = true,
								       .table_bytes = 1 << 20});
	const struct totals totals = totals_of(&opts, &question);

	(void)state;
	assert_int_equal(totals.hits, 20 * THREADS * ROUNDS);
	assert_int_equal(totals.steps, 10 * THREADS * ROUNDS); /* 0 to 9 */
	assert_int_equal(totals.sum, -10 * THREADS * ROUNDS);
}

static void hits_are_counted_by_a_number(void **state)
{
	static const struct tapir_hit_question question = {
		.adds_up = 1,
		.needs_slots = 1,
		.keys[0] = {.source = TAPIR_HIT_SLOT, .is_signed = 1}};
	const struct tapir_programs_opts opts =
		QUESTION_OPTS(.sums = {.is_on = true, .key_cnt = 1, .table_bytes = 1 << 20});
	const struct totals totals = totals_of(&opts, &question);

	(void)state;
	assert_int_equal(totals.rows, 20);
	assert_int_equal(totals.hits, 20 * THREADS * ROUNDS);
}

/* ---- intervals ----------------------------------------------------------------------------- */

static struct tapir_hit_question pair_begin = {
	.adds_up = 1, .needs_slots = 1, .role = TAPIR_HIT_BEGIN, .keys[0] = {.is_signed = 1}};
static struct tapir_hit_question pair_end = {
	.adds_up = 1, .needs_slots = 1, .role = TAPIR_HIT_END, .value_slots = 1};

static void start_pairs(uint8_t scope)
{
	const struct tapir_programs_opts opts = QUESTION_OPTS(.sums = {.is_on = true,
								       .has_pairs = true,
								       .column_cnt = 1,
								       .key_cnt = 1,
								       .table_bytes = 1 << 20});

	pair_begin.scope = pair_end.scope = scope;
	start_with(&opts, &pair_end);
	assert_int_equal(tapir_programs__set_question(programs, 1, &pair_begin), 0);
}

struct paired {
	uint64_t cnts[16], hits; /* by the number of the begin */
};

static void see_pairs(void *ctx, const struct tapir_sums_key *key,
		      const struct tapir_sums_row *rows, size_t stride, unsigned cpu_cnt)
{
	struct paired *paired = ctx;
	uint64_t cnt = 0, sum = 0;

	for (unsigned i = 0; i < cpu_cnt; i++) {
		const struct tapir_sums_row *row = (const void *)((const char *)rows + i * stride);

		cnt += row->cnt;
		sum += row->columns[0].low;
	}
	assert_true(key->parts[0] < 16);
	assert_int_equal(sum, cnt * key->parts[0]); /* the value is the begin's, too */
	paired->cnts[key->parts[0]] = cnt;
	paired->hits += cnt;
}

static struct paired read_pairs(void)
{
	struct paired paired = {};
	const struct tapir_sums_sink sink = {.row = see_pairs, .step = see_step, .ctx = &paired};
	struct tapir_sums_state counted = {.undefined = 1};

	tapir_programs__enable(programs, false);
	assert_int_equal(tapir_sums__read(programs, &sink, &counted), 0);
	assert_int_equal(counted.undefined, 0);
	assert_int_equal(counted.unkeyed, 0);
	return paired;
}

/* Six begin in each other: four are kept, and the inner two are user space's, as are their ends. */
static void *nest(void *arg)
{
	(void)arg;
	for (int round = 0; round < ROUNDS; round++) {
		fire_second(9); /* of none */
		for (int i = 1; i <= 6; i++)
			fire_first(i);
		for (int i = 1; i <= 6; i++)
			fire_second(9);
		fire(7);
	}
	fire_first(8); /* and does not end */
	return NULL;
}

static void intervals_of_a_thread_end_from_the_innermost_on(void **state)
{
	struct paired paired;

	(void)state;
	start_pairs(TAPIR_HIT_OF_THREAD);
	run_on_threads(nest);
	paired = read_pairs();
	for (int i = 1; i <= 7; i++)
		assert_int_equal(paired.cnts[i], i == 5 || i == 6 ? 0 : THREADS * ROUNDS);
	assert_int_equal(paired.hits, 5 * THREADS * ROUNDS);
	assert_int_equal(tapir_programs__rejected(programs, 1), paired.hits + THREADS);
}

static void interval_that_never_nests_has_the_last_begin(void **state)
{
	struct paired paired;

	(void)state;
	start_pairs(TAPIR_HIT_OF_LAST);
	for (int i = 1; i <= 8; i++)
		fire_first(i);
	fire_second(9);
	fire_second(9);
	fire(3);
	paired = read_pairs();
	assert_int_equal(paired.cnts[8], 1);
	assert_int_equal(paired.cnts[3], 1);
	assert_int_equal(paired.hits, 2);
	assert_int_equal(tapir_programs__rejected(programs, 1), 9);
}

static void *begin_all(void *arg)
{
	(void)arg;
	for (int i = 0; i < 12; i++)
		fire_first(i);
	fire_first(5); /* again: the one before has not ended */
	return NULL;
}

static void interval_of_a_key_ends_on_any_thread(void **state)
{
	struct paired paired;
	pthread_t thread;

	(void)state;
	start_pairs(TAPIR_HIT_OF_KEY);
	assert_int_equal(pthread_create(&thread, NULL, begin_all, NULL), 0);
	pthread_join(thread, NULL);
	for (int i = 13; i >= 2; i--)
		fire_second(i);
	paired = read_pairs();
	for (int i = 0; i < 16; i++)
		assert_int_equal(paired.cnts[i], i >= 2 && i < 12);
	assert_int_equal(tapir_programs__rejected(programs, 1), 13);
}

/* The kernel closes a killed tracer's links, and with them goes the semaphore. */
static void semaphore_falls_when_the_tracer_is_killed(void **state)
{
	int prog_fd = load(true), fds[2];
	pid_t tracer;
	char byte;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	tracer = fork();
	if (tracer == 0) {
		if (tapir_link__multi(prog_fd, &sites, 0) < 0 || write(fds[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	close(fds[1]);
	raised_are(1, 1);
	kill(tracer, SIGKILL);
	assert_int_equal(waitpid(tracer, NULL, 0), tracer);
	for (int ms = 0; ms < 3000 && (TAPIR_PROBE_ENABLED(tapir_link, first) ||
				       TAPIR_PROBE_ENABLED(tapir_link, second));
	     ms += 10) /* one after the other */
		usleep(10 * 1000);
	raised_are(0, 0);
}

static void attaching_is_refused_with_a_line(bool use_multi, int expect)
{
	int prog_fd = programs ? tapir_programs__usdt_fd(programs) : load(use_multi);
	int err;

	tapir_diag__clear();
	err = use_multi ? tapir_link__multi(prog_fd, &sites, 0)
			: tapir_link__perf(prog_fd, &sites, 0, 0);
	if (expect)
		assert_int_equal(err, expect);
	assert_true(err < 0);
	assert_int_equal(tapir_diag__cnt(), 1);
	raised_are(0, 0);
}

static void attaching_fails_when_a_site_is_none(bool use_multi)
{
	uint64_t good = offs[0];
	int fd = sites.file_fd;

	offs[0] = UINT64_MAX / 2; /* behind the end of the file */
	attaching_is_refused_with_a_line(use_multi, 0);
	offs[0] = good;
	sites.file_fd = -1;
	attaching_is_refused_with_a_line(use_multi, -ENOENT);
	sites.file_fd = open("/proc/self", O_RDONLY | O_CLOEXEC); /* no file one could map */
	attaching_is_refused_with_a_line(use_multi, 0);
	close(sites.file_fd);
	sites.file_fd = fd;
}

static void link_fails_when_a_site_is_none(void **state)
{
	(void)state;
	attaching_fails_when_a_site_is_none(true);
}

static void event_fails_when_a_site_is_none(void **state)
{
	(void)state;
	attaching_fails_when_a_site_is_none(false);
}

static void attaching_fails_when_the_process_is_gone(void **state)
{
	int prog_fd = load(true);
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	assert_int_equal(tapir_link__multi(prog_fd, &sites, (uint32_t)child), -ESRCH);
	assert_int_equal(tapir_diag__cnt(), 1);
	assert_non_null(strstr(tapir_diag__line(0), "No such process"));
	raised_are(0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(all_sites_are_on_by_one_link),
		CASE(one_site_is_on_by_one_event),
		CASE(hits_are_rejected_by_their_numbers),
		CASE(hits_are_added_up_by_key),
		CASE(hits_are_counted_by_their_histogram),
		CASE(hits_are_counted_by_a_number),
		CASE(intervals_of_a_thread_end_from_the_innermost_on),
		CASE(interval_that_never_nests_has_the_last_begin),
		CASE(interval_of_a_key_ends_on_any_thread),
		CASE(semaphore_falls_when_the_tracer_is_killed),
		CASE(link_fails_when_a_site_is_none),
		CASE(event_fails_when_a_site_is_none),
		CASE(attaching_fails_when_the_process_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
