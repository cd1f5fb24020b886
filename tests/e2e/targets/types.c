/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * types [--wait] COUNT - fires each probe COUNT times, with arguments of every type and at
 * their extremes, and prints what a tracer must have seen:
 *	{"event": "types:ints", "count": COUNT, "args": [...]}
 */
#include "target.h"

enum color { RED, GREEN = 7 };
enum temperature { COLD = -40, HOT = 40 };

struct values {
	int8_t i8;
	uint8_t u8;
	int16_t i16;
	uint16_t u16;
	int32_t i32;
	uint32_t u32;
	int64_t i64;
	uint64_t u64;
	bool yes, no;
	char letter;
	enum color color;
	enum temperature temperature;
	float f;
	double d;
	void *pointer;
	const char *empty, *null, *utf8, *long300, *long5000;
};

/* noinline: the compiler knows no value, so operands are registers and memory. */
static __attribute__((noinline)) void fire_ints(const struct values *v)
{
	TAPIR_PROBE(types, ints, v->i8, v->u8, v->i16, v->u16, v->i32, v->u32, v->i64, v->u64);
}

static __attribute__((noinline)) void fire_small(const struct values *v)
{
	TAPIR_PROBE(types, small, v->yes, v->no, v->letter, v->color, v->temperature);
}

static __attribute__((noinline)) void fire_floats(const struct values *v)
{
	TAPIR_PROBE(types, floats, v->f, v->d, -v->f, -v->d, v->f * 0, v->d * 0);
}

static __attribute__((noinline)) void fire_pointers(const struct values *v)
{
	TAPIR_PROBE(types, pointers, v->pointer, v, (void *)0);
}

static __attribute__((noinline)) void fire_strings(const struct values *v)
{
	TAPIR_PROBE(types, strings, v->empty, v->null, v->utf8, v->long300, v->long5000);
}

static __attribute__((noinline)) void fire_local(int seed)
{
	char text[8] = {'l', 'o', 'c', 'a', 'l', (char)('0' + seed), 0, 0};

	TAPIR_PROBE(types, local, text); /* used by nobody but the tracer */
	text[0] = 'X';
}

static __attribute__((noinline)) void fire_twelve(const struct values *v)
{
	TAPIR_PROBE(types, twelve, v->i8, v->u8, v->i16, v->u16, v->i32, v->u32, v->i64, v->u64,
		    v->utf8, v->f, v->d, v->yes);
}

static void fire_constants(void)
{
	TAPIR_PROBE(types, constants, (int8_t)-1, (uint8_t)255, (int16_t)-2, (uint16_t)65535, -3,
		    4294967295u, INT64_MIN, UINT64_MAX, (bool)1, 'A');
}

static void print_event(const char *event, long cnt)
{
	printf("{\"event\": \"types:%s\", \"count\": %ld, \"args\": [", event, cnt);
}

static void print_strings(const struct values *v, long cnt)
{
	const char *const strings[] = {v->empty, v->null, v->utf8, v->long300, v->long5000};

	print_event("strings", cnt);
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		printf("%s", i ? ", " : "");
		target__print_json(strings[i]);
	}
	printf("]}\n");
}

static void print_expected(const struct values *v, long cnt)
{
	print_event("none", cnt);
	printf("]}\n");
	print_event("ints", cnt);
	printf("%d, %u, %d, %u, %d, %u, %" PRId64 ", %" PRIu64 "]}\n", v->i8, v->u8, v->i16, v->u16,
	       v->i32, v->u32, v->i64, v->u64);
	print_event("small", cnt);
	printf("true, false, %d, %d, %d]}\n", v->letter, v->color, v->temperature);
	print_event("floats", cnt);
	printf("%.9g, %.17g, %.9g, %.17g, 0, 0]}\n", v->f, v->d, -v->f, -v->d);
	print_event("pointers", cnt);
	printf("%" PRIuPTR ", %" PRIuPTR ", 0]}\n", (uintptr_t)v->pointer, (uintptr_t)v);
	print_strings(v, cnt);
	print_event("local", cnt);
	printf("\"local5\"]}\n");
	print_event("twelve", cnt);
	printf("%d, %u, %d, %u, %d, %u, %" PRId64 ", %" PRIu64 ", ", v->i8, v->u8, v->i16, v->u16,
	       v->i32, v->u32, v->i64, v->u64);
	target__print_json(v->utf8);
	printf(", %.9g, %.17g, true]}\n", v->f, v->d);
	print_event("constants", cnt);
	printf("-1, 255, -2, 65535, -3, 4294967295, %" PRId64 ", %" PRIu64 ", true, 65]}\n",
	       INT64_MIN, UINT64_MAX);
}

/* Strings whose end is as easy to see as their beginning. */
static const char *numbered(char *buffer, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buffer[i] = (char)('a' + i % 26);
	buffer[len] = 0;
	return buffer;
}

int main(int argc, char **argv)
{
	static char long300[301], long5000[5001];
	struct values v = {
		.i8 = INT8_MIN,
		.u8 = UINT8_MAX,
		.i16 = INT16_MIN,
		.u16 = UINT16_MAX,
		.i32 = INT32_MIN,
		.u32 = UINT32_MAX,
		.i64 = INT64_MIN,
		.u64 = UINT64_MAX,
		.yes = true,
		.letter = 'Z',
		.color = GREEN,
		.temperature = COLD,
		.f = 1.5f,
		.d = -2.0e300,
		.pointer = long300,
		.empty = "",
		.utf8 = "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x90\xbe",
	};
	long cnt;

	target__start(&argc, argv);
	cnt = target__number(argc, argv, 1, 1);
	v.long300 = numbered(long300, 300);
	v.long5000 = numbered(long5000, 5000);
	for (long i = 0; i < cnt; i++) {
		TAPIR_PROBE(types, none);
		fire_ints(&v);
		fire_small(&v);
		fire_floats(&v);
		fire_pointers(&v);
		fire_strings(&v);
		fire_local(5);
		fire_twelve(&v);
		fire_constants();
	}
	print_expected(&v, cnt);
	return 0;
}
