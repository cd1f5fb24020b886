// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records come in the order of their times and become rows of event blocks. What a row refers to is
 * in earlier blocks. All rows have one writer thread, tapir, with one run of sequence numbers:
 * losses of LOSS records are gaps in it.
 */
#include "output/export/nettrace_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define BLOCK_BYTES	 (256u << 10) /* worth a block */
#define OWN_THREAD_IDX	 TAPIR_NETTRACE_CAPTURE_THREAD
#define SEGMENT_KEEP_NS	 (50 * TAPIR_NS_PER_MS) /* of a segment, to come among the next one's */
#define SAMPLE_MAX_NS	 TAPIR_NS_PER_SEC	/* of a sample: no timer is slower */
#define ABSENCES_MAX	 (1u << 20)
#define SEQUENCE_GAP_MAX (1u << 30)

struct tapir_nettrace *tapir_nettrace__new(struct tapir_reader *reader, const char *head)
{
	struct tapir_nettrace *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->reader = reader;
	n->head = head;
	n->catalog = tapir_reader__catalog(reader);
	n->next_thread_idx = OWN_THREAD_IDX + 1;
	n->next_metadata_id = TAPIR_NETTRACE_OWN_END;
	n->next_event_id = 1;
	n->stacks.first_id = n->labels.first_id = 1;
	tapir_reader__deliver_descriptions(reader, true);
	return n;
}

void tapir_nettrace__free(struct tapir_nettrace *n)
{
	struct tapir_nettrace_event_kind *kind;

	if (!n)
		return;
	tapir_vec_for_each (kind, &n->kinds)
		free(kind->rec);
	tapir_vec__fini(&n->kinds);
	tapir_map__fini(&n->kind_by_probe);
	free(n->values);
	tapir_record_window__fini(&n->window);
	tapir_str__fini(&n->rows.bytes);
	tapir_str__fini(&n->metadata);
	tapir_str__fini(&n->threads);
	tapir_str__fini(&n->payload);
	tapir_str__fini(&n->stacks.bytes);
	tapir_str__fini(&n->labels.bytes);
	tapir_map__fini(&n->thread_by_id);
	tapir_map__fini(&n->label_by_ids);
	tapir_map__fini(&n->sampled_remainder);
	tapir_map__fini(&n->absence_by_tid);
	tapir_vec__fini(&n->absences);
	tapir_stack_cache__fini(&n->stack_cache);
	tapir_frame_cache__fini(&n->frame_cache);
	tapir_nettrace__forget_processes(n);
	tapir_vec__fini(&n->kernel_mappings);
	tapir_map__fini(&n->va_by_name);
	tapir_map__fini(&n->metadata_by_build_id);
	free(n);
}

const struct tapir_nettrace_stats *tapir_nettrace__stats(const struct tapir_nettrace *n)
{
	return &n->stats;
}

/* ---- blocks --------------------------------------------------------------------------------- */

/*
 * Readers want to know this of the whole. Without the number of CPUs TraceEvent computes no times
 * of threads: it has a place for each CPU that a switch may name.
 */
static void put_pairs(const struct tapir_nettrace *n, struct tapir_str *block)
{
	unsigned hz = (unsigned)tapir_catalog__meta_number(n->catalog, "sample_hz", INT32_MAX);
	unsigned cpus = (unsigned)tapir_catalog__meta_number(n->catalog, "cpus", INT32_MAX);
	char period[12], count[12];
	const char *const pairs[][2] = {
		{"Recorder", "tapir"},
		{"SystemPageSize", "4096"}, /* p_vaddr is aligned to it already */
		{"ExpectedCPUSamplingRate", hz ? period : NULL},
		{"HardwareThreadCount", cpus ? count : NULL},
	};

	snprintf(period, sizeof(period), "%u", hz ? (unsigned)(TAPIR_NS_PER_SEC / hz) : 0);
	snprintf(count, sizeof(count), "%u", cpus);
	tapir_nettrace__put_u32(block, 2u + !!hz + !!cpus);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (!pairs[i][1])
			continue;
		tapir_nettrace__put_text(block, tapir_sv__of(pairs[i][0]));
		tapir_nettrace__put_text(block, tapir_sv__of(pairs[i][1]));
	}
}

/* The moment from which readers count: UTC in whole milliseconds, and our clock then. */
static void put_trace(struct tapir_nettrace *n, uint64_t first_ns, struct tapir_str *block)
{
	const struct tapir_reader_stats *stats = tapir_reader__stats(n->reader);
	uint64_t start_ns =
		stats->created_ns && stats->created_ns < first_ns ? stats->created_ns : first_ns;
	uint64_t utc_ns = stats->created_utc_ns - (stats->created_ns - start_ns);
	time_t seconds = (time_t)(utc_ns / TAPIR_NS_PER_SEC);
	uint64_t part_ns = utc_ns % TAPIR_NS_PER_MS;
	struct tm t;

	if (part_ns > start_ns)
		part_ns = start_ns;
	gmtime_r(&seconds, &t);
	const uint16_t date[] = {(uint16_t)(t.tm_year + 1900),
				 (uint16_t)(t.tm_mon + 1),
				 (uint16_t)t.tm_wday,
				 (uint16_t)t.tm_mday,
				 (uint16_t)t.tm_hour,
				 (uint16_t)t.tm_min,
				 (uint16_t)t.tm_sec,
				 (uint16_t)(utc_ns % TAPIR_NS_PER_SEC / TAPIR_NS_PER_MS)};

	tapir_nettrace__put(block, date, sizeof(date));
	tapir_nettrace__put_u64(block, start_ns - part_ns);
	tapir_nettrace__put_u64(block, TAPIR_NS_PER_SEC);
	tapir_nettrace__put_u32(block, sizeof(uint64_t)); /* a pointer */
	put_pairs(n, block);
	n->now_ns = start_ns;
}

#define TEXT_MAX_BYTES 8192u

static void append_utf16_text(struct tapir_nettrace *n, struct tapir_sv text)
{
	tapir_nettrace__put_utf16(&n->payload, text, TEXT_MAX_BYTES);
}

/* An event for each line. */
static void add_head(struct tapir_nettrace *n)
{
	const char *line = n->head;

	while (line && *line) {
		size_t len = strcspn(line, "\n");

		append_utf16_text(n, (struct tapir_sv){line, len});
		tapir_nettrace__emit(
			n, &(struct tapir_nettrace_subject){.metadata_id = TAPIR_NETTRACE_FINDING,
							    .cpu = TAPIR_CPU_UNKNOWN});
		line += len + (line[len] == '\n');
	}
}

static void begin_trace(struct tapir_nettrace *n, uint64_t first_ns, struct tapir_str *out)
{
	static const uint32_t version[] = {0, 6, 0};
	struct tapir_str block = {};

	tapir_str__adds(out, "Nettrace");
	tapir_nettrace__put(out, version, sizeof(version));
	put_trace(n, first_ns, &block);
	out->failed |= block.failed;
	tapir_nettrace__put_block(out, TAPIR_NETTRACE_TRACE, block.len);
	tapir_str__add(out, block.data, block.len);
	tapir_str__fini(&block);
	tapir_nettrace__put_own_metadata(&n->metadata);
	tapir_nettrace__put_thread(n, OWN_THREAD_IDX, 0, 0, tapir_sv__of("tapir"));
	n->samples_time =
		tapir_sample_event__is_clock(tapir_catalog__meta_value(n->catalog, "sample_event"));
	n->has_started = true;
	add_head(n);
}

static void flush_blocks(struct tapir_nettrace *n, struct tapir_str *out)
{
	if (n->metadata.len) {
		tapir_nettrace__put_block(out, TAPIR_NETTRACE_METADATA, 2 + n->metadata.len);
		tapir_nettrace__put_u16(out, 0); /* no header */
		tapir_str__add(out, n->metadata.data, n->metadata.len);
	}
	tapir_nettrace_list__flush(&n->stacks, TAPIR_NETTRACE_STACKS, out);
	if (n->threads.len) {
		tapir_nettrace__put_block(out, TAPIR_NETTRACE_THREADS, n->threads.len);
		tapir_str__add(out, n->threads.data, n->threads.len);
	}
	tapir_nettrace_list__flush(&n->labels, TAPIR_NETTRACE_LABELS, out);
	tapir_nettrace_rows__flush(&n->rows, out);
	out->failed |= n->metadata.failed || n->threads.failed || n->payload.failed || n->failed;
	tapir_str__clear(&n->metadata);
	tapir_str__clear(&n->threads);
}

/* Readers forget stacks and labels; tapir's begin at 1 again. */
static void put_sequence_point(struct tapir_nettrace *n, struct tapir_str *out)
{
	struct tapir_str block = {};

	flush_blocks(n, out);
	tapir_nettrace__put_u64(&block, n->now_ns);
	tapir_nettrace__put_u32(&block, 0);
	tapir_nettrace__put_u32(&block, 1);
	tapir_nettrace__put_var(&block, TAPIR_NETTRACE_CAPTURE_THREAD);
	tapir_nettrace__put_var(&block, n->sequence);
	out->failed |= block.failed;
	tapir_nettrace__put_block(out, TAPIR_NETTRACE_SEQUENCE_POINT, block.len);
	tapir_str__add(out, block.data, block.len);
	tapir_str__fini(&block);
	n->stacks.first_id = n->labels.first_id = 1;
}

/* ---- samples and switches ------------------------------------------------------------------- */

/*
 * TraceEvent takes each sample for a millisecond of CPU time, whatever its value is. So a sample is
 * as many rows as full milliseconds have passed on its thread's clock of sampled time: several at
 * a low frequency, none for most samples at a high one. The clock begins where rows are as often
 * too late as too early.
 */
uint64_t tapir_nettrace__sample_rows(uint64_t *remainder_ns, bool is_first, uint64_t period_ns)
{
	uint64_t rows;

	if (is_first && period_ns < TAPIR_NS_PER_MS)
		*remainder_ns = (TAPIR_NS_PER_MS - period_ns) / 2;
	*remainder_ns += period_ns < SAMPLE_MAX_NS ? period_ns : SAMPLE_MAX_NS;
	rows = *remainder_ns / TAPIR_NS_PER_MS;
	*remainder_ns %= TAPIR_NS_PER_MS;
	return rows;
}

static uint64_t rows_of(struct tapir_nettrace *n, const struct tapir_rec_sample *sample)
{
	uint64_t id = (uint64_t)sample->tgid << 32 | sample->tid;
	bool is_new = false;
	uint64_t *remainder_ns = n->sampled_remainder.cnt >= TAPIR_NETTRACE_THREADS_MAX
					 ? tapir_map__get(&n->sampled_remainder, id)
					 : tapir_map__put(&n->sampled_remainder, id, &is_new);

	if (!n->samples_time || !sample->period || !remainder_ns)
		return 1;
	return tapir_nettrace__sample_rows(remainder_ns, is_new, sample->period);
}

static void add_sample(struct tapir_nettrace *n, const struct tapir_rec *rec)
{
	const struct tapir_rec_sample *sample = (const void *)rec;
	struct tapir_stack_ref ref = {.tgid = sample->tgid,
				      .time_ns = sample->h.time_ns,
				      .stack_id = sample->stack_id,
				      .kstack_id = sample->kstack_id};
	const struct tapir_event_view ids = {.trace = tapir_rec__trace_ids(rec)};
	struct tapir_nettrace_subject subject = {.metadata_id = TAPIR_NETTRACE_CPU,
						 .tgid = sample->tgid,
						 .tid = sample->tid,
						 .cpu = sample->h.cpu};
	uint64_t rows = rows_of(n, sample);

	n->stats.samples++;
	if (!rows)
		return;
	subject.stack_id = tapir_nettrace__stack(n, &ref);
	subject.label_id = tapir_nettrace__label(n, &ids);
	while (rows--) {
		tapir_nettrace__put_var(&n->payload, 1);
		tapir_nettrace__emit(n, &subject);
	}
}

/* NULL: too many threads, or out of memory. */
static struct tapir_nettrace_absence *absence_of(struct tapir_nettrace *n, uint32_t tid,
						 bool *is_new)
{
	uint64_t *idx = n->absences.cnt < ABSENCES_MAX
				? tapir_map__put(&n->absence_by_tid, tid, is_new)
				: tapir_map__get(&n->absence_by_tid, tid);

	if (idx && *is_new) {
		*idx = n->absences.cnt;
		n->failed |= !tapir_vec__add(&n->absences);
	}
	return idx && *idx < n->absences.cnt ? &n->absences.data[*idx] : NULL;
}

/*
 * The event is one of the return to a CPU. Its stack and its ids are those with which the thread
 * left; a thread that was not seen to leave has neither, and a time of 0.
 */
static void on_switch_in(struct tapir_nettrace *n, const struct tapir_rec_switch *rec)
{
	bool is_new = false;
	struct tapir_nettrace_absence *absence = absence_of(n, rec->in_tid, &is_new);
	uint64_t away_ns = absence && absence->time_ns ? n->now_ns - absence->time_ns : 0;
	struct tapir_event_view ids = {};
	uint32_t stack_id = 0;

	if (absence && absence->time_ns) {
		ids.trace = absence->has_ids ? &absence->ids : NULL;
		stack_id = tapir_nettrace__stack(
			n, &(struct tapir_stack_ref){.tgid = rec->in_tgid,
						     .time_ns = absence->time_ns,
						     .stack_id = absence->stack_id,
						     .kstack_id = absence->kstack_id});
		absence->time_ns = 0;
	}
	tapir_nettrace__put_var(&n->payload, away_ns);
	tapir_nettrace__emit(
		n, &(struct tapir_nettrace_subject){.metadata_id = TAPIR_NETTRACE_CSWITCH,
						    .tgid = rec->in_tgid,
						    .tid = rec->in_tid,
						    .cpu = rec->h.cpu,
						    .stack_id = stack_id,
						    .label_id = tapir_nettrace__label(n, &ids)});
	n->stats.switches++;
}

/* One row a thread that comes in, with the stack and the span in which it went out and how long
 * ago. */
static void add_switch(struct tapir_nettrace *n, const struct tapir_rec *rec)
{
	const struct tapir_rec_switch *sw = (const void *)rec;
	const struct tapir_trace_ids *ids = tapir_rec__trace_ids(rec);
	uint64_t since_ns = tapir_switch__since_ns(sw);
	struct tapir_nettrace_absence *absence;
	bool is_new = false;

	if (sw->out_tid && (absence = absence_of(n, sw->out_tid, &is_new)))
		*absence = (struct tapir_nettrace_absence){
			.time_ns = since_ns ? since_ns : n->now_ns,
			.stack_id = sw->out_stack_id,
			.kstack_id = sw->out_kstack_id,
			.has_ids = ids != NULL,
			.ids = ids ? *ids : (struct tapir_trace_ids){}};
	if (sw->in_tid)
		on_switch_in(n, sw);
	else
		n->stats.without_row++;
}

/* ---- what the format has no word for -------------------------------------------------------- */

static void add_loss(struct tapir_nettrace *n, const struct tapir_rec *rec)
{
	const struct tapir_rec_loss *loss = (const void *)rec;
	static const char *const kinds[] = {"event", "part", "info", "sample", "switch"};
	int kind = tapir_loss__kind(loss->cause);
	const struct tapir_rec_probe *probe =
		loss->probe_id ? tapir_catalog__probe(n->catalog, loss->probe_id) : NULL;
	struct tapir_probe_view view = {};

	if (probe)
		tapir_probe_view__of(&probe->h, &view);
	if (tapir_loss__is_complete(loss->cause)) {
		n->sequence +=
			loss->count < SEQUENCE_GAP_MAX ? (uint32_t)loss->count : SEQUENCE_GAP_MAX;
		n->stats.losses += loss->count;
	}
	tapir_nettrace__put_u64(&n->payload, loss->count);
	append_utf16_text(n, tapir_sv__of(tapir_loss__text(loss->cause)));
	append_utf16_text(n, tapir_sv__of(kind >= 0 ? kinds[kind] : "unknown"));
	append_utf16_text(n, view.provider);
	append_utf16_text(n, view.event);
	tapir_nettrace__put_u64(&n->payload, loss->from_ns);
	tapir_nettrace__put_u64(&n->payload, loss->until_ns);
	tapir_nettrace__emit(n, &(struct tapir_nettrace_subject){.metadata_id = TAPIR_NETTRACE_LOSS,
								 .cpu = loss->h.cpu});
}

static void add_gap(struct tapir_nettrace *n, const struct tapir_rec *rec)
{
	struct tapir_gap_view view;

	tapir_gap_view__of(rec, &view);
	append_utf16_text(n, tapir_sv__of(tapir_gap__text(view.rec->reason)));
	append_utf16_text(n, view.path);
	tapir_nettrace__put_u64(&n->payload, view.rec->from_ns);
	tapir_nettrace__put_u64(&n->payload, view.rec->until_ns);
	tapir_nettrace__emit(n, &(struct tapir_nettrace_subject){.metadata_id = TAPIR_NETTRACE_GAP,
								 .tgid = view.rec->tgid,
								 .tid = view.rec->tgid,
								 .cpu = rec->cpu});
}

static void add_nettrace_counter(struct tapir_nettrace *n, const struct tapir_rec *rec)
{
	struct tapir_counter_view view;

	tapir_counter_view__of(rec, &view);
	append_utf16_text(n, view.provider);
	append_utf16_text(n, view.name);
	tapir_nettrace__put(&n->payload, &view.rec->value, sizeof(view.rec->value));
	append_utf16_text(n, view.unit);
	append_utf16_text(n, view.tags);
	tapir_nettrace__emit(n,
			     &(struct tapir_nettrace_subject){.metadata_id = TAPIR_NETTRACE_COUNTER,
							      .tgid = view.rec->tgid,
							      .tid = view.rec->tgid,
							      .cpu = rec->cpu});
}

/* ---- records -------------------------------------------------------------------------------- */

static void add_any_event(struct tapir_nettrace *n, const struct tapir_rec *rec)
{
	tapir_nettrace__add_event(n, (const struct tapir_rec_event *)rec);
}

/* The records that are exported, each with the function that adds it. */
static void (*const adders[TAPIR_REC_TYPE_CNT])(struct tapir_nettrace *n,
						const struct tapir_rec *rec) = {
	[TAPIR_REC_EVENT] = add_any_event,
	[TAPIR_REC_SAMPLE] = add_sample,
	[TAPIR_REC_SWITCH] = add_switch,
	[TAPIR_REC_PROCESS] = tapir_nettrace__write_process,
	[TAPIR_REC_MAPPING] = tapir_nettrace__write_mapping,
	[TAPIR_REC_LOSS] = add_loss,
	[TAPIR_REC_GAP] = add_gap,
	[TAPIR_REC_COUNTER] = add_nettrace_counter,
};

static bool is_exported(unsigned type)
{
	return type < TAPIR_REC_TYPE_CNT && adders[type];
}

static void add_in_order(struct tapir_nettrace *n, const struct tapir_rec *rec)
{
	if (is_exported(rec->type))
		adders[rec->type](n, rec);
}

/* Descriptions may be as old as a process: the trace begins with what happens. */
static uint64_t first_time(const struct tapir_nettrace *n)
{
	const struct tapir_record_window_entry *entry;

	tapir_vec_for_each (entry, &n->window.order) {
		const struct tapir_rec *rec = (const void *)(n->window.held.data + entry->off);

		if (!tapir_rec_type__describes(rec->type))
			return rec->time_ns;
	}
	return tapir_reader__stats(n->reader)->created_ns;
}

static int flush_block(struct tapir_nettrace *n, bool is_end, struct tapir_str *out)
{
	const struct tapir_rec *rec;

	while ((rec = tapir_record_window__next(&n->window, is_end))) {
		if (!n->has_started)
			begin_trace(n, first_time(n), out);
		if (rec->time_ns > n->now_ns)
			n->now_ns = rec->time_ns;
		if (tapir_nettrace__must_renew(n))
			put_sequence_point(n, out);
		add_in_order(n, rec);
		if (n->rows.bytes.len >= BLOCK_BYTES || n->stacks.bytes.len >= BLOCK_BYTES)
			flush_blocks(n, out);
	}
	return n->failed || out->failed ? -ENOMEM : 0;
}

int tapir_nettrace__add(struct tapir_nettrace *n, const struct tapir_rec *rec,
			struct tapir_str *out)
{
	if (!is_exported(rec->type))
		return 0;
	if (!tapir_record_window__add(&n->window, rec))
		return -ENOMEM;
	if (tapir_reader__is_segment_end(n->reader))
		tapir_record_window__release(&n->window, SEGMENT_KEEP_NS);
	return n->window.give_cnt ? flush_block(n, false, out) : 0;
}

int tapir_nettrace__finish(struct tapir_nettrace *n, struct tapir_str *out)
{
	int err = flush_block(n, true, out);

	if (!n->has_started)
		begin_trace(n, first_time(n), out);
	flush_blocks(n, out);
	tapir_nettrace__put_block(out, TAPIR_NETTRACE_END, 0);
	n->stats.late = n->window.late_cnt;
	return err ? err : out->failed ? -ENOMEM : 0;
}
