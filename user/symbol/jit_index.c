// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two levels. A leaf grows in small steps, so that half of it is not wasted after a split; one
 * that is full and appended to stays full, since snapshots come in the order of addresses.
 */
#include "symbol/jit_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LEAF_MAX   64
#define LEAF_STEP  8
#define FETCH_STEP 2  /* entries in a cache line */
#define LEAF_FEW   12 /* a leaf with fewer is put together with its neighbour */

struct tapir_jit_leaf {
	uint16_t cnt, cap;
	struct tapir_jit_entry entries[];
};

static size_t leaf_bytes(unsigned cap)
{
	return sizeof(struct tapir_jit_leaf) + cap * sizeof(struct tapir_jit_entry);
}

/* leaf NULL: a new one. NULL: out of memory, leaf is as it was. */
static struct tapir_jit_leaf *leaf_with_room(struct tapir_jit_index *ix,
					     struct tapir_jit_leaf *leaf, unsigned cnt)
{
	unsigned cap = (cnt + LEAF_STEP - 1) / LEAF_STEP * LEAF_STEP;
	struct tapir_jit_leaf *grown;

	if (leaf && leaf->cap >= cnt)
		return leaf;
	grown = realloc(leaf, leaf_bytes(cap));
	if (!grown)
		return NULL;
	ix->bytes += leaf_bytes(cap) - (leaf ? leaf_bytes(grown->cap) : 0);
	if (!leaf)
		grown->cnt = 0;
	grown->cap = (uint16_t)cap;
	return grown;
}

static void leaf_free(struct tapir_jit_index *ix, struct tapir_jit_leaf *leaf)
{
	ix->bytes -= leaf_bytes(leaf->cap);
	free(leaf);
}

void tapir_jit_index__fini(struct tapir_jit_index *ix)
{
	for (size_t i = 0; i < ix->slot_cnt; i++)
		free(ix->slots[i].leaf);
	free(ix->slots);
	free(ix->first_vas);
	memset(ix, 0, sizeof(*ix));
}

struct tapir_jit_entry *tapir_jit_index__at(const struct tapir_jit_index *ix,
					    struct tapir_jit_pos pos)
{
	return &ix->slots[pos.slot].leaf->entries[pos.idx];
}

/* ---- searching -------------------------------------------------------------------------- */

static bool is_after(uint64_t va, uint64_t ns, uint64_t than_va, uint64_t than_ns)
{
	return va != than_va ? va > than_va : ns > than_ns;
}

static bool slot_is_after(const struct tapir_jit_index *ix, size_t slot, uint64_t va, uint64_t ns)
{
	return slot >= ix->slot_cnt ||
	       is_after(ix->first_vas[slot], ix->slots[slot].first_ns, va, ns);
}

/* The number of slots that do not begin after (va, ns). */
static size_t slots_before(const struct tapir_jit_index *ix, uint64_t va, uint64_t ns)
{
	size_t low = 0, high = ix->slot_cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (slot_is_after(ix, mid, va, ns))
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* The last slot that does not begin after va, without a branch to be mispredicted; or the first. */
static size_t slot_by_va(const struct tapir_jit_index *ix, uint64_t va)
{
	const uint64_t *base = ix->first_vas;

	for (size_t len = ix->slot_cnt; len > 1; len -= len / 2)
		base = base[len / 2] <= va ? base + len / 2 : base;
	return (size_t)(base - ix->first_vas);
}

/* The last slot that does not begin after (va, ns); the first, if all do. */
static size_t slot_of(struct tapir_jit_index *ix, uint64_t va, uint64_t ns)
{
	uint32_t *hint = &ix->hints[va * 0x9e3779b97f4a7c15ull >> 58];
	size_t slot = *hint;

	if (slot < ix->slot_cnt && !slot_is_after(ix, slot, va, ns) &&
	    slot_is_after(ix, slot + 1, va, ns))
		return slot;
	slot = slot_by_va(ix, va);
	/* Names that begin at one address fill more than a leaf: their times decide. */
	if (slot && slot_is_after(ix, slot, va, ns)) {
		slot = slots_before(ix, va, ns);
		slot -= slot > 0;
	}
	*hint = (uint32_t)slot;
	return slot;
}

/* The number of entries of the leaf that are not after (va, ns). */
static unsigned rank_in(const struct tapir_jit_leaf *leaf, uint64_t va, uint64_t ns)
{
	unsigned low = 0, high = leaf->cnt;

	while (low < high) {
		unsigned mid = (low + high) / 2;
		const struct tapir_jit_entry *e = &leaf->entries[mid];

		if (is_after(e->start_va, e->from_ns, va, ns))
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

bool tapir_jit_index__floor(struct tapir_jit_index *ix, uint64_t va, uint64_t ns,
			    struct tapir_jit_pos *pos)
{
	unsigned rank;
	size_t slot;

	if (!ix->slot_cnt)
		return false;
	slot = slot_of(ix, va, ns);
	rank = rank_in(ix->slots[slot].leaf, va, ns);
	if (!rank)
		return false;
	*pos = (struct tapir_jit_pos){slot, rank - 1};
	return true;
}

void tapir_jit_index__expect(struct tapir_jit_index *ix, uint64_t va)
{
	const struct tapir_jit_leaf *leaf;

	if (!ix->slot_cnt)
		return;
	leaf = ix->slots[slot_of(ix, va, UINT64_MAX)].leaf;
	for (unsigned i = 0; i < LEAF_MAX; i += FETCH_STEP)
		__builtin_prefetch(&leaf->entries[i]);
}

bool tapir_jit_index__next(const struct tapir_jit_index *ix, struct tapir_jit_pos *pos)
{
	if (pos->idx + 1 < ix->slots[pos->slot].leaf->cnt) {
		pos->idx++;
		return true;
	}
	*pos = (struct tapir_jit_pos){pos->slot + 1, 0};
	return pos->slot < ix->slot_cnt;
}

/* ---- changing --------------------------------------------------------------------------- */

static void refresh(struct tapir_jit_index *ix, size_t slot_idx)
{
	struct tapir_jit_slot *slot = &ix->slots[slot_idx];
	const struct tapir_jit_leaf *leaf = slot->leaf;

	ix->first_vas[slot_idx] = leaf->entries[0].start_va;
	slot->first_ns = leaf->entries[0].from_ns;
	slot->max_end_va = 0;
	for (unsigned i = 0; i < leaf->cnt; i++) {
		uint64_t end_va = tapir_jit_entry__end_va(&leaf->entries[i]);

		if (end_va > slot->max_end_va)
			slot->max_end_va = end_va;
	}
}

static bool grow_slots(struct tapir_jit_index *ix)
{
	size_t cap = ix->slot_cap ? ix->slot_cap * 2 : 8;
	struct tapir_jit_slot *slots = reallocarray(ix->slots, cap, sizeof(*slots));
	uint64_t *first_vas;

	if (!slots)
		return false;
	ix->slots = slots;
	first_vas = reallocarray(ix->first_vas, cap, sizeof(*first_vas));
	if (!first_vas)
		return false;
	ix->first_vas = first_vas;
	ix->bytes += (cap - ix->slot_cap) * (sizeof(*slots) + sizeof(*first_vas));
	ix->slot_cap = cap;
	return true;
}

/* Moves the entries from `from` on to `to`. */
static void move_slots(struct tapir_jit_index *ix, size_t to, size_t from)
{
	memmove(&ix->slots[to], &ix->slots[from], (ix->slot_cnt - from) * sizeof(*ix->slots));
	memmove(&ix->first_vas[to], &ix->first_vas[from],
		(ix->slot_cnt - from) * sizeof(*ix->first_vas));
}

static bool add_slot(struct tapir_jit_index *ix, size_t at, struct tapir_jit_leaf *leaf)
{
	if (ix->slot_cnt == ix->slot_cap && !grow_slots(ix))
		return false;
	move_slots(ix, at + 1, at);
	ix->slots[at].leaf = leaf;
	ix->slot_cnt++;
	refresh(ix, at);
	return true;
}

static void drop_slot(struct tapir_jit_index *ix, size_t at)
{
	leaf_free(ix, ix->slots[at].leaf);
	move_slots(ix, at, at + 1);
	ix->slot_cnt--;
}

/* A leaf of its own for the entries from idx on, and for one more that may follow. */
static bool split_leaf(struct tapir_jit_index *ix, size_t slot, unsigned idx)
{
	struct tapir_jit_leaf *left = ix->slots[slot].leaf, *right;
	unsigned moved = left->cnt - idx;

	right = leaf_with_room(ix, NULL, moved + 1);
	if (!right)
		return false;
	memcpy(right->entries, &left->entries[idx], moved * sizeof(right->entries[0]));
	right->cnt = (uint16_t)moved;
	if (!add_slot(ix, slot + 1, right)) {
		leaf_free(ix, right);
		return false;
	}
	left->cnt = (uint16_t)idx;
	refresh(ix, slot);
	return true;
}

static bool insert_first(struct tapir_jit_index *ix, size_t at, const struct tapir_jit_entry *e)
{
	struct tapir_jit_leaf *leaf = leaf_with_room(ix, NULL, 1);

	if (!leaf)
		return false;
	leaf->entries[0] = *e;
	leaf->cnt = 1;
	if (!add_slot(ix, at, leaf)) {
		leaf_free(ix, leaf);
		return false;
	}
	return true;
}

static bool insert_in(struct tapir_jit_index *ix, size_t slot_idx, unsigned rank,
		      const struct tapir_jit_entry *e)
{
	struct tapir_jit_slot *slot = &ix->slots[slot_idx];
	struct tapir_jit_leaf *leaf = leaf_with_room(ix, slot->leaf, slot->leaf->cnt + 1u);

	if (!leaf)
		return false;
	slot->leaf = leaf;
	memmove(&leaf->entries[rank + 1], &leaf->entries[rank],
		(leaf->cnt - rank) * sizeof(leaf->entries[0]));
	leaf->entries[rank] = *e;
	leaf->cnt++;
	if (!rank) {
		ix->first_vas[slot_idx] = e->start_va;
		slot->first_ns = e->from_ns;
	}
	if (tapir_jit_entry__end_va(e) > slot->max_end_va)
		slot->max_end_va = tapir_jit_entry__end_va(e);
	return true;
}

static bool insert_at(struct tapir_jit_index *ix, size_t slot, unsigned rank,
		      const struct tapir_jit_entry *e)
{
	if (ix->slots[slot].leaf->cnt == LEAF_MAX) {
		if (rank == LEAF_MAX)
			return insert_first(ix, slot + 1, e);
		if (!split_leaf(ix, slot, LEAF_MAX / 2))
			return false;
		if (rank > LEAF_MAX / 2) {
			rank -= LEAF_MAX / 2;
			slot++;
		}
	}
	return insert_in(ix, slot, rank, e);
}

static bool count_in(struct tapir_jit_index *ix, const struct tapir_jit_entry *e, bool is_in)
{
	if (!is_in)
		return false;
	ix->cnt++;
	if (e->size > ix->max_size)
		ix->max_size = e->size;
	return true;
}

bool tapir_jit_index__insert(struct tapir_jit_index *ix, const struct tapir_jit_entry *e)
{
	size_t slot;

	if (!ix->slot_cnt)
		return count_in(ix, e, insert_first(ix, 0, e));
	slot = slot_of(ix, e->start_va, e->from_ns);
	return count_in(
		ix, e,
		insert_at(ix, slot, rank_in(ix->slots[slot].leaf, e->start_va, e->from_ns), e));
}

bool tapir_jit_index__insert_after(struct tapir_jit_index *ix, struct tapir_jit_pos pos,
				   const struct tapir_jit_entry *e)
{
	return count_in(ix, e, insert_at(ix, pos.slot, pos.idx + 1, e));
}

void tapir_jit_index__replace(struct tapir_jit_index *ix, struct tapir_jit_pos pos,
			      const struct tapir_jit_entry *e)
{
	struct tapir_jit_slot *slot = &ix->slots[pos.slot];
	struct tapir_jit_entry *at = tapir_jit_index__at(ix, pos);
	bool was_last = tapir_jit_entry__end_va(at) == slot->max_end_va;

	assert(at->start_va == e->start_va);
	*at = *e;
	if (e->size > ix->max_size)
		ix->max_size = e->size;
	if (tapir_jit_entry__end_va(e) > slot->max_end_va)
		slot->max_end_va = tapir_jit_entry__end_va(e);
	else if (was_last)
		refresh(ix, pos.slot);
	if (!pos.idx)
		slot->first_ns = e->from_ns;
}

/* Leaves with few entries would cost more than their entries. */
static void join_with_next(struct tapir_jit_index *ix, size_t slot)
{
	struct tapir_jit_leaf *left, *right;
	unsigned cnt;

	if (slot + 1 >= ix->slot_cnt)
		return;
	right = ix->slots[slot + 1].leaf;
	cnt = ix->slots[slot].leaf->cnt + right->cnt;
	if (cnt > LEAF_MAX / 2)
		return;
	left = leaf_with_room(ix, ix->slots[slot].leaf, cnt);
	if (!left)
		return;
	ix->slots[slot].leaf = left;
	memcpy(&left->entries[left->cnt], right->entries, right->cnt * sizeof(left->entries[0]));
	left->cnt = (uint16_t)cnt;
	drop_slot(ix, slot + 1);
	refresh(ix, slot);
}

void tapir_jit_index__remove(struct tapir_jit_index *ix, struct tapir_jit_pos pos)
{
	struct tapir_jit_slot *slot = &ix->slots[pos.slot];
	struct tapir_jit_leaf *leaf = slot->leaf;
	uint64_t end_va = tapir_jit_entry__end_va(&leaf->entries[pos.idx]);

	assert(pos.idx < leaf->cnt);
	ix->cnt--;
	leaf->cnt--;
	memmove(&leaf->entries[pos.idx], &leaf->entries[pos.idx + 1],
		(leaf->cnt - pos.idx) * sizeof(leaf->entries[0]));
	if (!leaf->cnt) {
		drop_slot(ix, pos.slot);
		return;
	}
	if (!pos.idx || end_va == slot->max_end_va)
		refresh(ix, pos.slot);
	if (leaf->cnt < LEAF_FEW)
		join_with_next(ix, pos.slot);
}

void tapir_jit_index__set_from(struct tapir_jit_index *ix, struct tapir_jit_pos pos,
			       uint64_t from_ns)
{
	tapir_jit_index__at(ix, pos)->from_ns = from_ns;
	if (!pos.idx)
		ix->slots[pos.slot].first_ns = from_ns;
}

/* ---- what overlaps ---------------------------------------------------------------------- */

struct tapir_jit_over tapir_jit_over__in(struct tapir_jit_index *ix, uint64_t start_va,
					 uint64_t end_va)
{
	struct tapir_jit_over over = {.ix = ix, .start_va = start_va, .is_first = true};

	over.is_at_end = !tapir_jit_index__floor(ix, end_va - 1, UINT64_MAX, &over.pos);
	return over;
}

/* One step back; whole leaves that end before start_va are stepped over. */
static bool step_back(struct tapir_jit_over *over)
{
	const struct tapir_jit_slot *slots = over->ix->slots;
	struct tapir_jit_pos *pos = &over->pos;

	if (pos->idx && slots[pos->slot].max_end_va > over->start_va) {
		pos->idx--;
		return true;
	}
	if (!pos->slot)
		return false;
	pos->slot--;
	pos->idx = slots[pos->slot].leaf->cnt - 1u;
	return true;
}

struct tapir_jit_entry *tapir_jit_over__next(struct tapir_jit_over *over, unsigned max_steps)
{
	while (!over->is_at_end) {
		struct tapir_jit_entry *e;

		over->gave_up = over->step_cnt >= max_steps;
		if (over->gave_up)
			break;
		if (!over->is_first && !step_back(over))
			break;
		over->is_first = false;
		over->step_cnt++;
		e = tapir_jit_index__at(over->ix, over->pos);
		if (tapir_jit_entry__end_va(e) > over->start_va)
			return e;
		/* Nothing that starts so far before reaches it. */
		if (over->ix->is_disjoint || over->start_va - e->start_va >= over->ix->max_size)
			break;
	}
	over->is_at_end = true;
	return NULL;
}
