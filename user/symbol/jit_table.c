// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two indexes: `live`, the names that are valid now, of which no two overlap; and `past`, those
 * that ended, which overlap in addresses but not in address and time together. Almost all calls
 * touch only the first; the second is searched when a time is before the last end in it.
 */
#include "symbol/jit_table.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "symbol/jit_table_impl.h"

/* Entries examined per addition: some are free, more only as many as were added before. */
#define ADD_STEPS      64
#define ADD_CREDIT     8
#define MAX_CREDIT     (1u << 20)

#define KEEP_PAST_NS   (10 * TAPIR_NS_PER_SEC) /* when memory is short */
#define FORGET_EACH_NS (10 * TAPIR_NS_PER_SEC)

static atomic_size_t all_bytes;

int tapir_jit_table__new(struct tapir_jit_table **out)
{
	struct tapir_jit_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->live.is_disjoint = true;
	*out = t;
	return 0;
}

void tapir_jit_table__free(struct tapir_jit_table *t)
{
	if (!t)
		return;
	atomic_fetch_sub(&all_bytes, t->accounted_bytes);
	tapir_jit_index__fini(&t->live);
	tapir_jit_index__fini(&t->past);
	tapir_jit_arena__fini(&t->arena);
	tapir_vec__fini(&t->changed);
	tapir_vec__fini(&t->watched);
	free(t);
}

size_t tapir_jit_table__cnt(const struct tapir_jit_table *t)
{
	return t->live.cnt + t->past.cnt;
}

size_t tapir_jit_table__bytes(const struct tapir_jit_table *t)
{
	return sizeof(*t) + t->live.bytes + t->past.bytes + t->arena.bytes +
	       t->changed.cap * sizeof(struct tapir_jit_key) +
	       t->watched.cap * sizeof(struct tapir_jit_watch);
}

bool tapir_jit_table__is_full(const struct tapir_jit_table *t)
{
	return t->is_full;
}

uint64_t tapir_jit_table__refused(const struct tapir_jit_table *t)
{
	return t->refused;
}

/* ---- memory ----------------------------------------------------------------------------- */

static void account(struct tapir_jit_table *t)
{
	size_t bytes = tapir_jit_table__bytes(t);

	if (bytes == t->accounted_bytes)
		return;
	atomic_fetch_add(&all_bytes, bytes - t->accounted_bytes);
	t->accounted_bytes = bytes;
}

static bool is_full(const struct tapir_jit_table *t)
{
	return t->accounted_bytes >= TAPIR_JIT_TABLE_MAX_BYTES ||
	       atomic_load(&all_bytes) >= TAPIR_JIT_ALL_MAX_BYTES;
}

/* Copies into `to` what in `from` still holds at min_until_ns; the texts go to arena. */
static bool copy_kept(struct tapir_jit_table *t, struct tapir_jit_index *from,
		      uint64_t min_until_ns, struct tapir_jit_index *to,
		      struct tapir_jit_arena *arena)
{
	struct tapir_jit_pos pos = {};

	for (bool more = from->cnt; more; more = tapir_jit_index__next(from, &pos)) {
		struct tapir_jit_entry e = *tapir_jit_index__at(from, pos);
		const struct tapir_jit_text *text = tapir_jit_table__text(t, &e);
		struct tapir_jit_text *copy;

		if (e.until_ns && e.until_ns < min_until_ns)
			continue;
		e.text = tapir_jit_arena__add(arena, text->bytes, text->len);
		if (e.text == TAPIR_JIT_NO_TEXT || !tapir_jit_index__insert(to, &e))
			return false;
		copy = tapir_jit_arena__at(arena, e.text);
		copy->source = text->source;
	}
	return true;
}

/* Names that ended long ago go, and the texts of all that went. */
static void expire_names(struct tapir_jit_table *t)
{
	struct tapir_jit_index live = {.is_disjoint = true}, past = {};
	struct tapir_jit_arena arena = {};
	uint64_t min_until_ns = t->newest_ns > KEEP_PAST_NS ? t->newest_ns - KEEP_PAST_NS : 0;

	t->next_forget_ns = t->newest_ns + FORGET_EACH_NS;
	if (!copy_kept(t, &t->live, 0, &live, &arena) ||
	    !copy_kept(t, &t->past, min_until_ns, &past, &arena)) {
		tapir_jit_index__fini(&live);
		tapir_jit_index__fini(&past);
		tapir_jit_arena__fini(&arena);
		return;
	}
	tapir_jit_index__fini(&t->live);
	tapir_jit_index__fini(&t->past);
	tapir_jit_arena__fini(&t->arena);
	t->live = live;
	t->past = past;
	t->arena = arena;
	account(t);
}

bool tapir_jit_table__has_room(struct tapir_jit_table *t)
{
	account(t);
	return !is_full(t);
}

static bool make_jit_room(struct tapir_jit_table *t)
{
	if (t->newest_ns >= t->next_forget_ns)
		expire_names(t);
	return !is_full(t);
}

/* ---- ending ----------------------------------------------------------------------------- */

static void note_change(struct tapir_jit_table *t, struct tapir_jit_entry *e)
{
	if (!e->is_given_out || e->is_queued)
		return;
	e->is_queued =
		tapir_vec__push(&t->changed, ((struct tapir_jit_key){e->start_va, e->from_ns}));
}

bool tapir_jit_table__add_past(struct tapir_jit_table *t, const struct tapir_jit_entry *e)
{
	if (!tapir_jit_index__insert(&t->past, e))
		return false;
	if (e->until_ns > t->past_until_ns)
		t->past_until_ns = e->until_ns;
	return true;
}

/* Ends a name that held until now. A name that never held is removed. */
static void retire(struct tapir_jit_table *t, struct tapir_jit_entry e, uint64_t at_ns)
{
	e.until_ns = at_ns;
	if (e.until_ns <= e.from_ns)
		return;
	note_change(t, &e);
	(void)tapir_jit_table__add_past(t, &e);
}

static void end_live(struct tapir_jit_table *t, struct tapir_jit_pos pos, uint64_t at_ns)
{
	struct tapir_jit_entry e = *tapir_jit_index__at(&t->live, pos);

	tapir_jit_index__remove(&t->live, pos);
	retire(t, e, at_ns);
}

bool tapir_jit_table__end(struct tapir_jit_table *t, uint64_t start_va, uint64_t at_ns)
{
	struct tapir_jit_entry *e;
	struct tapir_jit_pos pos;

	if (at_ns > t->newest_ns)
		t->newest_ns = at_ns;
	if (tapir_jit_index__floor(&t->live, start_va, UINT64_MAX, &pos)) {
		e = tapir_jit_index__at(&t->live, pos);
		if (e->start_va == start_va && e->from_ns < at_ns) {
			end_live(t, pos, at_ns);
			return true;
		}
	}
	/* Reported late: another name begins there already. */
	if (!at_ns || !tapir_jit_index__floor(&t->past, start_va, at_ns - 1, &pos))
		return false;
	e = tapir_jit_index__at(&t->past, pos);
	if (e->start_va != start_va || e->until_ns <= at_ns)
		return false;
	e->until_ns = at_ns;
	note_change(t, e);
	return true;
}

/* ---- adding ----------------------------------------------------------------------------- */

/* The range of a new name, and the names that it overlaps. */
struct meeting {
	uint64_t start_va, end_va;
	uint64_t from_ns;
	uint64_t until_ns; /* when the first later name takes its addresses; 0: none did */
	bool is_known;	   /* others held there at that time */
	bool meets_given;  /* one that began at the same time was given out */
	bool meets_same;   /* one began at the same time */
	bool is_too_much;
	unsigned steps_left;
};

static void meet(struct meeting *m, const struct tapir_jit_entry *e)
{
	if (e->from_ns > m->from_ns) {
		if (!m->until_ns || e->from_ns < m->until_ns)
			m->until_ns = e->from_ns;
		return;
	}
	if (e->from_ns == m->from_ns) {
		m->meets_same = true;
		m->meets_given |= e->is_given_out;
	}
	if (e->until_ns > m->from_ns && (!m->from_ns || e->from_ns == m->from_ns))
		m->is_known = true;
}

static void register_all(struct tapir_jit_index *ix, struct meeting *m)
{
	struct tapir_jit_over over = tapir_jit_over__in(ix, m->start_va, m->end_va);
	const struct tapir_jit_entry *e;

	while ((e = tapir_jit_over__next(&over, m->steps_left)))
		meet(m, e);
	m->is_too_much |= over.gave_up;
	m->steps_left -= over.step_cnt;
}

/* Ends what is valid at from_ns. Removal moves positions: each is searched again. */
static void take_addresses(struct tapir_jit_table *t, const struct meeting *m)
{
	uint64_t below_va = m->end_va;
	struct tapir_jit_pos pos;
	struct tapir_jit_over over;
	struct tapir_jit_entry *e;

	while (below_va && tapir_jit_index__floor(&t->live, below_va - 1, UINT64_MAX, &pos)) {
		e = tapir_jit_index__at(&t->live, pos);
		if (tapir_jit_entry__end_va(e) <= m->start_va)
			break;
		below_va = e->start_va;
		if (e->from_ns <= m->from_ns)
			end_live(t, pos, m->from_ns);
	}
	if (m->from_ns >= t->past_until_ns)
		return;
	over = tapir_jit_over__in(&t->past, m->start_va, m->end_va);
	while ((e = tapir_jit_over__next(&over, ADD_STEPS + MAX_CREDIT))) {
		if (e->from_ns < m->from_ns && e->until_ns > m->from_ns) {
			e->until_ns = m->from_ns;
			note_change(t, e);
		}
	}
}

static bool is_same_jit_name(const struct tapir_jit_table *t, const struct tapir_jit_entry *e,
			     const struct tapir_jit_name *n)
{
	const struct tapir_jit_text *text;

	if (e->start_va != n->start_va || e->size != n->size)
		return false;
	text = tapir_jit_table__text(t, e);
	return text->len == n->name_len && (!text->len || !memcmp(text->bytes, n->name, text->len));
}

/* 1: it can be inserted, with the values of m; 0: it adds nothing. */
static int look_around(struct tapir_jit_table *t, struct meeting *m)
{
	unsigned allowed = m->steps_left = ADD_STEPS + t->credit, used;

	register_all(&t->live, m);
	if (m->from_ns < t->past_until_ns)
		register_all(&t->past, m);
	used = allowed - m->steps_left;
	if (used > ADD_STEPS)
		t->credit -= used - ADD_STEPS;
	if (m->is_too_much)
		return -ENOSPC;
	/* A picture of the start, of what is known already: the times know better. */
	if (m->is_known || (m->meets_same && m->until_ns))
		return 0;
	/* The older one was seen to hold: it did, for a moment. */
	if (m->meets_given)
		m->from_ns++;
	return !m->until_ns || m->until_ns > m->from_ns;
}

static bool make_entry(struct tapir_jit_table *t, const struct tapir_jit_name *n,
		       struct tapir_jit_entry *e)
{
	*e = (struct tapir_jit_entry){
		.start_va = n->start_va,
		.size = (uint32_t)n->size,
		.from_ns = n->from_ns,
		.text = tapir_jit_arena__add(&t->arena, n->name, n->name_len),
	};
	if (e->text == TAPIR_JIT_NO_TEXT)
		return false;
	tapir_jit_table__text(t, e)->source = (uint8_t)n->source;
	return true;
}

/* Whatever it meets. */
static int add_slowly(struct tapir_jit_table *t, const struct tapir_jit_name *n)
{
	struct meeting m = {
		.start_va = n->start_va, .end_va = n->start_va + n->size, .from_ns = n->from_ns};
	struct tapir_jit_entry e;
	int err = look_around(t, &m);

	if (err <= 0)
		return err;
	take_addresses(t, &m);
	if (!make_entry(t, n, &e))
		return -ENOMEM;
	e.from_ns = m.from_ns;
	e.until_ns = m.until_ns;
	return (e.until_ns ? tapir_jit_table__add_past(t, &e)
			   : tapir_jit_index__insert(&t->live, &e))
		       ? 1
		       : -ENOMEM;
}

/*
 * Most names arrive in order of time, at free addresses or exactly where another began. held: the
 * last that begins before n ends, at pos; NULL: none.
 */
static int add_quickly(struct tapir_jit_table *t, const struct tapir_jit_name *n,
		       struct tapir_jit_entry *held, struct tapir_jit_pos pos)
{
	struct tapir_jit_entry e, ended;

	if (!make_entry(t, n, &e))
		return -ENOMEM;
	if (!held)
		return tapir_jit_index__insert(&t->live, &e) ? 1 : -ENOMEM;
	if (tapir_jit_entry__end_va(held) <= n->start_va)
		return tapir_jit_index__insert_after(&t->live, pos, &e) ? 1 : -ENOMEM;
	ended = *held;
	tapir_jit_index__replace(&t->live, pos, &e);
	retire(t, ended, n->from_ns);
	return 1;
}

static int mark_full(struct tapir_jit_table *t)
{
	t->is_full = true;
	return -ENOSPC;
}

static int add_entry(struct tapir_jit_table *t, const struct tapir_jit_name *n)
{
	uint64_t end_va = n->start_va + n->size;
	struct tapir_jit_entry *held = NULL;
	struct tapir_jit_pos pos = {};
	bool is_simple;

	if (!n->size || n->size > TAPIR_JIT_MAX_CODE_BYTES || end_va < n->start_va)
		return -EINVAL;
	if (n->from_ns > t->newest_ns)
		t->newest_ns = n->from_ns;
	if (tapir_jit_index__floor(&t->live, end_va - 1, UINT64_MAX, &pos))
		held = tapir_jit_index__at(&t->live, pos);
	if (held && is_same_jit_name(t, held, n))
		return 0;
	if (!tapir_jit_table__has_room(t))
		return make_jit_room(t) ? add_entry(t, n) : mark_full(t); /* places have moved */
	if (t->credit < MAX_CREDIT)
		t->credit += ADD_CREDIT;
	t->is_watch_due = true;
	is_simple = !held || tapir_jit_entry__end_va(held) <= n->start_va ||
		    (held->start_va == n->start_va && held->from_ns < n->from_ns);
	return is_simple && n->from_ns >= t->past_until_ns ? add_quickly(t, n, held, pos)
							   : add_slowly(t, n);
}

int tapir_jit_table__add(struct tapir_jit_table *t, const struct tapir_jit_name *n)
{
	struct tapir_jit_name shortened = *n;
	int err;

	if (shortened.name_len > TAPIR_JIT_MAX_NAME_BYTES)
		shortened.name_len = TAPIR_JIT_MAX_NAME_BYTES;
	err = add_entry(t, &shortened);
	t->refused += err < 0;
	return err;
}

void tapir_jit_table__expect(struct tapir_jit_table *t, uint64_t start_va, uint64_t size)
{
	tapir_jit_index__expect(&t->live, start_va + size - 1);
	tapir_jit_index__expect(&t->past, start_va);
}

int tapir_jit_table__move(struct tapir_jit_table *t, uint64_t from_va, uint64_t to_va,
			  uint64_t size, uint64_t at_ns)
{
	char name[TAPIR_JIT_MAX_NAME_BYTES];
	const struct tapir_jit_text *text;
	struct tapir_jit_entry e;
	struct tapir_jit_pos pos;

	if (!tapir_jit_index__floor(&t->live, from_va, UINT64_MAX, &pos))
		return -ENOENT;
	e = *tapir_jit_index__at(&t->live, pos);
	if (e.start_va != from_va)
		return -ENOENT;
	text = tapir_jit_table__text(t, &e);
	memcpy(name, text->bytes, text->len); /* adding may move it */
	if (at_ns < e.from_ns)
		at_ns = e.from_ns;
	end_live(t, pos, at_ns);
	return tapir_jit_table__add(t, &(struct tapir_jit_name){.start_va = to_va,
								.size = size ? size : e.size,
								.from_ns = at_ns,
								.name = name,
								.name_len = text->len,
								.source = text->source});
}
