// SPDX-License-Identifier: GPL-2.0-or-later
/* Recordings of made-up hosts as one: whose they are, how their clocks relate, what is said of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "decode/postgresql_text.h"
#include "output/export/merge.h"
#include "trace/recbuf.h"
#include "trace/rehost.h"

#define S   TAPIR_NS_PER_SEC
#define UTC (1700000000 * S)

/* A recording: of a host that started at boot_s of some UTC, recorded from from_s for 3 s. */
struct made {
	const char *host, *boot, *sync, *relations;
	uint64_t boot_s, from_s;
	uint64_t set_s;	   /* by which its clock was set while it was recorded */
	bool has_no_clock; /* and no UTC in its header */
	uint32_t lost;
};

#define SECONDS 3
#define INPUTS	4

static struct {
	struct tapir_merge *m;
	int fds[INPUTS], out_fd;
	unsigned cnt;
	struct tapir_reader *reader;
	struct tapir_recbuf buf;
} f;

static int setup(void **state)
{
	(void)state;
	memset(&f, 0, sizeof(f));
	f.m = tapir_merge__new();
	f.out_fd = memfd_create("out", MFD_CLOEXEC);
	return !f.m || f.out_fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	tapir_reader__close(f.reader);
	tapir_merge__free(f.m);
	tapir_recbuf__fini(&f.buf);
	for (unsigned i = 0; i < f.cnt; i++)
		close(f.fds[i]);
	close(f.out_fd);
	return 0;
}

static void put(struct tapir_writer *w, const struct tapir_rec *rec)
{
	assert_non_null(rec);
	assert_int_equal(tapir_writer__put(w, rec), 0);
}

static void put_meta(struct tapir_writer *w, const char *key, const char *value, uint64_t ns)
{
	if (value)
		put(w, tapir_recbuf__meta(&f.buf, ns, tapir_sv__of(key), tapir_sv__of(value)));
}

static void put_clock(struct tapir_writer *w, uint64_t ns, uint64_t utc_ns)
{
	struct tapir_rec_clock clock = {.utc_ns = utc_ns};

	tapir_rec__init(&clock.h, TAPIR_REC_CLOCK, sizeof(clock), ns);
	put(w, &clock.h);
}

static void put_loss(struct tapir_writer *w, uint64_t ns, uint64_t cnt)
{
	struct tapir_rec_loss loss = {
		.cause = TAPIR_LOSS_DISK, .count = cnt, .from_ns = ns, .until_ns = ns};

	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), ns);
	if (cnt)
		put(w, &loss.h);
}

/* A sample of process 7 each second. */
static void write_made(const struct made *made, int fd)
{
	uint64_t from_ns = made->from_s * S, offset_ns = UTC + made->boot_s * S;
	struct tapir_writer_opts opts = {.sz = sizeof(opts),
					 .path = "made",
					 .has_fd = true,
					 .fd = fd,
					 .created_ns = from_ns,
					 .created_utc_ns =
						 made->has_no_clock ? 0 : from_ns + offset_ns};
	struct tapir_rec_sample s = {.tgid = 7, .tid = 7, .period = 1};
	struct tapir_writer *w;

	assert_int_equal(tapir_writer__open(&opts, &w), 0);
	put_meta(w, "host", made->host, from_ns);
	put_meta(w, TAPIR_META_BOOT, made->boot, from_ns);
	put_meta(w, TAPIR_META_SYNC, made->sync, from_ns);
	put_meta(w, "cpus", "4", from_ns);
	put_meta(w, TAPIR_META_POSTGRESQL_NAMES, made->relations, from_ns);
	if (!made->has_no_clock) {
		put_clock(w, from_ns, from_ns + offset_ns - made->set_s * S);
		put_clock(w, from_ns + 2 * S, from_ns + 2 * S + offset_ns);
	}
	for (uint64_t sec = 0; sec < SECONDS; sec++) {
		tapir_rec__init(&s.h, TAPIR_REC_SAMPLE, sizeof(s), from_ns + sec * S);
		s.h.cpu = 1;
		put(w, &s.h);
	}
	put_loss(w, from_ns, made->lost);
	assert_int_equal(tapir_writer__close(w), 0);
	tapir_writer__free(w);
}

static int add(const struct made *made, const char *name)
{
	struct tapir_reader *reader;
	int fd = memfd_create("in", MFD_CLOEXEC);

	assert_true(fd >= 0 && f.cnt < INPUTS);
	f.fds[f.cnt++] = fd;
	write_made(made, fd);
	assert_int_equal(tapir_reader__open_fd(fd, "made", &reader), 0);
	return tapir_merge__add(f.m, reader, "made.tapir", name);
}

static int check(void *ctx, uint64_t done_bytes, uint64_t all_bytes)
{
	assert_true(done_bytes <= all_bytes);
	return ctx ? *(int *)ctx : 0;
}

static void merge(void)
{
	struct tapir_writer_opts opts = {
		.sz = sizeof(opts), .path = "out", .has_fd = true, .fd = f.out_fd};
	struct tapir_writer *w;

	assert_int_equal(tapir_merge__plan(f.m), 0);
	tapir_merge__begin(f.m, &opts.created_ns, &opts.created_utc_ns, &opts.is_truncated);
	assert_int_equal(tapir_writer__open(&opts, &w), 0);
	assert_int_equal(tapir_merge__write(f.m, w, &(struct tapir_merge_check){check, NULL}), 0);
	assert_int_equal(tapir_writer__close(w), 0);
	tapir_writer__free(w);
	assert_int_equal(tapir_reader__open_fd(f.out_fd, "out", &f.reader), 0);
}

/* The next sample is of that host, so many ns of UTC after UTC. */
static void assert_sample(uint32_t host, uint64_t sec)
{
	const struct tapir_catalog *catalog = tapir_reader__catalog(f.reader);
	const struct tapir_rec *rec;

	do
		assert_int_equal(tapir_reader__next(f.reader, &rec), 1);
	while (rec->type != TAPIR_REC_SAMPLE);
	assert_int_equal(tapir_rehost__host_of(rec), host);
	assert_int_equal(tapir_catalog__utc_ns(catalog, rec->time_ns), UTC + sec * S);
	assert_int_equal(((const struct tapir_rec_sample *)rec)->tgid, host * TAPIR_HOST_PIDS + 7);
}

static void says(const char *what)
{
	if (!strstr(tapir_merge__text(f.m), what))
		fail_msg("'%s' is not in '%s'", what, tapir_merge__text(f.m));
}

static void hosts_have_one_clock_by_their_utc(void **state)
{
	/* The second one has been running for hours longer, and was recorded a second later. */
	const struct made web = {
		.host = "web", .boot = "x", .sync = "900 us", .boot_s = 9000, .from_s = 1000};
	const struct made db = {
		.host = "db", .boot = "y", .sync = "3000 us", .boot_s = 0, .from_s = 10001};
	const struct tapir_rec_host *host;

	(void)state;
	assert_int_equal(add(&web, NULL), 0);
	assert_int_equal(add(&db, NULL), 0);
	merge();
	says("2 hosts: web, db\ntimes of synchronized clocks are right to within 3 ms");
	assert_sample(1, 10000);
	assert_sample(1, 10001);
	assert_sample(2, 10001);
	assert_sample(2, 10002); /* of records of one time, either may be first */
	assert_sample(1, 10002);
	assert_sample(2, 10003);
	host = tapir_catalog__host(tapir_reader__catalog(f.reader), 1);
	assert_int_equal(host->shift_ns, 9000 * S);
	assert_int_equal(host->clock, TAPIR_HOST_CLOCK_SYNCED);
	assert_int_equal(host->error_ns, 900000);
	assert_true(tapir_sv__is(tapir_catalog__meta_value(tapir_reader__catalog(f.reader), "cpus"),
				 "8"));
}

static void what_is_not_known_of_clocks_is_said(void **state)
{
	const struct made hosts[INPUTS] = {
		{.host = "a", .boot = "1", .sync = "unsynchronized", .from_s = 10},
		{.host = "b", .boot = "2", .boot_s = 1, .from_s = 10, .set_s = 7},
		{.host = "c", .boot = "3", .sync = "1 us", .boot_s = 20000, .from_s = 10},
		{.host = "d", .boot = "4", .from_s = 99999, .has_no_clock = true}};

	(void)state;
	for (unsigned i = 0; i < INPUTS; i++)
		assert_int_equal(add(&hosts[i], NULL), 0);
	merge();
	says("a: its clock was not synchronized: its times may be off");
	says("b: not known how exact its clock was: its times may be off");
	says("d: no UTC: it begins with the first");
	says("the clock of b was set while it was recorded, by 7.0 s: its last UTC counts");
	says("a and c have no time in common: 5.6 h apart, unless a clock is wrong by as much");
	assert_sample(1, 10);
	assert_sample(4, 10); /* placed */
}

static void one_boot_is_one_host(void **state)
{
	const struct made first = {.host = "web", .boot = "x", .from_s = 10, .lost = 3};
	const struct made second = {.host = "web", .boot = "x", .from_s = 20, .lost = 4};
	const struct tapir_rec *rec;
	uint64_t lost = 0;

	(void)state;
	assert_int_equal(add(&second, NULL), 0);
	assert_int_equal(add(&first, NULL), 0);
	merge();
	says("2 recordings of web");
	assert_sample(0, 10);
	assert_sample(0, 11);
	assert_sample(0, 12);
	assert_sample(0, 20);
	tapir_reader__close(f.reader);
	assert_int_equal(tapir_reader__open_fd(f.out_fd, "out", &f.reader), 0);
	while (tapir_reader__next(f.reader, &rec) == 1)
		lost += rec->type == TAPIR_REC_LOSS ? ((const struct tapir_rec_loss *)rec)->count
						    : 0;
	assert_int_equal(lost, 7);
	assert_int_equal(tapir_catalog__host_cnt(tapir_reader__catalog(f.reader)), 0);
	assert_true(tapir_sv__is(tapir_catalog__meta_value(tapir_reader__catalog(f.reader), "cpus"),
				 "4"));
}

static void another_boot_or_name_is_another_host(void **state)
{
	const struct made first = {.host = "web", .boot = "x", .from_s = 10};
	const struct made again = {.host = "web", .boot = "y", .boot_s = 100, .from_s = 5};
	const struct made older = {.host = "web", .from_s = 30}; /* does not know its boot */
	const struct made named = {.host = "web", .boot = "x", .from_s = 40};

	(void)state;
	assert_int_equal(add(&first, NULL), 0);
	assert_int_equal(add(&again, NULL), 0);
	assert_int_equal(add(&older, NULL), 0);
	assert_int_equal(add(&named, "other"), 0);
	merge();
	/* The third began when the first did. */
	says("2 hosts: web, web-2");
}

static void names_that_differ_are_hosts(void **state)
{
	const struct made first = {.host = "web", .boot = "x", .from_s = 10};
	const struct made second = {.host = "web", .boot = "x", .from_s = 11};

	(void)state;
	assert_int_equal(add(&first, "shop"), 0);
	assert_int_equal(add(&second, "cart"), 0);
	merge();
	says("2 hosts: shop, cart");
}

static void relations_have_the_names_of_their_host(void **state)
{
	static const struct made hosts[] = {
		{.host = "web1",
		 .from_s = 100,
		 .relations = "7 5 16412 orders\n7 5 0 shop\n0 5 9 x\n"},
		{.host = "web2", .boot_s = 50, .from_s = 50, .relations = "7 5 16412 customers\n"}};
	const struct tapir_rec *rec;
	struct tapir_sv text;

	(void)state;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(add(&hosts[i], NULL), 0);
	merge();
	assert_int_equal(tapir_reader__next(f.reader, &rec), 1);
	text = tapir_catalog__meta_value(tapir_reader__catalog(f.reader),
					 TAPIR_META_POSTGRESQL_NAMES);
	assert_true(tapir_sv__is(text, "10000007 5 16412 orders\n10000007 5 0 shop\n"
				       "20000007 5 16412 customers\n"));
}

static void a_recording_is_not_merged_twice(void **state)
{
	const struct made made = {.host = "web", .boot = "x", .from_s = 10};

	(void)state;
	assert_int_equal(add(&made, NULL), 0);
	assert_int_equal(add(&made, NULL), -EINVAL);
}

static void an_interrupted_merge_ends_with_its_error(void **state)
{
	const struct made web = {.host = "web", .boot = "x", .from_s = 10};
	const struct made db = {.host = "db", .boot = "y", .from_s = 10};
	struct tapir_writer_opts opts = {
		.sz = sizeof(opts), .path = "out", .has_fd = true, .fd = f.out_fd};
	struct tapir_writer *w;
	int err = -EINTR;

	(void)state;
	assert_int_equal(add(&web, NULL), 0);
	assert_int_equal(add(&db, NULL), 0);
	assert_int_equal(tapir_merge__plan(f.m), 0);
	assert_int_equal(tapir_writer__open(&opts, &w), 0);
	assert_int_equal(tapir_merge__write(f.m, w, &(struct tapir_merge_check){check, &err}),
			 -EINTR);
	tapir_writer__free(w);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(hosts_have_one_clock_by_their_utc),
		T(what_is_not_known_of_clocks_is_said),
		T(one_boot_is_one_host),
		T(another_boot_or_name_is_another_host),
		T(names_that_differ_are_hosts),
		T(relations_have_the_names_of_their_host),
		T(a_recording_is_not_merged_twice),
		T(an_interrupted_merge_ends_with_its_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
