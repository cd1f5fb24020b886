// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bit in the ring is set first and the time taken after it: a later event is certainly in the
 * ring. One that was in progress arrives only by its probe, and is kept.
 */
#include "attach/flow/lane_coverage.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "spec/spec.h"
#include "base/clock.h"
#include "base/keyed.h"

#define COVER_MAX (1u << 18)

struct span {
	uint64_t from_ns, until_ns; /* UINT64_MAX: on */
};

struct tapir_lane_coverage {
	pthread_mutex_t lock;
	struct tapir_map probed; /* keys */
	struct tapir_keyed(struct span) spans;
	atomic_size_t cnt; /* of spans: most recordings have none */
};

struct tapir_lane_coverage *tapir_lane_coverage__new(void)
{
	struct tapir_lane_coverage *c = calloc(1, sizeof(*c));

	if (c)
		pthread_mutex_init(&c->lock, NULL);
	return c;
}

void tapir_lane_coverage__free(struct tapir_lane_coverage *c)
{
	if (!c)
		return;
	tapir_map__fini(&c->probed);
	tapir_keyed__fini(&c->spans);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

uint64_t tapir_lane_coverage__key(struct tapir_sv provider, struct tapir_sv event)
{
	uint64_t hash = tapir_hash__bytes(1, provider.data, provider.len);

	hash = tapir_hash__bytes(hash, event.data, tapir_spec__plain_len(event.data, event.len));
	return hash ? hash : 1;
}

static struct span *find_span(const struct tapir_lane_coverage *c, uint32_t tgid, uint64_t key)
{
	return tapir_keyed__get(&c->spans, tapir_hash__mix(key, tgid));
}

static struct span *find_or_add(struct tapir_lane_coverage *c, uint32_t tgid, uint64_t key)
{
	return tapir_keyed__add(&c->spans, tapir_hash__mix(key, tgid), COVER_MAX, (struct span){});
}

/* Covered from now on, or until now. */
static void cover(struct tapir_lane_coverage *c, uint32_t tgid, uint64_t key, bool from_now)
{
	uint64_t now_ns = tapir_clock__now_ns();
	struct span *span;

	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	span = from_now ? find_or_add(c, tgid, key) : find_span(c, tgid, key);
	if (span && from_now)
		*span = (struct span){now_ns, UINT64_MAX};
	else if (span && span->until_ns == UINT64_MAX)
		span->until_ns = now_ns;
	atomic_store(&c->cnt, c->spans.cnt);
	pthread_mutex_unlock(&c->lock);
}

void tapir_lane_coverage__on(struct tapir_lane_coverage *c, uint32_t tgid, uint64_t key)
{
	cover(c, tgid, key, true);
}

void tapir_lane_coverage__off(struct tapir_lane_coverage *c, uint32_t tgid, uint64_t key)
{
	cover(c, tgid, key, false);
}

bool tapir_lane_coverage__has(struct tapir_lane_coverage *c, uint32_t tgid, uint64_t key,
			      uint64_t time_ns)
{
	const struct span *span;
	bool has;

	if (!c || !atomic_load_explicit(&c->cnt, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&c->lock);
	span = find_span(c, tgid, key);
	has = span && time_ns >= span->from_ns && time_ns < span->until_ns;
	pthread_mutex_unlock(&c->lock);
	return has;
}

bool tapir_lane_coverage__began_since(struct tapir_lane_coverage *c, uint32_t tgid, uint64_t key,
				      uint64_t since_ns)
{
	const struct span *span;
	bool has_started;

	pthread_mutex_lock(&c->lock);
	span = find_span(c, tgid, key);
	has_started = span && span->from_ns >= since_ns;
	pthread_mutex_unlock(&c->lock);
	return has_started;
}

void tapir_lane_coverage__set_probed(struct tapir_lane_coverage *c, uint64_t key)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	if (c->probed.cnt < COVER_MAX)
		(void)tapir_map__put(&c->probed, key, NULL);
	pthread_mutex_unlock(&c->lock);
}

bool tapir_lane_coverage__is_probed(struct tapir_lane_coverage *c, uint64_t key)
{
	bool is_probed;

	if (!c)
		return false;
	pthread_mutex_lock(&c->lock);
	is_probed = tapir_map__get(&c->probed, key) != NULL;
	pthread_mutex_unlock(&c->lock);
	return is_probed;
}
