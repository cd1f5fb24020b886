// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Few pairs are kept: those between two that agree with both are dropped. Two clocks cannot be read
 * at one moment, so 20 us count as agreement; a kernel that follows NTP slews by 500 ppm at most,
 * so what differs by more was set.
 */
#include "trace/clock_pairs.h"

#include "base/clock.h"

#define PAIRS_MAX    65536u
#define SAME_NS	     (20 * TAPIR_NS_PER_US) /* two readings of clocks are not at one moment */
#define SLEW_PER_MS  1000		    /* ns: twice what the kernel slews a clock by */
#define SLEW_SPAN_NS (3600 * TAPIR_NS_PER_SEC)

void tapir_clock_pairs__fini(struct tapir_clock_pairs *pairs)
{
	tapir_vec__fini(&pairs->all);
}

/* The size of the difference, which wraps. */
static uint64_t distance(uint64_t a, uint64_t b)
{
	return a - b < b - a ? a - b : b - a;
}

/* Not the newest, as where segments of a file are out of order. */
static bool add_late(struct tapir_clock_pairs *pairs, const struct tapir_clock_pair *fresh)
{
	size_t cnt = pairs->all.cnt;
	size_t at = tapir_sorted__upper_bound(pairs->all.data, cnt, time_ns, fresh->time_ns);

	if (cnt == PAIRS_MAX || (at && pairs->all.data[at - 1].time_ns == fresh->time_ns))
		return true;
	if (!tapir_vec__push(&pairs->all, *fresh))
		return false;
	memmove(pairs->all.data + at + 1, pairs->all.data + at, (cnt - at) * sizeof(*fresh));
	pairs->all.data[at] = *fresh;
	return true;
}

bool tapir_clock_pairs__add(struct tapir_clock_pairs *pairs, const struct tapir_rec_clock *clock)
{
	const struct tapir_clock_pair fresh = {.time_ns = clock->h.time_ns,
					       .offset_ns = clock->utc_ns - clock->h.time_ns};
	struct tapir_clock_pair *all = pairs->all.data;
	size_t cnt = pairs->all.cnt;

	if (cnt && all[cnt - 1].time_ns >= fresh.time_ns)
		return add_late(pairs, &fresh);
	if (cnt == PAIRS_MAX ||
	    (cnt > 1 && distance(all[cnt - 1].offset_ns, fresh.offset_ns) <= SAME_NS &&
	     distance(all[cnt - 2].offset_ns, fresh.offset_ns) <= SAME_NS)) {
		all[cnt - 1] = fresh;
		return true;
	}
	return tapir_vec__push(&pairs->all, fresh);
}

/* Between two pairs that a clock can have got from one to the other by being slewed. */
static uint64_t slewed(const struct tapir_clock_pair *from, const struct tapir_clock_pair *to,
		       uint64_t time_ns)
{
	uint64_t span_ns = to->time_ns - from->time_ns, since_ns = time_ns - from->time_ns;
	uint64_t change_ns = distance(to->offset_ns, from->offset_ns);

	if (span_ns > SLEW_SPAN_NS || change_ns > SAME_NS + span_ns / TAPIR_NS_PER_MS * SLEW_PER_MS)
		return from->offset_ns; /* it was set; when between them is not known */
	change_ns = (uint64_t)((double)change_ns * ((double)since_ns / (double)span_ns));
	return to->offset_ns - from->offset_ns <= INT64_MAX ? from->offset_ns + change_ns
							    : from->offset_ns - change_ns;
}

uint64_t tapir_clock_pairs__utc_ns(const struct tapir_clock_pairs *pairs, uint64_t time_ns)
{
	const struct tapir_clock_pair *all = pairs->all.data;
	size_t cnt = pairs->all.cnt, next = tapir_sorted__upper_bound(all, cnt, time_ns, time_ns);

	if (!cnt)
		return 0;
	if (!next)
		return time_ns + all[0].offset_ns;
	if (next == cnt)
		return time_ns + all[cnt - 1].offset_ns;
	return time_ns + slewed(&all[next - 1], &all[next], time_ns);
}
