// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Linux user_events (include/tapir/logger.h) against a stand-in for the kernel, since neither this
 * machine's nor Debian's kernels have them: it keeps what is registered, sets and clears the bits,
 * and reads each record by nothing but the description that was registered for it.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tapir/dynamic.h"
#include "tapir/listener.h"
#include "tapir/logger.h"
#include "usdt/logger/user_events.h"

#define PROVIDER "Unit-User.Events"
#define FIRST	 5 /* the first index that the stand-in gives */
#define PLACES	 16

TAPIR_EVENT(Plain, PROVIDER, "Plain", 1, 0, TAPIR_WARNING, 0x1, (U32, Number), (UTF8, Text),
	    (I16, Small), (F64, Ratio), (BOOL, Yes), (UTF16, Wide), (GUID, Id));
TAPIR_EVENT(Second, PROVIDER, "2nd", 2, 12, TAPIR_WARNING, 0x1);

static struct tapir_event *const events[] = {&Plain, &Second};
static const struct tapir_selection all = {PROVIDER, NULL, NULL, 0, 0, {0}};
static const uint8_t guid[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const uint16_t wide[] = {'K', 0xf6, 'l', 'n', 0};

/* ---- the kernel's stand-in -------------------------------------------------------------------- */

static struct {
	char description[512];
	uint32_t *word;
} kernel[PLACES];
static char seen[4096]; /* the records, as text */
static int open_result, write_error, fault_cnt;

static int open_it(void)
{
	return open_result ? open_result : open("/dev/null", O_RDWR | O_CLOEXEC);
}

static int register_it(struct user_events_reg *reg)
{
	const char *text = (const char *)(uintptr_t)reg->description_va; // NOLINT

	fault_cnt += reg->size != sizeof(*reg) || reg->size != 28 || reg->enable_bit ||
		     reg->enable_size != 4 || reg->flags || reg->enable_va % 4 ||
		     strlen(text) >= 512;
	for (unsigned i = 0; i < PLACES; i++) {
		if (kernel[i].word)
			continue;
		strcpy(kernel[i].description, text);
		kernel[i].word = (uint32_t *)(uintptr_t)reg->enable_va; // NOLINT
		reg->write_index = FIRST + i;
		return 0;
	}
	return -ENOSPC;
}

static int unregister_it(const struct user_events_unreg *unreg)
{
	fault_cnt += unreg->size != 16 || unreg->disable_bit;
	for (unsigned i = 0; i < PLACES; i++) {
		if (kernel[i].word != (uint32_t *)(uintptr_t)unreg->disable_va) // NOLINT
			continue;
		kernel[i].word = NULL;
		return 0;
	}
	fault_cnt++;
	return -ENOENT;
}

static int control_it(int fd, unsigned long request, void *arg)
{
	(void)fd;
	/* _IOWR('*', 0, struct user_reg *), _IOW('*', 2, struct user_unreg *) */
	if (request == (3ul << 30 | 8ul << 16 | '*' << 8 | 0))
		return register_it(arg);
	if (request == (1ul << 30 | 8ul << 16 | '*' << 8 | 2))
		return unregister_it(arg);
	return -ENOTTY;
}

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	size_t len = strlen(seen);
	va_list args;

	va_start(args, format);
	vsnprintf(seen + len, sizeof(seen) - len, format, args);
	va_end(args);
}

static void show_located(const uint8_t *record, size_t bytes, size_t at, int is_text)
{
	uint32_t word;
	size_t from, len;

	memcpy(&word, record + at, 4);
	from = at + 4 + (word & 0xffff);
	len = word >> 16;
	if (from + len > bytes || (is_text && (!len || record[from + len - 1]))) {
		fault_cnt++;
		return;
	}
	if (is_text) {
		say("%s", (const char *)record + from);
		return;
	}
	for (size_t i = 0; i < len; i++)
		say("%02x", record[from + i]);
}

/* One field of a description: "u32 Number". Its bytes in the record's fixed part. */
static size_t show_field(const uint8_t *record, size_t bytes, size_t at, const char *field)
{
	static const struct {
		const char *type;
		size_t size;
	} types[] = {{"u8 ", 1},  {"s8 ", 1},  {"u16 ", 2}, {"s16 ", 2},
		     {"u32 ", 4}, {"s32 ", 4}, {"u64 ", 8}, {"s64 ", 8}};
	const char *name = strrchr(field, ' ') + 1;

	say(" %s=", name);
	if (!strncmp(field, "__rel_loc ", 10)) {
		show_located(record, bytes, at, !strncmp(field + 10, "char[] ", 7));
		return 4;
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		uint64_t value = 0;

		if (strncmp(field, types[i].type, strlen(types[i].type)) != 0)
			continue;
		memcpy(&value, record + at, types[i].size);
		say("%llx", (unsigned long long)value);
		return types[i].size;
	}
	fault_cnt++;
	return 0;
}

static void show_record(const char *description, const uint8_t *record, size_t bytes)
{
	char copy[512], *fields, *field, *rest = NULL;
	size_t at = 0;

	strcpy(copy, description);
	fields = strchr(copy, ' ');
	if (fields)
		*fields++ = 0;
	say("%s", copy);
	for (field = fields ? strtok_r(fields, ";", &rest) : NULL; field;
	     field = strtok_r(NULL, ";", &rest))
		at += show_field(record, bytes, at, field + strspn(field, " "));
	say("\n");
}

static ssize_t write_it(int fd, const struct iovec *pieces, int cnt)
{
	static uint8_t record[131072];
	size_t bytes = 0;
	uint32_t index;

	(void)fd;
	for (int i = 0; i < cnt; i++) {
		memcpy(record + bytes, pieces[i].iov_base, pieces[i].iov_len);
		bytes += pieces[i].iov_len;
	}
	memcpy(&index, record, 4);
	if (write_error || index < FIRST || index >= FIRST + PLACES) {
		errno = EBADF;
		return -1;
	}
	show_record(kernel[index - FIRST].description, record + 4, bytes - 4);
	return (ssize_t)bytes;
}

/* The bit of the event that is called so, as when a tool enables it. */
static void turn(const char *name, int is_on)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (kernel[i].word && !strncmp(kernel[i].description, name, strlen(name)))
			__atomic_store_n(kernel[i].word, (uint32_t)is_on, __ATOMIC_RELAXED);
	assert_int_equal(tapir_provider__poll(), 0);
}

/* ---- cases -------------------------------------------------------------------------------------- */

static struct tapir_provider *provider;

static int setup(void **state)
{
	(void)state;
	user_events_system = (struct user_events_system){open_it, control_it, write_it};
	memset(kernel, 0, sizeof(kernel));
	open_result = write_error = fault_cnt = 0;
	seen[0] = 0;
	return tapir_provider__new(PROVIDER, NULL, events, 2, NULL, &provider);
}

static int teardown(void **state)
{
	(void)state;
	tapir_provider__free(provider);
	return tapir_library__fini() || fault_cnt;
}

static void records_are_read_by_their_description(void **state)
{
	struct tapir_user_events_counts counts;
	struct tapir_user_events *u;

	(void)state;
	assert_int_equal(tapir_user_events__open(&all, 1, &u), 0);
	assert_string_equal(kernel[0].description,
			    "Unit_User_Events_Plain u32 Number; __rel_loc char[] Text; s16 Small; "
			    "u64 Ratio_bits; u32 Yes; __rel_loc char[] Wide; __rel_loc u8[] Id");
	assert_string_equal(kernel[1].description, "Unit_User_Events_2nd_V12");
	assert_false(TAPIR_EVENT_ENABLED(Plain));
	turn("Unit_User_Events_Plain", 1);
	assert_true(TAPIR_EVENT_ENABLED(Plain));
	assert_false(TAPIR_EVENT_ENABLED(Second));
	TAPIR_FIRE(Plain, 7, "seven", -2, 1.0, 1, wide, guid);
	TAPIR_FIRE(Second);
	turn("Unit_User_Events_2nd", 1);
	TAPIR_FIRE(Second);
	turn("Unit_User_Events_Plain", 0);
	TAPIR_FIRE(Plain, 8, "eight", 0, 0, 0, wide, guid);
	assert_string_equal(seen, "Unit_User_Events_Plain Number=7 Text=seven Small=fffe "
				  "Ratio_bits=3ff0000000000000 Yes=1 Wide=K\xc3\xb6ln "
				  "Id=0102030405060708090a0b0c0d0e0f10\n"
				  "Unit_User_Events_2nd_V12\n");
	tapir_user_events__counts(u, &counts);
	assert_int_equal(counts.registered_cnt, 2);
	assert_int_equal(counts.written_cnt, 2);
	assert_int_equal(counts.lost_cnt + counts.refused_cnt, 0);
	assert_int_equal(tapir_user_events__close(u), 0);
	assert_null(kernel[0].word);
	assert_null(kernel[1].word);
}

static void the_librarys_thread_finds_what_is_enabled(void **state)
{
	struct tapir_user_events *u;

	(void)state;
	assert_int_equal(tapir_user_events__open(&all, 1, &u), 0);
	__atomic_store_n(kernel[0].word, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 5000 && !TAPIR_EVENT_ENABLED(Plain); i++)
		usleep(10000);
	assert_true(TAPIR_EVENT_ENABLED(Plain));
	assert_int_equal(tapir_user_events__close(u), 0);
	assert_false(TAPIR_EVENT_ENABLED(Plain));
}

static void without_the_kernels_support_events_are_counted(void **state)
{
	struct tapir_user_events_counts counts;
	struct tapir_user_events *u;

	(void)state;
	open_result = -ENOENT;
	assert_int_equal(tapir_user_events__open(&all, 1, &u), 0);
	tapir_user_events__counts(u, &counts);
	assert_int_equal(counts.registered_cnt, 0);
	assert_int_equal(counts.refused_cnt, 2);
	assert_int_equal(counts.refused_errno, ENOENT);
	assert_int_equal(tapir_provider__poll(), 0);
	assert_false(TAPIR_EVENT_ENABLED(Plain));
	assert_int_equal(tapir_user_events__close(u), 0);
	assert_int_equal(tapir_user_events__close(NULL), 0);
	assert_int_equal(tapir_user_events__open(NULL, 0, &u), -EINVAL);
}

/* Of a provider that comes later, and goes. */
static void events_come_and_go_with_their_providers(void **state)
{
	static const struct tapir_event_field fields[] = {
		{"A", NULL, 0, 0, TAPIR_TYPE_U8, TAPIR_REPEAT_COUNT_U16, {0, 0}},
		{"B", NULL, 0, 0, TAPIR_TYPE_UTF8N, TAPIR_REPEAT_COUNT_U16, {0, 0}},
		{"1C", NULL, 0, 0, TAPIR_TYPE_U16, TAPIR_REPEAT_NONE, {0, 0}},
	};
	struct tapir_event_about about = {NULL,		 "Late", fields, 0, 1,	0,
					  TAPIR_WARNING, 3,	 0,	 0, {0}};
	const struct tapir_selection ask = {"Unit-Late", NULL, NULL, 0, 0, {0}};
	struct tapir_user_events_counts counts;
	struct tapir_user_events *u;
	struct tapir_dynamic *d;
	struct tapir_event *late;

	(void)state;
	assert_int_equal(tapir_user_events__open(&ask, 1, &u), 0);
	assert_null(kernel[0].word);
	assert_int_equal(tapir_dynamic__new("Unit-Late", NULL, NULL, &d), 0);
	assert_int_equal(tapir_event__define(d, &about, &late), 0);
	assert_string_equal(kernel[0].description,
			    "Unit_Late_Late __rel_loc u8[] A; __rel_loc char[] B; u16 _1C");
	turn("Unit_Late", 1);
	tapir_event__fire(late, "\2\0\xab\xcd\3\0xyz\7\1", 11);
	tapir_event__fire(late, "\0\0", 2); /* it ends early */
	write_error = 1;
	tapir_event__fire(late, "\0\0", 2);
	assert_string_equal(seen, "Unit_Late_Late A=abcd B=xyz _1C=107\n"
				  "Unit_Late_Late A= B= _1C=0\n");
	tapir_dynamic__free(d);
	assert_null(kernel[0].word);
	tapir_user_events__counts(u, &counts);
	assert_int_equal(counts.registered_cnt, 0);
	assert_int_equal(counts.written_cnt, 2);
	assert_int_equal(counts.lost_cnt, 1);
	assert_int_equal(tapir_user_events__close(u), 0);
}

static void what_is_too_long_is_one_field(void **state)
{
	static struct tapir_event_field fields[40];
	struct tapir_event_about about = {NULL,		 "Long", fields, 0, 1,	0,
					  TAPIR_WARNING, 40,	 0,	 0, {0}};
	const struct tapir_selection ask = {"Unit-*", "Lo*", NULL, 0, 0, {0}};
	struct tapir_user_events *u;
	struct tapir_dynamic *d;
	struct tapir_event *event;
	uint8_t payload[40];

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		fields[i] = (struct tapir_event_field){
			"N", NULL, 0, 0, TAPIR_TYPE_U8, TAPIR_REPEAT_NONE, {0, 0}};
		payload[i] = (uint8_t)i;
	}
	assert_int_equal(tapir_user_events__open(&ask, 1, &u), 0);
	assert_int_equal(tapir_dynamic__new("Unit-Late", NULL, NULL, &d), 0);
	assert_int_equal(tapir_event__define(d, &about, &event), 0);
	assert_string_equal(kernel[0].description, "Unit_Late_Long __rel_loc u8[] Payload");
	turn("Unit_Late", 1);
	tapir_event__fire(event, payload, sizeof(payload));
	assert_true(!strncmp(seen, "Unit_Late_Long Payload=000102030405", 35));
	assert_int_equal(tapir_user_events__close(u), 0);
	tapir_dynamic__free(d);
}

static void records_beyond_reach_are_counted(void **state)
{
	static uint16_t much[30000];
	static char text[TAPIR_PAYLOAD_BYTES];
	struct tapir_user_events_counts counts;
	struct tapir_user_events *u;

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(much) / sizeof(much[0]); i++)
		much[i] = 'w';
	memset(text, 't', sizeof(text) - 1000);
	assert_int_equal(tapir_user_events__open(&all, 1, &u), 0);
	turn("Unit_User_Events_Plain", 1);
	TAPIR_FIRE(Plain, 1, "short", 0, 0, 0, much, guid);
	assert_non_null(strstr(seen, "wwww... Id=01"));
	seen[0] = 0;
	TAPIR_FIRE(Plain, 2, text, 0, 0, 0, wide, guid);
	TAPIR_FIRE(Plain, 3, text, 0, 0, 0, much, guid); /* no event may be as long */
	tapir_user_events__counts(u, &counts);
	assert_int_equal(counts.written_cnt + counts.lost_cnt, 3);
	assert_true(counts.lost_cnt >= 1);
	assert_int_equal(tapir_user_events__close(u), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(records_are_read_by_their_description),
		CASE(the_librarys_thread_finds_what_is_enabled),
		CASE(without_the_kernels_support_events_are_counted),
		CASE(events_come_and_go_with_their_providers),
		CASE(what_is_too_long_is_one_field),
		CASE(records_beyond_reach_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
