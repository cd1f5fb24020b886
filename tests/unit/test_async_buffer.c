// SPDX-License-Identifier: GPL-2.0-or-later
/* Buffers of .NET 11's AsyncProfilerEventSource: read, or refused as a whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "async_builder.h"
#include "base/str.h"

#define FIRST 1000u

static void describe(void *ctx, const struct tapir_async_header *header,
		     const struct tapir_async_event *event)
{
	struct tapir_str *out = ctx;

	assert_int_equal(header->tid, 42);
	tapir_str__addf(out, "%u@%u", event->id, (unsigned)(event->ticks - FIRST));
	if (event->dispatcher)
		tapir_str__addf(out, " d%u", (unsigned)event->dispatcher);
	if (event->parent)
		tapir_str__addf(out, " p%u", (unsigned)event->parent);
	if (event->unwound)
		tapir_str__addf(out, " u%u", (unsigned)event->unwound);
	for (unsigned i = 0; i < event->frame_cnt; i++)
		tapir_str__addf(out, " %llx", (unsigned long long)event->frames[i]);
	tapir_str__addc(out, '\n');
}

static enum tapir_async_fault read_as(struct tapir_async_layout *layout, struct tapir_str *out,
				      const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1); /* of its length, so that a read past it is seen */
	enum tapir_async_fault fault;

	memcpy(copy, bytes, len);
	fault = tapir_async_buffer__read(layout, copy, len, NULL, describe, out);
	free(copy);
	return fault;
}

static void reads(struct tapir_async_layout *layout, struct async_builder *b, const char *expected)
{
	struct tapir_str out = {};

	async_finish(b);
	assert_int_equal(read_as(layout, &out, b->bytes, b->len), TAPIR_ASYNC_OK);
	assert_string_equal(out.data ? out.data : "", expected);
	tapir_str__fini(&out);
}

/* Nothing of it comes out, and nothing is learnt. */
static void refuses(struct async_builder *b, enum tapir_async_fault expected)
{
	struct tapir_async_layout layout, before;
	struct tapir_str out = {};

	tapir_async_layout__init(&layout);
	before = layout;
	assert_int_equal(read_as(&layout, &out, b->bytes, b->len), expected);
	assert_null(out.data);
	assert_memory_equal(&layout, &before, sizeof(layout));
}

static const uint64_t frames[] = {0x7f0000001000, 0x7f0000000800, 0xffffffffffff0000, 0x10};

static void add_all(struct async_builder *b)
{
	async_plain(b, TAPIR_ASYNC_RESET_THREAD, FIRST + 1);
	async_numbers(b, TAPIR_ASYNC_RUNTIME_CREATE, FIRST + 1, (const uint64_t[]){3, 4}, 2);
	async_stack(b, TAPIR_ASYNC_RUNTIME_CREATE_STACK, FIRST + 2, 5, frames, 1);
	async_numbers(b, TAPIR_ASYNC_RUNTIME_RESUME, FIRST + 300, (const uint64_t[]){4}, 1);
	async_stack(b, TAPIR_ASYNC_RUNTIME_RESUME_STACK, FIRST + 300, 4, frames, 4);
	async_plain(b, TAPIR_ASYNC_RUNTIME_COMPLETE_METHOD, FIRST + 70000);
	async_numbers(b, TAPIR_ASYNC_RUNTIME_UNWIND, FIRST + 70001, (const uint64_t[]){2}, 1);
	async_plain(b, TAPIR_ASYNC_RUNTIME_COMPLETE, FIRST + 70002);
	async_stack(b, TAPIR_ASYNC_MACHINE_RESUME_STACK, FIRST + 70003, 6, frames, 2);
	async_stack(b, TAPIR_ASYNC_MACHINE_APPEND_STACK, FIRST + 70004, 6, frames + 2, 1);
	async_stack(b, TAPIR_ASYNC_RUNTIME_SUSPEND_STACK, FIRST + 70005, 9, frames, 0);
	async_numbers(b, TAPIR_ASYNC_SYNC_CLOCK, FIRST + 70006, (const uint64_t[]){1, 2}, 2);
}

static void events_are_read_with_their_times_and_frames(void **state)
{
	struct tapir_async_layout layout;
	struct async_builder b;

	(void)state;
	tapir_async_layout__init(&layout);
	async_start(&b, 42, FIRST);
	add_all(&b);
	reads(&layout, &b,
	      "20@1\n1@1 d4 p3\n6@2 d5 p6 7f0000001000\n2@300 d4\n"
	      "7@300 d4 7f0000001000 7f0000000800 ffffffffffff0000 10\n10@70000\n5@70001 u2\n"
	      "4@70002\n16@70003 d6 7f0000001000 7f0000000800\n19@70004 d6 ffffffffffff0000\n"
	      "8@70005 d9\n23@70006\n");
	async_start(&b, 42, FIRST);
	reads(&layout, &b, "");
}

/* What is not known, be it an event or the end of one, is skipped by its length. */
static void unknown_parts_are_skipped_when_the_runtime_describes_them(void **state)
{
	static const uint8_t entries[][3] = {{24, 1, 1}, {200, 1, 2}, {2, 2, 1}, {10, 2, 1}};
	static const uint8_t later[] = {4, 0xff, 0xff, 0xff};
	struct tapir_async_layout layout;
	struct async_builder b;

	(void)state;
	tapir_async_layout__init(&layout);
	async_start(&b, 42, FIRST);
	async_metadata(&b, FIRST, 1000000000, entries, 4);
	reads(&layout, &b, "22@0\n");
	assert_int_equal(layout.ticks_per_s, 1000000000);
	async_start(&b, 42, FIRST);
	memcpy(b.length_bytes, layout.length_bytes, sizeof(b.length_bytes));
	async_event(&b, 24, FIRST + 1, (const uint8_t *)"0123456789abcdef", 16);
	async_event(&b, 200, FIRST + 1, b.bytes, 300);
	async_event(&b, TAPIR_ASYNC_RUNTIME_RESUME, FIRST + 2, later, sizeof(later));
	async_event(&b, TAPIR_ASYNC_RUNTIME_COMPLETE_METHOD, FIRST + 3, later, 1);
	reads(&layout, &b, "24@1\n200@1\n2@2 d4\n10@3\n");
}

static void a_buffer_that_contradicts_itself_is_refused(void **state)
{
	static const uint8_t two[] = {4, 5};
	struct async_builder good, b;

	(void)state;
	async_start(&good, 42, FIRST);
	add_all(&good);
	async_finish(&good);
	for (size_t len = 0; len < good.len; len++) {
		b = good;
		b.len = len;
		refuses(&b, TAPIR_ASYNC_TRUNCATED);
	}
	for (b = good, b.len--; b.len > TAPIR_ASYNC_HEADER_BYTES; b.len--) {
		struct tapir_async_layout layout;
		struct tapir_str out = {};

		async_le(&b, 1, b.len, 4); /* cut, and it says so */
		tapir_async_layout__init(&layout);
		assert_int_not_equal(read_as(&layout, &out, b.bytes, b.len), TAPIR_ASYNC_OK);
		assert_null(out.data);
	}
	b = good;
	async_le(&b, 0, 2, 1);
	refuses(&b, TAPIR_ASYNC_VERSION);
	b = good;
	async_le(&b, 17, b.cnt + 1, 4);
	refuses(&b, TAPIR_ASYNC_COUNT);
	b = good;
	async_le(&b, 29, b.last - 1, 8);
	refuses(&b, TAPIR_ASYNC_TIMES);
	async_start(&b, 42, UINT64_MAX - 1);
	async_plain(&b, TAPIR_ASYNC_RESET_THREAD, 1); /* past the last tick there is */
	async_finish(&b);
	refuses(&b, TAPIR_ASYNC_TIMES);
	async_start(&b, 42, FIRST);
	async_event(&b, TAPIR_ASYNC_RUNTIME_RESUME, FIRST, two, 2); /* of the first version */
	async_finish(&b);
	refuses(&b, TAPIR_ASYNC_LENGTHS);
	async_start(&b, 42, FIRST);
	async_event(&b, 24, FIRST, two, 2);
	async_finish(&b);
	refuses(&b, TAPIR_ASYNC_UNDESCRIBED);
}

static void numbers_and_tables_that_do_not_fit_are_refused(void **state)
{
	static const uint8_t too_long[] = {0xff, 0xff, 0xff, 0xff, 0xff,
					   0xff, 0xff, 0xff, 0xff, 0x02};
	static const uint8_t wide[][3] = {{24, 1, 3}};
	static const uint8_t stack[] = {0, 0, 200, 4, 1}; /* 200 frames in no bytes */
	struct async_builder b;

	(void)state;
	async_start(&b, 42, FIRST);
	async_event(&b, TAPIR_ASYNC_RUNTIME_RESUME, FIRST, too_long, sizeof(too_long));
	async_finish(&b);
	refuses(&b, TAPIR_ASYNC_LENGTHS);
	async_start(&b, 42, FIRST);
	async_metadata(&b, FIRST, 1, wide, 1);
	async_finish(&b);
	refuses(&b, TAPIR_ASYNC_LENGTHS);
	async_start(&b, 42, FIRST);
	async_event(&b, TAPIR_ASYNC_RUNTIME_RESUME_STACK, FIRST, stack, sizeof(stack));
	async_finish(&b);
	refuses(&b, TAPIR_ASYNC_LENGTHS);
}

/*
 * As .NET 11's previews wrote under the same version number: fewer events, without lengths; before
 * that a header without the number of a thread.
 */
static void layouts_of_previews_are_refused(void **state)
{
	struct async_builder b;

	(void)state;
	async_start(&b, 42, FIRST);
	async_byte(&b, 11); /* a reset of the thread; now it begins a state machine */
	async_number(&b, 0);
	async_byte(&b, 2); /* resumes task 300 */
	async_number(&b, 5);
	async_number(&b, 300);
	b.last += 5;
	b.cnt = 2;
	async_finish(&b);
	refuses(&b, TAPIR_ASYNC_LENGTHS);

	async_start(&b, 42, FIRST);
	b.len = 33;
	async_le(&b, 5, 1, 4);
	async_le(&b, 9, 42, 8);
	async_le(&b, 17, FIRST, 8);
	async_le(&b, 25, FIRST + 5, 8);
	async_byte(&b, 17);
	async_number(&b, 5);
	async_le(&b, 1, b.len, 4);
	refuses(&b, TAPIR_ASYNC_TRUNCATED);
	for (unsigned i = 0; i < 4; i++) {
		async_byte(&b, 17);
		async_number(&b, 0);
	}
	async_le(&b, 1, b.len, 4);
	refuses(&b, TAPIR_ASYNC_COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_read_with_their_times_and_frames),
		cmocka_unit_test(unknown_parts_are_skipped_when_the_runtime_describes_them),
		cmocka_unit_test(a_buffer_that_contradicts_itself_is_refused),
		cmocka_unit_test(numbers_and_tables_that_do_not_fit_are_refused),
		cmocka_unit_test(layouts_of_previews_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
