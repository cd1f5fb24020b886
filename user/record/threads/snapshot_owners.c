// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Owners of locks as threads of a snapshot. Threads are copied one after the other, in several
 * looks: of two that hammer one mutex, each may have waited for the other, at different times.
 */
#include <errno.h>

#include "attach/thread_list.h"
#include "record/threads/snapshot_impl.h"

int tapir_process_copy__find_owners(struct tapir_process_copy *p)
{
	struct tapir_map tid_by_number = {};
	struct tapir_thread_copy *copy;
	int err = 0;

	tapir_vec_for_each (copy, &p->copies) {
		const struct tapir_rec_thread *thread = &copy->seen.thread;
		uint64_t *tid = tapir_map__put(
			&tid_by_number, tapir_number_of_thread(thread->tid, thread->ns_tid), NULL);

		if (tid)
			*tid = thread->tid;
		else
			err = -ENOMEM;
	}
	tapir_vec_for_each (copy, &p->copies) {
		const uint64_t *tid =
			copy->owner ? tapir_map__get(&tid_by_number, copy->owner) : NULL;

		if (tid)
			copy->owner_tid = (uint32_t)*tid;
	}
	tapir_map__fini(&tid_by_number);
	return err;
}

/* ---- chains --------------------------------------------------------------------------------- */

static int add_waiting(const struct tapir_process_copy *p, struct tapir_map *waiting)
{
	const struct tapir_thread_copy *copy;

	tapir_vec_for_each (copy, &p->copies)
		if (copy->owner_tid && !tapir_map__put(waiting, copy->seen.thread.tid, NULL))
			return -ENOMEM;
	return 0;
}

static bool is_link(const struct tapir_thread_copy *copy, const struct tapir_map *waiting)
{
	return copy->owner_tid && tapir_map__get(waiting, copy->owner_tid);
}

static bool has_links(const struct tapir_process_copy *p, const struct tapir_map *waiting)
{
	const struct tapir_thread_copy *copy;

	tapir_vec_for_each (copy, &p->copies)
		if (is_link(copy, waiting))
			return true;
	return false;
}

/*
 * A thread dump is of one moment, so its chains are. Its threads may have moved since: HotSpot
 * wakes one of those that wait for a monitor after 1 ms, 8 ms ... 1 s, to look at it again.
 */
static bool still_waits(const struct tapir_thread_copy *copy, const struct tapir_thread_list *list)
{
	const struct tapir_thread_seen *now;

	if (copy->is_owner_of_dump)
		return true;
	tapir_vec_for_each (now, &list->vec)
		if (now->thread.tid == copy->seen.thread.tid)
			return now->state == copy->seen.state &&
			       tapir_thread_seen__has_not_run(now, &copy->seen);
	return false;
}

static int recheck_owners(struct tapir_process_copy *p, const struct tapir_map *waiting,
			  struct tapir_programs *programs)
{
	struct tapir_thread_list list = {};
	struct tapir_thread_copy *copy;
	int err;

	if (!has_links(p, waiting))
		return 0;
	err = tapir_snapshot__list(programs, p->tgid, &list);
	tapir_vec_for_each (copy, &p->copies)
		if (is_link(copy, waiting) && !still_waits(copy, &list))
			copy->owner_tid = 0;
	tapir_thread_list__fini(&list);
	return err;
}

int tapir_process_copies__check_chains(struct tapir_process_copy *processes, size_t cnt,
				       struct tapir_programs *programs)
{
	struct tapir_map waiting = {};
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++)
		err = add_waiting(&processes[i], &waiting);
	for (size_t i = 0; i < cnt && !err; i++)
		err = recheck_owners(&processes[i], &waiting, programs);
	tapir_map__fini(&waiting);
	return err;
}
