// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two short lists: mappings whose probes came late, and threads that were held until they came.
 * Whether a hold covers a mapping is decided some time later, since the reports come by two rings
 * in any order.
 */
#include "record/late_attach.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MAX     4096
/*
 * The longest time from a mapping to the end of its mmap(2): a busy machine may take the CPU away.
 */
#define SAME_CALL_NS 2000000000ull
#define HELD_NS	     (6 * TAPIR_LATE_ATTACH_COMMIT_NS)

int tapir_late_attach__add(struct tapir_late_attach *l, const struct tapir_late_mapping *late)
{
	struct tapir_late_mapping copy = *late;

	if (l->lates.cnt >= LIST_MAX)
		return -ENOMEM;
	copy.path = strdup(late->path);
	if (copy.path && tapir_vec__push(&l->lates, copy))
		return 0;
	free(copy.path);
	return -ENOMEM;
}

void tapir_late_attach__on_exec(struct tapir_late_attach *l, uint32_t tgid, uint64_t time_ns)
{
	uint64_t *since = tapir_map__put(&l->exec_ns, tgid, NULL);

	if (since)
		*since = time_ns;
}

void tapir_late_attach__on_exit(struct tapir_late_attach *l, uint32_t tgid)
{
	tapir_map__del(&l->exec_ns, tgid);
}

/* For an exec arg becomes the time since which its mappings are there. */
void tapir_late_attach__mark_held(struct tapir_late_attach *l, const struct tapir_rec_held *rec)
{
	const uint64_t *exec_ns = tapir_map__get(&l->exec_ns, rec->tgid);
	struct tapir_rec_held held = *rec;

	if (rec->kind == TAPIR_HOLD_EXEC)
		held.arg = exec_ns ? *exec_ns : rec->h.time_ns;
	if (l->held_threads.cnt < LIST_MAX)
		(void)tapir_vec__push(&l->held_threads, held);
}

static bool covers(const struct tapir_rec_held *held, const struct tapir_late_mapping *late)
{
	uint64_t held_ns = held->h.time_ns;

	if (held->tid != late->tid || late->mapped_ns > held_ns)
		return false;
	if (held->kind == TAPIR_HOLD_EXEC)
		return late->mapped_ns >= held->arg;
	return held->arg == late->start_va && held_ns - late->mapped_ns < SAME_CALL_NS;
}

/* The thread has mapped the same place once more since: it was held for that. */
static bool is_replaced(const struct tapir_late_attach *l, const struct tapir_late_mapping *late,
			uint64_t held_ns)
{
	const struct tapir_late_mapping *other;

	tapir_vec_for_each (other, &l->lates)
		if (other->tid == late->tid && other->start_va == late->start_va &&
		    other->mapped_ns > late->mapped_ns && other->mapped_ns <= held_ns)
			return true;
	return false;
}

static bool was_held_until(const struct tapir_late_attach *l, const struct tapir_late_mapping *late)
{
	const struct tapir_rec_held *held;

	tapir_vec_for_each (held, &l->held_threads)
		if (covers(held, late) &&
		    (held->kind == TAPIR_HOLD_EXEC || !is_replaced(l, late, held->h.time_ns)))
			return true;
	return false;
}

static void expire_held(struct tapir_late_attach *l, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->held_threads.cnt; i++)
		if (now_ns < l->held_threads.data[i].h.time_ns + HELD_NS)
			l->held_threads.data[kept++] = l->held_threads.data[i];
	l->held_threads.cnt = kept;
}

static bool is_settled(const struct tapir_late_mapping *late, uint64_t now_ns)
{
	return now_ns >= late->attached_ns + TAPIR_LATE_ATTACH_COMMIT_NS;
}

void tapir_late_attach__commit(struct tapir_late_attach *l, uint64_t now_ns, tapir_late_fn fn,
			       void *ctx)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->lates.cnt;
	     i++) /* all are compared with all: none is removed yet */
		if (is_settled(&l->lates.data[i], now_ns) && !was_held_until(l, &l->lates.data[i]))
			fn(ctx, &l->lates.data[i]);
	for (size_t i = 0; i < l->lates.cnt; i++) {
		if (is_settled(&l->lates.data[i], now_ns))
			free(l->lates.data[i].path);
		else
			l->lates.data[kept++] = l->lates.data[i];
	}
	l->lates.cnt = kept;
	expire_held(l, now_ns);
}

void tapir_late_attach__fini(struct tapir_late_attach *l)
{
	struct tapir_late_mapping *late;

	tapir_vec_for_each (late, &l->lates)
		free(late->path);
	tapir_vec__fini(&l->lates);
	tapir_vec__fini(&l->held_threads);
	tapir_map__fini(&l->exec_ns);
}
