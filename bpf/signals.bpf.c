// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * signals.bpf.c - signals of traced processes: those they send and those they get (SIGNAL).
 *
 * signal_generate runs with the receiver's signal lock held and interrupts off: a per-CPU place is
 * private, and nothing here waits. The current task is the sender only where something asked for
 * the signal in its name: a timer's is generated in whatever task was interrupted.
 */
#include "bpf/common.bpf.h"
#include "bpf/io_logic.bpf.h"
#include "bpf/sent.bpf.h"
#include "bpf/wanted.bpf.h"

/* Records per second and CPU; the rest is counted. Set before load. */
const volatile __u64 signal_rate_limit = 20000;

/* include/uapi/asm-generic/siginfo.h and signal.h; those pointers: include/linux/sched/signal.h */
#define CODE_KERNEL	   0x80
#define CODE_TIMER	   (-2)
#define NUMBER_OF_KILL	   9
#define NUMBER_OF_URG	   23
#define NUMBER_OF_WINCH	   28
#define HANDLER_DEFAULT	   0ul
#define HANDLER_IGNORES	   1ul
/* Signals of children, of continuing, of urgent data and of windows. */
#define IGNORED_BY_DEFAULT (1ull << 16 | 1ull << 17 | 1ull << 22 | 1ull << 27)
#define INFO_OF_USER	   0ul
#define INFO_OF_KERNEL	   1ul

struct signal_scratch {
	struct sender sender;
	struct tapir_io_rate rate;
	struct tapir_rec_thread thread;
	struct tapir_rec_signal rec;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct signal_scratch);
} signal_scratches SEC(".maps");

/* Two values of the pointer stand for what the kernel would have to fill in. */
static __always_inline int code_of(const struct kernel_siginfo *info)
{
	unsigned long value = (unsigned long)info;

	if (value == INFO_OF_USER)
		return 0;
	return value == INFO_OF_KERNEL ? CODE_KERNEL : BPF_CORE_READ(info, si_code);
}

/*
 * SIGKILL by the kernel is sent where its cause is: by the task that found no memory, or that wrote
 * to cgroup.kill. Other signals of the kernel come from timers and terminals.
 */
static __always_inline int is_by_current(int number, int code)
{
	return code != CODE_TIMER && (code != CODE_KERNEL || number == NUMBER_OF_KILL);
}

/*
 * The kernel queues also what a process ignores if it is traced (sig_ignored, kernel/signal.c), as
 * those are that tapir started. Without tapir it would have been discarded.
 */
static __always_inline int would_be_ignored(const struct tapir_live *now, int number,
					    struct task_struct *to)
{
	__u32 idx = number - 1;
	__u64 handler;

	if (idx > 63 || !is_held(now, to) || BPF_CORE_READ(to, blocked.sig[0]) & 1ull << idx)
		return 0;
	handler = (__u64)BPF_CORE_READ(to, sighand, action[idx].sa.sa_handler);
	return handler == HANDLER_IGNORES ||
	       (handler == HANDLER_DEFAULT && 1ull << idx & IGNORED_BY_DEFAULT);
}

/* tapir's holder traces what it started: its signals are not the program's. */
static __always_inline int is_of_holder(const struct tapir_live *now, int number, int code,
					struct task_struct *task, struct task_struct *to)
{
	if (!now->holder_tgid)
		return 0;
	if (to->tgid == now->holder_tgid)
		return 1;
	/* hold.bpf.c stops a thread by a signal that it sends to itself and that means nothing. */
	return task == to && code == CODE_KERNEL &&
	       (number == NUMBER_OF_URG || number == NUMBER_OF_WINCH) && is_held(now, task);
}

static __always_inline void announce_signal(struct signal_scratch *s, struct tapir_live *now,
					    struct task_struct *task)
{
	if (tapir_announce(now, &s->sender, &s->thread, task, &s->rec.h))
		tapir_lose(&zero_key, TAPIR_LOSS_THREAD_RING_FULL);
}

SEC("tp_btf/signal_generate")
int BPF_PROG(tapir_signal, int number, struct kernel_siginfo *info, struct task_struct *to,
	     int of_process, int result)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	struct signal_scratch *s = bpf_map_lookup_elem(&signal_scratches, &zero_key);
	struct task_struct *task = bpf_get_current_task_btf();
	struct tapir_live *now = tapir_live();
	int code = code_of(info), is_sent = is_by_current(number, code);

	if (!f || !s || !now || !now->enabled ||
	    (!is_traced(f, to) && (!is_sent || !is_traced(f, task))))
		return 0;
	if (is_of_holder(now, number, code, task, to))
		return 0;
	/* A child that the holder waited for signals its parent when the holder has let it go. */
	is_sent = is_sent && task->tgid != now->holder_tgid;
	if (!tapir_io_rate__take(&s->rate, bpf_ktime_get_ns(), signal_rate_limit)) {
		tapir_lose(&zero_key, TAPIR_LOSS_SIGNAL_LIMITED);
		return 0;
	}
	__builtin_memset(&s->rec, 0, sizeof(s->rec));
	s->rec.h.type = TAPIR_REC_SIGNAL;
	s->rec.h.size = sizeof(s->rec);
	s->rec.h.cpu = bpf_get_smp_processor_id();
	s->rec.h.time_ns = bpf_ktime_get_ns();
	s->rec.to_tgid = to->tgid;
	s->rec.to_tid = to->pid;
	s->rec.code = code;
	s->rec.number = number;
	s->rec.result = result == TAPIR_SIGNAL_DELIVERED && would_be_ignored(now, number, to)
				? TAPIR_SIGNAL_IGNORED
				: result;
	s->rec.flags = of_process ? TAPIR_SIGNAL_OF_PROCESS : 0;
	if (is_sent) {
		s->rec.tgid = task->tgid;
		s->rec.tid = task->pid;
		announce_signal(s, now, task);
	}
	announce_signal(s, now, to);
	if (tapir_send(now, &s->sender, &s->rec, sizeof(s->rec)))
		tapir_lose(&zero_key, TAPIR_LOSS_SIGNAL_RING_FULL);
	return 0;
}
