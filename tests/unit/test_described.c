// SPDX-License-Identifier: GPL-2.0-or-later
/* Events of include/tapir/dynamic.h whose description comes with them. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "tapir/dynamic.h"
#include "tapir/listener.h"
#include "tapir/payload_parts.h"

#define PROVIDER "Unit-Described"
#define FIRERS	 8
#define ONE(name, type)                                                                            \
	{                                                                                          \
		name, NULL, 0, 0, TAPIR_TYPE_##type, TAPIR_REPEAT_NONE,                            \
		{                                                                                  \
			0, 0                                                                       \
		}                                                                                  \
	}

static const struct tapir_event_field point[] = {ONE("X", I32), ONE("Label", UTF8)};
static const struct tapir_event_field shape[] = {
	ONE("Id", U64), {"At", point, 2, 0, TAPIR_TYPE_STRUCT, TAPIR_REPEAT_NONE, {0, 0}}};
static const struct tapir_event_field drawing[] = {
	ONE("Count", U32), {"Shape", shape, 2, 0, TAPIR_TYPE_STRUCT, TAPIR_REPEAT_NONE, {0, 0}}};
static const uint8_t payload[] = {1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 'p', 0};

static struct tapir_dynamic *dynamic;
static struct tapir_listener *listener;

struct seen {
	uint32_t cnt, wrong_cnt, kind_cnt;
	const struct tapir_event_kind *kinds[8];
} seen;

static void see(const struct tapir_event_record *r, void *ctx)
{
	const struct tapir_event_about *about = r->kind->about;
	struct tapir_payload_part parts[2];
	uint32_t i = 0;

	(void)ctx;
	seen.cnt++;
	if (about->fields[0].type == TAPIR_TYPE_U32 &&
	    (about->field_cnt != 2 || about->fields[1].member_cnt != 2 ||
	     strcmp(about->fields[1].members[1].members[1].name, "Label") ||
	     tapir_payload__locate(about, r->payload, r->payload_bytes, parts, 2) != 2 ||
	     parts[1].bytes != 14))
		seen.wrong_cnt++;
	while (i < seen.kind_cnt && seen.kinds[i] != r->kind)
		i++;
	if (i == seen.kind_cnt && i < 8)
		seen.kinds[seen.kind_cnt++] = r->kind;
}

static int open_all(void **state)
{
	const struct tapir_selection all = {PROVIDER, NULL, NULL, 0, 0, {0}};
	const struct tapir_listener_opts polled = {.size = sizeof(polled),
						   .flags = TAPIR_LISTENER_POLLED};

	(void)state;
	memset(&seen, 0, sizeof(seen));
	return tapir_dynamic__new(PROVIDER, NULL, NULL, &dynamic) ||
	       tapir_listener__open(&all, 1, see, NULL, &polled, &listener);
}

static int close_all(void **state)
{
	(void)state;
	tapir_listener__close(listener);
	tapir_dynamic__free(dynamic);
	return tapir_library__fini();
}

/* From the caller's stack, with names that change place: what is equal is the contents. */
static int draw(const char *field, uint8_t level)
{
	char name[16] = "Drawn", first[16];
	struct tapir_event_field fields[2] = {drawing[0], drawing[1]};
	struct tapir_event_about about = {NULL, name, fields, 0, 0, 0, level, 2, 0, 0, {0}};

	strcpy(first, field);
	fields[0].name = first;
	return tapir_described__fire(dynamic, &about, payload, sizeof(payload));
}

static void nested_fields_come_with_the_event(void **state)
{
	(void)state;
	errno = 777;
	for (int i = 0; i < 100; i++)
		assert_int_equal(draw("Count", TAPIR_INFORMATIONAL), 0);
	assert_int_equal(errno, 777);
	tapir_listener__poll(listener);
	assert_int_equal(seen.cnt, 100);
	assert_int_equal(seen.wrong_cnt, 0);
	assert_int_equal(seen.kind_cnt, 1);
}

static void another_description_is_another_event(void **state)
{
	static const struct tapir_event_field number = ONE("Count", U16);
	const struct tapir_event_about small = {NULL, "Drawn", &number, 0, 0, 0, 4, 1, 0, 0, {0}};

	(void)state;
	assert_int_equal(draw("Count", TAPIR_INFORMATIONAL), 0);
	assert_int_equal(draw("Number", TAPIR_INFORMATIONAL), 0);
	assert_int_equal(draw("Count", TAPIR_ERROR), 0);
	assert_int_equal(tapir_described__fire(dynamic, &small, payload, 2), 0);
	assert_int_equal(draw("Count", TAPIR_INFORMATIONAL), 0);
	tapir_listener__poll(listener);
	assert_int_equal(seen.cnt, 5);
	assert_int_equal(seen.wrong_cnt, 0);
	assert_int_equal(seen.kind_cnt, 4);
}

static void malformed_descriptions_are_refused(void **state)
{
	const struct tapir_event_field bad = ONE("", U8),
				       hollow = {"S", NULL, 2, 0, TAPIR_TYPE_STRUCT, 0, {0, 0}};
	struct tapir_event_about about = {NULL, "E", &bad, 0, 0, 0, 4, 1, 0, 0, {0}};

	(void)state;
	assert_int_equal(tapir_described__fire(dynamic, &about, payload, 1), -EINVAL);
	about.fields = &hollow;
	assert_int_equal(tapir_described__fire(dynamic, &about, payload, 1), -EINVAL);
	about.fields = NULL;
	assert_int_equal(tapir_described__fire(dynamic, &about, payload, 1), -EINVAL);
	about.field_cnt = 0;
	about.name = NULL;
	assert_int_equal(tapir_described__fire(dynamic, &about, NULL, 0), -EINVAL);
	about.name = "E";
	assert_int_equal(tapir_described__fire(dynamic, &about, NULL, 0), 0);
}

static void *draw_many(void *arg)
{
	for (int i = 0; i < 50; i++)
		if (draw(i % 2 ? "Odd" : "Even", TAPIR_INFORMATIONAL))
			return arg;
	return NULL;
}

static void threads_that_come_at_once_define_one_event(void **state)
{
	pthread_t threads[FIRERS];
	void *failed;

	(void)state;
	for (int i = 0; i < FIRERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, draw_many, dynamic), 0);
	for (int i = 0; i < FIRERS; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	tapir_listener__poll(listener);
	assert_int_equal(seen.cnt, FIRERS * 50);
	assert_int_equal(seen.kind_cnt, 2);
}

static void see_text(const struct tapir_event_record *r, void *ctx)
{
	char **at = ctx;

	memcpy(*at, r->payload, r->payload_bytes);
	*at += r->payload_bytes;
	*(*at)++ = ';';
}

/* A binding fires them by functions alone. */
static void pieces_are_one_event(void **state)
{
	static const struct tapir_event_field text = ONE("Text", UTF8);
	const struct tapir_event_about about = {NULL, "Said", &text, 0x4, 0, 0, 3, 1, 0, 0, {0}};
	const struct tapir_payload_piece pieces[] = {{"ab", 2}, {NULL, 0}, {"c", 1}, {"de", 3}},
					 large[] = {{payload, 1}, {payload, SIZE_MAX}};
	const struct tapir_selection all = {PROVIDER, NULL, NULL, 0, 0, {0}};
	const struct tapir_listener_opts polled = {.size = sizeof(polled),
						   .flags = TAPIR_LISTENER_POLLED};
	char texts[64], *at = texts;
	struct tapir_listener *second;
	struct tapir_event *said;

	(void)state;
	assert_false(tapir_dynamic__is_on(dynamic, 0, 0));
	assert_int_equal(tapir_event__define(dynamic, &about, &said), 0);
	assert_true(tapir_dynamic__is_on(dynamic, TAPIR_WARNING, 0x4));
	assert_false(tapir_dynamic__is_on(dynamic, TAPIR_WARNING, 0x3));
	assert_true(tapir_event__is_on(said));
	assert_int_equal(tapir_listener__open(&all, 1, see_text, &at, &polled, &second), 0);
	tapir_event__emit(said, "x", 2);
	tapir_event__emit_pieces(said, pieces, 4);
	tapir_event__emit_pieces(said, NULL, 0);
	tapir_event__emit_pieces(said, large, 2);
	assert_int_equal(tapir_listener__poll(second), 3);
	assert_int_equal(tapir_listener__lost(second, PROVIDER), 1);
	assert_memory_equal(texts, "x\0;abcde\0;;", 11);
	assert_int_equal(tapir_listener__close(second), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nested_fields_come_with_the_event),
		TEST(another_description_is_another_event),
		TEST(malformed_descriptions_are_refused),
		TEST(pieces_are_one_event),
		TEST(threads_that_come_at_once_define_one_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
