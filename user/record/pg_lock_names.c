// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of PostgreSQL's locks are searched while its processes live. An event that is no wait for a
 * lock costs one lookup in a map, if that.
 */
#include "record/pg_lock_names.h"

#include <stdlib.h>

#include "base/map.h"
#include "decode/lock_names.h"
#include "runtime/postgresql/postgresql_namer.h"
#include "trace/recbuf.h"

#define MAX_PROBES 1024u
#define MAX_BYTES  60000u /* of the META record's text */

struct tapir_pg_lock_names {
	tapir_pg_lock_names_fn fn;
	void *ctx;
	struct tapir_postgresql_namer *namer;
	struct tapir_map probes; /* of waits */
	struct tapir_event_fields fields;
	struct tapir_recbuf buf;
};

struct tapir_pg_lock_names *tapir_pg_lock_names__new(tapir_pg_lock_names_fn fn, void *ctx)
{
	struct tapir_pg_lock_names *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->fn = fn;
	w->ctx = ctx;
	w->namer = tapir_postgresql_namer__new();
	if (w->namer)
		return w;
	free(w);
	return NULL;
}

void tapir_pg_lock_names__free(struct tapir_pg_lock_names *w)
{
	if (!w)
		return;
	tapir_postgresql_namer__free(w->namer);
	tapir_map__fini(&w->probes);
	tapir_event_fields__fini(&w->fields);
	tapir_recbuf__fini(&w->buf);
	free(w);
}

void tapir_pg_lock_names__learn(struct tapir_pg_lock_names *w, const struct tapir_rec *rec)
{
	struct tapir_probe_view probe;

	if (!w)
		return;
	tapir_probe_view__of(rec, &probe);
	if (tapir_sv__is(probe.provider, "postgresql") &&
	    tapir_sv__is(probe.event, "lock__wait__start") && w->probes.cnt < MAX_PROBES)
		(void)tapir_map__put(&w->probes, probe.rec->probe_id, NULL);
}

void tapir_pg_lock_names__add(struct tapir_pg_lock_names *w, const struct tapir_catalog *catalog,
			      const struct tapir_rec_event *ev)
{
	const struct tapir_rec_probe *rec =
		w && w->probes.cnt && tapir_map__get(&w->probes, ev->probe_id)
			? tapir_catalog__probe(catalog, ev->probe_id)
			: NULL;
	struct tapir_postgresql_lock lock;
	struct tapir_probe_view probe;
	struct tapir_event_view event;

	if (!rec)
		return;
	tapir_probe_view__of(&rec->h, &probe);
	tapir_event_view__of(&ev->h, &event);
	tapir_event_fields__decode(&w->fields, catalog, &probe, &event);
	if (tapir_lock_names__lock(&w->fields, &lock))
		tapir_postgresql_namer__want(
			w->namer, tapir_lock_names__server(catalog, ev->tgid, ev->h.time_ns),
			ev->tgid, &lock);
}

void tapir_pg_lock_names__poll(struct tapir_pg_lock_names *w, uint64_t now_ns)
{
	struct tapir_str text = {};
	const struct tapir_rec *rec;

	if (!w || !tapir_postgresql_namer__find(w->namer))
		return;
	tapir_postgresql_namer__add_names(w->namer, MAX_BYTES, &text);
	rec = text.failed || !text.data
		      ? NULL
		      : tapir_recbuf__meta(&w->buf, now_ns,
					   tapir_sv__of(TAPIR_META_POSTGRESQL_NAMES),
					   (struct tapir_sv){text.data, text.len});
	if (rec)
		w->fn(w->ctx, rec);
	tapir_str__fini(&text);
}
