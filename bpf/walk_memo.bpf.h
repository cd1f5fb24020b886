/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * walk_memo.bpf.h - which words of the stack led a walk, and whether they are still the same: then
 * the walk would be, too, and is not made again.
 */
#ifndef TAPIR_BPF_WALK_MEMO_BPF_H
#define TAPIR_BPF_WALK_MEMO_BPF_H

#include "bpf/stack_rows.bpf.h"

#define COMPARED_AT_ONCE 32u /* the verifier checks each iteration of an inline loop */

/* ---- while it walks --------------------------------------------------------------------------- */

static __always_inline __u64 window_word(const struct user_stack *u, __u64 off)
{
	return u->window[(off >> 3) & (WINDOW_WORDS - 1)];
}

/* Notes where in the stack a step read its words: of a frame that ends at cfa. */
static __always_inline void note_words(struct user_stack *u, __u64 cfa, __u8 fp)
{
	__u32 i = (frame_cnt(u) - 1) & 127;
	__u64 at = (cfa - 8 - u->walk.start) >> 3, fp_at = at - fp + (fp > 0);

	if (at >= MEMO_WORDS || fp_at >= MEMO_WORDS || fp >= TAPIR_UNWIND_FP_AT_FP) {
		u->walk.is_uncacheable = 1;
		return;
	}
	u->memo.read_at[i].ip = at;
	u->memo.read_at[i].fp = fp_at;
	u->memo.fps[i] = fp ? u->fp : u->pair[1];
}

static __always_inline void keep_words(struct user_stack *u, __u64 off, __u64 fp_off)
{
	__u32 i = (frame_cnt(u) - 1) & 127;
	__u64 moved = u->walk.base - u->walk.start;

	u->memo.read_at[i].ip = (moved + off) >> 3;
	u->memo.read_at[i].fp = (moved + fp_off) >> 3;
	u->memo.fps[i] = window_word(u, fp_off);
}

/* ---- later ------------------------------------------------------------------------------------ */

/* A word of the stack's beginning, as long as the window was not moved. */
static __always_inline __u64 memo_word(const struct user_stack *u, __u32 at)
{
	return u->window[at & (MEMO_WORDS - 1)];
}

/* Compares COMPARED_AT_ONCE callers. Not static: see find_row. */
__weak __noinline int differs_from(struct user_stack *u, __u32 first)
{
	__u64 differs = 0;
	__u32 cnt;

	if (!u)
		return 1;
	first &= TAPIR_FRAMES & ~(COMPARED_AT_ONCE - 1);
	cnt = u->memo.frame_cnt - 1 - first;
	for (__u32 i = 0; i < COMPARED_AT_ONCE && i < cnt; i++) {
		const struct word_offsets *at = &u->memo.read_at[first + i];

		differs |= memo_word(u, at->ip) ^ u->frames[first + i + 1];
		differs |= memo_word(u, at->fp) ^ u->memo.fps[first + i];
	}
	return differs != 0;
}

/* Are the words the same by which the last walk went? */
static __always_inline int has_same_words(struct user_stack *u)
{
	const struct word_offsets *at = u->memo.read_at;

	/* Stacks that differ do so near their tops, most times. */
	if (u->memo.frame_cnt > 2 &&
	    (memo_word(u, at[0].ip) != u->frames[1] || memo_word(u, at[1].ip) != u->frames[2]))
		return 0;
	for (__u32 first = 0; first < TAPIR_FRAMES; first += COMPARED_AT_ONCE) {
		if (first + 1 >= u->memo.frame_cnt)
			break;
		if (differs_from(u, first))
			return 0;
	}
	return 1;
}

/* Starts the memo of a walk. */
static __always_inline void begin_memo(struct user_stack *u)
{
	u->memo.seed = 0;
	u->memo.ip = u->ip;
	u->memo.sp = u->sp;
	u->memo.fp = u->fp;
}

/* Is the record already that of this stack? Reads its beginning. Not static: see find_row. */
__weak __noinline int is_last_walk(struct user_stack *u)
{
	struct walk_memo *m;

	if (!u)
		return 0;
	read_window(u);
	m = &u->memo;
	if (u->seed && m->seed == u->seed && m->sp == u->sp && m->ip == u->ip && m->fp == u->fp &&
	    u->walk.window_bytes == WINDOW_BYTES && has_same_words(u))
		return 1;
	begin_memo(u);
	return 0;
}

/* A walk that is complete. sp is where the outermost frame ends that has a caller. */
static __always_inline void keep_walk(struct user_stack *u)
{
	__u64 words = (u->sp - u->walk.start) >> 3;

	if (u->walk.is_uncacheable || u->walk.end != TAPIR_STACK_END_WHOLE || words > MEMO_WORDS ||
	    u->walk.cnt > TAPIR_FRAMES)
		return;
	u->memo.frame_cnt = u->walk.cnt;
	u->walk.word_cnt = words;
	if (words <= WINDOW_WORDS)
		u->memo.seed = u->seed;
}

#endif /* TAPIR_BPF_WALK_MEMO_BPF_H */
