// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A lane that is left out gets a GAP at once, up to now and with the reason that its events are
 * not recorded, and a second one with exact times when it is opened later. Maps are cleared when
 * they are full: at worst a line or a GAP appears twice.
 */
#include "attach/rings/ring_limits.h"

#include <errno.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"

#define MAP_MAX	    65536u
#define OPEN_HZ	    1u

/* Keys of `warned` that are not causes. */
#define VERSION_KEY 0x100u

void tapir_ring_limits__init(struct tapir_ring_limits *l, struct tapir_queue *queue,
			     uint64_t start_ns)
{
	*l = (struct tapir_ring_limits){.queue = queue, .start_ns = start_ns};
}

void tapir_ring_limits__fini(struct tapir_ring_limits *l)
{
	tapir_map__fini(&l->opens);
	tapir_map__fini(&l->warned);
	tapir_map__fini(&l->left);
}

static uint64_t *put_bounded(struct tapir_map *map, uint64_t key, bool *is_new)
{
	*is_new = false;
	if (map->cnt >= MAP_MAX && !tapir_map__get(map, key))
		tapir_map__clear(map);
	return tapir_map__put(map, key, is_new);
}

static uint64_t warned_key(unsigned cause, uint32_t tgid)
{
	return (uint64_t)cause << 32 | tgid;
}

static bool is_first(struct tapir_ring_limits *l, unsigned cause, uint32_t tgid)
{
	bool is_new;

	put_bounded(&l->warned, warned_key(cause, tgid), &is_new);
	return is_new;
}

/* ---- what may be opened --------------------------------------------------------------------- */

/* A process may create lanes, or end sessions, as fast as it likes; each costs tapir a scan. */
static bool may_open(const struct tapir_ring_limits *l, uint32_t tgid)
{
	const uint64_t *opens = tapir_map__get(&l->opens, tgid);
	uint64_t now_s = tapir_clock__now_ns() / TAPIR_NS_PER_SEC;

	return !opens ||
	       (uint32_t)*opens < TAPIR_RING_OPENINGS_MAX + (now_s - (*opens >> 32)) * OPEN_HZ;
}

bool tapir_ring_limits__allow(struct tapir_ring_limits *l, uint32_t tgid, size_t open_cnt,
			      enum tapir_ring_left_cause *cause)
{
	if (open_cnt >= TAPIR_RING_LANES_OPEN_MAX)
		*cause = TAPIR_RING_LEFT_FULL;
	else if (!may_open(l, tgid))
		*cause = TAPIR_RING_LEFT_LIMITED;
	else
		return true;
	return false;
}

uint32_t tapir_ring_limits__open_cnt(const struct tapir_ring_limits *l, uint32_t tgid)
{
	const uint64_t *opens = tapir_map__get(&l->opens, tgid);

	return opens ? (uint32_t)*opens : 0;
}

/* ---- gaps ------------------------------------------------------------------------------------ */

void tapir_ring_limits__post_gap(struct tapir_queue *queue, uint32_t tgid,
				 enum tapir_gap_reason reason, uint64_t from_ns,
				 const char *provider)
{
	struct tapir_rec_gap fixed = {
		.tgid = tgid,
		.reason = (uint16_t)reason,
		.from_ns = from_ns,
		.until_ns = tapir_clock__now_ns(),
	};
	struct tapir_recbuf buf = {};
	const struct tapir_rec *rec;

	tapir_rec__init(&fixed.h, TAPIR_REC_GAP, sizeof(fixed), fixed.until_ns);
	rec = tapir_recbuf__gap(&buf, &fixed, tapir_sv__of(provider));
	if (rec)
		tapir_queue__post(queue, rec, -1);
	tapir_recbuf__fini(&buf);
}

static void post_gap(struct tapir_ring_limits *l, uint32_t tgid, enum tapir_gap_reason reason,
		     uint64_t from_ns)
{
	tapir_ring_limits__post_gap(l->queue, tgid, reason, from_ns, "ring lane");
}

/* When a lane was made, if that was within the recording and by our clock. */
static uint64_t since_ns(const struct tapir_ring_limits *l, const struct tapir_ring_lane *lane)
{
	uint64_t made_ns = lane->data[0].made_ns;

	return made_ns > l->start_ns && made_ns < tapir_clock__now_ns() ? made_ns : l->start_ns;
}

static uint64_t lane_key(uint32_t tgid, uint64_t key)
{
	return tapir_hash__mix(key, tgid);
}

bool tapir_ring_limits__note_open(struct tapir_ring_limits *l, uint32_t tgid, uint64_t key)
{
	const uint64_t *since = tapir_map__get(&l->left, lane_key(tgid, key));
	bool is_new;
	uint64_t *opens = put_bounded(&l->opens, tgid, &is_new);

	if (opens && is_new)
		*opens = tapir_clock__now_ns() / TAPIR_NS_PER_SEC << 32;
	if (opens)
		++*opens;
	if (since) {
		post_gap(l, tgid, TAPIR_GAP_ATTACH_LATE, *since);
		tapir_map__del(&l->left, lane_key(tgid, key));
	}
	return is_new;
}

static void warn(struct tapir_ring_limits *l, uint32_t tgid, enum tapir_ring_left_cause cause,
		 int err)
{
	if (cause == TAPIR_RING_LEFT_FULL && !l->is_full)
		tapir_warn("%u ring lanes are open: events of more processes are not recorded "
			   "until one of these closes",
			   TAPIR_RING_LANES_OPEN_MAX);
	l->is_full |= cause == TAPIR_RING_LEFT_FULL;
	if (cause == TAPIR_RING_LEFT_FULL || !is_first(l, cause, tgid))
		return;
	if (cause == TAPIR_RING_LEFT_LIMITED)
		tapir_warn("process %u created or closed more than %u ring lanes: not all of its "
			   "events are recorded",
			   tgid, TAPIR_RING_OPENINGS_MAX);
	else if (cause == TAPIR_RING_LEFT_BUSY)
		tapir_warn("process %u: all %u sessions of its ring lane are in use by other "
			   "tracers",
			   tgid, TAPIR_RING_SESSIONS);
	else
		tapir_warn("cannot open the ring lane of process %u: %s", tgid,
			   tapir_errno__text(err));
}

void tapir_ring_limits__leave_out(struct tapir_ring_limits *l, uint32_t tgid,
				  const struct tapir_ring_lane *lane,
				  enum tapir_ring_left_cause cause, int err)
{
	bool is_new;
	uint64_t *since = put_bounded(&l->left, lane_key(tgid, lane->key), &is_new);

	warn(l, tgid, cause, err);
	if (!since || !is_new)
		return;
	*since = since_ns(l, lane);
	post_gap(l, tgid, TAPIR_GAP_ATTACH_FAILED, *since);
}

void tapir_ring_limits__refuse_version(struct tapir_ring_limits *l, uint32_t tgid, uint32_t version)
{
	if (!is_first(l, VERSION_KEY, tgid))
		return;
	tapir_warn("process %u: its ring lane has version %u and this tapir reads version %u: its "
		   "events are not recorded",
		   tgid, version, TAPIR_RING_VERSION);
	post_gap(l, tgid, TAPIR_GAP_ATTACH_FAILED, l->start_ns);
}

/* ---- ends ------------------------------------------------------------------------------------ */

void tapir_ring_limits__forget(struct tapir_ring_limits *l, uint32_t tgid)
{
	tapir_map__del(&l->opens, tgid);
	for (unsigned cause = 0; cause <= TAPIR_RING_LEFT_FAILED; cause++)
		tapir_map__del(&l->warned, warned_key(cause, tgid));
	tapir_map__del(&l->warned, warned_key(VERSION_KEY, tgid));
}

void tapir_ring_limits__note_close(struct tapir_ring_limits *l, size_t open_cnt)
{
	l->is_full &= open_cnt > TAPIR_RING_LANES_OPEN_MAX / 2;
}
