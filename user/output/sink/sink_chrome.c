// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Trace Event JSON, for ui.perfetto.dev and chrome://tracing, an event a line, written as it is
 * read. An interval is a complete event ('X') on the thread that began it, or, when it is a request
 * or ends on another thread, a pair of async events ('b', 'e'); an event of the recording is an
 * instant ('i'), a sample is 'P' with the number of its stack in "stackFrames", which comes last, a
 * counter and a loss are 'C'.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "output/sink/sink_tracks.h"

/* V8 has no string beyond 2^29 characters, and these readers parse the document as one. */
#define MAX_BYTES   (512u << 20)
#define STACK_BYTES (128u << 20) /* of it, for stackFrames */

struct chrome {
	struct tapir_tracks tracks;
	uint64_t bytes, async_cnt;
};

/* ---- parts of an event ------------------------------------------------------------------------ */

/* Microseconds with their nanoseconds; no double is as exact. */
static void add_us(struct tapir_str *out, const char *key, uint64_t ns)
{
	tapir_str__addf(out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static bool is_full(struct chrome *c)
{
	bool is_full = c->bytes + c->tracks.x->out.len > MAX_BYTES - STACK_BYTES;

	c->tracks.skipped_cnt += is_full;
	return is_full;
}

static struct tapir_json open_event(struct chrome *c, const char *phase, struct tapir_sv name)
{
	struct tapir_json j;

	tapir_str__adds(&c->tracks.x->out, ",\n");
	j = tapir_json__to(&c->tracks.x->out);
	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "ph", phase);
	tapir_json__strn(&j, "name", name.data ? name.data : "", name.data ? name.len : 0);
	return j;
}

static void add_who(struct chrome *c, struct tapir_json *j, uint32_t tgid, uint32_t tid,
		    uint64_t time_ns)
{
	tapir_json__u64(j, "pid", tgid);
	tapir_json__u64(j, "tid", tid);
	add_us(&c->tracks.x->out, "ts", tapir_tracks__since_start(&c->tracks, time_ns));
}

static void name_it(struct chrome *c, const char *description, uint32_t tgid, uint32_t tid,
		    struct tapir_sv name)
{
	struct tapir_json j = open_event(c, "M", tapir_sv__of(description));

	tapir_json__u64(&j, "pid", tgid);
	tapir_json__u64(&j, "tid", tid);
	tapir_json__open(&j, "args", '{');
	tapir_json__strn(&j, "name", name.data, name.len);
	tapir_json__close(&j, '}');
	tapir_json__close(&j, '}');
}

static void on_thread(void *ctx, uint32_t tgid, uint32_t tid, struct tapir_sv name,
		      struct tapir_sv process)
{
	struct chrome *c = ctx;

	if (name.len)
		name_it(c, "thread_name", tgid, tid, name);
	if (process.len)
		name_it(c, "process_name", tgid, tid, process);
}

/* ---- records ------------------------------------------------------------------------------------ */

static void chrome_on_event(void *ctx, const struct tapir_rec_event *ev,
			    const struct tapir_probe_view *probe)
{
	struct chrome *c = ctx;
	struct tapir_json j;

	if (is_full(c))
		return;
	j = open_event(c, "i", probe ? probe->event : tapir_sv__of("unknown"));
	tapir_json__strn(&j, "cat", probe ? probe->provider.data : "?",
			 probe ? probe->provider.len : 1);
	add_who(c, &j, ev->tgid, ev->tid, ev->h.time_ns);
	tapir_json__str(&j, "s", "t");
	tapir_str__adds(&c->tracks.x->out, ",\"args\":");
	tapir_event_lines__add_args(c->tracks.lines, &ev->h, &c->tracks.x->out);
	tapir_json__close(&j, '}');
}

static void chrome_on_sample(void *ctx, const struct tapir_rec_sample *sample, uint32_t node)
{
	struct chrome *c = ctx;
	struct tapir_json j;

	if (is_full(c))
		return;
	j = open_event(c, "P", tapir_sv__of("sample"));
	tapir_json__str(&j, "cat", "sample");
	add_who(c, &j, sample->tgid, sample->tid, sample->h.time_ns);
	if (node != UINT32_MAX)
		tapir_json__u64(&j, "sf", node);
	tapir_json__open(&j, "args", '{');
	tapir_json__u64(&j, "period", sample->period);
	tapir_json__close(&j, '}');
	tapir_json__close(&j, '}');
}

static void on_value(void *ctx, const struct tapir_track_value *v)
{
	struct chrome *c = ctx;
	struct tapir_json j;

	if (is_full(c))
		return;
	j = open_event(c, "C", v->name);
	add_who(c, &j, v->tgid, v->tgid, v->time_ns);
	tapir_json__open(&j, "args", '{');
	tapir_json__f64(&j, "value", v->value);
	tapir_json__close(&j, '}');
	tapir_json__close(&j, '}');
}

/* ---- intervals ---------------------------------------------------------------------------------- */

static struct tapir_json open_interval(struct chrome *c, const struct tapir_interval_kind *kind,
				       const char *phase)
{
	struct tapir_json j = open_event(c, phase, tapir_sv__of(kind->name));

	tapir_json__str(&j, "cat", kind->provider);
	return j;
}

static void close_interval(struct tapir_json *j, const struct tapir_interval *i)
{
	tapir_json__open(j, "args", '{');
	if (i->label)
		tapir_json__str(j, "label", i->label);
	if (i->flags & TAPIR_INTERVAL_NO_BEGIN)
		tapir_json__bool(j, "has_begin", false);
	if (i->flags & TAPIR_INTERVAL_NO_END)
		tapir_json__bool(j, "has_end", false);
	tapir_json__close(j, '}');
	tapir_json__close(j, '}');
}

static void on_end(void *ctx, struct tapir_interval *i, const struct tapir_interval_kind *kind)
{
	struct chrome *c = ctx;
	struct tapir_json j;

	if (is_full(c))
		return;
	if (!tapir_interval__is_loose(i)) {
		j = open_interval(c, kind, "X");
		add_who(c, &j, i->tgid, i->tid, i->from_ns);
		add_us(&c->tracks.x->out, "dur", i->until_ns - i->from_ns);
		close_interval(&j, i);
		return;
	}
	j = open_interval(c, kind, "b");
	tapir_json__u64(&j, "id", ++c->async_cnt);
	add_who(c, &j, i->tgid, i->tid, i->from_ns);
	close_interval(&j, i);
	j = open_interval(c, kind, "e");
	tapir_json__u64(&j, "id", c->async_cnt);
	add_who(c, &j, i->tgid, i->end_tid ? i->end_tid : i->tid, i->until_ns);
	tapir_json__close(&j, '}');
}

/* ---- the sink ------------------------------------------------------------------------------------ */

static int begin_chrome(struct tapir_export *x)
{
	static const struct tapir_tracks_fns fns = {.thread = on_thread,
						    .event = chrome_on_event,
						    .sample = chrome_on_sample,
						    .value = on_value,
						    .end = on_end};
	struct chrome *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	x->state = c;
	tapir_str__adds(&x->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
				 "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,"
				 "\"args\":{\"name\":\"losses\"}}");
	return tapir_tracks__init(&c->tracks, x, &fns, c);
}

static int chrome_add(struct tapir_export *x, const struct tapir_rec *rec)
{
	struct chrome *c = x->state;
	size_t len = x->out.len;
	int err = tapir_tracks__add(&c->tracks, rec);

	c->bytes += x->out.len - len;
	return err;
}

static int add_stacks(struct tapir_export *x, struct chrome *c)
{
	struct tapir_str name = {};
	int err = 0;

	tapir_str__adds(&x->out, "\n],\"stackFrames\":{");
	for (size_t i = 1; i < c->tracks.tree.nodes.cnt && !err; i++) {
		const struct tapir_tree_node *node = &c->tracks.tree.nodes.data[i];
		struct tapir_json j;

		tapir_str__clear(&name);
		tapir_stack_tree__add_label(&name, &c->tracks.tree, (uint32_t)i);
		tapir_str__addf(&x->out, "%s\n\"%zu\":", i > 1 ? "," : "", i);
		j = tapir_json__to(&x->out);
		tapir_json__open(&j, NULL, '{');
		tapir_json__strn(&j, "name", name.data ? name.data : "?", name.data ? name.len : 1);
		if (node->parent != TAPIR_STACK_TREE_ROOT)
			tapir_json__u64(&j, "parent", node->parent);
		tapir_json__close(&j, '}');
		err = name.failed ? -ENOMEM : tapir_sink__flush_much(x);
	}
	tapir_str__adds(&x->out, "}}\n");
	tapir_str__fini(&name);
	return err;
}

static int end_chrome(struct tapir_export *x)
{
	struct chrome *c = x->state;
	int err = tapir_tracks__finish(&c->tracks);

	if (!err)
		err = add_stacks(x, c);
	if (!err && c->tracks.skipped_cnt)
		tapir_warn("%" PRIu64
			   " events, samples and intervals are left out: readers take at "
			   "most %u MB; 'tapir cut' makes a shorter recording",
			   c->tracks.skipped_cnt, MAX_BYTES >> 20);
	return err;
}

static void free_chrome(struct tapir_export *x)
{
	struct chrome *c = x->state;

	if (!c)
		return;
	tapir_tracks__fini(&c->tracks);
	free(c);
}

const struct tapir_sink tapir_sink_chrome = {
	.name = "chrome",
	.description = "events, intervals, samples, counters, losses: ui.perfetto.dev",
	.lacks = "switches, waits, mappings, trace ids",
	.suffix = "trace.json",
	.max_bytes = MAX_BYTES,
	.content = TAPIR_SINK_IS_JSON,
	.is_complete = true,
	.takes_all = true,
	.describes = true,
	.begin = begin_chrome,
	.add = chrome_add,
	.end = end_chrome,
	.free = free_chrome,
};
