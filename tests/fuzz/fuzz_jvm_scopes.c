// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The input is the memory of a HotSpot with compiled methods, in both layouts: whatever is there,
 * a list of inlined methods ends, and with the method that was compiled.
 */
#include <stdlib.h>

#include "runtime/jvm/jvm_scopes.h"
#include "tests/unit/fake_memory.h"

enum {
	HEAP = MEMORY_VA + 0x100,
	HEAP_BYTES = 0x4000,
	BLOCK = HEAP + 0x80,
	NAME = MEMORY_VA + 0x40,
	METHOD = 0x18
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct tapir_jvm_code code = {.heaps = {{HEAP, HEAP + HEAP_BYTES, MEMORY_VA, 7, 0}},
					   .heap_cnt = 1};

static const struct tapir_jvm_scopes layouts[] = {
	{.is_known = true,
	 .block_bytes = 16,
	 .header_bytes = 0x60,
	 .name = 8,
	 .method = METHOD,
	 .code = 0x20,
	 .data = 0x28,
	 .metadata = 0x30,
	 .pcs = 0x34,
	 .pcs_end = 0x38,
	 .scope_off = 4},
	{.is_known = true,
	 .is_apart = true,
	 .excluded = 1,
	 .block_bytes = 16,
	 .header_bytes = 0x60,
	 .name = 8,
	 .method = METHOD,
	 .code = 0x20,
	 .data = 0x24,
	 .apart_va = 0x28,
	 .apart_bytes = 0x30,
	 .mutable_va = 0x38,
	 .mutable_bytes = 0x40,
	 .relocation_bytes = 0x44,
	 .pcs = 0x48,
	 .scope_off = 4},
};

static void look(const struct tapir_jvm_scopes *layout, const struct tapir_process_memory *source,
		 uint64_t va, bool is_return)
{
	struct tapir_jvm_scope out[TAPIR_JVM_SCOPES_MAX];
	unsigned cnt = tapir_jvm_scopes__at(layout, &code, source, va, is_return, out);

	if (cnt > TAPIR_JVM_SCOPES_MAX || (cnt && !out[cnt - 1].method_va))
		abort();
	if (cnt && va < HEAP + 0x100 &&
	    out[cnt - 1].method_va != tapir_process_memory__u64(source, BLOCK + 16 + METHOD))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fake_memory memory;
	const struct tapir_process_memory source = fake_memory__of(&memory);

	memory.size = size < MEMORY_BYTES ? size : MEMORY_BYTES;
	memcpy(memory.bytes, data, memory.size);
	if (memory.size > NAME - MEMORY_VA + 64 &&
	    memory.size > BLOCK + 64 - MEMORY_VA) { /* else it takes long until a block is found */
		memory.bytes[0] = TAPIR_UNWIND_SEGMENT_FREE;
		memory.bytes[1] = 0;
		memcpy(memory.bytes + (NAME - MEMORY_VA), "nmethod", sizeof("nmethod"));
		fake_memory__put(&memory, BLOCK + 16 + 8, NAME);
		for (unsigned off = 0x18; off < 0x48; off += 8) /* or any pointer is */
			if (data[0] >> (off / 8 - 3) & 1)
				fake_memory__put(&memory, BLOCK + 16 + off,
						 MEMORY_VA + data[off] * 16u);
	}
	for (unsigned i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		for (uint64_t va = BLOCK + 0x60; va < BLOCK + 0x80; va += 7) {
			look(&layouts[i], &source, va, false);
			look(&layouts[i], &source, va, true);
		}
	return 0;
}
