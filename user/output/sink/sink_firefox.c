// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The processed profile format of the Firefox Profiler, version 60, which all later ones upgrade:
 * one table of stacks for all threads. Events are markers of their threads, with a schema for each
 * kind; intervals are markers with a length; counters and losses are markers whose schema has a
 * chart. Events of one trace have one flow id: the profiler draws arrows between them.
 *
 * A thread's columns stand together in the document, so samples and markers are held until the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/keyed.h"
#include "base/log.h"
#include "decode/value.h"
#include "output/sink/sink_tracks.h"
#include "symbol/frame_kind.h"
#include "trace/trace_filter.h"

#define FORMAT_VERSION 60
#define GECKO_VERSION  31 /* of the format before processing; readers do not use it */
/*
 * The limit of what is held. It becomes at most twice as many bytes, and the tables of stacks 100
 * MB: V8 has no string beyond 512 MB, and the profiler parses the document as one.
 */
#define MAX_BYTES      (192u << 20)
#define EXACT_DIGITS   15 /* of an integer that a double of JavaScript holds */
#define STRING_BYTES   (32u << 20)
#define ARENA_BYTES    (64u << 20) /* and names of schemas and fields */
#define MAX_FIELDS     64	   /* of a schema; others have no label */

struct sample {
	uint64_t time_ns;
	uint32_t node;
};

struct marker {
	uint64_t from_ns, until_ns;
	size_t data_at;
	uint32_t data_len, name;
	bool is_interval;
};

struct track {
	uint32_t tgid, tid, name, process; /* strings */
	struct tapir_vec(struct sample) samples;
	struct tapir_vec(struct marker) markers;
	struct tapir_str data; /* of all markers */
};

struct field {
	char *key;
	bool is_text; /* a value of it is no number that JavaScript holds */
	bool is_real; /* or is no integer */
};

enum schema_kind { SCHEMA_EVENT, SCHEMA_INTERVAL, SCHEMA_VALUE };

struct schema {
	char *name;
	enum schema_kind kind;
	struct tapir_vec(struct field) fields;
};

struct firefox {
	struct tapir_tracks tracks;
	struct tapir_arena arena;		  /* strings, names of schemas and fields */
	struct tapir_keyed(char *) strings;	  /* by hash, as schemas */
	struct tapir_keyed(struct track) threads; /* by ids */
	struct tapir_keyed(struct schema) schemas;
	struct tapir_keyed(uint32_t) functions; /* a node of each */
	uint32_t *function_of;			/* of a node */
	struct tapir_str value, piece;
	uint64_t held_bytes, last_ns;
};

/* ---- strings, schemas, threads -------------------------------------------------------------- */

/* Past the bound all new strings are one. */
static uint32_t string_of(struct firefox *f, struct tapir_sv text)
{
	uint64_t key;
	char **string;

	if (!text.data || f->arena.bytes > STRING_BYTES)
		text = text.data ? tapir_sv__of("(more names)") : tapir_sv__of("?");
	key = tapir_hash__bytes(3, text.data, text.len);
	string = tapir_keyed__add(&f->strings, key, UINT32_MAX, NULL);
	if (string && !*string)
		*string = tapir_arena__text(&f->arena, text.data, text.len);
	if (string && *string)
		return (uint32_t)(string - f->strings.data);
	if (string)
		tapir_keyed__undo(&f->strings, key);
	f->tracks.failed = true;
	return 0;
}

static struct schema *schema_of(struct firefox *f, enum schema_kind kind, struct tapir_sv name)
{
	uint64_t key = tapir_hash__bytes(kind + 1, name.data, name.len);
	struct schema *schema =
		tapir_keyed__add(&f->schemas, key, UINT32_MAX, ((struct schema){.kind = kind}));

	if (schema && !schema->name)
		schema->name = tapir_arena__text(&f->arena, name.data, name.len);
	if (schema && schema->name)
		return schema;
	if (schema)
		tapir_keyed__undo(&f->schemas, key);
	f->tracks.failed = true;
	return NULL;
}

/* Finds its idx-th field, whose name is mostly what it was for the event before, or adds it. */
static struct field *field_of(struct firefox *f, struct schema *schema, size_t idx, const char *key)
{
	struct field *field;

	for (size_t i = idx; i < schema->fields.cnt; i++)
		if (!strcmp(schema->fields.data[i].key, key))
			return &schema->fields.data[i];
	if (schema->fields.cnt == MAX_FIELDS)
		return NULL;
	field = tapir_vec__add(&schema->fields);
	if (field)
		field->key = tapir_arena__text(&f->arena, key, strlen(key));
	if (!field || !field->key) {
		f->tracks.failed = true;
		return NULL;
	}
	return field;
}

static struct track *track_of(struct firefox *f, uint32_t tgid, uint32_t tid)
{
	size_t before = f->threads.cnt;
	struct track *track = tapir_keyed__add(&f->threads, (uint64_t)tgid << 32 | tid, UINT32_MAX,
					       ((struct track){.tgid = tgid, .tid = tid}));

	f->tracks.failed |= !track;
	if (f->threads.cnt > before)
		track->name = track->process =
			string_of(f, tgid ? (struct tapir_sv){} : tapir_sv__of("losses"));
	return track;
}

static void on_thread(void *ctx, uint32_t tgid, uint32_t tid, struct tapir_sv name,
		      struct tapir_sv process)
{
	struct firefox *f = ctx;
	struct track *track = track_of(f, tgid, tid);

	if (track && name.len)
		track->name = string_of(f, name);
	if (track && process.len)
		track->process = string_of(f, process);
}

/* ---- markers ---------------------------------------------------------------------------------- */

static bool has_room(struct firefox *f, size_t bytes, uint64_t until_ns)
{
	if (f->held_bytes + bytes > MAX_BYTES) {
		f->tracks.skipped_cnt++;
		return false;
	}
	f->held_bytes += bytes;
	if (until_ns > f->last_ns)
		f->last_ns = until_ns;
	return true;
}

/* f->piece has the marker's data. */
static void keep_marker(struct firefox *f, struct track *track, const struct marker *made)
{
	struct marker *marker;

	if (f->piece.failed)
		f->tracks.failed = true;
	if (!track || f->tracks.failed ||
	    !has_room(f, sizeof(*marker) + f->piece.len, made->until_ns))
		return;
	marker = tapir_vec__add(&track->markers);
	if (!marker) {
		f->tracks.failed = true;
		return;
	}
	*marker = *made;
	marker->data_at = track->data.len;
	marker->data_len = (uint32_t)f->piece.len;
	tapir_str__add(&track->data, f->piece.data, f->piece.len);
	f->tracks.failed |= track->data.failed;
}

static struct tapir_json open_data(struct firefox *f, const char *type, uint32_t node)
{
	struct tapir_json j;

	tapir_str__clear(&f->piece);
	j = tapir_json__to(&f->piece);
	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "type", type);
	if (node == UINT32_MAX || node == TAPIR_STACK_TREE_ROOT)
		return j;
	tapir_json__open(&j, "cause", '{');
	tapir_json__u64(&j, "stack", node - 1);
	tapir_json__close(&j, '}');
	return j;
}

static void add_trace(struct firefox *f, struct tapir_json *j, struct schema *schema,
		      const struct tapir_rec *rec)
{
	struct tapir_trace_ids ids;
	struct tapir_str hex = {};

	if (!rec || !tapir_trace__find_ids(rec, &ids))
		return;
	tapir_str__add_hex(&hex, ids.trace_id, sizeof(ids.trace_id));
	field_of(f, schema, 0, "trace");
	tapir_json__u64(j, "trace", string_of(f, (struct tapir_sv){hex.data, hex.len}));
	f->tracks.failed |= hex.failed;
	tapir_str__fini(&hex);
}

/* The members that the profiler, or this sink, gives a meaning. */
static bool is_reserved(struct tapir_sv name)
{
	static const char *const names[] = {"type",  "cause",	      "stack",	  "category",
					    "trace", "innerWindowID", "__proto__"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (name.len == strlen(names[i]) && !memcmp(name.data, names[i], name.len))
			return true;
	return false;
}

static bool is_number(const struct tapir_str *value)
{
	return value->len && value->len <= EXACT_DIGITS &&
	       (*value->data == '-' || (*value->data >= '0' && *value->data <= '9'));
}

static void add_firefox_value(struct firefox *f, struct tapir_json *j, struct schema *schema,
			      unsigned idx, const struct tapir_value *value)
{
	struct tapir_str name = {};
	struct field *field;

	tapir_value__add_name(&name, value->name, idx);
	if (name.data && is_reserved((struct tapir_sv){name.data, name.len}))
		tapir_str__addc(&name, '_');
	tapir_str__clear(&f->value);
	tapir_value__add_json(&f->value, value);
	f->tracks.failed |= name.failed || f->value.failed;
	field = f->tracks.failed ? NULL : field_of(f, schema, idx, name.data);
	if (field && f->value.len && strcmp(f->value.data, "null") != 0) {
		tapir_json__strn(j, name.data, "", 0);
		f->piece.len -= 2; /* the empty text: the value stands there */
		if (is_number(&f->value) || *f->value.data == '"')
			tapir_str__add(&f->piece, f->value.data, f->value.len);
		else
			tapir_json__strn(&(struct tapir_json){.out = &f->piece}, NULL,
					 f->value.data, f->value.len);
		field->is_text |= !is_number(&f->value);
		field->is_real |= f->value.data[strspn(f->value.data, "-0123456789")] != 0;
	}
	tapir_str__fini(&name);
}

static void firefox_on_event(void *ctx, const struct tapir_rec_event *ev,
			     const struct tapir_probe_view *probe)
{
	struct firefox *f = ctx;
	struct tapir_sv event = probe ? probe->event : tapir_sv__of("unknown");
	struct tapir_str type = {};
	const struct tapir_value *values;
	struct schema *schema;
	struct tapir_json j;
	unsigned cnt;

	tapir_str__add(&type, probe ? probe->provider.data : "?", probe ? probe->provider.len : 1);
	tapir_str__addc(&type, ':');
	tapir_str__add(&type, event.data, event.len);
	f->tracks.failed |= type.failed;
	/*
	 * Firefox Profiler shows the fields that the schema of a marker's type names: each event
	 * has one of its own.
	 */
	schema = type.failed ? NULL
			     : schema_of(f, SCHEMA_EVENT, (struct tapir_sv){type.data, type.len});
	if (schema) {
		j = open_data(f, schema->name,
			      tapir_stack_tree__record_node(&f->tracks.tree, f->tracks.x->catalog,
							    &ev->h));
		values = tapir_event_lines__values(f->tracks.lines, &ev->h, &cnt);
		for (unsigned i = 0; values && i < cnt; i++)
			add_firefox_value(f, &j, schema, i, &values[i]);
		add_trace(f, &j, schema, &ev->h);
		tapir_json__close(&j, '}');
		keep_marker(f, track_of(f, ev->tgid, ev->tid),
			    &(struct marker){.from_ns = ev->h.time_ns,
					     .until_ns = ev->h.time_ns,
					     .name = string_of(f, event)});
	}
	tapir_str__fini(&type);
}

static void add_firefox_text(struct firefox *f, struct tapir_json *j, struct schema *schema,
			     const char *key, const char *text)
{
	struct field *field = text ? field_of(f, schema, 0, key) : NULL;

	if (!field)
		return;
	field->is_text = true;
	tapir_json__str(j, key, text);
}

static void on_end(void *ctx, struct tapir_interval *i, const struct tapir_interval_kind *kind)
{
	struct firefox *f = ctx;
	struct tapir_str type = {};
	struct schema *schema;
	struct tapir_json j;

	tapir_str__addf(&type, "%s %s (interval)", kind->provider, kind->name);
	f->tracks.failed |= type.failed;
	schema = type.failed
			 ? NULL
			 : schema_of(f, SCHEMA_INTERVAL, (struct tapir_sv){type.data, type.len});
	if (schema) {
		j = open_data(f, schema->name, UINT32_MAX);
		add_firefox_text(f, &j, schema, "label", i->label);
		add_firefox_text(f, &j, schema, "begin",
				 i->flags & TAPIR_INTERVAL_NO_BEGIN ? "not recorded" : NULL);
		add_firefox_text(f, &j, schema, "end",
				 i->flags & TAPIR_INTERVAL_NO_END ? "not recorded" : NULL);
		add_trace(f, &j, schema, tapir_tracks__ending(&f->tracks));
		tapir_json__close(&j, '}');
		keep_marker(f, track_of(f, i->tgid, i->tid),
			    &(struct marker){.from_ns = i->from_ns,
					     .until_ns = i->until_ns,
					     .name = string_of(f, tapir_sv__of(kind->name)),
					     .is_interval = true});
	}
	tapir_str__fini(&type);
}

static void on_value(void *ctx, const struct tapir_track_value *v)
{
	struct firefox *f = ctx;
	struct schema *schema = schema_of(f, SCHEMA_VALUE, v->name);
	struct field *field;
	struct tapir_json j;

	if (!schema)
		return;
	field = field_of(f, schema, 0, "value");
	if (field)
		field->is_real = true;
	j = open_data(f, schema->name, UINT32_MAX);
	tapir_json__f64(&j, "value", v->value);
	if (v->unit.len && v->unit.len < 64) {
		char unit[64] = {};

		memcpy(unit, v->unit.data, v->unit.len);
		add_firefox_text(f, &j, schema, "unit", unit);
	}
	tapir_json__close(&j, '}');
	keep_marker(f, track_of(f, v->tgid, v->tgid),
		    &(struct marker){.from_ns = v->time_ns,
				     .until_ns = v->time_ns,
				     .name = string_of(f, v->name)});
}

static void firefox_on_sample(void *ctx, const struct tapir_rec_sample *rec, uint32_t node)
{
	struct firefox *f = ctx;
	struct track *track = track_of(f, rec->tgid, rec->tid);

	if (track && has_room(f, sizeof(struct sample), rec->h.time_ns) &&
	    !tapir_vec__push(&track->samples, ((struct sample){rec->h.time_ns, node})))
		f->tracks.failed = true;
}

/* ---- the document ------------------------------------------------------------------------------ */

static void add_ms(struct tapir_str *out, uint64_t ns)
{
	tapir_str__addu(out, ns / 1000000);
	if (ns % 1000000)
		tapir_str__addf(out, ".%06u", (unsigned)(ns % 1000000));
}

static void add_time(struct firefox *f, uint64_t time_ns)
{
	add_ms(&f->tracks.x->out, tapir_tracks__since_start(&f->tracks, time_ns));
}

/* "key":[ with cnt elements, which `add` writes ]. */
#define ADD_COLUMN(f, key, cnt_, ...)                                                              \
	do {                                                                                       \
		struct tapir_str *out = &(f)->tracks.x->out;                                       \
                                                                                                   \
		tapir_str__adds(out, key "[");                                                     \
		for (size_t i = 0; i < (cnt_) && !err; i++) {                                      \
			if (i)                                                                     \
				tapir_str__addc(out, ',');                                         \
			__VA_ARGS__;                                                               \
			err = tapir_sink__flush_much((f)->tracks.x);                               \
		}                                                                                  \
		tapir_str__addc(out, ']');                                                         \
	} while (0)

static void add_node(struct tapir_str *out, uint32_t node)
{
	if (node == UINT32_MAX || node == TAPIR_STACK_TREE_ROOT)
		tapir_str__adds(out, "null");
	else
		tapir_str__addu(out, node - 1);
}

static int markers_by_time(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static int by_begin(const void *a, const void *b)
{
	const struct marker *x = a, *y = b;

	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

static int add_samples(struct firefox *f, struct track *t)
{
	size_t cnt = t->samples.cnt;
	int err = 0;

	if (cnt)
		qsort(t->samples.data, cnt, sizeof(*t->samples.data), markers_by_time);
	tapir_str__addf(&f->tracks.x->out,
			",\"samples\":{\"length\":%zu,\"weight\":null,"
			"\"weightType\":\"samples\"",
			cnt);
	ADD_COLUMN(f, ",\"stack\":", cnt, add_node(out, t->samples.data[i].node));
	ADD_COLUMN(f, ",\"time\":", cnt, add_time(f, t->samples.data[i].time_ns));
	tapir_str__addc(&f->tracks.x->out, '}');
	return err;
}

static int add_markers(struct firefox *f, struct track *t)
{
	const struct marker *m = t->markers.data;
	size_t cnt = t->markers.cnt;
	int err = 0;

	if (cnt)
		qsort(t->markers.data, cnt, sizeof(*t->markers.data), by_begin);
	tapir_str__addf(&f->tracks.x->out, ",\"markers\":{\"length\":%zu", cnt);
	ADD_COLUMN(f, ",\"data\":", cnt,
		   tapir_str__add(out, t->data.data + m[i].data_at, m[i].data_len));
	ADD_COLUMN(f, ",\"name\":", cnt, tapir_str__addu(out, m[i].name));
	ADD_COLUMN(f, ",\"startTime\":", cnt, add_time(f, m[i].from_ns));
	ADD_COLUMN(f, ",\"endTime\":", cnt, if (m[i].is_interval) add_time(f, m[i].until_ns);
		   else tapir_str__adds(out, "null"));
	ADD_COLUMN(f, ",\"phase\":", cnt, tapir_str__addc(out, m[i].is_interval ? '1' : '0'));
	ADD_COLUMN(f, ",\"category\":", cnt, tapir_str__addc(out, '0'));
	tapir_str__addc(&f->tracks.x->out, '}');
	return err;
}

static int add_thread(struct firefox *f, struct track *t)
{
	struct tapir_str *out = &f->tracks.x->out;
	struct tapir_json j = tapir_json__to(out);
	int err;

	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "name", f->strings.data[t->name]);
	tapir_json__str(&j, "processName", f->strings.data[t->process]);
	tapir_str__addf(out,
			",\"pid\":\"%u\",\"tid\":%u,\"isMainThread\":%s,\"processType\":\"default\""
			",\"showMarkersInTimeline\":true,\"processStartupTime\":0,"
			"\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
			"\"pausedRanges\":[]",
			t->tgid, t->tid, t->tgid == t->tid ? "true" : "false");
	err = add_samples(f, t);
	if (!err)
		err = add_markers(f, t);
	tapir_str__addc(out, '}');
	return err;
}

static void add_schema(struct firefox *f, const struct schema *s)
{
	struct tapir_json j = tapir_json__to(&f->tracks.x->out);

	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "name", s->name);
	tapir_json__open(&j, "display", '[');
	tapir_json__str(&j, NULL, "marker-chart");
	tapir_json__str(&j, NULL, "marker-table");
	if (s->kind == SCHEMA_INTERVAL)
		tapir_json__str(&j, NULL, "timeline-overview");
	tapir_json__close(&j, ']');
	if (s->kind == SCHEMA_INTERVAL)
		tapir_json__str(&j, "tableLabel", "{marker.data.label}");
	tapir_json__open(&j, "fields", '[');
	for (size_t i = 0; i < s->fields.cnt; i++) {
		const struct field *field = &s->fields.data[i];

		tapir_json__open(&j, NULL, '{');
		tapir_json__str(&j, "key", field->key);
		tapir_json__str(&j, "label", field->key);
		tapir_json__str(&j, "format",
				/*
				 * Markers with the same flow id are connected, across processes
				 * too.
				 */
				!strcmp(field->key, "trace") ? "flow-id"
				: field->is_text	     ? "string"
				: field->is_real	     ? "decimal"
							     : "integer");
		tapir_json__close(&j, '}');
	}
	tapir_json__close(&j, ']');
	if (s->kind == SCHEMA_VALUE) {
		tapir_json__open(&j, "graphs", '[');
		tapir_json__open(&j, NULL, '{');
		tapir_json__str(&j, "key", "value");
		tapir_json__str(&j, "type", "line");
		tapir_json__close(&j, '}');
		tapir_json__close(&j, ']');
	}
	tapir_json__close(&j, '}');
}

static void add_categories(struct tapir_str *out)
{
	static const char *const colors[TAPIR_FRAME_KIND_CNT] = {
		"grey", "blue", "lightblue", "purple", "green", "orange", "yellow"};
	struct tapir_json j = tapir_json__to(out);

	tapir_str__adds(out, ",\"categories\":");
	tapir_json__open(&j, NULL, '[');
	for (unsigned i = 0; i < TAPIR_FRAME_KIND_CNT; i++) {
		tapir_json__open(&j, NULL, '{');
		tapir_json__str(&j, "name", i ? tapir_frame_kind__name(i) : "Other");
		tapir_json__str(&j, "color", colors[i]);
		tapir_json__open(&j, "subcategories", '[');
		tapir_json__str(&j, NULL, "Other");
		tapir_json__close(&j, ']');
		tapir_json__close(&j, '}');
	}
	tapir_json__close(&j, ']');
}

/* The profiler shows it among the facts about the recording. */
static void add_finding(struct tapir_export *x)
{
	struct tapir_json j = tapir_json__to(&x->out);

	if (!x->head.len)
		return;
	tapir_str__adds(&x->out,
			",\"extra\":[{\"label\":\"tapir\",\"entries\":[{\"label\":\"finding\","
			"\"format\":\"string\",\"value\":");
	tapir_json__strn(&j, NULL, x->head.data, x->head.len);
	tapir_str__adds(&x->out, "}]}]");
}

static double interval_ms(const struct firefox *f)
{
	uint64_t hz = tapir_catalog__meta_number(f->tracks.x->catalog, "sample_hz", 1000000);

	return hz ? 1000.0 / (double)hz : 1;
}

static int add_meta(struct firefox *f)
{
	struct tapir_export *x = f->tracks.x;
	struct tapir_json j = tapir_json__to(&x->out);
	int err = 0;

	tapir_str__adds(&x->out, "{\"meta\":");
	tapir_json__open(&j, NULL, '{');
	tapir_json__f64(&j, "interval", interval_ms(f));
	tapir_json__str(&j, "product", x->title);
	tapir_json__str(&j, "importedFrom", "tapir");
	tapir_str__adds(&x->out, ",\"startTime\":");
	add_ms(&x->out, tapir_reader__stats(x->reader)->created_utc_ns);
	tapir_str__addf(&x->out,
			",\"version\":%u,\"preprocessedProfileVersion\":%u,\"processType\":0,"
			"\"stackwalk\":1,\"symbolicated\":true,\"usesOnlyOneStackType\":true,"
			"\"sourceCodeIsNotOnSearchfox\":true,\"profilingStartTime\":0,"
			"\"profilingEndTime\":",
			GECKO_VERSION, FORMAT_VERSION);
	add_time(f, f->last_ns);
	add_categories(&x->out);
	add_finding(x);
	ADD_COLUMN(f, ",\"markerSchema\":", f->schemas.cnt, add_schema(f, &f->schemas.data[i]));
	tapir_str__adds(&x->out, "},\"libs\":[]");
	return err;
}

/* ---- shared tables ------------------------------------------------------------------------------ */

/* Nodes with one label and kind have one function. */
static int find_functions(struct firefox *f)
{
	const struct tapir_stack_tree *tree = &f->tracks.tree;

	f->function_of = calloc(tree->nodes.cnt + 1, sizeof(*f->function_of));
	if (!f->function_of)
		return -ENOMEM;
	for (size_t i = 1; i < tree->nodes.cnt; i++) {
		const struct tapir_tree_node *node = &tree->nodes.data[i];
		uint64_t key =
			tapir_hash__mix(node->name, (uint64_t)node->location << 8 | node->kind);
		const uint32_t *function =
			tapir_keyed__add(&f->functions, key, UINT32_MAX, (uint32_t)i);

		if (!function)
			return -ENOMEM;
		f->function_of[i] = (uint32_t)(function - f->functions.data);
	}
	return 0;
}

static void add_firefox_label(struct firefox *f, uint32_t node)
{
	struct tapir_json j = tapir_json__to(&f->tracks.x->out);

	tapir_str__clear(&f->value);
	tapir_stack_tree__add_label(&f->value, &f->tracks.tree, node);
	f->tracks.failed |= f->value.failed;
	tapir_json__strn(&j, NULL, f->value.data ? f->value.data : "?",
			 f->value.data ? f->value.len : 1);
}

#define ADD_CONSTANT(f, key, cnt, text) ADD_COLUMN(f, key, cnt, tapir_str__adds(out, text))

static int add_stacks(struct firefox *f)
{
	const struct tapir_tree_node *nodes = f->tracks.tree.nodes.data;
	size_t cnt = f->tracks.tree.nodes.cnt ? f->tracks.tree.nodes.cnt - 1 : 0;
	int err = 0;

	tapir_str__addf(&f->tracks.x->out, ",\"stackTable\":{\"length\":%zu", cnt);
	ADD_COLUMN(f, ",\"frame\":", cnt, tapir_str__addu(out, f->function_of[i + 1]));
	ADD_COLUMN(f, ",\"prefix\":", cnt, add_node(out, nodes[i + 1].parent));
	tapir_str__addc(&f->tracks.x->out, '}');
	return err;
}

static int add_firefox_frames(struct firefox *f)
{
	const struct tapir_tree_node *nodes = f->tracks.tree.nodes.data;
	size_t cnt = f->functions.cnt;
	int err = 0;

	tapir_str__addf(&f->tracks.x->out, ",\"frameTable\":{\"length\":%zu", cnt);
	ADD_CONSTANT(f, ",\"address\":", cnt, "-1");
	ADD_CONSTANT(f, ",\"inlineDepth\":", cnt, "0");
	ADD_COLUMN(f, ",\"category\":", cnt,
		   tapir_str__addu(out, nodes[f->functions.data[i]].kind));
	ADD_CONSTANT(f, ",\"subcategory\":", cnt, "0");
	/*
	 * The format keeps frames and functions apart, for lines and inlining; here each function
	 * has one frame, of the same number.
	 */
	ADD_COLUMN(f, ",\"func\":", cnt, tapir_str__addu(out, i));
	ADD_CONSTANT(f, ",\"nativeSymbol\":", cnt, "null");
	ADD_CONSTANT(f, ",\"innerWindowID\":", cnt, "null");
	ADD_CONSTANT(f, ",\"line\":", cnt, "null");
	ADD_CONSTANT(f, ",\"column\":", cnt, "null");
	tapir_str__addf(&f->tracks.x->out, "},\"funcTable\":{\"length\":%zu", cnt);
	ADD_COLUMN(f, ",\"name\":", cnt, tapir_str__addu(out, f->strings.cnt + i));
	ADD_CONSTANT(f, ",\"isJS\":", cnt, "false");
	ADD_CONSTANT(f, ",\"relevantForJS\":", cnt, "false");
	ADD_CONSTANT(f, ",\"resource\":", cnt, "-1");
	ADD_CONSTANT(f, ",\"source\":", cnt, "null");
	ADD_CONSTANT(f, ",\"lineNumber\":", cnt, "null");
	ADD_CONSTANT(f, ",\"columnNumber\":", cnt, "null");
	tapir_str__addc(&f->tracks.x->out, '}');
	return err;
}

/* Names of functions stand behind the other strings. */
static int add_strings(struct firefox *f)
{
	int err = 0;

	ADD_COLUMN(f, ",\"stringArray\":", f->strings.cnt + f->functions.cnt,
		   if (i < f->strings.cnt) tapir_json__str(&(struct tapir_json){.out = out}, NULL,
							   f->strings.data[i]);
		   else add_firefox_label(f, f->functions.data[i - f->strings.cnt]));
	return err;
}

static int add_shared(struct firefox *f)
{
	int err = find_functions(f);

	tapir_str__adds(
		&f->tracks.x->out,
		",\"shared\":{\"sources\":{\"length\":0,\"uuid\":[],\"filename\":[]},"
		"\"resourceTable\":{\"length\":0,\"lib\":[],\"name\":[],\"host\":[],\"type\":[]},"
		"\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],"
		"\"functionSize\":[]}");
	if (!err)
		err = add_stacks(f);
	if (!err)
		err = add_firefox_frames(f);
	if (!err)
		err = add_strings(f);
	tapir_str__adds(&f->tracks.x->out, "}}\n");
	return err;
}

/* ---- the sink ----------------------------------------------------------------------------------- */

static int begin_firefox(struct tapir_export *x)
{
	static const struct tapir_tracks_fns fns = {.thread = on_thread,
						    .event = firefox_on_event,
						    .sample = firefox_on_sample,
						    .value = on_value,
						    .end = on_end};
	struct firefox *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	x->state = f;
	f->arena.max_bytes = ARENA_BYTES;
	return tapir_tracks__init(&f->tracks, x, &fns, f);
}

static int firefox_add(struct tapir_export *x, const struct tapir_rec *rec)
{
	struct firefox *f = x->state;

	return tapir_tracks__add(&f->tracks, rec);
}

static int end_firefox(struct tapir_export *x)
{
	struct firefox *f = x->state;
	int err = tapir_tracks__finish(&f->tracks);

	if (!err)
		err = add_meta(f);
	if (!err)
		ADD_COLUMN(f, ",\"threads\":", f->threads.cnt,
			   err = add_thread(f, &f->threads.data[i]));
	if (!err)
		err = add_shared(f);
	if (!err && f->tracks.failed)
		err = -ENOMEM;
	if (!err && f->tracks.skipped_cnt)
		tapir_warn("%" PRIu64
			   " events, samples and intervals are left out: the limit of %u "
			   "MB is reached; 'tapir cut' makes a shorter recording",
			   f->tracks.skipped_cnt, MAX_BYTES >> 20);
	return err;
}

static void free_firefox(struct tapir_export *x)
{
	struct firefox *f = x->state;

	if (!f)
		return;
	for (size_t i = 0; i < f->threads.cnt; i++) {
		tapir_vec__fini(&f->threads.data[i].samples);
		tapir_vec__fini(&f->threads.data[i].markers);
		tapir_str__fini(&f->threads.data[i].data);
	}
	for (size_t i = 0; i < f->schemas.cnt; i++)
		tapir_vec__fini(&f->schemas.data[i].fields);
	tapir_keyed__fini(&f->threads);
	tapir_keyed__fini(&f->schemas);
	tapir_keyed__fini(&f->strings);
	tapir_keyed__fini(&f->functions);
	tapir_arena__fini(&f->arena);
	tapir_str__fini(&f->value);
	tapir_str__fini(&f->piece);
	free(f->function_of);
	tapir_tracks__fini(&f->tracks);
	free(f);
}

const struct tapir_sink tapir_sink_firefox = {
	.name = "firefox",
	.description = "the same, and stacks of events: profiler.firefox.com",
	.lacks = "switches, waits, mappings, periods of samples",
	.suffix = "firefox.json",
	.max_bytes = MAX_BYTES,
	.content = TAPIR_SINK_IS_JSON,
	.is_complete = true,
	.has_head = true,
	.takes_all = true,
	.describes = true,
	.begin = begin_firefox,
	.add = firefox_add,
	.end = end_firefox,
	.free = free_firefox,
};
