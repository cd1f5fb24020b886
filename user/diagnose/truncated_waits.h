/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * truncated_waits.h - waits whose stacks lack the callers that would tell for what: interpreted
 * methods without names, compiled ones without frame pointers, files whose unwind tables were not
 * there yet. Where a thread waited through the same function, and at the same address if that is
 * known, for one thing only, as far as its stacks tell, it waited for that. Bounded. One thread.
 */
#ifndef TAPIR_USER_TRUNCATED_WAITS_H
#define TAPIR_USER_TRUNCATED_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/keyed.h"

struct tapir_finding;
struct tapir_lore_wait;
struct tapir_wait;

/* Waits of a thread for one reason, cut ones apart. */
struct tapir_truncated_wait {
	const struct tapir_lore_wait *wait;
	uint32_t tid, node; /* node: of any */
	bool is_truncated;
	uint64_t futex; /* its address, less its lowest bits; 0: not known, or there are many */
	unsigned depth; /* rows of the thread, with this one */
	uint64_t ns, cnt;
	size_t next; /* of the same thread: idx + 1; 0: none */
};

struct tapir_truncated_waits {
	struct tapir_keyed(struct tapir_truncated_wait) rows;
	struct tapir_map first_by_tid;
};

/* Adds a wait; wait: what the stack says about it. */
void tapir_truncated_waits__add(struct tapir_finding *f, const struct tapir_wait *w,
				const struct tapir_lore_wait *wait);
/*
 * Returns the part with truncated stacks, *cnt waits, of the time ns that a thread waited for that
 * reason.
 */
uint64_t tapir_truncated_waits__of(const struct tapir_finding *f, uint32_t tid, const char *reason,
				   uint64_t ns, uint64_t *cnt);
void tapir_truncated_waits__fini(struct tapir_finding *f);

#endif
