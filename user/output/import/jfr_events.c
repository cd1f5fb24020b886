// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fields of an event are gone through twice, in one order: when the first event of a type is
 * described, and for each event's slots.
 */
#include "output/import/jfr_events.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "decode/java_name.h"

#define FIELDS_MAX     64u
#define FIELD_DEPTH    2u
#define TEXT_DEPTH     4u
#define TEXT_MAX_BYTES 4096u
#define NAME_BYTES     96u
#define PROBES_MAX     4096u
#define DURATION       "duration"

/* Fields with other names in hotspot's probes, by which pairs are distinguished and named. */
static const struct {
	const char *type, *field, *name;
} renamed[] = {
	{"jdk.JavaMonitorEnter", "monitorClass", "class"},
	{"jdk.JavaMonitorEnter", "address", "monitor"},
	{"jdk.JavaMonitorWait", "monitorClass", "class"},
	{"jdk.JavaMonitorWait", "address", "monitor"},
	{"jdk.ThreadPark", "parkedClass", "class"},
	{"jdk.ThreadPark", "address", "parker"},
	{"jdk.ThreadSleep", "time_ms", "duration_ms"},
	{"jdk.ThreadSleep", "time", "duration_ns"},
};

static const struct tapir_jfr_pair pairs[] = {
	{"jdk.GCPhasePause", "gc__begin", "gc__end"},
	{"jdk.JavaMonitorEnter", "monitor__contended__enter", "monitor__contended__entered"},
	{"jdk.JavaMonitorWait", "monitor__wait", "monitor__waited"},
	{"jdk.ThreadPark", "thread__park__begin", "thread__park__end"},
	{"jdk.ThreadSleep", "thread__sleep__begin", "thread__sleep__end"},
	{"jdk.Compilation", "method__compile__begin", "method__compile__end"},
};

void tapir_jfr_events__fini(struct tapir_jfr_events *e)
{
	tapir_map__fini(&e->described);
	tapir_map__fini(&e->ids);
	tapir_str__fini(&e->slots);
	tapir_str__fini(&e->texts);
}

void tapir_jfr_events__next_chunk(struct tapir_jfr_events *e)
{
	tapir_map__clear(&e->ids);
}

const struct tapir_jfr_pair *tapir_jfr_pair__of(const struct tapir_jfr_class *cls)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (tapir_sv__is(cls->name, pairs[i].type))
			return &pairs[i];
	return NULL;
}

uint64_t tapir_jfr__ns(const struct tapir_jfr *j, uint64_t ticks)
{
	unsigned __int128 ns = (unsigned __int128)ticks * TAPIR_NS_PER_SEC;

	ns /= j->ticks_per_sec ? j->ticks_per_sec : 1;
	return ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void add_method(struct tapir_jfr *j, struct tapir_jfr_value method, struct tapir_str *out)
{
	struct tapir_sv type = tapir_jfr__symbol(j, tapir_jfr__field(j, method, "type"), "name");
	struct tapir_sv name = tapir_jfr__symbol(j, method, "name");
	struct tapir_sv descriptor = tapir_jfr__symbol(j, method, "descriptor");

	if (type.len && name.len)
		(void)tapir_java_name__add(out, type, name, descriptor);
}

static void add_class_name(struct tapir_jfr *j, struct tapir_jfr_value v, struct tapir_str *out)
{
	struct tapir_sv name = tapir_jfr__symbol(j, v, "name");

	for (size_t i = 0; i < name.len; i++)
		tapir_str__addc(out, name.data[i] == '/' ? '.' : name.data[i]);
}

static void add_thread_name(struct tapir_jfr *j, struct tapir_jfr_value v, struct tapir_str *out)
{
	struct tapir_sv name = tapir_jfr__text(j, tapir_jfr__field(j, v, "javaName"));

	if (!name.len)
		name = tapir_jfr__text(j, tapir_jfr__field(j, v, "osName"));
	tapir_str__add(out, name.data, name.len);
}

static void add_first_text(struct tapir_jfr *j, struct tapir_jfr_value v, unsigned depth,
			   struct tapir_str *out);

static void add_text_of(struct tapir_jfr *j, struct tapir_jfr_value v, unsigned depth,
			struct tapir_str *out)
{
	static const struct {
		const char *type;
		void (*add)(struct tapir_jfr *j, struct tapir_jfr_value v, struct tapir_str *out);
	} known[] = {{"java.lang.Class", add_class_name},
		     {"jdk.types.Method", add_method},
		     {"java.lang.Thread", add_thread_name}};
	const struct tapir_jfr_class *cls = v.is_array ? NULL : tapir_jfr__class(j, v);

	if (!cls)
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (tapir_sv__is(cls->name, known[i].type)) {
			known[i].add(j, v, out);
			return;
		}
	add_first_text(j, v, depth, out);
}

/* A constant of the JVM (a cause, a state, a module) has one text that says what it is. */
static void add_first_text(struct tapir_jfr *j, struct tapir_jfr_value v, unsigned depth,
			   struct tapir_str *out)
{
	const struct tapir_jfr_class *cls = tapir_jfr__class(j, v);
	struct tapir_sv text = tapir_jfr__text(j, v);
	size_t at = v.at, before = out->len;

	tapir_str__add(out, text.data, text.len);
	for (size_t i = 0; depth && i < cls->cnt && out->len == before && !j->is_bad; i++)
		add_text_of(j, tapir_jfr__take_member(j, &j->fields.data[cls->first + i], &at),
			    depth - 1, out);
}

void tapir_jfr__add_text(struct tapir_jfr *j, struct tapir_jfr_value v, struct tapir_str *out)
{
	add_text_of(j, v, TEXT_DEPTH, out);
}

/* ---- fields ---------------------------------------------------------------------------------- */

struct layout {
	struct tapir_field fields[FIELDS_MAX];
	char names[FIELDS_MAX][NAME_BYTES];
	unsigned cnt;
};

static bool is_skipped(const struct tapir_jfr_field *field, bool is_pair)
{
	static const char *const names[] = {"startTime", "eventThread", "sampledThread",
					    "stackTrace"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (tapir_sv__is(field->name, names[i]))
			return true;
	return field->is_array || (is_pair && tapir_sv__is(field->name, DURATION));
}

static struct tapir_field field_of(const struct tapir_jfr_class *cls,
				   const struct tapir_jfr_field *field)
{
	static const struct {
		uint8_t type, size;
	} of_kind[] = {[TAPIR_JFR_LONG] = {TAPIR_FIELD_INT, 8},
		       [TAPIR_JFR_INT] = {TAPIR_FIELD_INT, 4},
		       [TAPIR_JFR_SHORT] = {TAPIR_FIELD_INT, 2},
		       [TAPIR_JFR_CHAR] = {TAPIR_FIELD_UINT, 2},
		       [TAPIR_JFR_BYTE] = {TAPIR_FIELD_INT, 1},
		       [TAPIR_JFR_BOOLEAN] = {TAPIR_FIELD_BOOL, 1},
		       [TAPIR_JFR_FLOAT] = {TAPIR_FIELD_FLOAT, 4},
		       [TAPIR_JFR_DOUBLE] = {TAPIR_FIELD_FLOAT, 8},
		       [TAPIR_JFR_TEXT] = {TAPIR_FIELD_STR, 0},
		       [TAPIR_JFR_MEMBERS] = {TAPIR_FIELD_STR, 0},
		       [TAPIR_JFR_NOTHING] = {TAPIR_FIELD_STR, 0}};
	enum tapir_jfr_kind kind = field->is_pool ? TAPIR_JFR_TEXT : tapir_jfr__kind(cls);
	struct tapir_field out = {.type = of_kind[kind].type, .size = of_kind[kind].size};

	if (out.type == TAPIR_FIELD_INT && field->is_unsigned)
		out.type = TAPIR_FIELD_UINT;
	return out;
}

static const struct tapir_jfr_class *members_of(const struct tapir_jfr *j,
						const struct tapir_jfr_field *field, unsigned depth)
{
	const struct tapir_jfr_class *cls = tapir_keyed__get(&j->classes, field->class_id);

	return cls && !field->is_pool && depth && tapir_jfr__kind(cls) == TAPIR_JFR_MEMBERS ? cls
											    : NULL;
}

static void name_field(char *out, const struct tapir_jfr_class *event, const char *prefix,
		       const struct tapir_jfr_field *field)
{
	snprintf(out, NAME_BYTES, "%s%s%.*s%s", prefix, *prefix ? "_" : "", (int)field->name.len,
		 field->name.data, field->unit == TAPIR_JFR_UNIT_MS ? "_ms" : "");
	for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
		if (tapir_sv__is(event->name, renamed[i].type) && !strcmp(out, renamed[i].field))
			snprintf(out, NAME_BYTES, "%s", renamed[i].name);
}

static void add_to_layout(struct layout *l, const struct tapir_jfr *j,
			  const struct tapir_jfr_class *event, const struct tapir_jfr_class *cls,
			  const char *prefix, bool is_pair, unsigned depth)
{
	for (size_t i = 0; i < cls->cnt && l->cnt < FIELDS_MAX; i++) {
		const struct tapir_jfr_field *field = &j->fields.data[cls->first + i];
		const struct tapir_jfr_class *own = tapir_keyed__get(&j->classes, field->class_id);
		const struct tapir_jfr_class *members = members_of(j, field, depth);
		char name[NAME_BYTES];

		if (!own || is_skipped(field, is_pair))
			continue;
		name_field(name, event, prefix, field);
		if (members) {
			add_to_layout(l, j, event, members, name, is_pair, depth - 1);
			continue;
		}
		l->fields[l->cnt] = field_of(own, field);
		memcpy(l->names[l->cnt++], name, sizeof(name));
	}
}

static void add_slot(struct tapir_jfr_events *e, uint64_t bits)
{
	tapir_str__add(&e->slots, (const char *)&bits, sizeof(bits));
}

static void add_text_slot(struct tapir_jfr_events *e, struct tapir_jfr *j, struct tapir_jfr_value v)
{
	size_t before = e->texts.len;
	struct tapir_slot_bytes slot = {.flags = v.at ? 0 : TAPIR_SLOT_NULL};
	uint64_t bits;

	tapir_jfr__add_text(j, v, &e->texts);
	if (e->texts.len - before > TEXT_MAX_BYTES) {
		e->texts.len = before + TEXT_MAX_BYTES;
		slot.flags = TAPIR_SLOT_CUT;
	}
	slot.len_bytes = (uint32_t)(e->texts.len - before);
	memcpy(&bits, &slot, sizeof(bits));
	add_slot(e, bits);
}

/* Goes the way of add_to_layout. *left: fields that the layout still has. */
static void add_values(struct tapir_jfr_events *e, struct tapir_jfr *j, struct tapir_jfr_value of,
		       bool is_pair, unsigned depth, unsigned *left)
{
	const struct tapir_jfr_class *cls = tapir_jfr__class(j, of);
	size_t at = of.at;

	for (size_t i = 0; cls && i < cls->cnt && *left && !j->is_bad; i++) {
		const struct tapir_jfr_field *field = &j->fields.data[cls->first + i];
		const struct tapir_jfr_class *own = tapir_keyed__get(&j->classes, field->class_id);
		struct tapir_jfr_value v = tapir_jfr__take_member(j, field, &at);
		uint64_t number;

		if (!own || is_skipped(field, is_pair))
			continue;
		if (members_of(j, field, depth)) {
			add_values(e, j, v, is_pair, depth - 1, left);
			continue;
		}
		--*left;
		if (field_of(own, field).type == TAPIR_FIELD_STR) {
			add_text_slot(e, j, v);
			continue;
		}
		number = tapir_jfr__number(j, v, field->is_unsigned);
		add_slot(e,
			 field->unit == TAPIR_JFR_UNIT_TICKS ? tapir_jfr__ns(j, number) : number);
	}
}

/* ---- probes ---------------------------------------------------------------------------------- */

static void describe_probe(struct tapir_jfr_events *e, uint32_t probe_id, const char *provider,
			   const char *event, const struct layout *l)
{
	struct tapir_rec_probe fixed = {
		.probe_id = probe_id, .encoding = TAPIR_ENCODING_SLOTS, .lane = TAPIR_LANE_STREAM};
	struct tapir_sv names[FIELDS_MAX];

	for (unsigned i = 0; i < l->cnt; i++)
		names[i] = tapir_sv__of(l->names[i]);
	tapir_rec__init(&fixed.h, TAPIR_REC_PROBE, sizeof(fixed), e->sink->first_ns);
	tapir_import_sink__describe(
		e->sink, tapir_recbuf__probe(&e->sink->buf, &fixed, tapir_sv__of(provider),
					     tapir_sv__of(event), (struct tapir_sv){},
					     (struct tapir_sv){}, l->fields, names, l->cnt));
}

static uint64_t hash_layout(const struct tapir_jfr_class *cls, const struct layout *l)
{
	uint64_t hash = tapir_hash__bytes(1, cls->name.data, cls->name.len);

	for (unsigned i = 0; i < l->cnt; i++)
		hash = tapir_hash__mix(tapir_hash__bytes(hash, l->names[i], strlen(l->names[i])),
				       l->fields[i].type << 8 | l->fields[i].size);
	return hash;
}

/* "jdk.GarbageCollection" is GarbageCollection of jdk; a program's own events are its packages'. */
static void describe_type(struct tapir_jfr_events *e, uint32_t probe_id,
			  const struct tapir_jfr_class *cls, const struct layout *l)
{
	const struct tapir_jfr_pair *pair = tapir_jfr_pair__of(cls);
	char name[2 * NAME_BYTES];
	char *dot;

	if (pair) {
		describe_probe(e, probe_id, "hotspot", pair->begin, l);
		describe_probe(e, probe_id + 1, "hotspot", pair->end, l);
		return;
	}
	snprintf(name, sizeof(name), "%.*s", (int)cls->name.len, cls->name.data);
	dot = strrchr(name, '.');
	if (dot)
		*dot = '\0';
	describe_probe(e, probe_id, dot ? name : "jfr", dot ? dot + 1 : name, l);
}

/* The probe's number, whose end is the next one; 0: there is none. */
static uint32_t probe_id_of(struct tapir_jfr_events *e, const struct tapir_jfr *j,
			    const struct tapir_jfr_class *cls)
{
	uint64_t *id = tapir_map__get(&e->ids, cls->id), *known;
	struct layout l = {};
	bool is_new = false;

	if (id)
		return (uint32_t)*id;
	add_to_layout(&l, j, cls, cls, "", tapir_jfr_pair__of(cls), FIELD_DEPTH);
	if (e->described.cnt >= PROBES_MAX)
		return 0;
	known = tapir_map__put(&e->described, hash_layout(cls, &l), &is_new);
	id = tapir_map__put(&e->ids, cls->id, NULL);
	if (!known || !id)
		return 0;
	if (is_new) {
		*known = 2 * e->described.cnt;
		describe_type(e, (uint32_t)*known, cls, &l);
	}
	*id = *known;
	return (uint32_t)*id;
}

bool tapir_jfr_events__put(struct tapir_jfr_events *e, struct tapir_jfr *j,
			   struct tapir_jfr_value event, enum tapir_jfr_part part,
			   const struct tapir_rec_event *fixed)
{
	const struct tapir_jfr_class *cls = tapir_jfr__class(j, event);
	uint32_t probe_id = cls ? probe_id_of(e, j, cls) : 0;
	struct tapir_rec_event rec = *fixed;
	struct tapir_event_view view = {.rec = &rec};
	unsigned left = FIELDS_MAX;

	if (!probe_id)
		return false;
	tapir_str__clear(&e->slots);
	tapir_str__clear(&e->texts);
	add_values(e, j, event, part != TAPIR_JFR_WHOLE, FIELD_DEPTH, &left);
	if (j->is_bad)
		return false;
	tapir_str__add(&e->slots, e->texts.data ? e->texts.data : "", e->texts.len);
	rec.probe_id = probe_id + (part == TAPIR_JFR_END);
	rec.lane = TAPIR_LANE_STREAM;
	view.payload = (const uint8_t *)e->slots.data;
	view.payload_bytes = e->slots.len;
	if (e->slots.failed || e->texts.failed)
		return false;
	tapir_import_sink__put(e->sink, tapir_recbuf__event(&e->sink->buf, &view));
	return true;
}
