// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing when the disk is full, the pipe closed, the limit reached, the path bad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "tapir/trace_format.h"
#include "trace_sample.h"

static char dir[64], path[96];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/tapir-test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/t.tapir", dir);
	tapir_diag__clear();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static struct tapir_writer_opts opts(void)
{
	return (struct tapir_writer_opts){
		.sz = sizeof(struct tapir_writer_opts), .path = path, .plain = true};
}

/* Puts events of 64 KB until one fails (at most 1,000). The error; *put: how many were put. */
static int put_until_failure(struct tapir_writer *w, unsigned *put)
{
	static uint64_t room[8192];
	struct tapir_rec_event *ev = (struct tapir_rec_event *)room;
	int err = 0;

	tapir_rec__init(&ev->h, TAPIR_REC_EVENT, sizeof(room), 5);
	for (*put = 0; !err && *put < 1000; (*put)++)
		err = tapir_writer__put(w, &ev->h);
	return err;
}

/* Reads the file: events it holds, and the count of the LOSS record in it. */
static unsigned read_events(uint64_t *lost, struct tapir_reader_stats *stats)
{
	const struct tapir_rec *rec;
	struct tapir_reader *r;
	unsigned events = 0;

	*lost = 0;
	assert_int_equal(tapir_reader__open(path, &r), 0);
	while (tapir_reader__next(r, &rec) == 1) {
		events += rec->type == TAPIR_REC_EVENT;
		if (rec->type == TAPIR_REC_LOSS)
			*lost += ((const struct tapir_rec_loss *)rec)->count;
	}
	*stats = *tapir_reader__stats(r);
	tapir_reader__close(r);
	return events;
}

/* After a failed write: told once, the rest counted, the file whole and saying what it lacks. */
static void assert_failure_is_survived(struct tapir_writer *w, int want_err)
{
	struct tapir_rec_loss loss = {.cause = TAPIR_LOSS_DISK};
	struct tapir_reader_stats stats;
	unsigned put, events;
	uint64_t lost;

	assert_int_equal(put_until_failure(w, &put), want_err);
	assert_true(tapir_diag__cnt() == 1);
	assert_int_equal(put_until_failure(w, &events), 0); /* told once */
	put += events;
	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), 6);
	loss.count = tapir_writer__lost(w, TAPIR_REC_EVENT);
	assert_int_equal(tapir_writer__put(w, &loss.h), 0);
	assert_int_equal(tapir_writer__close(w), want_err);
	tapir_writer__free(w);
	events = read_events(&lost, &stats);
	assert_int_equal(stats.bad_chunks + stats.bytes_skipped, 0);
	assert_int_equal(lost, loss.count);
	assert_int_equal(events + lost, put);
	assert_false(stats.is_truncated);
}

static void file_stays_whole_when_size_limit_is_reached(void **state)
{
	struct tapir_writer_opts o = opts();
	struct tapir_writer *w;
	struct stat st;

	(void)state;
	o.max_bytes = 3 << 20;
	assert_int_equal(tapir_writer__open(&o, &w), 0);
	assert_failure_is_survived(w, -EFBIG);
	assert_int_equal(stat(path, &st), 0);
	assert_true((uint64_t)st.st_size <= o.max_bytes);
	assert_true(st.st_size > 2 << 20);
}

static void file_stays_whole_when_rlimit_cuts_a_chunk(void **state)
{
	struct rlimit before, limit;
	struct tapir_writer_opts o = opts();
	struct tapir_writer *w;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = (3 << 20) + 4321;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(tapir_writer__open(&o, &w), 0);
	assert_failure_is_survived(w, -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

static void file_stays_whole_when_disk_is_full(void **state)
{
	struct tapir_writer_opts o = opts();
	struct tapir_writer *w;

	(void)state;
	if (mount("tmpfs", dir, "tmpfs", 0, "size=3300k"))
		skip();
	if (tapir_writer__open(&o, &w) == 0)
		assert_failure_is_survived(w, -ENOSPC);
	assert_int_equal(umount(dir), 0);
}

static void closed_pipe_is_reported_once(void **state)
{
	struct tapir_writer_opts o = opts();
	struct tapir_writer *w;
	unsigned put;
	int fds[2], saved = dup(STDOUT_FILENO);

	(void)state;
	assert_int_equal(pipe(fds), 0);
	fflush(stdout);
	dup2(fds[1], STDOUT_FILENO);
	close(fds[1]);
	o.path = "-";
	assert_int_equal(tapir_writer__open(&o, &w), 0);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(fds[0]);
	assert_int_equal(put_until_failure(w, &put), -EPIPE);
	assert_int_equal(tapir_writer__flush(w), 0);
	assert_int_equal(tapir_writer__close(w), -EPIPE);
	assert_int_equal(tapir_diag__cnt(), 1);
	tapir_writer__free(w);
}

/* A child writes to stdout, this process reads the pipe as stdin. */
static void recording_goes_through_a_pipe(void **state)
{
	struct tapir_reader *r;
	const struct tapir_rec *rec;
	int fds[2], status, saved = dup(STDIN_FILENO), events = 0;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	fflush(stdout);
	child = fork();
	if (!child) {
		struct tapir_writer_opts o = {.sz = sizeof(o), .path = "-"};

		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		close(fds[1]);
		_exit(sample_write(&o, 3) ? 1 : 0);
	}
	close(fds[1]);
	dup2(fds[0], STDIN_FILENO);
	close(fds[0]);
	assert_int_equal(tapir_reader__open("-", &r), 0);
	dup2(saved, STDIN_FILENO);
	close(saved);
	while (tapir_reader__next(r, &rec) == 1)
		events += rec->type == TAPIR_REC_EVENT;
	assert_int_equal(events, 3 * SAMPLE_EVENT_CNT);
	assert_false(tapir_reader__stats(r)->is_truncated);
	tapir_reader__close(r);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void unusable_paths_are_refused_with_a_line(void **state)
{
	struct tapir_writer_opts o = opts();
	struct tapir_writer *w = NULL;

	(void)state;
	o.path = "/nonexistent/dir/x.tapir";
	assert_int_equal(tapir_writer__open(&o, &w), -ENOENT);
	o.path = dir;
	assert_true(tapir_writer__open(&o, &w) < 0);
	assert_int_equal(tapir_diag__cnt(), 2);
	assert_null(w);
	if (geteuid() == 0)
		return;
	o.path = "/proc/x.tapir";
	assert_true(tapir_writer__open(&o, &w) < 0);
}

static void existing_file_is_kept_unless_forced(void **state)
{
	struct tapir_writer_opts o = opts();
	struct tapir_writer *w = NULL;
	struct stat st;
	int fd = open(path, O_WRONLY | O_CREAT, 0644);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(tapir_writer__open(&o, &w), -EEXIST);
	o.force = true;
	assert_int_equal(sample_write(&o, 1), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void symlink_is_replaced_not_followed_when_forced(void **state)
{
	struct tapir_writer_opts o = opts();
	char target[128];
	struct stat st;

	(void)state;
	snprintf(target, sizeof(target), "%s/other", dir);
	assert_int_equal(close(open(target, O_WRONLY | O_CREAT, 0644)), 0);
	assert_int_equal(symlink(target, path), 0);
	o.force = true;
	assert_int_equal(sample_write(&o, 1), 0);
	assert_int_equal(stat(target, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	unlink(target);
}

static void file_belongs_to_the_given_owner(void **state)
{
	struct tapir_writer_opts o = opts();
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		skip();
	o.has_owner = true;
	o.uid = o.gid = 12345;
	assert_int_equal(sample_write(&o, 1), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 12345);
}

static void segment_is_due_by_time_and_by_size(void **state)
{
	struct tapir_writer_opts o = opts();
	struct tapir_writer *w;
	uint64_t now_ns;
	unsigned put;

	(void)state;
	assert_int_equal(tapir_writer__open(&o, &w), 0);
	now_ns = tapir_clock__now_ns();
	assert_false(tapir_writer__segment_due(w, now_ns));
	assert_true(tapir_writer__segment_due(w, now_ns + TAPIR_SEGMENT_MAX_NS));
	assert_int_equal(put_until_failure(w, &put), 0); /* 1,000 x 64 KB */
	assert_true(tapir_writer__segment_due(w, now_ns));
	assert_int_equal(tapir_writer__begin_segment(w), 0);
	assert_false(tapir_writer__segment_due(w, now_ns));
	tapir_writer__free(w);
}

/* A span longer than a chunk is split between records. */
static void long_span_is_split_between_records(void **state)
{
	enum { CNT = 60000 };
	struct tapir_rec_sample *span = calloc(CNT, sizeof(*span));
	struct tapir_writer_opts o = opts();
	struct tapir_reader *r;
	struct tapir_writer *w;
	const struct tapir_rec *rec;
	uint64_t want = 0;

	(void)state;
	assert_non_null(span);
	for (uint64_t i = 0; i < CNT; i++)
		tapir_rec__init(&span[i].h, TAPIR_REC_SAMPLE, sizeof(*span), i);
	assert_int_equal(tapir_writer__open(&o, &w), 0);
	assert_int_equal(tapir_writer__put_span(w, span, CNT * sizeof(*span), CNT, 0, CNT - 1), 0);
	assert_int_equal(tapir_writer__close(w), 0);
	assert_int_equal(tapir_writer__records(w), CNT);
	tapir_writer__free(w);
	free(span);
	assert_int_equal(tapir_reader__open(path, &r), 0);
	while (tapir_reader__next(r, &rec) == 1)
		assert_int_equal(rec->time_ns, want++);
	assert_int_equal(want, CNT);
	tapir_reader__close(r);
}

/* A recorder that was killed: no END, the flushed part is there. */
static void flushed_records_are_read_while_the_file_grows(void **state)
{
	struct tapir_writer_opts o = opts();
	struct tapir_reader_stats stats;
	struct tapir_rec_event ev = {};
	struct tapir_writer *w;
	uint64_t lost;

	(void)state;
	tapir_rec__init(&ev.h, TAPIR_REC_EVENT, sizeof(ev), 1);
	assert_int_equal(tapir_writer__open(&o, &w), 0);
	assert_int_equal(tapir_writer__put(w, &ev.h), 0);
	assert_int_equal(tapir_writer__flush(w), 0);
	assert_int_equal(tapir_writer__put(w, &ev.h), 0);
	assert_int_equal(read_events(&lost, &stats), 1);
	assert_true(stats.is_truncated);
	tapir_writer__free(w);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(file_stays_whole_when_size_limit_is_reached),
		CASE(file_stays_whole_when_rlimit_cuts_a_chunk),
		CASE(file_stays_whole_when_disk_is_full),
		CASE(closed_pipe_is_reported_once),
		CASE(recording_goes_through_a_pipe),
		CASE(unusable_paths_are_refused_with_a_line),
		CASE(existing_file_is_kept_unless_forced),
		CASE(symlink_is_replaced_not_followed_when_forced),
		CASE(file_belongs_to_the_given_owner),
		CASE(segment_is_due_by_time_and_by_size),
		CASE(long_span_is_split_between_records),
		CASE(flushed_records_are_read_while_the_file_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
