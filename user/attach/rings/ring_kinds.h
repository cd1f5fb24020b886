/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_kinds.h - kinds of events that ring lanes, or streams, describe: processes that describe the
 * same event share its id in the recording. So a recording that sees a program start a thousand
 * times knows its events once. One thread at a time.
 *
 * Descriptions are known by a hash of 128 bits under seeds that no process knows. A kind without a
 * user is kept while there is room: the next process of the program finds it.
 */
#ifndef TAPIR_USER_RING_KINDS_H
#define TAPIR_USER_RING_KINDS_H

#include "base/keyed.h"
#include "tapir/abi.h"

#define TAPIR_RING_KINDS_MAX_BYTES (128u << 20) /* that descriptions may take */

struct tapir_ring_kind {
	uint64_t hash, check;
	uint32_t probe_id, ref_cnt, cost_bytes;
};

struct tapir_ring_kinds {
	uint64_t seeds[2];
	struct tapir_keyed(struct tapir_ring_kind) all; /* by hash */
	uint64_t cost_bytes;
	size_t unused_cnt;
	uint32_t next_probe_id, last_probe_id;
};

/* Ids are given in order from first_probe_id on, none twice. __fini frees the descriptions. */
void tapir_ring_kinds__init(struct tapir_ring_kinds *k, uint32_t first_probe_id,
			    uint32_t last_probe_id);
void tapir_ring_kinds__fini(struct tapir_ring_kinds *k);

/*
 * Finds the kind described by bytes at rec, a PROBE record and what follows it, whose probe_id and
 * time are not compared, and adds a user. Returns its id, 0: no room; *is_new: it was not described
 * before. *hash is for __drop, which removes the user.
 */
uint32_t tapir_ring_kinds__use(struct tapir_ring_kinds *k, const struct tapir_rec_probe *probe,
			       const void *more, size_t more_bytes, uint64_t *hash, bool *is_new);
void tapir_ring_kinds__drop(struct tapir_ring_kinds *k, uint64_t hash);

#endif
