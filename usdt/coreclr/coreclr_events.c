/* SPDX-License-Identifier: MIT */
/*
 * coreclr_events.c - from the runtime's callback to the ring.
 *
 * It is also the probe lane: a site that any USDT tool can attach to, fired for what is selected.
 *	tapir_coreclr:event(u32 sessions, char *provider, u32 id, void *payload, u32 bytes,
 *		u64 keywords, u32 level, u32 version, void *activity, void *related,
 *		void *metadata, u32 bytes)
 * sessions: a bit for each session of the lane; ids: 16 bytes or NULL; metadata: the blob. The
 * first six are what bpftrace can read.
 */
#include <string.h>

#include "coreclr_kinds.h"
#include "coreclr_publish.h"
#include "tapir/usdt.h"

TAPIR_PROBE_DEFINE_SEMAPHORE(tapir_coreclr, event);

static inline const uint8_t *if_any(const uint8_t *id)
{
	uint64_t halves[2];

	if (!id)
		return NULL;
	memcpy(halves, id, sizeof(halves));
	return halves[0] | halves[1] ? id : NULL;
}

/* A separate function, never cloned: the site's operands are where its arguments are. */
static __attribute__((noipa)) void fire(const struct coreclr_kind *e, const uint8_t *data,
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
on_first_delivery(struct coreclr_kind *e, const struct coreclr_delivery *d, const uint8_t *meta)
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

/* Out of line for processes that do not publish. */
static __attribute__((noinline)) void publish_delivery(struct coreclr_kind *e,
						       const struct coreclr_delivery *d,
						       const uint8_t *meta, const uint8_t *activity,
						       const uint8_t *related)
{
	const struct coreclr_published *p = coreclr_load_acquire(&e->published);

	if (coreclr_unlikely(!p))
		p = on_first_delivery(e, d, meta);
	coreclr_publish__fire(p, d->data, d->data_bytes, activity, related);
}

int32_t coreclr_event__deliver(void *self, uintptr_t provider, uint32_t id, uint32_t version,
			       uint32_t meta_bytes, const uint8_t *meta, uint32_t data_bytes,
			       const uint8_t *data, const uint8_t *activity, const uint8_t *related,
			       uintptr_t thread, uint32_t frame_cnt, const uintptr_t *frames)
{
	struct tapir_ring_write write;
	struct coreclr_delivery delivery;
	struct tapir_ring_ids ids = {NULL, NULL, NULL, 0};
	struct coreclr_kind *e;
	uint32_t dedup;

	(void)self, (void)thread, (void)frame_cnt, (void)frames;
	/*
	 * The gate is shut while the library leaves, and in a forked child: nothing of the lane may
	 * be touched then.
	 */
	if (coreclr_unlikely(!coreclr_load(coreclr.gate)))
		return CORECLR_OK;
	if (!meta)
		meta_bytes = 0;
	/* Metadata is NULL for the runtime's own events, whose ids say what they are. */
	e = coreclr_kinds__find(provider, id, version, meta, meta_bytes);
	if (coreclr_unlikely(!e)) {
		e = coreclr_kinds__on_first_event(provider, id, version, meta, meta_bytes);
		if (!e)
			return CORECLR_OK;
	}
	if (!tapir_ring__wanted(&e->ring))
		return CORECLR_OK;
	if (!data)
		data_bytes = 0;
	/*
	 * Both deliveries of one event come from one frame of the runtime, so that this frame is at
	 * the same address: a part of what coreclr_dedup.c compares.
	 */
	delivery = (struct coreclr_delivery){
		.provider = provider,
		.id = id,
		.version = version,
		.data = data,
		.data_bytes = data_bytes,
		.frame = (uint64_t)(uintptr_t)__builtin_frame_address(0),
	};
	dedup = coreclr_load(&coreclr.dedup);
	if (coreclr_unlikely(dedup) && coreclr_dedup__is_duplicate(&delivery, dedup))
		return CORECLR_OK;
	activity = if_any(activity);
	related = if_any(related);
	if (TAPIR_PROBE_ENABLED(tapir_coreclr, event))
		fire(e, data, data_bytes, activity, related, meta);
	if (coreclr_unlikely(coreclr_load(&coreclr_publishing)))
		publish_delivery(e, &delivery, meta, activity, related);
	ids.activity = activity;
	ids.related = related;
	if (tapir_ring__begin_at(&write, &e->ring, data_bytes, &ids, __builtin_frame_address(0))) {
		if (data_bytes)
			memcpy(write.payload, data, data_bytes);
		tapir_ring__commit(&write);
	}
	if (coreclr_unlikely(dedup))
		coreclr_dedup__done();
	else if (coreclr_unlikely(coreclr_load(&coreclr.dedup)))
		coreclr_dedup__note(&delivery);
	return CORECLR_OK;
}
