// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Snapshots of the threads of traced processes when a recording begins and ends. Named processes
 * are copied before any of their threads switches; at the end they are copied while programs and
 * targets are as they were, but no longer than a user who pressed Ctrl-C waits.
 */
#include "record/recording_impl.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "record/threads/snapshot.h"

#define BEGIN_MAX 4096 /* processes that are found by a rule */
#define NAMED_MAX 64   /* that are copied while the recording waits */

static bool wants_snapshots(const struct recording *r)
{
	/* Without programs, a snapshot has less; that is worth it where it is all that is asked. */
	return r->opts->with_switches && (!r->is_unprivileged || r->opts->snapshot_rounds);
}

static int take_snapshot(struct recording *r, const struct tapir_snapshot_opts *opts)
{
	struct tapir_snapshot *snapshot = NULL;
	int err = tapir_snapshot__start(opts, &snapshot);

	if (!err)
		r->running_cnt += tapir_snapshot__running_cnt(snapshot);
	if (err || tapir_vec__push(&r->snapshots, snapshot))
		return err;
	tapir_snapshot__free(snapshot);
	return -ENOMEM;
}

/*
 * Named processes are copied now, before any of their threads switches; processes that a rule
 * found, of which there may be hundreds, while the recording runs: a thread that switched before it
 * was copied is known by that.
 */
int tapir_recording__begin_snapshots(struct recording *r)
{
	bool are_named = r->rules.pids.cnt && r->rules.pids.cnt <= NAMED_MAX;
	struct tapir_pids tgids = {};
	struct tapir_snapshot_opts opts = {
		.sz = sizeof(opts),
		.programs = r->programs,
		.queue = r->queue,
		.round_cnt = r->opts->snapshot_rounds ? r->opts->snapshot_rounds : 1,
		.is_deferred = !are_named,
		.with_jvm_locks = r->opts->with_jvm_locks,
	};
	size_t left_cnt = 0;
	int err = 0;

	/*
	 * A program that tapir starts has no thread yet but the one that waits in tapir's own code.
	 */
	if (!wants_snapshots(r) || r->program)
		return 0;
	left_cnt = tapir_targets__list_live(r->targets, BEGIN_MAX, &tgids);
	if (left_cnt)
		tapir_warn("the threads of %zu processes are not in the snapshot at the start of "
			   "the recording: it holds %u",
			   left_cnt, BEGIN_MAX);
	opts.tgids = tgids.data;
	opts.tgid_cnt = tgids.cnt;
	if (tgids.cnt)
		err = take_snapshot(r, &opts);
	tapir_vec__fini(&tgids);
	return err;
}

/* While programs and targets are as they were; not more than a user who pressed Ctrl-C waits for.
 */
void tapir_recording__end_snapshots(struct recording *r)
{
	struct tapir_pids tgids = {};
	struct tapir_snapshot_opts opts = {
		.sz = sizeof(opts),
		.programs = r->programs,
		.queue = r->queue,
		.round_cnt = 1,
		.is_end = true,
		.with_jvm_locks = r->opts->with_jvm_locks,
	};
	size_t left_cnt;

	if (!wants_snapshots(r) || r->opts->snapshot_rounds)
		return;
	left_cnt = tapir_targets__list_live(r->targets, NAMED_MAX, &tgids);
	if (left_cnt)
		tapir_info(
			"the snapshot at the end has the threads of %u processes; %zu others are "
			"not in it",
			NAMED_MAX, left_cnt);
	opts.tgids = tgids.data;
	opts.tgid_cnt = tgids.cnt;
	if (tgids.cnt && take_snapshot(r, &opts))
		tapir_warn("no snapshot of threads at the end of the recording: out of memory");
	tapir_vec__fini(&tgids);
}

void tapir_recording__free_snapshots(struct recording *r)
{
	struct tapir_snapshot **snapshot;

	tapir_vec_for_each (snapshot, &r->snapshots)
		tapir_snapshot__free(*snapshot);
	tapir_vec__fini(&r->snapshots);
}
