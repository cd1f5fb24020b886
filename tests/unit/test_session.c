// SPDX-License-Identifier: GPL-2.0-or-later
/* include/tapir/file_session.h: files that the process writes, read by tapir's own reader. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tapir/activity.h"
#include "tapir/file_session.h"
#include "trace/reader.h"

#define PROVIDER "Unit-Session"
#define FIRERS	 3
#define FIRED	 5000

TAPIR_EVENT(Sold, PROVIDER, "Sold", 7, 2, TAPIR_INFORMATIONAL, 0x1, (U32, Order), (UTF8, Customer));
TAPIR_EVENT(Closed, PROVIDER, "Closed", 8, 0, TAPIR_VERBOSE, 0x2);

static struct tapir_event *const events[] = {&Sold, &Closed};
static const struct tapir_selection all = {PROVIDER, NULL, NULL, 0, 0, {0}};
static char dir[64], path[96];
static struct tapir_provider *provider;

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/tapir-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/session.tapir", dir);
	return tapir_provider__new(PROVIDER, NULL, events, 2, NULL, &provider);
}

static int teardown(void **state)
{
	(void)state;
	tapir_provider__free(provider);
	unlink(path);
	return rmdir(dir) || tapir_library__fini();
}

struct contents {
	unsigned sold, closed, threads, processes, undescribed;
	uint64_t lost, orders, activities;
	struct tapir_reader_stats stats;
};

static void add_event(struct contents *c, const struct tapir_rec_event *e, uint32_t sold,
		      uint32_t closed)
{
	const uint8_t *payload = (const uint8_t *)(e + 1);
	uint32_t order;

	c->activities += !!(e->flags & TAPIR_EVENT_ACTIVITY);
	payload += tapir_event__optional_bytes(e->flags);
	if (e->probe_id == sold) {
		memcpy(&order, payload, sizeof(order));
		assert_int_equal(e->payload_bytes, 8);
		assert_string_equal((const char *)payload + 4, "Ann");
		c->orders += order;
		c->sold++;
	} else if (e->probe_id == closed) {
		c->closed++;
	} else {
		c->undescribed++;
	}
	assert_int_equal(e->tgid, getpid());
}

static struct contents read_file(const char *file)
{
	struct contents c = {.sold = 0};
	uint32_t sold = 0, closed = 0;
	const struct tapir_rec *rec;
	struct tapir_reader *r;

	assert_int_equal(tapir_reader__open(file, &r), 0);
	tapir_reader__deliver_descriptions(r, true);
	while (tapir_reader__next(r, &rec) == 1) {
		const struct tapir_rec_probe *p = (const void *)rec;

		if (rec->type == TAPIR_REC_PROBE) {
			assert_memory_equal(p + 1, PROVIDER, strlen(PROVIDER));
			*(p->event_id == 7 ? &sold : &closed) = p->probe_id;
		}
		c.threads += rec->type == TAPIR_REC_THREAD;
		c.processes += rec->type == TAPIR_REC_PROCESS;
		if (rec->type == TAPIR_REC_LOSS)
			c.lost += ((const struct tapir_rec_loss *)rec)->count;
		if (rec->type == TAPIR_REC_EVENT)
			add_event(&c, (const struct tapir_rec_event *)rec, sold, closed);
	}
	c.stats = *tapir_reader__stats(r);
	tapir_reader__close(r);
	assert_int_equal(c.stats.bad_chunks + c.stats.bytes_skipped, 0);
	assert_int_equal(c.undescribed, 0);
	return c;
}

static void *fire(void *unused)
{
	for (uint32_t i = 0; i < FIRED; i++)
		TAPIR_FIRE(Sold, i, "Ann");
	TAPIR_FIRE(Closed);
	return unused;
}

static void fire_by_threads(void)
{
	pthread_t threads[FIRERS];

	for (int i = 0; i < FIRERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fire, NULL), 0);
	for (int i = 0; i < FIRERS; i++)
		pthread_join(threads[i], NULL);
}

static void captured_and_lost_are_what_was_fired(void **state)
{
	struct tapir_session *s;
	struct contents c;
	struct stat st;

	(void)state;
	errno = 4711;
	assert_int_equal(tapir_session__to_file(path, &all, 1, NULL, &s), 0);
	fire_by_threads();
	assert_int_equal(tapir_session__close(s), 0);
	assert_int_equal(errno, 4711);
	TAPIR_FIRE(Closed); /* no session has it */
	c = read_file(path);
	assert_false(c.stats.is_truncated);
	assert_int_equal(c.sold + c.closed + c.lost, FIRERS * (FIRED + 1));
	if (!c.lost)
		assert_int_equal(c.orders, (uint64_t)FIRERS * FIRED * (FIRED - 1) / 2);
	assert_true(c.threads >= FIRERS && c.processes);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void selections_are_those_of_listeners(void **state)
{
	const struct tapir_selection quiet = {"Unit-*", NULL, NULL, 0x2, 0, {0}};
	struct tapir_session *s;
	struct contents c;

	(void)state;
	assert_int_equal(tapir_session__to_file(path, &quiet, 1, NULL, &s), 0);
	assert_false(TAPIR_EVENT_ENABLED(Sold));
	TAPIR_FIRE(Closed);
	assert_int_equal(tapir_session__close(s), 0);
	c = read_file(path);
	assert_int_equal(c.sold, 0);
	assert_int_equal(c.closed, 1);
}

static void a_limit_of_bytes_leaves_a_whole_file(void **state)
{
	const struct tapir_session_opts opts = {.size = sizeof(opts), .max_bytes = 20000};
	struct tapir_session *s;
	struct contents c;
	struct stat st;

	(void)state;
	assert_int_equal(tapir_session__to_file(path, &all, 1, &opts, &s), 0);
	fire_by_threads();
	assert_int_equal(tapir_session__close(s), -EFBIG);
	c = read_file(path);
	assert_false(c.stats.is_truncated);
	assert_true(c.sold > 100);
	assert_int_equal(c.sold + c.closed + c.lost, FIRERS * (FIRED + 1));
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size <= 20000);
}

/* A write fails, like on a full disk, and the events of it are counted. */
static void what_cannot_be_written_is_counted(void **state)
{
	struct rlimit before, small;
	struct tapir_session *s;
	struct contents c;
	int err;

	(void)state;
	assert_int_equal(tapir_session__to_file(path, &all, 1, NULL, &s), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 20000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0); /* then no assertion, which prints */
	fire_by_threads();
	err = tapir_session__close(s);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(err, -EFBIG);
	c = read_file(path);
	assert_false(c.stats.is_truncated);
	assert_int_equal(c.sold + c.closed + c.lost, FIRERS * (FIRED + 1));
}

/* The caller's thread would be the one that SIGXFSZ ends. */
static void where_no_file_may_be_written_there_is_none(void **state)
{
	struct rlimit before, none;
	struct tapir_session *s = NULL;
	struct stat st;
	int err;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	err = tapir_session__to_file(path, &all, 1, NULL, &s);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(err, -EFBIG);
	assert_null(s);
	assert_int_equal(stat(path, &st), -1);
}

static void what_is_there_is_not_touched(void **state)
{
	struct tapir_session *s = NULL;
	struct stat st;
	FILE *file = fopen(path, "w");

	(void)state;
	fputs("mine", file);
	fclose(file);
	assert_int_equal(tapir_session__to_file(path, &all, 1, NULL, &s), -EEXIST);
	assert_int_equal(tapir_session__to_file("/nowhere/at/all", &all, 1, NULL, &s), -ENOENT);
	assert_int_equal(tapir_session__to_file(path, NULL, 0, NULL, &s), -EEXIST);
	assert_int_equal(tapir_session__to_file(NULL, &all, 1, NULL, &s), -EINVAL);
	assert_null(s);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 4);
	unlink(path);
	assert_int_equal(tapir_session__to_file(path, NULL, 0, NULL, &s), -EINVAL);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(tapir_session__close(NULL), 0);
}

/* The session is the parent's: the file stays complete, and the child writes nothing to it. */
static void a_child_leaves_its_parents_file_alone(void **state)
{
	struct tapir_session *s;
	struct contents c;
	int status;
	pid_t pid;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip();
#endif
	assert_int_equal(tapir_session__to_file(path, &all, 1, NULL, &s), 0);
	TAPIR_FIRE(Closed);
	pid = fork();
	if (!pid) {
		TAPIR_FIRE(Closed);
		_exit(tapir_session__close(s) != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	TAPIR_FIRE(Closed);
	assert_int_equal(tapir_session__close(s), 0);
	c = read_file(path);
	assert_int_equal(c.closed, 2);
	assert_false(c.stats.is_truncated);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(captured_and_lost_are_what_was_fired),
		CASE(selections_are_those_of_listeners),
		CASE(a_limit_of_bytes_leaves_a_whole_file),
		CASE(what_cannot_be_written_is_counted),
		CASE(where_no_file_may_be_written_there_is_none),
		CASE(what_is_there_is_not_touched),
		CASE(a_child_leaves_its_parents_file_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
