// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the name that covers an address at a time, and reports later changes. Stacks are named
 * while the runtime still writes: a name that was used may turn out to have ended before, and its
 * addresses to belong to another.
 */
#include "base/clock.h"
#include "symbol/jit_table_impl.h"

#define FIND_STEPS   8192 /* entries examined for one address */
#define TAKERS_STEPS 256

#define WATCH_NS                                                                                   \
	(300 * TAPIR_NS_PER_MS) /* the maximum delay of reports that an address was reused */
#define FREE_WATCH_NS                                                                              \
	(60 * TAPIR_NS_PER_SEC) /* an address that was not reused is watched for this long \ */
#define WATCH_MAX     1024
#define WATCHES_AHEAD 8

/* ---- finding ---------------------------------------------------------------------------- */

static void describe_entry(const struct tapir_jit_table *t, const struct tapir_jit_entry *e,
			   struct tapir_jit_name *out)
{
	const struct tapir_jit_text *text = tapir_jit_table__text(t, e);

	*out = (struct tapir_jit_name){
		.start_va = e->start_va,
		.size = e->size,
		.from_ns = e->from_ns,
		.until_ns = e->until_ns,
		.name = text->bytes,
		.name_len = text->len,
		.source = text->source,
	};
}

static void give(struct tapir_jit_table *t, struct tapir_jit_entry *e, struct tapir_jit_name *out)
{
	e->is_given_out = true;
	describe_entry(t, e, out);
}

/* e has ended: a name that takes its addresses must be reported. */
static void watch(struct tapir_jit_table *t, const struct tapir_jit_entry *e)
{
	const struct tapir_jit_watch w = {.start_va = e->start_va,
					  .end_va = tapir_jit_entry__end_va(e),
					  .until_ns = e->until_ns};

	if (t->watched.cnt < WATCH_MAX)
		(void)tapir_vec__push(&t->watched, w);
	t->is_watch_due = true;
}

/* A name that holds at va, or will soon. */
struct found {
	struct tapir_jit_index *ix; /* NULL: none */
	struct tapir_jit_pos pos;
	uint64_t from_ns;
};

/* True: it holds at time_ns; else it is remembered if it is the next one. */
static bool consider_entry(struct found *f, struct tapir_jit_index *ix, struct tapir_jit_pos pos,
			   uint64_t time_ns)
{
	const struct tapir_jit_entry *e = tapir_jit_index__at(ix, pos);
	bool holds = e->from_ns <= time_ns && (!e->until_ns || e->until_ns > time_ns);

	if (holds || (e->from_ns > time_ns && e->from_ns - time_ns <= TAPIR_JIT_EARLY_NS &&
		      (!f->ix || e->from_ns < f->from_ns)))
		*f = (struct found){ix, pos, e->from_ns};
	return holds;
}

/* True: f is valid at time_ns; false: f is what begins soon, if anything. */
static bool search_index(struct tapir_jit_table *t, uint64_t va, uint64_t time_ns, struct found *f)
{
	struct tapir_jit_over over = tapir_jit_over__in(&t->live, va, va + 1);

	if (tapir_jit_over__next(&over, 1) && consider_entry(f, &t->live, over.pos, time_ns))
		return true;
	if (time_ns >= t->past_until_ns)
		return false;
	over = tapir_jit_over__in(&t->past, va, va + 1);
	while (tapir_jit_over__next(&over, FIND_STEPS))
		if (consider_entry(f, &t->past, over.pos, time_ns))
			return true;
	return false;
}

/* Since when the addresses of e were free, at most TAPIR_JIT_EARLY_NS before it began. */
static uint64_t free_since_ns(struct tapir_jit_table *t, const struct tapir_jit_entry *e)
{
	struct tapir_jit_over over =
		tapir_jit_over__in(&t->past, e->start_va, tapir_jit_entry__end_va(e));
	uint64_t since = e->from_ns > TAPIR_JIT_EARLY_NS ? e->from_ns - TAPIR_JIT_EARLY_NS : 0;
	const struct tapir_jit_entry *other;

	while ((other = tapir_jit_over__next(&over, FIND_STEPS)))
		if (other->from_ns < e->from_ns && other->until_ns > since)
			since = other->until_ns;
	return over.gave_up ? e->from_ns : since;
}

/* A name at (start_va, from_ns) keeps it: the earlier time becomes a separate name. */
static bool add_earlier(struct tapir_jit_table *t, struct tapir_jit_entry e, uint64_t from_ns,
			struct tapir_jit_name *out)
{
	e.until_ns = e.from_ns;
	e.from_ns = from_ns;
	e.is_queued = false;
	if (!tapir_jit_table__has_room(t) || !tapir_jit_table__add_past(t, &e))
		return false;
	give(t, &e, out);
	return true;
}

static bool begin_earlier(struct tapir_jit_table *t, const struct found *f, uint64_t time_ns,
			  struct tapir_jit_name *out)
{
	struct tapir_jit_entry *e = tapir_jit_index__at(f->ix, f->pos);
	uint64_t from_ns = free_since_ns(t, e);

	if (from_ns > time_ns)
		return false;
	if (e->is_given_out)
		return add_earlier(t, *e, from_ns, out);
	tapir_jit_index__set_from(f->ix, f->pos, from_ns);
	give(t, e, out);
	return true;
}

bool tapir_jit_table__find(struct tapir_jit_table *t, uint64_t va, uint64_t time_ns,
			   struct tapir_jit_name *out)
{
	struct found f = {};

	if (va == UINT64_MAX)
		return false;
	if (search_index(t, va, time_ns, &f)) {
		struct tapir_jit_entry *e = tapir_jit_index__at(f.ix, f.pos);

		if (e->until_ns && !e->is_given_out)
			watch(t, e); /* asked for so late that others may have been there since */
		give(t, e, out);
		return true;
	}
	return f.ix && begin_earlier(t, &f, time_ns, out);
}

bool tapir_jit_table__is_held(struct tapir_jit_table *t, uint64_t start_va, uint64_t size)
{
	struct tapir_jit_over over = tapir_jit_over__in(&t->live, start_va, start_va + size);

	return size && start_va + size > start_va && tapir_jit_over__next(&over, 1);
}

bool tapir_jit_table__at(struct tapir_jit_table *t, uint64_t start_va, struct tapir_jit_name *out)
{
	const struct tapir_jit_entry *e;
	struct tapir_jit_pos pos;

	if (!tapir_jit_index__floor(&t->live, start_va, UINT64_MAX, &pos))
		return false;
	e = tapir_jit_index__at(&t->live, pos);
	if (e->start_va != start_va)
		return false;
	describe_entry(t, e, out);
	return true;
}

/* ---- what changed ----------------------------------------------------------------------- */

static bool next_ended(struct tapir_jit_table *t, struct tapir_jit_name *out)
{
	while (t->changed_head < t->changed.cnt) {
		struct tapir_jit_key key = t->changed.data[t->changed_head++];
		struct tapir_jit_entry *e;
		struct tapir_jit_pos pos;

		if (!tapir_jit_index__floor(&t->past, key.start_va, key.from_ns, &pos))
			continue;
		e = tapir_jit_index__at(&t->past, pos);
		if (e->start_va != key.start_va || e->from_ns != key.from_ns)
			continue;
		e->is_queued = false;
		watch(t, e);
		give(t, e, out);
		return true;
	}
	t->changed_head = t->changed.cnt = 0;
	return false;
}

static bool next_taker(struct tapir_jit_table *t, struct tapir_jit_index *ix,
		       const struct tapir_jit_watch *w, struct tapir_jit_name *out)
{
	struct tapir_jit_over over = tapir_jit_over__in(ix, w->start_va, w->end_va);
	struct tapir_jit_entry *e;

	while ((e = tapir_jit_over__next(&over, TAKERS_STEPS))) {
		if (e->from_ns >= w->until_ns && !e->is_given_out) {
			give(t, e, out);
			return true;
		}
	}
	return false;
}

static bool next_of_watched(struct tapir_jit_table *t, struct tapir_jit_name *out)
{
	while (t->watch_idx < t->watched.cnt) {
		struct tapir_jit_watch *w = &t->watched.data[t->watch_idx];

		if (t->watch_idx + WATCHES_AHEAD < t->watched.cnt)
			tapir_jit_table__expect(t, w[WATCHES_AHEAD].start_va,
						w[WATCHES_AHEAD].end_va -
							w[WATCHES_AHEAD].start_va);
		if (next_taker(t, &t->live, w, out) ||
		    (w->until_ns < t->past_until_ns && next_taker(t, &t->past, w, out))) {
			w->is_taken = true;
			return true;
		}
		if (w->until_ns + (w->is_taken ? WATCH_NS : FREE_WATCH_NS) < t->newest_ns)
			*w = t->watched.data[--t->watched.cnt];
		else
			t->watch_idx++;
	}
	return false;
}

bool tapir_jit_table__next_changed(struct tapir_jit_table *t, struct tapir_jit_name *out)
{
	if (next_ended(t, out))
		return true;
	if (t->is_watch_due && next_of_watched(t, out))
		return true;
	t->is_watch_due = false;
	t->watch_idx = 0;
	return false;
}
