/* SPDX-License-Identifier: MIT */
/*
 * coreclr_events.c - from the runtime's callback to the ring. An event is known by its provider's
 * pointer, its id and its version; at first sight it is registered with the ring, which asks open
 * sessions whether they want it. The table has no lock: a thread that loses the race to put an
 * event drops its own.
 *
 * It is also the probe lane: a site that any USDT tool can attach to, fired for what is selected.
 *	tapir_coreclr:event(u32 sessions, char *provider, u32 id, void *payload, u32 bytes,
 *		u64 keywords, u32 level, u32 version, void *activity, void *related,
 *		void *metadata, u32 bytes)
 * sessions: a bit for each session of the lane; ids: 16 bytes or NULL; metadata: the blob. The
 * first six are what bpftrace can read.
 */
#include <string.h>

#include "../ring/ring_writer.h"
#include "coreclr_publish.h"
#include "tapir/usdt.h"

#define TABLE_CNT     32768u /* power of two, twice TAPIR_RING_EVENTS */
#define EVENT_BYTES   256u   /* of an event's name */
#define GONE_PROVIDER 1u     /* no pointer */

struct event {
	uint64_t provider; /* the runtime's pointer */
	uint32_t id, version, meta_bytes, pad0;
	uint64_t meta_hash;
	struct tapir_ring_event ring;
	struct coreclr_published *published;
	const char *provider_name;
	struct tapir_ring_about about;
	char name[];
};

TAPIR_PROBE_DEFINE_SEMAPHORE(tapir_coreclr, event);

static struct event **table;

int coreclr_events__init(void)
{
	table = coreclr_memory__take(TABLE_CNT * sizeof(table[0]));
	return table ? 0 : -1;
}

static inline uint32_t place_of(uint64_t provider, uint32_t id, uint32_t version)
{
	uint64_t key = provider ^ ((uint64_t)id << 8 | version) * 0xff51afd7ed558ccdull;

	return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 40) & (TABLE_CNT - 1);
}

static inline int is_it(const struct event *e, uint64_t provider, uint32_t id, uint32_t version,
			uint32_t meta_bytes)
{
	return coreclr_load(&e->provider) == provider && e->id == id && e->version == version &&
	       e->meta_bytes == meta_bytes;
}

/* The event, or NULL and the free entry it belongs to (NULL: the table is full). */
static inline struct event *find(uint64_t provider, uint32_t id, uint32_t version,
				 uint32_t meta_bytes, struct event ***entry)
{
	uint32_t place = place_of(provider, id, version);

	for (uint32_t i = 0; i < TABLE_CNT; i++) {
		struct event *e = coreclr_load_acquire(&table[(place + i) & (TABLE_CNT - 1)]);

		if (!e) {
			*entry = &table[(place + i) & (TABLE_CNT - 1)];
			return NULL;
		}
		if (is_it(e, provider, id, version, meta_bytes))
			return e;
	}
	*entry = NULL;
	return NULL;
}

/* Its provider has gone, another one lies there. A thread that has just found it writes one more
   event of the old name, as it should. */
void coreclr_events__forget(uint64_t provider_va)
{
	for (uint32_t i = 0; i < TABLE_CNT; i++) {
		struct event *e = coreclr_load_acquire(&table[i]);

		if (e && coreclr_load(&e->provider) == provider_va)
			coreclr_store(&e->provider, GONE_PROVIDER);
	}
}

static uint64_t hash_of(const uint8_t *bytes, uint32_t len)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (uint32_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return hash;
}

/* The same event of a provider that was unloaded, and has come again to the same place. */
static struct event *find_again(uint64_t provider, uint32_t id, uint32_t version,
				const uint8_t *meta, uint32_t meta_bytes)
{
	const struct coreclr_provider *from = coreclr_providers__find(provider);
	uint32_t place = place_of(provider, id, version);

	for (uint32_t i = 0; from && i < TABLE_CNT; i++) {
		struct event *e = coreclr_load_acquire(&table[(place + i) & (TABLE_CNT - 1)]);

		if (!e)
			return NULL;
		if (!is_it(e, GONE_PROVIDER, id, version, meta_bytes) ||
		    e->meta_hash != hash_of(meta, meta_bytes) ||
		    strcmp(e->provider_name, from->name))
			continue;
		coreclr_store(&e->provider, provider);
		return e;
	}
	return NULL;
}

static struct event *new_event(uint64_t provider, uint32_t id, uint32_t version,
			       const uint8_t *meta, uint32_t meta_bytes)
{
	const struct coreclr_provider *from = coreclr_providers__find(provider);
	struct coreclr_blob blob;
	char name[EVENT_BYTES];
	struct event *e;
	uint32_t len;

	if (!from)
		return NULL;
	coreclr_blob__parse(meta, meta_bytes, &blob);
	len = coreclr_text__narrow(name, sizeof(name), blob.name, blob.name_units);
	e = coreclr_memory__take(sizeof(*e) + len + 1);
	if (!e)
		return NULL;
	memcpy(e->name, name, len + 1);
	e->provider = provider;
	e->id = id;
	e->version = version;
	e->meta_bytes = meta_bytes;
	e->meta_hash = hash_of(meta, meta_bytes);
	e->provider_name = from->name;
	e->about = (struct tapir_ring_about){
		.provider = from->name,
		.event = e->name,
		.keywords = blob.keywords,
		.event_id = id <= UINT16_MAX ? (uint16_t)id : 0,
		.version = version <= UINT8_MAX ? (uint8_t)version : UINT8_MAX,
		.level = blob.level <= UINT8_MAX ? (uint8_t)blob.level : UINT8_MAX,
		.encoding = TAPIR_ENCODING_PACKED,
		.metadata = meta_bytes ? meta : NULL,
		.metadata_bytes = meta_bytes,
		.metadata_format = 1,
	};
	return e;
}

static __attribute__((noinline, cold)) struct event *
first_sight(uint64_t provider, uint32_t id, uint32_t version, const uint8_t *meta,
	    uint32_t meta_bytes, struct event **entry)
{
	struct event *e, *none;

	e = find_again(provider, id, version, meta, meta_bytes);
	if (e)
		return e;
	e = new_event(provider, id, version, meta, meta_bytes);
	if (!e)
		return NULL;
	if (tapir_ring__register(&e->ring, &e->about) && e->about.metadata) {
		/* Too long for a record, perhaps: then without. */
		e->about.metadata = NULL;
		tapir_ring__register(&e->ring, &e->about);
	}
	e->about.metadata = NULL; /* the runtime's; copied by now */
	while (entry) {
		none = NULL;
		if (__atomic_compare_exchange_n(entry, &none, e, 0, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return e;
		none = find(provider, id, version, e->meta_bytes, &entry);
		if (none) {
			tapir_ring__unregister(&e->ring);
			return none;
		}
	}
	return e; /* the table is full: once, and again when it comes again */
}

static inline const uint8_t *if_any(const uint8_t *id)
{
	uint64_t halves[2];

	if (!id)
		return NULL;
	memcpy(halves, id, sizeof(halves));
	return halves[0] | halves[1] ? id : NULL;
}

/* A function of its own, never cloned: the site's operands are where its arguments are. */
static __attribute__((noipa)) void fire(const struct event *e, const uint8_t *data,
					uint32_t data_bytes, const uint8_t *activity,
					const uint8_t *related, const uint8_t *meta)
{
	uint32_t sessions = (uint32_t)(coreclr_load(e->ring.word) >> TAPIR_RING_WANT_SHIFT) & 0xff;

	TAPIR_PROBE_SEM(tapir_coreclr, event, sessions, e->provider_name, e->id, (const void *)data,
			data_bytes, e->about.keywords, (uint32_t)e->about.level, e->version,
			(const void *)activity, (const void *)related, (const void *)meta,
			e->meta_bytes);
}

static __attribute__((noinline, cold)) const struct coreclr_published *
see_first(struct event *e, const struct coreclr_delivery *d, const uint8_t *meta)
{
	const struct coreclr_publish_event event = {
		.provider = e->provider_name,
		.name = e->name,
		.id = e->id,
		.version = e->version,
		.level = e->about.level,
		.keywords = e->about.keywords,
		.meta = meta,
		.meta_bytes = e->meta_bytes,
	};

	return coreclr_publish__see(&e->published, &event, d->data, d->data_bytes);
}

/* Out of the way of those who do not publish. */
static __attribute__((noinline)) void publish(struct event *e, const struct coreclr_delivery *d,
					      const uint8_t *meta, const uint8_t *activity,
					      const uint8_t *related)
{
	const struct coreclr_published *p = coreclr_load_acquire(&e->published);

	if (coreclr_unlikely(!p))
		p = see_first(e, d, meta);
	coreclr_publish__fire(p, d->data, d->data_bytes, activity, related);
}

int32_t coreclr_event__deliver(void *self, uintptr_t provider, uint32_t id, uint32_t version,
			       uint32_t meta_bytes, const uint8_t *meta, uint32_t data_bytes,
			       const uint8_t *data, const uint8_t *activity, const uint8_t *related,
			       uintptr_t thread, uint32_t frame_cnt, const uintptr_t *frames)
{
	struct tapir_ring_write write;
	struct coreclr_delivery delivery;
	struct event **entry, *e;
	uint32_t overlap;

	(void)self, (void)thread, (void)frame_cnt, (void)frames;
	if (coreclr_unlikely(!coreclr_load(coreclr.gate)))
		return CORECLR_OK;
	if (!meta)
		meta_bytes = 0;
	e = find(provider, id, version, meta_bytes, &entry);
	if (coreclr_unlikely(!e)) {
		e = first_sight(provider, id, version, meta, meta_bytes, entry);
		if (!e)
			return CORECLR_OK;
	}
	if (!tapir_ring__wanted(&e->ring))
		return CORECLR_OK;
	if (!data)
		data_bytes = 0;
	delivery = (struct coreclr_delivery){
		.provider = provider,
		.id = id,
		.version = version,
		.data = data,
		.data_bytes = data_bytes,
		.frame = (uint64_t)(uintptr_t)__builtin_frame_address(0),
	};
	overlap = coreclr_load(&coreclr.overlap);
	if (coreclr_unlikely(overlap) && coreclr_overlap__is_double(&delivery, overlap))
		return CORECLR_OK;
	activity = if_any(activity);
	related = if_any(related);
	if (TAPIR_PROBE_ENABLED(tapir_coreclr, event))
		fire(e, data, data_bytes, activity, related, meta);
	if (coreclr_unlikely(coreclr_load(&coreclr_publishing)))
		publish(e, &delivery, meta, activity, related);
	if (tapir_ring__begin_at(&write, &e->ring, data_bytes, activity, related,
				 __builtin_frame_address(0))) {
		if (data_bytes)
			memcpy(write.payload, data, data_bytes);
		tapir_ring__commit(&write);
	}
	if (coreclr_unlikely(overlap))
		coreclr_overlap__done();
	else if (coreclr_unlikely(coreclr_load(&coreclr.overlap)))
		coreclr_overlap__note(&delivery);
	return CORECLR_OK;
}
