// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of trace/schema.h: every type of record with its members, and every family that is
 * captured. Checks, printers (text, JSON, SQL) and the help of records read them, so that a member
 * that is added here appears in all.
 *
 * A member's place is an offset of its struct in include/tapir/abi.h; the variable parts follow the
 * fixed one in the order of their lengths.
 */
#include "trace/schema.h"

#include <stddef.h>
#include <string.h>

#include "trace/family.h"
#include "trace/kernel_work.h"
#include "trace/rehost.h"
#include "trace/signals.h"
#include "trace/system_calls.h"

/* ---- words ------------------------------------------------------------------------------------ */

#define WORD_OF(word, type, text)                                                                  \
	static const char *word(const struct tapir_rec *rec)                                       \
	{                                                                                          \
		const struct tapir_rec_##type *r = (const void *)rec;                              \
                                                                                                   \
		return text;                                                                       \
	}
#define VALUE_OF(value, type, number)                                                              \
	static uint64_t value(const struct tapir_rec *rec)                                         \
	{                                                                                          \
		const struct tapir_rec_##type *r = (const void *)rec;                              \
                                                                                                   \
		return number;                                                                     \
	}

static const char *name_at(const char *const *names, size_t cnt, size_t idx)
{
	return idx < cnt ? names[idx] : NULL;
}
#define NAME_AT(names, idx) name_at(names, sizeof(names) / sizeof((names)[0]), (size_t)(idx))

static const char *const process_kinds[] = {[TAPIR_PROCESS_EXISTING] = "existing",
					    [TAPIR_PROCESS_FORK] = "fork",
					    [TAPIR_PROCESS_EXEC] = "exec",
					    [TAPIR_PROCESS_EXIT] = "exit"};
static const char *const counter_kinds[] = {[TAPIR_COUNTER_GAUGE] = "gauge",
					    [TAPIR_COUNTER_RATE] = "rate",
					    [TAPIR_COUNTER_SUM] = "sum"};
static const char *const calls_kinds[] = {[TAPIR_CALLS_OF_THREAD] = "thread",
					  [TAPIR_CALLS_AT_STACK] = "stack",
					  [TAPIR_CALLS_OF_FILE] = "file",
					  [TAPIR_CALLS_OF_PATH] = "path"};
static const char *const native_kinds[] = {
	[TAPIR_NATIVE_ALLOC] = "alloc", [TAPIR_NATIVE_FREE] = "free",
	[TAPIR_NATIVE_MAP] = "map",	[TAPIR_NATIVE_UNMAP] = "unmap",
	[TAPIR_NATIVE_REMAP] = "remap", [TAPIR_NATIVE_PROTECT] = "protect",
	[TAPIR_NATIVE_END] = "end"};
static const char *const native_functions[] = {[TAPIR_NATIVE_FN_MALLOC] = "malloc",
					       [TAPIR_NATIVE_FN_CALLOC] = "calloc",
					       [TAPIR_NATIVE_FN_REALLOC] = "realloc",
					       [TAPIR_NATIVE_FN_ALIGNED_ALLOC] = "aligned_alloc",
					       [TAPIR_NATIVE_FN_MEMALIGN] = "memalign",
					       [TAPIR_NATIVE_FN_POSIX_MEMALIGN] = "posix_memalign",
					       [TAPIR_NATIVE_FN_VALLOC] = "valloc",
					       [TAPIR_NATIVE_FN_NEW] = "new",
					       [TAPIR_NATIVE_FN_FREE] = "free",
					       [TAPIR_NATIVE_FN_MMAP] = "mmap",
					       [TAPIR_NATIVE_FN_MUNMAP] = "munmap",
					       [TAPIR_NATIVE_FN_MREMAP] = "mremap",
					       [TAPIR_NATIVE_FN_MPROTECT] = "mprotect",
					       [TAPIR_NATIVE_FN_BRK] = "brk"};
static const char *const host_clocks[] = {[TAPIR_HOST_CLOCK_UNKNOWN] = "unknown",
					  [TAPIR_HOST_CLOCK_SYNCED] = "synchronized",
					  [TAPIR_HOST_CLOCK_FREE] = "unsynchronized",
					  [TAPIR_HOST_CLOCK_NONE] = "none"};
static const char *const loss_kinds[] = {
#define TAPIR_X(name, word) [TAPIR_LOSS_KIND_##name] = word,
	TAPIR_FAMILIES(TAPIR_X)
#undef TAPIR_X
		[TAPIR_LOSS_KIND_PART] = "part",
	[TAPIR_LOSS_KIND_INFO] = "info"};

const char *tapir_host_clock__name(unsigned clock)
{
	return NAME_AT(host_clocks, clock);
}

WORD_OF(process_kind, process, NAME_AT(process_kinds, r->kind))
WORD_OF(counter_kind, counter, NAME_AT(counter_kinds, r->kind))
WORD_OF(loss_cause, loss, tapir_loss__name(r->cause))
WORD_OF(loss_text, loss, tapir_loss__text(r->cause))
WORD_OF(loss_kind, loss, NAME_AT(loss_kinds, tapir_loss__kind(r->cause)))
WORD_OF(gap_reason, gap, tapir_gap__name(r->reason))
WORD_OF(switch_state, switch, r->out_tid ? tapir_switch__state_name(r) : NULL)
WORD_OF(switch_mark, switch, r->flags &TAPIR_SWITCH_STACK_LOST ? "lost" : NULL)
WORD_OF(io_op, io, tapir_io_op__name(r->op))
WORD_OF(io_mark, io, r->flags &TAPIR_IO_STACK_LOST ? "lost" : NULL)
WORD_OF(exchange_kind, exchange,
	r->kind == TAPIR_EXCHANGE_CLOSED ? "closed"
	: r->kind == TAPIR_EXCHANGE_OPEN ? "open"
					 : "answered")
WORD_OF(exchange_role, exchange, r->flags &TAPIR_EXCHANGE_OPENED ? "opened" : "accepted")
WORD_OF(signal_name, signal, tapir_signal__name(r->number))
WORD_OF(signal_result, signal, tapir_signal__result(r->result))
WORD_OF(signal_way, signal, tapir_signal__way(r->number, r->code))
WORD_OF(calls_name, calls, tapir_system_call__name(r->nr))
WORD_OF(calls_error, calls, r->err ? tapir_system_call__error_name(r->err) : NULL)
WORD_OF(native_kind, native, NAME_AT(native_kinds, r->kind))
WORD_OF(native_function, native, NAME_AT(native_functions, r->function))
WORD_OF(kernel_kind, kernel, tapir_kernel_kind__name(r->kind))
WORD_OF(kernel_label, kernel, tapir_kernel_work__label(r->kind, r->number))
WORD_OF(host_clock, host, tapir_host_clock__name(r->clock))
WORD_OF(calls_kind, calls, NAME_AT(calls_kinds, r->kind))
VALUE_OF(exchange_overlaps, exchange, (r->flags & TAPIR_EXCHANGE_OVERLAPS) != 0)
VALUE_OF(exchange_unseen, exchange, (r->flags & TAPIR_EXCHANGE_UNSEEN) != 0)
VALUE_OF(exchange_took, exchange,
	 r->begin_ns && r->begin_ns < r->h.time_ns ? r->h.time_ns - r->begin_ns : 0)
VALUE_OF(switch_futex, switch, tapir_switch__futex_va(r))
VALUE_OF(switch_since, switch, tapir_switch__since_ns(r))
VALUE_OF(switch_is_snapshot, switch, (r->flags & TAPIR_SWITCH_SNAPSHOT) != 0)
VALUE_OF(loss_is_complete, loss, tapir_loss__is_complete(r->cause))

static bool has_ended(const struct tapir_rec *rec)
{
	return ((const struct tapir_rec_process *)rec)->kind == TAPIR_PROCESS_EXIT;
}

/* ---- members ---------------------------------------------------------------------------------- */

#define AT(rec, member)	   offsetof(struct tapir_rec_##rec, member)
#define BYTES(rec, member) sizeof(((const struct tapir_rec_##rec *)NULL)->member)
#define IN(rec, member)	   .name = #member, .offset = AT(rec, member), .bytes = BYTES(rec, member)
#define IS(description)	   .type = TAPIR_MEMBER_##description
#define AS(key_)	   .key = key_, .column = key_
#define MAY_MISS	   .flags = TAPIR_MEMBER_0_IS_NULL
#define IF_ANY		   .flags = TAPIR_MEMBER_OPTIONAL
#define ID		   .flags = TAPIR_MEMBER_0_IS_NULL | TAPIR_MEMBER_JSON_0

/* A member that no output shows. */
#define HIDDEN(rec, member, description_)                                                          \
	{                                                                                          \
		IN(rec, member), IS(HIDDEN), .description = (description_)                         \
	}

#define CPU                                                                                        \
	{                                                                                          \
		IS(CPU), .column = "cpu", .description = "the CPU"                                 \
	}
/* The process alone; JSON has its id as that of a thread, too. */
#define PROCESS(rec)                                                                               \
	{IN(rec, tgid), AS("pid"), ID, .description = "process id"},                               \
		{IN(rec, tgid), .key = "tid"},                                                     \
	{                                                                                          \
		IN(rec, tgid), IS(COMM), .key = "comm", .aux = AT(rec, tgid)                       \
	}
#define WHO(rec)                                                                                   \
	{IN(rec, tgid), AS("pid"), ID, .description = "process id"},                               \
		{IN(rec, tid), AS("tid"), ID, .description = "thread id"},                         \
		{IN(rec, tgid),	      IS(COMM),                                                    \
		 .key = "comm",	      .column = "process",                                         \
		 .aux = AT(rec, tid), .description = "name of the process"},                       \
	{                                                                                          \
		IN(rec, tid), IS(THREAD), .column = "thread", .description = "name of the thread"  \
	}
#define TRACE                                                                                      \
	{IS(TRACE_ID), AS("trace_id"), IF_ANY,                                                     \
	 .lead = " trace=", .description = "of the trace that its thread worked for"},             \
	{                                                                                          \
		IS(SPAN_ID), AS("span_id"), IF_ANY, .lead = " span=", .description = "of the span" \
	}
#define STACKS(rec, member, description_)                                                          \
	{IN(rec, member), IS(STACK), .key = "stack", .column = "stack_id",                         \
	 .description = (description_)},                                                           \
		{IS(KSTACK), .key = "kernel_stack", .column = "kernel_stack_id",                   \
		 .description = "joins stacks and frames"},                                        \
		{IS(FUNCTION), .column = "function",                                               \
		 .description = "innermost function, of the kernel if it was there"},              \
	{                                                                                          \
		IS(FUNCTIONS), .column = "stack",                                                  \
			       .description = "functions, outermost first, separated by ';'"       \
	}

static const struct tapir_member event[] = {
	CPU,
	WHO(event),
	HIDDEN(event, probe_id, "of a probe record, which has its name and fields"),
	{IN(event, probe_id), IS(PROVIDER), AS("provider"), .description = "who defines the event"},
	{IN(event, probe_id), IS(EVENT), AS("event"), .description = "name of the event"},
	{IS(ARGS), AS("args"), .description = "its fields as JSON: args ->> 'name'"},
	{IN(event, probe_id), IS(LANE), AS("lane"),
	 .description = "how it was captured: probe or ring"},
	TRACE,
	STACKS(event, stack_id, "joins stacks and frames"),
	HIDDEN(event, flags, "which optional parts follow, and what is missing"),
	HIDDEN(event, lane, "0: probe, 1: ring, 2: stream"),
	HIDDEN(event, payload_bytes, "of the payload"),
	HIDDEN(event, fault_mask, "bit n: field n could not be read"),
	{}};

static const struct tapir_member sample[] = {
	CPU,
	WHO(sample),
	{IN(sample, period), AS("period"), .lead = " period=",
	 .description =
		 "what it stands for: nanoseconds of CPU time, or what the sampling event counts"},
	TRACE,
	STACKS(sample, stack_id, "joins stacks and frames"),
	HIDDEN(sample, kstack_id, "stack in the kernel; 0: none"),
	{}};

static const struct tapir_member switch_[] = {
	CPU,
	{IN(switch, out_tgid), AS("pid"), MAY_MISS,
	 .description = "process of the thread that leaves its CPU; NULL: it is not recorded"},
	{IN(switch, out_tid), AS("tid"), MAY_MISS, .description = "the thread"},
	{IN(switch, out_tgid), IS(COMM), .key = "comm", .column = "process",
	 .aux = AT(switch, out_tid), .description = "name of its process"},
	{IN(switch, out_tid), IS(THREAD), .column = "thread", .description = "its name"},
	{IN(switch, out_state), IS(WORD), AS("state"), .word = switch_state,
	 .description = "why it leaves: sleeping, preempted, ..."},
	{IN(switch, out_state), .key = "state_bits",
	 .description = "the kernel's bits of its state; 0: it could run"},
	{.value = switch_futex,
	 .column = "futex",
	 MAY_MISS,
	 .description = "address of the futex that it waits for"},
	{IN(switch, in_tgid), AS("in_pid"), MAY_MISS,
	 .description = "process of the thread that comes; NULL: it is not recorded"},
	{IN(switch, in_tid), AS("in_tid"), MAY_MISS, .description = "the thread"},
	{IN(switch, in_tgid), IS(COMM), .key = "in_comm", .column = "in_process",
	 .aux = AT(switch, in_tid), .description = "name of its process"},
	{IN(switch, in_wake_ns), .key = "in_wake_ns", .column = "wake_ns", MAY_MISS,
	 .description = "when it was woken"},
	{IN(switch, in_waker_tid), .key = "in_waker_tid", .column = "waker_tid", MAY_MISS,
	 .description = "thread that woke it"},
	{.value = switch_is_snapshot,
	 .column = "is_snapshot",
	 .description = "1: no switch, but how the thread was when the recording began or ended"},
	{.value = switch_since,
	 IF_ANY,
	 AS("since_ns"),
	 .description = "of a whole wait: when its thread left, which comes now"},
	{IN(switch, flags), IS(FLAG), .aux = TAPIR_SWITCH_WOKEN_BY_IRQ, .key = "in_woken_by_irq"},
	{.value = switch_futex, IS(HEX), IF_ANY, .key = "futex"},
	TRACE,
	{IN(switch, flags), IS(FLAG), .aux = TAPIR_SWITCH_SNAPSHOT, IF_ANY, .key = "snapshot"},
	{IN(switch, flags), IS(FLAG), .aux = TAPIR_SWITCH_AT_END, IF_ANY, .key = "at_end"},
	{IN(switch, flags), IS(WORD), .word = switch_mark, IF_ANY, .key = "stack_mark"},
	STACKS(switch, out_stack_id, "of the thread that leaves"),
	HIDDEN(switch, flags,
	       "1: preempted, 2: woken by an interrupt, 4: a stack is missing, 8: no "
	       "switch but a snapshot, 16: at the end, 32: a futex follows, 64: a whole wait"),
	HIDDEN(switch, out_kstack_id, "its stack in the kernel"),
	{}};

static const struct tapir_member process[] = {
	PROCESS(process),
	{IN(process, kind), IS(WORD), .word = process_kind, AS("kind"),
	 .description = "0: existing, 1: fork, 2: exec, 3: exit"},
	{IN(process, parent_tgid), AS("parent_pid"), .description = "of its parent"},
	{IN(process, ns_tgid), AS("ns_pid"),
	 .description = "in its own pid namespace; 0: not known"},
	{IN(process, uid), AS("uid"), .description = "user id"},
	{IN(process, exe_len), IS(TEXT), AS("exe"), .description = "its program"},
	{IN(process, cmdline_len), IS(LIST), AS("cmdline"), .description = "its arguments"},
	{IN(process, flags), IS(FLAG), .aux = TAPIR_PROCESS_CMDLINE_CUT, IF_ANY,
	 AS("cmdline_is_cut")},
	{IN(process, flags), IS(FLAG), .aux = TAPIR_PROCESS_OOM_VICTIM, IF_ANY, AS("oom_killed")},
	{IN(process, cgroup_len), IS(TEXT), AS("cgroup"), .description = "path of its cgroup"},
	{IN(process, exit_status), IS(INT), IF_ANY, .is_there = has_ended, AS("exit_status"),
	 .description = "as wait(2) has it, when it ended"},
	HIDDEN(process, start_ns, "when it began"),
	HIDDEN(process, cgroup_id, "of cgroup v2; 0: not known"),
	HIDDEN(process, flags, "1: with program and arguments, 2: arguments are cut"),
	HIDDEN(process, comm_len, "bytes of its name"),
	{}};

static const struct tapir_member mapping[] = {
	PROCESS(mapping),
	{IN(mapping, path_len), IS(TEXT), .column = "path", .description = "the file"},
	{IN(mapping, start_va), AS("start"), .description = "first address"},
	{IN(mapping, end_va), AS("end"), .description = "first address after it"},
	{IN(mapping, file_off), AS("offset"), .description = "in the file"},
	{IN(mapping, path_len), IS(TEXT), .key = "path"},
	{IN(mapping, build_id), IS(BYTES), .aux = AT(mapping, build_id_bytes), AS("build_id"),
	 .description = "of the file"},
	HIDDEN(mapping, flags, "1: executable, 2: no file"),
	HIDDEN(mapping, file_id, "the same for the same content: joins symbols"),
	HIDDEN(mapping, inode, "of the file"),
	HIDDEN(mapping, dev, "major << 20 | minor"),
	HIDDEN(mapping, build_id_bytes, "of build_id"),
	HIDDEN(mapping, vaddr_pages, "p_vaddr less p_offset of its code, in 4,096 bytes; signed"),
	{}};

static const struct tapir_member counter[] = {
	PROCESS(counter),
	{IN(counter, tgid), IS(COMM), .column = "process", .aux = AT(counter, tgid),
	 .description = "name of the process"},
	{IN(counter, provider_len), IS(TEXT), AS("provider"), .description = "who counts"},
	{IN(counter, name_len), IS(TEXT), AS("name"), .description = "of the counter"},
	{IN(counter, kind), IS(WORD), .word = counter_kind, .key = "kind",
	 .description = "0: gauge, 1: rate, 2: sum"},
	{IN(counter, value), IS(REAL), AS("value"), .description = "the value"},
	{IN(counter, unit_len), IS(TEXT), AS("unit"), .description = "of the value"},
	{IN(counter, tags_len), IS(TEXT), AS("tags"),
	 .description = "what distinguishes it from others of its name"},
	{IN(counter, interval_ns), ID, AS("interval_ns"), .description = "in which it was counted"},
	{}};

static const struct tapir_member loss[] = {
	HIDDEN(loss, probe_id, "of a probe record; 0: of no probe"),
	{IN(loss, probe_id), IS(PROVIDER), .key = "provider"},
	{IN(loss, probe_id), IS(EVENT), .key = "event"},
	HIDDEN(loss, cause, "its place in TAPIR_LOSS_CAUSES (losses.h)"),
	{IN(loss, cause), IS(WORD), .word = loss_cause, AS("cause"),
	 .description = "why, as in 'tapir report --json'"},
	{IN(loss, cause), IS(WORD), .word = loss_text, AS("text"),
	 .description = "the same in words"},
	{.value = loss_is_complete,
	 .column = "is_whole",
	 .description = "1: complete records were lost, not parts"},
	{IN(loss, cause), IS(WORD), .word = loss_kind, .key = "kind"},
	{IN(loss, count), AS("count"), .description = "how many"},
	{IN(loss, from_ns), AS("from_ns"), .description = "the first"},
	{IN(loss, until_ns), AS("until_ns"), .description = "the last"},
	{IN(loss, probe_id), IS(PROVIDER), .column = "provider", .description = "of the event"},
	{IN(loss, probe_id), IS(EVENT), .column = "event",
	 .description = "whose records were lost"},
	{}};

static const struct tapir_member gap[] = {
	PROCESS(gap),
	{IN(gap, reason), IS(WORD), .word = gap_reason, AS("reason"),
	 .description = "why probes of a file were missing"},
	{IN(gap, path_len), IS(TEXT), AS("path"), .description = "the file"},
	{IN(gap, from_ns), AS("from_ns"), .description = "since when"},
	{IN(gap, until_ns), AS("until_ns"), .description = "until when"},
	{}};

static const struct tapir_member wait[] = {
	WHO(wait),
	{IN(wait, syscall), AS("syscall"), .description = "number of the system call"},
	{IN(wait, text_len), IS(TEXT), AS("call"), .description = "the call with its arguments"},
	{IN(wait, object_va), MAY_MISS, AS("object"),
	 .description = "address of the futex; 0: it waits for something else"},
	{IN(wait, owner_tid), MAY_MISS, AS("owner_tid"),
	 .description = "thread that holds the lock; 0: not known"},
	{IS(TAIL), .aux = 0, IF_ANY, AS("object_type")},
	{IS(TAIL), .aux = 1, IF_ANY, AS("statement")},
	{IS(TAIL), .aux = 2, IF_ANY, AS("holder_statement")},
	{IS(SESSION), .aux = 3, AS("session")},
	{}};

static const struct tapir_member resource[] = {PROCESS(resource),
					       {IN(resource, payload_bytes), IS(RESOURCE),
						AS("resource"), .description = "of the message"},
					       {}};

static const struct tapir_member interp_sample[] = {WHO(interp_sample),
						    {IN(interp_sample, stack_id), IS(STACK),
						     .key = "stack", .column = "stack_id",
						     .description = "of these functions alone"},
						    {}};

static const struct tapir_member calls[] = {
	WHO(calls),
	{IN(calls, kind), IS(WORD), .word = calls_kind, AS("kind"),
	 .description =
		 "thread: all numbers add up; stack, file: parts of those, each of their own"},
	{IN(calls, nr), IS(WORD), .word = calls_name, AS("call"),
	 .description = "name; NULL: not known"},
	{IN(calls, nr), AS("nr"), .description = "its number"},
	{IN(calls, err), IS(WORD), .word = calls_error, AS("error"),
	 .description = "name; NULL: it succeeded"},
	{IN(calls, cnt), AS("count"), .description = "that returned since since_ns"},
	{IN(calls, sum_ns), AS("sum_ns"), .description = "how long they took together"},
	{IN(calls, max_ns), AS("max_ns"), .description = "the longest"},
	{IN(calls, since_ns), AS("since_ns"),
	 .description = "from when they were counted, to time_ns"},
	{IN(calls, open_cnt), AS("open"), .description = "that have not returned"},
	{IN(calls, unbegun_cnt), AS("unbegun"), .description = "that began before the recording"},
	{IN(calls, inode), MAY_MISS, AS("inode"), .description = "of the file"},
	{IN(calls, dev), MAY_MISS, AS("dev"),
	 .description = "its file system: major * 1048576 + minor"},
	{IN(calls, text_len), IS(TEXT), IF_ANY, AS("file"),
	 .description = "path of the file, or its peer as in \"tcp A:1 to B:2\""},
	{IN(calls, stack_id), IS(STACK), .key = "stack", .column = "stack_id",
	 .description = "of the last of them; joins stacks and frames"},
	HIDDEN(calls, step_cnt, "steps of the histogram"),
	{IS(FUNCTION), .column = "function", .description = "innermost function of it"},
	{}};

static const struct tapir_member probe[] = {
	HIDDEN(probe, probe_id, "of events; sites of one name may have several"),
	HIDDEN(probe, event_id, "the runtime's number; 0: it has none"),
	HIDDEN(probe, version, "of the event"),
	HIDDEN(probe, level, "of the event"),
	HIDDEN(probe, keywords, "of the event"),
	HIDDEN(probe, site_off, "in the file"),
	HIDDEN(probe, semaphore_off, "in the file; 0: none"),
	HIDDEN(probe, encoding, "0: slots, 1: packed"),
	HIDDEN(probe, lane, "0: probe, 1: ring, 2: stream"),
	HIDDEN(probe, field_cnt, "structs tapir_field that follow"),
	HIDDEN(probe, provider_len, "bytes of the provider's name"),
	HIDDEN(probe, event_len, "bytes of the event's name"),
	HIDDEN(probe, file_len, "bytes of the file's path"),
	HIDDEN(probe, build_id_bytes, "of the file's build ID"),
	HIDDEN(probe, flags, "1: for names alone, 2: describes what a ring has"),
	{}};

static const struct tapir_member metadata[] = {
	HIDDEN(metadata, probe_id, "which it describes"),
	HIDDEN(metadata, format, "1: EventPipe's, 2: libtapir's, 3: a counter"),
	HIDDEN(metadata, blob_bytes, "of the description"),
	{}};

static const struct tapir_member stack[] = {
	HIDDEN(stack, stack_id, "never 0"),
	HIDDEN(stack, frame_cnt, "addresses, innermost first"),
	HIDDEN(stack, flags, "1: of the kernel, 2: deeper, 4: a frame could not be read"),
	HIDDEN(stack, end, "how it ends"),
	{}};

static const struct tapir_member thread[] = {
	HIDDEN(thread, tgid, "process id"),
	HIDDEN(thread, tid, "thread id"),
	HIDDEN(thread, ns_tgid, "process id in its own pid namespace; 0: not known"),
	HIDDEN(thread, ns_tid, "thread id there"),
	HIDDEN(thread, start_ns, "when it began; 0: not known"),
	HIDDEN(thread, leader_start_ns, "when its process began"),
	HIDDEN(thread, comm, "its name, padded with NUL"),
	HIDDEN(thread, leader_comm, "name of its process"),
	{}};

static const struct tapir_member symbol[] = {
	HIDDEN(symbol, file_id, "of mappings"),
	HIDDEN(symbol, start_off, "in the file"),
	HIDDEN(symbol, size, "0: up to the next symbol"),
	HIDDEN(symbol, name_len, "bytes of the name"),
	HIDDEN(symbol, flags, "1: known by unwind data, without a name"),
	{}};

static const struct tapir_member jit[] = {
	HIDDEN(jit, tgid, "process id"),
	HIDDEN(jit, source, "1: perf map, 2: jitdump, 3: events, 4: an interpreter's"),
	HIDDEN(jit, name_len, "bytes of the name"),
	HIDDEN(jit, start_va, "first address"),
	HIDDEN(jit, size, "bytes of code"),
	HIDDEN(jit, from_ns, "since when the name holds"),
	HIDDEN(jit, until_ns, "until when; 0: it still does"),
	{}};

static const struct tapir_member clock_[] = {HIDDEN(clock, utc_ns, "CLOCK_REALTIME at time_ns"),
					     HIDDEN(clock, boot_ns, "CLOCK_BOOTTIME at time_ns"),
					     {}};

static const struct tapir_member meta[] = {HIDDEN(meta, key_len, "bytes of the name of a fact"),
					   HIDDEN(meta, value_len, "bytes of the fact"),
					   {}};

static const struct tapir_member io[] = {
	{IN(io, tgid), AS("pid"), MAY_MISS, .description = "process of the thread that made it"},
	{IN(io, tid), AS("tid"), MAY_MISS, .description = "the thread"},
	{IN(io, tgid), IS(COMM), .key = "comm", .column = "process", .aux = AT(io, tid),
	 .description = "name of the process"},
	{IN(io, tid), IS(THREAD), .column = "thread", .description = "name of the thread"},
	{IN(io, op), IS(WORD), .word = io_op, AS("op"),
	 .description = "read, write, flush, discard, zero or other"},
	{IN(io, bytes), AS("bytes"), .description = "its size"},
	{IN(io, disk), IS(CHARS), AS("disk"), .description = "the device's name"},
	{IS(IO_FILE), AS("file"),
	 .description = "path; [metadata of DISK], [blocks of DISK], [inode N of MAJOR:MINOR]"},
	{IN(io, queue_ns), AS("queue_ns"),
	 .description = "from when it was made to when its device had it"},
	{IN(io, device_ns), AS("device_ns"),
	 .description = "from then to its end, which is time_ns"},
	{IS(IO_FLAGS), AS("flags"),
	 .description = "sync, metadata, fua, readahead, direct, write-back"},
	{IN(io, error), AS("error"), .description = "the kernel's blk_status_t; 0: none"},
	{IN(io, sector), AS("sector"), .description = "where, in 512 bytes"},
	{IN(io, inode), MAY_MISS, AS("inode"), .description = "of the file"},
	{IN(io, file_dev), MAY_MISS, AS("file_dev"),
	 .description = "its file system: major * 1048576 + minor"},
	{IN(io, flags), IS(WORD), .word = io_mark, IF_ANY, .key = "stack_mark"},
	{IN(io, stack_id), IS(STACK), .key = "stack", .column = "stack_id",
	 .description = "of the thread that made it; joins stacks and frames"},
	HIDDEN(io, dev, "the device; major << 20 | minor"),
	HIDDEN(io, object, "1: its bytes are a file's, 2: the device's own pages"),
	HIDDEN(io, flags, "sync, metadata, ..."),
	HIDDEN(io, path_len, "bytes of the file's path"),
	{IS(FUNCTION), .column = "function", .description = "innermost function of it"},
	{IS(FUNCTIONS), .column = "stack",
	 .description = "functions, outermost first, separated by ';'"},
	{}};

static const struct tapir_member exchange[] = {
	{IN(exchange, tgid), AS("pid"), .description = "process that used the connection"},
	{IN(exchange, tid), AS("tid"),
	 .description =
		 "the thread that received the answer, or sent it; or used the connection last"},
	{IN(exchange, tgid), IS(COMM), .key = "comm", .column = "process", .aux = AT(exchange, tid),
	 .description = "name of the process"},
	{IN(exchange, tid), IS(THREAD), .column = "thread", .description = "name of the thread"},
	{IN(exchange, kind), IS(WORD), .word = exchange_kind, AS("kind"),
	 .description =
		 "answered; closed: the connection has ended; open: the recording ends before"},
	{IN(exchange, flags), IS(WORD), .word = exchange_role, AS("role"),
	 .description = "opened: the process asks; accepted: it answers"},
	{IN(exchange, local), IS(ADDRESS), .aux = AT(exchange, local_port), AS("local"),
	 .description = "address and port of this end"},
	{IN(exchange, peer), IS(ADDRESS), .aux = AT(exchange, peer_port), AS("peer"),
	 .description = "address and port of the other end"},
	{IN(exchange, begin_ns), IS(UINT), .value = exchange_took, MAY_MISS, AS("took_ns"),
	 .description =
		 "from the request's last byte to the answer's first; else without an answer"},
	{IN(exchange, nr), AS("nr"), .description = "answered requests of the connection so far"},
	{IN(exchange, sent_bytes), AS("sent_bytes"), .description = "since its record before"},
	{IN(exchange, received_bytes), AS("received_bytes"),
	 .description = "since its record before"},
	{IN(exchange, flags), IS(UINT), .value = exchange_overlaps, AS("overlaps"),
	 .description =
		 "1: another request may have begun before the answer; the time means nothing"},
	{IN(exchange, flags), IS(UINT), .value = exchange_unseen, AS("unseen"),
	 .description =
		 "1: bytes passed that were not seen (splice, zero-copy, TLS in the kernel)"},
	{IN(exchange, error), MAY_MISS, AS("error"),
	 .description = "errno of the connection: 104 reset, 111 refused, 110 timed out"},
	{IN(exchange, retransmits), AS("retransmits"), .description = "of the connection so far"},
	{IN(exchange, connection), AS("connection"), .description = "the socket's cookie (ss -e)"},
	{IN(exchange, ask_tid), AS("ask_tid"),
	 .description = "thread that sent or received the request"},
	{IN(exchange, netns), AS("netns"), .description = "inode number of the network namespace"},
	HIDDEN(exchange, local_port, "port of this end"),
	HIDDEN(exchange, peer_port, "port of the other end"),
	{}};

static const struct tapir_member signal[] = {
	CPU,
	WHO(signal),
	{IN(signal, number), IS(WORD), .word = signal_name, AS("signal"),
	 .description = "its name: SIGTERM, SIGRT2, ..."},
	{IN(signal, number), AS("number"), .description = "its number"},
	{IN(signal, code), IS(INT), AS("code"), .description = "si_code of sigaction(2)"},
	{IN(signal, code), IS(WORD), .word = signal_way, AS("way"),
	 .description = "how it came: kill, tgkill, timer, fault, child, kernel, ..."},
	{IN(signal, to_tgid), AS("to_pid"), .description = "process that gets it"},
	{IN(signal, to_tid), AS("to_tid"),
	 .description = "its thread; of a process: the one asked first"},
	{IN(signal, to_tgid), IS(COMM), .key = "to_comm", .column = "to_process",
	 .aux = AT(signal, to_tid), .description = "name of that process"},
	{IN(signal, flags), IS(FLAG), .aux = TAPIR_SIGNAL_OF_PROCESS, AS("of_process"),
	 .description = "1: any thread of the process may get it"},
	{IN(signal, result), IS(WORD), .word = signal_result, AS("result"),
	 .description = "delivered, ignored, pending already or refused"},
	{}};

/* A member of an array, which has the array's name in the struct. */
#define AT_KIND(member, kind)                                                                      \
	.name = #member, .offset = AT(waits, member[TAPIR_WAIT_##kind]),                           \
	.bytes = BYTES(waits, member[0])
#define OF_WAITS(kind, word, description_)                                                         \
	{AT_KIND(cnt, kind), AS(word "_count"), .description = description_ ", how often"},        \
	{                                                                                          \
		AT_KIND(ns, kind), AS(word "_ns"), .description = "how long together"              \
	}

static const struct tapir_member waits[] = {
	WHO(waits),
	{IN(waits, since_ns), AS("since_ns"),
	 .description = "from when they were summed, to time_ns"},
	{IN(waits, run_ns), AS("run_ns"), .description = "how long it had a CPU"},
	OF_WAITS(RUNNABLE, "runnable", "without a CPU, preempted or after a yield"),
	OF_WAITS(SLEEPING, "sleeping", "asleep"),
	OF_WAITS(UNINTERRUPTIBLE, "uninterruptible",
		 "waiting for a device or a lock of the kernel"),
	OF_WAITS(OTHER, "other", "stopped, traced, parked or idle"),
	OF_WAITS(WOKEN, "woken", "without a CPU after it was woken"),
	{IN(waits, left_ns), MAY_MISS, AS("left_ns"),
	 .description = "since when it has been away; NULL: it was not, or not for long"},
	{IN(waits, out_state), AS("state_bits"),
	 .description = "then: the kernel's bits of its state"},
	HIDDEN(waits, step_cnt, "steps of the histograms"),
	{}};

static const struct tapir_member host[] = {
	{IN(host, host), AS("number"),
	 .description = "ids of its processes are 10,000,000 times this more"},
	{IN(host, name_len), IS(TEXT), AS("name"), .description = "its name"},
	{IN(host, clock), IS(WORD), .word = host_clock, AS("clock"),
	 .description = "synchronized, unsynchronized, unknown, or none: it has no UTC"},
	{IN(host, error_ns), AS("error_ns"), .description = "a synchronized clock's largest error"},
	{IN(host, set_ns), AS("set_ns"),
	 .description = "by how much its clock was set while it was recorded"},
	{IN(host, shift_ns), AS("shift_ns"),
	 .description = "how much later times are than on the host"},
	{IN(host, created_utc_ns), AS("created_utc_ns"), .description = "of its own recording"},
	{IN(host, created_ns), AS("created_ns"), .description = "the same by its CLOCK_MONOTONIC"},
	{IN(host, last_ns), AS("last_ns"), .description = "its last record"},
	{}};

static const struct tapir_member of_host[] = {
	HIDDEN(of_host, host, "whose recording has the record"),
	HIDDEN(of_host, record_bytes, "of the record: a META or a CLOCK"),
	{}};

static const struct tapir_member kernel[] = {
	PROCESS(kernel),
	{IN(kernel, tgid), IS(COMM), .column = "process", .aux = AT(kernel, tgid),
	 .description = "its name"},
	{IN(kernel, kind), IS(WORD), .word = kernel_kind, AS("kind"), .lead = " ",
	 .description = "fault, irq, softirq, vector (an interrupt of a CPU) or lock"},
	{IN(kernel, number), IS(WORD), .word = kernel_label, AS("what"), .lead = " ",
	 .description = "NET_RX, local timer, mutex, ...; NULL: it has a name, or is a fault"},
	{IN(kernel, name_len), IS(TEXT), AS("name"), .lead = " ", .description = "of an interrupt"},
	{IN(kernel, number), AS("number"), .description = "of the interrupt; of a lock its flags"},
	{IN(kernel, cnt), AS("count"), .lead = " count=", .description = "since since_ns"},
	{IN(kernel, part_cnt), AS("part"), .lead = " part=",
	 .description = "fault: from a disk (major); lock: that ended without it"},
	{IN(kernel, sum_ns), AS("sum_ns"),
	 .lead = " sum_ns=", .description = "how long they took together"},
	{IN(kernel, max_ns), AS("max_ns"),
	 .lead = " max_ns=", .description = "the longest so far, of this row"},
	{IN(kernel, since_ns), AS("since_ns"),
	 .description = "from when they were counted, to time_ns"},
	{IN(kernel, lock_va), IS(HEX), AS("lock"), MAY_MISS, .description = "address of the lock"},
	HIDDEN(kernel, kernel_stack_id, "of a lock: the caller"),
	STACKS(kernel, stack_id, "of a fault; NULL: the kernel touched the page, in a system call"),
	{}};
static const struct tapir_member native[] = {
	CPU,
	WHO(native),
	{IN(native, kind), IS(WORD), .word = native_kind, AS("kind"), .lead = " ",
	 .description = "alloc, free: samples of malloc's blocks; map, unmap, remap, protect, end"},
	{IN(native, function), IS(WORD), .word = native_function, AS("call"), .lead = " ",
	 .description = "malloc, mmap, ...; NULL: none"},
	{IN(native, va), IS(HEX), AS("address"), .lead = " at ",
	 .description = "of the block or the mapping"},
	{IN(native, bytes), AS("bytes"),
	 .lead = " bytes=", .description = "of the block or the mapping"},
	{IN(native, mean_bytes), MAY_MISS, AS("mean_bytes"),
	 .description = "between two samples: n bytes are one with probability 1 - exp(-n / it)"},
	{IN(native, begin_ns), MAY_MISS, AS("begin_ns"),
	 .description = "free: when the block was allocated"},
	{IN(native, old_va), IS(HEX), IF_ANY, .key = "old_address",
	 .description = "remap: where it was"},
	{IN(native, old_bytes), MAY_MISS, AS("old_bytes"),
	 .description = "remap: of what was there"},
	{IN(native, stack_id), IS(STACK), .key = "stack", .column = "stack_id",
	 .description = "of what allocated it; joins stacks and frames"},
	HIDDEN(native, flags, "1: not a file's, 2: accessible, 4: the process continues"),
	{IS(FUNCTION), .column = "function", .description = "innermost function of it"},
	{IS(FUNCTIONS), .column = "stack",
	 .description = "functions, outermost first, separated by ';'"},
	{}};

static const struct tapir_member none[] = {{}};

/* ---- records ---------------------------------------------------------------------------------- */

#define SIZE(rec) .bytes = sizeof(struct tapir_rec_##rec)
#define UNITS(rec, member, cnt)                                                                    \
	{                                                                                          \
		AT(rec, member), BYTES(rec, member), cnt                                           \
	}
#define LEN(rec, member) UNITS(rec, member, 1)

const struct tapir_schema tapir_schemas[TAPIR_REC_TYPE_CNT] = {
	[TAPIR_REC_NONE] = {.name = "unknown", .members = none},
	[TAPIR_REC_EVENT] =
		{.name = "event",
		 .description = "a probe fired",
		 .after =
			 "by flags: id of the kernel stack (8), activity and related activity (16 each); the payload; by flags, at the end: trace and span (24)",
		 SIZE(event),
		 .has_line = true,
		 .has_trace_ids = true,
		 .table = "events",
		 .table_description = "all events. One kind also has a table of its own, "
				      "gc__begin or \"provider:event\", with its fields as "
				      "columns",
		 .usual_rows = 1000000,
		 .ids = {{AT(event, tgid), AT(event, tid), AT(event, stack_id), 0}},
		 .members = event},
	[TAPIR_REC_PROBE] =
		{.name = "probe",
		 .description = "what a probe id means",
		 .after = "the fields, then provider, event, file, build ID, names of fields",
		 SIZE(probe),
		 .describes = true,
		 .members = probe},
	[TAPIR_REC_METADATA] = {.name = "metadata",
				.description = "a runtime's own description of an event",
				.after = "the description",
				SIZE(metadata),
				.describes = true,
				.parts = {LEN(metadata, blob_bytes)},
				.members = metadata},
	[TAPIR_REC_SAMPLE] = {.name = "sample",
			      .description = "a CPU sample",
			      .after = "trace and span (24), if it is that much larger",
			      SIZE(sample),
			      .has_line = true,
			      .has_trace_ids = true,
			      .table = "samples",
			      .table_description = "CPU samples",
			      .usual_rows = 1000000,
			      .ids = {{AT(sample, tgid), AT(sample, tid), AT(sample, stack_id),
				       AT(sample, kstack_id)}},
			      .members = sample},
	/* The thread that comes in needs a name as well: its switch out may be in another segment.
	 */
	[TAPIR_REC_SWITCH] =
		{.name = "switch",
		 .description = "a context switch",
		 .after = "by flags: address of a futex (8), or of a whole wait that address or 0 and when it began (8 each); trace and span (24), if it is that much larger",
		 SIZE(switch),
		 .has_line = true,
		 .has_trace_ids = true,
		 .table = "switches",
		 .table_description = "context switches: a thread leaves its CPU, another "
				      "comes",
		 .usual_rows = 1000000,
		 .ids =
			 {{AT(switch, out_tgid), AT(switch, out_tid), AT(switch, out_stack_id),
			   AT(switch, out_kstack_id)},
			  {AT(switch, in_tgid), AT(switch, in_tid), 0, 0}},
		 .members = switch_},
	[TAPIR_REC_STACK] = {.name = "stack",
			     .description = "what a stack id means",
			     .after = "the addresses",
			     SIZE(stack),
			     .describes = true,
			     .parts = {UNITS(stack, frame_cnt, sizeof(uint64_t))},
			     .members = stack},
	[TAPIR_REC_THREAD] = {.name = "thread",
			      .description = "who a thread is",
			      SIZE(thread),
			      .describes = true,
			      .ids = {{AT(thread, tgid), AT(thread, tid), 0, 0}},
			      .members = thread},
	[TAPIR_REC_PROCESS] = {.name = "process",
			       .description = "a process began, changed or ended",
			       .after = "name, program, arguments, cgroup",
			       SIZE(process),
			       .has_line = true,
			       .describes = true,
			       .parts = {LEN(process, comm_len), LEN(process, exe_len),
					 LEN(process, cmdline_len), LEN(process, cgroup_len)},
			       .ids = {{AT(process, tgid), 0, 0, 0}},
			       .members = process},
	[TAPIR_REC_MAPPING] = {.name = "mapping",
			       .description = "a file or code in an address space",
			       .after = "the path",
			       SIZE(mapping),
			       .has_line = true,
			       .describes = true,
			       .table = "mappings",
			       .table_description =
				       "files that processes have mapped to execute them",
			       .usual_rows = 1000,
			       .parts = {LEN(mapping, path_len)},
			       .members = mapping},
	[TAPIR_REC_SYMBOL] = {.name = "symbol",
			      .description = "a name in a file",
			      .after = "the name",
			      SIZE(symbol),
			      .describes = true,
			      .parts = {LEN(symbol, name_len)},
			      .members = symbol},
	[TAPIR_REC_JIT] = {.name = "jit",
			   .description = "a name at an address, for a time",
			   .after = "the name",
			   SIZE(jit),
			   .describes = true,
			   .parts = {LEN(jit, name_len)},
			   .members = jit},
	[TAPIR_REC_COUNTER] = {.name = "counter",
			       .description = "a measured value",
			       .after = "provider, name, unit, tags",
			       SIZE(counter),
			       .ids = {{AT(counter, tgid), 0, 0, 0}},
			       .has_line = true,
			       .table = "counters",
			       .table_description = "values of counters",
			       .usual_rows = 10000,
			       .parts = {LEN(counter, provider_len), LEN(counter, name_len),
					 LEN(counter, unit_len), LEN(counter, tags_len)},
			       .members = counter},
	[TAPIR_REC_LOSS] = {.name = "loss",
			    .description = "what was not recorded, and why",
			    .after = "in a merged recording: number of the host (4), 0 (4)",
			    SIZE(loss),
			    .has_line = true,
			    .table = "losses",
			    .table_description = "records that were lost, and why",
			    .usual_rows = 100,
			    .members = loss},
	[TAPIR_REC_GAP] = {.name = "gap",
			   .description = "a file or process that was seen too late",
			   .after = "the path",
			   SIZE(gap),
			   .has_line = true,
			   .table = "gaps",
			   .table_description = "times in which probes of a file were not on",
			   .usual_rows = 10,
			   .parts = {LEN(gap, path_len)},
			   .ids = {{AT(gap, tgid), 0, 0, 0}},
			   .members = gap},
	[TAPIR_REC_CLOCK] = {.name = "clock",
			     .description = "CLOCK_MONOTONIC and UTC at one moment",
			     SIZE(clock),
			     .describes = true,
			     .members = clock_},
	[TAPIR_REC_META] = {.name = "meta",
			    .description = "a fact about the recording",
			    .after = "its name, the fact",
			    SIZE(meta),
			    .describes = true,
			    .parts = {LEN(meta, key_len), LEN(meta, value_len)},
			    .members = meta},
	[TAPIR_REC_WAIT] =
		{.name = "wait",
		 .description = "what a thread of a snapshot waits for",
		 .after = "the call; then, each up to a NUL: type of the object, statement, statement of the holder, the session of each",
		 SIZE(wait),
		 .has_line = true,
		 .parts = {LEN(wait, text_len)},
		 .ids =
			 {{AT(wait, tgid), AT(wait, tid), 0, 0}},
		 .members = wait},
	[TAPIR_REC_RESOURCE] = {.name = "resource",
				.description = "what a process publishes of itself",
				.after = "the message of OpenTelemetry's process context",
				SIZE(resource),
				.has_line = true,
				.describes = true,
				.parts = {LEN(resource, payload_bytes)},
				.members = resource},
	[TAPIR_REC_INLINED] = {.name = "inlined",
			       .description = "what a compiler inlined at an address",
			       .after = "the functions, innermost first, separated by line feeds",
			       SIZE(jit),
			       .describes = true,
			       .parts = {LEN(jit, name_len)},
			       .members = jit},
	[TAPIR_REC_INTERP_SAMPLE] = {.name = "look",
				     .description =
					     "the interpreted functions that a thread was in",
				     SIZE(interp_sample),
				     .has_line = true,
				     .title = "interpreter stack",
				     .ids = {{AT(interp_sample, tgid), AT(interp_sample, tid),
					      AT(interp_sample, stack_id), 0}},
				     .members = interp_sample},
	[TAPIR_REC_IO] = {.name = "io",
			  .description = "a request to a block device, when it is complete",
			  .after = "the file's path",
			  SIZE(io),
			  .has_line = true,
			  .table = "io",
			  .table_description = "requests to block devices ('tapir help io')",
			  .usual_rows = 50000,
			  .parts = {LEN(io, path_len)},
			  .ids = {{AT(io, tgid), AT(io, tid), AT(io, stack_id), 0}},
			  .members = io},
	[TAPIR_REC_EXCHANGE] = {.name = "exchange",
				.description =
					"a request and its answer on a TCP connection, or its end",
				SIZE(exchange),
				.has_line = true,
				.table = "exchanges",
				.table_description =
					"requests on TCP connections ('tapir help net')",
				.usual_rows = 50000,
				.ids = {{AT(exchange, tgid), AT(exchange, tid), 0, 0}},
				.members = exchange},
	[TAPIR_REC_CALLS] = {.name = "calls",
			     .description = "system calls of a thread that returned, in numbers",
			     .after = "steps of 4 bytes each for which and how many; the path",
			     SIZE(calls),
			     .has_line = true,
			     .table = "calls",
			     .table_description = "numbers of system calls",
			     .usual_rows = 20000,
			     .parts = {UNITS(calls, step_cnt, sizeof(struct tapir_call_step)),
				       LEN(calls, text_len)},
			     .ids = {{AT(calls, tgid), AT(calls, tid), AT(calls, stack_id), 0}},
			     .members = calls},
	[TAPIR_REC_SIGNAL] = {.name = "signal",
			      .description = "a signal was sent",
			      SIZE(signal),
			      .has_line = true,
			      .table = "signals",
			      .table_description = "signals that were sent ('tapir help signals')",
			      .usual_rows = 1000,
			      .ids = {{AT(signal, tgid), AT(signal, tid), 0, 0},
				      {AT(signal, to_tgid), AT(signal, to_tid), 0, 0}},
			      .members = signal},
	[TAPIR_REC_WAITS] =
		{.name = "waits",
		 .description = "short waits of a thread, in numbers, and how long it ran",
		 .after = "steps of 2 bytes each for kind and step, 4 for how many",
		 SIZE(waits),
		 .has_line = true,
		 .table = "wait_sums",
		 .table_description = "sums of short waits, by thread (record --sched=sums)",
		 .usual_rows = 10000,
		 .parts = {UNITS(waits, step_cnt, sizeof(struct tapir_wait_step))},
		 .ids = {{AT(waits, tgid), AT(waits, tid), 0, 0}},
		 .members = waits},
	[TAPIR_REC_NATIVE] = {.name = "native",
			      .description = "memory was mapped, or a block allocated or freed",
			      SIZE(native),
			      .has_line = true,
			      .table = "native_memory",
			      .table_description = "native memory ('tapir help native')",
			      .usual_rows = 20000,
			      .ids = {{AT(native, tgid), AT(native, tid), AT(native, stack_id), 0}},
			      .members = native},
	[TAPIR_REC_KERNEL] = {.name = "kernel",
			      .description = "what the kernel did for or to a process, in numbers",
			      .after = "the name of the interrupt",
			      SIZE(kernel),
			      .has_line = true,
			      .table = "kernel_work",
			      .table_description =
				      "page faults, interrupts, waits for locks of the kernel "
				      "('tapir help kernel')",
			      .usual_rows = 20000,
			      .parts = {LEN(kernel, name_len)},
			      .ids = {{AT(kernel, tgid), 0, AT(kernel, stack_id),
				       AT(kernel, kernel_stack_id)}},
			      .members = kernel},
	[TAPIR_REC_HOST] = {.name = "host",
			    .description = "a host of a merged recording",
			    .after = "its name",
			    SIZE(host),
			    .has_line = true,
			    .describes = true,
			    .table = "hosts",
			    .table_description = "hosts of a merged recording ('tapir help merge')",
			    .usual_rows = 2,
			    .parts = {LEN(host, name_len)},
			    .members = host},
	[TAPIR_REC_OF_HOST] = {.name = "of_host",
			       .description =
				       "a fact or a clock of one host, as its recording has it",
			       .after = "the record",
			       SIZE(of_host),
			       .describes = true,
			       .parts = {LEN(of_host, record_bytes)},
			       .members = of_host},
};

/* ---- those that are captured ------------------------------------------------------------------ */

const struct tapir_family tapir_families[TAPIR_FAMILY_CNT] = {
	[TAPIR_FAMILY_EVENT] = {.type = TAPIR_REC_EVENT,
				.one = "event",
				.many = "events",
				.thing = "event",
				.things = "events",
				.is_default = true,
				.title = ">EVENTS",
				.loss_kind = TAPIR_LOSS_KIND_EVENT,
				.disk_cause = TAPIR_LOSS_DISK,
				.skipped_cause = TAPIR_LOSS_RECURSION},
	[TAPIR_FAMILY_SAMPLE] = {.type = TAPIR_REC_SAMPLE,
				 .one = "sample",
				 .many = "samples",
				 .thing = "CPU sample",
				 .things = "CPU samples",
				 .is_default = true,
				 .programs = {"tapir_sample"},
				 .title = ">SAMPLES",
				 .loss_kind = TAPIR_LOSS_KIND_SAMPLE,
				 .disk_cause = TAPIR_LOSS_SAMPLE_DISK,
				 .skipped_cause = TAPIR_LOSS_SAMPLE_SKIPPED},
	[TAPIR_FAMILY_SWITCH] = {.type = TAPIR_REC_SWITCH,
				 .one = "switch",
				 .many = "switches",
				 .thing = "context switch",
				 .things = "context switches",
				 .is_default = true,
				 /*
				  * The first switch may already contain its waker. Those that sum
				  * waits are loaded in place of the first three.
				  */
				 .programs = {"tapir_waking", "tapir_wake_new", "tapir_switch",
					      "tapir_waited", "tapir_sum_wake", "tapir_sum_switch"},
				 .meta = "switches",
				 .title = ">SWITCHES",
				 .loss_kind = TAPIR_LOSS_KIND_SWITCH,
				 .disk_cause = TAPIR_LOSS_SWITCH_DISK,
				 .skipped_cause = TAPIR_LOSS_SWITCH_SKIPPED},
	[TAPIR_FAMILY_IO] = {.type = TAPIR_REC_IO,
			     .one = "block request",
			     .many = "block requests",
			     .thing = "block request",
			     .things = "block requests",
			     /* The end comes first: what is begun has one. */
			     .programs = {"tapir_io_done", "tapir_io_issue", "tapir_io_make"},
			     .maps = {"io_makers", "io_requests", "io_scratches"},
			     .meta = "io",
			     .key = "io",
			     .flag = "io",
			     .flag_help = "record each request to a block device: its file, who "
					  "made it, how long it took ('tapir help io')",
			     .title = ">DISK",
			     .loss_kind = TAPIR_LOSS_KIND_IO,
			     .disk_cause = TAPIR_LOSS_IO_DISK,
			     .skipped_cause = TAPIR_LOSS_IO_SKIPPED},
	[TAPIR_FAMILY_EXCHANGE] = {.type = TAPIR_REC_EXCHANGE,
				   .one = "exchange",
				   .many = "exchanges",
				   .thing = "exchange",
				   .things = "exchanges",
				   .programs = {"tapir_net_state", "tapir_net_recv",
						"tapir_net_send"},
				   .maps = {"connections", "net_scratches", "net_sent_open"},
				   .last_program = "tapir_net_open",
				   .meta = "net",
				   .flag = "net",
				   .flag_help =
					   "record each request and answer on TCP connections: "
					   "peer, time, bytes ('tapir help net')",
				   .title = ">NET",
				   .loss_kind = TAPIR_LOSS_KIND_EXCHANGE,
				   .disk_cause = TAPIR_LOSS_EXCHANGE_DISK,
				   .skipped_cause = TAPIR_LOSS_EXCHANGE_SKIPPED},
	[TAPIR_FAMILY_CALLS] = {.type = TAPIR_REC_CALLS,
				.one = "system call",
				.many = "system calls",
				.thing = "system call",
				.things = "system calls",
				/* The end comes first: what is begun has one. */
				.programs = {"tapir_end_count", "tapir_exit_count",
					     "tapir_enter_count"},
				.maps = {"call_threads", "call_counts", "call_scratches"},
				.meta = "syscalls",
				.key = "syscalls",
				.title = ">CALLS",
				.loss_kind = TAPIR_LOSS_KIND_CALLS,
				.disk_cause = TAPIR_LOSS_CALLS_DISK,
				.skipped_cause = TAPIR_LOSS_CALLS_SKIPPED},
	[TAPIR_FAMILY_SIGNAL] = {.type = TAPIR_REC_SIGNAL,
				 .one = "signal",
				 .many = "signals",
				 .thing = "signal",
				 .things = "signals",
				 .programs = {"tapir_signal"},
				 .maps = {"signal_scratches"},
				 .meta = "signals",
				 .flag = "signals",
				 .flag_help =
					 "record each signal that a traced process sends or gets: "
					 "who killed whom ('tapir help signals')",
				 .title = ">SIGNALS",
				 .loss_kind = TAPIR_LOSS_KIND_SIGNAL,
				 .disk_cause = TAPIR_LOSS_SIGNAL_DISK,
				 .skipped_cause = TAPIR_LOSS_SIGNAL_SKIPPED},
	[TAPIR_FAMILY_NATIVE] = {.type = TAPIR_REC_NATIVE,
				 .one = "memory record",
				 .many = "memory records",
				 .thing = "record of native memory",
				 .things = "native memory",
				 /* The end comes first: what is begun has one. */
				 .programs = {"tapir_mem_exit", "tapir_mem_exec", "tapir_mem_map",
					      "tapir_mem_brk"},
				 .maps = {"native_threads", "native_rooms",
					  "native_blocks", "native_owners", "native_hits"},
				 .meta = "native_memory",
				 .key = "native_memory",
				 .title = ">MEMORY",
				 .loss_kind = TAPIR_LOSS_KIND_NATIVE,
				 .disk_cause = TAPIR_LOSS_NATIVE_DISK,
				 .skipped_cause = TAPIR_LOSS_NATIVE_SKIPPED},
	[TAPIR_FAMILY_KERNEL] = {.type = TAPIR_REC_KERNEL,
				 .one = "kernel event",
				 .many = "kernel events",
				 .thing = "kernel event",
				 .things = "kernel events",
				 /* The end comes first, but of faults. */
				 .programs = {"tapir_fault_end", "tapir_fault", "tapir_irq_out",
					      "tapir_irq_in", "tapir_soft_out", "tapir_soft_in",
					      "tapir_timer_out", "tapir_timer_in", "tapir_ipi_out",
					      "tapir_ipi_in", "tapir_call_out", "tapir_call_in",
					      "tapir_call1_out", "tapir_call1_in", "tapir_work_out",
					      "tapir_work_in", "tapir_lock_out", "tapir_lock_in"},
				 .maps = {"kernel_rows"},
				 .last_program = "tapir_fault_look",
				 .meta = TAPIR_META_KERNEL,
				 .key = "kernel_events",
				 .title = ">KERNEL",
				 .loss_kind = TAPIR_LOSS_KIND_KERNEL,
				 .disk_cause = TAPIR_LOSS_KERNEL_DISK,
				 .skipped_cause = TAPIR_LOSS_KERNEL_SKIPPED},
};

/* ---- reading ---------------------------------------------------------------------------------- */

/* Little-endian, as every record. */
static uint64_t number_at(const struct tapir_rec *rec, unsigned offset, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, (const char *)rec + offset, bytes);
	return value;
}

static uint64_t bytes_of(const struct tapir_schema_part *part, const struct tapir_rec *rec)
{
	return number_at(rec, part->offset, part->bytes) * part->unit;
}

uint64_t tapir_schema__part_bytes(const struct tapir_schema *schema, const struct tapir_rec *rec)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TAPIR_SCHEMA_PARTS && schema->parts[i].bytes; i++)
		sum += bytes_of(&schema->parts[i], rec);
	return sum;
}

static struct tapir_sv part_at(const struct tapir_schema *schema, const struct tapir_rec *rec,
			       unsigned offset)
{
	const struct tapir_schema_part *part = schema->parts;
	const char *at = (const char *)rec + schema->bytes;

	for (; part->offset != offset; part++)
		at += bytes_of(part, rec);
	return (struct tapir_sv){at, bytes_of(part, rec)};
}

/* The text with this number after all parts, each of which ends with a NUL or with the record. */
static struct tapir_sv tail_at(const struct tapir_schema *schema, const struct tapir_rec *rec,
			       unsigned idx)
{
	const char *end = (const char *)rec + rec->size;
	const char *at = (const char *)rec + schema->bytes + tapir_schema__part_bytes(schema, rec);
	size_t len = strnlen(at, (size_t)(end - at));

	for (; idx; idx--) {
		at += len + (at + len < end);
		len = strnlen(at, (size_t)(end - at));
	}
	return (struct tapir_sv){at, len};
}

struct tapir_member_value tapir_member_value__of_text(struct tapir_sv text)
{
	return (struct tapir_member_value){.kind = text.data && text.len ? TAPIR_MEMBER_IS_TEXT
									 : TAPIR_MEMBER_IS_NULL,
					   .text = text};
}

static struct tapir_member_value member_number(const struct tapir_member *member,
					       const struct tapir_rec *rec)
{
	struct tapir_member_value out = {.kind = TAPIR_MEMBER_IS_U64};

	out.u64 =
		member->value ? member->value(rec) : number_at(rec, member->offset, member->bytes);
	if (!out.u64 && member->flags & (TAPIR_MEMBER_0_IS_NULL | TAPIR_MEMBER_OPTIONAL))
		out.kind = TAPIR_MEMBER_IS_NULL;
	return out;
}

static struct tapir_member_value word_value(const char *word)
{
	return tapir_member_value__of_text((struct tapir_sv){word, word ? strlen(word) : 0});
}

struct tapir_member_value tapir_member__read(const struct tapir_member *member,
					     const struct tapir_rec *rec)
{
	const struct tapir_schema *schema = tapir_schema__of(rec->type);
	struct tapir_member_value out = {};

	/* A member that this record has not is no zero: it is left out of JSON, and NULL in SQL. */
	if (member->is_there && !member->is_there(rec))
		return out;
	switch (member->type) {
	case TAPIR_MEMBER_UINT:
	case TAPIR_MEMBER_HEX:
		return member_number(member, rec);
	case TAPIR_MEMBER_INT:
		out.kind = TAPIR_MEMBER_IS_I64;
		out.u64 = number_at(rec, member->offset, member->bytes);
		if (member->bytes == sizeof(int32_t))
			out.i64 = (int32_t)out.u64;
		return out;
	case TAPIR_MEMBER_REAL:
		out.kind = TAPIR_MEMBER_IS_F64;
		memcpy(&out.f64, (const char *)rec + member->offset, sizeof(out.f64));
		return out;
	case TAPIR_MEMBER_FLAG:
		out.kind = TAPIR_MEMBER_IS_BOOL;
		out.u64 = (number_at(rec, member->offset, member->bytes) & member->aux) != 0;
		return out;
	case TAPIR_MEMBER_CHARS:
		return tapir_member_value__of_text((struct tapir_sv){
			(const char *)rec + member->offset,
			strnlen((const char *)rec + member->offset, member->bytes)});
	case TAPIR_MEMBER_WORD:
		return word_value(member->word(rec));
	case TAPIR_MEMBER_TEXT:
	case TAPIR_MEMBER_LIST:
	case TAPIR_MEMBER_RESOURCE:
		return tapir_member_value__of_text(part_at(schema, rec, member->offset));
	case TAPIR_MEMBER_TAIL:
	case TAPIR_MEMBER_SESSION:
		return tapir_member_value__of_text(tail_at(schema, rec, member->aux));
	default:
		return out;
	}
}
