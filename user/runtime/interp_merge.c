// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See interp_merge.h. Each native frame of the interpreter's loop takes the functions of one call
 * of the loop, innermost first. The two lists may differ in length, since they were read at
 * different times: calls without frames, or frames without calls, are left out at the inner end,
 * where the difference is.
 */
#include "runtime/interp_merge.h"

struct merged {
	uint64_t *frames;
	size_t cnt, max;
};

static void push(struct merged *m, uint64_t va)
{
	if (m->cnt < m->max)
		m->frames[m->cnt] = va;
	m->cnt++;
}

/* Adds the functions of one call of the loop; returns how many frames it used. */
static size_t push_call(struct merged *m, const struct tapir_interp_function *frames, size_t cnt,
			const struct tapir_interp_namer *namer, bool has_names)
{
	size_t i = 0;

	while (i < cnt) {
		const struct tapir_interp_function *frame = &frames[i++];

		if (!has_names && frame->code_va &&
		    (!namer->is_named || namer->is_named(namer->ctx, frame->code_va)))
			push(m, frame->code_va + 1);
		if (frame->is_last)
			break;
	}
	return i;
}

static bool is_loop(const struct tapir_interp_loop *loop, uint64_t va)
{
	return (va > loop->va && va <= loop->end_va) ||
	       (va > loop->cold_va && va <= loop->cold_end_va);
}

/* Frames without their last one's mark, as those of a list that was truncated, count as a call. */
static size_t call_cnt(const struct tapir_interp_function *frames, size_t cnt)
{
	size_t calls = 0;

	for (size_t i = 0; i < cnt; i++)
		calls += frames[i].is_last || i + 1 == cnt;
	return calls;
}

/* Returns how many calls of the loop have no frames, innermost first; negative: how many frames'
 * calls are not on the stack. */
static int64_t surplus(const struct tapir_interp_loop *loop,
		       const struct tapir_interp_function *frames, size_t cnt,
		       const uint64_t *native, size_t native_cnt)
{
	int64_t surplus = -(int64_t)call_cnt(frames, cnt);

	for (size_t i = 0; i < native_cnt; i++)
		surplus += is_loop(loop, native[i]);
	return surplus;
}

size_t tapir_interp__merge(const struct tapir_interp_loop *loop,
			   const struct tapir_interp_function *frames, size_t cnt,
			   const struct tapir_interp_namer *namer, const uint64_t *native,
			   size_t native_cnt, bool is_complete, uint64_t *out, size_t max)
{
	struct merged merged = {out, 0, max}, none = {};
	int64_t left = is_complete ? surplus(loop, frames, cnt, native, native_cnt) : 0;
	size_t done = 0;

	for (; left < 0 && done < cnt; left++)
		done += push_call(&none, frames + done, cnt - done, namer, true);
	for (size_t i = 0; i < native_cnt; i++) {
		bool has_names =
			i + 1 < native_cnt && namer->is_generated(namer->ctx, native[i + 1]);

		push(&merged, native[i]);
		if (is_loop(loop, native[i]) && left-- <= 0)
			done += push_call(&merged, frames + done, cnt - done, namer, has_names);
	}
	while (!is_complete && done < cnt)
		done += push_call(&merged, frames + done, cnt - done, namer, false);
	return merged.cnt;
}
