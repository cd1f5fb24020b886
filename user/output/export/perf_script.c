// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * "comm pid/tid [cpu] seconds.micros: period event:", a line a frame (tab, address, name+offset,
 * module in brackets), an empty line. Readers split at spaces where they can, and take the last
 * "(...)" without one for the module: spaces in it and in words become '_'.
 *
 * Readers cut "+0x..." off at the end of a name, and merge frames by what is left; perf's
 * "[unknown]" they merge by module (stackcollapse-perf.pl, speedscope, Firefox Profiler). A frame
 * without a name is "[libfoo.so+0x1234]", which none of them changes: each address remains
 * distinct.
 */
#include "output/export/perf_script.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "symbol/frame.h"
#include "symbol/stack_end.h"
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
	tapir_str__addc(out, ' ');
	tapir_str__addu(out, tgid);
	tapir_str__addc(out, '/');
	tapir_str__addu(out, tid);
	tapir_str__adds(out, " [");
	tapir_str__add_zeros(out, rec->cpu == TAPIR_CPU_UNKNOWN ? 0u : rec->cpu, 3);
	tapir_str__adds(out, "] ");
	tapir_str__addu(out, rec->time_ns / TAPIR_NS_PER_SEC);
	tapir_str__addc(out, '.');
	tapir_str__add_zeros(out, rec->time_ns % TAPIR_NS_PER_SEC / 1000, 6);
	tapir_str__adds(out, ": ");
}

static struct tapir_sv module_of(const struct tapir_frame *frame)
{
	if (frame->is_kernel && !tapir_sv__compare(frame->module, tapir_sv__of("[kernel]")))
		return tapir_sv__of("[kernel.kallsyms]"); /* perf's name of it; readers know it */
	if (frame->is_jit)
		return tapir_sv__of("[jit]");
	return frame->module.len ? frame->module : tapir_sv__of("[unknown]");
}

/* "[libfoo.so+0x1234]", "[jit+0x1f3a]"; an address where no mapping is known. */
static void add_perf_location(struct tapir_str *out, const struct tapir_frame *frame)
{
	struct tapir_sv module =
		frame->is_jit ? tapir_sv__of("[jit]") : tapir_frame__module_name(frame);

	if (module.len > 2 && module.data[0] == '[' && module.data[module.len - 1] == ']')
		module = (struct tapir_sv){module.data + 1, module.len - 2};
	if (!module.len) {
		tapir_str__addf(out, "0x%" PRIx64, frame->va);
		return;
	}
	tapir_str__addc(out, '[');
	tapir_str__add_printable(out, module.data, module.len);
	tapir_str__addf(out, "+0x%" PRIx64 "]", frame->offset);
}

static void add_perf_frame(const struct tapir_frame *frame, struct tapir_str *out)
{
	struct tapir_sv name;
	struct tapir_str buf = {};

	tapir_str__addf(out, "\t%16" PRIx64 " ", frame->va);
	if (frame->name.len) {
		name = tapir_frame__shown_name(frame, &buf, NULL);
		tapir_str__add_printable(out, name.data, name.len);
		if (!frame->is_inlined)
			tapir_str__addf(out, "+0x%" PRIx64, frame->offset);
	} else if (frame->range.len) {
		tapir_frame__add_location(out, frame, tapir_str__add_printable);
		tapir_str__addf(out, "+0x%" PRIx64, frame->range_off);
	} else {
		add_perf_location(out, frame);
	}
	tapir_str__fini(&buf);
	tapir_str__adds(out, " (");
	if (frame->is_inlined) /* as perf names it */
		tapir_str__adds(out, "inlined");
	else
		add_word(out, module_of(frame));
	tapir_str__adds(out, ")\n");
}

static void add_line(const struct tapir_frame *frame, struct tapir_str *out)
{
	for (unsigned i = 0; i < tapir_frame__function_cnt(frame); i++) {
		struct tapir_frame function = tapir_frame__function(frame, i);

		add_perf_frame(&function, out);
	}
}

#define LINES_MAX_BYTES (64u << 20)
#define TEXTS_MAX_BYTES (16u << 20) /* further stacks are put together from lines of frames */

/* The position and length of the frame's line in lines. */
static uint64_t remember_line(void *ctx, const struct tapir_frame *frame)
{
	struct tapir_perf_script *script = ctx;
	size_t at = script->lines.len;

	add_line(frame, &script->lines);
	return (uint64_t)at << 32 | (script->lines.len - at);
}

static void renew(struct tapir_perf_script *script)
{
	uint64_t version = tapir_catalog__version(script->catalog);

	if (script->version == version && script->lines.len < LINES_MAX_BYTES)
		return;
	tapir_frame_cache__fini(&script->memo);
	tapir_stack_cache__fini(&script->stacks);
	tapir_str__clear(&script->lines);
	tapir_str__clear(&script->texts);
	script->version = version;
}

/* A frame at address 0 in the place of callers that are missing. */
static void add_lost_callers(struct tapir_perf_script *script, const struct tapir_stack_ref *ref,
			     const struct tapir_rec_stack *rec, struct tapir_str *out)
{
	size_t at = out->len;

	tapir_str__addf(out, "\t%16x [", 0u);
	if (tapir_stack_end__add_of(out, script->catalog, ref->tgid, ref->time_ns, rec))
		tapir_str__adds(out, "] ([unknown])\n");
	else
		out->len = at;
}

/* *span is narrowed to when these lines are valid. */
static void add_each_frame(struct tapir_perf_script *script, const struct tapir_stack_ref *ref,
			   const struct tapir_rec_stack *rec, struct tapir_str *out,
			   struct tapir_name_span *span)
{
	struct tapir_stack_view view;

	tapir_stack_view__of(&rec->h, &view);
	for (unsigned i = 0; i < rec->frame_cnt; i++) {
		uint64_t line = tapir_frame_cache__number(&script->memo, script->catalog, ref,
							  &view, i, remember_line, script, span);

		if (script->lines.failed)
			out->failed = true;
		else
			tapir_str__add(out, script->lines.data + (line >> 32), (uint32_t)line);
	}
	add_lost_callers(script, ref, rec, out);
}

static void remember_stack(struct tapir_perf_script *script, const struct tapir_stack_ref *ref,
			   struct tapir_sv text, struct tapir_name_span span)
{
	size_t at = script->texts.len;

	if (text.len > TEXTS_MAX_BYTES - at || script->stacks.entries.cnt >= TAPIR_STACK_CACHE_MAX)
		return;
	tapir_str__add(&script->texts, text.data, text.len);
	script->texts.failed = false; /* the lines are only made again, then */
	if (script->texts.len != at + text.len ||
	    !tapir_stack_cache__add(&script->stacks, ref, span, (uint64_t)at << 32 | text.len))
		script->texts.len = at;
}

static void add_perf_frames(struct tapir_perf_script *script, struct tapir_stack_ref ref,
			    uint64_t stack_id, struct tapir_str *out)
{
	const struct tapir_stack_cache_entry *known;
	const struct tapir_rec_stack *rec;
	struct tapir_name_span span = TAPIR_NAME_SPAN_ALL;
	size_t from = out->len;

	if (!stack_id)
		return;
	renew(script);
	ref.stack_id = stack_id;
	known = tapir_stack_cache__find(&script->stacks, &ref);
	if (known) {
		tapir_str__add(out, script->texts.data + (known->value >> 32),
			       (uint32_t)known->value);
		return;
	}
	rec = tapir_catalog__stack(script->catalog, stack_id);
	if (!rec)
		return;
	add_each_frame(script, &ref, rec, out, &span);
	if (!out->failed)
		remember_stack(script, &ref, (struct tapir_sv){out->data + from, out->len - from},
			       span);
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

static void add_sample(struct tapir_perf_script *script, const struct tapir_rec_sample *sample,
		       struct tapir_str *out)
{
	struct tapir_sv event = tapir_catalog__meta_value(script->catalog, "sample_event");
	struct tapir_stack_ref ref = {.tgid = sample->tgid, .time_ns = sample->h.time_ns};

	add_head(script->catalog, &sample->h, sample->tgid, sample->tid, out);
	tapir_str__addu(out, sample->period);
	tapir_str__addc(out, ' ');
	add_word(out, event.len ? event : tapir_sv__of("cpu-clock"));
	tapir_str__adds(out, ":\n");
	add_perf_frames(script, ref, sample->kstack_id, out);
	add_perf_frames(script, ref, sample->stack_id, out);
	tapir_str__addc(out, '\n');
}

static void add_perf_event(struct tapir_perf_script *script, const struct tapir_rec_event *ev,
			   struct tapir_str *out)
{
	struct tapir_stack_ref ref = {.tgid = ev->tgid, .time_ns = ev->h.time_ns};
	struct tapir_event_view view;

	tapir_event_view__of(&ev->h, &view);
	if (!ev->stack_id && !view.kstack_id)
		return;
	add_head(script->catalog, &ev->h, ev->tgid, ev->tid, out);
	tapir_str__adds(out, "1 ");
	add_event_name(script->catalog, ev->probe_id, out);
	tapir_str__adds(out, ":\n");
	add_perf_frames(script, ref, view.kstack_id, out);
	add_perf_frames(script, ref, ev->stack_id, out);
	tapir_str__addc(out, '\n');
}

void tapir_perf_script__add(struct tapir_perf_script *script, const struct tapir_rec *rec,
			    struct tapir_str *out)
{
	if (rec->type == TAPIR_REC_SAMPLE)
		add_sample(script, (const void *)rec, out);
	else if (rec->type == TAPIR_REC_EVENT)
		add_perf_event(script, (const void *)rec, out);
}

void tapir_perf_script__fini(struct tapir_perf_script *script)
{
	tapir_frame_cache__fini(&script->memo);
	tapir_stack_cache__fini(&script->stacks);
	tapir_str__fini(&script->lines);
	tapir_str__fini(&script->texts);
}
