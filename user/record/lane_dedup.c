// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An event of a probe and the same event of a ring lane would be recorded twice. Two maps by probe:
 * the key by which the lanes' coverage is asked, and how many were left out.
 */
#include "record/lane_dedup.h"

#include "base/clock.h"
#include "trace/recbuf.h"

void tapir_lane_dedup__init(struct tapir_lane_dedup *t, struct tapir_lane_coverage *cover)
{
	*t = (struct tapir_lane_dedup){.cover = cover, .last_ns = tapir_clock__now_ns()};
}

void tapir_lane_dedup__fini(struct tapir_lane_dedup *t)
{
	tapir_map__fini(&t->keys);
	tapir_map__fini(&t->cnts);
}

void tapir_lane_dedup__learn(struct tapir_lane_dedup *t, const struct tapir_rec *rec)
{
	struct tapir_probe_view view;
	uint64_t *key;

	tapir_probe_view__of(rec, &view);
	if (!t->cover || view.rec->lane != TAPIR_LANE_PROBE ||
	    view.rec->flags & TAPIR_PROBE_TELLS_TAKEN)
		return;
	key = tapir_map__put(&t->keys, view.rec->probe_id, NULL);
	if (key)
		*key = tapir_lane_coverage__key(view.provider, view.event);
}

bool tapir_lane_dedup__filter(struct tapir_lane_dedup *t, const struct tapir_rec_event *ev)
{
	const uint64_t *key;
	uint64_t *cnt;

	if (!t->cover || ev->lane != TAPIR_LANE_PROBE)
		return false;
	key = tapir_map__get(&t->keys, ev->probe_id);
	if (!key || !tapir_lane_coverage__has(t->cover, ev->tgid, *key, ev->h.time_ns))
		return false;
	/* Without memory it is left out uncounted: the ring's event is in the file in any case. */
	cnt = tapir_map__put(&t->cnts, ev->probe_id, NULL);
	if (cnt)
		++*cnt;
	return true;
}

void tapir_lane_dedup__report(struct tapir_lane_dedup *t, tapir_loss_fn fn, void *ctx)
{
	uint64_t now_ns = tapir_clock__now_ns();

	for (size_t i = 0; i < t->cnts.cap; i++) {
		const struct tapir_map_slot *slot = &t->cnts.slots[i];
		struct tapir_rec_loss loss = {
			.cause = TAPIR_LOSS_LANE_TWICE,
			.probe_id = (uint32_t)slot->key,
			.count = slot->value,
			.from_ns = t->last_ns,
			.until_ns = now_ns,
		};

		if (!slot->used || !slot->value)
			continue;
		tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), now_ns);
		fn(ctx, &loss);
	}
	tapir_map__clear(&t->cnts);
	t->last_ns = now_ns;
}
