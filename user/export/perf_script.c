// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * "comm pid/tid [cpu] seconds.micros: period event:", a line a frame (tab, address, name+offset,
 * module in brackets), an empty line.
 */
#include "export/perf_script.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "symbol/frame.h"
#include "trace/record.h"

static void add_word(struct tapir_str *out, struct tapir_sv sv)
{
	size_t at = out->len;

	tapir_str__add_printable(out, sv.data, sv.len);
	for (; at < out->len; at++)
		if (out->data[at] == ' ')
			out->data[at] = '_'; /* readers split at spaces */
}

static struct tapir_sv comm_of(const struct tapir_catalog *catalog, uint32_t tid, uint64_t time_ns)
{
	const struct tapir_rec_thread *thread = tapir_catalog__thread(catalog, tid, time_ns);

	return thread ? (struct tapir_sv){thread->comm, strnlen(thread->comm, sizeof(thread->comm))}
		      : tapir_sv__of("?");
}

static void add_head(const struct tapir_catalog *catalog, const struct tapir_rec *rec,
		     uint32_t tgid, uint32_t tid, struct tapir_str *out)
{
	add_word(out, comm_of(catalog, tid, rec->time_ns));
	tapir_str__addf(out, " %u/%u [%03u] %" PRIu64 ".%06u: ", tgid, tid,
			rec->cpu == TAPIR_CPU_UNKNOWN ? 0u : rec->cpu,
			(uint64_t)(rec->time_ns / TAPIR_NS_PER_SEC),
			(unsigned)(rec->time_ns % TAPIR_NS_PER_SEC / 1000));
}

static void add_frames(const struct tapir_catalog *catalog, uint32_t tgid, uint64_t time_ns,
		       uint64_t stack_id, struct tapir_str *out)
{
	const struct tapir_rec_stack *rec =
		stack_id ? tapir_catalog__stack(catalog, stack_id) : NULL;
	struct tapir_stack_view view;

	if (!rec)
		return;
	tapir_stack_view__of(&rec->h, &view);
	for (unsigned i = 0; i < rec->frame_cnt; i++) {
		struct tapir_frame frame = tapir_frame__of(catalog, tgid, time_ns, &view, i);

		tapir_str__addf(out, "\t%16" PRIx64 " ", frame.va);
		if (frame.name.len) {
			tapir_str__add_printable(out, frame.name.data, frame.name.len);
			tapir_str__addf(out, "+0x%" PRIx64, frame.offset);
		} else {
			tapir_str__adds(out, "[unknown]");
		}
		tapir_str__adds(out, " (");
		if (frame.module.len)
			tapir_str__add_printable(out, frame.module.data, frame.module.len);
		else
			tapir_str__adds(out, "[unknown]");
		tapir_str__adds(out, ")\n");
	}
}

static void add_event_name(const struct tapir_catalog *catalog, uint32_t probe_id,
			   struct tapir_str *out)
{
	const struct tapir_rec_probe *probe = tapir_catalog__probe(catalog, probe_id);
	struct tapir_probe_view view;

	if (!probe) {
		tapir_str__adds(out, "unknown");
		return;
	}
	tapir_probe_view__of(&probe->h, &view);
	add_word(out, view.provider);
	tapir_str__addc(out, ':');
	add_word(out, view.event);
}

void tapir_perf_script__add(const struct tapir_catalog *catalog, const struct tapir_rec *rec,
			    struct tapir_str *out)
{
	const struct tapir_rec_sample *sample = (const void *)rec;
	const struct tapir_rec_event *ev = (const void *)rec;
	struct tapir_sv event = tapir_catalog__meta_value(catalog, "sample_event");

	if (rec->type == TAPIR_REC_SAMPLE) {
		add_head(catalog, rec, sample->tgid, sample->tid, out);
		tapir_str__addf(out, "%" PRIu64 " ", sample->period);
		add_word(out, event.len ? event : tapir_sv__of("cpu-clock"));
		tapir_str__adds(out, ":\n");
		add_frames(catalog, sample->tgid, rec->time_ns, sample->kstack_id, out);
		add_frames(catalog, sample->tgid, rec->time_ns, sample->stack_id, out);
	} else if (rec->type == TAPIR_REC_EVENT && ev->stack_id) {
		add_head(catalog, rec, ev->tgid, ev->tid, out);
		tapir_str__adds(out, "1 ");
		add_event_name(catalog, ev->probe_id, out);
		tapir_str__adds(out, ":\n");
		add_frames(catalog, ev->tgid, rec->time_ns, ev->stack_id, out);
	} else {
		return;
	}
	tapir_str__addc(out, '\n');
}
