// SPDX-License-Identifier: GPL-2.0-or-later
/* The Common Trace Format of recordings with more kinds of events than its metadata describes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/log.h"
#include "output/sink/sinks.h"
#include "trace_sample.h"

#define NAME_BYTES 4000u
#define LONG_CNT   4500u /* of such names: more than the metadata holds */
#define MANY_CNT   17000u

static char path[64], warning[256];
static struct tapir_str archive;

static void keep_warning(enum tapir_log_level level, const char *line)
{
	(void)level;
	snprintf(warning, sizeof(warning), "%s", line);
}

static int setup(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/tapir-test-XXXXXX");
	fd = mkstemp(path);
	*warning = '\0';
	tapir_log__set(keep_warning, TAPIR_LOG_WARN);
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	tapir_log__set(NULL, TAPIR_LOG_WARN);
	tapir_str__fini(&archive);
	unlink(path);
	return 0;
}

/* Each of cnt probes, whose providers have names of this length, fires twice. */
static void write_recording(unsigned cnt, size_t name_bytes)
{
	const struct tapir_writer_opts opts = {
		.sz = sizeof(opts), .path = path, .force = true, .plain = true};
	struct tapir_catalog *c;
	struct tapir_recbuf b = {};
	struct tapir_writer *w;
	char *name = malloc(name_bytes + 1);

	assert_non_null(name);
	assert_int_equal(tapir_writer__open(&opts, &w), 0);
	c = tapir_catalog__new(TAPIR_CATALOG_LIVE, w);
	for (unsigned i = 0; i < 2 * cnt; i++) {
		struct tapir_rec_probe probe = {
			.h.time_ns = 1, .probe_id = 1 + i % cnt, .version = 1};
		struct tapir_rec_event fixed = {.h.time_ns = 10 + i, .probe_id = 1 + i % cnt};
		struct tapir_event_view view = {.rec = &fixed};
		const struct tapir_rec *rec;

		memset(name, 'x', name_bytes);
		snprintf(name, name_bytes + 1, "%06u", i % cnt);
		name[6] = name_bytes > 6 ? 'x' : '\0';
		if (i < cnt)
			tapir_catalog__describe(
				c,
				tapir_recbuf__probe(&b, &probe, (struct tapir_sv){name, name_bytes},
						    SV("ev"), SV("/bin/x"), SV(""), NULL, NULL, 0));
		rec = tapir_recbuf__event(&b, &view);
		assert_int_equal(tapir_catalog__use_event(c, (const void *)rec), 0);
		assert_int_equal(tapir_writer__put(w, rec), 0);
	}
	assert_int_equal(tapir_writer__close(w), 0);
	tapir_catalog__free(c);
	tapir_writer__free(w);
	tapir_recbuf__fini(&b);
	free(name);
}

static int next(void *ctx, const struct tapir_rec **rec)
{
	return tapir_reader__next(ctx, rec);
}

static int keep(void *ctx, struct tapir_str *out)
{
	(void)ctx;
	tapir_str__add(&archive, out->data, out->len);
	tapir_str__clear(out);
	return 0;
}

static void export_recording(void)
{
	struct tapir_reader *reader;
	struct tapir_sink_host host = {.next = next, .write = keep};
	struct tapir_export x = {.host = &host, .title = "test"};

	assert_int_equal(tapir_reader__open(path, &reader), 0);
	host.ctx = x.reader = reader;
	x.catalog = tapir_reader__catalog(reader);
	assert_int_equal(tapir_sink__run(tapir_sink__find("ctf"), &x), 0);
	keep(NULL, &x.out);
	assert_false(archive.failed);
	tapir_str__fini(&x.out);
	tapir_reader__close(reader);
}

/* Those of probes, in the metadata. */
static unsigned kinds_described(void)
{
	const char *at = archive.data, *end = archive.data + archive.len;
	unsigned cnt = 0;

	while ((at = memmem(at, (size_t)(end - at), ":ev\";\n", 6))) {
		at += 6;
		cnt++;
	}
	return cnt;
}

static void check_left_out(unsigned cnt, unsigned kinds)
{
	char words[64];

	snprintf(words, sizeof(words), "%u events are left out: ", 2 * (cnt - kinds));
	assert_memory_equal(warning, words, strlen(words));
}

static void events_of_too_many_kinds_are_counted(void **state)
{
	(void)state;
	write_recording(MANY_CNT, 6);
	export_recording();
	assert_int_equal(kinds_described(), 16384);
	check_left_out(MANY_CNT, 16384);
}

static void events_are_counted_when_their_description_is_too_long(void **state)
{
	unsigned kinds;

	(void)state;
	write_recording(LONG_CNT, NAME_BYTES);
	export_recording();
	kinds = kinds_described();
	assert_in_range(kinds, (16u << 20) / (NAME_BYTES + 2000), (16u << 20) / NAME_BYTES + 1);
	check_left_out(LONG_CNT, kinds);
}

static void nothing_is_left_out_of_a_usual_recording(void **state)
{
	(void)state;
	write_recording(200, 6);
	export_recording();
	assert_int_equal(kinds_described(), 200);
	assert_string_equal(warning, "");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(events_of_too_many_kinds_are_counted),
		CASE(events_are_counted_when_their_description_is_too_long),
		CASE(nothing_is_left_out_of_a_usual_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
