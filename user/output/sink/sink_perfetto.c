// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Perfetto's trace: protobuf packets, written as records are read, in one sequence with interned
 * names, frames and stacks; readers put packets in order of time.
 *
 * A thread is a track with its events as instants. Each kind of interval has tracks of its own
 * below it (requests: below the process), since slices of a track must nest: an interval takes the
 * first track of its kind that is free. Counters and losses are counter tracks.
 *
 * Samples, times off the CPU, allocations and exceptions are StackSample packets, each with the
 * counter that its weight is of, for readers from version 58 on. The other sink has CPU samples
 * alone, as PerfSample packets, which every version reads.
 *
 * Numbers of fields: protos/perfetto/trace of https://github.com/google/perfetto.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decode/event_fields.h"
#include "decode/value.h"
#include "output/sink/sink_tracks.h"
#include "spec/runtime_db/lore.h"
#include "symbol/frame_kind.h"
#include "trace/trace_filter.h"

enum { /* TracePacket */
       PACKET = 1,
       CLOCK_SNAPSHOT = 6,
       TIMESTAMP = 8,
       SEQUENCE_ID = 10,
       TRACK_EVENT = 11,
       INTERNED_DATA = 12,
       SEQUENCE_FLAGS = 13,
       TRACK_DESCRIPTOR = 60,
       DEFAULTS = 59,
       PERF_SAMPLE = 66,
       STACK_SAMPLE = 135,
};

enum { /* StackSample */
       SAMPLE_TASK = 1,
       SAMPLE_EXECUTION = 3,
       SAMPLE_STACK = 6, /* of the interned ones */
       SAMPLE_COUNTER = 9,
       SAMPLE_WEIGHT = 11,
};

#define DEFAULTS_OF_SAMPLES 100 /* of TracePacketDefaults: StackSampleDefaults */

enum { UNIT_NANOSECONDS = 1, UNIT_BYTES = 4, UNIT_COUNT = 9 };

enum { INTERNED_CATEGORY = 1, INTERNED_EVENT = 2, INTERNED_ARGUMENT = 3, INTERNED_FUNCTION = 5 };
enum { INTERNED_FRAME = 6, INTERNED_STACK = 7, INTERNED_PATH = 17, INTERNED_MAPPING = 19 };

enum { /* TrackEvent */
       EVENT_CATEGORY = 3,
       EVENT_ARGUMENT = 4,
       EVENT_TYPE = 9,
       EVENT_NAME = 10,
       EVENT_TRACK = 11,
       EVENT_VALUE = 44,
       EVENT_FLOW = 47,
       EVENT_STACK = 56,
};

enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };

enum uuid_of { OF_PROCESS = 1, OF_THREAD, OF_KIND, OF_VALUE };

#define FIRST_PACKET 1 /* of sequence_flags: what was interned before holds no longer */
#define LATER_PACKET 2
#define LANES	     64
#define TEXT_BYTES   65536
#define LEN_BYTES    4 /* of a message, which is padded: it is not known when the message begins */

struct perfetto {
	struct tapir_tracks tracks;
	struct tapir_map interned;  /* kind and text -> iid */
	struct tapir_map described; /* tracks */
	struct tapir_map lanes;	    /* of a kind: a bit of each that is taken */
	struct tapir_map frames;    /* label and kind -> iid */
	uint64_t *stacks;	    /* a bit per node: it is interned */
	size_t stack_words;
	uint64_t iid_cnt, single_cnt;
	struct tapir_str text;
	bool has_perf_samples;
	struct tapir_map counted_probes; /* probe -> its counts, and which of their rows + 1 */
};

/* ---- protobuf ----------------------------------------------------------------------------------- */

static void add_varint(struct tapir_str *out, uint64_t value)
{
	for (; value > 127; value >>= 7)
		tapir_str__addc(out, (char)(value | 128));
	tapir_str__addc(out, (char)value);
}

static void add_u64(struct tapir_str *out, unsigned field, uint64_t value)
{
	add_varint(out, field << 3);
	add_varint(out, value);
}

static void add_fixed(struct tapir_str *out, unsigned field, uint64_t value)
{
	add_varint(out, field << 3 | 1);
	for (int i = 0; i < 8; i++)
		tapir_str__addc(out, (char)(value >> 8 * i));
}

static void add_double(struct tapir_str *out, unsigned field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	add_fixed(out, field, bits);
}

/* A string of protobuf is UTF-8. */
static void add_perfetto_text(struct tapir_str *out, unsigned field, struct tapir_sv text)
{
	struct tapir_str clean = {};

	tapir_str__add_utf8(&clean, text.data, text.len);
	add_varint(out, field << 3 | 2);
	add_varint(out, clean.len);
	tapir_str__add(out, clean.data ? clean.data : "", clean.len);
	out->failed |= clean.failed;
	tapir_str__fini(&clean);
}

/* Returns where the message's content begins. */
static size_t open_message(struct tapir_str *out, unsigned field)
{
	add_varint(out, field << 3 | 2);
	tapir_str__add(out, "\0\0\0", LEN_BYTES);
	return out->len;
}

static void close_message(struct tapir_str *out, size_t from)
{
	size_t len = out->len - from;

	if (out->failed)
		return;
	for (int i = 0; i < LEN_BYTES; i++)
		out->data[from - LEN_BYTES + (size_t)i] =
			(char)((len >> 7 * i & 127) | (i < LEN_BYTES - 1 ? 128 : 0));
}

/* ---- packets ------------------------------------------------------------------------------------ */

static size_t open_packet(struct perfetto *p)
{
	struct tapir_str *out = &p->tracks.x->out;
	size_t packet = open_message(out, PACKET);

	add_u64(out, SEQUENCE_ID, 1);
	add_u64(out, SEQUENCE_FLAGS, LATER_PACKET);
	return packet;
}

/* iid 0: out of memory. *is_new: its description is missing. */
static uint64_t iid_of(struct perfetto *p, struct tapir_map *map, uint64_t key, bool *is_new)
{
	uint64_t *slot = tapir_map__put(map, key, is_new);

	if (!slot) {
		p->tracks.failed = true;
		*is_new = false;
		return 0;
	}
	if (*is_new)
		*slot = ++p->iid_cnt;
	return *slot;
}

/* A packet of its own with the name, the first time. */
static uint64_t intern(struct perfetto *p, unsigned kind, struct tapir_sv text)
{
	struct tapir_str *out = &p->tracks.x->out;
	bool is_new = false;
	uint64_t iid;
	size_t packet, data, entry;

	if (!text.data)
		text = tapir_sv__of("?");
	iid = iid_of(p, &p->interned, tapir_hash__bytes(kind, text.data, text.len), &is_new);
	if (!is_new)
		return iid;
	packet = open_packet(p);
	data = open_message(out, INTERNED_DATA);
	entry = open_message(out, kind);
	add_u64(out, 1, iid);
	add_perfetto_text(out, 2, text);
	close_message(out, entry);
	close_message(out, data);
	close_message(out, packet);
	return iid;
}

static uint64_t uuid_of(enum uuid_of description, uint32_t tgid, uint64_t id)
{
	return tapir_hash__mix(tapir_hash__mix(description, tgid), id) | 1;
}

static size_t open_event(struct perfetto *p, uint64_t time_ns, unsigned type, uint64_t track,
			 size_t *event)
{
	struct tapir_str *out = &p->tracks.x->out;
	size_t packet = open_packet(p);

	add_u64(out, TIMESTAMP, time_ns);
	*event = open_message(out, TRACK_EVENT);
	add_u64(out, EVENT_TYPE, type);
	add_u64(out, EVENT_TRACK, track);
	return packet;
}

static void close_two(struct perfetto *p, size_t packet, size_t message)
{
	close_message(&p->tracks.x->out, message);
	close_message(&p->tracks.x->out, packet);
}

static size_t open_track(struct perfetto *p, uint64_t uuid, uint64_t parent, size_t *track)
{
	struct tapir_str *out = &p->tracks.x->out;
	size_t packet = open_packet(p);

	*track = open_message(out, TRACK_DESCRIPTOR);
	add_u64(out, 1, uuid);
	if (parent)
		add_u64(out, 5, parent);
	return packet;
}

static bool is_described(struct perfetto *p, uint64_t uuid)
{
	bool is_new = false;

	if (!tapir_map__put(&p->described, uuid, &is_new))
		p->tracks.failed = true;
	return !is_new;
}

static void on_thread(void *ctx, uint32_t tgid, uint32_t tid, struct tapir_sv name,
		      struct tapir_sv process)
{
	struct perfetto *p = ctx;
	struct tapir_str *out = &p->tracks.x->out;
	size_t track, inner, packet;

	if (!is_described(p, uuid_of(OF_PROCESS, tgid, 0)) || process.len) {
		packet = open_track(p, uuid_of(OF_PROCESS, tgid, 0), 0, &track);
		inner = open_message(out, 3); /* ProcessDescriptor */
		add_u64(out, 1, tgid);
		if (process.len)
			add_perfetto_text(out, 6, process);
		close_message(out, inner);
		close_two(p, packet, track);
	}
	packet = open_track(p, uuid_of(OF_THREAD, tgid, tid), uuid_of(OF_PROCESS, tgid, 0), &track);
	inner = open_message(out, 4); /* ThreadDescriptor */
	add_u64(out, 1, tgid);
	add_u64(out, 2, tid);
	if (name.len)
		add_perfetto_text(out, 5, name);
	close_message(out, inner);
	close_two(p, packet, track);
}

/* ---- stacks ------------------------------------------------------------------------------------- */

/* A mapping for each kind of code: readers before 58 require one of each frame. */
static void intern_mappings(struct perfetto *p)
{
	struct tapir_str *out = &p->tracks.x->out;

	for (unsigned kind = 0; kind < TAPIR_FRAME_KIND_CNT; kind++) {
		char path[32] = {'['};
		size_t packet, data, mapping;
		uint64_t iid;

		strncat(path, kind ? tapir_frame_kind__name(kind) : "process", sizeof(path) - 3);
		strcat(path, "]");
		iid = intern(p, INTERNED_PATH, tapir_sv__of(path));
		packet = open_packet(p);
		data = open_message(out, INTERNED_DATA);
		mapping = open_message(out, INTERNED_MAPPING);
		add_u64(out, 1, kind + 1);
		add_u64(out, 4, 0);
		add_u64(out, 5, UINT32_MAX);
		add_u64(out, 7, iid);
		close_message(out, mapping);
		close_two(p, packet, data);
	}
}

static uint64_t frame_of(struct perfetto *p, uint32_t idx)
{
	struct tapir_stack_tree *tree = &p->tracks.tree;
	const struct tapir_tree_node *node = &tree->nodes.data[idx];
	struct tapir_str *out = &p->tracks.x->out;
	bool is_new = false;
	uint64_t name, iid = iid_of(p, &p->frames,
				    tapir_hash__mix(node->name,
						    (uint64_t)node->location << 8 | node->kind),
				    &is_new);
	size_t packet, data, frame;

	if (!is_new)
		return iid;
	tapir_str__clear(&p->text);
	tapir_stack_tree__add_label(&p->text, tree, idx);
	p->tracks.failed |= p->text.failed;
	name = intern(p, INTERNED_FUNCTION, (struct tapir_sv){p->text.data, p->text.len});
	packet = open_packet(p);
	data = open_message(out, INTERNED_DATA);
	frame = open_message(out, INTERNED_FRAME);
	add_u64(out, 1, iid);
	add_u64(out, 2, name);
	add_u64(out, 3, node->kind + 1);
	add_u64(out, 4, iid); /* no address: a number of its own, so that frames stay apart */
	close_message(out, frame);
	close_two(p, packet, data);
	return iid;
}

static bool is_interned(struct perfetto *p, uint32_t node)
{
	size_t word = node / 64, cnt = p->tracks.tree.nodes.cap / 64 + 1;
	bool was;

	if (word >= p->stack_words) {
		uint64_t *grown = reallocarray(p->stacks, cnt, sizeof(*grown));

		if (!grown) {
			p->tracks.failed = true;
			return true;
		}
		memset(grown + p->stack_words, 0, (cnt - p->stack_words) * sizeof(*grown));
		p->stacks = grown;
		p->stack_words = cnt;
	}
	was = p->stacks[word] >> node % 64 & 1;
	p->stacks[word] |= 1ull << node % 64;
	return was;
}

/* 0: there is none. Frames are written outermost first. */
static uint64_t stack_of(struct perfetto *p, uint32_t node)
{
	const struct tapir_stack_tree *tree = &p->tracks.tree;
	struct tapir_str *out = &p->tracks.x->out;
	struct tapir_vec(uint64_t) frames = {};
	size_t packet, data, stack;

	if (node == UINT32_MAX || node == TAPIR_STACK_TREE_ROOT)
		return 0;
	if (is_interned(p, node))
		return node;
	for (uint32_t n = node; n != TAPIR_STACK_TREE_ROOT; n = tree->nodes.data[n].parent)
		p->tracks.failed |= !tapir_vec__push(&frames, frame_of(p, n));
	packet = open_packet(p);
	data = open_message(out, INTERNED_DATA);
	stack = open_message(out, INTERNED_STACK);
	add_u64(out, 1, node);
	for (size_t i = frames.cnt; i-- > 0;)
		add_u64(out, 2, frames.data[i]);
	close_message(out, stack);
	close_two(p, packet, data);
	tapir_vec__fini(&frames);
	return node;
}

static void on_perf_sample(void *ctx, const struct tapir_rec_sample *rec, uint32_t node)
{
	struct perfetto *p = ctx;
	struct tapir_str *out = &p->tracks.x->out;
	uint64_t stack = stack_of(p, node);
	size_t packet = open_packet(p), sample;

	add_u64(out, TIMESTAMP, rec->h.time_ns);
	sample = open_message(out, PERF_SAMPLE);
	if (rec->h.cpu != TAPIR_CPU_UNKNOWN)
		add_u64(out, 1, rec->h.cpu);
	add_u64(out, 2, rec->tgid);
	add_u64(out, 3, rec->tid);
	if (stack)
		add_u64(out, 4, stack);
	close_two(p, packet, sample);
}

/* A stack with a weight. */
struct weighted {
	uint64_t time_ns, weight;
	uint32_t tgid, tid, node;
	int cpu; /* -1: it was on none, or it is not known */
	const char *counter;
	unsigned unit;
};

static void add_perfetto_counter(struct tapir_str *out, unsigned field, const char *name,
				 unsigned unit)
{
	size_t counter = open_message(out, field);

	add_perfetto_text(out, 2, tapir_sv__of(name));
	add_u64(out, 3, unit);
	close_message(out, counter);
}

static void add_weighted(struct perfetto *p, const struct weighted *w)
{
	struct tapir_str *out = &p->tracks.x->out;
	uint64_t stack = stack_of(p, w->node);
	size_t packet = open_packet(p), sample, inner;

	add_u64(out, TIMESTAMP, w->time_ns);
	sample = open_message(out, STACK_SAMPLE);
	inner = open_message(out, SAMPLE_TASK);
	add_u64(out, 2, w->tgid);
	add_u64(out, 3, w->tid);
	close_message(out, inner);
	if (w->cpu >= 0) {
		inner = open_message(out, SAMPLE_EXECUTION);
		add_u64(out, 2, (uint64_t)w->cpu);
		close_message(out, inner);
	}
	if (stack)
		add_u64(out, SAMPLE_STACK, stack);
	add_perfetto_counter(out, SAMPLE_COUNTER, w->counter, w->unit);
	add_u64(out, SAMPLE_WEIGHT, w->weight);
	close_two(p, packet, sample);
}

static void perfetto_on_sample(void *ctx, const struct tapir_rec_sample *rec, uint32_t node)
{
	struct perfetto *p = ctx;
	bool is_clock = tapir_sample_event__is_clock(
		tapir_catalog__meta_value(p->tracks.x->catalog, "sample_event"));

	add_weighted(p, &(struct weighted){.time_ns = rec->h.time_ns,
					   .weight = rec->period,
					   .tgid = rec->tgid,
					   .tid = rec->tid,
					   .node = node,
					   .cpu = rec->h.cpu == TAPIR_CPU_UNKNOWN ? -1 : rec->h.cpu,
					   .counter = is_clock ? "cpu-time" : "period",
					   .unit = is_clock ? UNIT_NANOSECONDS : UNIT_COUNT});
}

static void perfetto_on_wait(void *ctx, const struct tapir_offcpu_span *wait, uint32_t node)
{
	add_weighted(ctx, &(struct weighted){.time_ns = wait->from_ns,
					     .weight = wait->until_ns - wait->from_ns,
					     .tgid = wait->tgid,
					     .tid = wait->tid,
					     .node = node,
					     .cpu = -1,
					     .counter = "off-cpu",
					     .unit = UNIT_NANOSECONDS});
}

/* ---- events ------------------------------------------------------------------------------------- */

static void add_perfetto_number(struct tapir_str *out, const struct tapir_value *v)
{
	switch (v->type) {
	case TAPIR_FIELD_INT:
		add_u64(out, 4, (uint64_t)v->i64);
		return;
	case TAPIR_FIELD_FLOAT:
		add_double(out, 5, v->f64);
		return;
	case TAPIR_FIELD_PTR:
		add_u64(out, 7, v->u64);
		return;
	case TAPIR_FIELD_BOOL:
		add_u64(out, 2, v->u64 != 0);
		return;
	default:
		add_u64(out, 3, v->u64);
		return;
	}
}

static bool is_number(const struct tapir_value *v)
{
	return !v->layout && !(v->flags & TAPIR_VALUE_ABSENT) &&
	       (v->type == TAPIR_FIELD_INT || v->type == TAPIR_FIELD_UINT ||
		v->type == TAPIR_FIELD_FLOAT || v->type == TAPIR_FIELD_PTR ||
		v->type == TAPIR_FIELD_BOOL);
}

static void add_argument(struct perfetto *p, uint64_t name, const struct tapir_value *v)
{
	struct tapir_str *out = &p->tracks.x->out;
	size_t argument = open_message(out, EVENT_ARGUMENT);

	add_u64(out, 1, name);
	if (is_number(v)) {
		add_perfetto_number(out, v);
	} else {
		tapir_str__clear(&p->text);
		tapir_event_fields__add_value(v, TEXT_BYTES, &p->text);
		p->tracks.failed |= p->text.failed;
		add_perfetto_text(out, 6, (struct tapir_sv){p->text.data, p->text.len});
	}
	close_message(out, argument);
}

/* rec: it, or what it ends, is of a trace, if it has ids; NULL: none. */
static void add_flow(struct tapir_str *out, const struct tapir_rec *rec)
{
	struct tapir_trace_ids ids;

	if (rec && tapir_trace__find_ids(rec, &ids))
		add_fixed(out, EVENT_FLOW,
			  tapir_hash__bytes(1, ids.trace_id, sizeof(ids.trace_id)));
}

static void add_perfetto_label(struct perfetto *p, const char *name, const char *text)
{
	struct tapir_str *out = &p->tracks.x->out;
	size_t argument = open_message(out, EVENT_ARGUMENT);

	add_perfetto_text(out, 10, tapir_sv__of(name));
	add_perfetto_text(out, 6, tapir_sv__of(text));
	close_message(out, argument);
}

/* ---- events as samples ---------------------------------------------------------------------------- */

static const struct tapir_counted_event *counted_events_of(struct perfetto *p,
							   const struct tapir_probe_view *probe,
							   enum tapir_event_counts_id *id)
{
	const struct tapir_counted_event *e;
	bool is_new;
	uint64_t *slot = tapir_map__put(&p->counted_probes, probe->rec->probe_id, &is_new);

	if (!slot) {
		p->tracks.failed = true;
		return NULL;
	}
	for (unsigned counts = 1; is_new && !*slot && counts < TAPIR_COUNTS_CNT; counts++)
		for (size_t i = 0; !*slot && (e = tapir_lore__counted_event(counts, i)); i++)
			if (tapir_sv__is(probe->provider, e->provider) &&
			    tapir_sv__is(probe->event, e->event))
				*slot = (i + 1) * TAPIR_COUNTS_CNT + counts;
	*id = *slot % TAPIR_COUNTS_CNT;
	return *slot ? tapir_lore__counted_event(*id, *slot / TAPIR_COUNTS_CNT - 1) : NULL;
}

/* Returns the first of the fields, separated by ' ', that is a number and not 0; else 1. */
static uint64_t weight_of(const char *fields, const struct tapir_value *values, unsigned cnt)
{
	for (size_t len; fields && *fields; fields += len + (fields[len] == ' ')) {
		len = strcspn(fields, " ");
		for (unsigned i = 0; i < cnt; i++)
			if (values[i].name.len == len &&
			    !memcmp(values[i].name.data, fields, len) &&
			    values[i].type == TAPIR_FIELD_UINT && is_number(&values[i]) &&
			    values[i].u64)
				return values[i].u64;
	}
	return 1;
}

/* An event of an allocation or an exception is a sample, too: a flame graph has its stack. */
static void add_counted(struct perfetto *p, const struct tapir_rec_event *ev,
			const struct tapir_probe_view *probe, uint32_t node)
{
	static const char *const counters[TAPIR_COUNTS_CNT] = {
		[TAPIR_COUNTS_EXCEPTIONS] = "exceptions",
		[TAPIR_COUNTS_ALLOCATIONS] = "allocations",
		[TAPIR_COUNTS_ALLOCATION_SAMPLES] = "sampled allocations"};
	enum tapir_event_counts_id id = TAPIR_COUNTS_NONE;
	const struct tapir_counted_event *e = probe ? counted_events_of(p, probe, &id) : NULL;
	const struct tapir_value *values;
	unsigned cnt = 0;

	if (!e || p->has_perf_samples)
		return;
	values = e->weight ? tapir_event_lines__values(p->tracks.lines, &ev->h, &cnt) : NULL;
	add_weighted(p, &(struct weighted){.time_ns = ev->h.time_ns,
					   .weight = weight_of(e->weight, values, values ? cnt : 0),
					   .tgid = ev->tgid,
					   .tid = ev->tid,
					   .node = node,
					   .cpu = -1,
					   .counter = counters[id],
					   .unit = e->weight ? UNIT_BYTES : UNIT_COUNT});
}

/* Everything that it refers to is written before it. */
static void perfetto_on_event(void *ctx, const struct tapir_rec_event *ev,
			      const struct tapir_probe_view *probe)
{
	struct perfetto *p = ctx;
	struct tapir_str *out = &p->tracks.x->out, name = {};
	uint64_t category =
		intern(p, INTERNED_CATEGORY, probe ? probe->provider : (struct tapir_sv){});
	uint64_t event = intern(p, INTERNED_EVENT, probe ? probe->event : tapir_sv__of("unknown"));
	uint32_t node =
		tapir_stack_tree__record_node(&p->tracks.tree, p->tracks.x->catalog, &ev->h);
	uint64_t stack = stack_of(p, node);
	uint64_t names[TAPIR_EVENT_FIELDS_MAX];
	unsigned cnt = 0;
	const struct tapir_value *values = tapir_event_lines__values(p->tracks.lines, &ev->h, &cnt);
	size_t message, packet;

	/*
	 * Names are interned before the event's packet is begun, since each new one is a packet by
	 * itself.
	 */
	cnt = values ? cnt : 0;
	cnt = cnt < TAPIR_EVENT_FIELDS_MAX ? cnt : TAPIR_EVENT_FIELDS_MAX;
	for (unsigned i = 0; i < cnt; i++) {
		tapir_str__clear(&name);
		tapir_value__add_name(&name, values[i].name, i);
		names[i] = intern(p, INTERNED_ARGUMENT, (struct tapir_sv){name.data, name.len});
	}
	packet = open_event(p, ev->h.time_ns, INSTANT, uuid_of(OF_THREAD, ev->tgid, ev->tid),
			    &message);
	add_u64(out, EVENT_CATEGORY, category);
	add_u64(out, EVENT_NAME, event);
	for (unsigned i = 0; i < cnt; i++)
		add_argument(p, names[i], &values[i]);
	if (stack)
		add_u64(out, EVENT_STACK, stack);
	add_flow(out, &ev->h);
	close_two(p, packet, message);
	add_counted(p, ev, probe, node);
	p->tracks.failed |= name.failed;
	tapir_str__fini(&name);
}

/* ---- intervals ---------------------------------------------------------------------------------- */

static bool is_of_process(const struct tapir_interval *i)
{
	return i->is_request || i->activity;
}

static uint64_t *lanes_of(struct perfetto *p, const struct tapir_interval *i)
{
	bool is_new;
	uint64_t key = uuid_of(OF_KIND, i->tgid, is_of_process(i) ? 0 : i->tid);
	uint64_t *slot = tapir_map__put(&p->lanes, tapir_hash__mix(key, i->kind), &is_new);

	p->tracks.failed |= !slot;
	return slot;
}

/* Remembers in the interval which lane it takes, from 1 on; NULL: none was free. */
static void on_begin(void *ctx, struct tapir_interval *i)
{
	uint64_t *lanes = lanes_of(ctx, i);
	unsigned lane = 0;

	while (lanes && lane < LANES && *lanes >> lane & 1)
		lane++;
	if (!lanes || lane == LANES)
		return;
	*lanes |= 1ull << lane;
	i->details = (void *)(uintptr_t)(lane + 1);
}

/* One without a lane has a track for itself: readers draw tracks of one name together. */
static uint64_t track_of(struct perfetto *p, struct tapir_interval *i,
			 const struct tapir_interval_kind *kind)
{
	uintptr_t lane = (uintptr_t)i->details;
	uint64_t *lanes = lane ? lanes_of(p, i) : NULL;
	uint64_t parent = is_of_process(i) ? uuid_of(OF_PROCESS, i->tgid, 0)
					   : uuid_of(OF_THREAD, i->tgid, i->tid);
	uint64_t id = lane ? lane : LANES + ++p->single_cnt;
	uint64_t uuid = tapir_hash__mix(tapir_hash__mix(parent, i->kind), id) | 1;
	size_t packet, track;

	if (lanes)
		*lanes &= ~(1ull << (lane - 1));
	i->details = NULL;
	if (lane && is_described(p, uuid))
		return uuid;
	packet = open_track(p, uuid, parent, &track);
	add_perfetto_text(&p->tracks.x->out, 2, tapir_sv__of(kind->name));
	close_two(p, packet, track);
	return uuid;
}

static void on_end(void *ctx, struct tapir_interval *i, const struct tapir_interval_kind *kind)
{
	struct perfetto *p = ctx;
	struct tapir_str *out = &p->tracks.x->out;
	uint64_t category = intern(p, INTERNED_CATEGORY, tapir_sv__of(kind->provider));
	uint64_t name = intern(p, INTERNED_EVENT, tapir_sv__of(kind->name));
	uint64_t track = track_of(p, i, kind);
	size_t event, packet = open_event(p, i->from_ns, SLICE_BEGIN, track, &event);

	add_u64(out, EVENT_CATEGORY, category);
	add_u64(out, EVENT_NAME, name);
	if (i->label)
		add_perfetto_label(p, "label", i->label);
	if (i->flags & TAPIR_INTERVAL_NO_BEGIN)
		add_perfetto_label(p, "begin", "not recorded");
	if (i->flags & TAPIR_INTERVAL_NO_END)
		add_perfetto_label(p, "end", "not recorded");
	add_flow(out, tapir_tracks__ending(&p->tracks));
	close_two(p, packet, event);
	packet = open_event(p, i->until_ns, SLICE_END, track, &event);
	close_two(p, packet, event);
}

static void on_value(void *ctx, const struct tapir_track_value *v)
{
	struct perfetto *p = ctx;
	struct tapir_str *out = &p->tracks.x->out;
	uint64_t uuid = uuid_of(OF_VALUE, v->tgid, tapir_hash__bytes(1, v->name.data, v->name.len));
	size_t packet, message, counter;

	/* A track is described once, before its first event, and its parent before it. */
	if (v->tgid && !is_described(p, uuid_of(OF_PROCESS, v->tgid, 0))) {
		packet = open_track(p, uuid_of(OF_PROCESS, v->tgid, 0), 0, &message);
		counter = open_message(out, 3);
		add_u64(out, 1, v->tgid);
		close_message(out, counter);
		close_two(p, packet, message);
	}
	if (!is_described(p, uuid)) {
		packet = open_track(p, uuid, v->tgid ? uuid_of(OF_PROCESS, v->tgid, 0) : 0,
				    &message);
		add_perfetto_text(out, 2, v->name);
		counter = open_message(out, 8);
		if (v->unit.len)
			add_perfetto_text(out, 6, v->unit);
		close_message(out, counter);
		close_two(p, packet, message);
	}
	packet = open_event(p, v->time_ns, COUNTER, uuid, &message);
	add_double(out, EVENT_VALUE, v->value);
	close_two(p, packet, message);
}

/* ---- the sink ------------------------------------------------------------------------------------ */

/* Records have CLOCK_MONOTONIC, which stands for the trace's own clock; UTC is with it. */
static void add_clocks(struct perfetto *p)
{
	static const unsigned ids[] = {6 /* BOOTTIME */, 3 /* MONOTONIC */, 1 /* REALTIME */};
	const struct tapir_reader_stats *stats = tapir_reader__stats(p->tracks.x->reader);
	struct tapir_str *out = &p->tracks.x->out;
	size_t packet = open_message(out, PACKET), snapshot, clock;

	add_u64(out, SEQUENCE_ID, 1);
	add_u64(out, SEQUENCE_FLAGS, FIRST_PACKET);
	snapshot = open_message(out, CLOCK_SNAPSHOT);
	for (unsigned i = 0; i < 3; i++) {
		clock = open_message(out, 1);
		add_u64(out, 1, ids[i]);
		add_u64(out, 2, i < 2 ? stats->created_ns : stats->created_utc_ns);
		close_message(out, clock);
	}
	close_two(p, packet, snapshot);
}

/* Names the source of all StackSample packets. */
static void add_defaults(struct perfetto *p)
{
	struct tapir_str *out = &p->tracks.x->out;
	size_t packet = open_packet(p), defaults = open_message(out, DEFAULTS),
	       samples = open_message(out, DEFAULTS_OF_SAMPLES);

	add_perfetto_text(out, 1, tapir_sv__of("tapir"));
	close_message(out, samples);
	close_two(p, packet, defaults);
}

static int begin(struct tapir_export *x, const struct tapir_tracks_fns *fns)
{
	struct perfetto *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	x->state = p;
	p->has_perf_samples = !fns->wait;
	err = tapir_tracks__init(&p->tracks, x, fns, p);
	if (err)
		return err;
	add_clocks(p);
	if (!p->has_perf_samples)
		add_defaults(p);
	intern_mappings(p);
	return 0;
}

#define FNS_OF_BOTH                                                                                \
	.thread = on_thread, .event = perfetto_on_event, .value = on_value, .begin = on_begin,     \
	.end = on_end

static int begin_perfetto(struct tapir_export *x)
{
	static const struct tapir_tracks_fns fns = {FNS_OF_BOTH, .sample = perfetto_on_sample,
						    .wait = perfetto_on_wait};

	return begin(x, &fns);
}

static int begin_perfetto57(struct tapir_export *x)
{
	static const struct tapir_tracks_fns fns = {FNS_OF_BOTH, .sample = on_perf_sample};

	return begin(x, &fns);
}

static int perfetto_add(struct tapir_export *x, const struct tapir_rec *rec)
{
	struct perfetto *p = x->state;

	return tapir_tracks__add(&p->tracks, rec);
}

static int end_perfetto(struct tapir_export *x)
{
	struct perfetto *p = x->state;

	return tapir_tracks__finish(&p->tracks);
}

static void free_perfetto(struct tapir_export *x)
{
	struct perfetto *p = x->state;

	if (!p)
		return;
	tapir_map__fini(&p->interned);
	tapir_map__fini(&p->described);
	tapir_map__fini(&p->lanes);
	tapir_map__fini(&p->frames);
	tapir_map__fini(&p->counted_probes);
	free(p->stacks);
	tapir_str__fini(&p->text);
	tapir_tracks__fini(&p->tracks);
	free(p);
}

const struct tapir_sink tapir_sink_perfetto = {
	.name = "perfetto",
	.description = "the same and waits, of any length, for ui.perfetto.dev",
	.lacks = "who ended a wait, mappings",
	.suffix = "pftrace",
	.content = TAPIR_SINK_IS_BINARY,
	.has_switches = true,
	.is_complete = true,
	.takes_all = true,
	.describes = true,
	.begin = begin_perfetto,
	.add = perfetto_add,
	.end = end_perfetto,
	.free = free_perfetto,
};

const struct tapir_sink tapir_sink_perfetto57 = {
	.name = "perfetto57",
	.description = "the same for trace_processor before version 58",
	.lacks = "waits, mappings, periods of samples",
	.suffix = "pftrace",
	.content = TAPIR_SINK_IS_BINARY,
	.is_complete = true,
	.takes_all = true,
	.describes = true,
	.begin = begin_perfetto57,
	.add = perfetto_add,
	.end = end_perfetto,
	.free = free_perfetto,
};
