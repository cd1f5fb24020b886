// SPDX-License-Identifier: GPL-2.0-or-later
/* A bucket of events, which fills by time. */
#include "attach/rings/ring_brief.h"

#include "base/clock.h"

bool tapir_ring_brief__is_enough(struct tapir_ring_brief *b, uint64_t now_ns)
{
	uint64_t seconds;

	if (!b->from_ns)
		b->from_ns = now_ns;
	seconds = (now_ns - b->from_ns) / TAPIR_NS_PER_SEC;
	if (b->is_over || b->cnt <= TAPIR_BRIEF_AT_ONCE + seconds * TAPIR_BRIEF_RATE)
		return false;
	b->is_over = true;
	return true;
}
