// SPDX-License-Identifier: GPL-2.0-or-later
/* perf.data as a recording: one of perf's own, files that are built here, cut and damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import_case.h"
#include "output/import/perf_order.h"
#include "perf_sample.h"

#define REAL	      "tests/data/perf/gzip.data" /* perf record -g --switch-events -- gzip */
#define REAL_SAMPLES  176u
#define REAL_SWITCHES 210u

/* Writes the recording in words, by record; the id of a stack is no part of it. */
static void read_made(const struct made *made, struct tapir_str *out)
{
	const struct tapir_rec *rec;
	struct tapir_reader *r;

	assert_int_equal(tapir_reader__open_fd(made->fd, "made", &r), 0);
	while (tapir_reader__next(r, &rec) > 0) {
		const struct tapir_rec_switch *sw = (const void *)rec;
		const struct tapir_rec_loss *loss = (const void *)rec;
		const struct tapir_rec_stack *stack =
			tapir_catalog__stack(tapir_reader__catalog(r), tapir_rec__stack_id(rec));

		if (rec->type == TAPIR_REC_SAMPLE)
			tapir_str__addf(out, "sample %llu tid %u frames %u;",
					(unsigned long long)rec->time_ns, tapir_rec__tid(rec, 0),
					stack ? stack->frame_cnt : 0);
		else if (rec->type == TAPIR_REC_SWITCH)
			tapir_str__addf(out, "switch %u to %u;", sw->out_tid, sw->in_tid);
		else if (rec->type == TAPIR_REC_EVENT)
			tapir_str__addf(out, "event;");
		else if (rec->type == TAPIR_REC_LOSS)
			tapir_str__addf(out, "lost %llu cause %u;", (unsigned long long)loss->count,
					loss->cause);
	}
	assert_false(tapir_reader__stats(r)->is_truncated);
	tapir_reader__close(r);
}

static void expect(const struct tapir_str *file, const char *text)
{
	struct tapir_str seen = {};
	struct made made;

	assert_int_equal(import_bytes(file->data, file->len, &made), 0);
	read_made(&made, &seen);
	assert_string_equal(seen.data ? seen.data : "", text);
	tapir_str__fini(&seen);
	close(made.fd);
}

static void a_file_of_perf_has_what_perf_script_counts(void **state)
{
	struct made made;
	size_t len;
	char *bytes;

	(void)state;
	assert_int_equal(tapir_file__read(REAL, 1 << 20, &bytes, &len), 0);
	assert_int_equal(import_bytes(bytes, len, &made), 0);
	assert_string_equal(made.result.format, "perf.data");
	assert_int_equal(made.result.captured[TAPIR_FAMILY_SAMPLE], REAL_SAMPLES);
	assert_int_equal(made.result.captured[TAPIR_FAMILY_SWITCH], REAL_SWITCHES);
	assert_int_equal(made.result.malformed_cnt, 0);
	assert_int_equal(made.result.tail_bytes, 0);
	close(made.fd);
	free(bytes);
}

static void records_come_in_order_of_time_when_buffers_are_read_in_turn(void **state)
{
	const uint64_t chain[] = {TAPIR_PERF_CONTEXT_KERNEL, ~0ull << 32, TAPIR_PERF_CONTEXT_USER,
				  0x1000, 0x2000};
	struct tapir_str file = {};

	(void)state;
	perf_begin(&file);
	perf_add_comm(&file, 100, "shop", 500);
	perf_add_sample(&file, PERF_CLOCK_ID, 100, 3000, chain, 5, NULL, 0);
	perf_add_sample(&file, PERF_CLOCK_ID, 101, 1000, chain, 5, NULL, 0);
	perf_end_round(&file);
	perf_add_sample(&file, PERF_CLOCK_ID, 100, 4000, chain, 5, NULL, 0);
	perf_add_sample(&file, PERF_CLOCK_ID, 101, 2000, chain, 0, NULL, 0);
	perf_end_round(&file);
	perf_add_lost(&file, 7, 5000);
	perf_end(&file);
	expect(&file, "sample 1000 tid 101 frames 2;sample 2000 tid 101 frames 1;"
		      "sample 3000 tid 100 frames 2;sample 4000 tid 100 frames 2;"
		      "lost 7 cause 19;");
	tapir_str__fini(&file);
}

/* Without the format of its fields it is an event, and no switch. */
static void a_tracepoint_without_a_format_is_an_event_without_fields(void **state)
{
	struct tapir_str file = {};

	(void)state;
	perf_begin(&file);
	perf_add_sample(&file, PERF_SWITCH_ID, 100, 1000, NULL, 0, "abcd", 4);
	perf_end(&file);
	expect(&file, "event;");
	tapir_str__fini(&file);
}

static void every_cut_is_a_recording_or_one_line(void **state)
{
	(void)state;
	check_cuts(REAL, 256, 97);
}

static void a_damaged_byte_makes_no_unreadable_recording(void **state)
{
	(void)state;
	check_damage(REAL, 512, 61, read_made);
}

static void what_is_no_such_file_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		int err;
	} files[] = {{"", 0, -EOPNOTSUPP},
		     {"PERFILE", 7, -EOPNOTSUPP},
		     {"PERFILE2", 8, -EBADMSG},
		     {"2ELIFREP\150\0\0\0\0\0\0\0", 16, -EOPNOTSUPP},
		     {"PERFILE2\20\0\0\0\0\0\0\0", 16, -ENODATA},
		     {"PERFILE2\150\0\0\0\0\0\0\0", 16, -EBADMSG}};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct made made;

		assert_int_equal(import_bytes(files[i].bytes, files[i].len, &made), files[i].err);
		assert_int_equal(tapir_diag__cnt(), 1);
		tapir_diag__clear();
		close(made.fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_of_perf_has_what_perf_script_counts),
		cmocka_unit_test(records_come_in_order_of_time_when_buffers_are_read_in_turn),
		cmocka_unit_test(a_tracepoint_without_a_format_is_an_event_without_fields),
		cmocka_unit_test(every_cut_is_a_recording_or_one_line),
		cmocka_unit_test(a_damaged_byte_makes_no_unreadable_recording),
		cmocka_unit_test(what_is_no_such_file_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
