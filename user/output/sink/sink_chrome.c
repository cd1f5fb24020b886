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
#include <string.h>

#include "analyze/timeline.h"
#include "base/json.h"
#include "base/log.h"
#include "output/export/event_lines.h"
#include "output/sink/sink.h"

/* V8 has no string beyond 2^29 characters, and these readers parse the document as one. */
#define MAX_BYTES   (512u << 20)
#define STACK_BYTES (128u << 20) /* of it, for stackFrames */

struct chrome {
	struct tapir_export *x;
	struct tapir_timeline *tl;
	struct tapir_pairs pairs;
	struct tapir_event_lines *lines;
	struct tapir_stack_tree tree;
	struct tapir_map names; /* process and thread -> hash of its name */
	struct tapir_map lost;	/* cause -> count so far */
	uint64_t start_ns, bytes, async_cnt, left_out;
	bool failed;
};

/* ---- parts of an event ------------------------------------------------------------------------ */

/* Microseconds with their nanoseconds; no double is as exact. */
static void add_us(struct tapir_str *out, const char *key, uint64_t ns)
{
	tapir_str__addf(out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static uint64_t since_start(const struct chrome *c, uint64_t time_ns)
{
	return time_ns > c->start_ns ? time_ns - c->start_ns : 0;
}

static struct tapir_json open_event(struct chrome *c, const char *phase, struct tapir_sv name)
{
	struct tapir_json j;

	tapir_str__adds(&c->x->out, ",\n");
	j = tapir_json__to(&c->x->out);
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
	add_us(&c->x->out, "ts", since_start(c, time_ns));
}

static void name_it(struct chrome *c, const char *what, uint32_t tgid, uint32_t tid,
		    struct tapir_sv name)
{
	struct tapir_json j = open_event(c, "M", tapir_sv__of(what));

	tapir_json__u64(&j, "pid", tgid);
	tapir_json__u64(&j, "tid", tid);
	tapir_json__open(&j, "args", '{');
	tapir_json__strn(&j, "name", name.data, name.len);
	tapir_json__close(&j, '}');
	tapir_json__close(&j, '}');
}

/* Names a thread, and a process, where an event is its first, or the first under this name. */
static void know(struct chrome *c, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	const struct tapir_rec_thread *thread = tapir_catalog__thread(c->x->catalog, tid, time_ns);
	struct tapir_sv name =
		thread ? (struct tapir_sv){thread->comm,
					   strnlen(thread->comm, sizeof(thread->comm))}
		       : (struct tapir_sv){};
	uint64_t hash = tapir_hash__bytes(1, name.data ? name.data : "", name.len);
	bool is_new;
	uint64_t *slot = tapir_map__put(&c->names, (uint64_t)tgid << 32 | tid, &is_new);

	if (!slot) {
		c->failed = true;
		return;
	}
	if (!is_new && *slot == hash)
		return;
	*slot = hash;
	if (name.len)
		name_it(c, "thread_name", tgid, tid, name);
	name = tapir_line__comm(c->lines, tgid, tid, time_ns);
	if (is_new && name.len)
		name_it(c, "process_name", tgid, tid, name);
}

/* ---- records ------------------------------------------------------------------------------------ */

static void add_event(struct chrome *c, const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const void *)rec;
	const struct tapir_rec_probe *found = tapir_catalog__probe(c->x->catalog, ev->probe_id);
	struct tapir_probe_view probe = {};
	struct tapir_json j;

	if (found)
		tapir_probe_view__of(&found->h, &probe);
	know(c, ev->tgid, ev->tid, rec->time_ns);
	j = open_event(c, "i", found ? probe.event : tapir_sv__of("unknown"));
	tapir_json__strn(&j, "cat", found ? probe.provider.data : "?",
			 found ? probe.provider.len : 1);
	add_who(c, &j, ev->tgid, ev->tid, rec->time_ns);
	tapir_json__str(&j, "s", "t");
	tapir_str__adds(&c->x->out, ",\"args\":");
	tapir_event_lines__add_args(c->lines, rec, &c->x->out);
	tapir_json__close(&j, '}');
}

static void add_sample(struct chrome *c, const struct tapir_rec *rec)
{
	const struct tapir_rec_sample *sample = (const void *)rec;
	uint32_t node = tapir_stack_tree__record_node(&c->tree, c->x->catalog, rec);
	struct tapir_json j;

	know(c, sample->tgid, sample->tid, rec->time_ns);
	j = open_event(c, "P", tapir_sv__of("sample"));
	tapir_json__str(&j, "cat", "sample");
	add_who(c, &j, sample->tgid, sample->tid, rec->time_ns);
	if (node != UINT32_MAX)
		tapir_json__u64(&j, "sf", node);
	tapir_json__open(&j, "args", '{');
	tapir_json__u64(&j, "period", sample->period);
	tapir_json__close(&j, '}');
	tapir_json__close(&j, '}');
}

static void add_value(struct chrome *c, uint32_t tgid, uint64_t time_ns, struct tapir_sv name,
		      double value)
{
	struct tapir_json j = open_event(c, "C", name);

	add_who(c, &j, tgid, tgid, time_ns);
	tapir_json__open(&j, "args", '{');
	tapir_json__f64(&j, "value", value);
	tapir_json__close(&j, '}');
	tapir_json__close(&j, '}');
}

static void add_counter(struct chrome *c, const struct tapir_rec *rec)
{
	struct tapir_counter_view view;
	struct tapir_str name = {};

	tapir_counter_view__of(rec, &view);
	tapir_str__add(&name, view.provider.data, view.provider.len);
	tapir_str__addc(&name, ' ');
	tapir_str__add(&name, view.name.data, view.name.len);
	if (view.tags.len)
		tapir_str__addc(&name, ' ');
	tapir_str__add(&name, view.tags.data, view.tags.len);
	add_value(c, view.rec->tgid, rec->time_ns, (struct tapir_sv){name.data, name.len},
		  view.rec->value);
	c->failed |= name.failed;
	tapir_str__fini(&name);
}

/* The chart of a cause rises by what is lost. */
static void add_loss(struct chrome *c, const struct tapir_rec *rec)
{
	const struct tapir_rec_loss *loss = (const void *)rec;
	bool is_new;
	uint64_t *sum = tapir_map__put(&c->lost, loss->cause, &is_new);
	char name[64];

	if (!sum) {
		c->failed = true;
		return;
	}
	*sum = (is_new ? 0 : *sum) + loss->count;
	snprintf(name, sizeof(name), "lost: %s", tapir_loss__name(loss->cause));
	add_value(c, 0, rec->time_ns, tapir_sv__of(name), (double)*sum);
}

/* ---- intervals ---------------------------------------------------------------------------------- */

static bool is_full(const struct chrome *c)
{
	return c->bytes + c->x->out.len > MAX_BYTES - STACK_BYTES;
}

static struct tapir_json open_interval(struct chrome *c, const struct tapir_interval *i,
				       const char *phase)
{
	const struct tapir_kind *kind = &tapir_timeline__pairs(c->tl)->kinds.data[i->kind];
	struct tapir_json j = open_event(c, phase, tapir_sv__of(kind->name));

	tapir_json__str(&j, "cat", kind->provider);
	return j;
}

static void close_interval(struct tapir_json *j, const struct tapir_interval *i)
{
	tapir_json__open(j, "args", '{');
	if (i->label)
		tapir_json__str(j, "label", i->label);
	if (i->flags & TAPIR_INTERVAL_UNBEGUN)
		tapir_json__bool(j, "has_begin", false);
	if (i->flags & TAPIR_INTERVAL_UNENDED)
		tapir_json__bool(j, "has_end", false);
	tapir_json__close(j, '}');
	tapir_json__close(j, '}');
}

static void on_close(void *ctx, struct tapir_interval *i)
{
	struct chrome *c = ctx;
	struct tapir_json j;

	if (is_full(c)) {
		c->left_out++;
		return;
	}
	know(c, i->tgid, i->tid, i->until_ns);
	if (!i->is_request && !i->activity && !(i->flags & TAPIR_INTERVAL_CROSSED)) {
		j = open_interval(c, i, "X");
		add_who(c, &j, i->tgid, i->tid, i->from_ns);
		add_us(&c->x->out, "dur", i->until_ns - i->from_ns);
		close_interval(&j, i);
		return;
	}
	j = open_interval(c, i, "b");
	tapir_json__u64(&j, "id", ++c->async_cnt);
	add_who(c, &j, i->tgid, i->tid, i->from_ns);
	close_interval(&j, i);
	j = open_interval(c, i, "e");
	tapir_json__u64(&j, "id", c->async_cnt);
	add_who(c, &j, i->tgid, i->end_tid ? i->end_tid : i->tid, i->until_ns);
	tapir_json__close(&j, '}');
}

/* ---- the sink ------------------------------------------------------------------------------------ */

static int begin(struct tapir_export *x)
{
	static const struct tapir_timeline_fns fns = {.close = on_close};
	const struct tapir_timeline_opts opts = {.trace = &x->trace};
	struct chrome *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	x->state = c;
	c->x = x;
	c->start_ns = tapir_reader__stats(x->reader)->created_ns;
	c->lines = tapir_event_lines__new(TAPIR_EVENT_JSON, x->catalog, c->start_ns);
	c->tl = tapir_timeline__new(x->catalog, &c->pairs, &opts);
	tapir_str__adds(&x->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
				 "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,"
				 "\"args\":{\"name\":\"losses\"}}");
	return c->lines && c->tl ? tapir_timeline__listen(c->tl, &fns, c) : -ENOMEM;
}

static bool is_written(const struct tapir_rec *rec)
{
	return rec->type == TAPIR_REC_EVENT || rec->type == TAPIR_REC_SAMPLE ||
	       rec->type == TAPIR_REC_COUNTER || rec->type == TAPIR_REC_LOSS;
}

static void add_record(struct chrome *c, const struct tapir_rec *rec)
{
	if (rec->type == TAPIR_REC_EVENT)
		add_event(c, rec);
	else if (rec->type == TAPIR_REC_SAMPLE)
		add_sample(c, rec);
	else if (rec->type == TAPIR_REC_COUNTER)
		add_counter(c, rec);
	else
		add_loss(c, rec);
}

static int add(struct tapir_export *x, const struct tapir_rec *rec)
{
	struct chrome *c = x->state;
	size_t len = x->out.len;
	int err = tapir_timeline__add(c->tl, rec);

	if (is_written(rec) && tapir_trace_filter__has(&x->trace, rec)) {
		if (is_full(c))
			c->left_out++;
		else
			add_record(c, rec);
	}
	c->bytes += x->out.len - len;
	return err ? err : c->failed || c->tree.failed ? -ENOMEM : 0;
}

static int add_stacks(struct tapir_export *x, struct chrome *c)
{
	struct tapir_str name = {};
	int err = 0;

	tapir_str__adds(&x->out, "\n],\"stackFrames\":{");
	for (size_t i = 1; i < c->tree.nodes.cnt && !err; i++) {
		const struct tapir_tree_node *node = &c->tree.nodes.data[i];
		struct tapir_json j;

		tapir_str__clear(&name);
		tapir_stack_tree__add_label(&name, &c->tree, (uint32_t)i);
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

static int end(struct tapir_export *x)
{
	struct chrome *c = x->state;
	int err = tapir_timeline__finish(c->tl);

	if (!err)
		err = c->failed ? -ENOMEM : add_stacks(x, c);
	if (!err && c->left_out)
		tapir_warn("%" PRIu64
			   " events, samples and intervals are left out: readers take at "
			   "most %u MB; 'tapir cut' makes a shorter recording",
			   c->left_out, MAX_BYTES >> 20);
	return err;
}

static void free_chrome(struct tapir_export *x)
{
	struct chrome *c = x->state;

	if (!c)
		return;
	tapir_timeline__free(c->tl);
	tapir_pairs__fini(&c->pairs);
	tapir_event_lines__free(c->lines);
	tapir_stack_tree__fini(&c->tree);
	tapir_map__fini(&c->names);
	tapir_map__fini(&c->lost);
	free(c);
}

const struct tapir_sink tapir_sink_chrome = {
	.name = "chrome",
	.what = "events, intervals, samples, counters, losses: ui.perfetto.dev",
	.lacks = "switches, waits, mappings, trace ids",
	.suffix = "trace.json",
	.max_bytes = MAX_BYTES,
	.content = TAPIR_SINK_IS_JSON,
	.is_whole = true,
	.takes_all = true,
	.describes = true,
	.begin = begin,
	.add = add,
	.end = end,
	.free = free_chrome,
};
