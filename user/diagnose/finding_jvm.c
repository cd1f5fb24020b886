// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A JVM's collections and heap by its own counters. Values come from another user's file: each is
 * bounded, none is trusted. A poll knows the cause of the last collection alone, and all since the
 * poll before are counted by it: so causes have shares, not numbers.
 */
#include "diagnose/finding_jvm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/diagnosis_impl.h"

#define MAX_JVMS   256u
#define MAX_CAUSES 32u
/* A poll knows the cause of the last collection alone and counts all since the poll before by it:
   what one poll says of many may be wrong, what several say is a sample. */
#define MAX_MS	   1e12

/* ---- counting ------------------------------------------------------------------------------- */

static struct tapir_jvm_counts *jvm_of(struct tapir_diagnosis *f, uint32_t tgid)
{
	struct tapir_jvm_counts *jvm;

	tapir_vec_for_each (jvm, &f->jvm.jvms)
		if (jvm->tgid == tgid)
			return jvm;
	jvm = f->jvm.jvms.cnt < MAX_JVMS ? tapir_vec__add(&f->jvm.jvms) : NULL;
	if (jvm)
		*jvm = (struct tapir_jvm_counts){.tgid = tgid};
	return jvm;
}

static struct tapir_jvm_cause *cause_of(struct tapir_jvm_counts *jvm, struct tapir_sv tags)
{
	static const char key[] = "cause=";
	struct tapir_jvm_cause *cause;
	char name[sizeof(cause->name)];

	if (!tapir_sv__starts_with(tags, key))
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)(tags.len - (sizeof(key) - 1)),
		 tags.data + sizeof(key) - 1);
	tapir_vec_for_each (cause, &jvm->causes)
		if (!strcmp(cause->name, name))
			return cause;
	cause = jvm->causes.cnt < MAX_CAUSES ? tapir_vec__add(&jvm->causes) : NULL;
	if (cause) {
		*cause = (struct tapir_jvm_cause){};
		memcpy(cause->name, name, sizeof(name));
	}
	return cause;
}

/* When there is no room for more points, every second one is given up. */
static void keep_point(struct tapir_jvm_series *s, double value, uint64_t now_ns)
{
	if (s->point_cnt && s->points[s->point_cnt - 1].time_ns == now_ns)
		s->points[s->point_cnt - 1].value = value;
	if (!s->stride)
		s->stride = 1;
	if ((s->cnt - 1) % s->stride || (s->point_cnt && s->last_ns == now_ns))
		return;
	if (s->point_cnt == TAPIR_JVM_POINTS) {
		for (uint32_t i = 0; i < TAPIR_JVM_POINTS / 2; i++)
			s->points[i] = s->points[2 * i];
		s->point_cnt = TAPIR_JVM_POINTS / 2;
		s->stride *= 2;
		if ((s->cnt - 1) % s->stride)
			return;
	}
	s->points[s->point_cnt++] = (struct tapir_jvm_point){value, now_ns};
}

/* Returns the last point that is kept of the first half of the time. */
static struct tapir_jvm_point middle_of(const struct tapir_jvm_series *s)
{
	uint64_t middle_ns = s->first_ns + (s->last_ns - s->first_ns) / 2;
	struct tapir_jvm_point point = {s->first, s->first_ns};

	for (uint32_t i = 0; i < s->point_cnt && s->points[i].time_ns <= middle_ns; i++)
		point = s->points[i];
	return point;
}

/* now_ns: the time for which the value holds; read again, it is no other point. */
static void add_point(struct tapir_jvm_series *s, double value, uint64_t now_ns)
{
	s->cnt += !s->cnt || now_ns != s->last_ns;
	keep_point(s, value, now_ns);
	if (!s->last_ns) {
		s->first = s->max = value;
		s->first_ns = now_ns;
	}
	s->max = value > s->max ? value : s->max;
	s->fell = s->max - value > s->fell ? s->max - value : s->fell;
	s->last = value;
	s->last_ns = now_ns;
}

static struct tapir_jvm_series *series_of(struct tapir_jvm_counts *jvm, struct tapir_sv name)
{
	const struct {
		const char *name;
		struct tapir_jvm_series *series;
	} known[] = {{"old-generation", &jvm->old_generation},
		     {"heap-committed", &jvm->committed},
		     {"metaspace", &jvm->metaspace},
		     {"classes-loaded", &jvm->loaded},
		     {"classes-unloaded", &jvm->unloaded}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (tapir_sv__is(name, known[i].name))
			return known[i].series;
	return NULL;
}

void tapir_finding_jvm__counter(struct tapir_diagnosis *f, const struct tapir_rec_counter *rec)
{
	struct tapir_counter_view view;
	struct tapir_jvm_counts *jvm;
	struct tapir_jvm_series *series;
	struct tapir_jvm_cause *cause;

	tapir_counter_view__of(&rec->h, &view);
	if (!tapir_sv__is(view.provider, "hsperfdata") || !isfinite(rec->value) || rec->value < 0)
		return;
	jvm = jvm_of(f, rec->tgid);
	if (!jvm)
		return;
	series = series_of(jvm, view.name);
	cause = series ? NULL : cause_of(jvm, view.tags);
	if (tapir_sv__is(view.name, "collection-ended") && rec->value < MAX_MS)
		jvm->ended_ns = (uint64_t)(rec->value * 1e6);
	if (series == &jvm->old_generation && jvm->ended_ns)
		add_point(&jvm->survived, rec->value, jvm->ended_ns);
	if (series == &jvm->metaspace && !rec->value)
		return; /* it is measured by collections, and none has been */
	if (series)
		add_point(series, rec->value, rec->h.time_ns);
	else if (cause && tapir_sv__is(view.name, "collections")) {
		cause->cnt += rec->value;
		cause->poll_cnt += rec->value > 0;
	} else if (cause && tapir_sv__is(view.name, "gc-time")) {
		cause->ms += rec->value;
	}
}

/* ---- why it collects ------------------------------------------------------------------------ */

static double jvm_causes_sum(const struct tapir_jvm_counts *jvm)
{
	const struct tapir_jvm_cause *cause;
	double sum = 0;

	tapir_vec_for_each (cause, &jvm->causes)
		sum += cause->cnt;
	return sum;
}

/*
 * Returns true for a cause that an operator or the program requested; the JVM's own causes are not.
 */
static bool is_induced(const char *cause)
{
	return !strcmp(cause, "System.gc()") || !strcmp(cause, "Diagnostic Command") ||
	       !strcmp(cause, "JvmtiEnv ForceGarbageCollection") ||
	       !strncmp(cause, "Heap Inspection", 15);
}

static void emit_cause(struct tapir_diagnosis *f, const struct tapir_jvm_counts *jvm,
		       const struct tapir_jvm_cause *cause, double seconds,
		       struct tapir_findings *list)
{
	bool is_humongous = !strcmp(cause->name, "G1 Humongous Allocation");

	if (is_humongous || is_induced(cause->name))
		tapir_rules__judge(
			f, list,
			(struct tapir_rule_fact){.fact_kind = is_humongous ? TAPIR_FACT_HUMONGOUS
									   : TAPIR_FACT_JVM_CAUSE,
						 .cnt = cause->cnt,
						 .of = jvm_causes_sum(jvm),
						 .other = (double)cause->poll_cnt,
						 .seconds = seconds,
						 .ms = cause->ms,
						 .percent = cause->ms / 10 / seconds,
						 .subject = cause->name});
}

/* ---- what grows ----------------------------------------------------------------------------- */

/*
 * Most objects get there in collections: what it has now it has had since the last one, so that
 * collections show how fast it grows. Large objects may be there at once, and nothing be collected.
 */
static const struct tapir_jvm_series *old_generation_of(const struct tapir_jvm_counts *jvm)
{
	const struct tapir_jvm_series *s = &jvm->survived;

	return s->cnt >= TAPIR_LIMIT(POINTS) && s->last_ns - s->first_ns >= TAPIR_LIMIT_NS(SPAN)
		       ? s
		       : &jvm->old_generation;
}

/* Returns 100 for any part of nothing. */
static double percent_of(double part, double of)
{
	return of > 0 ? 100 * part / of : part > 0 ? 100 : 0;
}

/* In MB/s. */
static double rate_since(const struct tapir_jvm_series *s, const struct tapir_jvm_point *from)
{
	double seconds = (double)(s->last_ns - from->time_ns) / 1e9;

	return seconds > 0 ? (s->last - from->value) / 1e6 / seconds : 0;
}

static void emit_growth(struct tapir_diagnosis *f, const struct tapir_jvm_counts *jvm,
			struct tapir_findings *list)
{
	const struct tapir_jvm_series *s = old_generation_of(jvm);
	struct tapir_jvm_point from = {s->first, s->first_ns}, middle = middle_of(s);

	/* A program that loads something as it starts does not grow by that later. */
	if (!TAPIR_IS_SHARE(HEAP_START, rate_since(s, &middle), rate_since(s, &from)))
		from = middle;
	TAPIR_JUDGE(f, list, OLD_GENERATION, .cnt = s->cnt,
		    .seconds = (double)(s->last_ns - from.time_ns) / 1e9, .since_ns = from.time_ns,
		    .until_ns = s->last_ns, .rate = rate_since(s, &from), .from = from.value / 1e6,
		    .to = s->last / 1e6, .percent = percent_of(s->last - from.value, from.value),
		    .rest = percent_of(s->fell, s->last - from.value), .subject = "old generation");
}

static void emit_classes(struct tapir_diagnosis *f, const struct tapir_jvm_counts *jvm,
			 struct tapir_findings *list)
{
	const struct tapir_jvm_series *s = &jvm->loaded, *metaspace = &jvm->metaspace;
	double unloaded = jvm->unloaded.last - jvm->unloaded.first;

	TAPIR_JUDGE(f, list, CLASSES, .cnt = s->last - s->first, .other = s->cnt,
		    .since_ns = s->first_ns, .until_ns = s->last_ns,
		    .seconds = (double)(s->last_ns - s->first_ns) / 1e9,
		    .percent = unloaded > 0 ? percent_of(unloaded, s->last - s->first) : 0,
		    .from = metaspace->first / 1e6,
		    .to = metaspace->last > metaspace->first ? metaspace->last / 1e6 : 0,
		    .subject = "metaspace");
}

/* For how long its counters were read: from a moment after the recording began. */
static double seconds_of(const struct tapir_diagnosis *f, const struct tapir_jvm_counts *jvm)
{
	const struct tapir_jvm_series *s = &jvm->loaded;
	uint64_t read_ns = s->last_ns - s->first_ns;

	return (double)(read_ns ? read_ns : tapir_timeline__span_ns(f->tl)) / 1e9;
}

void tapir_finding_jvm__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	const struct tapir_jvm_counts *jvm;
	const struct tapir_jvm_cause *cause;

	tapir_vec_for_each (jvm, &f->jvm.jvms) {
		double seconds = seconds_of(f, jvm);

		tapir_vec_for_each (cause, &jvm->causes)
			if (seconds > 0)
				emit_cause(f, jvm, cause, seconds, list);
		emit_growth(f, jvm, list);
		emit_classes(f, jvm, list);
	}
}

bool tapir_finding_jvm__fills_heap(const struct tapir_diagnosis *f, uint32_t tgid,
				   uint64_t first_bytes, uint64_t last_bytes)
{
	const struct tapir_jvm_counts *jvm;

	tapir_vec_for_each (jvm, &f->jvm.jvms)
		if (jvm->tgid == tgid)
			return (double)first_bytes < jvm->committed.last &&
			       (double)last_bytes <= (double)first_bytes + jvm->committed.last;
	return false;
}

void tapir_finding_jvm__fini(struct tapir_diagnosis *f)
{
	struct tapir_jvm_counts *jvm;

	tapir_vec_for_each (jvm, &f->jvm.jvms)
		tapir_vec__fini(&jvm->causes);
	tapir_vec__fini(&f->jvm.jvms);
}
