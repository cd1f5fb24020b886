// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names the locks for which processes wait by their events: they are searched once a second while
 * the processes live, and become a META record (decode/postgresql_text.h). An event that is
 * no wait for a lock costs one lookup in a map, if that. A server with many buffers keeps the
 * session busy for a moment, each time that a lock of another relation is seen.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "decode/lock_names.h"
#include "runtime/postgresql/postgresql_namer.h"
#include "runtime/postgresql/postgresql_ops.h"
#include "trace/recbuf.h"

#define MAX_PROBES 1024u
#define MAX_BYTES  60000u /* of the META record's text */

struct watch {
	tapir_runtime_put_fn *put;
	void *ctx;
	uint64_t next_ns;
	struct tapir_postgresql_namer *namer;
	struct tapir_map probes; /* of waits */
	struct tapir_event_fields fields;
	struct tapir_recbuf buf;
};

static void *start(tapir_runtime_put_fn *put, void *ctx)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->put = put;
	w->ctx = ctx;
	w->namer = tapir_postgresql_namer__new();
	if (w->namer)
		return w;
	free(w);
	return NULL;
}

static void stop(void *watch)
{
	struct watch *w = watch;

	if (!w)
		return;
	tapir_postgresql_namer__free(w->namer);
	tapir_map__fini(&w->probes);
	tapir_event_fields__fini(&w->fields);
	tapir_recbuf__fini(&w->buf);
	free(w);
}

static void learn(void *watch, const struct tapir_rec *rec)
{
	struct tapir_probe_view probe;
	struct watch *w = watch;

	if (rec->type != TAPIR_REC_PROBE)
		return;
	tapir_probe_view__of(rec, &probe);
	if (tapir_sv__is(probe.provider, "postgresql") &&
	    tapir_sv__is(probe.event, "lock__wait__start") && w->probes.cnt < MAX_PROBES)
		(void)tapir_map__put(&w->probes, probe.rec->probe_id, NULL);
}

static void add_event(void *watch, const struct tapir_catalog *catalog,
		      const struct tapir_rec_event *ev)
{
	struct watch *w = watch;
	const struct tapir_rec_probe *rec =
		w->probes.cnt && tapir_map__get(&w->probes, ev->probe_id)
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

static void put_names(struct watch *w, uint64_t now_ns)
{
	struct tapir_str text = {};
	const struct tapir_rec *rec;

	tapir_postgresql_namer__add_names(w->namer, MAX_BYTES, &text);
	rec = text.failed || !text.data
		      ? NULL
		      : tapir_recbuf__meta(&w->buf, now_ns,
					   tapir_sv__of(TAPIR_META_POSTGRESQL_NAMES),
					   (struct tapir_sv){text.data, text.len});
	if (rec)
		w->put(w->ctx, rec);
	tapir_str__fini(&text);
}

static uint64_t poll_names(void *watch, uint64_t now_ns, bool is_last)
{
	struct watch *w = watch;

	if (now_ns < w->next_ns && !is_last)
		return w->next_ns;
	w->next_ns = now_ns + TAPIR_NS_PER_SEC;
	if (tapir_postgresql_namer__find(w->namer))
		put_names(w, now_ns);
	return w->probes.cnt ? w->next_ns : UINT64_MAX;
}

const struct tapir_runtime_watch_ops tapir_postgresql_watch_ops = {
	.start = start,
	.stop = stop,
	.learn = learn,
	.add_event = add_event,
	.poll = poll_names,
};
