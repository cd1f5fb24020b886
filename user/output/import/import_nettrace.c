// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Three passes: the first finds the times and the process's command line, the second the names of
 * methods, which come last (the rundown) and are needed first, by the stacks; the third writes.
 *
 * A sample of EventPipe's profiler says which thread was where, and whether it ran managed code:
 * then it is a sample of the recording; else the thread was outside it, waiting or not, and the
 * sample stays an event.
 */
#include "output/import/import_nettrace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/little_endian.h"
#include "decode/dotnet_methods.h"
#include "decode/dotnet_tables.h"
#include "decode/event_blob.h"
#include "decode/probe_name.h"
#include "decode/value_packed.h"
#include "output/import/import_tasks.h"
#include "output/import/nettrace_file.h"
#include "output/import/nettrace_universal.h"

#define CHECK_EVERY	    4096u /* events */
#define KINDS_MAX	    65536u
#define STACKS_MAX	    (1u << 20) /* between two sequence points */
#define PAYLOAD_MAX	    (TAPIR_MAX_RECORD_BYTES - 256u)
#define COMMAND_UNITS	    2048u
#define SESSION_BITS	    0xf00000000000ull /* EventSource sets them in all its keywords */
#define RUNDOWN		    "Microsoft-Windows-DotNETRuntimeRundown"
#define PROFILER	    "Microsoft-DotNETCore-SampleProfiler"
#define EVENTPIPE	    "Microsoft-DotNETCore-EventPipe"
#define LOAD_ID		    143u
#define UNLOAD_ID	    144u	    /* of the rundown: a method that there is at its end */
#define UNIVERSAL_PERIOD_NS TAPIR_NS_PER_MS /* as TraceEvent takes it */
#define SAMPLE_IN_MANAGED   2u

enum role { ROLE_EVENT, ROLE_SAMPLE, ROLE_LOAD, ROLE_UNLOAD, ROLE_RUNDOWN, ROLE_PROCESS };
enum pass { PASS_TIMES, PASS_NAMES, PASS_WRITE };

struct kind {
	enum role role;
	enum tapir_nettrace_universal universal;
	uint32_t event_id;
	uint32_t probe_id; /* 0: it could not be described */
};

/* The recording's; 0: none. */
struct stack_ids {
	uint64_t user, kernel;
};

struct nettrace {
	const struct tapir_import_opts *opts;
	struct tapir_import_sink sink;
	struct tapir_import_tasks tasks;
	struct tapir_nettrace_start start;
	struct tapir_keyed(struct kind) kinds;	     /* by metadata id */
	struct tapir_keyed(struct stack_ids) stacks; /* by the stream's id */
	struct tapir_str name;
	char command[3 * COMMAND_UNITS + 1];
	uint64_t first_ns, last_ns;
	uint64_t event_cnt, malformed_cnt, undescribed_cnt, sample_cnt, outside_cnt, rundown_cnt;
	uint64_t rundown_event_cnt, switch_cnt;
	uint64_t lost_cnt, stack_cnt;
	int err;
	enum pass pass;
	bool is_machine; /* it describes processes */
};

static uint64_t ns_of(const struct nettrace *n, uint64_t ticks)
{
	unsigned __int128 ns = (unsigned __int128)ticks * TAPIR_NS_PER_SEC;

	ns /= n->start.ticks_per_sec ? n->start.ticks_per_sec : 1;
	return ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

static uint32_t pid_of(const struct nettrace *n, const struct tapir_nettrace_event *event)
{
	return event->pid ? event->pid : n->start.pid;
}

static void on_start(void *ctx, const struct tapir_nettrace_start *start)
{
	struct nettrace *n = ctx;

	n->start = *start;
}

/* ---- kinds of events ------------------------------------------------------------------------- */

static enum role role_of(const char *provider, uint32_t event_id)
{
	if (!strcmp(provider, PROFILER))
		return ROLE_SAMPLE;
	if (!strcmp(provider, EVENTPIPE))
		return ROLE_PROCESS;
	if (!strcmp(provider, RUNDOWN))
		return ROLE_RUNDOWN;
	if (strcmp(provider, TAPIR_DOTNET_RUNTIME))
		return ROLE_EVENT;
	return event_id == LOAD_ID ? ROLE_LOAD : event_id == UNLOAD_ID ? ROLE_UNLOAD : ROLE_EVENT;
}

static void describe_event(struct nettrace *n, const struct tapir_nettrace_metadata *m,
			   const struct tapir_event_blob *blob, uint32_t probe_id)
{
	struct tapir_rec_probe fixed = {
		.probe_id = probe_id,
		.event_id = (uint16_t)blob->id,
		.version = (uint8_t)blob->version,
		.level = (uint8_t)blob->level,
		/* These bits say nothing of the event. */
		.keywords = blob->keywords & ~SESSION_BITS,
		.encoding = TAPIR_ENCODING_PACKED,
		.lane = TAPIR_LANE_STREAM,
	};
	struct tapir_rec_metadata metadata = {.probe_id = probe_id, .format = 1};
	const struct tapir_sv none = {};
	struct tapir_recbuf named = {};
	const struct tapir_rec *rec;

	tapir_rec__init(&fixed.h, TAPIR_REC_PROBE, sizeof(fixed), n->first_ns);
	rec = tapir_recbuf__probe(&n->sink.buf, &fixed, tapir_sv__of(m->provider),
				  tapir_sv__of(m->event && *m->event ? m->event : blob->name), none,
				  none, NULL, NULL, 0);
	tapir_import_sink__describe(&n->sink, rec ? tapir_probe_name__complete(&named, rec) : NULL);
	tapir_recbuf__fini(&named);
	tapir_rec__init(&metadata.h, TAPIR_REC_METADATA, sizeof(metadata), n->first_ns);
	rec = tapir_recbuf__metadata(&n->sink.buf, &metadata,
				     (struct tapir_sv){(const char *)m->blob, m->blob_bytes});
	if (rec)
		tapir_import_sink__describe(&n->sink, rec);
}

/* Each pass over the file numbers the kinds anew, and alike; the last one writes them. */
static void on_metadata(void *ctx, const struct tapir_nettrace_metadata *m)
{
	struct nettrace *n = ctx;
	struct tapir_event_blob *blob;
	struct kind kind = {};

	if (n->kinds.cnt >= KINDS_MAX || tapir_event_blob__parse(m->blob, m->blob_bytes, &blob)) {
		n->malformed_cnt++;
		return;
	}
	kind.role = role_of(m->provider, blob->id);
	kind.event_id = blob->id;
	kind.universal = tapir_nettrace_universal__of(m->provider, m->event);
	n->is_machine |= kind.universal != TAPIR_UNIVERSAL_NONE;
	kind.probe_id = (uint32_t)n->kinds.cnt + 1;
	tapir_keyed__forget(&n->kinds, m->metadata_id); /* it is described anew */
	if (!tapir_keyed__add(&n->kinds, m->metadata_id, KINDS_MAX, kind))
		n->err = -ENOMEM;
	if (n->pass == PASS_WRITE && kind.role != ROLE_RUNDOWN && !n->err &&
	    (!kind.universal || kind.universal == TAPIR_UNIVERSAL_SWITCH))
		describe_event(n, m, blob, kind.probe_id);
	tapir_event_blob__free(blob);
}

static const struct kind *nettrace_metadata_kind(const struct nettrace *n, uint32_t metadata_id)
{
	return tapir_keyed__get(&n->kinds, metadata_id);
}

/* ---- the first passes ------------------------------------------------------------------------ */

static void see_time(struct nettrace *n, uint64_t ns)
{
	if (!n->first_ns || ns < n->first_ns)
		n->first_ns = ns;
	if (ns > n->last_ns)
		n->last_ns = ns;
}

/* The command line, UTF-16 up to its NUL, is the first field. */
static void see_process(struct nettrace *n, const struct tapir_nettrace_event *event)
{
	size_t units = 0;

	while (units < COMMAND_UNITS && 2 * units + 2 <= event->payload_bytes &&
	       tapir_le__u16(event->payload + 2 * units))
		units++;
	n->command[tapir_utf16__to_utf8(event->payload, 2 * units, n->command)] = '\0';
}

static void scan(struct nettrace *n, const struct kind *kind,
		 const struct tapir_nettrace_event *event)
{
	if (!kind || kind->role != ROLE_RUNDOWN)
		see_time(n, ns_of(n, event->ticks));
	if (kind && kind->role == ROLE_PROCESS)
		see_process(n, event);
}

static bool is_method(const struct kind *kind)
{
	return kind->role == ROLE_LOAD || kind->role == ROLE_UNLOAD ||
	       (kind->role == ROLE_RUNDOWN &&
		(kind->event_id == LOAD_ID || kind->event_id == UNLOAD_ID));
}

/*
 * A rundown lists code that was there before: its name is valid from the beginning of the
 * recording.
 */
static void add_nettrace_name(struct nettrace *n, const struct kind *kind,
			      const struct tapir_nettrace_event *event)
{
	const struct tapir_event_view view = {.payload = event->payload,
					      .payload_bytes = event->payload_bytes};
	bool is_rundown = kind->role == ROLE_RUNDOWN;
	uint64_t ns = ns_of(n, event->ticks);
	struct tapir_dotnet_method method;
	struct tapir_jit_name name = {.source = TAPIR_JIT_METHOD_EVENT,
				      .from_ns = is_rundown ? 0 : ns};

	tapir_str__clear(&n->name);
	if (tapir_dotnet_method__of(&view, &method, &n->name))
		return;
	n->rundown_cnt += is_rundown;
	if (kind->role == ROLE_UNLOAD) {
		tapir_import_names__end_code(n->sink.names, pid_of(n, event), method.start_va, ns);
		return;
	}
	name.start_va = method.start_va;
	name.size = method.size;
	name.name = n->name.data;
	name.name_len = n->name.len;
	if (tapir_import_names__add_code(n->sink.names, pid_of(n, event), &name) == -ENOSPC)
		n->sink.refused_cnt++;
}

/* ---- the third pass -------------------------------------------------------------------------- */

static void on_stack(void *ctx, const struct tapir_nettrace_stack *stack)
{
	struct nettrace *n = ctx;
	unsigned kernel_cnt = 0;
	struct stack_ids *ids;

	if (n->pass != PASS_WRITE || !stack->frame_cnt)
		return;
	ids = tapir_keyed__add(&n->stacks, stack->stack_id, STACKS_MAX, (struct stack_ids){});
	if (!ids)
		return;
	n->stack_cnt++;
	/*
	 * Numbers of stacks are used again after each sequence point: a new stack takes the old
	 * one's place.
	 */
	while (kernel_cnt < stack->frame_cnt &&
	       stack->frames_va[kernel_cnt] >= TAPIR_UNIVERSAL_KERNEL_VA)
		kernel_cnt++;
	*ids = (struct stack_ids){
		.user = tapir_import_sink__stack(&n->sink, stack->frames_va + kernel_cnt,
						 stack->frame_cnt - kernel_cnt,
						 stack->is_truncated ? TAPIR_STACK_MORE : 0,
						 TAPIR_STACK_END_UNKNOWN, n->sink.last_ns),
		.kernel = tapir_import_sink__stack(&n->sink, stack->frames_va, kernel_cnt,
						   TAPIR_STACK_KERNEL, TAPIR_STACK_END_UNKNOWN,
						   n->sink.last_ns)};
}

static void on_forget(void *ctx)
{
	struct nettrace *n = ctx;

	tapir_keyed__clear(&n->stacks);
}

/* In the file's first blocks, threads come before the first event: they have its time. */
static void on_thread(void *ctx, uint32_t pid, uint32_t tid, const char *name, size_t len)
{
	struct nettrace *n = ctx;

	if (n->pass == PASS_WRITE && tid && len)
		tapir_import_tasks__name(&n->tasks, pid, tid, name, len, false, n->sink.last_ns);
}

static void on_lost(void *ctx, uint64_t cnt, uint64_t ticks)
{
	struct nettrace *n = ctx;

	(void)ticks;
	n->lost_cnt += cnt;
}

static uint16_t cpu_of(const struct nettrace *n, const struct tapir_nettrace_event *event)
{
	return n->is_machine && event->cpu < TAPIR_CPU_UNKNOWN ? (uint16_t)event->cpu
							       : TAPIR_CPU_UNKNOWN;
}

static void put_sample(struct nettrace *n, const struct tapir_nettrace_event *event,
		       const struct stack_ids *ids, uint64_t period_ns, uint64_t ns)
{
	struct tapir_rec_sample rec = {.tgid = pid_of(n, event),
				       .tid = (uint32_t)event->tid,
				       .period = period_ns,
				       .stack_id = ids->user,
				       .kstack_id = ids->kernel};

	tapir_rec__init(&rec.h, TAPIR_REC_SAMPLE, sizeof(rec), ns);
	rec.h.cpu = cpu_of(n, event);
	tapir_import_sink__put(&n->sink, &rec.h);
	n->sample_cnt++;
}

static void put_event(struct nettrace *n, const struct kind *kind,
		      const struct tapir_nettrace_event *event, const struct stack_ids *ids,
		      uint64_t ns)
{
	size_t bytes = event->payload_bytes;
	struct tapir_rec_event fixed = {.probe_id = kind->probe_id,
					.tgid = pid_of(n, event),
					.tid = (uint32_t)event->tid,
					.lane = TAPIR_LANE_STREAM,
					.stack_id = ids->user};
	struct tapir_trace_ids trace;
	struct tapir_event_view view = {.rec = &fixed,
					.activity_id = event->activity_id,
					.related_id = event->related_id,
					.kstack_id = ids->kernel,
					.payload = event->payload};

	if (event->trace_id) {
		memcpy(trace.trace_id, event->trace_id, sizeof(trace.trace_id));
		memcpy(trace.span_id, event->span_id, sizeof(trace.span_id));
		view.trace = &trace;
	}
	fixed.flags = (uint16_t)((event->trace_id ? TAPIR_EVENT_TRACE_IDS : 0) |
				 (ids->kernel ? TAPIR_EVENT_KSTACK : 0) |
				 (event->activity_id ? TAPIR_EVENT_ACTIVITY : 0) |
				 (event->related_id ? TAPIR_EVENT_RELATED : 0) |
				 (bytes > PAYLOAD_MAX ? TAPIR_EVENT_CUT : 0));
	view.payload_bytes = bytes > PAYLOAD_MAX ? PAYLOAD_MAX : bytes;
	tapir_rec__init(&fixed.h, TAPIR_REC_EVENT, sizeof(fixed), ns);
	fixed.h.cpu = cpu_of(n, event);
	tapir_import_sink__put(&n->sink, tapir_recbuf__event(&n->sink.buf, &view));
}

/* Returns true if the event describes the machine. */
static bool put_universal(struct nettrace *n, const struct kind *kind,
			  const struct tapir_nettrace_event *event, uint64_t ns)
{
	if (!kind->universal || kind->universal >= TAPIR_UNIVERSAL_CPU)
		return false;
	n->malformed_cnt += !tapir_nettrace_universal__put(&n->tasks, kind->universal, event, ns);
	return true;
}

/* A sample of CPU time, or of a thread in managed code. */
static bool put_as_sample(struct nettrace *n, const struct kind *kind,
			  const struct tapir_nettrace_event *event, const struct stack_ids *ids,
			  uint64_t ns)
{
	if (kind->universal == TAPIR_UNIVERSAL_CPU)
		put_sample(n, event, ids, UNIVERSAL_PERIOD_NS, ns);
	else if (kind->role == ROLE_SAMPLE && event->payload_bytes >= 4 &&
		 tapir_le__u32(event->payload) == SAMPLE_IN_MANAGED)
		put_sample(n, event, ids, n->start.sampling_ns, ns);
	else
		return false;
	return true;
}

static void write_event(struct nettrace *n, const struct kind *kind,
			const struct tapir_nettrace_event *event)
{
	const struct stack_ids *stack =
		event->stack_id ? tapir_keyed__get(&n->stacks, event->stack_id) : NULL;
	struct stack_ids ids = {};
	uint64_t ns = ns_of(n, event->ticks);

	if (!kind) {
		n->undescribed_cnt++;
		return;
	}
	if (kind->role == ROLE_RUNDOWN) {
		n->rundown_event_cnt++;
		return;
	}
	if (put_universal(n, kind, event, ns))
		return;
	/* Thread 0 is the idle thread of a recording of the whole machine, and else none. */
	if ((!event->tid && !n->is_machine) || event->tid > INT32_MAX) {
		n->malformed_cnt++;
		return;
	}
	if (stack)
		ids = *stack;
	tapir_import_tasks__see(&n->tasks, pid_of(n, event), (uint32_t)event->tid, ns);
	if (put_as_sample(n, kind, event, &ids, ns))
		return;
	n->outside_cnt += kind->role == ROLE_SAMPLE;
	n->switch_cnt += kind->universal == TAPIR_UNIVERSAL_SWITCH;
	put_event(n, kind, event, &ids, ns);
}

static void import_nettrace_event(void *ctx, const struct tapir_nettrace_event *event)
{
	struct nettrace *n = ctx;
	const struct kind *kind = nettrace_metadata_kind(n, event->metadata_id);

	if (!n->err && n->event_cnt++ % CHECK_EVERY == 0)
		n->err = n->opts->check(n->opts->ctx);
	if (n->err)
		return;
	if (n->pass == PASS_TIMES)
		scan(n, kind, event);
	else if (n->pass == PASS_NAMES && kind && is_method(kind))
		add_nettrace_name(n, kind, event);
	else if (n->pass == PASS_NAMES && kind && kind->universal == TAPIR_UNIVERSAL_SYMBOL)
		tapir_nettrace_universal__add_symbol(n->sink.names, event);
	else if (n->pass == PASS_WRITE)
		write_event(n, kind, event);
	if (n->sink.err)
		n->err = n->sink.err;
}

/* ---- passes ---------------------------------------------------------------------------------- */

static void begin_pass(struct nettrace *n, enum pass pass)
{
	n->pass = pass;
	tapir_keyed__clear(&n->kinds);
	tapir_keyed__clear(&n->stacks);
	n->event_cnt = n->malformed_cnt = n->undescribed_cnt = n->lost_cnt = 0;
}

static int stop_if_failed(void *ctx)
{
	const struct nettrace *n = ctx;

	return n->err;
}

static int read_pass(struct nettrace *n, enum pass pass, const struct tapir_import_input *input,
		     uint64_t *tail_bytes)
{
	const struct tapir_nettrace_sink sink = {.ctx = n,
						 .on_start = on_start,
						 .on_metadata = on_metadata,
						 .on_stack = on_stack,
						 .on_event = import_nettrace_event,
						 .on_forget = on_forget,
						 .on_lost = on_lost,
						 .on_thread = on_thread};
	struct tapir_nettrace_rest rest;
	int err;

	begin_pass(n, pass);
	err = tapir_nettrace_file__read(input, &sink, stop_if_failed, &rest);
	n->malformed_cnt += rest.malformed_cnt;
	*tail_bytes = rest.tail_bytes;
	if (err == -EPROTO && n->start.ticks_per_sec)
		err = 0; /* what came before counts */
	return n->err ? n->err : err;
}

static uint64_t created_utc(const struct nettrace *n)
{
	return n->start.utc_ns ? n->start.utc_ns + n->first_ns - ns_of(n, n->start.sync_ticks) : 0;
}

static void put_metas(struct nettrace *n)
{
	struct tapir_import_sink *s = &n->sink;
	struct tapir_rec_clock clock = {.utc_ns = created_utc(n), .boot_ns = n->first_ns};
	char hz[16];

	tapir_rec__init(&clock.h, TAPIR_REC_CLOCK, sizeof(clock), n->first_ns);
	tapir_import_sink__describe(s, &clock.h);
	tapir_import_sink__meta(s, TAPIR_META_IMPORTED, "nettrace");
	tapir_import_sink__meta(s, "command", n->command);
	tapir_import_sink__meta(s, "targets", n->is_machine ? "all processes" : NULL);
	tapir_import_sink__meta(s, "sample_event", n->is_machine ? "cpu-clock" : "managed-time");
	snprintf(hz, sizeof(hz), "%" PRIu64,
		 n->start.sampling_ns ? (uint64_t)TAPIR_NS_PER_SEC / n->start.sampling_ns : 0);
	tapir_import_sink__meta(s, "sample_hz", n->start.sampling_ns ? hz : NULL);
}

/* "dotnet /srv/shop.dll --urls x" is shop.dll; else its first word, without directories. */
static void put_process(struct nettrace *n)
{
	const char *word = n->command, *end, *name;

	if (!strncmp(word, "dotnet ", 7) || strstr(word, "/dotnet "))
		word = strchr(word, ' ') + 1;
	end = word + strcspn(word, " ");
	name = memrchr(word, '/', (size_t)(end - word));
	name = name ? name + 1 : word;
	if (end > name)
		tapir_import_tasks__name(&n->tasks, n->start.pid, n->start.pid, name,
					 (size_t)(end - name), false, n->first_ns);
	else
		tapir_import_tasks__see(&n->tasks, n->start.pid, n->start.pid, n->first_ns);
}

static void put_limits_of_machine(const struct nettrace *n, struct tapir_import_sink *s)
{
	if (n->switch_cnt)
		tapir_import_sink__limit(s, "no waits: its switches are events here (cswitch)");
	else
		tapir_import_sink__limit(s, "no waits: no switches were recorded");
	tapir_import_sink__limit(s, "each CPU sample stands for a millisecond, whatever its rate");
}

static void put_limits_of_process(const struct nettrace *n, struct tapir_import_sink *s)
{
	tapir_import_sink__limit(s, "no waits and no CPU time: EventPipe records no switches");
	if (n->sample_cnt || n->outside_cnt)
		tapir_import_sink__limit(s, "samples are of threads in managed code, at fixed "
					    "times, running or not");
	else
		tapir_import_sink__limit(s, "no samples: the sample profiler was off");
	if (n->stack_cnt)
		tapir_import_sink__limit(s, "no native frames: stacks are of managed code alone");
	tapir_import_sink__limit(s, "no names of threads");
}

static void put_limits(struct nettrace *n)
{
	struct tapir_import_sink *s = &n->sink;

	tapir_import_tasks__add_limits(&n->tasks);
	tapir_import_sink__beyond(s, 0, n->stacks.failed, "stacks");
	if (n->is_machine)
		put_limits_of_machine(n, s);
	else
		put_limits_of_process(n, s);
	if (!n->is_machine && n->stack_cnt && !n->rundown_cnt)
		tapir_import_sink__limit(s, "methods compiled before it have no names: it has no "
					    "rundown");
	if (n->rundown_event_cnt)
		tapir_import_sink__limit(s,
					 "%" PRIu64 " events of the rundown are names of "
					 "methods here, not events",
					 n->rundown_event_cnt);
}

static void put_losses(struct nettrace *n)
{
	struct tapir_import_sink *s = &n->sink;

	tapir_import_sink__lose(s, TAPIR_LOSS_STREAM_DROP, n->lost_cnt, n->last_ns);
	tapir_import_sink__lose(s, TAPIR_LOSS_RING_LANE_UNDESCRIBED, n->undescribed_cnt,
				n->last_ns);
	tapir_import_sink__lose(s, TAPIR_LOSS_MALFORMED, n->malformed_cnt, n->last_ns);
	tapir_import_sink__lose(s, TAPIR_LOSS_STACK_RING_FULL, n->stacks.more, n->last_ns);
}

static int write_nettrace_records(struct nettrace *n, const struct tapir_import_input *input,
				  struct tapir_writer *w, struct tapir_import_result *out)
{
	int err = tapir_import_sink__init(&n->sink, w, n->first_ns);

	n->tasks.sink = &n->sink;
	if (!err)
		err = read_pass(n, PASS_NAMES, input, &out->tail_bytes);
	if (err)
		return err;
	put_metas(n);
	if (n->is_machine)
		tapir_nettrace_universal__put_kernel(&n->sink);
	else
		put_process(n);
	err = read_pass(n, PASS_WRITE, input, &out->tail_bytes);
	if (err)
		return err;
	put_limits(n);
	put_losses(n);
	out->malformed_cnt = n->malformed_cnt + n->undescribed_cnt;
	memcpy(out->captured, n->sink.captured, sizeof(out->captured));
	return tapir_import_sink__finish(&n->sink);
}

static int import(struct nettrace *n, const struct tapir_import_input *input,
		  struct tapir_import_result *out)
{
	struct tapir_writer *w;
	int err = read_pass(n, PASS_TIMES, input, &out->tail_bytes);

	if (err)
		return err == -EINTR
			       ? err
			       : tapir_import__fail(input, err, "a nettrace",
						    "is a nettrace of a version that is not known");
	if (!n->first_ns)
		return tapir_diag__fail(-ENODATA, "%s has no event", input->name);
	err = n->opts->open(n->opts->ctx, n->first_ns, created_utc(n), &w);
	return err ? err : write_nettrace_records(n, input, w, out);
}

int tapir_import_nettrace(const struct tapir_import_input *input,
			  const struct tapir_import_opts *opts, struct tapir_import_result *out)
{
	struct nettrace *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return -ENOMEM;
	n->opts = opts;
	err = import(n, input, out);
	tapir_import_tasks__fini(&n->tasks);
	tapir_import_sink__fini(&n->sink);
	tapir_keyed__fini(&n->kinds);
	tapir_keyed__fini(&n->stacks);
	tapir_str__fini(&n->name);
	free(n);
	return err;
}
