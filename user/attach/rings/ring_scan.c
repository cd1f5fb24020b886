// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A short list of processes, each with its step in the same row of times. Due times are rounded up
 * to a grid and scans of a turn are done together, because a wake-up costs as much as a scan.
 */
#include "attach/rings/ring_scan.h"

#include <errno.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/log.h"

#define TURN_MAX   32 /* looks of a turn */
#define COST	   4  /* times what looks took are left to others */
#define CALM_MAX   16 /* turns that a process is passed over which mapped nothing */
#define FEW	   2  /* processes; of more, looks are made together */
#define GRID_NS	   (10 * TAPIR_NS_PER_MS)
#define RUN_MAX_NS TAPIR_NS_PER_MS /* of looks without a pause */

/* After what was expected. */
static const unsigned step_ms[] = {5, 20, 50, 100, 200};

#define STEP_CNT (sizeof(step_ms) / sizeof(step_ms[0]))

static uint64_t due_ns(const struct tapir_ring_burst *b)
{
	return b->from_ns + step_ms[b->step] * TAPIR_NS_PER_MS;
}

/*
 * Due times are rounded up to a grid where programs start all the time: one wake-up serves several.
 */
static uint64_t wake_ns(const struct tapir_ring_scan *l, const struct tapir_ring_burst *b)
{
	return l->bursts.cnt > FEW ? (due_ns(b) + GRID_NS - 1) / GRID_NS * GRID_NS : due_ns(b);
}

/* The process is found in its turn among all; what it fires until then is a GAP. */
static void note_scan_full(struct tapir_ring_scan *l)
{
	l->left_cnt++;
	if (!l->is_full)
		tapir_warn("more than %u processes start programs at a time: ring lanes of others "
			   "are found later (a GAP each)",
			   TAPIR_RING_BURSTS_MAX);
	l->is_full = true;
}

void tapir_ring_scan__expect(struct tapir_ring_scan *l, uint32_t tgid)
{
	uint64_t now_ns = tapir_clock__now_ns();
	struct tapir_ring_burst new = {.tgid = tgid, .from_ns = now_ns, .again_ns = now_ns}, *b;

	if (!l->rings)
		return;
	tapir_vec_for_each (b, &l->bursts) {
		if (b->tgid != tgid)
			continue;
		b->again_ns = now_ns;
		return;
	}
	if (l->bursts.cnt >= TAPIR_RING_BURSTS_MAX || !tapir_vec__push(&l->bursts, new))
		note_scan_full(l);
}

void tapir_ring_scan__forget(struct tapir_ring_scan *l, uint32_t tgid)
{
	for (size_t i = 0; i < l->bursts.cnt; i++)
		if (l->bursts.data[i].tgid == tgid)
			l->bursts.data[i--] = l->bursts.data[--l->bursts.cnt];
	tapir_map__del(&l->unchanged, tgid);
}

/* false: it has ended. */
static bool scan_process(struct tapir_ring_scan *l, uint32_t tgid)
{
	return tapir_ring_reader__add(l->rings, tgid) != -ESRCH;
}

/* Others have their turn after looks, four times as long. */
static void pay_since(struct tapir_ring_scan *l, uint64_t start_ns)
{
	uint64_t now_ns = tapir_clock__now_ns();

	l->free_ns = now_ns + COST * (now_ns - start_ns);
}

static bool skip_past(struct tapir_ring_burst *b, uint64_t now_ns)
{
	while (b->step < STEP_CNT && due_ns(b) <= now_ns)
		b->step++;
	return b->step < STEP_CNT;
}

/*
 * Moves on to the next scan of a burst. false: it had its last one. If the process executed more
 * files during the burst, the scans that follow from that are appended: libraries, which follow
 * their program closely, cause none of their own.
 */
static bool advance_burst(struct tapir_ring_burst *b, uint64_t now_ns)
{
	if (skip_past(b, now_ns))
		return true;
	if (b->again_ns == b->from_ns)
		return false;
	*b = (struct tapir_ring_burst){
		.tgid = b->tgid, .from_ns = b->again_ns, .again_ns = b->again_ns};
	return skip_past(b, now_ns + GRID_NS);
}

/* Processes that are due are scanned together: one wake-up for all. */
void tapir_ring_scan__run(struct tapir_ring_scan *l)
{
	uint64_t start_ns = tapir_clock__now_ns(), now_ns = start_ns;
	bool has_scanned = false;

	if (now_ns < l->free_ns)
		return;
	for (size_t i = 0; i < l->bursts.cnt && now_ns - start_ns < RUN_MAX_NS; i++) {
		if (due_ns(&l->bursts.data[i]) > now_ns)
			continue;
		has_scanned = true;
		if (!scan_process(l, l->bursts.data[i].tgid) ||
		    !advance_burst(&l->bursts.data[i], now_ns))
			l->bursts.data[i--] = l->bursts.data[--l->bursts.cnt];
		now_ns = tapir_clock__now_ns();
	}
	if (has_scanned)
		pay_since(l, start_ns);
	l->is_full &= l->bursts.cnt > TAPIR_RING_BURSTS_MAX / 2;
}

uint64_t tapir_ring_scan__next_ns(const struct tapir_ring_scan *l)
{
	const struct tapir_ring_burst *b;
	uint64_t next_ns = UINT64_MAX;

	tapir_vec_for_each (b, &l->bursts)
		next_ns = wake_ns(l, b) < next_ns ? wake_ns(l, b) : next_ns;
	return next_ns < l->free_ns ? l->free_ns : next_ns;
}

/*
 * A lane takes memory: a process that has as much as before has no new one. Turns are counted in
 * the lowest bits; kernel threads have no memory.
 */
static bool is_calm(struct tapir_ring_scan *l, uint32_t tgid)
{
	uint64_t pages, *unchanged;

	if (tapir_proc__mapped_pages(tgid, &pages))
		return false;
	if (!pages)
		return true;
	unchanged = tapir_map__put(&l->unchanged, tgid, NULL);
	if (!unchanged)
		return false;
	if (*unchanged / CALM_MAX == pages && *unchanged % CALM_MAX != CALM_MAX - 1) {
		++*unchanged;
		return true;
	}
	*unchanged = pages * CALM_MAX;
	return false;
}

void tapir_ring_scan__turn(struct tapir_ring_scan *l, const struct tapir_map *live)
{
	uint64_t start_ns = tapir_clock__now_ns(), end_ns = start_ns + 20 * TAPIR_NS_PER_MS;
	bool has_scanned = false;

	if (!l->rings)
		return;
	for (size_t seen = 0, scans = 0; seen < live->cap && scans < TURN_MAX; seen++) {
		size_t i = l->cursor++ % live->cap;
		uint32_t tgid = (uint32_t)live->slots[i].key;

		if (!live->slots[i].used || tapir_ring_reader__has(l->rings, tgid))
			continue;
		scans++;
		if (is_calm(l, tgid))
			continue;
		has_scanned = true;
		(void)scan_process(l, tgid);
		if (tapir_clock__now_ns() >= end_ns)
			break;
	}
	if (has_scanned)
		pay_since(l, start_ns);
}

void tapir_ring_scan__fini(struct tapir_ring_scan *l)
{
	tapir_vec__fini(&l->bursts);
	tapir_map__fini(&l->unchanged);
}
