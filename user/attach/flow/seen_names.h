/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * seen_names.h - the events that were met, matching or not, as "provider:event", each once: what
 * near misses are sought in. Bounded; one thread.
 */
#ifndef TAPIR_USER_SEEN_NAMES_H
#define TAPIR_USER_SEEN_NAMES_H

#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "trace/record.h"

struct tapir_seen_names {
	struct tapir_vec(const char *) all; /* owned */
	struct tapir_map hashes;
	size_t bytes; /* of all */
};

/*
 * Add a name, or all of another set. provider and event know their length and need no NUL. Without
 * memory, or beyond the bound (20,000), it is not kept: only near misses get worse.
 */
void tapir_seen_names__add(struct tapir_seen_names *seen, struct tapir_sv provider,
			   struct tapir_sv event);
void tapir_seen_names__add_all(struct tapir_seen_names *seen, const struct tapir_seen_names *from);
/* Frees the names. */
void tapir_seen_names__fini(struct tapir_seen_names *seen);

#endif
