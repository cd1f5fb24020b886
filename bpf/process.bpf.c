// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process.bpf.c - processes that begin, change and end.
 *
 * These programs are not sleepable and few hit them: a per-CPU buffer is private here.
 */
#include "bpf/common.bpf.h"
#include "bpf/program.bpf.h"
#include "bpf/sent.bpf.h"
#include "bpf/trace_context.bpf.h"

#define SIGNAL_GROUP_EXIT 4 /* include/linux/sched/signal.h */

/* Names are behind the record one after the other: each bound is a power of two's. */
struct process_buf {
	struct tapir_rec_process rec;
	char names[8192 + 8]; /* the bound of what is sent, and a word */
	struct path_text path;
};

static const __u64 no_bytes;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct process_buf);
} process_bufs SEC(".maps");

/* Since when a process that is inside execve(2) has its new address space: tid -> ns. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} exec_starts SEC(".maps");

static __always_inline void send_control(void *rec, __u32 size)
{
	if (bpf_ringbuf_output(&control_ring, rec, size, BPF_RB_FORCE_WAKEUP))
		tapir_lose(&zero_key, TAPIR_LOSS_PROCESS_RING_FULL);
}

/* The exit status as wait(2) has it. */
static __always_inline int exit_status(struct task_struct *leader)
{
	if (BPF_CORE_READ(leader, signal, flags) & SIGNAL_GROUP_EXIT)
		return BPF_CORE_READ(leader, signal, group_exit_code);
	return BPF_CORE_READ(leader, exit_code);
}

/*
 * Adds the program that the process executes: the bytes behind its name. exe: where /proc has to be
 * read instead.
 */
static __always_inline __u32 add_program(struct process_buf *buf, struct task_struct *leader,
					 const char *exe, __u32 comm_len)
{
	__u32 at = 0, is_truncated = 0,
	      exe_len = read_exe(leader, &buf->path, &at) & (PATH_BYTES - 1);
	char *out = buf->names + (comm_len & (TAPIR_COMM_BYTES - 1));
	long cmdline_len = exe_len ? read_cmdline(leader, out + exe_len, &is_truncated) : -1;
	long n;

	if (exe_len && cmdline_len >= 0) {
		bpf_probe_read_kernel(out, exe_len, &buf->path.text[at & (PATH_BYTES - 1)]);
		buf->rec.flags |=
			TAPIR_PROCESS_HAS_PROGRAM | (is_truncated ? TAPIR_PROCESS_CMDLINE_CUT : 0);
		buf->rec.cmdline_len = cmdline_len;
	} else {
		n = exe ? bpf_probe_read_kernel_str(out, PATH_BYTES, exe) : 0;
		exe_len = n > 0 ? (n - 1) & (PATH_BYTES - 1) : 0;
		cmdline_len = 0;
	}
	buf->rec.exe_len = exe_len;
	return exe_len + cmdline_len;
}

/* The masks repeat bounds that hold anyway: the verifier does not know them of a sum. */
static __always_inline void send_process(struct task_struct *task, enum tapir_process_kind kind,
					 const char *exe, __u64 time_ns)
{
	struct process_buf *buf = bpf_map_lookup_elem(&process_bufs, &zero_key);
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct tapir_live *now = tapir_live();
	__u32 comm_len = 0, program_bytes = 0;
	long n;

	if (!buf || !now || !now->enabled)
		return;
	__builtin_memset(&buf->rec, 0, sizeof(buf->rec));
	buf->rec.h.type = TAPIR_REC_PROCESS;
	buf->rec.h.cpu = bpf_get_smp_processor_id();
	buf->rec.h.time_ns = time_ns;
	buf->rec.kind = kind;
	buf->rec.tgid = BPF_CORE_READ(task, tgid);
	buf->rec.parent_tgid = BPF_CORE_READ(leader, real_parent, tgid);
	buf->rec.ns_tgid = tapir_task__ns_pid(leader);
	buf->rec.uid = BPF_CORE_READ(task, cred, uid.val);
	buf->rec.start_ns = BPF_CORE_READ(leader, start_time);
	buf->rec.cgroup_id = tapir_task__own_cgroup_id(leader);
	if (kind == TAPIR_PROCESS_EXIT) {
		buf->rec.exit_status = exit_status(leader);
		buf->rec.flags =
			BPF_CORE_READ(leader, signal, oom_mm) ? TAPIR_PROCESS_OOM_VICTIM : 0;
	}
	if (kind == TAPIR_PROCESS_FORK &&
	    BPF_CORE_READ(leader, mm) == BPF_CORE_READ(leader, real_parent, mm))
		buf->rec.flags = TAPIR_PROCESS_IN_PARENT;
	n = bpf_core_read_str(buf->names, TAPIR_COMM_BYTES, &leader->comm);
	if (n > 0)
		comm_len = (n - 1) & (TAPIR_COMM_BYTES - 1);
	buf->rec.comm_len = comm_len;
	if (kind != TAPIR_PROCESS_EXIT)
		program_bytes = add_program(buf, leader, exe, comm_len);
	/* These bytes fill the record up to a word. */
	bpf_probe_read_kernel(buf->names + ((comm_len + program_bytes) & 8191), 8, &no_bytes);
	buf->rec.h.size = (sizeof(buf->rec) + comm_len + program_bytes + 7) & ~7u;
	send_control(buf, buf->rec.h.size & 8191);
}

/* ---- code that processes map (unwind.h) ---------------------------------------------------- */

/* A child runs its parent's code before the loader knows of it. More than a block it has to wait
 * for. */
static __noinline int inherit_space(__u32 parent_tgid, __u32 tgid)
{
	struct tapir_unwind_space_key key = {.tgid = parent_tgid};
	struct tapir_unwind_space *space = bpf_map_lookup_elem(&unwind_spaces, &key);

	if (!space || space->block_cnt != 1)
		return 0;
	key.tgid = tgid;
	bpf_map_update_elem(&unwind_spaces, &key, space, BPF_ANY);
	return 0;
}

/* The child publishes its trace ids where its parent did. */
static __noinline int inherit_otel_tls_location(__u32 parent_tgid, __u32 tgid)
{
	struct tapir_otel_tls_location *location =
		bpf_map_lookup_elem(&otel_tls_locations, &parent_tgid);

	if (location && bpf_map_update_elem(&otel_tls_locations, &tgid, location, BPF_ANY))
		tapir_lose(&zero_key, TAPIR_LOSS_TRACE_PLACES_FULL);
	return 0;
}

/* Block 0 leads to all others, which the loader removes. */
static __noinline int forget_space(__u32 tgid)
{
	struct tapir_unwind_space_key key = {.tgid = tgid};

	bpf_map_delete_elem(&unwind_spaces, &key);
	bpf_map_delete_elem(&otel_tls_locations, &tgid);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(tapir_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 start, tgid = child->tgid;
	struct tapir_maybe_tgids *maybe;
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);

	if (!f || child->tgid != child->pid || !tapir_is_wanted(parent, parent->tgid))
		return 0;
	if (f->follow_fork) {
		maybe = bpf_map_lookup_elem(&maybe_tgids, &zero_key);
		if (maybe)
			maybe->is[tgid & (TAPIR_MAYBE_TGIDS - 1)] = 1;
		/*
		 * The value identifies the process among those of this number: the loader forgets
		 * one that ended, late.
		 */
		start = TAPIR_TGID_VALUE(child->start_time);
		if (bpf_map_update_elem(&tgids, &tgid, &start, BPF_ANY))
			tapir_lose(&zero_key, TAPIR_LOSS_PROCESS_MAP_FULL);
	}
	inherit_space(parent->tgid, tgid);
	inherit_otel_tls_location(parent->tgid, tgid);
	send_process(child, TAPIR_PROCESS_FORK, NULL, bpf_ktime_get_ns());
	return 0;
}

/* The process has, or is about to have, another name: the rules must be evaluated again. */
static __always_inline void forget_verdict(__u32 tgid)
{
	__u64 *verdict = tapir_verdict(tgid);

	if (verdict)
		*verdict = 0;
}

/*
 * A thread gets another name: by prctl(2), by a write to its comm, or by exec, which gives the
 * name when the new address space is there and empty (begin_new_exec, fs/exec.c). What is mapped
 * into it from then on, before sched_process_exec, is the new program's.
 */
SEC("tp_btf/task_rename")
int BPF_PROG(tapir_rename, struct task_struct *task, const char *comm)
{
	struct tapir_live *now = tapir_live();
	struct tapir_rec_thread rec = {};
	__u32 tid = task->pid;
	__u64 time_ns;

	forget_verdict(task->tgid);
	if (!now || !now->enabled || !tapir_is_wanted(task, task->tgid))
		return 0;
	/*
	 * The kernel sets the name after this program: a sample in between would describe the
	 * thread by its old name, and later than this record.
	 */
	tapir_set_announced(now, task);
	time_ns = bpf_ktime_get_ns();
	if (tapir_task__is_in_exec(task)) {
		forget_space(task->tgid);
		bpf_map_update_elem(&exec_starts, &tid, &time_ns, BPF_ANY);
	}
	tapir_fill_thread(&rec, task, bpf_get_smp_processor_id(), time_ns);
	bpf_probe_read_kernel_str(rec.comm, sizeof(rec.comm), comm);
	if (tid == task->tgid)
		__builtin_memcpy(rec.leader_comm, rec.comm, sizeof(rec.comm));
	send_control(&rec, sizeof(rec));
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(tapir_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	struct tapir_live *now = tapir_live();
	__u32 tid = task->pid;
	__u64 *start_ns;

	forget_verdict(task->tgid);
	if (!now || !now->enabled || !tapir_is_wanted(task, task->tgid))
		return 0;
	start_ns = bpf_map_lookup_elem(&exec_starts, &tid);
	send_process(task, TAPIR_PROCESS_EXEC, BPF_CORE_READ(bprm, filename),
		     start_ns ? *start_ns : bpf_ktime_get_ns());
	bpf_map_delete_elem(&exec_starts, &tid);
	return 0;
}

enum end_kind { END_OF_LEADER, END_SENT };

struct end_key {
	__u64 start_ns;
	__u32 tgid;
	__u32 kind; /* enum end_kind */
};

/* The progress of processes that end, by END_: of the last ones. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct end_key);
	__type(value, __u32);
} ends SEC(".maps");

/*
 * Threads that end at once may each find none left alive, and a leader that is counted out may not
 * have its exit code yet: that is there when the leader runs this program. So the process ends
 * once, with the first thread that finds none alive and the leader's code set.
 */
static __always_inline int is_end_of_process(struct task_struct *task, struct task_struct *leader)
{
	struct end_key key = {.start_ns = BPF_CORE_READ(leader, start_time), .tgid = task->tgid};
	__u32 one = 1;

	if (task->pid == task->tgid)
		bpf_map_update_elem(&ends, &key, &one, BPF_ANY);
	if (BPF_CORE_READ(task, signal, live.counter))
		return 0;
	if (!BPF_CORE_READ(leader, exit_state) && !bpf_map_lookup_elem(&ends, &key))
		return 0; /* the leader is on its way here */
	key.kind = END_SENT;
	return !bpf_map_update_elem(&ends, &key, &one, BPF_NOEXIST);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(tapir_exit, struct task_struct *task)
{
	if (!tapir_is_wanted(task, task->tgid) ||
	    !is_end_of_process(task, BPF_CORE_READ(task, group_leader)))
		return 0;
	forget_space(task->tgid);
	send_process(task, TAPIR_PROCESS_EXIT, NULL, bpf_ktime_get_ns());
	return 0;
}
