// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads CodeCache, CodeHeap and CodeBlob, where the JVM's own description (jvm_structs.h) says they
 * are, and checks each value against the others: an offset that is wrong would give the unwinder a
 * wrong frame size.
 */
#include "runtime/jvm/jvm_code.h"

#define MAX_USER_VA   (1ull << 47)
#define MAX_HEAP_SIZE (2ull << 30) /* HotSpot's own limit */
#define MAX_SHIFT     16u

/* The members that are needed of the description, in the order in which they are used below. */
enum {
	HEAPS,
	ARRAY_LEN,
	ARRAY_DATA,
	MEMORY,
	SEGMENT_MAP,
	SEGMENT_SHIFT,
	LOW,
	HIGH_BOUNDARY,
	BLOCK_BYTES,
	FRAME_SIZE,
};

const struct tapir_jvm_struct tapir_jvm_code_structs[TAPIR_JVM_CODE_STRUCT_CNT] = {
	[HEAPS] = {"CodeCache", "_heaps", .is_static = true},
	[ARRAY_LEN] = {"GrowableArrayBase", "_len"},
	[ARRAY_DATA] = {"GrowableArray<int>", "_data"},
	[MEMORY] = {"CodeHeap", "_memory"},
	[SEGMENT_MAP] = {"CodeHeap", "_segmap"},
	[SEGMENT_SHIFT] = {"CodeHeap", "_log2_segment_size"},
	[LOW] = {"VirtualSpace", "_low"},
	[HIGH_BOUNDARY] = {"VirtualSpace", "_high_boundary"},
	[BLOCK_BYTES] = {"HeapBlock", NULL},
	[FRAME_SIZE] = {"CodeBlob", "_frame_size"},
};

static bool read_shift(const struct tapir_process_memory *memory, uint64_t va, uint8_t *shift)
{
	int32_t value;

	if (!tapir_process_memory__get(memory, va, &value, sizeof(value)) || value < 3 ||
	    value > (int)MAX_SHIFT)
		return false;
	*shift = (uint8_t)value;
	return true;
}

/* Does its map have a place for the segments of all addresses, counted from 0? */
static bool is_sound(const struct tapir_walk_heap *heap)
{
	return heap->start_va && heap->start_va < heap->end_va && heap->end_va < MAX_USER_VA &&
	       heap->end_va - heap->start_va <= MAX_HEAP_SIZE &&
	       !(heap->start_va & ((1ull << heap->segment_shift) - 1)) && heap->segment_map_va &&
	       heap->segment_map_va < MAX_USER_VA;
}

static bool read_heap(struct tapir_jvm_code *code, const struct tapir_process_memory *memory,
		      const struct tapir_jvm_struct *s, uint64_t va)
{
	struct tapir_walk_heap *heap = &code->heaps[code->heap_cnt];
	uint64_t memory_va = va + s[MEMORY].value;

	*heap = (struct tapir_walk_heap){
		.start_va = tapir_process_memory__u64(memory, memory_va + s[LOW].value),
		.end_va = tapir_process_memory__u64(memory, memory_va + s[HIGH_BOUNDARY].value),
		.segment_map_va =
			tapir_process_memory__u64(memory, va + s[SEGMENT_MAP].value + s[LOW].value),
	};
	if (!va || !read_shift(memory, va + s[SEGMENT_SHIFT].value, &heap->segment_shift) ||
	    !is_sound(heap) || heap->segment_shift != code->heaps[0].segment_shift)
		return false;
	code->heap_cnt++;
	return true;
}

static bool read_heaps(struct tapir_jvm_code *code, const struct tapir_process_memory *memory,
		       const struct tapir_jvm_struct *s)
{
	uint64_t array_va = tapir_process_memory__u64(memory, s[HEAPS].value), data_va;
	int32_t cnt;

	if (!array_va ||
	    !tapir_process_memory__get(memory, array_va + s[ARRAY_LEN].value, &cnt, sizeof(cnt)) ||
	    cnt < 1 || cnt > (int)TAPIR_JVM_CODE_HEAPS)
		return false;
	data_va = tapir_process_memory__u64(memory, array_va + s[ARRAY_DATA].value);
	for (int i = 0; i < cnt; i++)
		if (!data_va || !read_heap(code, memory, s,
					   tapir_process_memory__u64(memory, data_va + 8u * i)))
			return false;
	return true;
}

bool tapir_jvm_code__read(struct tapir_jvm_code *out, const struct tapir_process_memory *memory,
			  const struct tapir_jvm_struct found[TAPIR_JVM_CODE_STRUCT_CNT])
{
	struct tapir_jvm_code code = {};
	uint64_t at;

	*out = code;
	for (unsigned i = 0; i < TAPIR_JVM_CODE_STRUCT_CNT; i++)
		if (!found[i].is_found)
			return false;
	/* The block's header, then the CodeBlob. */
	at = found[BLOCK_BYTES].value + found[FRAME_SIZE].value;
	if (at & 3 || at / 4 > UINT8_MAX || !read_heaps(&code, memory, found))
		return false;
	for (unsigned i = 0; i < code.heap_cnt; i++)
		code.heaps[i].frame_size_at = (uint8_t)(at / 4);
	*out = code;
	return true;
}
