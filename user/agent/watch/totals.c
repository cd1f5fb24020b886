// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One mapping shared with children; additions are atomic, so that a child that is killed leaves
 * whole numbers.
 */
#include "agent/watch/totals.h"

#include <errno.h>
#include <sys/mman.h>

static struct totals {
	uint64_t captured_cnt, lost_cnt;
} * totals; /* shared with children */

int tapir_totals__open(void)
{
	void *at = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);

	if (at == MAP_FAILED)
		return -errno;
	totals = at;
	return 0;
}

void tapir_totals__close(void)
{
	if (totals)
		munmap(totals, sizeof(*totals));
	totals = NULL;
}

void tapir_totals__count(const struct tapir_session_stats *stats)
{
	static struct totals counted; /* of this process, which makes one recording */
	uint64_t captured_cnt = tapir_captured__sum(stats->captured);

	if (!totals)
		return;
	if (captured_cnt > counted.captured_cnt) {
		__atomic_fetch_add(&totals->captured_cnt, captured_cnt - counted.captured_cnt,
				   __ATOMIC_RELAXED);
		counted.captured_cnt = captured_cnt;
	}
	if (stats->lost_cnt > counted.lost_cnt) {
		__atomic_fetch_add(&totals->lost_cnt, stats->lost_cnt - counted.lost_cnt,
				   __ATOMIC_RELAXED);
		counted.lost_cnt = stats->lost_cnt;
	}
}

void tapir_totals__read(uint64_t *captured_cnt, uint64_t *lost_cnt)
{
	*captured_cnt = totals ? __atomic_load_n(&totals->captured_cnt, __ATOMIC_RELAXED) : 0;
	*lost_cnt = totals ? __atomic_load_n(&totals->lost_cnt, __ATOMIC_RELAXED) : 0;
}
