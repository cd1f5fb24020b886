// SPDX-License-Identifier: GPL-2.0-or-later
/* Flight recordings of a JVM: a small one that is built here, and all that can be wrong with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/jvm/heap/jvm_live.h"

#define JFR_TEXTS                                                                                  \
	"root", "metadata", "class", "field", "name", "id", "constantPool", "dimension", "true",   \
		"1", "long", "java.lang.String", "jdk.types.Symbol", "string", "java.lang.Class",  \
		"jdk.types.Method", "type", "jdk.types.StackFrame", "method",                      \
		"jdk.types.StackTrace", "frames", "jdk.types.OldObject", "description",            \
		"jdk.OldObjectSample", "startTime", "stackTrace", "object", "10", "11", "12",      \
		"13", "14", "15", "16", "17", "20"
#include "jfr_case.h"

static void put_metadata(void)
{
	size_t at = begin_metadata();

	put_idx("root"), put(0), put(1);
	put_idx("metadata"), put(0), put(9);
	put_class("10", "long", 0);
	put_class("11", "java.lang.String", 0);
	put_class("12", "jdk.types.Symbol", 1), put_field("string", "11", PLAIN);
	put_class("13", "java.lang.Class", 1), put_field("name", "12", POOL);
	put_class("14", "jdk.types.Method", 2);
	put_field("type", "13", POOL), put_field("name", "12", POOL);
	put_class("15", "jdk.types.StackFrame", 1), put_field("method", "14", POOL);
	put_class("16", "jdk.types.StackTrace", 1), put_field("frames", "15", ARRAY);
	put_class("17", "jdk.types.OldObject", 2);
	put_field("type", "13", POOL), put_field("description", "11", PLAIN);
	put_class("20", "jdk.OldObjectSample", 3);
	put_field("startTime", "10", PLAIN), put_field("stackTrace", "16", POOL);
	put_field("object", "17", POOL);
	end_event(at);
}

static void put_symbol(uint64_t key, const char *text)
{
	put(key);
	put_text(text);
}

static void put_pools(void)
{
	size_t at = begin_event(1);

	put(1), put(0), put(0), put(0), put(5);
	put(12), put(3);
	put_symbol(1, "[B"), put_symbol(2, "com/Shop"), put_symbol(3, "place");
	put(13), put(2), put(1), put(1), put(2), put(2);
	put(14), put(1), put(7), put(2), put(3);
	put(16), put(1), put(1), put(1), put(7);
	put(17), put(1), put(1), put(1), put(0);
	end_event(at);
}

static void put_sample(void)
{
	size_t at = begin_event(20);

	put(300), put(1), put(1);
	end_event(at);
}

static void build(void)
{
	begin_chunk();
	put_sample(); /* before what describes it */
	put_pools();
	put_metadata();
	put_sample();
	end_chunk();
}

/* From a copy of that size, so that what reads beyond it is found. */
static int parse(struct tapir_heap_live *live, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	int err;

	assert_non_null(copy);
	memcpy(copy, file.bytes, len);
	*live = (struct tapir_heap_live){};
	err = tapir_jvm_live__parse(live, copy, len);
	free(copy);
	return err;
}

static void equal_samples_are_a_row(void **state)
{
	struct tapir_heap_live live;

	(void)state;
	build();
	assert_int_equal(parse(&live, file.len), 0);
	assert_int_equal(live.cnt, 2);
	assert_int_equal(live.rows.cnt, 1);
	assert_string_equal(live.rows.data[0].type, "byte[]");
	assert_string_equal(live.rows.data[0].stack, "com.Shop.place");
	assert_string_equal(live.rows.data[0].path, "");
	tapir_heap_live__fini(&live);
}

static void chunks_follow_one_another(void **state)
{
	struct tapir_heap_live live;
	size_t len;

	(void)state;
	build();
	len = file.len;
	memcpy(file.bytes + len, file.bytes, len);
	assert_int_equal(parse(&live, 2 * len), 0);
	assert_int_equal(live.cnt, 4);
	assert_int_equal(live.rows.cnt, 1);
	tapir_heap_live__fini(&live);
	assert_int_equal(parse(&live, 2 * len - 1), -EPROTO);
	assert_int_equal(live.cnt, 2);
	tapir_heap_live__fini(&live);
}

static void a_cut_file_is_refused(void **state)
{
	struct tapir_heap_live live;

	(void)state;
	build();
	for (size_t len = 1; len < file.len; len++) {
		assert_int_equal(parse(&live, len), -EPROTO);
		assert_int_equal(live.cnt, 0);
		tapir_heap_live__fini(&live);
	}
	/* The chunk says that it is as short as the file is. */
	for (size_t len = 68; len < file.len; len++) {
		build();
		put_big(8, len, 8);
		assert_true(parse(&live, len) == -EPROTO || live.cnt <= 1);
		tapir_heap_live__fini(&live);
	}
}

static void any_wrong_byte_is_survived(void **state)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	struct tapir_heap_live live;
	size_t len;

	(void)state;
	build();
	len = file.len;
	for (size_t at = 0; at < len; at++)
		for (unsigned v = 0; v < sizeof(values); v++) {
			int err;

			build();
			file.bytes[at] = values[v];
			err = parse(&live, len);
			assert_true(!err || err == -EPROTO);
			assert_true(live.cnt <= 2);
			tapir_heap_live__fini(&live);
		}
}

/* A class that is a member of itself, of which the pool has a value. */
static void a_class_within_itself_ends(void **state)
{
	struct tapir_heap_live live;
	size_t at;

	(void)state;
	begin_chunk();
	at = begin_event(1);
	put(1), put(0), put(0), put(0), put(1);
	put(12), put(1), put(1), put(0);
	end_event(at);
	at = begin_metadata();
	put_idx("root"), put(0), put(1);
	put_class("12", "jdk.types.Symbol", 2);
	put_field("string", "12", PLAIN), put_field("type", "12", PLAIN);
	end_event(at);
	end_chunk();
	assert_int_equal(parse(&live, file.len), -EPROTO);
	tapir_heap_live__fini(&live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_samples_are_a_row),
		cmocka_unit_test(chunks_follow_one_another),
		cmocka_unit_test(a_cut_file_is_refused),
		cmocka_unit_test(any_wrong_byte_is_survived),
		cmocka_unit_test(a_class_within_itself_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
