// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields are found by name in each event, since those of one probe may be there or not, as pairs
 * are. A plain name is first a built-in (pid, comm, stack ...), then a field; ".name" is the field
 * alone.
 */
#include "decode/question_hit.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "decode/layout.h"
#include "spec/machine_source.h"
#include "spec/runtime_db/lore.h"

enum builtin {
	BUILTIN_PID,
	BUILTIN_TID,
	BUILTIN_COMM,
	BUILTIN_THREAD,
	BUILTIN_CPU,
	BUILTIN_CGROUP,
	BUILTIN_USER,
	BUILTIN_EVENT,
	BUILTIN_TOOK,
	BUILTIN_CNT
};

static const struct {
	const char *name;
	uint8_t class;
	const char *description;
} builtins[] = {
	[BUILTIN_PID] = {"pid", TAPIR_CLASS_UINT, "the process's id"},
	[BUILTIN_TID] = {"tid", TAPIR_CLASS_UINT, "the thread's id"},
	[BUILTIN_COMM] = {"comm", TAPIR_CLASS_TEXT, "the process's name"},
	[BUILTIN_THREAD] = {"thread", TAPIR_CLASS_TEXT, "the thread's name"},
	[BUILTIN_CPU] = {"cpu", TAPIR_CLASS_UINT, "the CPU on which it happened"},
	[BUILTIN_CGROUP] = {"cgroup", TAPIR_CLASS_TEXT, "the path of the process's cgroup"},
	[BUILTIN_USER] = {"user", TAPIR_CLASS_UINT, "the number of the process's user"},
	[BUILTIN_EVENT] = {"event", TAPIR_CLASS_TEXT, "PROVIDER:EVENT"},
	[BUILTIN_TOOK] = {"took", TAPIR_CLASS_UINT, "of an interval: how long"},
};

/* An operand's id is a number of names with one of these, or a built-in. */
#define OF_BEGIN   0x10000u
#define OF_END	   0x20000u
#define NAME_CNT   0x10000u
#define NAME_BYTES 256

const char *tapir_hit__builtin(size_t i, const char **description)
{
	if (i >= BUILTIN_CNT)
		return NULL;
	*description = builtins[i].description;
	return builtins[i].name;
}

void tapir_hit_names__fini(struct tapir_hit_names *names)
{
	char **name;

	tapir_vec_for_each (name, names)
		free(*name);
	tapir_vec__fini(names);
}

/* ---- fields --------------------------------------------------------------------------------- */

static uint8_t class_of(const struct tapir_value *v)
{
	switch (v->type) {
	case TAPIR_FIELD_INT:
		return TAPIR_CLASS_INT;
	case TAPIR_FIELD_UINT:
	case TAPIR_FIELD_PTR:
	case TAPIR_FIELD_BOOL:
		return TAPIR_CLASS_UINT;
	case TAPIR_FIELD_FLOAT:
		return TAPIR_CLASS_FLOAT;
	case TAPIR_FIELD_NONE:
		return TAPIR_CLASS_NONE;
	default:
		return TAPIR_CLASS_TEXT;
	}
}

static bool ends_with(const char *name, size_t len, const char *end)
{
	size_t end_len = strlen(end);

	return len > end_len && !memcmp(name + len - end_len, end, end_len);
}

/*
 * Returns true for the pairs of a system call that are no arguments: the time it took, in ns, and
 * its error, by name.
 */
static bool is_of_call(const struct tapir_hit_end *end, const char *name, size_t len,
		       const char *field)
{
	return strlen(field) == len && !memcmp(name, field, len) &&
	       tapir_sv__is(end->probe.provider, TAPIR_SYSCALL_WORD);
}

/* Returns the unit in which a name ends: "wait_ms", "DurationMSec". */
static uint64_t unit_of(const char *name, size_t len)
{
	static const struct {
		const char *end;
		uint64_t ns;
	} ends[] = {{"_ns", 1},	      {"Ns", 1},       {"_us", 1000},	 {"Us", 1000},
		    {"_ms", 1000000}, {"Ms", 1000000}, {"MSec", 1000000}};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (ends_with(name, len, ends[i].end))
			return ends[i].ns;
	return 0;
}

/* NAME_CNT: no memory, or too many. */
static uint32_t name_idx(struct tapir_hit_names *names, const char *name, size_t len)
{
	char *copy;

	for (size_t i = 0; i < names->cnt; i++)
		if (strlen(names->data[i]) == len && !memcmp(names->data[i], name, len))
			return (uint32_t)i;
	copy = names->cnt < NAME_CNT - 1 && len < NAME_BYTES ? strndup(name, len) : NULL;
	if (copy && tapir_vec__push(names, copy))
		return (uint32_t)(names->cnt - 1);
	free(copy);
	return NAME_CNT;
}

static bool find_in(struct tapir_hit_scope *s, const struct tapir_hit_end *end, uint32_t flag,
		    const char *name, size_t len, struct tapir_question_operand *out)
{
	const struct tapir_value *v = tapir_event_fields__named(end->fields, name, len);
	uint32_t idx;

	/* The set of name=value pairs depends on the event: one that it lacks is not a mistake. */
	if (!v && !tapir_event_fields__may_have(end->fields, name, len))
		return false;
	idx = name_idx(s->names, name, len);
	if (idx == NAME_CNT)
		return false;
	out->id = flag | idx;
	out->class = v ? class_of(v) : TAPIR_CLASS_TEXT;
	if (out->class == TAPIR_CLASS_UINT || out->class == TAPIR_CLASS_INT)
		out->unit_ns = is_of_call(end, name, len, "took") ? 1 : unit_of(name, len);
	return true;
}

/* ---- the scope ------------------------------------------------------------------------------ */

static bool find_builtin(const struct tapir_hit *hit, const char *name, size_t len,
			 struct tapir_question_operand *out)
{
	for (uint32_t i = 0; i < BUILTIN_CNT; i++) {
		if (strlen(builtins[i].name) != len || memcmp(builtins[i].name, name, len) ||
		    (i == BUILTIN_TOOK && !hit->end))
			continue;
		out->id = i;
		out->class = builtins[i].class;
		out->unit_ns = out->wants_unit = i == BUILTIN_TOOK;
		return true;
	}
	return false;
}

static bool find_operand(void *ctx, const char *name, size_t len, bool is_field,
			 struct tapir_question_operand *out)
{
	struct tapir_hit_scope *s = ctx;
	const struct tapir_hit *hit = s->hit;

	if (!is_field && find_builtin(hit, name, len, out))
		return true;
	if (!is_field && hit->end && len > 6 && !memcmp(name, "begin.", 6))
		return find_in(s, &hit->begin, OF_BEGIN, name + 6, len - 6, out);
	if (!is_field && hit->end && len > 4 && !memcmp(name, "end.", 4))
		return find_in(s, hit->end, OF_END, name + 4, len - 4, out);
	return find_in(s, &hit->begin, OF_BEGIN, name, len, out) ||
	       (hit->end && find_in(s, hit->end, OF_END, name, len, out));
}

static const struct tapir_value *hit_value(const struct tapir_hit *hit,
					   const struct tapir_hit_names *names, uint32_t id)
{
	const char *name = names->data[id % NAME_CNT];
	const struct tapir_hit_end *end = id & OF_END ? hit->end : &hit->begin;

	return end ? tapir_event_fields__named(end->fields, name, strlen(name)) : NULL;
}

/* NULL: the number has no name. */
static const char *known_name(const struct tapir_hit *hit, const struct tapir_hit_names *names,
			      uint32_t id, uint64_t number)
{
	const struct tapir_hit_end *end = id & OF_END ? hit->end : &hit->begin;
	const char *name = names->data[id % NAME_CNT];
	char provider[128], event[128];
	const struct tapir_pair *p;

	if (is_of_call(end, name, strlen(name), "err"))
		return number && number < INT_MAX ? tapir_errno__name((int)number) : NULL;

	tapir_sv__copy(end->probe.provider, provider, sizeof(provider));
	tapir_sv__copy(end->probe.event, event, sizeof(event));
	for (size_t i = 0; (p = tapir_lore__pair(i)); i++)
		if (!strcmp(p->provider, provider) && !strcmp(p->begin, event))
			return tapir_lore__value_name(provider, p->kind, name, number);
	return NULL;
}

static const struct tapir_layout_map *map_of(const struct tapir_value *v)
{
	return v && v->layout && (v->type == TAPIR_FIELD_UINT || v->type == TAPIR_FIELD_INT)
		       ? v->layout->map
		       : NULL;
}

#define KNOWN_VALUES 256u /* of lore: small numbers */

static bool enumerator(void *ctx, const struct tapir_question_operand *of, const char *name,
		       size_t len, uint64_t *out)
{
	struct tapir_hit_scope *s = ctx;
	const struct tapir_layout_map *map;

	if (!(of->id & (OF_BEGIN | OF_END)))
		return false;
	map = map_of(hit_value(s->hit, s->names, of->id));
	for (unsigned i = 0; map && i < map->value_cnt; i++)
		if (strlen(map->values[i].name) == len && !memcmp(map->values[i].name, name, len)) {
			*out = map->values[i].value;
			return true;
		}
	for (uint64_t i = 0; i < KNOWN_VALUES; i++) {
		const char *known = known_name(s->hit, s->names, of->id, i);

		if (known && strlen(known) == len && !memcmp(known, name, len)) {
			*out = i;
			return true;
		}
	}
	return false;
}

static void list_end(const struct tapir_hit_end *end, const char *prefix, struct tapir_str *out)
{
	for (unsigned i = 0; i < end->fields->cnt; i++) {
		const struct tapir_value *v = &end->fields->values[i];

		tapir_str__addf(out, "%s%s", out->len ? ", " : "", prefix);
		if (v->name.len)
			tapir_str__add_printable(out, v->name.data, v->name.len);
		else
			tapir_str__addf(out, "arg%u", i);
		if (class_of(v) == TAPIR_CLASS_TEXT)
			tapir_str__adds(out, " (text)");
	}
}

static void list_fields(void *ctx, struct tapir_str *out)
{
	const struct tapir_hit_scope *s = ctx;

	list_end(&s->hit->begin, "", out);
	if (s->hit->end)
		list_end(s->hit->end, "end.", out);
	tapir_str__adds(out, out->len ? "; " : "no fields; ");
	tapir_str__adds(out, "everywhere: pid, tid, comm, thread, cpu, cgroup, user, event");
	if (s->hit->end)
		tapir_str__adds(out, ", took");
}

struct tapir_scope tapir_hit_scope__init(struct tapir_hit_scope *s, const struct tapir_hit *hit,
					 struct tapir_hit_names *names)
{
	struct tapir_str subject = {};

	s->hit = hit;
	s->names = names;
	tapir_str__add_printable(&subject, hit->begin.probe.provider.data,
				 hit->begin.probe.provider.len);
	tapir_str__addc(&subject, ':');
	tapir_str__add_printable(&subject, hit->begin.probe.event.data, hit->begin.probe.event.len);
	tapir_sv__copy((struct tapir_sv){subject.data, subject.len}, s->subject,
		       sizeof(s->subject));
	tapir_str__fini(&subject);
	return (struct tapir_scope){.subject = s->subject,
				    .find = find_operand,
				    .enumerator = enumerator,
				    .list = list_fields,
				    .ctx = s};
}

/* ---- values --------------------------------------------------------------------------------- */

static void set_text(struct tapir_question_slot *slot, const char *data, size_t len)
{
	slot->number = (uintptr_t)data;
	slot->len = (uint32_t)len;
}

static struct tapir_sv process_comm(const struct tapir_hit *hit)
{
	const struct tapir_rec_event *rec = hit->begin.event.rec;
	const struct tapir_rec_thread *thread =
		tapir_catalog__thread(hit->catalog, rec->tid, rec->h.time_ns);
	const struct tapir_rec_process *process;
	struct tapir_process_view view;

	if (thread && thread->tgid == rec->tgid && thread->leader_comm[0])
		return (struct tapir_sv){thread->leader_comm,
					 strnlen(thread->leader_comm, sizeof(thread->leader_comm))};
	process = tapir_catalog__process(hit->catalog, rec->tgid, rec->h.time_ns);
	if (!process)
		return (struct tapir_sv){};
	tapir_process_view__of(&process->h, &view);
	return view.comm;
}

static struct tapir_sv thread_comm(const struct tapir_hit *hit)
{
	const struct tapir_rec_event *rec = hit->begin.event.rec;
	const struct tapir_rec_thread *thread =
		tapir_catalog__thread(hit->catalog, rec->tid, rec->h.time_ns);

	return thread ? (struct tapir_sv){thread->comm, strnlen(thread->comm, sizeof(thread->comm))}
		      : (struct tapir_sv){};
}

static void fill_process(const struct tapir_hit *hit, uint32_t id, struct tapir_question_slot *slot)
{
	const struct tapir_rec_event *rec = hit->begin.event.rec;
	const struct tapir_rec_process *process =
		tapir_catalog__process(hit->catalog, rec->tgid, rec->h.time_ns);
	struct tapir_process_view view;

	slot->state = process ? TAPIR_STATE_OK : TAPIR_STATE_ABSENT;
	if (!process)
		return;
	tapir_process_view__of(&process->h, &view);
	if (id == BUILTIN_USER)
		slot->number = process->uid;
	else
		set_text(slot, view.cgroup.data, view.cgroup.len);
}

static void add_event_name(const struct tapir_hit *hit, struct tapir_str *out)
{
	tapir_str__add(out, hit->begin.probe.provider.data, hit->begin.probe.provider.len);
	tapir_str__addc(out, ':');
	tapir_str__add(out, hit->begin.probe.event.data, hit->begin.probe.event.len);
}

static void fill_builtin(const struct tapir_hit *hit, uint32_t id, struct tapir_question_slot *slot,
			 struct tapir_str *text)
{
	const struct tapir_rec_event *rec = hit->begin.event.rec;
	struct tapir_sv comm;

	switch (id) {
	case BUILTIN_PID:
		slot->number = rec->tgid;
		return;
	case BUILTIN_TID:
		slot->number = rec->tid;
		return;
	case BUILTIN_CPU:
		slot->number = rec->h.cpu;
		slot->state = rec->h.cpu == TAPIR_CPU_UNKNOWN ? TAPIR_STATE_ABSENT : TAPIR_STATE_OK;
		return;
	case BUILTIN_TOOK:
		slot->number = hit->took_ns;
		return;
	case BUILTIN_COMM:
	case BUILTIN_THREAD:
		comm = id == BUILTIN_COMM ? process_comm(hit) : thread_comm(hit);
		slot->state = comm.data ? TAPIR_STATE_OK : TAPIR_STATE_ABSENT;
		set_text(slot, comm.data, comm.len);
		return;
	case BUILTIN_EVENT:
		add_event_name(hit, text);
		set_text(slot, text->data, text->len);
		return;
	default:
		fill_process(hit, id, slot);
	}
}

static void fill_text(const struct tapir_value *v, struct tapir_question_slot *slot,
		      struct tapir_str *text)
{
	bool is_plain = v->type == TAPIR_FIELD_STR || v->type == TAPIR_FIELD_STRN ||
			v->type == TAPIR_FIELD_BLOB;

	if (v->flags & TAPIR_VALUE_TRUNCATED)
		slot->state = TAPIR_STATE_TRUNCATED;
	if (is_plain) {
		set_text(slot, (const char *)v->bytes, v->len);
		return;
	}
	tapir_event_fields__add_value(v, TAPIR_EXPRESSION_MAX_BYTES, text);
	set_text(slot, text->data, text->len);
	if (text->failed)
		slot->state = TAPIR_STATE_ABSENT;
}

static void fill_value(const struct tapir_value *v, uint8_t class, struct tapir_question_slot *slot,
		       struct tapir_str *text)
{
	uint8_t now = v ? class_of(v) : TAPIR_CLASS_NONE;

	if (!v || now == TAPIR_CLASS_NONE || v->flags & (TAPIR_VALUE_FAULT | TAPIR_VALUE_MISSING))
		slot->state = TAPIR_STATE_ABSENT;
	else if (v->flags & TAPIR_VALUE_NULL)
		slot->state = TAPIR_STATE_NULL;
	else if (class == TAPIR_CLASS_TEXT)
		fill_text(v, slot, text);
	else if (now != class || (class == TAPIR_CLASS_FLOAT && isnan(v->f64)))
		slot->state = TAPIR_STATE_ABSENT;
	else
		slot->number =
			class == TAPIR_CLASS_FLOAT ? tapir_program__float_bits(v->f64) : v->u64;
}

/* Shortens a text to the bytes of str(X, N), which makes it the beginning of a longer one. */
static void truncate_part(struct tapir_question_slot *slot,
			  const struct tapir_question_operand *operand)
{
	if (operand->class != TAPIR_CLASS_TEXT || !operand->max_bytes ||
	    slot->len <= operand->max_bytes || slot->state > TAPIR_STATE_TRUNCATED)
		return;
	slot->len = operand->max_bytes;
}

void tapir_hit__fill(const struct tapir_hit *hit, const struct tapir_hit_names *names,
		     const struct tapir_program *p, struct tapir_hit_values *out)
{
	for (unsigned i = 0; i < p->slot_cnt; i++) {
		const struct tapir_question_operand *operand = &p->slots[i];
		struct tapir_question_slot *slot = &out->slots[i];

		*slot = (struct tapir_question_slot){};
		tapir_str__clear(&out->texts[i]);
		if (operand->id & (OF_BEGIN | OF_END))
			fill_value(hit_value(hit, names, operand->id), operand->class, slot,
				   &out->texts[i]);
		else
			fill_builtin(hit, operand->id, slot, &out->texts[i]);
		truncate_part(slot, operand);
	}
}

void tapir_hit_values__fini(struct tapir_hit_values *values)
{
	for (unsigned i = 0; i < TAPIR_QUESTION_SLOTS; i++)
		tapir_str__fini(&values->texts[i]);
}

const struct tapir_value *tapir_hit__value(const struct tapir_hit *hit,
					   const struct tapir_hit_names *names,
					   const struct tapir_question_operand *operand)
{
	return operand->id & OF_BEGIN ? hit_value(hit, names, operand->id) : NULL;
}

bool tapir_hit__is_took(const struct tapir_question_operand *operand)
{
	return operand->id == BUILTIN_TOOK;
}

bool tapir_hit__is_in_kernel(const struct tapir_question_operand *operand,
			     struct tapir_hit_key *out)
{
	static const struct {
		uint32_t id;
		uint8_t source;
	} known[] = {{BUILTIN_PID, TAPIR_HIT_PID},	 {BUILTIN_TID, TAPIR_HIT_TID},
		     {BUILTIN_CPU, TAPIR_HIT_CPU},	 {BUILTIN_COMM, TAPIR_HIT_COMM},
		     {BUILTIN_THREAD, TAPIR_HIT_THREAD}, {BUILTIN_EVENT, TAPIR_HIT_CONSTANT}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (operand->id == known[i].id) {
			out->source = known[i].source;
			return true;
		}
	return false;
}

bool tapir_hit__has_value_names(const struct tapir_hit *hit, const struct tapir_hit_names *names,
				const struct tapir_question_operand *operand)
{
	if (!(operand->id & (OF_BEGIN | OF_END)))
		return false;
	for (uint64_t i = 0; i < KNOWN_VALUES; i++)
		if (known_name(hit, names, operand->id, i))
			return true;
	return map_of(hit_value(hit, names, operand->id));
}

bool tapir_hit__name_number(const struct tapir_hit *hit, const struct tapir_hit_names *names,
			    const struct tapir_question_operand *operand, uint64_t number,
			    struct tapir_str *out)
{
	const char *known;

	if (operand->id == BUILTIN_EVENT) {
		add_event_name(hit, out);
		return true;
	}
	known = operand->id & (OF_BEGIN | OF_END) ? known_name(hit, names, operand->id, number)
						  : NULL;
	if (known)
		tapir_str__adds(out, known);
	return known;
}

bool tapir_hit__add_value_name(const struct tapir_hit *hit, const struct tapir_hit_names *names,
			       const struct tapir_question_operand *operand, struct tapir_str *out)
{
	const struct tapir_value *v;
	const char *known;

	if (!(operand->id & (OF_BEGIN | OF_END)))
		return false;
	v = hit_value(hit, names, operand->id);
	if (!v || v->flags & TAPIR_VALUE_ABSENT || v->bytes)
		return false;
	if (map_of(v)) {
		tapir_event_fields__add_value(v, NAME_BYTES, out);
		return true;
	}
	known = operand->class == TAPIR_CLASS_UINT || operand->class == TAPIR_CLASS_INT
			? known_name(hit, names, operand->id, v->u64)
			: NULL;
	if (known)
		tapir_str__adds(out, known);
	return known;
}
