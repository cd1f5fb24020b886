// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two maps: from a waiting thread to its owner's number, and from a number to a thread. A runtime
 * numbers its threads itself, and the two facts come from different records.
 */
#include "analyze/monitor_owners.h"

#include <errno.h>

static uint64_t monitor_key(uint32_t tgid, uint64_t number)
{
	return tapir_hash__mix(tapir_hash__mix(7, tgid), number);
}

static int set_in_map(struct tapir_map *map, uint64_t key, uint64_t value)
{
	uint64_t *slot = tapir_map__put(map, key, NULL);

	if (!slot)
		return -ENOMEM;
	*slot = value;
	return 0;
}

/* 0 stands for "not known": neither a thread nor an owner has that number. */
static uint64_t get_number(const struct tapir_map *map, uint64_t key)
{
	const uint64_t *value = tapir_map__get(map, key);

	return value ? *value : 0;
}

int tapir_monitor_owners__set(struct tapir_monitor_owners *m, uint32_t tid, uint64_t owner)
{
	return set_in_map(&m->owner_by_tid, tid, owner);
}

uint64_t tapir_monitor_owners__of(const struct tapir_monitor_owners *m, uint32_t tid)
{
	return get_number(&m->owner_by_tid, tid);
}

int tapir_monitor_owners__number(struct tapir_monitor_owners *m, uint32_t tgid, uint64_t number,
				 uint32_t tid)
{
	return set_in_map(&m->tid_by_number, monitor_key(tgid, number), tid);
}

uint32_t tapir_monitor_owners__thread(const struct tapir_monitor_owners *m, uint32_t tgid,
				      uint64_t number)
{
	return (uint32_t)get_number(&m->tid_by_number, monitor_key(tgid, number));
}

void tapir_monitor_owners__fini(struct tapir_monitor_owners *m)
{
	tapir_map__fini(&m->owner_by_tid);
	tapir_map__fini(&m->tid_by_number);
}
