// SPDX-License-Identifier: GPL-2.0-or-later
/* A ring of segments: what is kept and discarded, and what a stretch of it is as one recording. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/diag.h"
#include "trace/freeze.h"
#include "trace_sample.h"

#define SEC TAPIR_NS_PER_SEC

/* A recorder as the session is one: a segment a second, with its own descriptions. */
struct ring {
	struct tapir_segments *segments;
	struct tapir_writer *w;
	struct tapir_catalog *catalog;
	struct tapir_recbuf buf;
};

static void begin(struct ring *r, const char *dir, uint64_t max_bytes, uint64_t keep_ns)
{
	const struct tapir_segments_opts opts = {.sz = sizeof(opts),
						 .dir = dir,
						 .stem = "t",
						 .max_bytes = max_bytes,
						 .keep_ns = keep_ns};
	struct tapir_writer_opts file = {.sz = sizeof(file), .plain = true, .has_fd = true};

	*r = (struct ring){};
	assert_int_equal(tapir_segments__new(&opts, &r->segments), 0);
	assert_int_equal(tapir_segments__begin(r->segments, SEC, &file.fd, &file.path), 0);
	assert_int_equal(tapir_writer__open(&file, &r->w), 0);
	tapir_writer__keep(r->w);
	r->catalog = tapir_catalog__new(TAPIR_CATALOG_LIVE, r->w);
	assert_non_null(r->catalog);
	sample_describe(r->catalog, &r->buf);
}

static void next(struct ring *r, uint64_t now_ns)
{
	const char *name;
	int fd;

	sample_name(r->catalog, &r->buf);
	assert_int_equal(tapir_writer__end_file(r->w), 0);
	tapir_segments__end(r->segments, tapir_writer__bytes_written(r->w), now_ns);
	assert_int_equal(tapir_segments__begin(r->segments, now_ns, &fd, &name), 0);
	assert_int_equal(tapir_writer__continue_in(r->w, fd, name), 0);
	assert_int_equal(tapir_catalog__new_segment(r->catalog), 0);
}

static void end(struct ring *r)
{
	tapir_catalog__free(r->catalog);
	tapir_writer__free(r->w);
	tapir_recbuf__fini(&r->buf);
	tapir_segments__free(r->segments, false);
}

static void put_at(struct ring *r, uint64_t time_ns)
{
	assert_int_equal(sample_event(r->w, r->catalog, &r->buf, time_ns, time_ns), 0);
}

struct seen {
	uint64_t event_cnt, first_ns, last_ns, named_cnt, gap_cnt, loss_cnt, snapshot_cnt;
	bool has_meta;
	struct tapir_reader_stats stats;
};

static void see(struct seen *s, const struct tapir_catalog *c, const struct tapir_rec *rec)
{
	s->gap_cnt += rec->type == TAPIR_REC_GAP;
	s->loss_cnt += rec->type == TAPIR_REC_LOSS;
	s->snapshot_cnt += rec->type == TAPIR_REC_SWITCH;
	if (rec->type != TAPIR_REC_EVENT)
		return;
	s->first_ns = s->event_cnt++ ? s->first_ns : rec->time_ns;
	s->last_ns = rec->time_ns;
	s->named_cnt += sample_is_named(c, (const void *)rec);
}

/* What is frozen, read as a file. */
static struct seen frozen(const struct tapir_freeze *freeze)
{
	int fd = memfd_create("frozen", MFD_CLOEXEC);
	struct tapir_writer_opts file = {
		.sz = sizeof(file), .path = "frozen", .plain = true, .has_fd = true, .fd = fd};
	const struct tapir_rec *rec;
	struct tapir_reader *reader;
	struct tapir_writer *w;
	struct seen s = {};

	assert_int_equal(tapir_writer__open(&file, &w), 0);
	assert_int_equal(tapir_freeze__write(freeze, w), 0);
	assert_int_equal(tapir_writer__close(w), 0);
	tapir_writer__free(w);
	assert_int_equal(tapir_reader__open_fd(fd, "frozen", &reader), 0);
	while (tapir_reader__next(reader, &rec) == 1)
		see(&s, tapir_reader__catalog(reader), rec);
	s.has_meta = tapir_catalog__meta_value(tapir_reader__catalog(reader), "why").len > 0;
	s.stats = *tapir_reader__stats(reader);
	tapir_reader__close(reader);
	close(fd);
	return s;
}

static void stretch_is_one_recording_with_its_names(void **state)
{
	struct tapir_freeze freeze = {.from_ns = 3 * SEC + SEC / 2, .until_ns = 6 * SEC + SEC / 2};
	struct tapir_segment_fds fds;
	const struct tapir_rec *first;
	struct ring r;
	struct seen s;

	(void)state;
	begin(&r, NULL, TAPIR_SEGMENTS_MIN_BYTES, 100 * SEC);
	for (uint64_t at = SEC; at < 10 * SEC; at += SEC / 10) {
		put_at(&r, at);
		if (at % SEC == 9 * (SEC / 10))
			next(&r, at + SEC / 10);
	}
	assert_int_equal(tapir_segments__list(r.segments, freeze.from_ns, &fds), 0);
	assert_int_equal(fds.fds.cnt, 7); /* of 9; the tenth is being written */
	first = tapir_recbuf__meta(&r.buf, 5, SV("why"), SV("a test"));
	freeze.segments = &fds;
	freeze.first = &first;
	freeze.first_cnt = 1;
	s = frozen(&freeze);
	assert_int_equal(s.event_cnt, 31);
	assert_int_equal(s.first_ns, freeze.from_ns);
	assert_int_equal(s.last_ns, freeze.until_ns);
	assert_int_equal(s.named_cnt, s.event_cnt);
	assert_true(s.has_meta);
	assert_false(s.stats.is_truncated);
	assert_false(tapir_reader_stats__is_damaged(&s.stats));
	tapir_segment_fds__fini(&fds);
	end(&r);
}

static void old_segments_go_and_are_counted(void **state)
{
	struct tapir_segments_stats stats;
	struct tapir_segment_fds fds;
	struct ring r;

	(void)state;
	begin(&r, NULL, TAPIR_SEGMENTS_MIN_BYTES, 3 * SEC);
	for (uint64_t at = SEC; at < 10 * SEC; at += SEC) {
		put_at(&r, at);
		next(&r, at + SEC);
	}
	tapir_segments__stats(r.segments, &stats);
	assert_int_equal(stats.kept_cnt, 5); /* of 3 s, one that ends 3 s ago, and the next */
	assert_int_equal(stats.discarded_cnt, 5);
	assert_int_equal(stats.early_cnt, 0);
	assert_true(stats.discarded_bytes > 0);
	assert_int_equal(tapir_segments__list(r.segments, SEC, &fds), 0);
	assert_int_equal(fds.from_ns, 6 * SEC); /* and not since the first second */
	tapir_segment_fds__fini(&fds);
	end(&r);
}

static void room_is_never_exceeded(void **state)
{
	static uint64_t room[8192];
	struct tapir_rec_event *ev = (struct tapir_rec_event *)room;
	struct tapir_segments_stats stats;
	struct ring r;

	(void)state;
	begin(&r, NULL, TAPIR_SEGMENTS_MIN_BYTES, 1000 * SEC);
	for (uint64_t at = SEC; at < 1000 * SEC; at += SEC) { /* 64 KB each */
		tapir_rec__init(&ev->h, TAPIR_REC_EVENT, sizeof(room), at);
		assert_int_equal(tapir_writer__put(r.w, &ev->h), 0);
		tapir_segments__stats(r.segments, &stats);
		assert_true(stats.kept_bytes + tapir_writer__bytes_written(r.w) <=
			    TAPIR_SEGMENTS_MIN_BYTES);
		if (tapir_segments__is_full(r.segments, tapir_writer__bytes_written(r.w)))
			next(&r, at);
	}
	assert_true(stats.kept_bytes > TAPIR_SEGMENTS_MIN_BYTES / 2);
	assert_true(stats.discarded_cnt > 20);
	assert_int_equal(stats.early_cnt, stats.discarded_cnt);
	end(&r);
}

static void put_gap(struct ring *r, enum tapir_gap_reason reason, uint64_t at_ns)
{
	struct tapir_rec_gap fixed = {.h.time_ns = at_ns,
				      .tgid = SAMPLE_TGID,
				      .reason = (uint16_t)reason,
				      .from_ns = at_ns,
				      .until_ns = at_ns};

	tapir_writer__put(r->w, tapir_recbuf__gap(&r->buf, &fixed, SV("/bin/x")));
}

static void put_snapshot(struct ring *r, uint64_t at_ns)
{
	struct tapir_rec_switch sw = {.out_tgid = SAMPLE_TGID,
				      .out_tid = SAMPLE_TGID,
				      .flags = TAPIR_SWITCH_SNAPSHOT | TAPIR_SWITCH_AT_END};

	tapir_rec__init(&sw.h, TAPIR_REC_SWITCH, sizeof(sw), at_ns);
	tapir_writer__put(r->w, &sw.h);
}

static void put_loss(struct ring *r, uint64_t from_ns, uint64_t until_ns)
{
	struct tapir_rec_loss loss = {
		.cause = TAPIR_LOSS_DISK, .count = 1, .from_ns = from_ns, .until_ns = until_ns};

	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), until_ns);
	tapir_writer__put(r->w, &loss.h);
}

static void what_holds_for_a_time_is_judged_by_that_time(void **state)
{
	struct tapir_freeze freeze = {
		.from_ns = 4 * SEC, .until_ns = 6 * SEC, .snapshot_ns = 6 * SEC - SEC / 2};
	struct tapir_rec_gap lasting = {.h.time_ns = 2, .reason = TAPIR_GAP_ATTACH_FAILED};
	struct tapir_recbuf buf = {};
	struct tapir_segment_fds fds;
	const struct tapir_rec *first = tapir_recbuf__gap(&buf, &lasting, SV("/bin/y"));
	struct ring r;
	struct seen s;

	(void)state;
	begin(&r, NULL, TAPIR_SEGMENTS_MIN_BYTES, 100 * SEC);
	put_loss(&r, 1 * SEC, 2 * SEC); /* before */
	put_loss(&r, 3 * SEC, 5 * SEC); /* overlaps */
	put_gap(&r, TAPIR_GAP_ATTACH_LATE, 3 * SEC);
	put_gap(&r, TAPIR_GAP_ATTACH_LATE, 5 * SEC);
	put_gap(&r, TAPIR_GAP_ATTACH_FAILED, 5 * SEC); /* is in first */
	put_snapshot(&r, 5 * SEC);		       /* of an earlier file */
	put_snapshot(&r, 6 * SEC);
	next(&r, 7 * SEC);
	assert_int_equal(tapir_segments__list(r.segments, freeze.from_ns, &fds), 0);
	freeze.segments = &fds;
	freeze.first = &first;
	freeze.first_cnt = 1;
	s = frozen(&freeze);
	assert_int_equal(s.loss_cnt, 1);
	assert_int_equal(s.gap_cnt, 2);
	assert_int_equal(s.snapshot_cnt, 1);
	tapir_segment_fds__fini(&fds);
	tapir_recbuf__fini(&buf);
	end(&r);
}

static void files_are_named_private_and_removed(void **state)
{
	char dir[] = "/tmp/tapir-test-XXXXXX", path[64];
	struct stat st;
	struct ring r;

	(void)state;
	assert_non_null(mkdtemp(dir));
	begin(&r, dir, TAPIR_SEGMENTS_MIN_BYTES, SEC);
	put_at(&r, SEC);
	next(&r, 2 * SEC);
	snprintf(path, sizeof(path), "%s/t.000001.tapir", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	end(&r);
	assert_int_equal(rmdir(dir), 0);
	tapir_diag__clear();
}

/* As on a full disk: a file that must not grow. */
static void descriptor_on_a_full_disk_ends_with_a_whole_chunk(void **state)
{
	static uint64_t room[8192];
	struct tapir_rec_event *ev = (struct tapir_rec_event *)room;
	const struct rlimit small = {300000, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
	int fd = memfd_create("full", MFD_CLOEXEC), err = 0;
	struct tapir_writer_opts file = {
		.sz = sizeof(file), .path = "full", .plain = true, .has_fd = true, .fd = fd};
	const struct tapir_rec *rec;
	struct tapir_reader *reader;
	struct tapir_writer *w;
	unsigned cnt = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(tapir_writer__open(&file, &w), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (uint64_t i = 1; !err && i < 100; i++) {
		tapir_rec__init(&ev->h, TAPIR_REC_EVENT, sizeof(room), i);
		err = tapir_writer__put(w, &ev->h);
		err = err ? err : tapir_writer__flush(w);
	}
	assert_int_equal(err, -EFBIG);
	tapir_writer__close(w);
	setrlimit(RLIMIT_FSIZE, &all);
	tapir_writer__free(w);
	assert_int_equal(tapir_reader__open_fd(fd, "full", &reader), 0);
	while (tapir_reader__next(reader, &rec) == 1)
		cnt += rec->type == TAPIR_REC_EVENT;
	assert_int_equal(cnt, 4);
	assert_false(tapir_reader_stats__is_damaged(tapir_reader__stats(reader)));
	tapir_reader__close(reader);
	close(fd);
	tapir_diag__clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptor_on_a_full_disk_ends_with_a_whole_chunk),
		cmocka_unit_test(stretch_is_one_recording_with_its_names),
		cmocka_unit_test(old_segments_go_and_are_counted),
		cmocka_unit_test(room_is_never_exceeded),
		cmocka_unit_test(what_holds_for_a_time_is_judged_by_that_time),
		cmocka_unit_test(files_are_named_private_and_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
