// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions by which other threads query and change the reader while it reads; each takes its
 * lock.
 */
#include <errno.h>

#include "attach/rings/ring_reader_impl.h"

uint64_t tapir_ring_reader__session_id(const struct tapir_ring_reader *r)
{
	return r->sink.session_id;
}

bool tapir_ring_reader__has_any(const struct tapir_ring_reader *r, uint32_t tgid)
{
	const struct tapir_ring_reader_lane *lane;

	tapir_vec_for_each (lane, &r->lanes)
		if (lane->tgid == tgid && !lane->has_ended)
			return true;
	return false;
}

int tapir_ring_reader__own(struct tapir_ring_reader *r, uint64_t key)
{
	bool is_kept;

	tapir_ring_reader__lock(r);
	is_kept = tapir_vec__push(&r->private_keys, key);
	pthread_mutex_unlock(&r->lock);
	return is_kept ? 0 : -ENOMEM;
}

bool tapir_ring_reader__has(struct tapir_ring_reader *r, uint32_t tgid)
{
	bool has;

	tapir_ring_reader__lock(r);
	has = tapir_ring_reader__has_any(r, tgid);
	pthread_mutex_unlock(&r->lock);
	return has;
}

void tapir_ring_reader__set_has_probes(struct tapir_ring_reader *r, bool has)
{
	const struct tapir_ring_reader_lane *lane;

	tapir_ring_reader__lock(r);
	r->sink.has_probes = has;
	tapir_vec_for_each (lane, &r->lanes)
		tapir_ring_process__set_has_probes(lane->process, has);
	pthread_mutex_unlock(&r->lock);
}

bool tapir_ring_reader__is_applied(struct tapir_ring_reader *r, uint32_t tgid, uint64_t key)
{
	const struct tapir_ring_reader_lane *lane;
	bool is_applied = true;

	tapir_ring_reader__lock(r);
	tapir_vec_for_each (lane, &r->lanes)
		if (lane->tgid == tgid && !lane->has_ended &&
		    tapir_ring_process__key(lane->process) == key)
			is_applied &= tapir_ring_process__is_applied(lane->process);
	pthread_mutex_unlock(&r->lock);
	return is_applied;
}

bool tapir_ring_reader__is_lagging(struct tapir_ring_reader *r)
{
	const struct tapir_ring_reader_lane *lane;
	bool is_lagging = false;

	tapir_ring_reader__lock(r);
	tapir_vec_for_each (lane, &r->lanes)
		is_lagging |= !lane->has_ended && tapir_ring_process__is_lagging(lane->process);
	pthread_mutex_unlock(&r->lock);
	return is_lagging;
}

bool tapir_ring_reader__published(struct tapir_ring_reader *r, uint32_t tgid, uint64_t key,
				  struct tapir_ring_published *out)
{
	const struct tapir_ring_reader_lane *lane;
	bool has = false;

	tapir_ring_reader__lock(r);
	tapir_vec_for_each (lane, &r->lanes)
		if (!has && lane->tgid == tgid && !lane->has_ended &&
		    tapir_ring_process__key(lane->process) == key) {
			tapir_ring_process__published(lane->process, out);
			has = true;
		}
	pthread_mutex_unlock(&r->lock);
	return has;
}

bool tapir_ring_reader__has_key(struct tapir_ring_reader *r, uint32_t tgid, uint64_t key)
{
	const struct tapir_ring_reader_lane *lane;
	bool has = false;

	tapir_ring_reader__lock(r);
	tapir_vec_for_each (lane, &r->lanes)
		has |= lane->tgid == tgid && !lane->has_ended &&
		       tapir_ring_process__key(lane->process) == key;
	pthread_mutex_unlock(&r->lock);
	return has;
}

void tapir_ring_reader__stats(struct tapir_ring_reader *r, struct tapir_ring_reader_stats *out)
{
	const struct tapir_ring_reader_lane *lane;

	tapir_ring_reader__lock(r);
	*out = r->ended;
	tapir_vec_for_each (lane, &r->lanes) {
		out->wanted_cnt += tapir_ring_process__wanted_cnt(lane->process);
		out->event_cnt += tapir_ring_process__event_cnt(lane->process);
		out->malformed_cnt += tapir_ring_process__malformed_cnt(lane->process);
	}
	pthread_mutex_unlock(&r->lock);
}

bool tapir_ring_reader__spec_matched(struct tapir_ring_reader *r, size_t spec_idx)
{
	bool matched;

	tapir_ring_reader__lock(r);
	matched = r->sink.spec_matched[spec_idx];
	pthread_mutex_unlock(&r->lock);
	return matched;
}

void tapir_ring_reader__add_seen(struct tapir_ring_reader *r, struct tapir_seen_names *out)
{
	tapir_ring_reader__lock(r);
	tapir_seen_names__add_all(out, &r->sink.seen);
	pthread_mutex_unlock(&r->lock);
}
