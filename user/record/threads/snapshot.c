// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chooses when a process is copied, and runs the thread that posts the copies: copying is short, so
 * that threads hardly move; walking and naming may take seconds and happens later.
 */
#include "record/threads/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/log.h"
#include "base/map.h"
#include "record/threads/lock_owners.h"
#include "record/threads/snapshot_impl.h"

#define MAX_COPIED_BYTES (512u << 20)

struct tapir_snapshot {
	struct tapir_snapshot_opts opts;
	uint32_t *tgids;
	struct tapir_process_copy *processes; /* as many as tgids; NULL where it is deferred */
	size_t room;
	int failed_err; /* of the first whose threads could not be listed */
	uint32_t failed_tgid;
	size_t failed_cnt, running_cnt;
	atomic_bool is_stopping;
	pthread_t thread;
	bool is_posting;
};

/* Threads that were copied while they waited for a lock get its owner by asking their runtime. */
static void ask_owners(struct tapir_process_copy *p)
{
	struct tapir_lock_waits waits = {};
	const struct tapir_lock_wait *wait;
	struct tapir_map owners = {};
	struct tapir_thread_copy *copy;

	for (size_t i = 0; tapir_runtimes[i]; i++)
		if (tapir_runtimes[i]->ask_owners)
			tapir_runtimes[i]->ask_owners(p->tgid, &waits);
	tapir_vec_for_each (wait, &waits) {
		uint64_t *owner = tapir_map__put(&owners, wait->tid, NULL);

		if (owner)
			*owner = wait->owner_tid;
	}
	tapir_vec_for_each (copy, &p->copies) {
		const struct tapir_rec_thread *thread = &copy->seen.thread;
		const uint64_t *owner = tapir_map__get(
			&owners, tapir_number_of_thread(thread->tid, thread->ns_tid));

		if (owner && copy->call && !copy->owner) {
			copy->owner = (uint32_t)*owner;
			copy->is_owner_of_dump = true;
		}
	}
	tapir_map__fini(&owners);
	tapir_vec__fini(&waits);
}

/* The process is left out; only a lack of memory is an error. */
static int copy_process(struct tapir_snapshot *s, uint32_t tgid, struct tapir_process_copy *out)
{
	int err;

	out->tgid = tgid;
	err = tapir_process_copy__take(out, s->opts.programs, s->opts.round_cnt, &s->room);
	if (!err && s->opts.with_jvm_locks && out->copies.cnt)
		ask_owners(out);
	if (!err)
		err = tapir_process_copy__find_owners(out);
	if (!err || err == -ENOMEM)
		return err;
	if (!s->failed_cnt++) {
		s->failed_err = err;
		s->failed_tgid = tgid;
	}
	return 0;
}

static void report_failures(const struct tapir_snapshot *s)
{
	char others[48] = "";

	if (!s->failed_cnt)
		return;
	if (s->failed_cnt > 1)
		snprintf(others, sizeof(others), " and of %zu other processes", s->failed_cnt - 1);
	tapir_warn("cannot list the threads of process %u%s: %s (threads that sleep throughout are "
		   "not in the recording)",
		   s->failed_tgid, others, tapir_errno__text(s->failed_err));
}

static int init_poster(const struct tapir_snapshot *s, struct tapir_poster *poster)
{
	int err;

	*poster = (struct tapir_poster){.queue = s->opts.queue,
					.tables = tapir_walk_tables__new(),
					.is_end = s->opts.is_end};
	err = tapir_lock_namers__init(&poster->locks);
	return poster->tables ? err : -ENOMEM;
}

static void fini_poster(struct tapir_poster *poster)
{
	tapir_walk_tables__free(poster->tables);
	tapir_lock_namers__fini(&poster->locks);
}

static void *post_copied(void *arg)
{
	struct tapir_snapshot *s = arg;
	struct tapir_poster poster;
	int err = init_poster(s, &poster);

	for (size_t i = 0; i < s->opts.tgid_cnt; i++) {
		if (!err)
			tapir_process_copy__post(&s->processes[i], &poster);
		tapir_process_copy__fini(&s->processes[i]); /* a recording may be long */
	}
	fini_poster(&poster);
	return NULL;
}

/* Posted one by one, processes are not checked for waits that were not at the same time. */
static void forget_elsewhere(struct tapir_process_copy *p)
{
	struct tapir_thread_copy *copy;

	tapir_vec_for_each (copy, &p->copies)
		if (copy->found.is_owner_elsewhere)
			copy->owner_tid = 0;
}

/* One process at a time: the copies of a whole machine would be large. */
static void *copy_and_post(void *arg)
{
	struct tapir_snapshot *s = arg;
	struct tapir_poster poster;
	int err = init_poster(s, &poster);
	size_t i;

	for (i = 0; i < s->opts.tgid_cnt && !err && !atomic_load(&s->is_stopping); i++) {
		struct tapir_process_copy process = {};

		s->room = MAX_COPIED_BYTES;
		err = copy_process(s, s->tgids[i], &process);
		forget_elsewhere(&process);
		if (!err)
			err = tapir_process_copies__check_chains(&process, 1, s->opts.programs);
		if (!err)
			tapir_process_copy__post(&process, &poster);
		tapir_process_copy__fini(&process);
	}
	report_failures(s);
	if (i < s->opts.tgid_cnt)
		tapir_info("the threads of %zu processes are not in the snapshot: the recording "
			   "ended before they were read",
			   s->opts.tgid_cnt - i);
	fini_poster(&poster);
	return NULL;
}

static size_t count_running(const struct tapir_process_copy *p)
{
	const struct tapir_thread_copy *copy;
	size_t cnt = 0;

	tapir_vec_for_each (copy, &p->copies)
		cnt += copy->has_moved || !copy->seen.state;
	return cnt;
}

static int copy_now(struct tapir_snapshot *s)
{
	int err = 0;

	s->processes = calloc(s->opts.tgid_cnt + 1, sizeof(*s->processes));
	if (!s->processes)
		return -ENOMEM;
	for (size_t i = 0; i < s->opts.tgid_cnt && !err; i++)
		err = copy_process(s, s->tgids[i], &s->processes[i]);
	for (size_t i = 0; i < s->opts.tgid_cnt; i++)
		s->running_cnt += count_running(&s->processes[i]);
	report_failures(s);
	if (!err)
		err = tapir_process_copies__check_chains(s->processes, s->opts.tgid_cnt,
							 s->opts.programs);
	return err;
}

static int start_thread(struct tapir_snapshot *s)
{
	const struct tapir_snapshot_opts *opts = &s->opts;
	int err = 0;

	s->tgids = malloc((opts->tgid_cnt + 1) * sizeof(*s->tgids));
	if (!s->tgids)
		return -ENOMEM;
	if (opts->tgid_cnt)
		memcpy(s->tgids, opts->tgids, opts->tgid_cnt * sizeof(*s->tgids));
	s->room = MAX_COPIED_BYTES;
	if (!opts->is_deferred)
		err = copy_now(s);
	if (!err)
		err = -pthread_create(&s->thread, NULL,
				      opts->is_deferred ? copy_and_post : post_copied, s);
	s->is_posting = !err;
	return err;
}

int tapir_snapshot__start(const struct tapir_snapshot_opts *opts, struct tapir_snapshot **out)
{
	struct tapir_snapshot *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	err = start_thread(s);
	if (err) {
		tapir_snapshot__free(s);
		return err;
	}
	*out = s;
	return 0;
}

size_t tapir_snapshot__running_cnt(const struct tapir_snapshot *s)
{
	return s->running_cnt;
}

void tapir_snapshot__free(struct tapir_snapshot *s)
{
	if (!s)
		return;
	atomic_store(&s->is_stopping, true);
	if (s->is_posting)
		pthread_join(s->thread, NULL);
	for (size_t i = 0; s->processes && i < s->opts.tgid_cnt; i++)
		tapir_process_copy__fini(&s->processes[i]);
	free(s->processes);
	free(s->tgids);
	free(s);
}
