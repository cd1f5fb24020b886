// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The lookup: one hash table over all hints, built at the first question under pthread_once, never
 * changed afterwards.
 */
#include "decode/usdt_hints.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#define SLOT_CNT 2048u /* a power of two, more than twice the number of hints */

static const struct tapir_hint *slots[SLOT_CNT];
static pthread_once_t slots_once = PTHREAD_ONCE_INIT;

/* FNV-1a; the NUL is hashed too, so that "ab" "c" is not "a" "bc". */
static uint32_t hash_text(uint32_t hash, const char *text)
{
	do
		hash = (hash ^ (uint8_t)*text) * 16777619u;
	while (*text++);
	return hash;
}

/* The first slot of the search for these names: the slot of a match, or a free one, follows. */
static unsigned first_slot(const char *provider, const char *event)
{
	return hash_text(hash_text(2166136261u, provider), event) % SLOT_CNT;
}

static void fill_slots(void)
{
	const struct tapir_hint *hint;

	for (size_t cnt = 0; (hint = tapir_usdt_hint__at(cnt)); cnt++) {
		unsigned slot = first_slot(hint->provider, hint->event);

		assert(cnt < SLOT_CNT / 2);
		while (slots[slot])
			slot = (slot + 1) % SLOT_CNT;
		slots[slot] = hint;
	}
}

const struct tapir_hint *tapir_usdt_hint__find(const char *provider, const char *event,
					       unsigned arg_cnt)
{
	const struct tapir_hint *hint;

	pthread_once(&slots_once, fill_slots);
	for (unsigned slot = first_slot(provider, event); (hint = slots[slot]);
	     slot = (slot + 1) % SLOT_CNT)
		if (hint->arg_cnt == arg_cnt && !strcmp(hint->event, event) &&
		    !strcmp(hint->provider, provider))
			return hint;
	return NULL;
}

const struct tapir_hint *tapir_usdt_hint__at(size_t idx)
{
	tapir_lore_for_each (lore)
		for (unsigned t = 0; t < 2 && lore->hints[t]; t++) {
			if (idx < lore->hints[t]->cnt)
				return &lore->hints[t]->hints[idx];
			idx -= lore->hints[t]->cnt;
		}
	return NULL;
}
