// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Generated code in a walk of copied memory. The decisions are those of bpf/unwind_logic.bpf.h,
 * compiled for this side; only how memory is read differs, and what cannot be read ends the walk.
 */
#include "attach/unwind/walk_code.h"

#include <string.h>

#include "bpf/unwind_logic.bpf.h"

static size_t read_code(const struct tapir_walk *w, uint64_t va, uint8_t *out, size_t bytes)
{
	return w->read_code ? w->read_code(w->code_ctx, va, out, bytes) : 0;
}

bool tapir_walk_code__frame_at(const struct tapir_walk *w, uint64_t ip,
			       struct tapir_walk_code_frame *out)
{
	struct tapir_unwind_code c = {.va = ip};

	if (!read_code(w, ip, c.bytes, TAPIR_UNWIND_CODE_BYTES))
		return false;
	for (unsigned i = 0; i < TAPIR_UNWIND_CODE_STEPS && !c.result; i++) {
		tapir_unwind_code__step(&c);
		if (c.result != TAPIR_UNWIND_CODE_JUMPED)
			continue;
		memset(c.bytes, 0, sizeof(c.bytes));
		if (!read_code(w, c.va, c.bytes, TAPIR_UNWIND_CODE_BYTES))
			return false;
		tapir_unwind_code__land(&c);
	}
	*out = (struct tapir_walk_code_frame){
		.cfa_off = c.cfa_off, .fp_off = c.fp_off, .has_fp_off = c.has_fp_off};
	return tapir_unwind_code__ok(&c);
}

/* The size of the frames of the code at va, in words; 0: not known. */
static uint32_t heap_words(const struct tapir_walk *w, const struct tapir_walk_heap *heap,
			   uint64_t va)
{
	uint64_t segment = va >> heap->segment_shift, first = heap->start_va >> heap->segment_shift;
	uint8_t back = TAPIR_UNWIND_SEGMENT_FREE;
	uint32_t words;

	for (unsigned i = 0; i < TAPIR_UNWIND_SEGMENT_STEPS && back; i++) {
		if (!read_code(w, heap->segment_map_va + segment - first, &back, 1) ||
		    back == TAPIR_UNWIND_SEGMENT_FREE || back > segment - first)
			return 0;
		segment -= back;
	}
	if (back || read_code(w, (segment << heap->segment_shift) + 4u * heap->frame_size_at,
			      (uint8_t *)&words, sizeof(words)) != sizeof(words))
		return 0;
	return words >= 2 && words <= TAPIR_UNWIND_HEAP_WORDS ? words : 0;
}

bool tapir_walk_code__heap_frame_at(const struct tapir_walk *w, const struct tapir_walk_heap *heap,
				    uint64_t ip, bool is_interrupted,
				    struct tapir_walk_code_frame *out)
{
	uint32_t words = heap_words(w, heap, ip - !is_interrupted), edge_words = 0;
	uint8_t bytes[4];

	if (!words)
		return false;
	if (is_interrupted) {
		if (tapir_walk_code__frame_at(w, ip, out))
			return true;
		if (read_code(w, ip - 1, bytes, sizeof(bytes)) == sizeof(bytes))
			edge_words = tapir_unwind__heap_edge_words(bytes + 1, bytes[0]);
	}
	words = edge_words ? edge_words : words;
	*out = (struct tapir_walk_code_frame){.cfa_off = 8 * (int32_t)words,
					      .fp_off = 8 * ((int32_t)words - 2),
					      .has_fp_off = words > 1};
	return true;
}

bool tapir_walk_code__is_patchpoint(const struct tapir_walk *w, uint64_t return_va)
{
	uint8_t bytes[TAPIR_UNWIND_PATCHPOINT_BYTES];

	return read_code(w, return_va - sizeof(bytes), bytes, sizeof(bytes)) == sizeof(bytes) &&
	       tapir_unwind__is_patchpoint(bytes);
}

bool tapir_walk_code__is_thaw(const struct tapir_walk *w, uint64_t return_va)
{
	uint8_t bytes[TAPIR_UNWIND_THAW_BYTES];

	return read_code(w, return_va, bytes, sizeof(bytes)) == sizeof(bytes) &&
	       tapir_unwind__is_thaw(bytes);
}
