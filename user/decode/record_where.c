// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The condition is bound to each kind of record when its first one comes: to each probe, and to
 * each family of records without fields. A kind that lacks a field has no binding, and so nothing
 * of it is chosen; whether that is a mistake is known only at the end, since another kind may have
 * the field.
 */
#include "decode/record_where.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "decode/kernel_condition.h"
#include "decode/question_hit.h"
#include "trace/family.h"

#define MAX_KINDS  (1u << 16)
#define MAX_LISTED 60 /* fields, for a message */
#define MAX_KNOWN  1024

struct bound_kind {
	const struct tapir_rec_probe *probe; /* NULL: of a family */
	struct tapir_program *program;	     /* NULL: it does not fit */
};

struct known_field {
	char *name;
	struct tapir_question_operand operand; /* as it is in the first event that has it */
};

struct tapir_where {
	struct tapir_expression *e;
	const struct tapir_catalog *catalog;
	struct tapir_hit_names names;
	struct tapir_hit_values values;
	struct tapir_event_fields fields;
	struct tapir_map by_probe; /* -> idx + 1 of kinds */
	struct tapir_vec(struct bound_kind) kinds;
	struct bound_kind by_family[TAPIR_FAMILY_CNT];
	bool has_tried[TAPIR_FAMILY_CNT];
	struct tapir_vec(struct known_field) known; /* of the events that came, for a message */
	struct tapir_str misfit; /* lines about the first kind whose fields do not compare */
	bool fits, has_kind, has_misfit, failed;
	void (*offer)(void *ctx, uint32_t probe_id, const struct tapir_hit_question *condition);
	void *offer_ctx;
	uint64_t chosen[TAPIR_FAMILY_CNT], seen[TAPIR_FAMILY_CNT];
};

int tapir_where__new(const char *text, struct tapir_where **out)
{
	struct tapir_where *w = text ? calloc(1, sizeof(*w)) : NULL;
	int err;

	*out = NULL;
	if (!w)
		return text ? -ENOMEM : 0;
	err = tapir_expression__parse("--where", text, &w->e);
	if (err)
		free(w);
	else
		*out = w;
	return err;
}

int tapir_where__check_text(const char *text)
{
	struct tapir_where *w;
	int err = tapir_where__new(text, &w);

	tapir_where__free(w);
	return err;
}

static void unbind(struct tapir_where *w)
{
	struct bound_kind *k;

	tapir_vec_for_each (k, &w->kinds)
		free(k->program);
	w->kinds.cnt = 0;
	tapir_map__clear(&w->by_probe);
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		free(w->by_family[i].program);
	memset(w->by_family, 0, sizeof(w->by_family));
	memset(w->has_tried, 0, sizeof(w->has_tried));
	tapir_event_fields__fini(&w->fields);
	w->fields = (struct tapir_event_fields){};
}

void tapir_where__free(struct tapir_where *w)
{
	struct known_field *field;

	if (!w)
		return;
	unbind(w);
	tapir_vec__fini(&w->kinds);
	tapir_map__fini(&w->by_probe);
	tapir_hit_names__fini(&w->names);
	tapir_vec_for_each (field, &w->known)
		free(field->name);
	tapir_vec__fini(&w->known);
	tapir_hit_values__fini(&w->values);
	tapir_str__fini(&w->misfit);
	tapir_expression__free(w->e);
	free(w);
}

void tapir_where__begin(struct tapir_where *w, const struct tapir_catalog *catalog)
{
	if (!w)
		return;
	unbind(w);
	w->catalog = catalog;
}

void tapir_where__set_offer(struct tapir_where *w,
			    void (*offer)(void *ctx, uint32_t probe_id,
					  const struct tapir_hit_question *condition),
			    void *ctx)
{
	w->offer = offer;
	w->offer_ctx = ctx;
}

/* ---- binding --------------------------------------------------------------------------------- */

/* A scope that notes whether a name was missing: that is no mistake in a record of another kind. */
struct noting {
	struct tapir_scope scope;
	bool is_missing;
};

static bool find_operand(void *ctx, const char *name, size_t len, bool is_field,
			 struct tapir_question_operand *out)
{
	struct noting *n = ctx;
	bool has = n->scope.find(n->scope.ctx, name, len, is_field, out);

	n->is_missing |= !has;
	return has;
}

static bool enumerator(void *ctx, const struct tapir_question_operand *of, const char *name,
		       size_t len, uint64_t *out)
{
	struct noting *n = ctx;

	return n->scope.enumerator(n->scope.ctx, of, name, len, out);
}

static void list_operands(void *ctx, struct tapir_str *out)
{
	struct noting *n = ctx;

	n->scope.list(n->scope.ctx, out);
}

static const struct known_field *known_field(const struct tapir_where *w, const char *name,
					     size_t len)
{
	const struct known_field *field;

	tapir_vec_for_each (field, &w->known)
		if (strlen(field->name) == len && !memcmp(field->name, name, len))
			return field;
	return NULL;
}

static void learn_fields(struct tapir_where *w, const struct tapir_hit *hit)
{
	const struct tapir_event_fields *fields = hit->begin.fields;
	struct tapir_hit_scope names;
	struct tapir_scope scope = tapir_hit_scope__init(&names, hit, &w->names);

	for (unsigned i = 0; i < fields->cnt; i++) {
		struct tapir_sv name = fields->values[i].name;
		struct known_field field = {};

		if (!name.len || w->known.cnt == MAX_KNOWN || known_field(w, name.data, name.len) ||
		    !scope.find(scope.ctx, name.data, name.len, true, &field.operand))
			continue;
		field.name = strndup(name.data, name.len);
		if (field.name && tapir_vec__push(&w->known, field))
			continue;
		free(field.name);
		w->failed = true;
	}
}

/* Keeps the lines after the mark, if they are the first of their kind, and drops them. */
static void keep_misfit(struct tapir_where *w, int mark, bool is_missing)
{
	if (!w->misfit.len || (!w->has_misfit && !is_missing)) {
		tapir_str__clear(&w->misfit);
		for (int i = mark; i < tapir_diag__cnt(); i++)
			tapir_str__addf(&w->misfit, "%s\n", tapir_diag__line(i));
	}
	w->has_misfit |= !is_missing;
	tapir_diag__rewind(mark);
}

static struct tapir_program *bind(struct tapir_where *w, const struct tapir_hit *hit,
				  const char *subject)
{
	struct tapir_program *p = calloc(1, sizeof(*p));
	struct tapir_hit_scope names;
	struct noting noting = {};
	struct tapir_scope scope = {.find = find_operand,
				    .enumerator = enumerator,
				    .list = list_operands,
				    .ctx = &noting};
	int mark = tapir_diag__cnt(), err;

	noting.scope = tapir_hit_scope__init(&names, hit, &w->names);
	scope.subject = subject ? subject : noting.scope.subject;
	err = p ? tapir_expression__condition(w->e, &scope, p) : -ENOMEM;
	w->has_kind = true;
	w->fits |= !err;
	w->failed |= err == -ENOMEM;
	if (!err)
		return p;
	keep_misfit(w, mark, noting.is_missing);
	free(p);
	return NULL;
}

/* ---- records --------------------------------------------------------------------------------- */

static void offer_to_kernel(struct tapir_where *w, const struct tapir_hit *hit,
			    const struct tapir_program *p)
{
	struct tapir_hit_question condition = {};

	if (p && w->offer && !tapir_kernel_condition__refuse_lane(&hit->begin) &&
	    tapir_kernel_condition__make(hit, &w->names, p, &condition))
		w->offer(w->offer_ctx, hit->begin.probe.rec->probe_id, &condition);
}

static const struct tapir_program *program_of_event(struct tapir_where *w,
						    const struct tapir_hit *hit)
{
	const struct tapir_rec_probe *probe = hit->begin.probe.rec;
	const uint64_t *idx = tapir_map__get(&w->by_probe, probe->probe_id);
	struct bound_kind kind = {.probe = probe};
	uint64_t *slot;

	if (idx && w->kinds.data[*idx - 1].probe == probe)
		return w->kinds.data[*idx - 1].program;
	/* Processes that come and go have probes of new ids: so the memory has a bound. */
	if (w->kinds.cnt == MAX_KINDS)
		unbind(w);
	learn_fields(w, hit);
	kind.program = bind(w, hit, NULL);
	offer_to_kernel(w, hit, kind.program);
	slot = tapir_map__put(&w->by_probe, probe->probe_id, NULL);
	if (slot && tapir_vec__push(&w->kinds, kind)) {
		*slot = w->kinds.cnt;
		return kind.program;
	}
	tapir_map__del(&w->by_probe, probe->probe_id);
	free(kind.program);
	w->failed = true;
	return NULL;
}

static bool decide(struct tapir_where *w, const struct tapir_hit *hit,
		   const struct tapir_program *p)
{
	if (!p)
		return false;
	tapir_hit__fill(hit, &w->names, p, &w->values);
	return tapir_program__decide(p, w->values.slots) == TAPIR_QUESTION_ACCEPT;
}

static bool has_event(struct tapir_where *w, const struct tapir_rec *rec)
{
	const struct tapir_rec_event *event = (const void *)rec;
	const struct tapir_rec_probe *probe = tapir_catalog__probe(w->catalog, event->probe_id);
	struct tapir_hit hit = {.catalog = w->catalog, .begin.fields = &w->fields};

	if (!probe)
		return false;
	tapir_event_view__of(rec, &hit.begin.event);
	tapir_probe_view__of(&probe->h, &hit.begin.probe);
	tapir_event_fields__decode(&w->fields, w->catalog, &hit.begin.probe, &hit.begin.event);
	return decide(w, &hit, program_of_event(w, &hit));
}

/* A record without fields stands for an event without any, at its time and of its thread. */
static bool has_thread(struct tapir_where *w, const struct tapir_rec *rec, int family, int which)
{
	static const struct tapir_event_fields none;
	const struct tapir_rec_event stand_in = {.h = {.type = TAPIR_REC_EVENT,
						       .size = sizeof(stand_in),
						       .cpu = rec->cpu,
						       .time_ns = rec->time_ns},
						 .tgid = tapir_rec__tgid(rec, which),
						 .tid = tapir_rec__tid(rec, which)};
	const struct tapir_hit hit = {.catalog = w->catalog,
				      .begin = {.event.rec = &stand_in, .fields = &none}};
	struct bound_kind *kind = &w->by_family[family];

	if (!w->has_tried[family])
		kind->program = bind(w, &hit, tapir_families[family].thing);
	w->has_tried[family] = true;
	return decide(w, &hit, kind->program);
}

/* Records of no family that are of a thread, such as counters, are judged as samples are. */
static int family_of(const struct tapir_rec *rec)
{
	int family = tapir_family__of(rec->type);

	if (family < 0 && (rec->type == TAPIR_REC_COUNTER || rec->type == TAPIR_REC_WAIT ||
			   rec->type == TAPIR_REC_INTERP_SAMPLE))
		return TAPIR_FAMILY_SAMPLE;
	return family;
}

bool tapir_where__has(struct tapir_where *w, const struct tapir_rec *rec, int which)
{
	int family = w ? family_of(rec) : -1;

	if (family < 0)
		return true;
	return rec->type == TAPIR_REC_EVENT ? has_event(w, rec) : has_thread(w, rec, family, which);
}

bool tapir_where__count(struct tapir_where *w, const struct tapir_rec *rec, int which)
{
	int family = tapir_family__of(rec->type);
	bool has = tapir_where__has(w, rec, which);

	if (w && family >= 0) {
		uint64_t weight = tapir_rec__weight(rec);

		w->seen[family] += weight;
		w->chosen[family] += has ? weight : 0;
	}
	return has;
}

/* ---- afterwards ------------------------------------------------------------------------------ */

/* Finds what any record of the recording has. */
static bool find_anywhere(void *ctx, const char *name, size_t len, bool is_field,
			  struct tapir_question_operand *out)
{
	static const struct tapir_event_fields none;
	static const struct tapir_rec_event nothing;
	struct tapir_where *w = ctx;
	const struct tapir_hit hit = {.begin = {.event.rec = &nothing, .fields = &none}};
	const struct known_field *field = known_field(w, name, len);
	struct tapir_hit_scope names;
	struct tapir_scope scope = tapir_hit_scope__init(&names, &hit, &w->names);

	if (scope.find(scope.ctx, name, len, is_field, out))
		return true;
	if (field)
		*out = field->operand;
	return field;
}

static bool no_enumerator(void *ctx, const struct tapir_question_operand *of, const char *name,
			  size_t len, uint64_t *out)
{
	(void)ctx, (void)of, (void)name, (void)len, (void)out;
	return false;
}

static void list_anywhere(void *ctx, struct tapir_str *out)
{
	const struct tapir_where *w = ctx;

	for (size_t i = 0; i < w->known.cnt && i < MAX_LISTED; i++) {
		tapir_str__adds(out, i ? ", " : "");
		tapir_str__add_printable(out, w->known.data[i].name, strlen(w->known.data[i].name));
	}
	if (w->known.cnt > MAX_LISTED)
		tapir_str__addf(out, " and %zu more", w->known.cnt - MAX_LISTED);
	tapir_str__adds(out, w->known.cnt ? "; " : "no fields; ");
	tapir_str__adds(out, "everywhere: pid, tid, comm, thread, cpu, cgroup, user, event");
}

/* Fails with a caret at a field that no record has. False: each is known to some. */
static bool fail_unknown(struct tapir_where *w)
{
	struct noting noting = {.scope = {.find = find_anywhere,
					  .enumerator = no_enumerator,
					  .list = list_anywhere,
					  .ctx = w}};
	const struct tapir_scope scope = {.subject = "the recording",
					  .find = find_operand,
					  .enumerator = enumerator,
					  .list = list_operands,
					  .ctx = &noting};
	struct tapir_program *p = calloc(1, sizeof(*p));
	int mark = tapir_diag__cnt();

	if (p)
		(void)tapir_expression__condition(w->e, &scope, p);
	free(p);
	if (!noting.is_missing)
		tapir_diag__rewind(mark);
	return noting.is_missing;
}

const char *tapir_where__misfit(const struct tapir_where *w)
{
	return w->misfit.data;
}

int tapir_where__check(struct tapir_where *w)
{
	const char *line;

	if (!w || (w->fits && !w->failed))
		return 0;
	if (w->failed)
		return -ENOMEM;
	if (!w->has_kind)
		return 0;
	if (fail_unknown(w))
		return -EINVAL;
	for (line = w->misfit.data; line && *line; line += strcspn(line, "\n") + 1)
		tapir_diag__add("%.*s", (int)strcspn(line, "\n"), line);
	return -EINVAL;
}

const char *tapir_where__text(const struct tapir_where *w)
{
	return tapir_expression__text(w->e);
}

uint64_t tapir_where__chosen(const struct tapir_where *w, int family)
{
	return w->chosen[family];
}

uint64_t tapir_where__seen(const struct tapir_where *w, int family)
{
	return w->seen[family];
}
