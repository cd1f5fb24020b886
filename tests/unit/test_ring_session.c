// SPDX-License-Identifier: GPL-2.0-or-later
/* What SPECs ask of a process, and the sessions of its control file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "attach/rings/ring_select.h"
#include "attach/rings/ring_session.h"
#include "ring_maker.h"
#include "trace/recbuf.h"

static struct tapir_spec_list specs;
static struct tapir_ring_request ask;
static struct tapir_ring_selection *const selections = ask.all;
static struct tapir_recbuf recbuf;
static struct ring_maker maker;

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < specs.cnt; i++)
		tapir_spec__free(specs.data[i]);
	tapir_vec__fini(&specs);
	tapir_recbuf__fini(&recbuf);
	maker_close(&maker);
	return 0;
}

static void add_spec(const char *text)
{
	struct tapir_spec *spec;

	assert_int_equal(tapir_spec__parse(text, &spec), 0);
	assert_true(tapir_vec__push(&specs, spec));
}

static bool asks(const char *provider, const char *event, uint8_t level, uint64_t keywords)
{
	struct tapir_rec_probe fixed = {.level = level, .keywords = keywords};
	struct tapir_probe_view view;
	const struct tapir_rec *rec;

	tapir_rec__init(&fixed.h, TAPIR_REC_PROBE, sizeof(fixed), 1);
	rec = tapir_recbuf__probe(&recbuf, &fixed, tapir_sv__of(provider), tapir_sv__of(event),
				  tapir_sv__of("/bin/x"), tapir_sv__of(NULL), NULL, NULL, 0);
	assert_non_null(rec);
	tapir_probe_view__of(rec, &view);
	return tapir_ring_select__classify(&specs, TAPIR_SPEC_ZERO_IS_ALL, &view, NULL);
}

static void events_are_judged_by_name_level_and_keywords(void **state)
{
	static const struct {
		const char *spec, *provider, *event;
		uint8_t level;
		uint64_t keywords;
		bool asked;
	} cases[] = {
		{"prov", "prov", "any", 5, 8, true},
		{"prov", "Prov", "any", 0, 0, false},
		{"p*", "prov", "any", 5, 8, true},
		{"prov:gc*", "prov", "gc_begin", 0, 0, true},
		{"prov:gc*", "prov", "jit", 0, 0, false},
		{"prov:-gc*", "prov", "gc_begin", 0, 0, false},
		{"prov:-gc*", "prov", "jit", 0, 0, true},
		{"prov:0x3", "prov", "any", 0, 2, true},
		{"prov:0x3", "prov", "any", 0, 4, false},
		{"prov:0x3", "prov", "any", 0, 0, true},
		{"prov:0x3,-gc*", "prov", "gc_begin", 0, 2, false},
		{"prov:-0x4", "prov", "any", 0, 4, false},
		{"prov::4", "prov", "any", 5, 0, false},
		{"prov::4", "prov", "any", 4, 0, true},
		{"prov:kw=gc", "prov", "any", 0, 1, false},
		{"/bin/x:prov", "prov", "any", 0, 0, true},
		{"/bin/y:prov", "prov", "any", 0, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		teardown(NULL);
		add_spec(cases[i].spec);
		if (asks(cases[i].provider, cases[i].event, cases[i].level, cases[i].keywords) !=
		    cases[i].asked)
			fail_msg("%s on %s:%s", cases[i].spec, cases[i].provider, cases[i].event);
	}
}

static void a_spec_becomes_a_selection_an_item(void **state)
{
	(void)state;
	add_spec("My-*:gc*,0x30,-gc_end,kw=x:4:Key=Value;B=2");
	add_spec("p[ab]\\?q");
	assert_true(tapir_ring_select__fill(&specs, &ask));
	assert_int_equal(selections[0].used, 1);
	assert_string_equal(selections[0].provider, "My-*");
	assert_string_equal(selections[0].event, "gc*");
	assert_int_equal(selections[0].level, 4);
	assert_string_equal(tapir_ring_request__args(&ask, &selections[0]), "Key=Value;B=2");
	assert_int_equal(selections[1].keywords, 0x30);
	assert_string_equal(selections[1].event, "");
	assert_string_equal(selections[2].provider, "p??q");
	assert_int_equal(selections[2].level, 0);
	assert_int_equal(selections[3].used, 0);
}

#define LAST (TAPIR_RING_SELECTIONS - 1)

static void more_specs_than_selections_are_reported_and_long_globs_end_in_a_star(void **state)
{
	char text[300];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (unsigned i = 0; i < TAPIR_RING_SELECTIONS; i++)
		add_spec(text);
	assert_true(tapir_ring_select__fill(&specs, &ask));
	assert_int_equal(strlen(selections[LAST].provider), sizeof(selections[LAST].provider) - 1);
	assert_int_equal(selections[LAST].provider[sizeof(selections[LAST].provider) - 2], '*');
	add_spec("one-more");
	assert_true(tapir_ring_select__fill(&specs, &ask)); /* the same provider each time */
	teardown(NULL);
	for (unsigned i = 0; i < TAPIR_RING_SELECTIONS + 1; i++) {
		snprintf(text, sizeof(text), "provider%u:event", i);
		add_spec(text);
	}
	assert_false(tapir_ring_select__fill(&specs, &ask));
	snprintf(text, sizeof(text), "provider%u", LAST);
	assert_string_equal(selections[LAST].provider, text);
}

static void too_many_items_are_folded_by_provider_and_arguments(void **state)
{
	char text[64];

	(void)state;
	for (unsigned i = 0; i < TAPIR_RING_SELECTIONS + 4; i++) {
		snprintf(text, sizeof(text), "many:0x%x:%u", 1u << i % 20, 1 + i % 4);
		add_spec(text);
	}
	add_spec("many:ev=a::K=V");
	add_spec("few:gc*:4");
	add_spec("few:gc*");
	assert_true(tapir_ring_select__fill(&specs, &ask));
	assert_int_equal(selections[0].keywords, (1u << 20) - 1);
	assert_int_equal(selections[0].level, 4);
	assert_string_equal(tapir_ring_request__args(&ask, &selections[1]), "K=V");
	assert_string_equal(selections[1].event, "a");
	assert_string_equal(selections[2].event, "gc*"); /* the same in both */
	assert_int_equal(selections[2].level, 0);	 /* all levels are more than four */
	assert_int_equal(selections[3].used, 0);
}

/* ---- sessions --------------------------------------------------------------------------- */

static int open_ctl(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", maker.ctl_fd);
	return open(path, O_RDWR | O_CLOEXEC);
}

static int take(struct tapir_ring_control *c, int fd)
{
	struct tapir_ring_session_opts opts = {
		.sz = sizeof(opts), .request = &ask, .session_id = 5, .with_stack = true};

	return tapir_ring_control__take(c, fd, &opts);
}

static void there_are_eight_sessions_and_a_closed_one_is_free_again(void **state)
{
	struct tapir_ring_control c[TAPIR_RING_SESSIONS + 1];
	int fds[TAPIR_RING_SESSIONS + 1];

	(void)state;
	assert_true(maker_open(&maker, 1));
	for (unsigned i = 0; i <= TAPIR_RING_SESSIONS; i++)
		fds[i] = open_ctl();
	for (unsigned i = 0; i < TAPIR_RING_SESSIONS; i++) {
		assert_int_equal(take(&c[i], fds[i]), 0);
		assert_int_equal(c[i].session, i);
	}
	assert_int_equal(take(&c[8], fds[8]), -EBUSY);
	assert_null(c[8].map);
	tapir_ring_control__close(&c[3]);
	assert_int_equal(take(&c[8], fds[8]), 0);
	assert_int_equal(c[8].session, 3);
	for (unsigned i = 0; i <= TAPIR_RING_SESSIONS; i++) {
		tapir_ring_control__close(&c[i]);
		tapir_ring_control__close(&c[i]); /* twice is fine */
		close(fds[i]);
	}
}

static unsigned fill_cnt;

static void check_state(void *ctx)
{
	struct tapir_ring_control *c = ctx;

	assert_int_equal(maker.ctl->sessions[0].state,
			 fill_cnt ? TAPIR_RING_OPEN : TAPIR_RING_OPENING);
	tapir_ring_control__set_tail(c, 7, 100 + fill_cnt++);
}

static void a_session_opens_in_the_order_of_the_page(void **state)
{
	struct tapir_ring_control c;
	int fd;

	(void)state;
	fill_cnt = 0;
	add_spec("prov:x");
	tapir_ring_select__fill(&specs, &ask);
	assert_true(maker_open(&maker, 1));
	maker.ctl->words[9] = UINT64_MAX; /* left by a dead owner, and by others */
	maker.ctl->sessions[0].state = TAPIR_RING_OPEN;
	fd = open_ctl();
	assert_int_equal(take(&c, fd), 0);
	assert_int_equal(maker.ctl->words[9], ~TAPIR_RING_SESSION_BITS(0));
	assert_int_equal(maker.ctl->sessions[0].tracer_tgid, getpid());
	assert_string_equal(maker.ctl->selections[0][0].event, "x");
	assert_int_equal(maker.ctl->sessions[0].flags, TAPIR_RING_WANTS_STACKS);
	tapir_ring_control__open(&c, check_state, &c);
	assert_int_equal(fill_cnt, 2);
	assert_int_equal(maker.ctl->tails[7][0], 101);
	assert_int_equal(maker.ctl->epoch, 1);
	maker.ctl->words[4] = 7ull << TAPIR_RING_GENERATION_SHIFT;
	tapir_ring_control__want(&c, 4, 7, true, true);
	assert_int_equal(maker.ctl->words[4], 0x0007000100010000);
	tapir_ring_control__want(&c, 4, 7, true, false); /* its stacks tell nothing */
	assert_int_equal(maker.ctl->words[4], 0x0007000000010000);
	tapir_ring_control__want(&c, 4, 7, true, true);
	tapir_ring_control__want(&c, 4, 6, false, false); /* it has changed hands */
	assert_int_equal(maker.ctl->words[4], 0x0007000100010000);
	tapir_ring_control__want(&c, 4, 7, false, false);
	assert_int_equal(maker.ctl->words[4], 0x0007000000000000);
	tapir_ring_control__want(&c, 4, 8, true, true);
	assert_int_equal(maker.ctl->words[4], 0x0007000000000000);
	assert_false(tapir_ring_control__is_ended(&c));
	maker.ctl->sessions[0].state = TAPIR_RING_ENDED;
	assert_true(tapir_ring_control__is_ended(&c));
	tapir_ring_control__close(&c);
	assert_int_equal(maker.ctl->sessions[0].state, TAPIR_RING_FREE);
	close(fd);
}

static atomic_bool was_woken;

static void *sleep_on_generation(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&maker.ctl->generation, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &maker.ctl->generation, FUTEX_WAIT, 0, NULL, NULL, 0);
	atomic_store(&was_woken, true);
	return NULL;
}

static void who_waits_for_sessions_is_woken(void **state)
{
	struct tapir_ring_control c;
	pthread_t sleeper;
	int fd;

	(void)state;
	assert_true(maker_open(&maker, 1));
	fd = open_ctl();
	assert_int_equal(take(&c, fd), 0);
	pthread_create(&sleeper, NULL, sleep_on_generation, NULL);
	usleep(50000);
	assert_false(atomic_load(&was_woken));
	tapir_ring_control__announce(&c);
	pthread_join(sleeper, NULL);
	tapir_ring_control__close(&c);
	close(fd);
}

/* A tracer with a child that has closed all its descriptors, and stays. Returns the tracer. */
static pid_t start_tracer(int *ready_fd)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		struct tapir_ring_control c;

		if (take(&c, open_ctl()))
			_exit(1);
		if (!fork()) {
			pid = getpid();
			dup2(ends[1], 3);
			syscall(SYS_close_range, 4u, ~0u, 0u);
			(void)!write(3, &pid, sizeof(pid));
			alarm(30);
			pause();
		}
		pause();
	}
	close(ends[1]);
	*ready_fd = ends[0];
	return pid;
}

static bool is_owned(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

	assert_int_equal(fcntl(fd, F_OFD_GETLK, &lock), 0);
	return lock.l_type != F_UNLCK;
}

static void session_of_a_killed_tracer_is_free_though_a_child_of_it_lives(void **state)
{
	int ready_fd, fd, status;
	pid_t pid, child;

	(void)state;
	assert_true(maker_open(&maker, 1));
	fd = open_ctl();
	pid = start_tracer(&ready_fd);
	assert_int_equal(read(ready_fd, &child, sizeof(child)), sizeof(child));
	assert_true(is_owned(fd));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(kill(child, 0), 0);
	assert_false(is_owned(fd));
	kill(child, SIGKILL);
	close(ready_fd);
	close(fd);
}

#define T(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(events_are_judged_by_name_level_and_keywords),
		T(a_spec_becomes_a_selection_an_item),
		T(more_specs_than_selections_are_reported_and_long_globs_end_in_a_star),
		T(too_many_items_are_folded_by_provider_and_arguments),
		T(there_are_eight_sessions_and_a_closed_one_is_free_again),
		T(a_session_opens_in_the_order_of_the_page),
		T(who_waits_for_sessions_is_woken),
		T(session_of_a_killed_tracer_is_free_though_a_child_of_it_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
