/* SPDX-License-Identifier: MIT */
/*
 * coreclr_kinds.h - kinds of events: a provider's pointer, an id and a version, with the event of
 * the ring that it is. Found on an event's way, so here in full. Any thread that fires, without a
 * lock: coreclr_kinds.c says how, and when a kind is freed.
 */
#ifndef TAPIR_CORECLR_KINDS_H
#define TAPIR_CORECLR_KINDS_H

#include "../ring/ring_writer.h"
#include "coreclr_impl.h"

#define CORECLR_KIND_TABLE 32768u /* power of two, twice TAPIR_RING_EVENTS */

struct coreclr_published;

struct coreclr_kind {
	uint64_t provider; /* the runtime's pointer */
	uint32_t id, version, meta_bytes;
	uint32_t turn; /* in which it was last met; the least recent ones are removed first */
	uint64_t meta_hash;
	const uint8_t *meta; /* where the runtime keeps its description: never read */
	struct tapir_ring_event ring;
	struct coreclr_published *published;
	const char *provider_name;
	struct tapir_ring_about about;
	uint32_t bytes; /* of this, with its name */
	char name[];
};

#pragma GCC visibility push(hidden)

extern struct coreclr_kind **coreclr_kind_table; /* CORECLR_KIND_TABLE of them */
extern uint32_t coreclr_kind_turn;

/*
 * Registers the event's kind at first sight with the ring, which checks if open sessions request
 * it. NULL: there is no room for it, and that was counted.
 */
struct coreclr_kind *coreclr_kinds__on_first_event(uint64_t provider, uint32_t id, uint32_t version,
						   const uint8_t *meta, uint32_t meta_bytes);

/* Returns true if this is the kind's description, at another address than the last one. */
int coreclr_kind__has_meta(struct coreclr_kind *k, const uint8_t *meta);

#pragma GCC visibility pop

static inline uint32_t coreclr_kind__slot(uint64_t provider, uint32_t id, uint32_t version)
{
	uint64_t key = provider ^ ((uint64_t)id << 8 | version) * 0xff51afd7ed558ccdull;

	return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 40) & (CORECLR_KIND_TABLE - 1);
}

static inline int coreclr_kind__is(const struct coreclr_kind *k, uint64_t provider, uint32_t id,
				   uint32_t version, uint32_t meta_bytes)
{
	return coreclr_load(&k->provider) == provider && k->id == id && k->version == version &&
	       k->meta_bytes == meta_bytes;
}

/*
 * NULL: not known, or no longer. What is found stays for as long as the callback runs. Events that
 * are named at run time have ids of 16 bits, which come again: then descriptions differ.
 */
static inline struct coreclr_kind *coreclr_kinds__find(uint64_t provider, uint32_t id,
						       uint32_t version, const uint8_t *meta,
						       uint32_t meta_bytes)
{
	struct coreclr_kind **table = coreclr_load_acquire(&coreclr_kind_table);
	uint32_t slot = coreclr_kind__slot(provider, id, version);

	for (uint32_t i = 0; i < CORECLR_KIND_TABLE; i++) {
		struct coreclr_kind *k =
			coreclr_load_acquire(&table[(slot + i) & (CORECLR_KIND_TABLE - 1)]);

		if (!k)
			return NULL;
		if (!coreclr_kind__is(k, provider, id, version, meta_bytes))
			continue;
		if (coreclr_unlikely(coreclr_load(&k->meta) != meta) &&
		    !coreclr_kind__has_meta(k, meta))
			continue;
		if (coreclr_unlikely(coreclr_load(&k->turn) != coreclr_load(&coreclr_kind_turn)))
			coreclr_store(&k->turn, coreclr_load(&coreclr_kind_turn));
		return k;
	}
	return NULL;
}

#endif
