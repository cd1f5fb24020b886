// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A table by hash over a vector, which is made anew without unused kinds when room ends. The hash
 * has 128 bits under random seeds and decides alone: a process that could make two descriptions
 * collide could rename another's events.
 */
#include "attach/rings/ring_kinds.h"

#include <string.h>
#include <sys/random.h>

#include "base/clock.h"

#define KIND_COST_BYTES 512u /* of an id, in addition to its description */

void tapir_ring_kinds__init(struct tapir_ring_kinds *k, uint32_t first_probe_id,
			    uint32_t last_probe_id)
{
	*k = (struct tapir_ring_kinds){.next_probe_id = first_probe_id,
				       .last_probe_id = last_probe_id};
	if (getrandom(k->seeds, sizeof(k->seeds), 0) != sizeof(k->seeds))
		k->seeds[0] = k->seeds[1] = tapir_clock__now_ns();
}

void tapir_ring_kinds__fini(struct tapir_ring_kinds *k)
{
	tapir_keyed__fini(&k->all);
}

static uint64_t ring_kind_hash(uint64_t seed, const struct tapir_rec_probe *probe, const void *more,
			       size_t more_bytes)
{
	struct tapir_rec_probe head = *probe;
	size_t rest = head.h.size - sizeof(head);

	/* Processes that describe the same event differ in these. */
	head.h.time_ns = head.probe_id = 0;
	seed = tapir_hash__bytes(seed, &head, sizeof(head));
	seed = tapir_hash__bytes(tapir_hash__mix(seed, rest), probe + 1, rest);
	return tapir_hash__bytes(tapir_hash__mix(seed, more_bytes), more, more_bytes);
}

static uint32_t next_id(struct tapir_ring_kinds *k)
{
	return k->next_probe_id <= k->last_probe_id ? k->next_probe_id++ : 0;
}

/* Removes kinds that no process uses. */
static void drop_unused(struct tapir_ring_kinds *k)
{
	size_t cnt = k->all.cnt;

	tapir_keyed__clear(&k->all);
	for (size_t i = 0; i < cnt; i++) {
		struct tapir_ring_kind kind = k->all.data[i]; /* kept: no later than it was */

		if (!kind.ref_cnt || !tapir_keyed__add(&k->all, kind.hash, SIZE_MAX, kind))
			k->cost_bytes -= kind.cost_bytes;
	}
	k->unused_cnt = 0;
}

static uint32_t add_kind(struct tapir_ring_kinds *k, struct tapir_ring_kind kind)
{
	if (k->cost_bytes + kind.cost_bytes > TAPIR_RING_KINDS_MAX_BYTES && k->unused_cnt)
		drop_unused(k);
	if (k->cost_bytes + kind.cost_bytes > TAPIR_RING_KINDS_MAX_BYTES)
		return 0;
	kind.probe_id = next_id(k);
	if (!kind.probe_id || !tapir_keyed__add(&k->all, kind.hash, SIZE_MAX, kind))
		return 0;
	k->cost_bytes += kind.cost_bytes;
	return kind.probe_id;
}

uint32_t tapir_ring_kinds__use(struct tapir_ring_kinds *k, const struct tapir_rec_probe *probe,
			       const void *more, size_t more_bytes, uint64_t *hash, bool *is_new)
{
	struct tapir_ring_kind kind = {
		.hash = ring_kind_hash(k->seeds[0], probe, more, more_bytes),
		.check = ring_kind_hash(k->seeds[1], probe, more, more_bytes),
		.ref_cnt = 1,
		.cost_bytes = KIND_COST_BYTES + probe->h.size + (uint32_t)more_bytes,
	};
	struct tapir_ring_kind *known = tapir_keyed__get(&k->all, kind.hash);

	*hash = kind.hash;
	*is_new = !known;
	if (!known)
		return add_kind(k, kind);
	if (known->check != kind.check)
		return 0;
	k->unused_cnt -= !known->ref_cnt++;
	return known->probe_id;
}

void tapir_ring_kinds__drop(struct tapir_ring_kinds *k, uint64_t hash)
{
	struct tapir_ring_kind *known = tapir_keyed__get(&k->all, hash);

	if (known && known->ref_cnt)
		k->unused_cnt += !--known->ref_cnt;
}
