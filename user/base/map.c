// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Linear probing in a power of two of slots, at most three quarters full. Keys are mixed before
 * use: most are addresses or ids, whose low bits repeat.
 */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

void tapir_map__fini(struct tapir_map *m)
{
	free(m->slots);
	*m = (struct tapir_map){};
}

void tapir_map__clear(struct tapir_map *m)
{
	if (m->cnt)
		memset(m->slots, 0, m->cap * sizeof(*m->slots));
	m->cnt = 0;
}

static size_t home(const struct tapir_map *m, uint64_t key)
{
	return (size_t)tapir_hash__mix(0, key) & (m->cap - 1);
}

/* The key's slot or the free one where it belongs. cap > 0. */
static struct tapir_map_slot *find_slot(const struct tapir_map *m, uint64_t key)
{
	size_t i = home(m, key);

	while (m->slots[i].used && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

static bool grow_map(struct tapir_map *m)
{
	struct tapir_map bigger = {.cap = m->cap ? m->cap * 2 : 16, .cnt = m->cnt};

	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].used)
			*find_slot(&bigger, m->slots[i].key) = m->slots[i];
	free(m->slots);
	*m = bigger;
	return true;
}

uint64_t *tapir_map__get(const struct tapir_map *m, uint64_t key)
{
	struct tapir_map_slot *slot = m->cap ? find_slot(m, key) : NULL;

	return slot && slot->used ? &slot->value : NULL;
}

uint64_t *tapir_map__put(struct tapir_map *m, uint64_t key, bool *is_new)
{
	struct tapir_map_slot *slot;

	if ((m->cnt + 1) * 4 > m->cap * 3 && !grow_map(m))
		return NULL;
	slot = find_slot(m, key);
	if (is_new)
		*is_new = !slot->used;
	if (!slot->used) {
		*slot = (struct tapir_map_slot){.key = key, .used = true};
		m->cnt++;
	}
	return &slot->value;
}

bool tapir_map__del(struct tapir_map *m, uint64_t key)
{
	struct tapir_map_slot *slot = m->cap ? find_slot(m, key) : NULL;
	size_t hole, i;

	if (!slot || !slot->used)
		return false;
	hole = i = (size_t)(slot - m->slots);
	m->cnt--;
	for (;;) {
		size_t want;

		i = (i + 1) & (m->cap - 1);
		if (!m->slots[i].used)
			break;
		want = home(m, m->slots[i].key);
		/* Stays if its home is cyclically in (hole, i]. */
		if (hole <= i ? (want > hole && want <= i) : (want > hole || want <= i))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->slots[hole].used = false;
	return true;
}

uint64_t tapir_hash__bytes(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t word;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		hash = tapir_hash__mix(hash, word);
	}
	word = len;
	if (len) /* data may be NULL if len is 0 */
		memcpy((char *)&word + 1, p, len);
	return tapir_hash__mix(hash, word);
}
