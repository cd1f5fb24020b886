// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/walk_code.h"

#include "bpf/unwind_logic.bpf.h"

static size_t read_code(const struct tapir_walk *w, uint64_t va, uint8_t *out, size_t bytes)
{
	return w->read_code ? w->read_code(w->code_ctx, va, out, bytes) : 0;
}

bool tapir_walk_code__frame_at(const struct tapir_walk *w, uint64_t ip,
			       struct tapir_walk_code_frame *out)
{
	struct tapir_unwind_code c = {};

	if (!read_code(w, ip, c.bytes, TAPIR_UNWIND_CODE_BYTES))
		return false;
	for (unsigned i = 0; i < TAPIR_UNWIND_CODE_STEPS && !c.result; i++)
		tapir_unwind_code__step(&c);
	*out = (struct tapir_walk_code_frame){
		.cfa_off = c.cfa_off, .fp_off = c.fp_off, .has_fp_off = c.has_fp_off};
	return tapir_unwind_code__ok(&c);
}

bool tapir_walk_code__is_patchpoint(const struct tapir_walk *w, uint64_t return_va)
{
	uint8_t bytes[TAPIR_UNWIND_PATCHPOINT_BYTES];

	return read_code(w, return_va - sizeof(bytes), bytes, sizeof(bytes)) == sizeof(bytes) &&
	       tapir_unwind__is_patchpoint(bytes);
}
