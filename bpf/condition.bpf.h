/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * condition.bpf.h - hits that a question rejects by the numbers of a probe are counted here, and
 * cost no record. What is accepted, or undefined, is decided once more by user space, with the same
 * code.
 */
#ifndef TAPIR_BPF_CONDITION_BPF_H
#define TAPIR_BPF_CONDITION_BPF_H

#include "bpf/common.bpf.h"

/* A pointer is all that there is of a text at this point. */
#define TAPIR_QUESTION_TEXT(ctx, term, slot) TAPIR_QUESTION_UNDEFINED
#include "bpf/question_logic.bpf.h"

/* Set before load: 0 leaves all of this out. */
const volatile __u32 has_conditions __weak SEC(".rodata") = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tapir_hit_condition);
} conditions __weak SEC(".maps");

/* Hits that were rejected, by probe id; only ever grows. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} rejected __weak SEC(".maps");

/* The operands of one hit, outside the stack. */
struct condition_scratch {
	struct tapir_question_slot slots[TAPIR_QUESTION_SLOTS];
	struct tapir_question_registers registers; /* zeros: arithmetic is left to user space */
};

/*
 * Returns true if the condition of the probe rejects these numbers; a bit of faults is set for each
 * that could not be read.
 */
static __always_inline int rejects(const __u32 *probe_id, struct condition_scratch *s,
				   const __u64 *numbers, __u32 faults, __u32 cnt)
{
	const struct tapir_hit_condition *c = bpf_map_lookup_elem(&conditions, probe_id);

	if (!c || !c->term_cnt)
		return 0;
	for (__u32 i = 0; i < cnt; i++) {
		s->slots[i].number = numbers[i];
		s->slots[i].state = faults & (1u << i) ? TAPIR_STATE_ABSENT : TAPIR_STATE_OK;
	}
	return tapir_question__decide(c->terms, s->slots, &s->registers, NULL) ==
	       TAPIR_QUESTION_REJECT;
}

/* A uprobe may be preempted here, and another thread of the CPU add to the same word. */
static __always_inline void count_rejected(const __u32 *probe_id)
{
	__u64 *cnt = bpf_map_lookup_elem(&rejected, probe_id);

	if (cnt)
		__sync_fetch_and_add(cnt, 1);
}

#endif /* TAPIR_BPF_CONDITION_BPF_H */
