/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * common.bpf.h - what every event family shares: the maps, the filter, loss counters and the
 * way out. The maps are weak definitions: each family's object carries them and bpftool's
 * linker makes them one.
 *
 * Uprobe programs are sleepable and preemptible: a per-CPU buffer is not private in them, so
 * records are built in task storage; and they never hold a ring reservation, because one that
 * sleeps would stall every later record. bpf_ringbuf_output copies and holds nothing.
 *
 * Nor is the stack private in a uprobe program that needs 64 bytes of it or more: since 6.13
 * (a76ab5731e32, BPF_PRIV_STACK_MIN_SIZE) x86 gives such a function one stack per CPU, and a uprobe
 * that sleeps or is preempted finds there what the next thread left. Observed on 6.18: events that
 * were neither recorded nor counted. So every function a uprobe reaches stays below 64 bytes
 * (tests/unit/test_programs.c enforces it), keys and temporaries are in the scratch, and rare code
 * is in separate functions.
 */
#ifndef TAPIR_BPF_COMMON_BPF_H
#define TAPIR_BPF_COMMON_BPF_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/control.h"
#include "bpf/core_fixes.bpf.h"
#include "bpf/glob_logic.bpf.h"
#include "bpf/unwind_maps.bpf.h"
#include "tapir/stack_walk.h"

/* ---- configuration: set before load, or through the mapped .data while running ---------- */

/* Two CPUs share a ring: cpu >> 1 is its index. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_RINGBUF);
			__uint(max_entries, 4096);
		});
} rings __weak SEC(".maps");

/* Process records and held processes: few, and each wakes the loader at once. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} control_ring __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tapir_filter);
} filter __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
} tgids __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct tapir_maybe_tgids);
} maybe_tgids __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct tapir_live);
} live __weak SEC(".maps");

/* The loss counters by probe id. Loss is rare: one shared element and atomic adds will do. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct tapir_losses);
} losses __weak SEC(".maps");

/* ---- small common pieces ---------------------------------------------------------------- */

/* The key of every map with one element; and, of losses, that no probe had. */
static const __u32 zero_key;

static __always_inline struct tapir_live *tapir_live(void)
{
	return bpf_map_lookup_elem(&live, &zero_key);
}

static __always_inline void tapir_lose(const __u32 *probe_id, enum tapir_loss_cause cause)
{
	struct tapir_losses *of_probe = bpf_map_lookup_elem(&losses, probe_id);

	if (of_probe)
		__sync_fetch_and_add(&of_probe->cnt[cause], 1);
}

/*
 * Returns true if the task is traced by tapir's holder, which is its parent as long as it is there
 * to release it.
 */
static __always_inline int is_held(const struct tapir_live *now, struct task_struct *task)
{
	return now->holder_tgid && BPF_CORE_READ(task, ptrace) &&
	       BPF_CORE_READ(task, parent, tgid) == now->holder_tgid;
}

/* The state of a sender of records, outside the stack. */
struct sender {
	__u64 unchecked_bytes; /* sent since the ring was last asked how full it is */
	__u32 pair;	       /* the key for the ring of this CPU and its neighbour */
	__u32 pad0;
};

/*
 * Sends a whole record to this CPU pair's ring. 0, or negative when there was no space. To ask
 * how full the ring is costs a call; that it is time to wake the loader may as well be noticed
 * a little later.
 */
static __always_inline long tapir_send_with(struct tapir_live *now, struct sender *sender,
					    void *rec, __u64 size, __u64 flags)
{
	void *ring;

	sender->pair = bpf_get_smp_processor_id() >> 1;
	ring = bpf_map_lookup_elem(&rings, &sender->pair);
	if (!ring)
		return -1;
	sender->unchecked_bytes += size;
	if (sender->unchecked_bytes >= now->ask_bytes) {
		sender->unchecked_bytes = 0;
		if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= now->wake_bytes)
			flags = BPF_RB_FORCE_WAKEUP;
	}
	return bpf_ringbuf_output(ring, rec, size, flags);
}

static __always_inline long tapir_send(struct tapir_live *now, struct sender *sender, void *rec,
				       __u64 size)
{
	return tapir_send_with(now, sender, rec, size, BPF_RB_NO_WAKEUP);
}

/* Fills in the ids, names and times of a thread. */
static __always_inline void tapir_fill_thread(struct tapir_rec_thread *rec,
					      struct task_struct *task, __u16 cpu, __u64 time_ns)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	rec->h.type = TAPIR_REC_THREAD;
	rec->h.cpu = cpu;
	rec->h.size = sizeof(*rec);
	rec->h.time_ns = time_ns;
	rec->tgid = task->tgid;
	rec->tid = task->pid;
	rec->ns_tid = tapir_task__ns_pid(task);
	rec->ns_tgid = tapir_task__ns_pid(leader);
	rec->start_ns = BPF_CORE_READ(task, start_time);
	rec->leader_start_ns = BPF_CORE_READ(leader, start_time);
	bpf_core_read_str(rec->comm, sizeof(rec->comm), &task->comm);
	bpf_core_read_str(rec->leader_comm, sizeof(rec->leader_comm), &leader->comm);
}

/* ---- whose hits are recorded ------------------------------------------------------------ */

struct comm {
	char text[TAPIR_COMM_BYTES];
};

/*
 * The rules are checked in loops that the verifier checks only once: every program contains them,
 * and loads faster. A loop that ends before it has run once more than there are rules has found
 * one; storing that in the search would need stack (above).
 */
struct comm_search {
	const struct tapir_filter *f;
	char comm[TAPIR_COMM_BYTES];
};

static long match_comm(__u64 idx, void *ctx)
{
	const struct comm_search *search = ctx;

	return idx < search->f->comm_cnt &&
	       tapir_comm_glob__match(&search->f->comms[idx & (TAPIR_FILTER_MAX_COMMS - 1)],
				      search->comm);
}

static __noinline int comm_is_wanted(const struct tapir_filter *f, struct task_struct *leader)
{
	struct comm_search search = {.f = f};

	bpf_core_read_str(search.comm, sizeof(search.comm), &leader->comm);
	return bpf_loop(f->comm_cnt + 1, match_comm, &search, 0) <= f->comm_cnt;
}

struct cgroup_search {
	const struct tapir_filter *f;
	struct task_struct *task;
};

static long match_cgroup(__u64 idx, void *ctx)
{
	const struct cgroup_search *search = ctx;

	if (idx >= search->f->cgroup_cnt)
		return 0;
	idx &= TAPIR_FILTER_MAX_CGROUPS - 1;
	return tapir_task__cgroup_id(search->task, search->f->cgroup_levels[idx]) ==
	       search->f->cgroup_ids[idx];
}

static __noinline int cgroup_is_wanted(const struct tapir_filter *f, struct task_struct *task)
{
	struct cgroup_search search = {.f = f, .task = task};

	return bpf_loop(f->cgroup_cnt + 1, match_cgroup, &search, 0) <= f->cgroup_cnt;
}

static __always_inline int tapir_is_listed(__u32 tgid)
{
	return bpf_map_lookup_elem(&tgids, &tgid) != NULL;
}

/* Does any rule name this process? It need not be the current one. */
static __noinline __attribute__((unused)) int tapir_is_wanted(struct task_struct *task, __u32 tgid)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);

	if (!f || tgid == f->self_tgid)
		return 0;
	if (!f->use_tgids && !f->comm_cnt && !f->cgroup_cnt)
		return 1;
	if (f->use_tgids && tapir_is_listed(tgid))
		return 1;
	if (f->comm_cnt && comm_is_wanted(f, BPF_CORE_READ(task, group_leader)))
		return 1;
	return f->cgroup_cnt && cgroup_is_wanted(f, task);
}

/*
 * Caches what the rules about names and cgroups decided for a process, so that they are not
 * evaluated at every context switch: a process and its verdict in one word, valid for a few
 * jiffies. Two processes that share a slot evict each other.
 */
#define VERDICTS      8192 /* a power of two */
#define VERDICT_BITS  24   /* a tgid (at most 2^22) and the verdict */
#define VERDICT_TICKS 8	   /* 8 to 80 ms: so late a process may be that changed its cgroup */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, VERDICTS);
	__type(key, __u32);
	__type(value, __u64);
} verdicts __weak SEC(".maps");

static __always_inline __u64 *tapir_verdict(__u32 tgid)
{
	__u32 idx = tgid & (VERDICTS - 1);

	return bpf_map_lookup_elem(&verdicts, &idx);
}

#endif /* TAPIR_BPF_COMMON_BPF_H */
