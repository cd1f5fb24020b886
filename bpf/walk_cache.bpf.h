/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * walk_cache.bpf.h - the user stack of a thread that leaves its CPU within a system call. A thread
 * does so in few places, and the threads of a server take turns: the walk of a stack that has been
 * walked before is not repeated (user_stack.bpf.h has why it would be the same). A page of them per
 * CPU is kept, by where the stack begins; one match in some is walked anyway, and a difference is
 * counted.
 *
 * For programs on sched_switch: one at a time on a CPU, interrupts off.
 */
#ifndef TAPIR_BPF_WALK_CACHE_BPF_H
#define TAPIR_BPF_WALK_CACHE_BPF_H

#include "bpf/cpu_stack.bpf.h"

#define CACHED_WALKS	 64 /* powers of two */
#define CACHED_FRAMES	 64
#define WALK_CACHE_CHECK 1024

struct cached_walk {
	__u64 ip, sp, fp;
	__u64 seed; /* of the process and its mappings; 0: not in use */
	__u64 stack_id;
	__u32 frame_cnt;
	__u32 word_cnt; /* of the stack, as far as the walk read it */
	__u32 match_cnt;
	__u32 pad0;
	struct word_offsets read_at[CACHED_FRAMES]; /* of struct walk_memo */
	__u64 callers[CACHED_FRAMES];
	__u64 fps[CACHED_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CACHED_WALKS);
	__type(key, __u32);
	__type(value, struct cached_walk);
} walk_cache __weak SEC(".maps");

/* One match in this many is walked anyway; a test walks each one. */
const volatile __u32 walk_cache_check __weak SEC(".rodata") = WALK_CACHE_CHECK;

/* Reads again the words that a cached walk read of a stack. */
static __always_inline long read_words_of(struct user_stack *u, const struct cached_walk *k)
{
	__u64 bytes = 8ull * k->word_cnt;

	barrier_var(bytes); /* the check must reach the verifier on this very register */
	if (bytes > sizeof(u->window))
		return -1;
	return bpf_probe_read_user(u->window, bytes, (void *)u->walk.start);
}

/* Compares COMPARED_AT_ONCE callers. Not static: see find_row. */
__weak __noinline int differs_from_cached(struct user_stack *u, struct cached_walk *k, __u32 first)
{
	__u64 differs = 0;
	__u32 cnt;

	if (!u || !k)
		return 1;
	first &= CACHED_FRAMES - COMPARED_AT_ONCE;
	cnt = k->frame_cnt - 1 - first;
	for (__u32 i = 0; i < COMPARED_AT_ONCE && i < cnt; i++) {
		differs |= memo_word(u, k->read_at[first + i].ip) ^ k->callers[first + i];
		differs |= memo_word(u, k->read_at[first + i].fp) ^ k->fps[first + i];
	}
	return differs != 0;
}

/* Is that the stack where u's walk begins? */
static __always_inline int is_cached_walk(struct user_stack *u, struct cached_walk *k)
{
	if (!u->seed || k->seed != u->seed || k->sp != u->sp || k->ip != u->ip || k->fp != u->fp ||
	    read_words_of(u, k))
		return 0;
	return !differs_from_cached(u, k, 0) && (k->frame_cnt <= COMPARED_AT_ONCE + 1 ||
						 !differs_from_cached(u, k, COMPARED_AT_ONCE));
}

struct keeping {
	struct user_stack *u;
	struct cached_walk *k;
};

static long keep_caller(__u64 idx, void *ctx)
{
	const struct keeping *keeping = ctx;
	__u32 i = idx & (CACHED_FRAMES - 1);

	keeping->k->read_at[i] = keeping->u->memo.read_at[i];
	keeping->k->callers[i] = keeping->u->frames[i + 1];
	keeping->k->fps[i] = keeping->u->memo.fps[i];
	return 0;
}

/* The walk that has just been made. Not static: see find_row. */
__weak __noinline int keep_for_later(struct user_stack *u, struct cached_walk *k)
{
	struct keeping keeping = {.u = u, .k = k};
	__u32 cnt;

	if (!u || !k)
		return 0;
	k->seed = 0;
	cnt = u->memo.frame_cnt;
	if (!u->walk.word_cnt || cnt > CACHED_FRAMES)
		return 0;
	bpf_loop(cnt - 1, keep_caller, &keeping, 0);
	k->ip = u->memo.ip;
	k->sp = u->memo.sp;
	k->fp = u->memo.fp;
	k->stack_id = u->rec.stack_id;
	k->frame_cnt = cnt;
	k->word_cnt = u->walk.word_cnt;
	k->seed = u->seed;
	return 0;
}

/* Not interrupted anywhere: its user stack may be one that it has again and again. */
static __always_inline int is_in_call(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return (long)((const struct pt_regs *)bpf_task_pt_regs(task))->orig_ax >= 0;
#else
	return 1;
#endif
}

/* The slot in which a walk from these registers is kept; NULL: it is not. */
static __always_inline struct cached_walk *cached_walk_of(const struct user_stack *u,
							  struct task_struct *task)
{
	__u32 idx = tapir_walk__hash(u->sp, u->ip) & (CACHED_WALKS - 1);

	return is_in_call(task) ? bpf_map_lookup_elem(&walk_cache, &idx) : NULL;
}

/* Not static: see find_row. */
__weak __noinline int begin_anew(struct user_stack *u)
{
	if (!u)
		return 0;
	begin_memo(u);
	read_window(u);
	return 0;
}

/*
 * Does what take_user_stack does, which it calls for what is new. The walk changes the registers by
 * which its slot was found.
 */
static __always_inline __u64 take_known_user_stack(struct cpu_stacks *s, struct tapir_live *now,
						   struct task_struct *task,
						   const struct tapir_rec *of, long *err)
{
	struct user_stack *u = &s->user;
	struct cached_walk *cached = cached_walk_of(u, task);
	__u64 known_id = 0, id;

	*err = 0;
	begin_walk(u);
	if (cached && is_cached_walk(u, cached)) {
		id = whole_stack_id(u, cached->stack_id);
		if (has_stack_mark(now, id)) {
			if (++cached->match_cnt % walk_cache_check)
				return id;
			known_id = cached->stack_id;
		}
	}
	begin_anew(u);
	walk_on(u, NULL);
	if (known_id && u->rec.stack_id != known_id)
		tapir_lose(&zero_key, TAPIR_LOSS_USER_STACK_STALE);
	*err = send_user_stack(now, &s->sender, u, of);
	if (cached && !*err)
		keep_for_later(u, cached);
	return whole_stack_id(u, u->rec.stack_id);
}

#endif /* TAPIR_BPF_WALK_CACHE_BPF_H */
