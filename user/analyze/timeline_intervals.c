// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Intervals: from the event that begins one to the event that ends it. A thread's own are in a
 * list, the innermost first, and may overlap; those that other threads may end are also in a map by
 * their key. One that changes threads keeps its share of each.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/pool_waits.h"
#include "analyze/timeline_impl.h"

/* ---- lists -------------------------------------------------------------------------------- */

/* A dispatcher begins thousands that others end: the share of the oldest is not computed. */
static void limit_shared(struct tapir_tl_thread *t, uint64_t now_ns)
{
	struct tapir_interval *i = t->outermost;

	if (t->open_cnt <= TAPIR_TIMELINE_MAX_ON_THREAD)
		return;
	while (i && !i->map_key)
		i = i->inner;
	if (!i)
		return;
	tapir_interval__take_parts(i, now_ns);
	tapir_interval__leave(i);
	if (i->work)
		i->work->is_lost = true;
}

static void add_shared(struct tapir_timeline *tl, struct tapir_interval *i,
		       struct tapir_tl_process *p)
{
	uint64_t *slot = tapir_map__put(&tl->shared, i->map_key, NULL);

	i->next = p->shared;
	if (i->next)
		i->next->prev = i;
	p->shared = i;
	if (slot)
		*slot = (uintptr_t)i;
	if (i->activity && slot)
		slot = tapir_map__put(&tl->activities, i->activity, NULL);
	if (slot && i->activity)
		*slot = (uintptr_t)i;
	tl->failed |= !slot;
}

/*
 * ---- the meaning of an event -------------------------------------------------------------------
 */

struct happening {
	struct tapir_event_view event;
	struct tapir_probe_view probe;
	struct tapir_tl_thread *thread;
	uint64_t now_ns;
	bool is_decoded;
	bool matches_filter; /* of the trace that was requested */
	uint32_t node;	     /* of its stack, or TAPIR_NO_NODE */
};

static const struct tapir_event_fields *fields_of(struct tapir_timeline *tl, struct happening *h)
{
	if (!h->is_decoded)
		tapir_event_fields__decode(&tl->fields, tl->catalog, &h->probe, &h->event);
	h->is_decoded = true;
	return &tl->fields;
}

uint64_t tapir_timeline__key_of(const struct tapir_event_fields *fields, const char *field)
{
	const struct tapir_value *v = tapir_event_fields__find(fields, field, strlen(field));
	uint64_t hash = 7;

	if (v && v->bytes)
		hash = tapir_hash__bytes(hash, v->bytes, v->len);
	else if (v)
		hash = tapir_hash__mix(hash, v->u64);
	return hash ? hash : 1;
}

static const char *value_name(const struct tapir_interval_kind *kind, const char *name, size_t len,
			      uint64_t value)
{
	char field[64];

	if (!kind->provider || !kind->name || len >= sizeof(field))
		return NULL;
	memcpy(field, name, len);
	field[len] = 0;
	return tapir_lore__value_name(kind->provider, kind->name, field, value);
}

static void add_to_label(const struct tapir_event_fields *f, const struct tapir_interval_kind *kind,
			 const char *name, size_t len, struct tapir_str *out)
{
	const struct tapir_value *v = tapir_event_fields__find(f, name, len);
	const char *known;

	if (!v || out->len >= TAPIR_INTERVAL_LABEL_BYTES)
		return;
	known = v->bytes ? NULL : value_name(kind, name, len, v->u64);
	if (out->len)
		tapir_str__addc(out, ' ');
	if (known)
		tapir_str__adds(out, known);
	else
		tapir_event_fields__add_value(v, TAPIR_INTERVAL_LABEL_BYTES - out->len, out);
}

static char *make_label(struct tapir_timeline *tl, struct happening *h,
			const struct tapir_interval_kind *kind)
{
	const char *names = kind->label;
	struct tapir_str out = {};

	if (kind->is_postgresql_lock &&
	    tapir_lock_names__add_lock(&tl->lock_names, tl->catalog, h->thread->tgid, h->now_ns,
				       fields_of(tl, h), &out))
		return out.data;
	for (size_t len; names && *names; names += len + (names[len] == ' ')) {
		len = strcspn(names, " ");
		add_to_label(fields_of(tl, h), kind, names, len, &out);
	}
	return out.data;
}

static uint64_t activity_of(const struct happening *h)
{
	return tapir_timeline__activity_key(h->thread->tgid, h->event.activity_id);
}

/* ---- beginning ------------------------------------------------------------------------------ */

static bool is_shared(const struct tapir_interval_kind *kind)
{
	return kind->scope != TAPIR_PAIR_THREAD;
}

/* The key by which another thread's event finds the interval. Never 0. */
static uint64_t map_key_of(const struct tapir_interval_kind *kind, uint32_t kind_idx, uint32_t tgid,
			   uint64_t key, uint64_t activity)
{
	uint64_t hash = tapir_hash__mix(tapir_hash__mix(11, kind_idx), tgid);

	if (kind->scope == TAPIR_PAIR_KEY)
		hash = tapir_hash__mix(hash, key);
	if (kind->scope == TAPIR_PAIR_ACTIVITY)
		hash = tapir_hash__mix(hash, activity);
	return hash ? hash : 1;
}

static struct tapir_interval *shared_of(const struct tapir_timeline *tl, uint64_t map_key)
{
	const uint64_t *slot = tapir_map__get(&tl->shared, map_key);

	return slot ? (void *)(uintptr_t)*slot : NULL;
}

/* Keeps only the newest of a kind that has no end in this file. Returns true if any is open. */
static bool limit_nesting(struct tapir_timeline *tl, const struct happening *h, uint32_t kind)
{
	struct tapir_interval *i, *oldest = NULL;
	unsigned cnt = 0;

	for (i = h->thread->open; i; i = i->outer) {
		if (i->kind != kind || i->map_key)
			continue;
		cnt++;
		oldest = i;
	}
	if (cnt >= TAPIR_TIMELINE_MAX_NESTED) {
		oldest->flags |= TAPIR_INTERVAL_NO_END;
		tapir_timeline__close(tl, oldest, h->now_ns);
	}
	return cnt;
}

/* Closes the interval before, whose end was not seen, of a kind that never nests. */
static void end_former(struct tapir_timeline *tl, struct happening *h, uint32_t kind_idx)
{
	struct tapir_interval *i, *outer;

	for (i = h->thread->open; i; i = outer) {
		outer = i->outer;
		if (i->kind != kind_idx || i->map_key)
			continue;
		i->flags |= TAPIR_INTERVAL_NO_END;
		tapir_timeline__close(tl, i, h->now_ns);
	}
}

static uint32_t event_node(struct tapir_timeline *tl, const struct happening *h)
{
	struct tapir_stack_ref ref = {.tgid = h->thread->tgid,
				      .time_ns = h->now_ns,
				      .stack_id = h->event.rec->stack_id,
				      .kstack_id = h->event.kstack_id};

	if (!tl->opts.wants_stacks || !(ref.stack_id || ref.kstack_id))
		return TAPIR_NO_NODE;
	return tapir_timeline__node(tl, &ref);
}

static struct tapir_interval *new_interval(struct tapir_timeline *tl, const struct happening *h,
					   uint32_t kind_idx)
{
	const struct tapir_interval_kind *kind = &tl->pairs->kinds.data[kind_idx];
	struct tapir_interval *i = NULL;

	if (tl->open_cnt >= TAPIR_TIMELINE_MAX_OPEN)
		tl->stats.no_room++;
	else
		i = calloc(1, sizeof(*i));
	if (!i) {
		tl->failed |= tl->open_cnt < TAPIR_TIMELINE_MAX_OPEN;
		return NULL;
	}
	tl->open_cnt++;
	i->kind = kind_idx;
	i->scope = kind->scope;
	i->cause = kind->cause;
	i->is_request = kind->is_request;
	i->is_work = kind->is_work;
	i->tgid = h->thread->tgid;
	i->tid = i->end_tid = h->thread->tid;
	i->from_ns = h->now_ns;
	i->node = TAPIR_NO_NODE;
	return i;
}

/* NULL: none is open. */
static struct tapir_interval *find_open(struct tapir_timeline *tl, struct happening *h,
					uint32_t kind_idx)
{
	const struct tapir_interval_kind *kind = &tl->pairs->kinds.data[kind_idx];
	uint64_t key = kind->key ? tapir_timeline__key_of(fields_of(tl, h), kind->key) : 0;
	uint64_t activity = kind->scope == TAPIR_PAIR_ACTIVITY ? activity_of(h) : 0;
	struct tapir_interval *i;

	if (is_shared(kind) && (activity || kind->scope != TAPIR_PAIR_ACTIVITY))
		return shared_of(tl, map_key_of(kind, kind_idx, h->thread->tgid, key, activity));
	for (i = h->thread->open; i; i = i->outer)
		if (i->kind == kind_idx && i->key == key)
			return i;
	return NULL;
}

#define STRAY_MAX 4 /* ends whose begin the recording may have missed */

/* Awaited work continues on any of them. */
static bool is_of_pool(const struct tapir_timeline *tl, const struct happening *h)
{
	return tapir_pool__has(tl, h->thread->tid, h->now_ns);
}

/* Returns true if the event lacks the key of its kind: it belongs to no interval. */
static bool lacks_key(struct tapir_timeline *tl, struct happening *h,
		      const struct tapir_interval_kind *kind)
{
	const struct tapir_value *v;

	if (kind->scope != TAPIR_PAIR_KEY || !kind->key)
		return false;
	v = tapir_event_fields__find(fields_of(tl, h), kind->key, strlen(kind->key));
	return !v || (v->bytes && !v->len);
}

/*
 * Without ids an activity that moved cannot be distinguished from the next one on its thread. It
 * moves where threads of a pool serve it, begins nest, or ends come on threads that began none. A
 * request that lore knows may be served by one thread of a pool from its begin to its end.
 */
static bool is_unknown(struct tapir_timeline *tl, struct happening *h, uint32_t kind_idx,
		       bool is_begin)
{
	struct tapir_interval_kind *kind = &tl->pairs->kinds.data[kind_idx];
	bool is_open;

	if (lacks_key(tl, h, kind)) {
		kind->lacks_key = true;
		*(is_begin ? &kind->unended : &kind->unbegun) += 1;
		return true;
	}
	if (kind->scope != TAPIR_PAIR_ACTIVITY || activity_of(h))
		return false;
	is_open = find_open(tl, h, kind_idx) != NULL;
	kind->stray += !is_begin && !is_open;
	kind->is_unknown_by_thread |=
		(kind->is_guessed && is_of_pool(tl, h)) ||
		(is_begin ? is_open : kind->stray > STRAY_MAX + kind->cnt / 8);
	if (kind->is_unknown_by_thread)
		*(is_begin ? &kind->unended : &kind->unbegun) += 1;
	return kind->is_unknown_by_thread;
}

/* Copies what the event that begins it says. */
static void describe(struct tapir_timeline *tl, struct happening *h, uint32_t kind_idx,
		     struct tapir_interval *i)
{
	const struct tapir_interval_kind *kind = &tl->pairs->kinds.data[kind_idx];

	i->node = h->node;
	i->matches_filter = h->matches_filter;
	i->has_trace = tapir_trace__is_named(&h->event.rec->h);
	i->key = kind->key ? tapir_timeline__key_of(fields_of(tl, h), kind->key) : 0;
	i->activity = kind->scope == TAPIR_PAIR_ACTIVITY ? activity_of(h) : 0;
	i->label = make_label(tl, h, kind);
	if (is_shared(kind) && (i->activity || kind->scope != TAPIR_PAIR_ACTIVITY))
		i->map_key = map_key_of(kind, kind_idx, i->tgid, i->key, i->activity);
}

/* Makes it known by its key. The end of one that has the key already was lost. */
static void share(struct tapir_timeline *tl, const struct happening *h, struct tapir_interval *i)
{
	struct tapir_interval *before = shared_of(tl, i->map_key);

	if (before) {
		before->flags |= TAPIR_INTERVAL_NO_END;
		tapir_timeline__close(tl, before, h->now_ns);
	}
	add_shared(tl, i, h->thread->process);
}

static void begin_interval(struct tapir_timeline *tl, struct happening *h, uint32_t kind_idx)
{
	const struct tapir_interval_kind *kind = &tl->pairs->kinds.data[kind_idx];
	struct tapir_interval *i;
	bool is_nested;

	if (is_unknown(tl, h, kind_idx, true))
		return;
	tapir_timeline__advance(h->thread, h->now_ns);
	if (kind->nesting == TAPIR_NESTS_IN_NONE)
		end_former(tl, h, kind_idx);
	if (kind->is_request)
		tapir_timeline__leave_requests(h->thread, kind_idx, NULL);
	is_nested = limit_nesting(tl, h, kind_idx);
	i = new_interval(tl, h, kind_idx);
	if (!i)
		return;
	i->flags |= is_nested && !is_shared(kind) ? TAPIR_INTERVAL_NESTED : 0;
	describe(tl, h, kind_idx, i);
	if (i->map_key)
		share(tl, h, i);
	tapir_interval__enter(i, h->thread, h->now_ns);
	tapir_interval__begin_child(tl, i, h->event.related_id, h->thread);
	if (kind->is_request)
		tapir_timeline__begin_request(tl, i, h->thread);
	if (kind->is_work && tl->has_requests)
		tapir_timeline__begin_work(tl, i, h->thread, fields_of(tl, h), h->now_ns);
	limit_shared(h->thread, h->now_ns);
	if (i->map_key)
		tapir_timeline__pause(h->thread->process, i, true, h->now_ns);
	if (tapir_timeline__in_range(tl, h->now_ns) &&
	    tapir_timeline__reports(tl, i->tgid, i->tid) && i->matches_filter &&
	    !tapir_interval__is_counted_with_outer(tl, i))
		NOTIFY(tl, open, i);
}

/* ---- ending --------------------------------------------------------------------------------- */

static void end_unbegun(struct tapir_timeline *tl, struct happening *h, uint32_t kind_idx)
{
	struct tapir_interval *i = new_interval(tl, h, kind_idx);

	if (!i)
		return;
	i->from_ns = tl->stats.first_ns < h->now_ns ? tl->stats.first_ns : h->now_ns;
	i->flags = TAPIR_INTERVAL_NO_BEGIN;
	i->matches_filter = h->matches_filter;
	i->label = make_label(tl, h, &tl->pairs->kinds.data[kind_idx]);
	tapir_timeline__close(tl, i, h->now_ns);
}

static void end(struct tapir_timeline *tl, struct happening *h, uint32_t kind_idx)
{
	struct tapir_interval *i;

	if (is_unknown(tl, h, kind_idx, false))
		return;
	i = find_open(tl, h, kind_idx);
	if (!i) {
		end_unbegun(tl, h, kind_idx);
		return;
	}
	if (i->work)
		tapir_timeline__end_request(tl, i, h->thread, h->now_ns);
	tapir_interval__work_on(tl, i, h->thread, h->now_ns);
	if (i->is_request)
		tapir_timeline__leave_requests(h->thread, kind_idx, i);
	i->end_tid = h->thread->tid;
	i->matches_filter |= h->matches_filter;
	tapir_timeline__close(tl, i, h->now_ns);
}

void tapir_timeline__event(struct tapir_timeline *tl, const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const void *)rec;
	const struct tapir_rec_probe *probe = tapir_catalog__probe(tl->catalog, ev->probe_id);
	struct happening h = {.now_ns = rec->time_ns};
	struct tapir_roles roles;
	bool is_await;

	tl->stats.events++;
	h.thread = tapir_timeline__get_thread(tl, ev->tgid, ev->tid, rec->time_ns);
	if (!probe || !h.thread)
		return;
	tapir_timeline__ran(tl, h.thread, rec->time_ns);
	tapir_event_view__of(rec, &h.event);
	tapir_probe_view__of(&probe->h, &h.probe);
	h.node = event_node(tl, &h);
	if (h.node != TAPIR_NO_NODE)
		tapir_timeline__set_last_stack(tl, h.thread, h.node, rec->time_ns);
	is_await = tapir_timeline__follow(tl, h.thread, h.node, &h.probe, &h.event);
	if (is_await && tl->has_requests)
		tapir_timeline__suspend(tl, h.thread, fields_of(tl, &h));
	h.matches_filter = tapir_timeline__is_chosen(tl, h.thread, rec);
	tl->now_probe = &h.probe;
	tl->now_event = &h.event;
	roles = *tapir_pairs__roles(tl->pairs, &h.probe); /* a kind may be added in the meantime */
	for (uint32_t i = 0; i < roles.cnt; i++) {
		if (roles.roles[i].is_abort && !find_open(tl, &h, roles.roles[i].kind))
			continue;
		if (roles.roles[i].is_begin)
			begin_interval(tl, &h, roles.roles[i].kind);
		else
			end(tl, &h, roles.roles[i].kind);
	}
	tl->now_probe = NULL;
	tl->now_event = NULL;
	if (tapir_timeline__in_range(tl, h.now_ns) &&
	    tapir_timeline__reports(tl, ev->tgid, ev->tid) && h.matches_filter)
		NOTIFY(tl, event, h.thread, &h.probe, &h.event);
}
