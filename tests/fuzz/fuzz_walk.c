// SPDX-License-Identifier: GPL-2.0-or-later
/* The first half of the input as .eh_frame, the second as registers and stack: a walk ends. */
#include <assert.h>

#include "tests/unit/elf_builder.h"
#include "attach/unwind/unwind_table.h"
#include "attach/unwind/walk.h"

#define STACK_VA 0x7000000000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tapir_unwind_table *table_of(const uint8_t *data, size_t size)
{
	struct tapir_unwind_table *table = NULL;
	struct tapir_elf *elf;
	struct elf_builder b;

	elf_builder__init(&b, ET_DYN);
	elf_builder__add_section(&b, ".eh_frame", SHT_PROGBITS, data, size);
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	if (elf && tapir_unwind_table__build(elf, &table))
		table = NULL;
	tapir_elf__free(elf);
	elf_builder__fini(&b);
	return table;
}

struct input {
	const uint8_t *data;
	size_t size;
};

/* The stack's bytes are the code, too. */
static size_t read_code(const void *ctx, uint64_t va, uint8_t *out, size_t bytes)
{
	const struct input *in = ctx;

	for (size_t i = 0; i < bytes; i++)
		out[i] = in->size ? in->data[(va + i) % in->size] : 0;
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t half = size / 2;
	struct tapir_unwind_table *table = table_of(data, half);
	const struct input in = {data + half, size - half};
	const struct tapir_walk_code codes[] = {
		{.start_va = TEXT_VA,
		 .end_va = TEXT_VA + 0x2000,
		 .bias = LOAD_BIAS,
		 .table = table,
		 .kind = TAPIR_UNWIND_KIND_FILE},
		{.start_va = TEXT_VA + 0x2000,
		 .end_va = TEXT_VA + 0x3000,
		 .kind = TAPIR_UNWIND_KIND_JIT},
	};
	/* Its segment map and its blocks are the same bytes, too. */
	const struct tapir_walk_heap heap = {.start_va = TEXT_VA + 0x2000,
					     .end_va = TEXT_VA + 0x2800,
					     .segment_map_va = STACK_VA,
					     .segment_shift = 7,
					     .frame_size_at = 11};
	struct tapir_walk walk = {.codes = codes,
				  .code_cnt = 2,
				  .ip = TEXT_VA + (size > 2 ? data[size - 1] * 64u : 0),
				  .sp = STACK_VA,
				  .fp = STACK_VA + (size > 2 ? data[size - 2] : 0),
				  .stack = data + half,
				  .stack_va = STACK_VA,
				  .stack_bytes = size - half,
				  .read_code = read_code,
				  .code_ctx = &in,
				  .heaps = &heap,
				  .heap_cnt = 1};

	tapir_walk__run(&walk);
	assert(walk.frame_cnt >= 1 && walk.frame_cnt <= TAPIR_MAX_FRAMES);
	assert(walk.end > TAPIR_STACK_END_UNKNOWN && walk.end < TAPIR_STACK_END_CNT);
	tapir_unwind_table__free(table);
	return 0;
}
