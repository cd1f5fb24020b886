// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The threads and functions of a made-up CPython, by the layouts of 3.11 and 3.12 and by what 3.13
 * to 3.15 say of themselves: what is right, and what is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf/interp.h"
#include "fake_memory.h"
#include "runtime/cpython/cpython_frames.h"

enum {
	VERSION = MEMORY_VA,
	RUNTIME = MEMORY_VA + 0x100,
	LOOP = 0x400000,
	LOOP_END = 0x500000,
	INTERPRETER = MEMORY_VA + 0x1000,
	THREAD = MEMORY_VA + 0x2000, /* 0x400 each */
	CFRAME = MEMORY_VA + 0x3000,
	FRAME = MEMORY_VA + 0x4000, /* 0x100 each */
	CODE = MEMORY_VA + 0x5000,  /* 0x200 each */
	TEXT = MEMORY_VA + 0x6000,  /* 0x400 each */
	STATE = MEMORY_VA + 0x7000,
	TID = 4712,
	ASCII_STATE = 1 << 2 | 1 << 5 | 1 << 6,
	WIDE_STATE = 2 << 2 | 1 << 5,
};

static struct fake_memory memory;
static struct tapir_cpython python;
static const uint64_t vas[TAPIR_CPYTHON_EXPORT_CNT] = {VERSION, RUNTIME, LOOP, 0, STATE};

static void put(uint64_t va, uint64_t value)
{
	fake_memory__put(&memory, va, value);
}

static bool read_as(uint64_t version)
{
	const struct tapir_process_memory source = fake_memory__of(&memory);

	put(VERSION, version);
	if (!tapir_cpython__read(&python, &source, vas))
		return false;
	python.loop.end_va = LOOP_END;
	return true;
}

static uint64_t add_text(unsigned idx, const char *text)
{
	const struct tapir_cpython_layout *l = &python.layout;
	uint64_t va = TEXT + 0x400ull * idx;

	put(va + l->text_len, strlen(text));
	fake_memory__put32(&memory, va + l->text_state, ASCII_STATE);
	memcpy(memory.bytes + (va + l->ascii_bytes - MEMORY_VA), text, strlen(text));
	return va;
}

static uint64_t add_code(unsigned idx, const char *name)
{
	const struct tapir_cpython_layout *l = &python.layout;
	uint64_t va = CODE + 0x200ull * idx;

	put(va + l->name, add_text(2 * idx, name));
	put(va + l->file, add_text(2 * idx + 1, "/srv/shop.py"));
	return va;
}

/* Frames of a thread: each belongs to the one after it. */
static void add_frame(unsigned idx, uint64_t code_va, uint8_t owner, bool is_outermost)
{
	const struct tapir_cpython_layout *l = &python.layout;
	uint64_t va = FRAME + 0x100ull * idx;

	put(va + l->previous, is_outermost ? 0 : va + 0x100);
	put(va + l->code, code_va);
	memory.bytes[va + l->owner - MEMORY_VA] = owner;
}

static void add_thread(void)
{
	const struct tapir_cpython_layout *l = &python.layout;

	put(RUNTIME + l->interpreters, INTERPRETER);
	put(INTERPRETER + l->threads, THREAD + 0x400);
	put(THREAD + 0x400 + l->thread_next, THREAD);
	put(THREAD + 0x400 + l->tid, TID + 1);
	put(THREAD + l->tid, TID);
	put(THREAD + l->frame, l->has_cframe ? (uint64_t)CFRAME : (uint64_t)FRAME);
	if (l->has_cframe)
		put(CFRAME + l->frame_of_cframe, FRAME);
}

static int setup(void **state)
{
	(void)state;
	memory = (struct fake_memory){.size = MEMORY_BYTES};
	python = (struct tapir_cpython){};
	return 0;
}

static size_t frames_of(uint32_t tid, struct tapir_interp_function *frames, size_t cnt)
{
	const struct tapir_process_memory source = fake_memory__of(&memory);
	struct tapir_map states = {};
	const uint64_t *state;
	size_t found = 0;

	tapir_cpython__threads(&python, &source, &states);
	state = tapir_map__get(&states, tid);
	if (state)
		found = tapir_cpython__frames(&python, &source, *state, frames, cnt);
	tapir_map__fini(&states);
	return found;
}

static void names(uint64_t code_va, const char *expected)
{
	const struct tapir_process_memory source = fake_memory__of(&memory);
	struct tapir_str name = {};

	fake_memory__is_named(tapir_cpython__add_name(&python, &source, code_va, &name), &name,
			      false, expected, false);
}

/* ---- what is right -------------------------------------------------------------------------- */

static void functions_of_3_11_are_those_of_its_frames(void **state)
{
	struct tapir_interp_function frames[8];

	(void)state;
	assert_true(read_as(0x030b02f0));
	add_thread();
	add_frame(0, add_code(0, "Shop.draw"), 0, false);
	add_frame(1, add_code(1, "main"), 1, true); /* is_entry */
	assert_int_equal(frames_of(TID, frames, 8), 2);
	assert_false(frames[0].is_last);
	assert_true(frames[1].is_last);
	names(frames[0].code_va, "py::Shop.draw:/srv/shop.py");
	names(frames[1].code_va, "py::main:/srv/shop.py");
	assert_int_equal(frames_of(TID, frames, 1), 1);
	assert_int_equal(frames_of(TID + 7, frames, 8), 0);
}

static void calls_of_the_loop_in_3_12_end_with_frames_of_no_function(void **state)
{
	struct tapir_interp_function frames[8];

	(void)state;
	assert_true(read_as(0x030c01f0));
	add_thread();
	add_frame(0, add_code(0, "draw"), 0, false);
	add_frame(1, add_code(1, "trampoline"), 3, true);
	assert_int_equal(frames_of(TID, frames, 8), 2);
	assert_false(frames[0].is_last);
	assert_true(frames[1].is_last);
	assert_int_equal(frames[1].code_va, 0);
}

/* What a version says of itself, and where: those words that are used. */
struct described {
	uint64_t version;
	unsigned thread_next, frame, tid, previous, code, owner, file, name, text_state;
};

static const struct described described_3_13 = {0x030d00f0, 21, 23, 25, 29, 30, 33, 35, 37, 68};
static const struct described described_later[] = {
	{0x030e0af0, 24, 26, 28, 32, 33, 36, 40, 42, 78},
	{0x030f02f0, 24, 26, 31, 40, 41, 44, 48, 50, 90},
};

static void describe(const struct described *d)
{
	const struct {
		unsigned at;
		uint64_t off;
	} offsets[] = {{5, 0x800},
		       {8, 8},
		       {9, 16},
		       {d->thread_next, 8},
		       {d->frame, 72},
		       {d->tid, 160},
		       {d->previous, 8},
		       {d->code, 0},
		       {d->owner, 74},
		       {d->file, 112},
		       {d->name, 128},
		       {d->text_state, 32},
		       {d->text_state + 1, 16},
		       {d->text_state + 2, 40}};

	memset(memory.bytes + (RUNTIME - MEMORY_VA), 0xff, 93 * 8);
	memcpy(memory.bytes + (RUNTIME - MEMORY_VA), "xdebugpy", 8);
	put(RUNTIME + 8, d->version);
	put(RUNTIME + 16, 0);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
		put(RUNTIME + 8ull * offsets[i].at, offsets[i].off);
}

static void layout_of_3_13_is_what_it_says(void **state)
{
	struct tapir_interp_function frames[8];

	(void)state;
	describe(&described_3_13);
	assert_true(read_as(0x030d00f0));
	add_thread();
	add_frame(0, add_code(0, "draw"), 0, true);
	assert_int_equal(frames_of(TID, frames, 8), 1);
	names(frames[0].code_va, "py::draw:/srv/shop.py");
	assert_false(read_as(0x030d01f0)); /* it is another one's */
	put(RUNTIME + 16, 1);		   /* without a global lock */
	assert_false(read_as(0x030d00f0));
	put(RUNTIME + 16, 0);
	put(RUNTIME + 8 * 35, 1ull << 40);
	assert_false(read_as(0x030d00f0));
}

/* In these a frame's reference to its code has tags. */
static void layouts_of_later_versions_are_what_they_say(void **state)
{
	struct tapir_interp_function frames[8];

	(void)state;
	for (size_t i = 0; i < sizeof(described_later) / sizeof(*described_later); i++) {
		setup(NULL);
		describe(&described_later[i]);
		assert_true(read_as(described_later[i].version));
		add_thread();
		add_frame(0, add_code(0, "draw") + 1, 0, false);
		add_frame(1, 3, 3, true);
		assert_int_equal(frames_of(TID, frames, 8), 2);
		names(frames[0].code_va, "py::draw:/srv/shop.py");
		assert_true(frames[1].is_last);
		assert_int_equal(frames[1].code_va, 0);
	}
}

/* Words of a version that is not released yet are others: 3.14.0rc2. */
static void versions_before_their_release_are_not_known(void **state)
{
	struct described before = described_later[0];

	(void)state;
	before.version = 0x030e00c2;
	describe(&before);
	assert_false(read_as(before.version));
}

static void names_have_characters_of_any_width(void **state)
{
	static const uint16_t wide[] = {'g', 0xf6, 0x63cf, '!'};
	uint64_t code_va, va;

	(void)state;
	assert_true(read_as(0x030b02f0));
	code_va = add_code(0, "x");
	va = TEXT;
	put(va + python.layout.text_len, 4);
	fake_memory__put32(&memory, va + python.layout.text_state, WIDE_STATE);
	memcpy(memory.bytes + (va + python.layout.compact_bytes - MEMORY_VA), wide, sizeof(wide));
	names(code_va, "py::gö描!:/srv/shop.py");
	fake_memory__put32(&memory, va + python.layout.text_state, 4 << 2 | 1 << 5);
	put(va + python.layout.text_len, 1);
	fake_memory__put32(&memory, va + python.layout.compact_bytes, 0x1f40d);
	names(code_va, "py::🐍:/srv/shop.py");
}

/* ---- what is not ---------------------------------------------------------------------------- */

static void other_versions_are_not_known(void **state)
{
	(void)state;
	assert_false(read_as(0));
	assert_false(read_as(0x030a0df0));
	assert_false(read_as(0x030d00f0)); /* without its description */
	assert_false(read_as(0x030e00f0));
	describe(&described_later[1]);
	put(RUNTIME + 8, 0x031000f0);
	assert_false(read_as(0x031000f0));
	assert_false(read_as(0x0103000b));
}

static void lists_in_circles_end(void **state)
{
	const struct tapir_process_memory source = fake_memory__of(&memory);
	struct tapir_interp_function frames[512];

	(void)state;
	assert_true(read_as(0x030b02f0));
	add_thread();
	put(THREAD + python.layout.thread_next, THREAD);
	put(INTERPRETER + python.layout.interpreter_next, INTERPRETER);
	add_frame(0, add_code(0, "draw"), 0, false);
	put(FRAME + python.layout.previous, FRAME);
	assert_int_equal(frames_of(TID, frames, 512), 512);
	assert_int_equal(tapir_cpython__frames(&python, &source, 8, frames, 512), 0);
}

static void what_is_no_name_has_none(void **state)
{
	const struct tapir_cpython_layout *l = &python.layout;
	uint64_t code_va;

	(void)state;
	assert_true(read_as(0x030b02f0));
	names(0, NULL);
	names(CODE, NULL); /* zeros */
	names(CODE + 1, NULL);
	names(1ull << 60, NULL);
	names(MEMORY_VA + MEMORY_BYTES - 8, NULL);
	code_va = add_code(0, "dr\naw");
	names(code_va, NULL);
	code_va = add_code(0, "draw");
	put(TEXT + l->text_len, 1ull << 62);
	names(code_va, NULL);
	put(TEXT + l->text_len, 4);
	fake_memory__put32(&memory, TEXT + l->text_state, 0xffffffff);
	names(code_va, NULL);
	fake_memory__put32(&memory, TEXT + l->text_state, 3 << 2 | 1 << 5);
	names(code_va, NULL);
	add_text(0, "draw");
	names(code_va, "py::draw:/srv/shop.py");
	add_text(1, "\x7f");
	names(code_va, NULL);
}

/* Where nothing but code is wanted, an object of another type has no name. */
static void what_is_no_code_has_no_name(void **state)
{
	static const uint64_t with_type[TAPIR_CPYTHON_EXPORT_CNT] = {VERSION, RUNTIME, LOOP, 0x700};
	const struct tapir_process_memory source = fake_memory__of(&memory);
	uint64_t code_va;

	(void)state;
	put(VERSION, 0x030b02f0);
	assert_true(tapir_cpython__read(&python, &source, with_type));
	code_va = add_code(0, "draw");
	names(code_va, NULL);
	put(code_va + 8, 0x700);
	names(code_va, "py::draw:/srv/shop.py");
}

static void long_names_are_cut(void **state)
{
	const struct tapir_process_memory source = fake_memory__of(&memory);
	struct tapir_str text = {};
	char name[600];

	(void)state;
	assert_true(read_as(0x030b02f0));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	add_code(1, name);
	assert_true(tapir_cpython__add_name(&python, &source, CODE + 0x200, &text));
	assert_int_equal(text.len, 4 + 256 + 1 + strlen("/srv/shop.py"));
	tapir_str__fini(&text);
}

/* ---- stacks --------------------------------------------------------------------------------- */

static bool is_named(void *ctx, uint64_t code_va)
{
	(void)ctx;
	return code_va != 0x9000;
}

static bool is_generated(void *ctx, uint64_t va)
{
	(void)ctx;
	return va == 0x777777;
}

static const struct tapir_interp_namer namer = {is_named, is_generated, NULL};

static void functions_follow_the_call_of_the_loop_that_runs_them(void **state)
{
	static const struct tapir_interp_function frames[] = {
		{0x1000, false}, {0x2000, true}, {0x9000, false}, {0x3000, false}, {0, true}};
	static const uint64_t native[] = {0x10, LOOP + 5, 0x20, LOOP_END, 0x30},
			      expected[] = {0x10, LOOP + 5, 0x1001, 0x2001,
					    0x20, LOOP_END, 0x3001, 0x30};
	uint64_t out[8];

	(void)state;
	python = (struct tapir_cpython){.loop = {.va = LOOP, .end_va = LOOP_END}};
	assert_int_equal(
		tapir_interp__merge(&python.loop, frames, 5, &namer, native, 5, false, out, 8), 8);
	assert_memory_equal(out, expected, sizeof(expected));
	/* What has no room is counted. */
	assert_int_equal(
		tapir_interp__merge(&python.loop, frames, 5, &namer, native, 5, false, out, 2), 8);
	/* In a stack that was cut, the calls of the other functions are beyond its end. */
	assert_int_equal(
		tapir_interp__merge(&python.loop, frames, 5, &namer, native, 2, false, out, 8), 5);
	assert_int_equal(out[4], 0x3001);
	/* A part of the loop may be elsewhere. */
	python.loop.cold_va = 0x10;
	python.loop.cold_end_va = 0x20;
	assert_int_equal(
		tapir_interp__merge(&python.loop, frames, 5, &namer, native, 5, false, out, 8), 8);
	assert_int_equal(out[4], 0x20);
	assert_int_equal(out[5], 0x3001);
	python.loop.cold_end_va = 0;
	/* A loop without functions has none. */
	assert_int_equal(
		tapir_interp__merge(&python.loop, frames, 2, &namer, native, 5, false, out, 8), 7);
	assert_int_equal(
		tapir_interp__merge(&python.loop, NULL, 0, &namer, native, 5, false, out, 8), 5);
}

/* What was about to begin, or just ended, is innermost: the outermost calls have their functions.
 */
static void functions_belong_to_the_outermost_calls_when_the_stack_is_complete(void **state)
{
	static const struct tapir_interp_function frames[] = {{0x1000, true}, {0x2000, true}};
	static const uint64_t native[] = {LOOP + 1, 0x10, LOOP + 5, 0x20, LOOP + 9, 0x30},
			      expected[] = {LOOP + 1, 0x10,	LOOP + 5, 0x1001,
					    0x20,     LOOP + 9, 0x2001,	  0x30},
			      outer[] = {0x20, LOOP + 9, 0x2001, 0x30};
	uint64_t out[8];

	(void)state;
	python = (struct tapir_cpython){.loop = {.va = LOOP, .end_va = LOOP_END}};
	assert_int_equal(
		tapir_interp__merge(&python.loop, frames, 2, &namer, native, 6, true, out, 8), 8);
	assert_memory_equal(out, expected, sizeof(expected));
	assert_int_equal(
		tapir_interp__merge(&python.loop, frames, 2, &namer, native + 3, 3, true, out, 8),
		4);
	assert_memory_equal(out, outer, sizeof(outer));
}

/* ---- parameters of BPF programs --------------------------------------------------------------- */

static void put_code(const uint8_t *code, size_t bytes)
{
	memcpy(memory.bytes + (STATE - MEMORY_VA), code, bytes);
}

static uint64_t key_of(const uint8_t *code, size_t bytes)
{
	memset(memory.bytes + (STATE - MEMORY_VA), 0x90, 64);
	put_code(code, bytes);
	if (!read_as(0x030b02f0))
		return 1;
	return python.root == TAPIR_INTERP_TSS ? python.root_va : 0;
}

static void key_of_the_state_is_where_the_code_has_it(void **state)
{
	/* cmpq; je; mov 0x100(%rip),%edi; jmp: Debian's python3.11 */
	static const uint8_t program[] = {0x0f, 0x84, 1, 0, 0, 0, 0x8b, 0x3d, 0, 1, 0, 0, 0xe9},
			     /* mov GOT(%rip),%rax; push; lea 0x608(%rax),%rbx */
		library[] = {0x48, 0x8b, 0x05, 9, 0, 0, 0, 0x53, 0x48, 0x8d, 0x98, 8, 6, 0, 0},
			     others[][16] = {
				     {0x8b, 0x3d, 0, 1, 0, 0, 0xe8}, /* a call */
				     {0x53, 0x48, 0x8d, 0x98, 8, 6}, /* of what is not known */
				     {0x48, 0x8b, 0x05, 9, 0, 0, 0, 0x48, 0x8d, 0x98, 8, 6, 0,
				      0xff},
			     };
	/* cmpl; je; mov $0x123456,%edi; jmp: Debian's python3.14; lea 0x100(%rip),%rdi; jmp */
	static const uint8_t absolute[] = {0x74, 10, 0xbf, 0x56, 0x34, 0x12, 0, 0xe9},
			     relative[] = {0x48, 0x8d, 0x3d, 0, 1, 0, 0, 0xe9};
	struct tapir_interp interp;

	(void)state;
	assert_int_equal(key_of(program, sizeof(program)), STATE + 12 + 0x100);
	assert_int_equal(key_of(absolute, sizeof(absolute)), 0x123456 + 4);
	assert_int_equal(key_of(relative, sizeof(relative)), STATE + 7 + 0x100 + 4);
	assert_int_equal(key_of(library, sizeof(library)), RUNTIME + 0x608 + 4);
	assert_true(tapir_cpython__interp(&python, &interp));
	assert_int_equal(interp.root_va, RUNTIME + 0x60c);
	assert_int_equal(interp.step_cnt, 2);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		assert_int_equal(key_of(others[i], sizeof(others[i])), 0);
		assert_false(tapir_cpython__interp(&python, &interp));
	}
}

/* mov %fs:-40,%rax; ret: Debian's python3.15. */
static void state_may_be_a_thread_local_variable(void **state)
{
	static const uint8_t code[] = {0x64, 0x48, 0x8b, 4, 0x25, 0xd8, 0xff, 0xff, 0xff, 0xc3};
	struct tapir_interp interp;

	(void)state;
	assert_int_equal(key_of(code, sizeof(code)), 0);
	assert_true(tapir_cpython__interp(&python, &interp));
	assert_int_equal(interp.root, TAPIR_INTERP_TLS);
	assert_int_equal((int64_t)interp.root_va, -40);
}

static void frames_that_do_not_fit_are_not_walked(void **state)
{
	struct tapir_interp interp;

	(void)state;
	assert_true(read_as(0x030c01f0));
	python.root = TAPIR_INTERP_TSS;
	assert_true(tapir_cpython__interp(&python, &interp));
	assert_int_equal(interp.flags, TAPIR_INTERP_LAST_IS_BARE);
	python.layout.previous = TAPIR_INTERP_FRAME_BYTES - 7;
	assert_false(tapir_cpython__interp(&python, &interp));
	python.layout.previous = 8;
	python.layout.tid = UINT16_MAX + 1;
	assert_false(tapir_cpython__interp(&python, &interp));
}

/* With -X perf each has code of its own, and so its name. */
static void functions_with_code_of_their_own_are_not_there_twice(void **state)
{
	static const struct tapir_interp_function frames[] = {{0x1000, true}, {0x2000, true}};
	static const uint64_t native[] = {0x10, LOOP + 5, 0x777777, LOOP + 9, 0x20},
			      expected[] = {0x10, LOOP + 5, 0x777777, LOOP + 9, 0x2001, 0x20};
	uint64_t out[8];

	(void)state;
	python = (struct tapir_cpython){.loop = {.va = LOOP, .end_va = LOOP_END}};
	assert_int_equal(
		tapir_interp__merge(&python.loop, frames, 2, &namer, native, 5, false, out, 8), 6);
	assert_memory_equal(out, expected, sizeof(expected));
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(functions_of_3_11_are_those_of_its_frames),
		CASE(calls_of_the_loop_in_3_12_end_with_frames_of_no_function),
		CASE(layout_of_3_13_is_what_it_says),
		CASE(layouts_of_later_versions_are_what_they_say),
		CASE(versions_before_their_release_are_not_known),
		CASE(names_have_characters_of_any_width),
		CASE(other_versions_are_not_known),
		CASE(lists_in_circles_end),
		CASE(what_is_no_name_has_none),
		CASE(what_is_no_code_has_no_name),
		CASE(long_names_are_cut),
		CASE(functions_follow_the_call_of_the_loop_that_runs_them),
		CASE(functions_belong_to_the_outermost_calls_when_the_stack_is_complete),
		CASE(key_of_the_state_is_where_the_code_has_it),
		CASE(state_may_be_a_thread_local_variable),
		CASE(frames_that_do_not_fit_are_not_walked),
		CASE(functions_with_code_of_their_own_are_not_there_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
