/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sent.bpf.h - what must be sent once per epoch: the frames of a stack, the identity of a thread.
 *
 * What was sent is remembered by a mark, a hash of it and the epoch, in one of two places of an
 * array. That takes no lock, so a sampler in an NMI may do it too; it costs two loads instead of
 * a hash table's 50 ns. Two marks that want the same place push each other out: then one thing
 * is sent again, nothing is lost.
 */
#ifndef TAPIR_BPF_SENT_BPF_H
#define TAPIR_BPF_SENT_BPF_H

#include "bpf/common.bpf.h"

#define STACK_MARKS  65536 /* powers of two */
#define THREAD_MARKS 32768

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, STACK_MARKS);
	__type(key, __u32);
	__type(value, __u64);
} sent_stacks __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, THREAD_MARKS);
	__type(key, __u32);
	__type(value, __u64);
} sent_threads __weak SEC(".maps");

static __always_inline __u64 *mark_slot(void *marks, __u32 idx)
{
	return bpf_map_lookup_elem(marks, &idx);
}

/* Returns 1 if the mark is in one of its two places. Another mark is taken for it once in 2^64. */
static __always_inline int has_mark(void *marks, __u32 mask, __u64 mark)
{
	const __u64 *first = mark_slot(marks, mark & mask);
	const __u64 *second = mark_slot(marks, (mark >> 32) & mask);

	return (first && *first == mark) || (second && *second == mark);
}

/* Sets the mark in one of its two slots by chance: two marks that met in one will part. */
static __always_inline void set_mark(void *marks, __u32 mask, __u64 mark)
{
	__u32 idx = bpf_get_prandom_u32() & 1 ? mark : mark >> 32;
	__u64 *slot = mark_slot(marks, idx & mask);

	if (slot)
		*slot = mark;
}

static __always_inline int has_stack_mark(const struct tapir_live *now, __u64 stack_id)
{
	return has_mark(&sent_stacks, STACK_MARKS - 1, tapir_walk__hash(stack_id, now->epoch));
}

/*
 * Sends a stack as tapir_send_stack does, also if this epoch has had it. type, stack_id: STACK and
 * the one in rec, or what has a list after the frames.
 */
static __always_inline long send_stack_now(struct tapir_live *now, struct sender *sender,
					   struct tapir_rec_stack *rec, __u64 size, __u16 type,
					   __u64 stack_id, const struct tapir_rec *of)
{
	long err;

	rec->h.type = type;
	rec->h.cpu = of->cpu;
	rec->h.time_ns = of->time_ns;
	rec->h.size = size;
	err = tapir_send(now, sender, rec, size);
	if (!err)
		set_mark(&sent_stacks, STACK_MARKS - 1, tapir_walk__hash(stack_id, now->epoch));
	return err;
}

/*
 * Sends the frames after rec, which is filled except its header, if this epoch has not had them;
 * cpu and time are those of `of`, which refers to them. Negative: there was no space.
 */
static __always_inline long tapir_send_stack(struct tapir_live *now, struct sender *sender,
					     struct tapir_rec_stack *rec,
					     const struct tapir_rec *of)
{
	return has_stack_mark(now, rec->stack_id)
		       ? 0
		       : send_stack_now(now, sender, rec,
					sizeof(*rec) + 8 * (rec->frame_cnt & 127ull),
					TAPIR_REC_STACK, rec->stack_id, of);
}

/* A thread's id may be another one's later: with its start it is not. */
static __always_inline __u64 thread_mark(const struct tapir_live *now, struct task_struct *task)
{
	return tapir_walk__hash(tapir_walk__hash(task->pid, task->start_time), now->epoch);
}

/* This epoch describes the thread by another record, which is about to be sent. */
static __always_inline void tapir_set_announced(const struct tapir_live *now,
						struct task_struct *task)
{
	set_mark(&sent_threads, THREAD_MARKS - 1, thread_mark(now, task));
}

/*
 * Describes a thread, if this epoch has not had it: one with the id of an ended one is another. (A
 * new name is sent when it is set: tapir_rename.) rec: a buffer for the record. Negative: there was
 * no space.
 */
static __always_inline long tapir_announce(struct tapir_live *now, struct sender *sender,
					   struct tapir_rec_thread *rec, struct task_struct *task,
					   const struct tapir_rec *of)
{
	__u64 mark = thread_mark(now, task);
	long err;

	if (has_mark(&sent_threads, THREAD_MARKS - 1, mark))
		return 0;
	tapir_fill_thread(rec, task, of->cpu, of->time_ns);
	err = tapir_send(now, sender, rec, sizeof(*rec));
	if (!err)
		set_mark(&sent_threads, THREAD_MARKS - 1, mark);
	return err;
}

#endif /* TAPIR_BPF_SENT_BPF_H */
