// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel maps a thread's ids only from outer to inner namespaces: all threads are read at once.
 */
#include "attach/rings/ring_tids.h"

#include <stdio.h>
#include <sys/stat.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"

#define KNOWN_MAX 65536

void tapir_ring_tids__init(struct tapir_ring_tids *t, uint32_t tgid)
{
	struct stat ours, theirs;
	char path[48];

	*t = (struct tapir_ring_tids){.tgid = tgid};
	snprintf(path, sizeof(path), "/proc/%u/ns/pid", tgid);
	t->is_same = !stat("/proc/self/ns/pid", &ours) && !stat(path, &theirs) &&
		     ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

void tapir_ring_tids__fini(struct tapir_ring_tids *t)
{
	tapir_map__fini(&t->by_ns_tid);
}

static int see_thread(uint32_t tid, void *ctx)
{
	struct tapir_ring_tids *t = ctx;
	struct tapir_thread thread;
	uint64_t *known;

	if (tapir_thread__read(t->tgid, tid, &thread))
		return 0;
	known = tapir_map__put(&t->by_ns_tid, thread.ns_tid, NULL);
	if (known)
		*known = tid;
	return !known;
}

/* With many threads a scan takes long: it may take a third of this thread's time. */
static void scan_tids(struct tapir_ring_tids *t)
{
	uint64_t start_ns = tapir_clock__now_ns();
	int mark = tapir_diag__cnt();

	if (start_ns < t->next_scan_ns)
		return;
	if (t->by_ns_tid.cnt > KNOWN_MAX)
		tapir_map__clear(&t->by_ns_tid);
	tapir_proc__each_thread(t->tgid, see_thread, t);
	tapir_diag__rewind(mark);
	t->next_scan_ns = tapir_clock__now_ns() + 2 * (tapir_clock__now_ns() - start_ns);
}

uint32_t tapir_ring_tids__find(struct tapir_ring_tids *t, uint32_t ns_tid, bool is_new)
{
	uint64_t *known;

	if (t->is_same)
		return ns_tid;
	if (!is_new && ns_tid == t->last_ns_tid)
		return t->last_tid;
	known = tapir_map__get(&t->by_ns_tid, ns_tid);
	if (!known || is_new) {
		scan_tids(t);
		known = tapir_map__get(&t->by_ns_tid, ns_tid);
	}
	if (!known)
		return ns_tid | TAPIR_RING_TID_GONE; /* not kept: it may be found later */
	t->last_ns_tid = ns_tid;
	t->last_tid = (uint32_t)*known;
	return t->last_tid;
}
