// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* touched.bpf.c - signals that traced threads send. */
#include "bpf/common.bpf.h"
#include "bpf/sent.bpf.h"
#include "bpf/wanted.bpf.h"

struct touched_scratch {
	struct sender sender;
	struct tapir_rec_thread thread;
	struct tapir_rec_touched rec;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct touched_scratch);
} touched_room SEC(".maps");

SEC("tp_btf/signal_generate")
int BPF_PROG(tapir_touched, int sig, struct kernel_siginfo *info, struct task_struct *to)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	struct touched_scratch *s = bpf_map_lookup_elem(&touched_room, &zero_key);
	struct task_struct *task = bpf_get_current_task_btf();
	struct tapir_live *now = tapir_live();

	if (!f || !s || !now || !now->enabled || !is_traced(f, task))
		return 0;
	__builtin_memset(&s->rec, 0, sizeof(s->rec));
	s->rec.h.type = TAPIR_REC_TOUCHED;
	s->rec.h.cpu = bpf_get_smp_processor_id();
	s->rec.h.time_ns = bpf_ktime_get_ns();
	s->rec.h.size = sizeof(s->rec);
	s->rec.tgid = task->tgid;
	s->rec.tid = task->pid;
	s->rec.signal = sig;
	s->rec.to_tid = to->pid;
	if (tapir_announce(now, &s->sender, &s->thread, task, &s->rec.h))
		tapir_lose(&zero_key, TAPIR_LOSS_THREAD_RING_FULL);
	if (tapir_send(now, &s->sender, &s->rec, sizeof(s->rec)))
		tapir_lose(&zero_key, TAPIR_LOSS_TOUCHED_RING_FULL);
	return 0;
}
