// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An array sorted by address, without overlaps. Generated code grows piece by piece, so pieces that
 * touch are joined: the kernel's list for a process is short.
 */
#include "record/unwind_mappings.h"

#include <string.h>

#define MAX_MAPPINGS (TAPIR_UNWIND_SPACE_BLOCKS * TAPIR_UNWIND_SPACE_MAPPINGS)

static bool is_same_mapping(const struct tapir_unwind_mapping *a,
			    const struct tapir_unwind_mapping *b)
{
	return a->kind == b->kind && a->file_idx == b->file_idx && a->bias == b->bias;
}

/* Generated code grows piece by piece: pieces that touch are one. */
static bool can_join(const struct tapir_unwind_mapping *a, const struct tapir_unwind_mapping *b)
{
	return a->end_va == b->start_va && is_same_mapping(a, b);
}

static bool insert_at(struct tapir_unwind_mappings *mappings, size_t at,
		      const struct tapir_space_mapping *new)
{
	if (mappings->cnt >= MAX_MAPPINGS || !tapir_vec__add(mappings))
		return false;
	memmove(&mappings->data[at + 1], &mappings->data[at],
		(mappings->cnt - 1 - at) * sizeof(*new));
	mappings->data[at] = *new;
	return true;
}

static void remove_at(struct tapir_unwind_mappings *mappings, size_t at, size_t cnt)
{
	memmove(&mappings->data[at], &mappings->data[at + cnt],
		(mappings->cnt - at - cnt) * sizeof(*mappings->data));
	mappings->cnt -= cnt;
}

/* Takes [start, end) out of what is there; the index where it belongs. */
static size_t make_hole(struct tapir_unwind_mappings *mappings, uint64_t start, uint64_t end)
{
	size_t at = tapir_sorted__upper_bound(mappings->data, mappings->cnt, m.start_va, start);
	struct tapir_space_mapping *before = at ? &mappings->data[at - 1] : NULL, rest;
	size_t cnt = 0;

	if (before && before->m.end_va > start) {
		rest = *before;
		before->m.end_va = start;
		rest.m.start_va = end;
		if (rest.m.end_va > end)
			(void)insert_at(mappings, at, &rest);
		if (mappings->data[at - 1].m.start_va == start)
			remove_at(mappings, --at, 1);
	}
	while (at + cnt < mappings->cnt && mappings->data[at + cnt].m.end_va <= end)
		cnt++;
	if (cnt)
		remove_at(mappings, at, cnt);
	if (at < mappings->cnt && mappings->data[at].m.start_va < end)
		mappings->data[at].m.start_va = end;
	return at;
}

/* ---- too many of them -------------------------------------------------------------------------- */

/* Puts a file into a set, which has a bit for each; returns true if it was in it. */
static bool was_in_set(uint64_t *files, uint32_t file_idx)
{
	uint64_t bit = 1ull << (file_idx % 64);
	bool was_in = files[file_idx / 64] & bit;

	files[file_idx / 64] |= bit;
	return was_in;
}

/*
 * Returns the smallest mapping that is missed less than the new one: of no file, or of one of which
 * there is another before it; and smaller, unless the new one is the first of its file. -1: none.
 */
static ptrdiff_t find_least(const struct tapir_unwind_mappings *mappings,
			    const struct tapir_unwind_mapping *new)
{
	uint64_t files[TAPIR_UNWIND_FILES / 64] = {}, least_bytes = new->end_va - new->start_va;
	bool is_first = new->file_idx < TAPIR_UNWIND_FILES;
	ptrdiff_t least = -1;

	for (size_t i = 0; i < mappings->cnt && is_first; i++)
		is_first = mappings->data[i].m.file_idx != new->file_idx;
	if (is_first)
		least_bytes = UINT64_MAX;
	for (size_t i = 0; i < mappings->cnt; i++) {
		const struct tapir_unwind_mapping *m = &mappings->data[i].m;
		uint64_t bytes = m->end_va - m->start_va;

		if ((m->file_idx < TAPIR_UNWIND_FILES && !was_in_set(files, m->file_idx)) ||
		    bytes >= least_bytes)
			continue;
		least = (ptrdiff_t)i;
		least_bytes = bytes;
	}
	return least;
}

bool tapir_unwind_mappings__make_room(struct tapir_unwind_mappings *mappings,
				      const struct tapir_unwind_mapping *new)
{
	ptrdiff_t least = find_least(mappings, new);

	if (mappings->cnt < MAX_MAPPINGS || least < 0)
		return false;
	remove_at(mappings, (size_t)least, 1);
	return true;
}

/* ---- one more ---------------------------------------------------------------------------------- */

bool tapir_unwind_mappings__have(const struct tapir_unwind_mappings *mappings,
				 const struct tapir_unwind_mapping *m)
{
	size_t at =
		tapir_sorted__upper_bound(mappings->data, mappings->cnt, m.start_va, m->start_va);
	const struct tapir_unwind_mapping *there = at ? &mappings->data[at - 1].m : NULL;

	return there && there->end_va >= m->end_va && is_same_mapping(there, m);
}

bool tapir_unwind_mappings__add(struct tapir_unwind_mappings *mappings,
				const struct tapir_space_mapping *new)
{
	size_t at = make_hole(mappings, new->m.start_va, new->m.end_va);
	struct tapir_space_mapping *data = mappings->data;

	if (at && can_join(&data[at - 1].m, &new->m)) {
		data[at - 1].m.end_va = new->m.end_va;
		if (at < mappings->cnt && can_join(&data[at - 1].m, &data[at].m)) {
			data[at - 1].m.end_va = data[at].m.end_va;
			remove_at(mappings, at, 1);
		}
		return true;
	}
	if (at < mappings->cnt && can_join(&new->m, &data[at].m)) {
		data[at].m.start_va = new->m.start_va;
		return true;
	}
	return insert_at(mappings, at, new);
}
