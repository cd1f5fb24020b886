// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir stacks: what all threads of a process do now. A recording of a moment, into memory,
 * and its view "stacks".
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/pager.h"
#include "cli/recording_file.h"
#include "cli/symbol_options.h"
#include "cli/view_run.h"
#include "heap/heap.h"
#include "heap/heap_async_tables.h"
#include "runtime/cpython/heap/coroutines.h"
#include "record/recording.h"
#include "decode/probe_name.h"
#include "record/threads/proc_runnable.h"
#include "record/threads/snapshot.h"

#define NAME	  "the snapshot" /* in messages */
#define BURST_HZ  997		 /* of samples, which show where a running thread is */
#define ASYNC_TOP 20
#define MOMENT_NS (20 * TAPIR_NS_PER_MS)

struct args {
	struct tapir_pids pids;
	const char *threads;
	uint64_t top;
	bool all;
	bool group, no_group;
	bool json;
	bool unfold;
	bool jvm_locks;
	bool async;
	struct tapir_symbol_args symbols;
};

static const struct tapir_option options[] = {
	TAPIR_PIDS("pid", 'p', "PID", "this process; repeatable, or PID,PID", struct args, pids),
	TAPIR_STRING("threads", 0, "GLOB", "only threads whose names match", struct args, threads),
	TAPIR_TOP("show N groups, 0: all", struct args, top),
	TAPIR_FLAG("all", 'a', "show all groups", struct args, all),
	TAPIR_FLAG("group", 'g', "threads with identical stacks are one group (default)",
		   struct args, group),
	TAPIR_FLAG("no-group", 0, "each thread by itself, by its id", struct args, no_group),
	TAPIR_FLAG("json", 0, "one JSON document, with the members of each group", struct args,
		   json),
	TAPIR_UNFOLD_OPTION(struct args),
	TAPIR_FLAG("jvm-locks", 0,
		   "ask JVMs for the owners of their locks; all Java threads stop at a safepoint "
		   "meanwhile",
		   struct args, jvm_locks),
	TAPIR_FLAG(
		"async", 0,
		"show the suspended async methods of a .NET process or coroutines of CPython and "
		"what each awaits, or the virtual threads of a JVM by stack, instead of threads",
		struct args, async),
	TAPIR_SYMBOLS_OPTIONS(struct args),
	{}};

/* Ends at the first: of 64 bits, a program's stack and libraries are above. */
static int is_above_4_gb(const struct tapir_mapping_line *line, void *ctx)
{
	bool *has_any = ctx;

	*has_any = true;
	return line->end_va > UINT32_MAX;
}

static bool is_32_bit(uint32_t tgid)
{
	bool has_any = false;

	return !tapir_proc__each_mapping(tgid, is_above_4_gb, &has_any) && has_any;
}

/* Other faults of a process are reported by a recording of it. */
static int check_process(uint32_t tgid)
{
	int mark = tapir_diag__cnt(), err = 0;
	struct tapir_proc proc;

	if (tapir_proc__read(tgid, &proc)) {
		tapir_diag__rewind(mark);
		return 0;
	}
	if (proc.is_kernel_thread)
		err = tapir_diag__fail(-EOPNOTSUPP,
				       "process %u (%s) is a kernel thread: it runs no program "
				       "(its stack is in /proc/%u/stack)",
				       tgid, proc.comm, tgid);
	else if (is_32_bit(tgid))
		err = tapir_diag__fail(-EOPNOTSUPP,
				       "process %u (%s) is a 32-bit program: its stacks cannot be "
				       "unwound",
				       tgid, proc.comm);
	else
		tapir_diag__rewind(mark);
	tapir_proc__fini(&proc);
	return err;
}

static int check_targets(const struct tapir_pids *pids)
{
	const uint32_t *tgid;
	int err = 0;

	tapir_vec_for_each (tgid, pids)
		err = err ? err : check_process(*tgid);
	return err;
}

static bool any_runs(const struct tapir_pids *pids)
{
	const uint32_t *tgid;

	tapir_vec_for_each (tgid, pids)
		if (tapir_process__has_runnable_thread(*tgid))
			return true;
	return false;
}

static int record_once(const struct args *args, int fd, bool with_samples, size_t *running_cnt)
{
	static const struct tapir_spec_list no_specs;
	struct tapir_writer_opts file = {
		.sz = sizeof(file), .path = NAME, .has_fd = true, .fd = fd};
	struct tapir_recording_opts opts = {
		.sz = sizeof(opts),
		.rules = {.pids = args->pids},
		.specs = &no_specs,
		.specs_are_defaults = true,
		.lanes = TAPIR_LANES_PROBE,
		.sampling = {&tapir_sample_events[0], with_samples ? BURST_HZ : 0, true},
		.with_switches = true,
		.snapshot_rounds = TAPIR_SNAPSHOT_LOOKS,
		.with_jvm_locks = args->jvm_locks,
		.duration_ns = with_samples ? MOMENT_NS : 1,
		.file = &file,
	};
	struct tapir_recording_result result = {};
	int err = tapir_recording__run(&opts, &result);

	*running_cnt = result.running_cnt;
	return err;
}

/*
 * Samples show where running threads are. Their program is the largest by far: where all threads
 * sleep, as in a process that hangs, it would take more time than all the rest.
 */
static int record_stacks(const struct args *args, int fd)
{
	bool with_samples = any_runs(&args->pids);
	size_t running_cnt = 0;
	int err = record_once(args, fd, with_samples, &running_cnt);

	if (err || with_samples || !running_cnt)
		return err;
	if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
		return tapir_diag__fail(-errno, "cannot use a file in memory again: %s",
					tapir_errno__text(errno));
	return record_once(args, fd, true, &running_cnt);
}

static int show_stacks(struct tapir_cli *cli, struct tapir_reader *reader)
{
	static const struct tapir_pids none;
	static const struct tapir_words no_pairs;
	const struct args *args = cli->args;
	struct tapir_view_request rq = {
		.view = args->no_group ? &tapir_view_stacks_each : &tapir_view_stacks,
		.path = NAME,
		.arg = args->threads,
		.pairs = &no_pairs,
		.pids = &none,
		.tids = &none,
		.top = args->all ? UINT32_MAX : args->top,
		.form = args->json ? TAPIR_VIEW_JSON : TAPIR_VIEW_TEXT,
		.unfold = args->unfold,
	};

	if (!args->json)
		tapir_pager__start(cli);
	return tapir_view__run(reader, cli, &rq);
}

static int show_file(struct tapir_cli *cli, int fd)
{
	struct tapir_reader *reader = NULL;
	int err = tapir_reader__open_fd(fd, NAME, &reader);

	if (err)
		return err;
	tapir_reader__complete_probes(reader, tapir_probe_name__complete);
	tapir_symbols_option__attach(cli, reader);
	err = show_stacks(cli, reader);
	if (!err)
		tapir_symbols_option__report(cli);
	tapir_reader__close(reader);
	return err;
}

static int make_async_methods(uint32_t tgid, uint64_t top, struct tapir_view_result *out)
{
	const struct tapir_heap_request request = {.tgid = tgid,
						   .max_pause_ns = TAPIR_HEAP_MAX_PAUSE_NS};
	struct tapir_heap_snapshot s = {};
	int err = tapir_heap__take(&request, &s);

	if (!err && !s.has_references)
		err = tapir_diag__fail(-ENODATA, "what its async methods await is not known: %s",
				       s.incomplete);
	if (!err)
		err = tapir_heap_async_tables__make(&s, top, out);
	tapir_heap_snapshot__fini(&s);
	return err;
}

static int make_async(uint32_t tgid, uint64_t top, struct tapir_view_result *out)
{
	switch (tapir_heap__live_way(tgid)) {
	case TAPIR_HEAP_LIVE_DOTNET:
		return make_async_methods(tgid, top, out);
	case TAPIR_HEAP_LIVE_ASKED:
		return tapir_heap__show_suspended(tgid, top ? top : UINT64_MAX, out);
	default:
		return tapir_coroutines__show(tgid, top ? top : UINT64_MAX, out);
	}
}

/* Requests that never end need no thread: they are objects. */
static int show_async(const struct args *args)
{
	struct tapir_view_result result = {.view = "stacks-async"};
	uint64_t top = args->all ? 0 : args->top ? args->top : ASYNC_TOP;
	int err = make_async(args->pids.data[0], top, &result);

	if (!err)
		err = tapir_view_result__print(&result,
					       args->json ? TAPIR_VIEW_JSON : TAPIR_VIEW_TEXT);
	tapir_view_result__fini(&result);
	return err;
}

static int run_stacks(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	tapir_autofd int fd = -1;
	int err;

	if (!args->pids.cnt)
		return tapir_cli__usage(cli, "a process is required, as in -p 4711 ('tapir ps' "
					     "lists processes)");
	if (args->group && args->no_group)
		return tapir_cli__usage(cli, "--group and --no-group exclude each other");
	if (args->async && (args->pids.cnt > 1 || args->threads || args->group || args->no_group ||
			    args->jvm_locks))
		return tapir_cli__usage(cli, "--async takes one process, and excludes --threads, "
					     "--group, --no-group and --jvm-locks");
	err = check_targets(&args->pids);
	if (err)
		return err;
	if (args->async)
		return show_async(args);
	fd = memfd_create("tapir-stacks",
			  MFD_CLOEXEC); /* gone with tapir, also when it is killed */
	if (fd < 0)
		return tapir_diag__fail(-errno, "cannot create a file in memory: %s",
					tapir_errno__text(errno));
	err = tapir_symbols_option__start(cli, &args->symbols);
	if (err)
		return err;
	err = record_stacks(args, fd);
	if (!err)
		err = show_file(cli, fd);
	tapir_symbols_option__end(cli);
	return err;
}

const struct tapir_command tapir_cmd_stacks = {
	.name = "stacks",
	.summary = "show what all threads of a process do now",
	.synopsis = "-p PID [--group | --no-group] [--threads GLOB] [--json] [--top N | --all] "
		    "[--unfold] [--async]",
	.text = "Prints the stack of every thread, kernel, native and managed frames, innermost "
		"first, runs of frames of the kernel and of a runtime as one, '[futex wait]' "
		"(--unfold shows each); threads with identical stacks are one group, the largest first. No thread "
		"is stopped: registers are read by a BPF iterator, stacks from memory, and a "
		"thread that ran meanwhile is read again. A thread that is on a CPU each time "
		"is shown with the stack of a CPU sample taken within 20 ms.\n\n"
		"A thread that waits in a system call is shown with the call and its arguments: "
		"what a descriptor refers to, the address of a futex, the timeout. If threads wait "
		"for each other's locks, the first line reports the deadlock. Owners of locks are "
		"read from memory: of mutexes of the C library; of monitors of .NET 9 and newer; of "
		"PostgreSQL's locks, also between processes (name all of them: -p 4711,4712). "
		"Owners of a JVM's locks require --jvm-locks. For .NET 8, use 'tapir record -p PID', "
		"then 'tapir report --view stacks-end': it shows the owners of waits that began "
		"during the recording. Locks of other kinds (conditions, semaphores, "
		"System.Threading.Lock) store no owner, and none is shown.\n\n"
		"With --async, a .NET process (8 to 11) lists its objects, and the async methods "
		"that are suspended are shown with what each awaits, also where none has a thread: a "
		"semaphore with the field that refers to it, a channel, a delay, a socket, a task. "
		"Methods that wait for each other's tasks are a deadlock. For semaphores, which store "
		"no holder, they count as waiting for each other if each refers to the one that "
		"another awaits, and no other suspended method does. The process is suspended "
		"while it collects all generations and lists them, as by 'tapir heap'. A JVM (21 or "
		"newer) writes a dump of its threads into a file of its /tmp, which is removed; "
		"virtual threads with identical stacks are one row, with how many of them are parked: "
		"those have no thread of the kernel, and are in no other output. Coroutines of "
		"CPython (3.11 to 3.13) are read from its memory while it runs: what each awaits, "
		"through tasks, with lines and the name of the task. Tasks that wait for each other, "
		"or for an asyncio.Lock that another holds by 'async with', are a deadlock.\n\n"
		"Requires CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE (root). For an ordinary user, "
		"the threads of their own processes are read from /proc, without kernel functions; "
		"stacks of code that keeps a frame pointer may end early. A recording with "
		"context switches begins and ends with such a snapshot: 'tapir report --view "
		"stacks' and '--view stacks-end' show them.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.examples =
		(const struct tapir_example[]){
			{"stacks -p 4711", "a process that hangs"},
			{"stacks -p 4711 --threads '.NET TP*'", "its thread pool"},
			{"stacks -p 4711 --async", "requests that never end"},
			{"stacks -p 4711 --json | jq '.groups[0].frames'",
			 "the stack that most threads share"},
			{}},
	.args_bytes = sizeof(struct args),
	.reads_foreign_files = true,
	.run = run_stacks,
};
