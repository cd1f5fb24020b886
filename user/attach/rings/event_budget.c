// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A token bucket: TAPIR_BUDGET_BURST events, and TAPIR_BUDGET_RATE more for each second. It is
 * asked once per drain, not per event, so a burst may exceed it by what one drain reads; once
 * exceeded it stays so.
 */
#include "attach/rings/event_budget.h"

#include "base/clock.h"

bool tapir_event_budget__is_exceeded(struct tapir_event_budget *b, uint64_t now_ns)
{
	uint64_t seconds;

	if (!b->from_ns)
		b->from_ns = now_ns;
	seconds = (now_ns - b->from_ns) / TAPIR_NS_PER_SEC;
	if (b->has_ended || b->cnt <= TAPIR_BUDGET_BURST + seconds * TAPIR_BUDGET_RATE)
		return false;
	b->has_ended = true;
	return true;
}
