// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Judges each record of a recording by the triggers. It is called for every record, so a probe is
 * judged once: which triggers its events concern is remembered by its id.
 */
#include "flight/trigger.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "decode/event_fields.h"
#include "analyze/pairs.h"
#include "decode/question_hit.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/duration.h"
#include "base/file.h"
#include "base/log.h"
#include "flight/condition.h"
#include "flight/open_spans.h"
#include "spec/spec.h"

enum kind { KIND_EVENT, KIND_COUNTER, KIND_SLOW, KIND_EXIT, KIND_FINDING };

#define HIGH_SEVERITY 60 /* of 100: what a report calls its worst */

struct trigger {
	enum kind kind;
	char *text;			     /* as it was given */
	struct tapir_spec *spec;	     /* EVENT */
	struct tapir_condition condition;    /* EVENT, COUNTER: its field is the counter's name */
	struct tapir_expression *expression; /* EVENT: what is no such condition; NULL: none */
	struct tapir_map programs; /* of it, by probe; owned; 0: it does not fit that one */
	char *interval;		   /* SLOW */
	uint64_t limit_ns;
	bool only_failed;  /* EXIT */
	uint64_t severity; /* FINDING */
};

struct tapir_triggers {
	struct tapir_vec(struct trigger) all;
	struct tapir_map by_probe; /* -> 1 + a bit for each trigger */
	struct tapir_pairs pairs;
	struct tapir_spans spans[TAPIR_TRIGGERS_MAX]; /* of each SLOW */
	struct tapir_event_fields fields;
	struct tapir_hit_names names; /* fields of expressions */
	struct tapir_hit_values values;
};

/* ---- what a user wrote ---------------------------------------------------------------------- */

struct tapir_triggers *tapir_triggers__new(void)
{
	return calloc(1, sizeof(struct tapir_triggers));
}

static void drop_program(struct trigger *t, uint32_t probe_id)
{
	const uint64_t *slot = tapir_map__get(&t->programs, probe_id);

	if (slot)
		free((void *)(uintptr_t)*slot);
	tapir_map__del(&t->programs, probe_id);
}

static void fini(struct trigger *t)
{
	for (size_t i = 0; i < t->programs.cap; i++)
		if (t->programs.slots[i].used)
			free((void *)(uintptr_t)t->programs.slots[i].value);
	tapir_map__fini(&t->programs);
	tapir_expression__free(t->expression);
	free(t->text);
	tapir_spec__free(t->spec);
	tapir_condition__fini(&t->condition);
	free(t->interval);
}

void tapir_triggers__free(struct tapir_triggers *t)
{
	struct trigger *trigger;

	if (!t)
		return;
	tapir_vec_for_each (trigger, &t->all)
		fini(trigger);
	for (size_t i = 0; i < TAPIR_TRIGGERS_MAX; i++)
		tapir_spans__fini(&t->spans[i]);
	tapir_vec__fini(&t->all);
	tapir_map__fini(&t->by_probe);
	tapir_pairs__fini(&t->pairs);
	tapir_event_fields__fini(&t->fields);
	tapir_hit_names__fini(&t->names);
	tapir_hit_values__fini(&t->values);
	free(t);
}

/* FIELD OP VALUE keeps its meaning, in which = and != compare text as globs; what has a quoted text
 * or several comparisons is an expression. */
static bool is_expression(const char *condition)
{
	return strchr(condition, '"') || strstr(condition, "&&") || strstr(condition, "||");
}

static int parse_condition(const char *text, struct trigger *out)
{
	int cnt = tapir_diag__cnt(), err;

	if (!is_expression(text) && tapir_condition__parse(text, &out->condition))
		return 0;
	tapir_diag__add("no condition '%s' in trigger '%s': write FIELD OP VALUE, such as 'if arg0 "
			"> 3', or an expression ('tapir help where')",
			text, out->text);
	err = tapir_expression__parse("if", text, &out->expression);
	if (!err)
		tapir_diag__rewind(cnt);
	return err;
}

static int parse_event(const char *rest, struct trigger *out)
{
	const char *condition = strstr(rest, " if ");
	tapir_autofree char *spec =
		strndup(rest, condition ? (size_t)(condition - rest) : strlen(rest));

	if (!spec)
		return -ENOMEM;
	if (condition) {
		int err = parse_condition(condition + 4, out);

		if (err)
			return err;
	}
	return tapir_spec__parse(spec, &out->spec);
}

static int parse_counter(const char *rest, struct trigger *out)
{
	if (tapir_condition__parse(rest, &out->condition) && out->condition.is_number)
		return 0;
	return tapir_diag__fail(
		-EINVAL,
		"no condition '%s' in trigger '%s': write counter=NAME OP NUMBER, such "
		"as 'counter=cpu-usage>90'",
		rest, out->text);
}

static int parse_slow(const char *rest, struct trigger *out)
{
	const char *limit = strchr(rest, '>');

	if (!limit || limit == rest || !tapir_duration__parse(limit + 1, &out->limit_ns) ||
	    !out->limit_ns)
		return tapir_diag__fail(
			-EINVAL,
			"no limit in trigger '%s': write slow=EVENT>TIME, such as 'slow=gc>100ms'",
			out->text);
	out->interval = strndup(rest, (size_t)(limit - rest));
	return out->interval ? 0 : -ENOMEM;
}

static int parse_finding(const char *rest, struct trigger *out)
{
	out->severity = HIGH_SEVERITY;
	if (!*rest ||
	    (!strncmp(rest, ">=", 2) && tapir_str__to_u64(rest + 2, 1, 100, &out->severity)))
		return 0;
	return tapir_diag__fail(-EINVAL,
				"no severity in trigger '%s': write finding or finding>=N, from 1 "
				"to 100",
				out->text);
}

static int parse_form(struct trigger *out)
{
	static const struct {
		const char *start;
		enum kind kind;
		int (*parse)(const char *rest, struct trigger *out);
	} forms[] = {
		{"event=", KIND_EVENT, parse_event},
		{"counter=", KIND_COUNTER, parse_counter},
		{"slow=", KIND_SLOW, parse_slow},
		{"finding", KIND_FINDING, parse_finding},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t len = strlen(forms[i].start);

		out->kind = forms[i].kind;
		if (!strncmp(out->text, forms[i].start, len))
			return forms[i].parse(out->text + len, out);
	}
	out->kind = KIND_EXIT;
	out->only_failed = !strcmp(out->text, "exit=failed");
	if (out->only_failed || !strcmp(out->text, "exit"))
		return 0;
	return tapir_diag__fail(-EINVAL,
				"no trigger '%s': use event=SPEC, counter=NAME>NUMBER, "
				"slow=EVENT>TIME, finding, exit or exit=failed",
				out->text);
}

int tapir_triggers__add(struct tapir_triggers *t, const char *text)
{
	struct trigger trigger = {.text = strdup(text)};
	int err = trigger.text ? 0 : -ENOMEM;

	if (!err && t->all.cnt == TAPIR_TRIGGERS_MAX)
		err = tapir_diag__fail(-EINVAL, "more than %d triggers", TAPIR_TRIGGERS_MAX);
	if (!err)
		err = parse_form(&trigger);
	if (!err && !tapir_vec__push(&t->all, trigger))
		err = -ENOMEM;
	if (err)
		fini(&trigger);
	return err;
}

bool tapir_triggers__add_specs(const struct tapir_triggers *t, struct tapir_words *out)
{
	const struct trigger *trigger;

	tapir_vec_for_each (trigger, &t->all)
		if (trigger->kind == KIND_EVENT && !tapir_vec__push(out, trigger->spec->text))
			return false;
	return true;
}

/* ---- probes --------------------------------------------------------------------------------- */

static bool is_of_interval(struct tapir_triggers *t, const struct tapir_probe_view *probe,
			   const char *interval)
{
	const struct tapir_roles *roles = tapir_pairs__roles(&t->pairs, probe);

	for (uint32_t i = 0; i < roles->cnt; i++)
		if (tapir_interval_kind__is_called(&t->pairs.kinds.data[roles->roles[i].kind],
						   interval))
			return true;
	return false;
}

static bool concerns(struct tapir_triggers *t, const struct trigger *trigger,
		     const struct tapir_probe_view *probe)
{
	char provider[256], event[256];

	if (trigger->kind == KIND_SLOW)
		return is_of_interval(t, probe, trigger->interval);
	if (trigger->kind != KIND_EVENT || probe->provider.len >= sizeof(provider) ||
	    probe->event.len >= sizeof(event))
		return false;
	memcpy(provider, probe->provider.data, probe->provider.len);
	provider[probe->provider.len] = '\0';
	memcpy(event, probe->event.data, probe->event.len);
	event[probe->event.len] = '\0';
	return tapir_spec__matches(trigger->spec, NULL, provider, event) ||
	       tapir_spec__selects(trigger->spec, TAPIR_SPEC_ZERO_IS_ALL, NULL, provider, event,
				   probe->rec->level, probe->rec->keywords);
}

static uint64_t concerned(struct tapir_triggers *t, const struct tapir_probe_view *probe)
{
	const uint64_t *known = tapir_map__get(&t->by_probe, probe->rec->probe_id);
	uint64_t bits = 0, *slot;

	if (known)
		return *known >> 1;
	for (size_t i = 0; i < t->all.cnt; i++)
		bits |= (uint64_t)concerns(t, &t->all.data[i], probe) << i;
	slot = tapir_map__put(&t->by_probe, probe->rec->probe_id, NULL);
	if (slot)
		*slot = bits << 1 | 1;
	return bits;
}

/* ---- events --------------------------------------------------------------------------------- */

struct happening {
	const struct tapir_catalog *catalog;
	struct tapir_probe_view probe;
	struct tapir_event_view event;
	bool is_decoded;
};

static void decode_once(struct tapir_triggers *t, struct happening *h)
{
	if (!h->is_decoded)
		tapir_event_fields__decode(&t->fields, h->catalog, &h->probe, &h->event);
	h->is_decoded = true;
}

static const struct tapir_value *field_of(struct tapir_triggers *t, struct happening *h,
					  const char *name)
{
	decode_once(t, h);
	return tapir_event_fields__find(&t->fields, name, strlen(name));
}

static void add_trigger_event(const struct happening *h, struct tapir_str *why)
{
	tapir_str__addf(why, " (%.*s:%.*s in process %u)", (int)h->probe.provider.len,
			h->probe.provider.data, (int)h->probe.event.len, h->probe.event.data,
			h->event.rec->tgid);
}

/* NULL: the expression does not fit the probe, of which a line warns once. */
static const struct tapir_program *program_of(struct tapir_triggers *t, struct trigger *trigger,
					      const struct tapir_hit *hit)
{
	uint32_t probe_id = hit->begin.probe.rec->probe_id;
	uint64_t *slot = tapir_map__get(&trigger->programs, probe_id);
	int cnt = tapir_diag__cnt();
	struct tapir_hit_scope names;
	struct tapir_program *made;
	struct tapir_scope scope;

	if (slot)
		return (const void *)(uintptr_t)*slot;
	made = calloc(1, sizeof(*made));
	slot = made ? tapir_map__put(&trigger->programs, probe_id, NULL) : NULL;
	if (!slot) {
		free(made);
		return NULL;
	}
	scope = tapir_hit_scope__init(&names, hit, &t->names);
	if (tapir_expression__condition(trigger->expression, &scope, made)) {
		if (tapir_diag__line(cnt))
			tapir_warn("trigger '%s' never fires: %s", trigger->text,
				   tapir_diag__line(cnt));
		tapir_diag__rewind(cnt);
		free(made);
		made = NULL;
	}
	/* NULL is remembered as well, so that the warning comes once. */
	*slot = (uintptr_t)made;
	return made;
}

static bool expression_holds(struct tapir_triggers *t, struct trigger *trigger, struct happening *h)
{
	struct tapir_hit hit = {.catalog = h->catalog, .begin = {h->probe, h->event, &t->fields}};
	const struct tapir_program *p;

	decode_once(t, h);
	p = program_of(t, trigger, &hit);
	if (!p)
		return false;
	tapir_hit__fill(&hit, &t->names, p, &t->values);
	return tapir_program__decide(p, t->values.slots) == TAPIR_QUESTION_ACCEPT;
}

static bool match_event(struct tapir_triggers *t, struct trigger *trigger, struct happening *h,
			struct tapir_str *why)
{
	const struct tapir_condition *c = &trigger->condition;
	const struct tapir_value *value = c->field ? field_of(t, h, c->field) : NULL;

	if (c->field && (!value || !tapir_condition__holds(c, value)))
		return false;
	if (trigger->expression && !expression_holds(t, trigger, h))
		return false;
	tapir_str__adds(why, trigger->text);
	add_trigger_event(h, why);
	return true;
}

/* The key by which the end of this kind is searched, as analyze/timeline_intervals.c has it. */
static uint64_t interval_end_key(struct tapir_triggers *t, const struct tapir_interval_kind *kind,
				 struct happening *h)
{
	const struct tapir_rec_event *rec = h->event.rec;
	uint64_t key = tapir_hash__mix((uint64_t)(kind - t->pairs.kinds.data), rec->tgid);
	const struct tapir_value *v = kind->key ? field_of(t, h, kind->key) : NULL;

	if (v && v->bytes)
		key = tapir_hash__bytes(key, v->bytes, v->len);
	else if (v)
		key = tapir_hash__mix(key, v->u64);
	if (kind->scope == TAPIR_PAIR_KEY || kind->scope == TAPIR_PAIR_PROCESS)
		return key;
	if (kind->scope == TAPIR_PAIR_ACTIVITY && h->event.activity_id)
		return tapir_hash__bytes(key, h->event.activity_id, 16);
	return tapir_hash__mix(key, (uint64_t)rec->tid << 32);
}

/*
 * Without an id, such an activity that moved cannot be distinguished from the next one on its
 * thread.
 */
static bool is_distinct(const struct tapir_interval_kind *kind, const struct happening *h)
{
	return !kind->is_guessed || kind->scope != TAPIR_PAIR_ACTIVITY || h->event.activity_id;
}

static bool match_slow(struct tapir_triggers *t, size_t at, struct happening *h,
		       struct tapir_str *why)
{
	const struct trigger *trigger = &t->all.data[at];
	const struct tapir_roles *roles = tapir_pairs__roles(&t->pairs, &h->probe);
	const struct tapir_rec_event *rec = h->event.rec;
	uint64_t took_ns = 0;

	for (uint32_t i = 0; i < roles->cnt && took_ns <= trigger->limit_ns; i++) {
		const struct tapir_role *role = &roles->roles[i];
		const struct tapir_interval_kind *kind = &t->pairs.kinds.data[role->kind];
		uint64_t key;

		if (!tapir_interval_kind__is_called(kind, trigger->interval) ||
		    !is_distinct(kind, h))
			continue;
		key = interval_end_key(t, kind, h);
		took_ns = role->is_begin ? tapir_spans__begin(&t->spans[at], key, rec->tgid,
							      rec->h.time_ns)
					 : tapir_spans__end(&t->spans[at], key, rec->h.time_ns);
	}
	if (took_ns <= trigger->limit_ns)
		return false;
	tapir_str__addf(why, "%s (%.3f ms, thread %u of process %u)", trigger->text,
			(double)took_ns / 1e6, rec->tid, rec->tgid);
	return true;
}

static bool match_any_event(struct tapir_triggers *t, const struct tapir_catalog *catalog,
			    const struct tapir_rec *rec, struct tapir_str *why)
{
	const struct tapir_rec_event *ev = (const void *)rec;
	const struct tapir_rec_probe *probe = tapir_catalog__probe(catalog, ev->probe_id);
	struct happening h = {.catalog = catalog};
	bool has_fired = false;
	uint64_t bits;

	if (!probe)
		return false;
	tapir_probe_view__of(&probe->h, &h.probe);
	bits = concerned(t, &h.probe);
	if (!bits)
		return false;
	tapir_event_view__of(rec, &h.event);
	for (size_t i = 0; i < t->all.cnt; i++) {
		/* Every trigger sees the event, since some count; the first that fires says why. */
		struct tapir_str *where = has_fired ? &(struct tapir_str){} : why;

		if (!(bits >> i & 1))
			continue;
		has_fired |= t->all.data[i].kind == KIND_SLOW
				     ? match_slow(t, i, &h, where)
				     : match_event(t, &t->all.data[i], &h, where);
		if (where != why)
			tapir_str__fini(where);
	}
	return has_fired;
}

/* ---- the rest ------------------------------------------------------------------------------- */

/* "NAME" or "PROVIDER/NAME", globs. */
static bool names_counter(const char *glob, const struct tapir_counter_view *c)
{
	struct tapir_str text = {};
	bool is_it;

	if (strchr(glob, '/')) {
		tapir_str__add(&text, c->provider.data, c->provider.len);
		tapir_str__addc(&text, '/');
	}
	tapir_str__add(&text, c->name.data, c->name.len);
	is_it = text.data && !fnmatch(glob, text.data, 0);
	tapir_str__fini(&text);
	return is_it;
}

static bool match_counter(const struct trigger *t, const struct tapir_rec *rec,
			  struct tapir_str *why)
{
	struct tapir_counter_view c;

	tapir_counter_view__of(rec, &c);
	if (t->kind != KIND_COUNTER ||
	    !tapir_condition__holds_number(&t->condition, c.rec->value) ||
	    !names_counter(t->condition.field, &c))
		return false;
	tapir_str__addf(why, "%s (%.*s is %g in process %u)", t->text, (int)c.name.len, c.name.data,
			c.rec->value, c.rec->tgid);
	return true;
}

static bool match_exit(const struct trigger *t, const struct tapir_rec_process *p,
		       struct tapir_str *why)
{
	int status = p->exit_status;

	if (t->kind != KIND_EXIT || (t->only_failed && !status))
		return false;
	tapir_str__addf(why, "%s (process %u ", t->text, p->tgid);
	if (WIFSIGNALED(status))
		tapir_str__addf(why, "was killed by signal %d)", WTERMSIG(status));
	else
		tapir_str__addf(why, "exited with status %d)", WEXITSTATUS(status));
	return true;
}

static void forget_process(struct tapir_triggers *t, uint32_t tgid)
{
	for (size_t i = 0; i < t->all.cnt; i++)
		tapir_spans__forget(&t->spans[i], tgid);
}

bool tapir_triggers__match(struct tapir_triggers *t, const struct tapir_catalog *catalog,
			   const struct tapir_rec *rec, struct tapir_str *why)
{
	const struct tapir_rec_process *process = (const void *)rec;
	bool is_exit = rec->type == TAPIR_REC_PROCESS && process->kind == TAPIR_PROCESS_EXIT;
	const struct trigger *trigger;

	tapir_str__clear(why);
	if (rec->type == TAPIR_REC_EVENT)
		return match_any_event(t, catalog, rec, why);
	if (rec->type == TAPIR_REC_PROBE) { /* its id may have been another one's */
		uint32_t probe_id = ((const struct tapir_rec_probe *)rec)->probe_id;

		tapir_map__del(&t->by_probe, probe_id);
		for (size_t i = 0; i < t->all.cnt; i++)
			drop_program(&t->all.data[i], probe_id);
	}
	if (is_exit)
		forget_process(t, process->tgid);
	if (rec->type != TAPIR_REC_COUNTER && !is_exit)
		return false;
	tapir_vec_for_each (trigger, &t->all)
		if (is_exit ? match_exit(trigger, process, why) : match_counter(trigger, rec, why))
			return true;
	return false;
}

bool tapir_triggers__match_open(struct tapir_triggers *t, uint64_t now_ns, struct tapir_str *why)
{
	uint64_t begin_ns;
	uint32_t tgid;

	tapir_str__clear(why);
	for (size_t i = 0; i < t->all.cnt; i++) {
		const struct trigger *trigger = &t->all.data[i];

		if (trigger->kind != KIND_SLOW || now_ns < trigger->limit_ns ||
		    !tapir_spans__take_older(&t->spans[i], now_ns - trigger->limit_ns, &tgid,
					     &begin_ns))
			continue;
		tapir_str__addf(why, "%s (%.3f ms and not ended, in process %u)", trigger->text,
				(double)(now_ns - begin_ns) / 1e6, tgid);
		return true;
	}
	return false;
}

double tapir_triggers__severity(const struct tapir_triggers *t)
{
	const struct trigger *trigger;
	uint64_t least = 0;

	tapir_vec_for_each (trigger, &t->all)
		if (trigger->kind == KIND_FINDING && (!least || trigger->severity < least))
			least = trigger->severity;
	return (double)least;
}

uint64_t tapir_triggers__missed(const struct tapir_triggers *t)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < t->all.cnt; i++)
		cnt += t->spans[i].missed_cnt;
	return cnt;
}
