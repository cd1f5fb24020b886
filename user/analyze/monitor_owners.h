/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * monitor_owners.h - who holds the monitors for which threads wait, by events that say so where a
 * wait begins and name the owner as its process numbers it (.NET's ContentionStart). One thread.
 */
#ifndef TAPIR_USER_MONITOR_OWNERS_H
#define TAPIR_USER_MONITOR_OWNERS_H

#include <stdint.h>

#include "base/map.h"

struct tapir_monitor_owners { /* zeroed at first */
	struct tapir_map owner_by_tid, tid_by_number;
};

/* A thread begins to wait; owner 0: it has the monitor, or its owner is unknown. 0 or -ENOMEM. */
int tapir_monitor_owners__set(struct tapir_monitor_owners *m, uint32_t tid, uint64_t owner);
/* Returns the number of the thread that owns what this one waits for now; 0: none. */
uint64_t tapir_monitor_owners__of(const struct tapir_monitor_owners *m, uint32_t tid);

/* Notes the number that a process has for a thread. 0 or -ENOMEM. */
int tapir_monitor_owners__number(struct tapir_monitor_owners *m, uint32_t tgid, uint64_t number,
				 uint32_t tid);
/* Returns the thread that a process gives this number; 0: none. */
uint32_t tapir_monitor_owners__thread(const struct tapir_monitor_owners *m, uint32_t tgid,
				      uint64_t number);

/* Frees both maps. */
void tapir_monitor_owners__fini(struct tapir_monitor_owners *m);

#endif
