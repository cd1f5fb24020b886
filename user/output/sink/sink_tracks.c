// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Formats with tracks (a track for each thread, counters, intervals) share this listener of the
 * timeline. Losses are a counter whose value rises by what is lost.
 */
#include "output/sink/sink_tracks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "output/render/offcpu_tree.h"

static void know(struct tapir_tracks *t, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	const struct tapir_rec_thread *thread = tapir_catalog__thread(t->x->catalog, tid, time_ns);
	struct tapir_sv name =
		thread ? (struct tapir_sv){thread->comm,
					   strnlen(thread->comm, sizeof(thread->comm))}
		       : (struct tapir_sv){};
	uint64_t hash = tapir_hash__bytes(1, name.data ? name.data : "", name.len);
	bool is_new;
	uint64_t *slot = tapir_map__put(&t->names, (uint64_t)tgid << 32 | tid, &is_new);

	if (!slot) {
		t->failed = true;
		return;
	}
	if (!is_new && *slot == hash)
		return;
	*slot = hash;
	t->fns->thread(t->ctx, tgid, tid, name,
		       is_new ? tapir_line__comm(t->lines, tgid, tid, time_ns)
			      : (struct tapir_sv){});
}

static void add_track_event(struct tapir_tracks *t, const struct tapir_rec_event *ev)
{
	const struct tapir_rec_probe *found = tapir_catalog__probe(t->x->catalog, ev->probe_id);
	struct tapir_probe_view probe;

	if (found)
		tapir_probe_view__of(&found->h, &probe);
	know(t, ev->tgid, ev->tid, ev->h.time_ns);
	t->fns->event(t->ctx, ev, found ? &probe : NULL);
}

static void add_sample(struct tapir_tracks *t, const struct tapir_rec_sample *sample)
{
	uint32_t node = tapir_stack_tree__record_node(&t->tree, t->x->catalog, &sample->h);

	know(t, sample->tgid, sample->tid, sample->h.time_ns);
	t->fns->sample(t->ctx, sample, node);
}

static void add_track_counter(struct tapir_tracks *t, const struct tapir_rec *rec)
{
	struct tapir_counter_view view;
	struct tapir_str name = {};

	tapir_counter_view__of(rec, &view);
	tapir_str__add(&name, view.provider.data, view.provider.len);
	tapir_str__addc(&name, ' ');
	tapir_str__add(&name, view.name.data, view.name.len);
	if (view.tags.len)
		tapir_str__addc(&name, ' ');
	tapir_str__add(&name, view.tags.data, view.tags.len);
	t->failed |= name.failed;
	if (!name.failed)
		t->fns->value(t->ctx, &(struct tapir_track_value){
					      .tgid = view.rec->tgid,
					      .time_ns = rec->time_ns,
					      .name = {name.data, name.len},
					      .unit = view.unit,
					      .value = view.rec->value,
				      });
	tapir_str__fini(&name);
}

/* The value of a cause rises by what is lost. */
static void add_loss(struct tapir_tracks *t, const struct tapir_rec_loss *loss)
{
	bool is_new;
	uint64_t *sum = tapir_map__put(&t->lost, loss->cause, &is_new);
	char name[64];

	if (!sum) {
		t->failed = true;
		return;
	}
	*sum = (is_new ? 0 : *sum) + loss->count;
	snprintf(name, sizeof(name), "lost: %s", tapir_loss__name(loss->cause));
	t->fns->value(t->ctx, &(struct tapir_track_value){.time_ns = loss->h.time_ns,
							  .name = {name, strlen(name)},
							  .value = (double)*sum});
}

static void tracks_on_open(void *ctx, struct tapir_interval *i)
{
	struct tapir_tracks *t = ctx;

	if (t->fns->begin)
		t->fns->begin(t->ctx, i);
}

static void tracks_on_close(void *ctx, struct tapir_interval *i)
{
	struct tapir_tracks *t = ctx;

	know(t, i->tgid, i->tid, i->until_ns);
	t->fns->end(t->ctx, i, &t->pairs.kinds.data[i->kind]);
}

static uint64_t on_out(void *ctx, const struct tapir_rec_switch *out,
		       const struct tapir_trace_ids *ids)
{
	struct tapir_tracks *t = ctx;

	if (!tapir_trace_filter__is(&t->x->trace, ids))
		return UINT64_MAX;
	return tapir_offcpu_tree__node(&t->tree, t->x->catalog, out);
}

static void on_span(void *ctx, const struct tapir_offcpu_span *span)
{
	struct tapir_tracks *t = ctx;

	if (span->token >= t->tree.nodes.cnt)
		return;
	know(t, span->tgid, span->tid, span->until_ns);
	t->fns->wait(t->ctx, span, (uint32_t)span->token);
}

int tapir_tracks__init(struct tapir_tracks *t, struct tapir_export *x,
		       const struct tapir_tracks_fns *fns, void *ctx)
{
	static const struct tapir_timeline_fns timeline_fns = {.open = tracks_on_open,
							       .close = tracks_on_close};
	static const struct tapir_offcpu_fns offcpu_fns = {on_out, on_span};
	const struct tapir_timeline_opts opts = {.trace = &x->trace};

	t->x = x;
	t->fns = fns;
	t->ctx = ctx;
	t->start_ns = tapir_reader__stats(x->reader)->created_ns;
	t->lines = tapir_event_lines__new(TAPIR_EVENT_JSON, x->catalog, t->start_ns);
	t->tl = tapir_timeline__new(x->catalog, &t->pairs, &opts);
	t->offcpu = fns->wait ? tapir_offcpu__new(&offcpu_fns, t) : NULL;
	if (fns->wait && !t->offcpu)
		return -ENOMEM;
	return t->lines && t->tl ? tapir_timeline__listen(t->tl, &timeline_fns, t) : -ENOMEM;
}

static void add_record(struct tapir_tracks *t, const struct tapir_rec *rec)
{
	switch (rec->type) {
	case TAPIR_REC_EVENT:
		add_track_event(t, (const void *)rec);
		return;
	case TAPIR_REC_SAMPLE:
		add_sample(t, (const void *)rec);
		return;
	case TAPIR_REC_COUNTER:
		add_track_counter(t, rec);
		return;
	case TAPIR_REC_LOSS:
		add_loss(t, (const void *)rec);
		return;
	default:
		return;
	}
}

int tapir_tracks__add(struct tapir_tracks *t, const struct tapir_rec *rec)
{
	int err = tapir_timeline__add(t->tl, rec);

	if (!err && t->offcpu)
		err = tapir_offcpu__add(t->offcpu, rec, NULL, NULL);
	if (tapir_trace_filter__has(&t->x->trace, rec))
		add_record(t, rec);
	return err ? err : t->failed || t->tree.failed ? -ENOMEM : 0;
}

int tapir_tracks__finish(struct tapir_tracks *t)
{
	int err = tapir_timeline__finish(t->tl);

	if (!err && t->offcpu)
		err = tapir_offcpu__finish(t->offcpu);
	return err ? err : t->failed || t->tree.failed ? -ENOMEM : 0;
}

void tapir_tracks__fini(struct tapir_tracks *t)
{
	tapir_offcpu__free(t->offcpu);
	tapir_timeline__free(t->tl);
	tapir_pairs__fini(&t->pairs);
	tapir_event_lines__free(t->lines);
	tapir_stack_tree__fini(&t->tree);
	tapir_map__fini(&t->names);
	tapir_map__fini(&t->lost);
}

const struct tapir_rec *tapir_tracks__ending(const struct tapir_tracks *t)
{
	const struct tapir_probe_view *probe;
	const struct tapir_event_view *event;

	return tapir_timeline__current(t->tl, &probe, &event) ? &event->rec->h : NULL;
}
