// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Turns the events of a recording into types, retained bytes and paths. References of an incomplete
 * heap would be attributed to the wrong objects, so where an event was lost only the counts are
 * shown. A type loaded twice has two ids and one name: one row.
 */
#include "heap/heap_snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/order.h"

#define UNNAMED "(type without a name)"

/* ---- records ---------------------------------------------------------------------------------- */

static void name_process(struct tapir_heap_reading *r, const struct tapir_catalog *catalog,
			 uint64_t time_ns)
{
	const struct tapir_rec_process *rec = tapir_catalog__process(catalog, r->tgid, time_ns);
	struct tapir_process_view view;

	if (!rec)
		return;
	tapir_process_view__of(&rec->h, &view);
	snprintf(r->process, sizeof(r->process), "%.*s (%u)",
		 (int)(view.comm.len < 40 ? view.comm.len : 40), view.comm.data, r->tgid);
}

/*
 * If no process was requested, the first whose walk of the heap begins is it: events of others are
 * skipped from then on.
 */
static void heap_snapshot_on_event(struct tapir_heap_reading *r,
				   const struct tapir_catalog *catalog, const struct tapir_rec *rec)
{
	const struct tapir_rec_event *event = (const struct tapir_rec_event *)rec;
	const struct tapir_rec_probe *probe = tapir_catalog__probe(catalog, event->probe_id);
	struct tapir_probe_view about;
	struct tapir_event_view view;

	if (!probe)
		return;
	tapir_probe_view__of(&probe->h, &about);
	if (!tapir_sv__is(about.provider, TAPIR_HEAP_PROVIDER) ||
	    (r->tgid && r->tgid != event->tgid))
		return;
	tapir_event_view__of(rec, &view);
	if (r->is_spooled)
		tapir_heap_spool__add(&r->spool, &r->events, probe->event_id, rec->time_ns,
				      view.payload, view.payload_bytes);
	else
		tapir_heap_events__add(&r->events, probe->event_id, rec->time_ns, view.payload,
				       view.payload_bytes);
	if (r->events.walk != TAPIR_HEAP_BEFORE && !r->tgid)
		r->tgid = event->tgid;
	if (r->tgid && !r->process[0])
		name_process(r, catalog, rec->time_ns);
}

static void add_loss(struct tapir_heap_reading *r, const struct tapir_rec_loss *loss)
{
	if (!r->lost_cnt)
		r->cause = loss->cause;
	r->lost_cnt += loss->count;
}

int tapir_heap_reading__add(void *ctx, const struct tapir_catalog *catalog,
			    const struct tapir_rec *rec)
{
	struct tapir_heap_reading *r = ctx;

	if (rec->type == TAPIR_REC_EVENT)
		heap_snapshot_on_event(r, catalog, rec);
	else if (rec->type == TAPIR_REC_LOSS)
		add_loss(r, (const struct tapir_rec_loss *)rec);
	return 0;
}

void tapir_heap_reading__fini(struct tapir_heap_reading *r)
{
	tapir_heap_spool__fini(&r->spool);
	tapir_heap_events__fini(&r->events);
}

/* ---- rows ------------------------------------------------------------------------------------- */

static uint64_t hash(const char *name, size_t len)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < len; i++)
		hash = tapir_hash__mix(hash, (uint8_t)name[i]);
	return hash;
}

bool tapir_heap_snapshot__add_row(struct tapir_heap_snapshot *s, const char *name, size_t len,
				  uint64_t cnt, uint64_t bytes)
{
	struct tapir_heap_row row = {.cnt = cnt, .bytes = bytes, .path = TAPIR_HEAP_NO_STEP};

	row.name = tapir_arena__text(&s->names, name, len);
	s->cnt += cnt;
	s->bytes += bytes;
	return row.name && tapir_vec__push(&s->rows, row);
}

static int by_bytes(const void *a, const void *b)
{
	const struct tapir_heap_row *x = a, *y = b;

	return tapir_order__down(x->bytes, y->bytes) ?: strcmp(x->name, y->name);
}

void tapir_heap_snapshot__sort(struct tapir_heap_snapshot *s)
{
	if (s->rows.cnt)
		qsort(s->rows.data, s->rows.cnt, sizeof(*s->rows.data), by_bytes);
}

/* A type loaded twice (assembly load contexts) has two ids and one name: one row. */
static struct tapir_heap_row *heap_row_of_name(struct tapir_heap_snapshot *s,
					       struct tapir_map *by_name, const char *name)
{
	uint64_t *slot = tapir_map__put(by_name, hash(name, strlen(name)), NULL);

	if (!slot)
		return NULL;
	if (*slot && !strcmp(s->rows.data[*slot - 1].name, name))
		return &s->rows.data[*slot - 1];
	if (!tapir_heap_snapshot__add_row(s, name, strlen(name), 0, 0))
		return NULL;
	*slot = s->rows.cnt;
	return &s->rows.data[*slot - 1];
}

static void better_path(struct tapir_heap_snapshot *s, struct tapir_heap_row *row, uint32_t step)
{
	const struct tapir_heap_step *steps = s->paths.steps.data;

	if (step != TAPIR_HEAP_NO_STEP &&
	    (row->path == TAPIR_HEAP_NO_STEP || steps[step].bytes > steps[row->path].bytes))
		row->path = step;
}

/* The runtime names a type once while any session asks for names. */
static void note_unnamed(struct tapir_heap_snapshot *s, uint64_t cnt)
{
	if (cnt && !s->incomplete[0])
		snprintf(s->incomplete, sizeof(s->incomplete),
			 "%" PRIu64 " objects have a type without a name, because another tool "
			 "lists types of the process: try again when it has ended",
			 cnt);
}

static int make_rows(struct tapir_heap_snapshot *s, const struct tapir_heap_retained *retained)
{
	const struct tapir_heap_graph *g = &s->graph;
	uint64_t *cnt = calloc(g->types.cnt + 1, sizeof(*cnt));
	uint64_t *bytes = calloc(g->types.cnt + 1, sizeof(*bytes));
	struct tapir_map by_name = {};
	uint64_t unnamed_cnt = 0;
	int err = cnt && bytes ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < g->va.cnt; i++) {
		cnt[g->type.data[i]]++;
		bytes[g->type.data[i]] += g->bytes.data[i];
	}
	for (size_t t = 0; !err && t < g->types.cnt; t++) {
		const char *name = g->types.data[t].name;
		struct tapir_heap_row *row;

		if (!cnt[t])
			continue;
		unnamed_cnt += name ? 0 : cnt[t];
		/* Types of one name, as of two loaded copies of an assembly, share a row. */
		row = heap_row_of_name(s, &by_name, name ? name : UNNAMED);
		if (!row) {
			err = -ENOMEM;
			break;
		}
		row->cnt += cnt[t];
		row->bytes += bytes[t];
		s->cnt += cnt[t];
		s->bytes += bytes[t];
		if (s->has_references) {
			row->retained_bytes += retained->by_type[t];
			better_path(s, row, s->paths.best[t]);
		}
	}
	free(cnt);
	free(bytes);
	tapir_map__fini(&by_name);
	note_unnamed(s, unnamed_cnt);
	tapir_heap_snapshot__sort(s);
	return err;
}

/* ---- all of it -------------------------------------------------------------------------------- */

static void explain(struct tapir_heap_snapshot *s, const struct tapir_heap_reading *r)
{
	const struct tapir_heap_events *e = &r->events;
	uint64_t lost = r->lost_cnt > e->lost_cnt ? r->lost_cnt : e->lost_cnt;

	if (r->is_complete)
		return;
	if (e->graph.is_full)
		snprintf(s->incomplete, sizeof(s->incomplete),
			 "the heap has more objects than tapir has memory or room for");
	else if (e->lost_cnt)
		snprintf(s->incomplete, sizeof(s->incomplete),
			 "%" PRIu64 " events with objects or references were lost", lost);
	else if (lost) /* other events, perhaps: no gap in the numbers shows that of the last */
		snprintf(s->incomplete, sizeof(s->incomplete),
			 "%" PRIu64 " records were lost (%s), perhaps with objects", lost,
			 tapir_loss__text(r->cause));
	else if (r->is_damaged)
		snprintf(s->incomplete, sizeof(s->incomplete),
			 "parts of the file could not be read");
	else if (e->walk != TAPIR_HEAP_AFTER)
		snprintf(s->incomplete, sizeof(s->incomplete),
			 "it ends before the collection that lists the objects");
	else
		snprintf(s->incomplete, sizeof(s->incomplete),
			 "%" PRIu64 " events were malformed, and references are missing",
			 e->malformed_cnt);
}

/* References of an incomplete heap would be attributed to the wrong objects. */
static int analyze(struct tapir_heap_snapshot *s, bool is_complete)
{
	struct tapir_heap_retained retained = {};
	int err = 0;

	s->has_references = is_complete;
	if (is_complete)
		err = tapir_heap_graph__seal(&s->graph);
	if (!err && is_complete)
		err = tapir_heap_retained__init(&retained, &s->graph);
	if (!err && is_complete)
		err = tapir_heap_paths__init(&s->paths, &s->graph);
	if (!err)
		err = make_rows(s, &retained);
	s->reachable_cnt = retained.reachable_cnt;
	s->reachable_bytes = retained.reachable_bytes;
	tapir_heap_retained__fini(&retained);
	return err;
}

int tapir_heap_snapshot__make(struct tapir_heap_snapshot *out, struct tapir_heap_reading *r,
			      const char *path)
{
	tapir_heap_spool__empty(&r->spool, &r->events);
	if (!r->events.graph.va.cnt) {
		tapir_heap_reading__fini(r);
		return tapir_diag__fail(-ENODATA,
					"%s has no heap (record one with 'tapir heap -p "
					"PID -o FILE')",
					path);
	}
	/* The last event of a kind has no number after it that would show it is missing. */
	r->is_complete =
		tapir_heap_events__are_complete(&r->events) && !r->lost_cnt && !r->is_damaged;
	explain(out, r);
	memcpy(out->process, r->process, sizeof(out->process));
	out->gc_ns =
		r->events.end_ns > r->events.start_ns ? r->events.end_ns - r->events.start_ns : 0;
	out->end_ns = r->events.walk == TAPIR_HEAP_AFTER ? r->events.end_ns : 0;
	out->graph = r->events.graph;
	return analyze(out, r->is_complete);
}

int tapir_heap_snapshot__read(struct tapir_heap_snapshot *out, struct tapir_reader *reader,
			      const char *path)
{
	const struct tapir_catalog *catalog = tapir_reader__catalog(reader);
	struct tapir_heap_reading r = {};
	const struct tapir_rec *rec;
	int err;

	while ((err = tapir_reader__next(reader, &rec)) > 0)
		(void)tapir_heap_reading__add(&r, catalog, rec);
	if (err) {
		tapir_heap_reading__fini(&r);
		return err;
	}
	r.is_damaged = tapir_reader_stats__is_damaged(tapir_reader__stats(reader));
	return tapir_heap_snapshot__make(out, &r, path);
}

void tapir_heap_snapshot__fini(struct tapir_heap_snapshot *s)
{
	tapir_vec__fini(&s->rows);
	tapir_heap_graph__fini(&s->graph);
	tapir_heap_paths__fini(&s->paths);
	tapir_arena__fini(&s->names);
}

void tapir_heap_snapshot__add_path(const struct tapir_heap_snapshot *s, uint32_t step,
				   struct tapir_str *out)
{
	const struct tapir_heap_step *steps = s->paths.steps.data;
	bool is_first = true;

	for (; step != TAPIR_HEAP_NO_STEP; step = steps[step].parent) {
		const char *name = UNNAMED;
		char text[1100];

		if (steps[step].parent == TAPIR_HEAP_NO_STEP)
			name = tapir_heap_root__text(&s->graph.roots.data[steps[step].type], text,
						     sizeof(text));
		else if (s->graph.types.data[steps[step].type].name)
			name = s->graph.types.data[steps[step].type].name;
		if (!is_first)
			tapir_str__adds(out, name);
		if (!is_first && steps[step].parent != TAPIR_HEAP_NO_STEP)
			tapir_str__adds(out, steps[step].is_truncated ? " <- ... <- " : " <- ");
		is_first = false;
	}
}
