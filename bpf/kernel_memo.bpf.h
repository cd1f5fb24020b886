/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kernel_memo.bpf.h - the kernel stack of a thread that leaves its CPU. To unwind it takes the
 * kernel 1 to 4 us, most of what a switch costs, and a thread waits in few places: a stack that is
 * as it was when it was walked before keeps its id (memo_logic.bpf.h).
 *
 * For programs on sched_switch: one at a time on a CPU, interrupts off, on the thread's own stack.
 */
#ifndef TAPIR_BPF_KERNEL_MEMO_BPF_H
#define TAPIR_BPF_KERNEL_MEMO_BPF_H

#include "bpf/cpu_stack.bpf.h"
#include "bpf/memo_logic.bpf.h"

#define KERNEL_MEMOS	 256 /* a power of two */
#define KERNEL_MEMO_WAYS 2   /* of one key */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KERNEL_MEMOS);
	__type(key, __u32);
	__type(value, struct tapir_memo);
} kernel_memos SEC(".maps");

/* One match in this many is walked anyway; a test walks each one. */
const volatile __u32 kernel_memo_check = TAPIR_MEMO_CHECK;

struct kernel_window {
	__u64 key;
	__u64 base_va, top_va; /* of the stack */
	__u64 top_word;
	__u32 idx; /* of the current memo */
	__u32 pad0;
	__u64 kept;
	__u64 words[TAPIR_MEMO_WORDS]; /* from the base up */
	struct tapir_memo_search search;
};

#define SINCE_TOP_BYTES(w) ((w)->top_va - (w)->base_va)

/*
 * ctx is an array of arguments on the thread's stack, in the frame of the program's caller. The
 * outermost frame's address is known by its place at the top. An exception's entry is also found
 * further in, where it came from the kernel itself: only a system call may have any height.
 */
static __always_inline void begin_window(struct kernel_window *w, __u64 ctx_va,
					 struct task_struct *task, int is_preempted)
{
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	__u64 key = tapir_walk__hash(task->pid, is_preempted);

	w->base_va = ctx_va;
	w->top_va = (__u64)regs;
	w->top_word = 0;
	bpf_probe_read_kernel(&w->top_word, sizeof(w->top_word), (const void *)(w->top_va - 8));
#if defined(__TARGET_ARCH_x86)
	key = tapir_walk__hash(key, regs->orig_ax);
	if ((long)regs->orig_ax < 0)
#endif
		key = tapir_walk__hash(key, SINCE_TOP_BYTES(w));
	w->key = key ? key : 1;
}

static __always_inline long read_words(struct kernel_window *w, __u64 word_cnt)
{
	__u64 bytes = word_cnt * 8;

	if (bytes > sizeof(w->words) || bytes > SINCE_TOP_BYTES(w))
		return -1;
	return bpf_probe_read_kernel(w->words, bytes, (const void *)w->base_va);
}

/* The memo in one of the slots that a key may have. */
static __always_inline struct tapir_memo *memo_at(struct kernel_window *w, __u32 way)
{
	w->idx = (w->key >> (way ? 32 : 0)) & (KERNEL_MEMOS - 1);
	return bpf_map_lookup_elem(&kernel_memos, &w->idx);
}

/* The memo of the stack in w, or NULL. */
static __always_inline struct tapir_memo *find_memo(struct kernel_window *w, __u64 epoch)
{
	for (__u32 way = 0; way < KERNEL_MEMO_WAYS; way++) {
		struct tapir_memo *memo = memo_at(w, way);

		if (memo && memo->key == w->key && memo->epoch == epoch &&
		    (!memo->top_va || memo->top_va == w->top_word) &&
		    !read_words(w, memo->word_cnt) && tapir_memo__matches(memo, w->words))
			return memo;
	}
	return NULL;
}

/* ---- after a walk --------------------------------------------------------------------------- */

struct memo_learning {
	struct kernel_window *w;
	struct kernel_stack *k;
	struct tapir_memo *memo;
};

static long match_frame_at(__u64 idx, void *ctx)
{
	struct memo_learning *l = ctx;

	tapir_memo__look_for(&l->w->search, l->k->frames[idx & 127]);
	return 0;
}

static long learn_word(__u64 idx, void *ctx)
{
	struct memo_learning *l = ctx;
	__u64 next_va = l->k->frames[l->w->search.found_cnt & 127];

	tapir_memo__learn(l->memo, &l->w->search, idx, l->w->words[idx & (TAPIR_MEMO_WORDS - 1)],
			  next_va);
	return 0;
}

static long keep_slot(__u64 idx, void *ctx)
{
	struct memo_learning *l = ctx;

	l->w->kept = tapir_memo__keep(l->memo, idx, l->w->kept, l->w->words);
	return 0;
}

static long find_kept(__u64 idx, void *ctx)
{
	struct memo_learning *l = ctx;
	__u64 next_va = l->k->frames[l->w->search.found_cnt & 127];

	if (idx < TAPIR_MEMO_SLOTS)
		l->w->search.found_cnt += l->memo->words[idx] == next_va;
	return 0;
}

/* All words as far as the top, which is another's place if it is the outermost frame's. */
static __always_inline __u32 words_below_top(const struct kernel_window *w,
					     const struct tapir_memo *memo)
{
	__u64 cnt = SINCE_TOP_BYTES(w) / 8 - (memo->top_va != 0);

	return cnt > TAPIR_MEMO_WORDS ? TAPIR_MEMO_WORDS : cnt;
}

/* Do the slots have all frames? Where not, some are in places that differ from time to time. */
static __always_inline void use_memo(struct memo_learning *l, __u64 epoch, __u32 wanted_cnt)
{
	struct tapir_memo *memo = l->memo;

	memo->key = l->w->search.found_cnt >= wanted_cnt && !l->w->search.is_full ? l->w->key : 0;
	memo->stack_id = l->k->rec.stack_id;
	memo->epoch = epoch;
}

/* Starts a memo, or makes the one of this stack better. */
static __noinline int learn_stack(struct kernel_window *w, struct kernel_stack *k, __u64 epoch)
{
	struct memo_learning l = {.w = w, .k = k};
	__u32 frame_cnt = k->rec.frame_cnt, wanted_cnt;

	for (__u32 way = 0; way < KERNEL_MEMO_WAYS && !l.memo; way++) {
		l.memo = memo_at(w, way);
		if (l.memo && (l.memo->key != w->key || l.memo->stack_id != k->rec.stack_id))
			l.memo = NULL;
	}
	w->search = (struct tapir_memo_search){.low_va = ~0ull};
	w->kept = 0;
	/*
	 * A memo of this stack is there: its words that differ now are no return addresses of the
	 * walk, and leave it.
	 */
	if (l.memo && !read_words(w, l.memo->word_cnt)) {
		bpf_loop(l.memo->slot_cnt, keep_slot, &l, 0);
		l.memo->slot_cnt = w->kept;
		bpf_loop(w->kept, find_kept, &l, 0);
		use_memo(&l, epoch, frame_cnt - (l.memo->top_va != 0));
		return 0;
	}
	/*
	 * A new stack takes one of the two places at random: no order of replacement has to be
	 * kept.
	 */
	l.memo = memo_at(w, bpf_get_prandom_u32() & 1);
	if (!l.memo)
		return 0;
	/*
	 * To learn costs more than to walk: a place whose memos keep being replaced learns only at
	 * times.
	 */
	if (++l.memo->walk_cnt > TAPIR_MEMO_PATIENCE && l.memo->walk_cnt % TAPIR_MEMO_PATIENCE)
		return 0;
	l.memo->slot_cnt = l.memo->match_cnt = l.memo->word_cnt = 0;
	l.memo->top_va = k->frames[(frame_cnt - 1) & 127] == w->top_word ? w->top_word : 0;
	wanted_cnt = frame_cnt - (l.memo->top_va != 0);
	if (read_words(w, words_below_top(w, l.memo)))
		return 0;
	bpf_loop(wanted_cnt, match_frame_at, &l, 0);
	bpf_loop(words_below_top(w, l.memo), learn_word, &l, 0);
	use_memo(&l, epoch, wanted_cnt);
	return 0;
}

/* Does what take_kernel_stack does, which it calls for what is new. */
static __always_inline __u64 take_known_kernel_stack(struct cpu_stacks *s, struct kernel_window *w,
						     struct tapir_live *now, void *ctx, __u32 skip,
						     const struct tapir_rec *of, long *err)
{
	struct tapir_memo *memo = find_memo(w, now->epoch);
	__u64 id;

	*err = 0;
	if (memo) {
		memo->walk_cnt = 0;
		if (++memo->match_cnt % kernel_memo_check)
			return memo->stack_id;
	}
	id = take_kernel_stack(s, now, ctx, skip, of, err);
	if (memo && id != memo->stack_id)
		tapir_lose(&zero_key, TAPIR_LOSS_KERNEL_STACK_STALE);
	if (id && !*err && (!memo || id != memo->stack_id))
		learn_stack(w, &s->kernel, now->epoch);
	return id;
}

#endif /* TAPIR_BPF_KERNEL_MEMO_BPF_H */
