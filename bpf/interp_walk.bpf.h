/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * interp_walk.bpf.h - the functions that an interpreter runs for the current thread, as data of its
 * process says (interp.h). A page that is not resident ends the walk; the wrong data does, or a
 * thread that is not the interpreter's: its state has another thread's number.
 */
#ifndef TAPIR_BPF_INTERP_WALK_BPF_H
#define TAPIR_BPF_INTERP_WALK_BPF_H

#include "bpf/interp_logic.bpf.h"
#include "bpf/stack_rows.bpf.h"

#define TSS_VALUES_OFF 0x318u /* glibc's struct pthread: specific_1stblock[0].data */
#define TSS_KEYS       32u    /* that are in it */

static __always_inline long read_interp_word(struct user_stack *u, __u64 va)
{
	return bpf_probe_read_user(u->interp_words, sizeof(__u64), (void *)va);
}

/* Returns where the address of the thread's state is; 0: nowhere. */
static __always_inline __u64 interp_root(struct user_stack *u, struct task_struct *task)
{
	__u32 key;

	if (u->interp.root == TAPIR_INTERP_VA)
		return u->interp.root_va;
	if (u->interp.root == TAPIR_INTERP_TLS)
		return tapir_task__thread_pointer(task) + u->interp.root_va;
	if (read_interp_word(u, u->interp.root_va))
		return 0;
	key = u->interp_words[0];
	return key < TSS_KEYS ? tapir_task__thread_pointer(task) + TSS_VALUES_OFF + 16 * key : 0;
}

/* The innermost frame to u->interp_va; 0: none. Not static: see find_row. */
__weak __noinline int begin_interp(struct user_stack *u)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!u)
		return 0;
	u->interp_va = 0;
	if (u->interp.flags & TAPIR_INTERP_FIRST_THREAD && task->pid != task->tgid)
		return 0;
	if (read_interp_word(u, interp_root(u, task)) || !u->interp_words[0])
		return 0;
	u->cfa = u->interp_words[0];
	if (u->interp.tid && (read_interp_word(u, u->cfa + u->interp.tid) ||
			      u->interp_words[0] != tapir_task__ns_pid(task)))
		return 0;
	for (__u32 i = 0; i < TAPIR_INTERP_STEPS; i++) {
		if (i >= u->interp.step_cnt)
			break;
		if (read_interp_word(u, u->cfa + u->interp.steps[i]))
			return 0;
		u->cfa = u->interp_words[0];
	}
	u->interp_va = u->cfa;
	return 0;
}

/* Not 0: it was the last one. Not static: see find_row. */
__weak __noinline int take_interp_frame(struct user_stack *u)
{
	__u64 va;
	int is_last;

	if (!u)
		return 1;
	if (*(volatile __u16 *)&u->list.cnt >= TAPIR_INTERP_FRAMES ||
	    bpf_probe_read_user(u->interp_words, TAPIR_INTERP_FRAME_BYTES, (void *)u->interp_va)) {
		u->list.flags |= TAPIR_INTERP_IS_CUT;
		return 1;
	}
	u->interp_va = tapir_interp__word(u->interp_words, u->interp.previous);
	is_last = tapir_interp__is_last(&u->interp, u->interp_words);
	va = tapir_interp__code(&u->interp, u->interp_words, is_last);
	u->interp_words[0] = 0;
	if (va)
		read_interp_word(u, va + u->interp.cookie);
	tapir_interp__add(&u->list, va, u->interp_words[0], is_last);
	return !u->interp_va;
}

static long interp_step(__u64 idx, void *ctx)
{
	return take_interp_frame(*(struct user_stack **)ctx) != 0;
}

/* u->list of the current thread; its stack_id is a hash of it. Not static: see find_row. */
__weak __noinline int walk_interp(struct user_stack *u)
{
	if (!u)
		return 0;
	u->list.cnt = u->list.flags = 0;
	if (!u->interp.root)
		return 0;
	u->interp_va = 0;
	u->list.tgid = u->key.tgid;
	u->list.language = u->interp.language;
	u->list.stack_id = u->key.tgid;
	if (u->interp.root != TAPIR_INTERP_SLOTS)
		begin_interp(u);
	/* Shims are frames, too: as many again. */
	if (u->interp_va)
		bpf_loop(2 * TAPIR_INTERP_FRAMES, interp_step, &u, 0);
	u->interp_hash = u->list.stack_id;
	return 0;
}

/*
 * Adds the function of the frame that is taken next to u->list: only if the frame is complete, so
 * that what is below the frame pointer is its own. Not static: see find_row.
 */
__weak __noinline int take_slots(struct user_stack *u)
{
	__u64 va;

	if (!u || u->row.rule != TAPIR_UNWIND_FP || u->fp - u->sp < TAPIR_INTERP_SLOT_BYTES ||
	    (__s64)(u->fp - u->sp) < 0)
		return 0;
	if (*(volatile __u16 *)&u->list.cnt >= TAPIR_INTERP_FRAMES) {
		u->list.flags |= TAPIR_INTERP_IS_CUT;
		return 0;
	}
	if (read_pair(u, u->fp - 16) || !(u->pair[1] & TAPIR_INTERP_SMALL_MASK) ||
	    !tapir_interp__is_object(u->pair[0]) ||
	    read_interp_word(u, u->pair[0] - TAPIR_INTERP_OBJECT + u->interp.code))
		return 0;
	va = u->interp_words[0];
	if (!tapir_interp__is_object(va))
		return 0;
	va -= TAPIR_INTERP_OBJECT;
	if (bpf_probe_read_user(u->interp_words, TAPIR_INTERP_FRAME_BYTES, (void *)va))
		return 0;
	tapir_interp__add(&u->list, va,
			  tapir_interp__slot_cookie(&u->interp, u->interp_words, frame_cnt(u)), 0);
	return 0;
}

/* The id of the addresses with the native id, and u->list, which keeps it. Not static: see
 * find_row. */
__weak __noinline __u64 whole_stack_id(struct user_stack *u, __u64 native_id)
{
	if (!u || !u->list.cnt)
		return native_id;
	u->list.stack_id = tapir_interp__stack_id(u->interp_hash, native_id);
	return u->list.stack_id;
}

#endif
