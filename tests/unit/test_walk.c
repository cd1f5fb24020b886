// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks by unwind tables: this program's own, with its callers as witness; and hostile memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <alloca.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "attach/maps.h"
#include "base/file.h"
#include "elf/image.h"
#include "attach/unwind/unwind_table.h"
#include "attach/unwind/walk.h"

#define MAX_CODES  64
#define COPY_BYTES (64u << 10)

struct own {
	struct tapir_walk_code codes[MAX_CODES];
	size_t code_cnt;
	struct tapir_unwind_table *tables[MAX_CODES];
	uint8_t stack[COPY_BYTES];
	struct tapir_walk walk;
	void *witness[TAPIR_MAX_FRAMES];
	int witness_cnt;
};

static int add_code(const struct tapir_mapping_line *line, void *ctx)
{
	struct own *own = ctx;
	struct tapir_elf *elf;

	if (!line->is_executable || own->code_cnt == MAX_CODES)
		return 0;
	own->codes[own->code_cnt] = (struct tapir_walk_code){
		.start_va = line->start_va,
		.end_va = line->end_va,
		.bias = line->start_va - line->file_off,
		.kind = TAPIR_UNWIND_KIND_FILE,
	};
	if (tapir_mapping_line__is_file(line) && !tapir_elf__open(line->path, &elf)) {
		tapir_unwind_table__build(elf, &own->tables[own->code_cnt]);
		tapir_elf__free(elf);
	}
	own->codes[own->code_cnt].table = own->tables[own->code_cnt];
	own->code_cnt++;
	return 0;
}

/* The registers and the memory of here, and what libgcc's unwinder finds. */
static __attribute__((noipa)) void copy_here(struct own *own)
{
	ucontext_t here;
	uint64_t sp;

	assert_int_equal(getcontext(&here), 0);
	own->witness_cnt = backtrace(own->witness, TAPIR_MAX_FRAMES);
	sp = (uint64_t)here.uc_mcontext.gregs[REG_RSP];
	memcpy(own->stack, (void *)sp, sizeof(own->stack)); /* the stacks of tests are larger */
	own->walk = (struct tapir_walk){
		.codes = own->codes,
		.code_cnt = own->code_cnt,
		.ip = (uint64_t)here.uc_mcontext.gregs[REG_RIP],
		.sp = sp,
		.fp = (uint64_t)here.uc_mcontext.gregs[REG_RBP],
		.stack = own->stack,
		.stack_va = sp,
		.stack_bytes = sizeof(own->stack),
	};
}

static __attribute__((noipa)) void deeper(struct own *own, unsigned depth)
{
	volatile char *room = alloca(depth * 40 + 16); /* not even the size is known */

	room[0] = 1;
	if (depth)
		deeper(own, depth - 1);
	else
		copy_here(own);
	room[depth] = room[0];
}

static int set_up(void **state)
{
	struct own *own = calloc(1, sizeof(*own));
	tapir_autofd int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	assert_non_null(own);
	assert_int_equal(tapir_maps__each(fd, add_code, own, NULL), 0);
	*state = own;
	return 0;
}

static int tear_down(void **state)
{
	struct own *own = *state;

	for (size_t i = 0; i < own->code_cnt; i++)
		tapir_unwind_table__free(own->tables[i]);
	free(own);
	return 0;
}

static __attribute__((noipa)) void with_room(struct own *own)
{
	volatile char room[COPY_BYTES];

	room[0] = 1;
	deeper(own, 12);
	room[1] = room[0];
}

static void stack_is_the_one_that_libgcc_finds(void **state)
{
	struct own *own = *state;

	with_room(own);
	tapir_walk__run(&own->walk);
	assert_true(own->walk.used_table);
	assert_in_range(own->walk.frame_cnt, 15, TAPIR_MAX_FRAMES);
	/* The first frame is here in one, after the call of backtrace() in the other. */
	for (int i = 1; i < own->walk.frame_cnt && i < 14; i++)
		assert_int_equal(own->walk.frames[i], (uint64_t)own->witness[i]);
}

static struct own *coroutines;

static void coroutine(void)
{
	deeper(coroutines, 3);
	__asm__ volatile(""); /* the call is no jump */
}

static void coroutine_is_complete_at_its_first_function(void **state)
{
	static uint8_t stack[4 * COPY_BYTES];
	struct own *own = *state;
	ucontext_t here, there;

	coroutines = own;
	assert_int_equal(getcontext(&there), 0);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack) - COPY_BYTES; /* the copy ends above it */
	there.uc_link = &here;
	makecontext(&there, coroutine, 0);
	assert_int_equal(swapcontext(&here, &there), 0);
	tapir_walk__run(&own->walk);
	assert_int_equal(own->walk.end, TAPIR_STACK_END_WHOLE);
	assert_int_equal(own->walk.frame_cnt, 7); /* copy_here, deeper x 4, coroutine, its start */
}

static void stack_that_is_cut_ends_where_its_memory_does(void **state)
{
	struct own *own = *state;
	unsigned last = 0;

	with_room(own);
	for (uint64_t bytes = 0; bytes < 4096; bytes += 8) {
		own->walk.stack_bytes = bytes;
		tapir_walk__run(&own->walk);
		assert_in_range(own->walk.frame_cnt, 1, TAPIR_MAX_FRAMES);
		assert_true(own->walk.frame_cnt >= last);
		last = own->walk.frame_cnt;
		if (own->walk.frame_cnt < 13)
			assert_int_equal(own->walk.end, TAPIR_STACK_END_FAULT);
	}
	assert_in_range(last, 13, TAPIR_MAX_FRAMES);
}

static void address_of_no_code_is_the_only_frame(void **state)
{
	struct own *own = *state;

	with_room(own);
	own->walk.ip = 0x1000;
	tapir_walk__run(&own->walk);
	assert_int_equal(own->walk.frame_cnt, 1);
	assert_int_equal(own->walk.end, TAPIR_STACK_END_NOT_CODE);
	own->walk.code_cnt = 0;
	tapir_walk__run(&own->walk);
	assert_int_equal(own->walk.end, TAPIR_STACK_END_NOT_CODE);
}

static void file_without_a_table_ends_the_stack(void **state)
{
	struct own *own = *state;

	with_room(own);
	for (size_t i = 0; i < own->code_cnt; i++)
		own->codes[i].table = NULL;
	tapir_walk__run(&own->walk);
	assert_int_equal(own->walk.frame_cnt, 1);
	assert_int_equal(own->walk.end, TAPIR_STACK_END_NO_TABLE);
	for (size_t i = 0; i < own->code_cnt; i++)
		own->codes[i].table = own->tables[i];
}

static void generated_code_is_walked_by_its_frame_pointers(void **state)
{
	uint64_t memory[8] = {};
	struct tapir_walk_code code = {
		.start_va = 0x1000, .end_va = 0x2000, .kind = TAPIR_UNWIND_KIND_JIT};
	struct tapir_walk walk = {.codes = &code,
				  .code_cnt = 1,
				  .ip = 0x1100,
				  .sp = 0x9000,
				  .fp = 0x9010,
				  .stack = (const uint8_t *)memory,
				  .stack_va = 0x9000,
				  .stack_bytes = sizeof(memory)};

	(void)state;
	memory[2] = 0x9020; /* at 0x9010: the caller's frame, and where it goes on */
	memory[3] = 0x1200;
	memory[4] = 0;
	memory[5] = 0x1300;
	tapir_walk__run(&walk);
	assert_int_equal(walk.frame_cnt, 3);
	assert_int_equal(walk.frames[1], 0x1200);
	assert_int_equal(walk.frames[2], 0x1300);
	assert_int_equal(walk.end, TAPIR_STACK_END_JIT_NO_FP);
	assert_false(walk.used_table);
	memory[4] = 0x9010; /* a circle */
	tapir_walk__run(&walk);
	assert_int_equal(walk.frame_cnt, 3);
	assert_int_equal(walk.end, TAPIR_STACK_END_JIT_NO_FP);
	code.kind = TAPIR_UNWIND_KIND_JIT_NO_FP;
	tapir_walk__run(&walk);
	assert_int_equal(walk.frame_cnt, 1);
	assert_int_equal(walk.end, TAPIR_STACK_END_JIT_NO_FP);
}

/* A .NET single-file app has its assemblies behind the segments of its own ELF file. */
static void code_behind_the_segments_of_a_file_has_frame_pointers(void **state)
{
	const uint64_t memory[4] = {0, 0x1200, 0, 0x1300};
	struct tapir_unwind_table table = {.shape = {.segments_end = 0x1000}};
	const struct tapir_walk_code code = {.start_va = 0x1000,
					     .end_va = 0x2000,
					     .table = &table,
					     .kind = TAPIR_UNWIND_KIND_FILE};
	struct tapir_walk walk = {.codes = &code,
				  .code_cnt = 1,
				  .ip = 0x1100,
				  .sp = 0x9000,
				  .fp = 0x9000,
				  .stack = (const uint8_t *)memory,
				  .stack_va = 0x9000,
				  .stack_bytes = sizeof(memory)};

	(void)state;
	tapir_walk__run(&walk);
	assert_int_equal(walk.frame_cnt, 2);
	assert_int_equal(walk.frames[1], 0x1200);
	assert_int_equal(walk.end, TAPIR_STACK_END_JIT_NO_FP);
	table.shape.segments_end = 0x2000; /* it is the file's own code, which has no row */
	tapir_walk__run(&walk);
	assert_int_equal(walk.frame_cnt, 1);
	assert_int_equal(walk.end, TAPIR_STACK_END_NO_TABLE);
}

/* ---- what instructions say -------------------------------------------------------------------- */

#define CODE_VA	    0x1000
#define SMALL_VA    0x1100 /* goes on after its call: add rsp, 8; ret */
#define REPLACED_VA 0x1200 /* what CoreCLR's call for another code returns to */
#define NEW_VA	    0x1300 /* the new code of that method, with a frame record */
#define CALLER_VA   0x1400

static uint8_t code_bytes[0x1000];

static size_t read_code_bytes(const void *ctx, uint64_t va, uint8_t *out, size_t bytes)
{
	(void)ctx;
	if (va < CODE_VA || va + bytes > CODE_VA + sizeof(code_bytes))
		return 0;
	memcpy(out, code_bytes + (va - CODE_VA), bytes);
	return bytes;
}

static void put_code(uint64_t va, const char *bytes, size_t len)
{
	memcpy(code_bytes + (va - CODE_VA), bytes, len);
}

static struct tapir_walk walk_of_code(const struct tapir_walk_code *code, const uint64_t *memory,
				      size_t bytes)
{
	memset(code_bytes, 0xcc, sizeof(code_bytes));
	put_code(SMALL_VA, "\x48\x83\xc4\x08\xc3", 5);
	/* lea rdi, [rbp + 8]; mov esi, 1; call ... */
	put_code(REPLACED_VA - 14, "\x48\x8d\x7d\x08\xbe\x01\x00\x00\x00\xe8\x00\x00\x00\x00", 14);
	return (struct tapir_walk){.codes = code,
				   .code_cnt = 1,
				   .ip = NEW_VA,
				   .sp = 0x9000,
				   .stack = (const uint8_t *)memory,
				   .stack_va = 0x9000,
				   .stack_bytes = bytes,
				   .read_code = read_code_bytes};
}

static const struct tapir_walk_code generated = {
	.start_va = CODE_VA, .end_va = CODE_VA + 0x1000, .kind = TAPIR_UNWIND_KIND_JIT};

/* Its caller's frame pointer is in the register: that alone would lead past the caller. */
static void caller_of_a_small_method_is_found(void **state)
{
	uint64_t memory[8] = {[1] = CALLER_VA, [2] = 0, [3] = CALLER_VA + 1};
	struct tapir_walk walk = walk_of_code(&generated, memory, sizeof(memory));

	(void)state;
	walk.ip = SMALL_VA;
	walk.fp = 0x9010;
	tapir_walk__run(&walk);
	assert_int_equal(walk.frame_cnt, 3);
	assert_int_equal(walk.frames[1], CALLER_VA);
	assert_int_equal(walk.frames[2], CALLER_VA + 1);
	walk.read_code = NULL;
	tapir_walk__run(&walk);
	assert_int_equal(walk.frames[1], CALLER_VA + 1);
}

/* A method whose code was replaced while it ran is one frame, not its own caller. */
static void replaced_method_is_one_frame(void **state)
{
	/* New code's record at 0x9000, the old code's at 0x9020: both with the caller's 0x9030. */
	uint64_t memory[12] = {0x9030, REPLACED_VA, 7, 7, 0x9030, CALLER_VA, 0, CALLER_VA + 1};
	struct tapir_walk walk = walk_of_code(&generated, memory, sizeof(memory));

	(void)state;
	walk.fp = 0x9000;
	tapir_walk__run(&walk);
	assert_int_equal(walk.frame_cnt, 3);
	assert_int_equal(walk.frames[1], CALLER_VA);
	assert_int_equal(walk.frames[2], CALLER_VA + 1);
	/* A frame pointer that an earlier call left in the old code's variables is no record. */
	memory[2] = 0x9030;
	tapir_walk__run(&walk);
	assert_int_equal(walk.frame_cnt, 3);
	assert_int_equal(walk.frames[1], CALLER_VA);
	/* The old code runs, and called what is above it: its frame pointer leads on. */
	memory[2] = memory[4] = 7;
	tapir_walk__run(&walk);
	assert_int_equal(walk.frames[1], REPLACED_VA);
	assert_int_equal(walk.frames[2], CALLER_VA + 1);
}

static void memory_may_hold_anything(void **state)
{
	struct own *own = *state;

	srand(1);
	with_room(own);
	for (unsigned run = 0; run < 20000; run++) {
		uint64_t *words = (uint64_t *)own->stack;
		const struct tapir_walk_code *code = &own->codes[(size_t)rand() % own->code_cnt];

		for (unsigned i = 0; i < 32; i++)
			words[rand() % 512] =
				rand() & 1 ? own->walk.stack_va + (uint64_t)(rand() % 8192)
					   : code->start_va + (uint64_t)rand() % (code->end_va -
										  code->start_va);
		own->walk.ip = code->start_va + (uint64_t)rand() % (code->end_va - code->start_va);
		own->walk.fp = own->walk.stack_va + (uint64_t)(rand() % 4096);
		tapir_walk__run(&own->walk);
		assert_in_range(own->walk.frame_cnt, 1, TAPIR_MAX_FRAMES);
		assert_in_range(own->walk.end, 1, TAPIR_STACK_END_CNT - 1);
	}
}

/* ---- a heap that knows its frames' sizes ------------------------------------------------------- */

/* Segments of 16 bytes from CODE_VA on; the map is behind the code. */
#define MAP_VA	       (CODE_VA + 0x800)
#define BLOCK_VA       0x1200 /* its code is in the third segment after it */
#define IN_BLOCK_VA    0x1238
#define INTERPRETER_VA 0x1700
#define FRAME_SIZE_AT  4 /* byte 16 of a block */

static const struct tapir_walk_heap heap = {.start_va = CODE_VA,
					    .end_va = 0x1600,
					    .segment_map_va = MAP_VA,
					    .segment_shift = 4,
					    .frame_size_at = FRAME_SIZE_AT};

static void put_segment(uint64_t va, uint8_t back)
{
	code_bytes[MAP_VA - CODE_VA + (va - CODE_VA) / 16] = back;
}

/* A method whose frame has five words, and which does not keep a frame pointer. */
static struct tapir_walk walk_of_heap(const uint64_t *memory, size_t bytes)
{
	struct tapir_walk walk = walk_of_code(&generated, memory, bytes);

	put_code(BLOCK_VA + 4 * FRAME_SIZE_AT, "\x05\x00\x00\x00", 4);
	memset(code_bytes + (IN_BLOCK_VA - CODE_VA), 0x90, 0x100);
	put_segment(BLOCK_VA, 0);
	put_segment(BLOCK_VA + 0x10, 1);
	put_segment(BLOCK_VA + 0x20, 1); /* in two steps */
	put_segment(BLOCK_VA + 0x30, 1);
	walk.ip = IN_BLOCK_VA;
	walk.fp = 0x9030; /* a caller's, which would lead past one */
	walk.heaps = &heap;
	walk.heap_cnt = 1;
	return walk;
}

static void frames_of_a_heap_have_the_size_that_it_says(void **state)
{
	uint64_t memory[16] = {
		[3] = 0x9060, [4] = CALLER_VA, [6] = 0, [7] = CALLER_VA + 1, [13] = CALLER_VA + 2};
	struct tapir_walk walk = walk_of_heap(memory, sizeof(memory));

	(void)state;
	tapir_walk__run(&walk);
	assert_true(walk.frame_cnt >= 3);
	assert_int_equal(walk.frames[1], CALLER_VA);
	assert_int_equal(walk.frames[2], CALLER_VA + 2); /* by the frame pointer it has saved */
	put_segment(BLOCK_VA + 0x10, TAPIR_UNWIND_SEGMENT_FREE);
	tapir_walk__run(&walk);
	assert_int_equal(walk.frames[1], CALLER_VA + 1); /* as other generated code */
}

static void segment_map_that_leads_nowhere_is_not_followed(void **state)
{
	uint64_t memory[16] = {[7] = CALLER_VA + 1};
	struct tapir_walk walk = walk_of_heap(memory, sizeof(memory));
	uint32_t sizes[] = {0, 1, TAPIR_UNWIND_HEAP_WORDS + 1, UINT32_MAX};

	(void)state;
	put_segment(BLOCK_VA + 0x30, 0xfe); /* before the heap */
	tapir_walk__run(&walk);
	assert_int_equal(walk.frames[1], CALLER_VA + 1);
	put_segment(BLOCK_VA + 0x30, 3);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		memcpy(code_bytes + (BLOCK_VA + 4 * FRAME_SIZE_AT - CODE_VA), &sizes[i], 4);
		tapir_walk__run(&walk);
		assert_int_equal(walk.frames[1], CALLER_VA + 1);
	}
}

/* Interrupted where the frame is not there yet, or not any more. */
static void edges_of_a_method_have_no_frame(void **state)
{
	uint64_t memory[16] = {[0] = CALLER_VA + 3, [1] = CALLER_VA + 4, [4] = CALLER_VA};
	struct tapir_walk walk = walk_of_heap(memory, sizeof(memory));
	static const struct {
		const char *bytes; /* the first one is before */
		size_t len;
		uint64_t caller;
	} edges[] = {
		{"\x90\x89\x84\x24\x00\xc0\xfe\xff", 8, CALLER_VA + 3},
		{"\x90\x55", 2, CALLER_VA + 3},
		{"\x55\x48\x83\xec\x20", 5, CALLER_VA + 4},
		{"\x90\x48\x83\xec\x20", 5, CALLER_VA + 3},
		{"\x90\x5d\x49\x3b\xa7", 5, CALLER_VA + 4},
		{"\x5d\x49\x3b\xa7\x38\x03\x00\x00", 8, CALLER_VA + 3},
		{"\x90\x90\x90", 3, CALLER_VA},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++) {
		memset(code_bytes + (IN_BLOCK_VA - CODE_VA), 0x90, 0x20);
		put_code(IN_BLOCK_VA - 1, edges[i].bytes, edges[i].len);
		tapir_walk__run(&walk);
		assert_true(walk.frame_cnt >= 2);
		assert_int_equal(walk.frames[1], edges[i].caller);
	}
}

/* A virtual thread's callers, which HotSpot has not put on the stack again. */
static void callers_in_the_jvm_s_heap_are_not_skipped(void **state)
{
	uint64_t memory[16] = {[4] = CALLER_VA, [12] = 0, [13] = INTERPRETER_VA};
	struct tapir_walk walk = walk_of_heap(memory, sizeof(memory));

	(void)state;
	memory[3] = 0x9060; /* where the frame pointer leads: past those callers */
	put_code(CALLER_VA, "\x49\x8b\xa7\x18\x06\x00\x00", 7);
	tapir_walk__run(&walk);
	assert_int_equal(walk.frame_cnt, 1);
	assert_int_equal(walk.end, TAPIR_STACK_END_IN_HEAP);
	code_bytes[CALLER_VA - CODE_VA + 1] = 0x8a;
	tapir_walk__run(&walk);
	assert_int_equal(walk.frames[1], CALLER_VA);
	assert_int_equal(walk.frames[2], INTERPRETER_VA);
}

/* What a compiled method passed on the stack lies between its frame and the interpreted one's. */
static void caller_of_an_interpreted_method_begins_where_its_frame_says(void **state)
{
	uint64_t memory[32] = {[1] = 0x9040 + 16, /* at 0x9008, below the frame pointer */
			       [2] = 0x9100,
			       [3] = IN_BLOCK_VA,
			       [13] = 0x9100,
			       [14] = CALLER_VA};
	struct tapir_walk walk = walk_of_heap(memory, sizeof(memory));

	(void)state;
	walk.ip = INTERPRETER_VA;
	walk.fp = 0x9010;
	walk.interpreter_va = INTERPRETER_VA;
	walk.interpreter_end_va = INTERPRETER_VA + 0x40;
	walk.method_below = 0x100; /* in no memory: it has no name */
	tapir_walk__run(&walk);
	assert_true(walk.frame_cnt >= 3);
	assert_int_equal(walk.frames[1], IN_BLOCK_VA);
	assert_int_equal(walk.frames[2], CALLER_VA);
	memory[1] = 0x9009; /* no stack pointer: nothing was passed */
	memory[7] = CALLER_VA + 5;
	memory[8] = CALLER_VA + 6;
	tapir_walk__run(&walk);
	assert_int_equal(walk.frames[2], CALLER_VA + 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stack_is_the_one_that_libgcc_finds),
		cmocka_unit_test(coroutine_is_complete_at_its_first_function),
		cmocka_unit_test(stack_that_is_cut_ends_where_its_memory_does),
		cmocka_unit_test(address_of_no_code_is_the_only_frame),
		cmocka_unit_test(file_without_a_table_ends_the_stack),
		cmocka_unit_test(generated_code_is_walked_by_its_frame_pointers),
		cmocka_unit_test(code_behind_the_segments_of_a_file_has_frame_pointers),
		cmocka_unit_test(caller_of_a_small_method_is_found),
		cmocka_unit_test(frames_of_a_heap_have_the_size_that_it_says),
		cmocka_unit_test(segment_map_that_leads_nowhere_is_not_followed),
		cmocka_unit_test(edges_of_a_method_have_no_frame),
		cmocka_unit_test(callers_in_the_jvm_s_heap_are_not_skipped),
		cmocka_unit_test(caller_of_an_interpreted_method_begins_where_its_frame_says),
		cmocka_unit_test(replaced_method_is_one_frame),
		cmocka_unit_test(memory_may_hold_anything),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
