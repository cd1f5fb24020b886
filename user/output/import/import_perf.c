// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two passes: the first reads what is scattered (in a pipe also the head), finds when the recording
 * began and which events have samples; the second writes.
 */
#include "output/import/import_perf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/little_endian.h"
#include "output/import/import_tasks.h"
#include "output/import/perf_events.h"
#include "output/import/perf_order.h"
#include "output/import/perf_switches.h"
#include "symbol/jitdump.h"
#include "symbol/symbolizer.h"

#define KERNEL_HALF    (1ull << 63)
#define FRAMES_DEFAULT 127u /* kernel.perf_event_max_stack */
#define KERNEL_TEXT    "[kernel.kallsyms]"

struct perf {
	struct tapir_perf_data data;
	const struct tapir_import_opts *opts;
	struct tapir_import_sink sink;
	struct tapir_import_tasks tasks;
	struct tapir_perf_events events;
	struct tapir_perf_switches switches;
	const struct tapir_perf_attr *clock; /* whose samples are the CPU samples; NULL: none */
	uint64_t sample_cnts[TAPIR_PERF_ATTRS_MAX];
	uint64_t first_ns, last_ns, text_va;
	uint64_t throttle_cnt, no_stack_cnt, copied_stack_cnt, kernel_frame_cnt, filtered_cnt;
	bool has_kernel_names, has_switch_records, is_compressed, is_machine;
};

static size_t attr_idx(const struct perf *p, const struct tapir_perf_attr *attr)
{
	return (size_t)(attr - p->data.attrs.data);
}

/* ---- the first pass -------------------------------------------------------------------------- */

static int read_formats(struct perf *p, const struct tapir_perf_bytes *bytes)
{
	uint8_t *data;
	int64_t got;
	int err;

	if (bytes->more_bytes > TAPIR_PERF_FEATURE_MAX)
		return 0;
	data = malloc(bytes->more_bytes + 1);
	if (!data)
		return -ENOMEM;
	got = p->data.input.read(p->data.input.ctx, data, bytes->more_bytes, bytes->more_off);
	err = got < 0 ? (int)got : tapir_perf_data__take_formats(&p->data, data, (size_t)got);
	free(data);
	return err == -EPROTO ? 0 : err;
}

static void see_time(struct perf *p, uint64_t time_ns)
{
	if (!time_ns)
		return;
	if (!p->first_ns || time_ns < p->first_ns)
		p->first_ns = time_ns;
	if (time_ns > p->last_ns)
		p->last_ns = time_ns;
}

/* Notes where the kernel's code begins. */
static void see_kernel(struct perf *p, const struct tapir_perf_record *record)
{
	struct tapir_perf_mmap m;

	if (!p->text_va && tapir_perf_mmap__of(record, &m) && m.path_len >= strlen(KERNEL_TEXT) &&
	    !memcmp(m.path, KERNEL_TEXT, strlen(KERNEL_TEXT)))
		p->text_va = m.file_off ? m.file_off : m.start_va;
}

/* perf describes all processes that run, kthreadd among them, when it records all CPUs. */
static bool is_of_kthreadd(const struct tapir_perf_record *record)
{
	return record->type == TAPIR_PERF_REC_COMM && !record->time_ns && record->body_bytes > 17 &&
	       tapir_le__u32(record->body) == 2 &&
	       !strncmp((const char *)record->body + 8, "kthreadd", record->body_bytes - 8);
}

static int scan(void *ctx, const struct tapir_perf_bytes *bytes)
{
	uint32_t type = tapir_le__u32(bytes->data);
	struct tapir_perf_record record;
	struct perf *p = ctx;

	if (type == TAPIR_PERF_REC_COMPRESSED || type == TAPIR_PERF_REC_COMPRESSED2)
		p->is_compressed = true;
	if (type == TAPIR_PERF_REC_FORMATS)
		return read_formats(p, bytes);
	if (type > TAPIR_PERF_REC_KERNEL_MAX)
		return tapir_perf_data__take_record(&p->data, bytes->data, bytes->len);
	if (!tapir_perf_record__parse(&p->data, bytes->data, bytes->len, &record))
		return 0;
	see_time(p, record.time_ns);
	if (type == TAPIR_PERF_REC_SAMPLE)
		p->sample_cnts[attr_idx(p, record.attr)]++;
	if (type == TAPIR_PERF_REC_MMAP || type == TAPIR_PERF_REC_MMAP2)
		see_kernel(p, &record);
	p->is_machine |= is_of_kthreadd(&record);
	p->has_switch_records |= type == TAPIR_PERF_REC_SWITCH || type == TAPIR_PERF_REC_SWITCH_ANY;
	return 0;
}

/* The first that is no tracepoint, with samples if any of them has some. */
static const struct tapir_perf_attr *find_clock(const struct perf *p)
{
	const struct tapir_perf_attr *attr, *first = NULL;

	tapir_vec_for_each (attr, &p->data.attrs) {
		if (attr->type == TAPIR_PERF_TRACEPOINT || strstr(attr->name, "dummy"))
			continue;
		if (p->sample_cnts[attr_idx(p, attr)])
			return attr;
		first = first ? first : attr;
	}
	return first;
}

/* ---- descriptions ---------------------------------------------------------------------------- */

static uint64_t time_of(const struct perf *p, const struct tapir_perf_record *record)
{
	return record->time_ns ? record->time_ns : p->first_ns;
}

static void put_mapping(struct perf *p, const struct tapir_rec_mapping *fixed, const char *path,
			size_t path_len)
{
	tapir_import_sink__describe(
		&p->sink,
		tapir_recbuf__mapping(&p->sink.buf, fixed, (struct tapir_sv){path, path_len}));
}

/* One for the kernel and its modules, as a recorder has it. */
static void put_kernel(struct perf *p)
{
	const struct tapir_perf_build_id *id =
		tapir_perf_data__build_id(&p->data, KERNEL_TEXT, strlen(KERNEL_TEXT));
	struct tapir_rec_mapping kernel = {.flags = TAPIR_MAPPING_EXEC,
					   .start_va = TAPIR_KERNEL_START_VA,
					   .end_va = UINT64_MAX};

	p->has_kernel_names =
		p->text_va && id &&
		tapir_import_names__has_kernel(p->data.release, id->bytes, id->len, p->text_va);
	if (p->has_kernel_names)
		kernel.file_id = tapir_symbolizer__kernel_id();
	tapir_rec__init(&kernel.h, TAPIR_REC_MAPPING, sizeof(kernel), p->first_ns);
	put_mapping(p, &kernel, "[kernel]", strlen("[kernel]"));
}

static bool is_anonymous(const char *path, size_t len)
{
	return len < 2 || path[0] != '/' || path[1] == '/';
}

static void on_mmap(struct perf *p, const struct tapir_perf_record *record)
{
	struct tapir_rec_mapping fixed = {};
	struct tapir_import_file file;
	struct tapir_perf_mmap m;

	if (!tapir_perf_mmap__of(record, &m) || !m.is_executable ||
	    (record->misc & TAPIR_PERF_MISC_MODE) == TAPIR_PERF_MISC_KERNEL)
		return;
	fixed.tgid = m.pid;
	fixed.flags =
		TAPIR_MAPPING_EXEC | (is_anonymous(m.path, m.path_len) ? TAPIR_MAPPING_ANON : 0);
	fixed.start_va = m.start_va;
	fixed.end_va = m.start_va + m.bytes;
	fixed.file_off = m.file_off;
	fixed.inode = m.inode;
	fixed.dev = m.major << 20 | m.minor;
	tapir_rec__init(&fixed.h, TAPIR_REC_MAPPING, sizeof(fixed), time_of(p, record));
	if (!(fixed.flags & TAPIR_MAPPING_ANON)) {
		const struct tapir_perf_build_id *id =
			tapir_perf_data__build_id(&p->data, m.path, m.path_len);

		file = (struct tapir_import_file){.path = m.path,
						  .path_len = m.path_len,
						  .build_id = m.build_id,
						  .build_id_bytes = m.build_id_bytes,
						  .dev = fixed.dev,
						  .inode = m.inode};
		/*
		 * Older perf records the build IDs in the header of the file, when it ends, by
		 * path.
		 */
		if (!m.build_id_bytes && id) {
			file.build_id = id->bytes;
			file.build_id_bytes = id->len;
		}
		tapir_import_names__of_file(p->sink.names, &file, &fixed);
	}
	put_mapping(p, &fixed, m.path, m.path_len);
	if (tapir_jitdump__is_path(m.path, m.path_len))
		tapir_import_names__read_jitdump(p->sink.names, m.pid, m.path, m.path_len,
						 p->clock && p->clock->has_clock &&
							 p->clock->clock == CLOCK_MONOTONIC,
						 p->last_ns);
}

static void on_comm(struct perf *p, const struct tapir_perf_record *record)
{
	const char *name = (const char *)record->body + 8;

	if (record->body_bytes > 8)
		tapir_import_tasks__name(&p->tasks, tapir_le__u32(record->body),
					 tapir_le__u32(record->body + 4), name,
					 strnlen(name, record->body_bytes - 8),
					 record->misc & TAPIR_PERF_MISC_EXEC, time_of(p, record));
}

/* u32 pid, parent's pid, tid, parent's tid. */
static void on_task(struct perf *p, const struct tapir_perf_record *record)
{
	const uint8_t *body = record->body;

	if (record->body_bytes < 16)
		return;
	if (record->type == TAPIR_PERF_REC_FORK)
		tapir_import_tasks__fork(&p->tasks, tapir_le__u32(body), tapir_le__u32(body + 8),
					 tapir_le__u32(body + 4), !record->time_ns,
					 time_of(p, record));
	else
		tapir_import_tasks__exit(&p->tasks, tapir_le__u32(body), tapir_le__u32(body + 8),
					 time_of(p, record));
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* LOST: u64 id, u64 number; LOST_SAMPLES: u64 number. */
static void on_lost(struct perf *p, const struct tapir_perf_record *record)
{
	bool has_id = record->type == TAPIR_PERF_REC_LOST;
	const struct tapir_perf_attr *attr = record->attr;
	enum tapir_loss_cause cause = TAPIR_LOSS_RING_FULL;
	uint64_t cnt;

	if (record->body_bytes < (has_id ? 16u : 8u))
		return;
	cnt = tapir_le__u64(record->body + (has_id ? 8 : 0));
	if (!has_id && record->misc & TAPIR_PERF_MISC_FILTERED) {
		p->filtered_cnt += cnt;
		return;
	}
	if (has_id && tapir_perf_data__attr(&p->data, tapir_le__u64(record->body)))
		attr = tapir_perf_data__attr(&p->data, tapir_le__u64(record->body));
	if (attr && attr == p->clock)
		cause = TAPIR_LOSS_SAMPLE_RING_FULL;
	else if (attr && tapir_perf_switches__is_source(&p->switches, attr))
		cause = TAPIR_LOSS_SWITCH_RING_FULL;
	tapir_import_sink__lose(&p->sink, cause, cnt, time_of(p, record));
}

/* ---- samples --------------------------------------------------------------------------------- */

struct frames {
	uint64_t va[TAPIR_MAX_FRAMES];
	unsigned cnt;
	bool has_more;
};

static void add_frame(struct frames *f, uint64_t va)
{
	if (f->cnt < TAPIR_MAX_FRAMES)
		f->va[f->cnt++] = va;
	else
		f->has_more = true;
}

/* The chain in two parts. What is of a guest is left out. */
static void split_chain(const struct tapir_perf_record *record, struct frames *user,
			struct frames *kernel)
{
	struct frames *to = record->ip & KERNEL_HALF ? kernel : user;

	if (!record->chain_cnt && record->ip)
		add_frame(to, record->ip);
	for (uint64_t i = 0; i < record->chain_cnt; i++) {
		uint64_t va = tapir_le__u64(record->chain + 8 * i);

		if (va < TAPIR_PERF_CONTEXT_MAX && to)
			add_frame(to, va);
		else if (va >= TAPIR_PERF_CONTEXT_MAX)
			to = va == TAPIR_PERF_CONTEXT_KERNEL ? kernel
			     : va == TAPIR_PERF_CONTEXT_USER ? user
							     : NULL;
	}
}

/* Why a user's stack ends where it does, as far as the file shows. */
static enum tapir_stack_end end_of(const struct tapir_perf_attr *attr, const struct frames *f,
				   uint64_t frame_cnt)
{
	unsigned max = attr->max_stack ? attr->max_stack : FRAMES_DEFAULT;

	if (!(attr->sample_type & TAPIR_PERF_CALLCHAIN) ||
	    attr->sample_type & TAPIR_PERF_STACK_USER)
		return TAPIR_STACK_END_UNKNOWN;
	return f->has_more || frame_cnt >= max ? TAPIR_STACK_END_MORE : TAPIR_STACK_END_FP_END;
}

static void put_stacks(struct perf *p, const struct tapir_perf_record *record, uint64_t *stack_id,
		       uint64_t *kstack_id)
{
	struct frames user, kernel;
	uint16_t more;

	user.cnt = kernel.cnt = 0;
	user.has_more = kernel.has_more = false;
	split_chain(record, &user, &kernel);
	more = user.has_more ? TAPIR_STACK_MORE : 0;
	*stack_id = tapir_import_sink__stack(&p->sink, user.va, user.cnt, more,
					     end_of(record->attr, &user, user.cnt + kernel.cnt),
					     record->time_ns);
	*kstack_id = tapir_import_sink__stack(&p->sink, kernel.va, kernel.cnt, TAPIR_STACK_KERNEL,
					      TAPIR_STACK_END_UNKNOWN, record->time_ns);
	p->kernel_frame_cnt += kernel.cnt;
	p->no_stack_cnt += !(record->attr->sample_type & TAPIR_PERF_CALLCHAIN);
	p->copied_stack_cnt += !!(record->attr->sample_type & TAPIR_PERF_STACK_USER);
}

static void put_sample(struct perf *p, const struct tapir_perf_record *record, uint64_t stack_id,
		       uint64_t kstack_id)
{
	struct tapir_rec_sample rec = {.tgid = record->pid,
				       .tid = record->tid,
				       .period = record->period,
				       .stack_id = stack_id,
				       .kstack_id = kstack_id};

	tapir_rec__init(&rec.h, TAPIR_REC_SAMPLE, sizeof(rec), record->time_ns);
	rec.h.cpu = record->cpu < TAPIR_CPU_UNKNOWN ? (uint16_t)record->cpu : TAPIR_CPU_UNKNOWN;
	tapir_import_sink__put(&p->sink, &rec.h);
}

static void import_perf_sample(struct perf *p, const struct tapir_perf_record *record)
{
	uint64_t stack_id, kstack_id;

	tapir_import_tasks__see(&p->tasks, record->pid, record->tid, record->time_ns);
	put_stacks(p, record, &stack_id, &kstack_id);
	if (record->attr == p->clock)
		put_sample(p, record, stack_id, kstack_id);
	else if (!tapir_perf_switches__take(&p->switches, record, stack_id, kstack_id))
		tapir_perf_events__put(&p->events, record, stack_id, kstack_id);
}

static int import_perf_record(void *ctx, const struct tapir_perf_record *record)
{
	struct perf *p = ctx;

	switch (record->type) {
	case TAPIR_PERF_REC_MMAP:
	case TAPIR_PERF_REC_MMAP2:
		on_mmap(p, record);
		break;
	case TAPIR_PERF_REC_COMM:
		on_comm(p, record);
		break;
	case TAPIR_PERF_REC_FORK:
	case TAPIR_PERF_REC_EXIT:
		on_task(p, record);
		break;
	case TAPIR_PERF_REC_LOST:
	case TAPIR_PERF_REC_LOST_SAMPLES:
		on_lost(p, record);
		break;
	/*
	 * The kernel left samples out because they took too long: counted, since shares of CPU time
	 * lack them.
	 */
	case TAPIR_PERF_REC_THROTTLE:
		p->throttle_cnt++;
		break;
	case TAPIR_PERF_REC_SWITCH:
	case TAPIR_PERF_REC_SWITCH_ANY:
		tapir_perf_switches__record(&p->switches, record);
		break;
	case TAPIR_PERF_REC_SAMPLE:
		import_perf_sample(p, record);
		break;
	default:
		break;
	}
	return p->sink.err;
}

/* ---- what the recording says of itself ------------------------------------------------------- */

static bool is_time(const struct tapir_perf_attr *attr)
{
	return attr->type == TAPIR_PERF_SOFTWARE && attr->config <= 1;
}

static void put_metas(struct perf *p)
{
	struct tapir_import_sink *s = &p->sink;
	char number[24];

	tapir_import_sink__meta(s, TAPIR_META_IMPORTED, "perf.data");
	tapir_import_sink__meta(s, "host", p->data.host);
	tapir_import_sink__meta(s, "kernel", p->data.release);
	tapir_import_sink__meta(s, "machine", p->data.machine);
	tapir_import_sink__meta(s, "command", p->data.command);
	snprintf(number, sizeof(number), "%u", p->data.cpu_cnt);
	tapir_import_sink__meta(s, "cpus", p->data.cpu_cnt ? number : NULL);
	tapir_import_sink__meta(s, "targets", p->is_machine ? "all processes" : NULL);
	if (!p->clock || !p->sample_cnts[attr_idx(p, p->clock)])
		return;
	/* Both count the time that a thread runs. */
	tapir_import_sink__meta(s, "sample_event",
				is_time(p->clock) ? "cpu-clock" : p->clock->name);
	if (p->clock->is_freq)
		snprintf(number, sizeof(number), "%" PRIu64, p->clock->period);
	else if (is_time(p->clock) && p->clock->period)
		snprintf(number, sizeof(number), "%" PRIu64,
			 (uint64_t)TAPIR_NS_PER_SEC / p->clock->period);
	else
		return;
	tapir_import_sink__meta(s, "sample_hz", number);
}

static void put_limits(struct perf *p)
{
	struct tapir_import_sink *s = &p->sink;

	if (!s->captured[TAPIR_FAMILY_SAMPLE])
		tapir_import_sink__limit(s, "no CPU samples: only tracepoints were recorded");
	tapir_perf_switches__add_limits(&p->switches, s);
	tapir_import_tasks__add_limits(&p->tasks);
	if (p->no_stack_cnt)
		tapir_import_sink__limit(s, "no callers: recorded without -g");
	if (p->copied_stack_cnt)
		tapir_import_sink__limit(s, "callers in user space are missing: copies of stacks "
					    "(--call-graph dwarf) are not unwound");
	if (p->kernel_frame_cnt && !p->has_kernel_names)
		tapir_import_sink__limit(s, "kernel functions have no names: another kernel "
					    "runs here, or its addresses are hidden");
	if (p->throttle_cnt)
		tapir_import_sink__limit(s, "the kernel paused sampling %" PRIu64 " times",
					 p->throttle_cnt);
	if (p->filtered_cnt)
		tapir_import_sink__limit(s, "a filter of perf dropped %" PRIu64 " samples",
					 p->filtered_cnt);
	if (!p->data.utc_ns)
		tapir_import_sink__limit(s, "the time of day is that of the file: recorded "
					    "without -k");
}

/* ---- passes ---------------------------------------------------------------------------------- */

static uint64_t created_utc(const struct perf *p, const struct tapir_import_input *input)
{
	uint64_t length_ns = p->last_ns - p->first_ns;

	if (p->data.utc_ns)
		return p->data.utc_ns - p->data.clock_ns + p->first_ns;
	return input->changed_ns > length_ns ? input->changed_ns - length_ns : 0;
}

static void put_clock(struct perf *p, uint64_t utc_ns)
{
	struct tapir_rec_clock rec = {.utc_ns = utc_ns, .boot_ns = p->first_ns};

	tapir_rec__init(&rec.h, TAPIR_REC_CLOCK, sizeof(rec), p->first_ns);
	tapir_import_sink__describe(&p->sink, &rec.h);
}

static int check_on(void *ctx)
{
	const struct perf *p = ctx;

	return p->opts->check(p->opts->ctx);
}

static int write_perf_records(struct perf *p, struct tapir_writer *w, uint64_t utc_ns,
			      struct tapir_import_result *out)
{
	const struct tapir_perf_ordered ordered = {import_perf_record, check_on, p};
	int err = tapir_import_sink__init(&p->sink, w, p->first_ns);

	p->tasks.sink = p->events.sink = p->switches.sink = &p->sink;
	p->switches.tasks = &p->tasks;
	p->events.data = p->switches.data = &p->data;
	tapir_perf_switches__start(&p->switches, p->sample_cnts, p->has_switch_records);
	if (err)
		return err;
	put_clock(p, utc_ns);
	put_metas(p);
	put_kernel(p);
	err = tapir_perf_order__by_time(&p->data, &ordered, &out->malformed_cnt);
	if (err)
		return err;
	put_limits(p);
	tapir_import_sink__lose(&p->sink, TAPIR_LOSS_MALFORMED, out->malformed_cnt, p->last_ns);
	memcpy(out->captured, p->sink.captured, sizeof(out->captured));
	return tapir_import_sink__finish(&p->sink);
}

static int fail_head(const struct tapir_import_input *input, int err)
{
	return tapir_import__fail(input, err, "a perf.data",
				  "is of a machine with the other byte order");
}

/* Refuses a file whose records cannot be distinguished by time and thread, or not be read. */
static int check_input(const struct perf *p, const struct tapir_import_input *input)
{
	const struct tapir_perf_attr *attr;

	if (p->is_compressed)
		return tapir_diag__fail(-EOPNOTSUPP,
					"%s is compressed (perf record -z): 'perf inject -i %s -o "
					"OUT' writes one that is not",
					input->name, input->name);
	tapir_vec_for_each (attr, &p->data.attrs)
		if (~attr->sample_type & (TAPIR_PERF_TIME | TAPIR_PERF_TID) &&
		    p->sample_cnts[attr_idx(p, attr)])
			return tapir_diag__fail(-EOPNOTSUPP,
						"%s has samples without a time or a thread: record "
						"with 'perf record -T'",
						input->name);
	if (!p->first_ns)
		return tapir_diag__fail(-ENODATA, "%s has no record with a time", input->name);
	return 0;
}

static int import(struct perf *p, const struct tapir_import_input *input,
		  struct tapir_import_result *out)
{
	struct tapir_writer *w;
	uint64_t utc_ns;
	int err = tapir_perf_order__walk(&p->data, scan, p, &out->tail_bytes);

	if (err)
		return fail_head(input, err);
	err = check_input(p, input);
	if (err)
		return err;
	p->clock = find_clock(p);
	utc_ns = created_utc(p, input);
	err = p->opts->open(p->opts->ctx, p->first_ns, utc_ns, &w);
	return err ? err : write_perf_records(p, w, utc_ns, out);
}

int tapir_import_perf(const struct tapir_import_input *input, const struct tapir_import_opts *opts,
		      struct tapir_import_result *out)
{
	const struct tapir_perf_input bytes = {tapir_import_input__read, (void *)input,
					       input->bytes};
	struct perf *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->opts = opts;
	err = tapir_perf_data__init(&p->data, &bytes);
	err = err ? fail_head(input, err) : import(p, input, out);
	tapir_perf_switches__fini(&p->switches);
	tapir_perf_events__fini(&p->events);
	tapir_import_tasks__fini(&p->tasks);
	tapir_import_sink__fini(&p->sink);
	tapir_perf_data__fini(&p->data);
	free(p);
	return err;
}
