// SPDX-License-Identifier: GPL-2.0-or-later
/* Flight recordings of a JVM as recordings: a small one that is built here, cut and strange ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/fields.h"
#include "import_case.h"
#include "trace/family.h"

#define JFR_TEXTS                                                                                  \
	"root", "metadata", "class", "field", "annotation", "name", "id", "value-0",               \
		"constantPool", "dimension", "true", "1", "long", "int", "boolean", "float",       \
		"java.lang.String", "jdk.types.Symbol", "string", "java.lang.Class",               \
		"jdk.types.Method", "type", "descriptor", "jdk.types.StackFrame", "method",        \
		"jdk.types.StackTrace", "truncated", "frames", "java.lang.Thread", "osThreadId",   \
		"javaThreadId", "javaName", "jdk.jfr.Timespan", "TICKS", "MILLISECONDS",           \
		"jdk.jfr.Unsigned", "jdk.ExecutionSample", "jdk.ActiveSetting", "jdk.ThreadSleep", \
		"shop.Order", "value", "time", "startTime", "duration", "eventThread",             \
		"sampledThread", "stackTrace", "pid", "share", "count", "jdk.JVMInformation",      \
		"jdk.DataLoss", "amount", "10", "11", "12", "13", "14", "15", "16", "17", "18",    \
		"19", "20", "21", "30", "31", "32", "33", "34", "35"
#include "jfr_case.h"

#define LONG	"10"
#define TEXT	"11"
#define SYMBOL	"12"
#define CLASS	"13"
#define METHOD	"14"
#define FRAME	"15"
#define TRACE	"16"
#define THREAD	"17"
#define BOOL	"18"
#define INT	"19"
#define FLOAT	"20"
#define SPAN	"21"
#define TICK_HZ 1000u
#define UTC_NS	5000000000ull
#define TICKS	100u

/* A length of time in that unit. */
static void put_span(const char *name, const char *unit)
{
	put_idx("field");
	put(2);
	put_pair("name", name);
	put_pair("class", LONG);
	put(1);
	put_idx("annotation");
	put(2);
	put_pair("class", SPAN);
	put_pair("value-0", unit);
	put(0);
}

static void put_metadata(void)
{
	size_t at = begin_metadata();

	put_idx("root"), put(0), put(1);
	put_idx("metadata"), put(0), put(18);
	put_class(LONG, "long", 0);
	put_class(INT, "int", 0);
	put_class(BOOL, "boolean", 0);
	put_class(FLOAT, "float", 0);
	put_class(TEXT, "java.lang.String", 0);
	put_class(SYMBOL, "jdk.types.Symbol", 1), put_field("string", TEXT, PLAIN);
	put_class(CLASS, "java.lang.Class", 1), put_field("name", SYMBOL, POOL);
	put_class(METHOD, "jdk.types.Method", 3), put_field("type", CLASS, POOL);
	put_field("name", SYMBOL, POOL), put_field("descriptor", SYMBOL, POOL);
	put_class(FRAME, "jdk.types.StackFrame", 1), put_field("method", METHOD, POOL);
	put_class(TRACE, "jdk.types.StackTrace", 2);
	put_field("truncated", BOOL, PLAIN), put_field("frames", FRAME, ARRAY);
	put_class(THREAD, "java.lang.Thread", 3), put_field("osThreadId", LONG, PLAIN);
	put_field("javaName", TEXT, PLAIN), put_field("javaThreadId", LONG, PLAIN);
	put_class(SPAN, "jdk.jfr.Timespan", 0);
	put_class("30", "jdk.ExecutionSample", 3), put_field("startTime", LONG, PLAIN);
	put_field("sampledThread", THREAD, POOL), put_field("stackTrace", TRACE, POOL);
	put_class("31", "jdk.ActiveSetting", 4), put_field("startTime", LONG, PLAIN);
	put_field("id", LONG, PLAIN), put_field("name", TEXT, PLAIN);
	put_field("value", TEXT, PLAIN);
	put_class("32", "jdk.ThreadSleep", 4), put_field("startTime", LONG, PLAIN);
	put_span("duration", "TICKS"), put_field("eventThread", THREAD, POOL);
	put_span("time", "MILLISECONDS");
	put_class("33", "shop.Order", 6), put_field("startTime", LONG, PLAIN);
	put_span("duration", "TICKS"), put_field("eventThread", THREAD, POOL);
	put_field("share", FLOAT, PLAIN), put_field("count", INT, PLAIN);
	put_field("type", CLASS, POOL);
	put_class("34", "jdk.JVMInformation", 2), put_field("startTime", LONG, PLAIN);
	put_field("pid", LONG, PLAIN);
	put_class("35", "jdk.DataLoss", 2), put_field("startTime", LONG, PLAIN);
	put_field("amount", LONG, PLAIN);
	end_event(at);
}

static void put_pools(void)
{
	size_t at = begin_event(1);

	put(1), put(0), put(0), put(0), put(5);
	put(12), put(3);
	put(1), put_text("com/Shop"), put(2), put_text("place"), put(3), put_text("(I)V");
	put(13), put(1), put(1), put(1);
	put(14), put(1), put(7), put(1), put(2), put(3);
	put(16), put(2), put(1), put(0), put(2), put(7), put(7), put(2), put(1), put(1), put(7);
	put(17), put(2), put(1), put(4711), put_text("main"), put(1);
	put(2), put(0), put_text("guest"), put(9);
	end_event(at);
}

static void put_numbers(unsigned type, const uint64_t *numbers, size_t cnt)
{
	size_t at = begin_event(type);

	for (size_t i = 0; i < cnt; i++)
		put(numbers[i]);
	end_event(at);
}

#define PUT(type, ...)                                                                             \
	put_numbers(type, (const uint64_t[]){__VA_ARGS__},                                         \
		    sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void put_setting(const char *value)
{
	size_t at = begin_event(31);

	put(TICKS), put(30);
	put_text("period");
	put_text(value);
	end_event(at);
}

static void put_order(unsigned ticks)
{
	size_t at = begin_event(33);

	put(ticks), put(2), put(1);
	file.bytes[file.len++] = 0x3f; /* 0.5, the highest byte first */
	memset(file.bytes + file.len, 0, 3);
	file.len += 3;
	put(0xfffffffdu); /* -3 */
	put(1);
	end_event(at);
}

static void build(void)
{
	begin_chunk();
	put_big(32, UTC_NS, 8);
	put_big(48, TICKS, 8);
	put_big(56, TICK_HZ, 8);
	PUT(30, TICKS + 9, 1, 1); /* later than what follows */
	put_pools();
	put_metadata();
	put_setting("10 ms");
	PUT(34, TICKS, 4700);
	PUT(30, TICKS + 1, 2, 2);
	PUT(32, TICKS + 2, 5, 1, 5);
	put_order(TICKS + 3);
	PUT(35, TICKS + 8, 100);
	end_chunk();
}

static void add_event(struct tapir_str *out, struct tapir_reader *r,
		      const struct tapir_rec_event *event)
{
	const struct tapir_rec_probe *rec =
		tapir_catalog__probe(tapir_reader__catalog(r), event->probe_id);
	struct tapir_value values[8];
	struct tapir_probe_view probe;
	struct tapir_event_view view;
	unsigned cnt;

	tapir_probe_view__of(&rec->h, &probe);
	tapir_event_view__of(&event->h, &view);
	tapir_str__addf(out, "%.*s:%.*s", (int)probe.provider.len, probe.provider.data,
			(int)probe.event.len, probe.event.data);
	cnt = tapir_fields__decode(&probe, &view, values, 8);
	for (unsigned i = 0; i < cnt; i++) {
		tapir_str__addf(out, " %.*s=", (int)values[i].name.len, values[i].name.data);
		if (values[i].type == TAPIR_FIELD_STR)
			tapir_str__add(out, (const char *)values[i].bytes, values[i].len);
		else if (values[i].type == TAPIR_FIELD_FLOAT)
			tapir_str__addf(out, "%.2f", values[i].f64);
		else
			tapir_str__addf(out, "%lld", (long long)values[i].i64);
	}
}

/* "MS TID what; " for each sample and event. */
static void read_records(const struct made *made, struct tapir_str *out)
{
	const struct tapir_rec *rec;
	struct tapir_reader *r;

	assert_int_equal(tapir_reader__open_fd(made->fd, "made", &r), 0);
	while (tapir_reader__next(r, &rec) > 0) {
		const struct tapir_rec_sample *sample = (const void *)rec;
		const struct tapir_rec_event *event = (const void *)rec;
		const struct tapir_rec_stack *stack;

		if (rec->type != TAPIR_REC_SAMPLE && rec->type != TAPIR_REC_EVENT)
			continue;
		tapir_str__addf(out, "%llu %u ",
				(unsigned long long)(rec->time_ns - UTC_NS) / 1000000,
				rec->type == TAPIR_REC_SAMPLE ? sample->tid : event->tid);
		if (rec->type == TAPIR_REC_EVENT) {
			add_event(out, r, event);
		} else {
			stack = tapir_catalog__stack(tapir_reader__catalog(r), sample->stack_id);
			tapir_str__addf(out, "sample %llu ms, %u frames%s",
					(unsigned long long)sample->period / 1000000,
					stack ? stack->frame_cnt : 0,
					stack && stack->flags & TAPIR_STACK_MORE ? ", cut" : "");
		}
		tapir_str__adds(out, "; ");
	}
	tapir_reader__close(r);
}

static int import_file(size_t len, struct tapir_str *seen, struct tapir_import_result *result)
{
	struct made made;
	int err = import_bytes(file.bytes, len, &made);

	assert_int_equal(tapir_diag__cnt() != 0, err && err != -ENOMEM);
	if (!err && seen)
		read_records(&made, seen);
	*result = made.result;
	tapir_diag__clear();
	close(made.fd);
	return err;
}

static void events_and_samples_are_in_the_order_of_their_ends(void **state)
{
	struct tapir_import_result result;
	struct tapir_str seen = {};

	(void)state;
	build();
	assert_int_equal(import_file(file.len, &seen, &result), 0);
	assert_string_equal(seen.data,
			    "0 4700 jdk:ActiveSetting id=30 name=period value=10 ms; "
			    "0 4700 jdk:JVMInformation pid=4700; "
			    "1 1073741833 sample 10 ms, 1 frames, cut; "
			    "2 4711 hotspot:thread__sleep__begin duration_ms=5; "
			    "5 4711 shop:Order duration=2000000 share=0.50 count=-3 type=com.Shop; "
			    "7 4711 hotspot:thread__sleep__end duration_ms=5; "
			    "8 4700 jdk:DataLoss amount=100; "
			    "9 4711 sample 10 ms, 2 frames; ");
	assert_int_equal(result.malformed_cnt, 0);
	tapir_str__fini(&seen);
}

static void what_is_cut_off_is_counted(void **state)
{
	struct tapir_import_result result;
	size_t len;

	(void)state;
	build();
	len = file.len;
	memcpy(file.bytes + len, file.bytes, len);
	assert_int_equal(import_file(2 * len, NULL, &result), 0);
	assert_int_equal(result.captured[TAPIR_FAMILY_SAMPLE], 4);
	assert_int_equal(import_file(2 * len - 1, NULL, &result), 0);
	assert_int_equal(result.captured[TAPIR_FAMILY_SAMPLE], 2);
	assert_int_equal(result.tail_bytes, len - 1);
	assert_int_equal(import_file(len - 1, NULL, &result), -EBADMSG);
	/* A second chunk whose metadata is nowhere. */
	put_big(len + 24, 1, 8);
	assert_int_equal(import_file(2 * len, NULL, &result), 0);
	assert_int_equal(result.malformed_cnt, 1);
}

static void any_wrong_byte_is_survived(void **state)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0xff};
	struct tapir_import_result result;
	size_t len;

	(void)state;
	build();
	len = file.len;
	for (size_t at = 4; at < len; at++)
		for (unsigned v = 0; v < sizeof(values); v++) {
			int err;

			build();
			file.bytes[at] = values[v];
			err = import_file(len, NULL, &result);
			assert_true(!err || err == -EBADMSG || err == -EOPNOTSUPP);
			assert_true(result.captured[TAPIR_FAMILY_SAMPLE] <= 2);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_and_samples_are_in_the_order_of_their_ends),
		cmocka_unit_test(what_is_cut_off_is_counted),
		cmocka_unit_test(any_wrong_byte_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
