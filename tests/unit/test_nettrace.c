// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bytes NetTrace is made of, and metadata blobs of other processes. What readers make of
 * whole files is tested with TraceEvent itself: tests/e2e/case_nettrace.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "output/export/nettrace.h"
#include "output/export/nettrace_impl.h"
#include "trace_sample.h"

static void assert_bytes(struct tapir_str *out, const char *bytes, size_t len)
{
	assert_false(out->failed);
	assert_int_equal(out->len, len);
	assert_memory_equal(out->data, bytes, len);
	tapir_str__clear(out);
}

#define ASSERT_BYTES(out, literal) assert_bytes(out, literal, sizeof(literal) - 1)

static void numbers_are_leb128(void **state)
{
	struct tapir_str out = {};

	(void)state;
	tapir_nettrace__put_var(&out, 0);
	ASSERT_BYTES(&out, "\0");
	tapir_nettrace__put_var(&out, 300);
	ASSERT_BYTES(&out, "\xac\x02");
	tapir_nettrace__put_var(&out, UINT64_MAX);
	ASSERT_BYTES(&out, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	tapir_str__fini(&out);
}

static void text_becomes_utf16_and_what_is_none_a_mark(void **state)
{
	struct tapir_str out = {};

	(void)state;
	tapir_nettrace__put_utf16(&out, SV("a\xc3\xa4\xf0\x9f\x90\x82"), 100);
	ASSERT_BYTES(&out, "a\0\xe4\0\x3d\xd8\x02\xdc\0\0");
	tapir_nettrace__put_utf16(&out, SV("\xff\0x"), 100); /* a NUL would end it */
	ASSERT_BYTES(&out, "\xfd\xffx\0\0\0");
	tapir_nettrace__put_utf16(&out, SV("abcdefgh"), 12); /* room for 3, and the end */
	ASSERT_BYTES(&out, "a\0b\0c\0\0\0");
	tapir_nettrace__put_text16(&out, SV("a\xc3\xa4"), 2); /* not half a character */
	ASSERT_BYTES(&out, "\1\0a");
	tapir_str__fini(&out);
}

static void rows_say_what_differs(void **state)
{
	struct tapir_nettrace_rows rows = {};
	struct tapir_nettrace_row row = {.metadata_id = 5,
					 .sequence = 7,
					 .thread_idx = 3,
					 .time_ns = 1000,
					 .payload = SV("xy")};
	struct tapir_str out = {};

	(void)state;
	tapir_nettrace_rows__add(&rows, &row);
	row.sequence = 8;
	row.time_ns = 1001;
	tapir_nettrace_rows__add(&rows, &row);
	row.sequence = 12; /* 3 are missing */
	tapir_nettrace_rows__add(&rows, &row);
	tapir_nettrace_rows__flush(&rows, &out);
	ASSERT_BYTES(&out, "\x2a\0\0\x02" /* 42 bytes of events */
			   "\x14\0\1\0\xe8\3\0\0\0\0\0\0\xe9\3\0\0\0\0\0\0"
			   "\xc7\5\6\1\0\3\xe8\7\2xy" /* metadata, sequence 7, thread, payload */
			   "\x40\1xy"
			   "\x42\3\1\0\0xy");
	tapir_nettrace_rows__flush(&rows, &out);
	assert_int_equal(out.len, 0);
	tapir_str__fini(&rows.bytes);
	tapir_str__fini(&out);
}

/* ---- metadata blobs ------------------------------------------------------------------------- */

#define BLOB_HEAD      "\3\0\0\0E\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\4\0\0\0"
#define BLOB_NO_FIELDS "\0\0\0\0"

static void parse(struct tapir_nettrace_fields *fields, const char *blob, size_t len)
{
	char *copy = malloc(len ? len : 1); /* exactly so much, for the sanitizer */

	assert_non_null(copy);
	memcpy(copy, blob, len);
	tapir_str__fini(&fields->bytes);
	*fields = (struct tapir_nettrace_fields){};
	tapir_nettrace_fields__of_blob(fields, (struct tapir_sv){copy, len});
	free(copy);
}

#define PARSE(fields, literal) parse(fields, literal, sizeof(literal) - 1)

static void blob_fields_of_both_forms_are_taken(void **state)
{
	struct tapir_nettrace_fields fields = {};

	(void)state;
	PARSE(&fields, BLOB_HEAD "\2\0\0\0\x09\0\0\0n\0\0\0\x12\0\0\0\xe4\0\0\0");
	assert_int_equal(fields.cnt, 2);
	assert_int_equal(fields.opcode, -1);
	ASSERT_BYTES(&fields.bytes, "\3\0\1n\x09\4\0\2\xc3\xa4\x12");
	/* The second form counts, not the first. */
	PARSE(&fields,
	      BLOB_HEAD BLOB_NO_FIELDS "\x14\0\0\0\2\1\0\0\0\x10\0\0\0d\0\0\0\x13\0\0\0\x08\0\0\0");
	assert_int_equal(fields.cnt, 1);
	ASSERT_BYTES(&fields.bytes, "\4\0\1d\x13\x08");
	PARSE(&fields, BLOB_HEAD BLOB_NO_FIELDS "\1\0\0\0\1\x2a");
	assert_int_equal(fields.cnt, 0);
	assert_int_equal(fields.opcode, 42);
	tapir_str__fini(&fields.bytes);
}

static void blob_objects_keep_their_members(void **state)
{
	struct tapir_nettrace_fields fields = {};

	(void)state;
	PARSE(&fields, BLOB_HEAD "\1\0\0\0\1\0\0\0\1\0\0\0\x09\0\0\0m\0\0\0o\0\0\0");
	assert_int_equal(fields.cnt, 1);
	ASSERT_BYTES(&fields.bytes, "\x0a\0\1o\1\1\0\3\0\1m\x09");
	tapir_str__fini(&fields.bytes);
}

static void malformed_blobs_have_no_fields(void **state)
{
	static const char whole[] = BLOB_HEAD "\2\0\0\0\x09\0\0\0n\0\0\0\x12\0\0\0s\0\0\0";
	struct tapir_nettrace_fields fields = {};
	struct tapir_str nested = {};

	(void)state;
	for (size_t len = 0; len < sizeof(whole) - 1; len++) {
		parse(&fields, whole, len);
		assert_int_equal(fields.cnt, 0);
	}
	PARSE(&fields, BLOB_HEAD "\1\0\0\0\x63\0\0\0n\0\0\0"); /* no such type */
	assert_int_equal(fields.cnt, 0);
	PARSE(&fields, BLOB_HEAD "\xff\xff\xff\xff\x09\0\0\0n\0\0\0");
	assert_int_equal(fields.cnt, 0);
	PARSE(&fields, BLOB_HEAD BLOB_NO_FIELDS "\xff\xff\xff\xff\2"); /* longer than the blob */
	assert_int_equal(fields.cnt, 0);
	PARSE(&fields,
	      BLOB_HEAD BLOB_NO_FIELDS "\x08\0\0\0\2\1\0\0\0\1\0\0\0"); /* field of 1 byte */
	assert_int_equal(fields.cnt, 0);
	tapir_str__add(&nested, BLOB_HEAD "\1\0\0\0", sizeof(BLOB_HEAD "\1\0\0\0") - 1);
	for (int i = 0; i < 100000; i++) /* objects in objects */
		tapir_str__add(&nested, "\1\0\0\0\1\0\0\0", 8);
	parse(&fields, nested.data, nested.len);
	assert_int_equal(fields.cnt, 0);
	tapir_str__fini(&nested);
	tapir_str__fini(&fields.bytes);
}

/* ---- names ---------------------------------------------------------------------------------- */

static void methods_get_a_module_when_they_have_none(void **state)
{
	static const char *const names[][2] = {
		{"void Fire::Throw(int32)[QuickJitted]",
		 "void [jit] Fire::Throw(int32)[QuickJitted]"},
		{"int32[] A.B`1[class C]::D(class X, int32)[Tier]",
		 "int32[] [jit] A.B`1[class C]::D(class X, int32)[Tier]"},
		{"A::B()[Tier]", "? [jit] A::B()[Tier]"},
		{"instance void [App] A.B::C(int32[])[Tier]", NULL},
		{"stub GenerateLookupStub", NULL},
		{"no::method", NULL},
		{"(::)[]", NULL},
		{"::()]", "? [jit] ::()]"},
		{"] ::()]", "] [jit] ::()]"},
		{"", NULL},
	};
	struct tapir_str out = {};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *want = names[i][1] ? names[i][1] : names[i][0];

		tapir_str__clear(&out);
		tapir_nettrace__add_method(&out, tapir_sv__of(names[i][0]));
		assert_string_equal(out.data ? out.data : "", want);
	}
	tapir_str__fini(&out);
}

/* ---- samples -------------------------------------------------------------------------------- */

/* TraceEvent takes a row for a millisecond. */
static void cpu_time_is_right_at_any_frequency(void **state)
{
	static const unsigned frequencies[] = {1, 49, 99, 300, 997, 999, 1000, 4000, 20000};

	(void)state;
	for (size_t i = 0; i < sizeof(frequencies) / sizeof(*frequencies); i++) {
		uint64_t period_ns = 1000000000 / frequencies[i], remainder_ns = 0, rows = 0, ms;

		for (unsigned k = 0; k < 3 * frequencies[i]; k++)
			rows += tapir_nettrace__sample_rows(&remainder_ns, !k, period_ns);
		ms = 3 * frequencies[i] * period_ns / 1000000;
		assert_in_range(rows, ms, ms + 1);
	}
}

/* Many short threads: what each has too little or too much adds up to nothing. */
static void short_threads_are_not_left_out(void **state)
{
	uint64_t rows = 0;

	(void)state;
	for (unsigned thread = 0; thread < 1000; thread++) {
		uint64_t remainder_ns = 0;

		for (unsigned k = 0; k <= thread % 20; k++) /* 50 us to 1 ms */
			rows += tapir_nettrace__sample_rows(&remainder_ns, !k, 50000);
	}
	assert_in_range(rows, 525 - 30, 525 + 30);
}

/* ---- whole files ---------------------------------------------------------------------------- */

static void file_begins_and_ends_as_the_format_says_and_is_the_same_twice(void **state)
{
	struct tapir_str out[2] = {};
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/tmp/tapir-test-nettrace-%d.tapir", (int)getpid());
	for (int i = 0; i < 2; i++) {
		struct tapir_writer_opts opts = {.sz = sizeof(opts), .path = path, .force = true};
		const struct tapir_rec *rec;
		struct tapir_nettrace *n;
		struct tapir_reader *reader;

		if (!i)
			assert_int_equal(sample_write(&opts, 5), 0);
		assert_int_equal(tapir_reader__open(path, &reader), 0);
		n = tapir_nettrace__new(reader, "idle\nalso: 1\n");
		assert_non_null(n);
		while (tapir_reader__next(reader, &rec) == 1)
			assert_int_equal(tapir_nettrace__add(n, rec, &out[i]), 0);
		assert_int_equal(tapir_nettrace__finish(n, &out[i]), 0);
		assert_int_equal(tapir_nettrace__stats(n)->events, 5 * SAMPLE_EVENT_CNT);
		assert_int_equal(tapir_nettrace__stats(n)->late, 0);
		tapir_nettrace__free(n);
		tapir_reader__close(reader);
	}
	unlink(path);
	assert_memory_equal(out[0].data, "Nettrace\0\0\0\0\6\0\0\0\0\0\0\0", 20);
	assert_memory_equal(out[0].data + out[0].len - 4, "\0\0\0\0", 4);
	/* A name that every segment repeats is reported once. */
	assert_non_null(memmem(out[0].data, out[0].len, "\4\0main", 6));
	assert_non_null(memmem(out[0].data, out[0].len, "i\0d\0l\0e\0\0", 10));
	assert_non_null(memmem(out[0].data, out[0].len, "a\0l\0s\0o\0:\0 \0001\0\0", 16));
	assert_int_equal(out[0].len, out[1].len);
	assert_memory_equal(out[0].data, out[1].data, out[0].len);
	tapir_str__fini(&out[0]);
	tapir_str__fini(&out[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_leb128),
		cmocka_unit_test(text_becomes_utf16_and_what_is_none_a_mark),
		cmocka_unit_test(rows_say_what_differs),
		cmocka_unit_test(blob_fields_of_both_forms_are_taken),
		cmocka_unit_test(blob_objects_keep_their_members),
		cmocka_unit_test(malformed_blobs_have_no_fields),
		cmocka_unit_test(methods_get_a_module_when_they_have_none),
		cmocka_unit_test(cpu_time_is_right_at_any_frequency),
		cmocka_unit_test(short_threads_are_not_left_out),
		cmocka_unit_test(file_begins_and_ends_as_the_format_says_and_is_the_same_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
