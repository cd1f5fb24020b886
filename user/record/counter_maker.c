// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Turns events that carry measured values into COUNTER records. Every event comes here, so an event
 * without values costs one lookup in a map. Two instruments of one name are two series, of which
 * each but the first has its number as a tag.
 */
#include "record/counter_maker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "base/log.h"
#include "base/map.h"
#include "base/str.h"
#include "decode/dotnet_counters.h"
#include "decode/event_layout.h"
#include "trace/recbuf.h"

#define MAX_PROBES    4096u
#define MAX_FIELDS    24u /* of an event: the longest has 14 */
#define MAX_PROCESSES 65536u
#define MAX_PROBLEMS  64u    /* that are reported */
#define MAX_NAMES     65536u /* of instruments: beyond them each has its number */
#define TAGS_BYTES    4096u

/* A probe whose events carry values. */
struct source {
	struct tapir_event_layout *layout; /* NULL: its first event is yet to come */
	bool has_metadata;
};

struct tapir_counter_maker {
	const struct tapir_counter_choice *choice; /* NULL: all */
	tapir_counter_fn fn;
	void *fn_ctx;
	struct tapir_keyed(struct source) sources;
	struct tapir_map intervals;	     /* tgid -> of its metrics session */
	struct tapir_map reported_problems;  /* hashes of problems */
	struct tapir_map instruments;	     /* hashes of their names -> number of the first */
	uint64_t *value_cnts;		     /* of each glob */
	const struct tapir_rec_event *event; /* the current one */
	struct tapir_recbuf recbuf;
};

int tapir_counter_maker__new(const struct tapir_counter_choice *choice, tapir_counter_fn fn,
			     void *ctx, struct tapir_counter_maker **out)
{
	struct tapir_counter_maker *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->choice = choice && choice->globs.cnt ? choice : NULL;
	m->fn = fn;
	m->fn_ctx = ctx;
	if (m->choice)
		m->value_cnts = calloc(m->choice->globs.cnt, sizeof(*m->value_cnts));
	if (m->choice && !m->value_cnts) {
		tapir_counter_maker__free(m);
		return -ENOMEM;
	}
	*out = m;
	return 0;
}

void tapir_counter_maker__free(struct tapir_counter_maker *m)
{
	struct source *source;

	if (!m)
		return;
	tapir_vec_for_each (source, &m->sources)
		tapir_event_layout__free(source->layout);
	tapir_keyed__fini(&m->sources);
	tapir_map__fini(&m->intervals);
	tapir_map__fini(&m->reported_problems);
	tapir_map__fini(&m->instruments);
	tapir_recbuf__fini(&m->recbuf);
	free(m->value_cnts);
	free(m);
}

void tapir_counter_maker__finish(const struct tapir_counter_maker *m)
{
	for (size_t i = 0; m->choice && i < m->choice->globs.cnt; i++)
		if (!m->value_cnts[i] && !m->choice->are_optional)
			tapir_warn(
				"no value of --counters %s arrived: no EventSource or Meter of a .NET process has such a counter, or the recording was shorter than one --interval",
				m->choice->globs.data[i].text);
}

void tapir_counter_maker__learn(struct tapir_counter_maker *m, const struct tapir_rec *rec)
{
	struct tapir_probe_view probe;

	tapir_probe_view__of(rec, &probe);
	if (tapir_dotnet_counters__are_in(&probe))
		(void)tapir_keyed__add(&m->sources, probe.rec->probe_id, MAX_PROBES,
				       (struct source){});
}

/* ---- values ----------------------------------------------------------------------------------- */

/* Two instruments of one name are two series: each but the first has its number as a tag. */
static bool is_second(struct tapir_counter_maker *m, const struct tapir_dotnet_counter *value,
		      struct tapir_sv version)
{
	uint64_t key = tapir_hash__mix(value->kind, m->event->tgid), *first;
	const struct tapir_sv texts[] = {value->provider, value->name, version};
	bool is_new = false;

	if (!value->instrument)
		return false;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		key = tapir_hash__mix(tapir_hash__bytes(key, texts[i].data, texts[i].len),
				      texts[i].len);
	first = m->instruments.cnt < MAX_NAMES ? tapir_map__put(&m->instruments, key, &is_new)
					       : tapir_map__get(&m->instruments, key);
	if (is_new)
		*first = value->instrument;
	return !first || *first != value->instrument;
}

/* tags begin with the meter's version where it has one. */
static struct tapir_sv version_of(struct tapir_sv tags)
{
	static const char key[] = "meter.version=";
	const char *end;

	if (tags.len < sizeof(key) || memcmp(tags.data, key, sizeof(key) - 1) != 0)
		return (struct tapir_sv){};
	end = memchr(tags.data, ',', tags.len);
	return (struct tapir_sv){tags.data, end ? (size_t)(end - tags.data) : tags.len};
}

static struct tapir_sv tags_of(struct tapir_counter_maker *m,
			       const struct tapir_dotnet_counter *value, char buf[TAGS_BYTES])
{
	int len;

	if (!is_second(m, value, version_of(value->tags)))
		return value->tags;
	len = snprintf(buf, TAGS_BYTES, "%.*s%sinstrument=%llu", (int)value->tags.len,
		       value->tags.data, value->tags.len ? "," : "",
		       (unsigned long long)value->instrument);
	return (struct tapir_sv){buf, (size_t)len};
}

static void on_value(void *ctx, const struct tapir_dotnet_counter *value)
{
	struct tapir_counter_maker *m = ctx;
	char tags[TAGS_BYTES];
	struct tapir_rec_counter fixed = {
		.h = {.cpu = m->event->h.cpu, .time_ns = m->event->h.time_ns},
		.tgid = m->event->tgid,
		.kind = value->kind,
		.value = value->value,
		.interval_ns = value->interval_ns,
	};
	const struct tapir_rec *rec;
	int glob = 0;

	if (m->choice) {
		glob = tapir_counter_choice__find(m->choice, value->provider, value->name);
		if (glob < 0)
			return;
		m->value_cnts[glob]++;
	}
	rec = tapir_recbuf__counter(&m->recbuf, &fixed, value->provider, value->name, value->unit,
				    tags_of(m, value, tags));
	if (rec)
		m->fn(m->fn_ctx, rec);
}

static void on_problem(void *ctx, struct tapir_sv provider, const char *problem)
{
	struct tapir_counter_maker *m = ctx;
	uint64_t hash = tapir_hash__bytes(m->event->tgid, problem, strlen(problem));
	struct tapir_str line = {};
	bool is_new = false;

	hash = tapir_hash__bytes(hash, provider.data, provider.len);
	if (m->reported_problems.cnt >= MAX_PROBLEMS ||
	    !tapir_map__put(&m->reported_problems, hash, &is_new) || !is_new)
		return;
	tapir_str__addf(&line, "process %u, ", m->event->tgid);
	tapir_str__add_printable(&line, provider.data, provider.len);
	tapir_str__addf(&line, ": %s", problem);
	if (line.data)
		tapir_warn("%s", line.data);
	tapir_str__fini(&line);
}

/* A session that another tracer started has its own interval, and has only what both ask for. */
static void check_interval(struct tapir_counter_maker *m, uint64_t interval_ns)
{
	char problem[192];

	if (!m->choice || !interval_ns || interval_ns == m->choice->interval_ns)
		return;
	snprintf(problem, sizeof(problem),
		 "another tool's metrics session has a different interval, and only counters that "
		 "it requested are recorded: use --interval %g",
		 (double)interval_ns / 1e9);
	on_problem(m, tapir_sv__of(TAPIR_DOTNET_METRICS), problem);
}

/*
 * The layout by what trace/catalog has now: the description of the fields may follow the first
 * event.
 */
static struct tapir_event_layout *layout_of(struct source *source,
					    const struct tapir_catalog *catalog,
					    const struct tapir_probe_view *probe)
{
	const struct tapir_rec_metadata *metadata =
		tapir_catalog__metadata(catalog, probe->rec->probe_id);

	if (source->layout && (source->has_metadata || !metadata))
		return source->layout;
	tapir_event_layout__free(source->layout);
	source->layout = NULL;
	source->has_metadata = metadata;
	if (tapir_event_layout__new(probe, metadata, &source->layout))
		return NULL;
	return source->layout;
}

/*
 * Intervals are remembered by process. When there are too many processes all are forgotten: the
 * next event of each counts as its first.
 */
static void read_event(struct tapir_counter_maker *m, const struct tapir_probe_view *probe,
		       struct tapir_event_layout *layout, const struct tapir_rec_event *ev)
{
	struct tapir_value values[MAX_FIELDS];
	struct tapir_event_view view;
	struct tapir_dotnet_counters counters = {
		.session = m->choice ? TAPIR_COUNTER_SESSION : NULL,
		.on_value = on_value,
		.on_problem = on_problem,
		.ctx = m,
	};
	uint64_t *interval_ns;
	unsigned cnt;

	if (m->intervals.cnt >= MAX_PROCESSES)
		tapir_map__clear(&m->intervals);
	interval_ns = tapir_map__put(&m->intervals, ev->tgid, NULL);
	if (!interval_ns)
		return;
	counters.interval_ns = *interval_ns;
	m->event = ev;
	tapir_event_view__of(&ev->h, &view);
	cnt = tapir_event_layout__decode(layout, &view, values, MAX_FIELDS);
	tapir_dotnet_counters__read(&counters, probe, values, cnt);
	if (*interval_ns != counters.interval_ns)
		check_interval(m, counters.interval_ns);
	*interval_ns = counters.interval_ns;
}

void tapir_counter_maker__add(struct tapir_counter_maker *m, const struct tapir_catalog *catalog,
			      const struct tapir_rec_event *ev)
{
	struct source *source = m->sources.cnt ? tapir_keyed__get(&m->sources, ev->probe_id) : NULL;
	const struct tapir_rec_probe *rec =
		source ? tapir_catalog__probe(catalog, ev->probe_id) : NULL;
	struct tapir_event_layout *layout;
	struct tapir_probe_view probe;

	if (!rec)
		return;
	tapir_probe_view__of(&rec->h, &probe);
	layout = layout_of(source, catalog, &probe);
	if (layout)
		read_event(m, &probe, layout, ev);
}
