// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording of one event source that ends when the collection does. The keywords are those of
 * Microsoft's dotnet-gcdump; a collection without objects is another one, which came before, and is
 * waited out. One tapir at a time lists a process's heap.
 */
#include "heap/heap_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "record/request.h"
#include "heap/heap_events.h"
#include "heap/heap_ops.h"
#include "heap/heap_trigger.h"

/* GC, Type, GCHeapDump, GCHeapCollect, GCHeapAndTypeNames: as Microsoft's dotnet-gcdump asks. */
#define SPEC		 TAPIR_HEAP_PROVIDER ":0x1980001:Informational"
/*
 * The same without GCHeapCollect, with GCHeapSurvivalAndMovement and what samples allocations:
 * ticks of the keyword GC, and from .NET 10 on AllocationSampling.
 */
#define FOLLOW_SPEC	 TAPIR_HEAP_PROVIDER ":0x80001580001:Verbose"
#define START_NS	 (30 * TAPIR_NS_PER_SEC) /* for the collection to begin and to mark */

#define HIGHEST_PRIORITY (-20)
#define LOCK_REST_US	 50000

struct watch {
	int end_fd;
	bool has_objects, has_ended;
	const struct tapir_heap_record_opts *opts;
	struct tapir_heap_trigger trigger; /* of what is followed first */
};

static uint16_t event_id_of(const struct tapir_catalog *catalog, const struct tapir_rec *rec)
{
	const struct tapir_rec_event *event = (const struct tapir_rec_event *)rec;
	const struct tapir_rec_probe *probe = tapir_catalog__probe(catalog, event->probe_id);
	struct tapir_probe_view about;

	if (!probe)
		return 0;
	tapir_probe_view__of(&probe->h, &about);
	return tapir_sv__is(about.provider, TAPIR_HEAP_PROVIDER) ? probe->event_id : 0;
}

/* Session thread. */
static int heap_on_record(void *ctx, const struct tapir_catalog *catalog,
			  const struct tapir_rec *rec)
{
	struct watch *w = ctx;
	uint16_t id = rec->type == TAPIR_REC_EVENT ? event_id_of(catalog, rec) : 0;
	int err = w->opts->on_record ? w->opts->on_record(w->opts->ctx, catalog, rec) : 0;

	if (err)
		return err;
	w->has_objects |= id == TAPIR_HEAP_OBJECTS;
	if (id != TAPIR_HEAP_GC_END || !w->has_objects || w->has_ended)
		return 0;
	w->has_ended = true;
	return eventfd_write(w->end_fd, 1) ? -errno : 0;
}

static int on_flush(void *ctx, enum tapir_session_flush when)
{
	(void)ctx;
	(void)when;
	return 0;
}

/* Control thread. */
static void on_ready(void *ctx, const struct tapir_recording_ready *ready)
{
	struct watch *w = ctx;

	(void)ready;
	if (w->trigger.after_ns && tapir_heap_trigger__start(&w->trigger))
		(void)eventfd_write(w->end_fd, 1);
}

static int run_heap_recording(struct tapir_recording_plan *plan,
			      const struct tapir_heap_record_opts *opts, uint64_t *lost_cnt)
{
	struct watch watch = {.end_fd = -1, .opts = opts};
	const struct tapir_heap_ops *heap;
	struct tapir_recording_result result = {};
	int is_one = tapir_heap_ops__find(opts->tgid, &heap), err, trigger_err;

	if (is_one <= 0 || !heap->collect)
		return is_one < 0
			       ? is_one
			       : tapir_diag__fail(-EOPNOTSUPP, "process %u cannot list its objects",
						  opts->tgid);
	watch.end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (watch.end_fd < 0)
		return tapir_diag__fail(-errno, "cannot make an eventfd: %s",
					tapir_errno__text(errno));
	watch.trigger = (struct tapir_heap_trigger){.tgid = opts->tgid,
						    .collect = heap->collect,
						    .after_ns = opts->follow_ns,
						    .timeout_ns = START_NS + opts->max_pause_ns,
						    .failed_fd = watch.end_fd};
	plan->opts.file = opts->file;
	/*
	 * While it walks its heap the runtime is stopped, and fires faster than a file is written:
	 * its thread waits for room instead of dropping objects, which would make the heap
	 * incomplete.
	 */
	plan->opts.ring_wait_ms = (uint32_t)(opts->max_pause_ns / TAPIR_NS_PER_MS);
	plan->opts.end_fd = watch.end_fd;
	plan->opts.has_end_fd = true;
	plan->opts.on_record = heap_on_record;
	plan->opts.on_flush = on_flush;
	plan->opts.on_ready = on_ready;
	plan->opts.ctx = &watch;
	err = tapir_recording__run(&plan->opts, &result);
	if (lost_cnt)
		*lost_cnt = result.stats.lost_cnt;
	trigger_err = tapir_heap_trigger__stop(&watch.trigger);
	close(watch.end_fd);
	return err ? err : trigger_err;
}

/*
 * The runtime names a type once while any session asks for names: two snapshots at a time would
 * each lack what the other has. The lock is on a file of the process in /proc, as peer_lock.h has
 * it, and on another file than that, which the recording may take.
 */
static int lock_process(uint32_t tgid, uint64_t timeout_ns, int *out)
{
	uint64_t end_ns = tapir_clock__now_ns() + timeout_ns;
	char path[40];
	tapir_autofd int fd = -1;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%u/auxv", tgid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		err = -errno;
	while (!err && flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			err = -errno;
		else if (tapir_clock__now_ns() >= end_ns)
			err = -EBUSY;
		else
			usleep(LOCK_REST_US);
	}
	if (err)
		return tapir_diag__fail(err, "cannot list the heap of process %u: %s", tgid,
					err == -EBUSY ? "another tapir is listing it"
						      : tapir_errno__text(err));
	*out = fd;
	fd = -1;
	return 0;
}

/*
 * All threads of the process wait while tapir does not come to its CPU: until then it comes first,
 * where it may. Threads of the recording have what this one has when they start.
 */
static int come_first(int priority)
{
	int before = getpriority(PRIO_PROCESS, 0);

	(void)setpriority(PRIO_PROCESS, 0, priority);
	return before;
}

static int record_heap(const struct tapir_heap_record_opts *opts, uint64_t *lost_cnt)
{
	struct tapir_request request = {
		.sz = sizeof(request),
		.has_no_default = true,
		.no_stack = !opts->follow_ns,
		.no_samples = true,
		.no_sched = true,
		.duration_ns = opts->follow_ns + START_NS + opts->max_pause_ns,
	};
	struct tapir_recording_plan plan = {};
	int err = -ENOMEM, before = come_first(HIGHEST_PRIORITY);

	if (tapir_vec__push(&request.rules.pids, opts->tgid) &&
	    tapir_vec__push(&request.specs, opts->follow_ns ? FOLLOW_SPEC : SPEC))
		err = tapir_request__plan(&request, &plan);
	if (!err)
		err = run_heap_recording(&plan, opts, lost_cnt);
	(void)come_first(before);
	tapir_recording_plan__fini(&plan);
	tapir_vec__fini(&request.rules.pids);
	tapir_vec__fini(&request.specs);
	return err;
}

int tapir_heap__record(const struct tapir_heap_record_opts *opts, uint64_t *lost_cnt)
{
	tapir_autofd int lock_fd = -1;
	int err = lock_process(opts->tgid, START_NS + opts->max_pause_ns, &lock_fd);

	return err ? err : record_heap(opts, lost_cnt);
}
