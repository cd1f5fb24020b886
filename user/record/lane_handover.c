// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A forked child has no ring until its first event, and no breakpoint if its parent has none. So
 * children are first asked to leave nothing to probes (TAPIR_RING_HAS_PROBES), which makes an event
 * that their rings lose a counted one; and only when no fork was reported until the next poll, so
 * that no child is left which saw the old flag, probes are detached. A fork brings them back within
 * milliseconds. What forks often keeps its probes: each return doubles the quiet that is waited
 * for.
 */
#include "record/lane_handover.h"

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"

#define FIRST_QUIET_NS TAPIR_NS_PER_SEC
#define MAX_QUIET_NS   (64 * TAPIR_NS_PER_SEC)

void tapir_lane_handover__init(struct tapir_lane_handover *h, struct tapir_images *images,
			       struct tapir_ring_reader *rings)
{
	*h = (struct tapir_lane_handover){.images = images,
					  .rings = rings,
					  .quiet_ns = FIRST_QUIET_NS,
					  .since_ns = tapir_clock__now_ns()};
}

static void attach_again(struct tapir_lane_handover *h)
{
	int mark = tapir_diag__cnt();

	if (tapir_images__take_back(h->images)) {
		tapir_warn("%s", tapir_diag__line(mark));
		tapir_diag__rewind(mark);
		h->rings = NULL; /* children go on without probes, and count what they lose */
		return;
	}
	tapir_ring_reader__set_has_probes(h->rings, true);
	h->stage = TAPIR_HANDOVER_ATTACHED;
}

void tapir_lane_handover__disturb(struct tapir_lane_handover *h, uint64_t now_ns)
{
	if (!h->rings)
		return;
	h->since_ns = now_ns;
	if (h->stage == TAPIR_HANDOVER_DETACHED && h->quiet_ns < MAX_QUIET_NS)
		h->quiet_ns *= 2;
	if (h->stage != TAPIR_HANDOVER_ATTACHED)
		attach_again(h);
}

/* Only a ring that is gone makes a gap: an event that was unregistered does not fire. */
static bool see_missed(const struct tapir_lane_handover *h, uint32_t tgid, tapir_handover_gap_fn fn,
		       void *ctx)
{
	const struct tapir_image *image = tapir_images__find_uncarried(h->images, tgid);

	if (!image || tapir_proc__has_ended(tgid))
		return false;
	if (!tapir_ring_reader__has(h->rings, tgid))
		fn(ctx, tgid, image, h->checked_ns);
	return true;
}

static void check_rings(struct tapir_lane_handover *h, const struct tapir_map *live,
			uint64_t now_ns, tapir_handover_gap_fn fn, void *ctx)
{
	bool is_missed = false;

	for (size_t i = 0; i < live->cap; i++)
		if (live->slots[i].used)
			is_missed |= see_missed(h, (uint32_t)live->slots[i].key, fn, ctx);
	if (is_missed)
		tapir_lane_handover__disturb(h, now_ns);
	h->checked_ns = now_ns;
}

void tapir_lane_handover__poll(struct tapir_lane_handover *h, const struct tapir_map *live,
			       uint64_t now_ns, tapir_handover_gap_fn fn, void *ctx)
{
	if (!h->rings)
		return;
	if (h->stage == TAPIR_HANDOVER_DETACHED) {
		check_rings(h, live, now_ns, fn, ctx);
	} else if (h->stage == TAPIR_HANDOVER_ANNOUNCED) {
		if (tapir_images__hand_over(h->images, live))
			h->stage = TAPIR_HANDOVER_DETACHED;
		else
			attach_again(h);
		h->checked_ns = now_ns;
	} else if (now_ns - h->since_ns >= h->quiet_ns &&
		   tapir_images__may_hand_over(h->images, live)) {
		tapir_ring_reader__set_has_probes(h->rings, false);
		h->stage = TAPIR_HANDOVER_ANNOUNCED;
	}
}
