// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Intervals: from the event that begins one to the event that ends it. A thread's own are in a
 * list, the innermost first, and may overlap; those that other threads may end are also in a map by
 * their key. One that changes threads keeps its share of each.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/timeline_impl.h"
#include "lore/lore.h"

/* ---- lists -------------------------------------------------------------------------------- */

static void find_own_cause(struct tapir_tl_thread *t)
{
	const struct tapir_interval *i = t->open;

	while (i && (!i->cause || i->scope == TAPIR_PAIR_PROCESS))
		i = i->outer;
	t->own_cause = i ? i->cause : TAPIR_CAUSE_NONE;
}

const struct tapir_interval *tapir_tl_thread__causing(const struct tapir_tl_thread *t)
{
	const struct tapir_interval *i = t->open;

	while (i && (!i->cause || i->scope == TAPIR_PAIR_PROCESS))
		i = i->outer;
	return i;
}

/* t->parts are up to date: what comes is counted from here. */
static void note_time(struct tapir_interval *i, const struct tapir_tl_thread *t, uint64_t now_ns)
{
	i->at = t->parts;
	i->last_ns = now_ns;
	i->gc_ns = t->gc_ns;
	i->any_ns = t->any_ns;
}

void tapir_interval__enter(struct tapir_interval *i, struct tapir_tl_thread *t, uint64_t now_ns)
{
	i->thread = t;
	note_time(i, t, now_ns);
	i->inner = NULL;
	i->outer = t->open;
	if (t->open)
		t->open->inner = i;
	else
		t->outermost = i;
	t->open = i;
	t->open_cnt++;
	find_own_cause(t);
}

void tapir_interval__take_parts(struct tapir_interval *i, uint64_t now_ns)
{
	tapir_tl__advance(i->thread, now_ns);
	tapir_parts__add_difference(&i->parts, &i->thread->parts, &i->at);
	note_time(i, i->thread, now_ns);
}

void tapir_interval__leave(struct tapir_interval *i)
{
	struct tapir_tl_thread *t = i->thread;

	if (i->inner)
		i->inner->outer = i->outer;
	else
		t->open = i->outer;
	if (i->outer)
		i->outer->inner = i->inner;
	else
		t->outermost = i->inner;
	t->open_cnt--;
	i->inner = i->outer = NULL;
	i->thread = NULL;
	find_own_cause(t);
}

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
}

static void share(struct tapir_timeline *tl, struct tapir_interval *i, struct tapir_tl_process *p)
{
	uint64_t *place = tapir_map__put(&tl->shared, i->map_key, NULL);

	i->next = p->shared;
	if (i->next)
		i->next->prev = i;
	p->shared = i;
	if (place)
		*place = (uintptr_t)i;
	if (i->activity && place)
		place = tapir_map__put(&tl->activities, i->activity, NULL);
	if (place && i->activity)
		*place = (uintptr_t)i;
	tl->failed |= !place;
}

static void unshare(struct tapir_timeline *tl, struct tapir_interval *i, struct tapir_tl_process *p)
{
	const uint64_t *place = tapir_map__get(&tl->activities, i->activity);

	if (i->prev)
		i->prev->next = i->next;
	else
		p->shared = i->next;
	if (i->next)
		i->next->prev = i->prev;
	if (i->activity && place && *place == (uintptr_t)i)
		tapir_map__del(&tl->activities, i->activity);
	place = tapir_map__get(&tl->shared, i->map_key);
	if (place && *place == (uintptr_t)i)
		tapir_map__del(&tl->shared, i->map_key);
}

static struct tapir_tl_process *process_in(const struct tapir_timeline *tl, uint32_t tgid)
{
	const uint64_t *place = tapir_map__get(&tl->processes, tgid);

	return place ? (void *)(uintptr_t)*place : NULL;
}

/* ---- closing ------------------------------------------------------------------------------ */

static void count_kind(struct tapir_timeline *tl, const struct tapir_interval *i)
{
	struct tapir_kind *kind = &tl->pairs->kinds.data[i->kind];
	uint64_t took_ns = i->until_ns - i->from_ns;

	if (i->flags & TAPIR_INTERVAL_UNENDED) {
		kind->unended++;
		return;
	}
	if (i->flags & TAPIR_INTERVAL_UNBEGUN) {
		kind->unbegun++;
		return;
	}
	kind->cnt++;
	kind->sum_ns += i->flags & TAPIR_INTERVAL_NESTED ? 0 : took_ns;
	if (took_ns > kind->worst_ns)
		kind->worst_ns = took_ns;
}

static void tell_close(struct tapir_timeline *tl, struct tapir_interval *i)
{
	if (i->until_ns < tl->opts.from_ns ||
	    (tl->opts.until_ns && i->from_ns > tl->opts.until_ns) ||
	    !tapir_tl__is_told(tl, i->tgid, i->tid))
		return;
	count_kind(tl, i);
	TELL(tl, close, i);
}

/*
 * Time that none of its threads accounts for is "between threads". A record that arrived too late
 * can end it before its thread's share ends: then the share is cut.
 */
static void make_whole(struct tapir_interval *i)
{
	uint64_t left_ns = i->until_ns - i->from_ns;

	for (unsigned c = 0; c < TAPIR_CAUSE_CNT; c++)
		for (unsigned s = 0; s < TAPIR_THREAD_STATE_CNT; s++) {
			if (i->parts.ns[c][s] > left_ns)
				i->parts.ns[c][s] = left_ns;
			left_ns -= i->parts.ns[c][s];
		}
	i->parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_UNKNOWN] += left_ns;
}

static void pause_process(struct tapir_tl_process *p, const struct tapir_interval *i, bool begins,
			  uint64_t now_ns)
{
	void (*fn)(struct pauses *, uint64_t) = begins ? tapir_pauses__begin : tapir_pauses__end;

	if (i->scope != TAPIR_PAIR_PROCESS || !i->cause)
		return;
	if (i->cause == TAPIR_CAUSE_GC)
		fn(&p->gc, now_ns);
	fn(&p->any, now_ns);
}

/* A thread that waits for this one may be reported a moment later. */
static void remember_label(struct tapir_tl_thread *t, struct tapir_interval *i)
{
	if (!t || i->map_key || !i->label)
		return;
	free(t->last_label);
	t->last_label = i->label;
	t->last_kind = i->kind;
	t->last_from_ns = i->from_ns;
	t->last_until_ns = i->until_ns;
	i->label = NULL;
}

static void close_interval(struct tapir_timeline *tl, struct tapir_interval *i, uint64_t now_ns)
{
	struct tapir_tl_process *p = process_in(tl, i->tgid);
	struct tapir_tl_thread *t = i->thread, *ended_on = tapir_timeline__thread(tl, i->end_tid);

	i->until_ns = now_ns > i->from_ns ? now_ns : i->from_ns;
	if (i->thread) {
		tapir_interval__take_parts(i, i->until_ns);
		tapir_interval__leave(i);
	} else if (p) {
		tapir_interval__end_away(i, p);
	}
	if (i->map_key && p) {
		pause_process(p, i, false, i->until_ns);
		unshare(tl, i, p);
	}
	make_whole(i);
	tell_close(tl, i);
	tapir_interval__end_child(tl, i, ended_on && ended_on->process ? ended_on : NULL);
	if (t && i->cause == TAPIR_CAUSE_LOCK && !(i->flags & TAPIR_INTERVAL_UNENDED))
		t->locked_ns = i->until_ns;
	remember_label(t, i);
	tl->open_cnt--;
	free(i->label);
	free(i);
}

void tapir_tl__close_thread(struct tapir_timeline *tl, struct tapir_tl_thread *t, uint64_t now_ns)
{
	struct tapir_interval *i = t->open, *outer;

	for (; i; i = outer) {
		outer = i->outer;
		if (i->map_key) { /* somebody else may end it */
			tapir_interval__take_parts(i, now_ns);
			tapir_interval__leave(i);
			continue;
		}
		i->flags |= TAPIR_INTERVAL_UNENDED;
		close_interval(tl, i, now_ns);
	}
}

void tapir_tl__close_process(struct tapir_timeline *tl, struct tapir_tl_process *p, uint64_t now_ns)
{
	while (p->shared) {
		p->shared->flags |= TAPIR_INTERVAL_UNENDED;
		close_interval(tl, p->shared, now_ns);
	}
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
	uint32_t node; /* of its stack, or TAPIR_NO_NODE */
};

static const struct tapir_event_fields *fields_of(struct tapir_timeline *tl, struct happening *h)
{
	if (!h->is_decoded)
		tapir_event_fields__decode(&tl->fields, tl->catalog, &h->probe, &h->event);
	h->is_decoded = true;
	return &tl->fields;
}

/* Never 0. */
static uint64_t hash_key(struct tapir_timeline *tl, struct happening *h, const char *field)
{
	const struct tapir_value *v =
		tapir_event_fields__find(fields_of(tl, h), field, strlen(field));
	uint64_t hash = 7;

	if (v && v->bytes)
		hash = tapir_hash__bytes(hash, v->bytes, v->len);
	else if (v)
		hash = tapir_hash__mix(hash, v->u64);
	return hash ? hash : 1;
}

static void add_to_label(const struct tapir_event_fields *f, const struct tapir_kind *kind,
			 const char *name, size_t len, struct tapir_str *out)
{
	const struct tapir_value *v = tapir_event_fields__find(f, name, len);
	const char *known;

	if (!v || out->len >= TAPIR_INTERVAL_LABEL_BYTES)
		return;
	known = v->bytes || !kind->provider || !kind->name
			? NULL
			: tapir_kind__value_name(kind, name, len, v->u64);
	if (out->len)
		tapir_str__addc(out, ' ');
	if (known)
		tapir_str__adds(out, known);
	else
		tapir_event_fields__add_value(v, TAPIR_INTERVAL_LABEL_BYTES - out->len, out);
}

static char *make_label(struct tapir_timeline *tl, struct happening *h,
			const struct tapir_kind *kind)
{
	const char *names = kind->label;
	struct tapir_str out = {};

	for (size_t len; names && *names; names += len + (names[len] == ' ')) {
		len = strcspn(names, " ");
		add_to_label(fields_of(tl, h), kind, names, len, &out);
	}
	return out.data;
}

static uint64_t activity_of(const struct happening *h)
{
	return tapir_tl__activity_key(h->thread->tgid, h->event.activity_id);
}

/* ---- beginning ------------------------------------------------------------------------------ */

static bool is_shared(const struct tapir_kind *kind)
{
	return kind->scope != TAPIR_PAIR_THREAD;
}

/* By what another thread's event finds it. Never 0. */
static uint64_t map_key_of(const struct tapir_kind *kind, uint32_t kind_idx, uint32_t tgid,
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
	const uint64_t *place = tapir_map__get(&tl->shared, map_key);

	return place ? (void *)(uintptr_t)*place : NULL;
}

/* Of a kind that has no end in this file, only the newest are kept. Whether any is open. */
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
		oldest->flags |= TAPIR_INTERVAL_UNENDED;
		close_interval(tl, oldest, h->now_ns);
	}
	return cnt;
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
	const struct tapir_kind *kind = &tl->pairs->kinds.data[kind_idx];
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
	const struct tapir_kind *kind = &tl->pairs->kinds.data[kind_idx];
	uint64_t key = kind->key ? hash_key(tl, h, kind->key) : 0;
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

/* Awaited work goes on on any of them. */
static bool is_of_pool(const struct tapir_timeline *tl, const struct happening *h)
{
	struct tapir_sv comm = tapir_timeline__comm(tl, h->thread->tid, h->now_ns);

	tapir_lore_for_each (lore)
		if (lore->pool_thread && tapir_sv__starts_with(comm, lore->pool_thread))
			return true;
	return false;
}

/* Without ids an activity that moved cannot be told from the next one on its thread. It moves
 * where threads of a pool serve it, begins nest, or ends come on threads that began none. */
static bool is_unknown(struct tapir_timeline *tl, struct happening *h, uint32_t kind_idx,
		       bool is_begin)
{
	struct tapir_kind *kind = &tl->pairs->kinds.data[kind_idx];
	bool is_open;

	if (!kind->is_guessed || kind->scope != TAPIR_PAIR_ACTIVITY || activity_of(h))
		return false;
	is_open = find_open(tl, h, kind_idx) != NULL;
	kind->stray += !is_begin && !is_open;
	kind->is_unknown_by_thread |=
		is_of_pool(tl, h) || (is_begin ? is_open : kind->stray > STRAY_MAX + kind->cnt / 8);
	if (kind->is_unknown_by_thread)
		*(is_begin ? &kind->unended : &kind->unbegun) += 1;
	return kind->is_unknown_by_thread;
}

static void begin(struct tapir_timeline *tl, struct happening *h, uint32_t kind_idx)
{
	const struct tapir_kind *kind = &tl->pairs->kinds.data[kind_idx];
	struct tapir_interval *i, *before;
	bool is_nested;

	if (is_unknown(tl, h, kind_idx, true))
		return;
	tapir_tl__advance(h->thread, h->now_ns);
	is_nested = limit_nesting(tl, h, kind_idx);
	i = new_interval(tl, h, kind_idx);
	if (!i)
		return;
	i->flags |= is_nested && !is_shared(kind) ? TAPIR_INTERVAL_NESTED : 0;
	i->node = h->node;
	i->key = kind->key ? hash_key(tl, h, kind->key) : 0;
	i->activity = kind->scope == TAPIR_PAIR_ACTIVITY ? activity_of(h) : 0;
	i->label = make_label(tl, h, kind);
	if (is_shared(kind) && (i->activity || kind->scope != TAPIR_PAIR_ACTIVITY))
		i->map_key = map_key_of(kind, kind_idx, i->tgid, i->key, i->activity);
	before = i->map_key ? shared_of(tl, i->map_key) : NULL;
	if (before) { /* its end was lost */
		before->flags |= TAPIR_INTERVAL_UNENDED;
		close_interval(tl, before, h->now_ns);
	}
	if (i->map_key)
		share(tl, i, h->thread->process);
	tapir_interval__enter(i, h->thread, h->now_ns);
	tapir_interval__begin_child(tl, i, h->event.related_id, h->thread);
	limit_shared(h->thread, h->now_ns);
	if (i->map_key)
		pause_process(h->thread->process, i, true, h->now_ns);
	if (tapir_tl__in_range(tl, h->now_ns) && tapir_tl__is_told(tl, i->tgid, i->tid))
		TELL(tl, open, i);
}

/* ---- ending --------------------------------------------------------------------------------- */

static void end_unbegun(struct tapir_timeline *tl, struct happening *h, uint32_t kind_idx)
{
	struct tapir_interval *i = new_interval(tl, h, kind_idx);

	if (!i)
		return;
	i->from_ns = tl->stats.first_ns < h->now_ns ? tl->stats.first_ns : h->now_ns;
	i->flags = TAPIR_INTERVAL_UNBEGUN;
	i->label = make_label(tl, h, &tl->pairs->kinds.data[kind_idx]);
	close_interval(tl, i, h->now_ns);
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
	tapir_interval__work_on(i, h->thread, h->now_ns);
	i->end_tid = h->thread->tid;
	close_interval(tl, i, h->now_ns);
}

void tapir_tl__event(struct tapir_timeline *tl, const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const void *)rec;
	const struct tapir_rec_probe *probe = tapir_catalog__probe(tl->catalog, ev->probe_id);
	struct happening h = {.now_ns = rec->time_ns};
	struct tapir_roles roles;

	tl->stats.events++;
	h.thread = tapir_tl__thread(tl, ev->tgid, ev->tid, rec->time_ns);
	if (!probe || !h.thread)
		return;
	tapir_tl__ran(tl, h.thread, rec->time_ns);
	tapir_event_view__of(rec, &h.event);
	tapir_probe_view__of(&probe->h, &h.probe);
	h.node = event_node(tl, &h);
	if (h.node != TAPIR_NO_NODE)
		tapir_tl__was_at(tl, h.thread, h.node, rec->time_ns);
	tapir_tl__follow(tl, h.thread, &h.probe, &h.event);
	roles = *tapir_pairs__roles(tl->pairs, &h.probe); /* a kind may be added in the meantime */
	for (uint32_t i = 0; i < roles.cnt; i++) {
		if (roles.roles[i].is_abort && !find_open(tl, &h, roles.roles[i].kind))
			continue;
		if (roles.roles[i].is_begin)
			begin(tl, &h, roles.roles[i].kind);
		else
			end(tl, &h, roles.roles[i].kind);
	}
	if (tapir_tl__in_range(tl, h.now_ns) && tapir_tl__is_told(tl, ev->tgid, ev->tid))
		TELL(tl, event, h.thread, &h.probe, &h.event);
}
