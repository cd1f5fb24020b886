// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Drains all lanes in rounds under one lock, which threads that add processes share. What may take
 * long (finding a process's lanes in /proc, the wait between rounds) happens without it.
 */
#include "attach/rings/ring_reader_impl.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/ring_find.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "attach/rings/ring_drain.h"
#include "attach/rings/ring_limits.h"
#include "attach/rings/ring_idle.h"
#include "attach/rings/ring_select.h"

#define WAITED_FOR_MS 1 /* where threads wait for room */
#define LOSSES_NS     TAPIR_NS_PER_SEC
#define CHILD_MAX     TAPIR_RING_CHILDREN
#define WAKE_TGID     0ull

/* ---- lanes ------------------------------------------------------------------------------ */

static void close_lane(struct tapir_ring_reader *r, size_t idx)
{
	struct tapir_ring_reader_lane lane = r->lanes.data[idx];

	r->lanes.data[idx] = r->lanes.data[--r->lanes.cnt];
	r->ended.wanted_cnt += tapir_ring_process__wanted_cnt(lane.process);
	tapir_ring_process__finish(lane.process, !lane.has_ended);
	r->child_fired += tapir_ring_process__child_fired(lane.process);
	r->inherited += tapir_ring_process__inherited(lane.process);
	r->ended.event_cnt += tapir_ring_process__event_cnt(lane.process);
	r->ended.malformed_cnt += tapir_ring_process__malformed_cnt(lane.process);
	tapir_ring_process__close(lane.process);
	tapir_guard__fd(&lane.pid_fd);
	tapir_ring_limits__note_close(&r->limits, r->lanes.cnt);
}

static bool has_lane(const struct tapir_ring_reader *r, uint32_t tgid, uint64_t key)
{
	const struct tapir_ring_reader_lane *lane;

	tapir_vec_for_each (lane, &r->lanes)
		if (lane->tgid == tgid && tapir_ring_process__key(lane->process) == key)
			return true;
	return false;
}

static bool is_for_us(const struct tapir_ring_reader *r, const struct tapir_ring_lane *files)
{
	const uint64_t *key;

	tapir_vec_for_each (key, &r->private_keys)
		if (*key == files->key)
			return true;
	return !files->is_private;
}

static int start_lane(struct tapir_ring_reader *r, uint32_t tgid, struct tapir_ring_lane *files)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = tgid};
	struct tapir_ring_reader_lane lane = {.tgid = tgid};
	int err;

	lane.pid_fd = (int)syscall(SYS_pidfd_open, tgid, 0);
	if (lane.pid_fd < 0)
		return -errno;
	err = tapir_ring_process__open(&r->sink, tgid, files, &lane.process);
	if (err) {
		close(lane.pid_fd);
		return err;
	}
	if (!tapir_vec__push(&r->lanes, lane)) {
		tapir_ring_process__close(lane.process);
		close(lane.pid_fd);
		return -ENOMEM;
	}
	if (epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, lane.pid_fd, &event))
		tapir_debug("cannot wait for process %u to exit", tgid);
	eventfd_write(r->wake_fd, 1);
	return 0;
}

/* 1: opened; 0: it is open, another tracer's, or left out. */
static int open_lane(struct tapir_ring_reader *r, uint32_t tgid, struct tapir_ring_lane *files)
{
	enum tapir_ring_left_cause cause = TAPIR_RING_LEFT_FAILED;
	bool is_first = !tapir_ring_reader__has_any(r, tgid);
	int err = 0;

	if (!is_for_us(r, files) || has_lane(r, tgid, files->key))
		return 0;
	if (tapir_ring_limits__allow(&r->limits, tgid, r->lanes.cnt, &cause)) {
		err = start_lane(r, tgid, files);
		if (!err) {
			r->ended.lane_cnt++;
			r->ended.process_cnt +=
				tapir_ring_limits__note_open(&r->limits, tgid, files->key) &&
				is_first;
			return 1;
		}
		if (err == -EBUSY)
			cause = TAPIR_RING_LEFT_BUSY;
	}
	if (err != -ESRCH)
		tapir_ring_limits__leave_out(&r->limits, tgid, files, cause, err);
	return 0;
}

/* Another program is in the process now (exec), or the library was unloaded. */
static void close_stale_lanes(struct tapir_ring_reader *r, uint32_t tgid,
			      const struct tapir_ring_lanes *offered)
{
	struct tapir_ring_reader_lane *lane;

	tapir_vec_for_each (lane, &r->lanes) {
		const struct tapir_ring_lane *files;
		bool is_there = lane->tgid != tgid;

		tapir_vec_for_each (files, &offered->all)
			is_there |= files->key == tapir_ring_process__key(lane->process);
		lane->has_ended |= !is_there;
	}
}

/*
 * is_child: a child that was not requested by name; only lanes are added that have inherited from
 * an open one.
 */
static int add_ring_process(struct tapir_ring_reader *r, uint32_t tgid, bool is_child)
{
	struct tapir_ring_lanes offered;
	struct tapir_ring_lane *files;
	int err = tapir_ring_lanes__find(tgid, &offered), cnt = 0;

	if (err)
		return err;
	if (offered.refused)
		tapir_debug("process %u: a file with the name of a ring lane is %s", tgid,
			    offered.refused);
	tapir_ring_reader__lock(r);
	if (offered.other_version && !is_child)
		tapir_ring_limits__refuse_version(&r->limits, tgid, offered.other_version);
	close_stale_lanes(r, tgid, &offered);
	tapir_vec_for_each (files, &offered.all) {
		if (is_child && !tapir_ring_control__is_for_us(files->ctl_fd, r->sink.session_id))
			continue;
		cnt += open_lane(r, tgid, files);
	}
	pthread_mutex_unlock(&r->lock);
	tapir_ring_lanes__fini(&offered);
	return cnt;
}

int tapir_ring_reader__add(struct tapir_ring_reader *r, uint32_t tgid)
{
	return add_ring_process(r, tgid, false);
}

/* ---- rounds ----------------------------------------------------------------------------- */

/* Once: it may be opened again, and the process may continue like this. */
static void warn_ended(struct tapir_ring_reader *r, uint32_t tgid)
{
	if (tapir_ring_limits__open_cnt(&r->limits, tgid) > 1)
		return;
	tapir_warn("process %u considered this recorder dead: its ring lane ends", tgid);
}

static void note_children(struct tapir_ring_reader *r, struct tapir_ring_process *process)
{
	uint32_t pids[CHILD_MAX];
	unsigned cnt = tapir_ring_process__children(process, pids, CHILD_MAX);

	for (unsigned i = 0; i < cnt && r->children.cnt < CHILD_MAX; i++)
		tapir_vec__push(&r->children, pids[i]);
}

/* Without the lock. What the parent wrote there may be any process. */
static void open_children(struct tapir_ring_reader *r)
{
	int mark = tapir_diag__cnt();

	for (size_t i = 0; i < r->children.cnt; i++)
		add_ring_process(r, r->children.data[i], true);
	r->children.cnt = 0;
	tapir_diag__rewind(mark);
}

struct drained {
	bool any;
	bool again; /* come again without sleeping */
};

static struct drained drain_all(struct tapir_ring_reader *r)
{
	struct drained all = {};

	for (size_t i = 0; i < r->lanes.cnt; i++) {
		struct tapir_ring_reader_lane *lane = &r->lanes.data[i];
		struct tapir_ring_drained drained = {};

		if (!lane->has_ended)
			drained = tapir_ring_process__drain(lane->process);
		if (drained.is_ended)
			warn_ended(r, lane->tgid);
		if (r->sink.with_children)
			note_children(r, lane->process);
		all.any |= drained.any;
		all.again |= drained.is_filling || drained.is_lagging || drained.has_more;
		if (lane->has_ended || drained.is_ended)
			close_lane(r, i--);
	}
	return all;
}

/* A tapir_ring_cpu_fn, under the lock. */
static uint64_t cpu_of_lanes(void *ctx)
{
	const struct tapir_ring_reader *r = ctx;
	const struct tapir_ring_reader_lane *lane;
	uint64_t sum_ns = 0;

	tapir_vec_for_each (lane, &r->lanes) {
		clockid_t clock;
		struct timespec ts;

		if (clock_getcpuclockid((pid_t)lane->tgid, &clock) || clock_gettime(clock, &ts))
			return UINT64_MAX;
		sum_ns += (uint64_t)ts.tv_sec * TAPIR_NS_PER_SEC + (uint64_t)ts.tv_nsec;
	}
	return sum_ns;
}

/* Returns how long to wait after a round, in ms; under the lock. -1: until there is a lane. */
static int wait_after(struct tapir_ring_reader *r, struct drained drained)
{
	int wait_ms;

	if (drained.again)
		return 0;
	if (!r->lanes.cnt)
		return -1;
	wait_ms = tapir_ring_idle__after(&r->idle, drained.any, cpu_of_lanes, r);
	return r->sink.wait_ms ? WAITED_FOR_MS : wait_ms;
}

static void report_losses(struct tapir_ring_reader *r, uint64_t *next_ns)
{
	struct tapir_ring_reader_lane *lane;
	uint64_t now_ns = tapir_clock__now_ns();

	if (now_ns < *next_ns)
		return;
	tapir_vec_for_each (lane, &r->lanes)
		tapir_ring_process__report_losses(lane->process);
	*next_ns = now_ns + LOSSES_NS;
}

/* A thread that runs between the question and the wait finds that we are asleep, and wakes us. */
static int wait_for(struct tapir_ring_reader *r, struct epoll_event *events, int max, int wait_ms)
{
	int cnt;

	if (wait_ms == TAPIR_RING_SLEEP_MS) {
		atomic_store(&r->is_asleep, true);
		if (tapir_ring_idle__has_ended(&r->idle))
			wait_ms = 0;
	}
	cnt = epoll_wait(r->epoll_fd, events, max, wait_ms);
	atomic_store(&r->is_asleep, false);
	return cnt;
}

static void note_ends(struct tapir_ring_reader *r, int wait_ms)
{
	struct epoll_event events[16];
	int cnt = wait_for(r, events, 16, wait_ms);
	struct tapir_ring_reader_lane *lane;
	eventfd_t wakes;

	if (cnt <= 0)
		return;
	(void)eventfd_read(r->wake_fd, &wakes);
	tapir_ring_reader__lock(r);
	for (int i = 0; i < cnt; i++) {
		tapir_vec_for_each (lane, &r->lanes)
			lane->has_ended |= lane->tgid == events[i].data.u64;
		tapir_ring_limits__forget(&r->limits, (uint32_t)events[i].data.u64);
	}
	pthread_mutex_unlock(&r->lock);
}

static void *run_ring_reader(void *arg)
{
	struct tapir_ring_reader *r = arg;
	uint64_t next_losses_ns = 0;

	/*
	 * The priority of the drain thread, for the same reason: what this thread is too late for
	 * is lost in the process.
	 */
	setpriority(PRIO_PROCESS, (id_t)gettid(), -15);
	while (!atomic_load(&r->stop)) {
		struct drained drained;
		int wait_ms;

		pthread_mutex_lock(&r->lock);
		drained = drain_all(r);
		report_losses(r, &next_losses_ns);
		wait_ms = wait_after(r, drained);
		pthread_mutex_unlock(&r->lock);
		open_children(r);
		if (drained.again && atomic_load(&r->waiting_cnt))
			usleep(100);
		note_ends(r, wait_ms);
	}
	return NULL;
}

void tapir_ring_reader__sleep_by(struct tapir_ring_reader *r, volatile uint32_t *asleep)
{
	tapir_ring_reader__lock(r);
	r->idle = (struct tapir_ring_idle){.asleep = asleep};
	pthread_mutex_unlock(&r->lock);
	eventfd_write(r->wake_fd, 1);
}

void tapir_ring_reader__wake(struct tapir_ring_reader *r)
{
	if (atomic_load(&r->is_asleep))
		eventfd_write(r->wake_fd, 1);
}

/* ---- lifecycle -------------------------------------------------------------------------- */

/* Not that of another recording, of this process or of one that had its pid. */
static uint64_t make_session_id(void)
{
	uint64_t id = (uint64_t)getpid() << 32 | (uint32_t)(tapir_clock__now_ns() >> 10);

	return id ? id : 1;
}

int tapir_ring_reader__start(const struct tapir_ring_reader_opts *opts,
			     struct tapir_ring_reader **out)
{
	struct tapir_ring_reader *r = calloc(1, sizeof(*r));
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = WAKE_TGID};
	int err = 0;

	if (!r)
		return -ENOMEM;
	pthread_mutex_init(&r->lock, NULL);
	r->start_ns = tapir_clock__now_ns();
	r->sink = (struct tapir_ring_sink){
		.queue = opts->queue,
		.specs = opts->specs,
		.name_spec = opts->name_spec,
		.budget_spec = opts->budget_spec,
		.with_stack = opts->with_stack,
		.with_every_stack = opts->with_every_stack,
		.rate_hz = opts->rate_hz,
		.private_request = opts->private_request,
		.with_children = opts->with_children,
		.has_probes = opts->has_probes,
		.session_id = make_session_id(),
		.start_ns = r->start_ns,
		.with_probes = opts->with_probes,
		.wait_ms = opts->wait_ms,
		.cover = opts->cover,
		.spec_matched = calloc(opts->specs->cnt + 1, sizeof(bool)),
	};
	tapir_ring_limits__init(&r->limits, opts->queue, r->start_ns);
	tapir_ring_kinds__init(&r->sink.kinds, TAPIR_RING_PROBE_ID_MIN, TAPIR_RING_PROBE_ID_MAX);
	r->request = malloc(sizeof(*r->request));
	if (r->request)
		tapir_ring_select__fill(opts->specs, r->request);
	r->sink.request = r->request;
	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!r->sink.spec_matched || !r->request)
		err = -ENOMEM;
	else if (r->epoll_fd < 0 || r->wake_fd < 0 ||
		 epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, r->wake_fd, &event))
		err = -errno;
	else
		/*
		 * The thread owns all of this from its start on, except what the lock protects; no
		 * lock is needed before.
		 */
		err = -pthread_create(&r->thread, NULL, run_ring_reader, r);
	r->is_running = !err;
	if (err)
		tapir_ring_reader__free(r);
	else
		*out = r;
	return err;
}

/* Reports events of forked children that were fired, but whose ring was not read. */
static void report_children(struct tapir_ring_reader *r)
{
	uint64_t now_ns = tapir_clock__now_ns();
	struct tapir_rec_loss loss = {
		.h = {TAPIR_REC_LOSS, TAPIR_CPU_UNKNOWN, sizeof(loss), now_ns},
		.cause = TAPIR_LOSS_RING_LANE_CHILD,
		.count = r->child_fired - r->inherited,
		.from_ns = r->start_ns,
		.until_ns = now_ns,
	};

	/* More than one a nanosecond: no count of anything, but what a process wrote there. */
	if (r->child_fired > r->inherited && loss.count < now_ns - r->start_ns)
		tapir_queue__post(r->sink.queue, &loss.h, -1);
}

void tapir_ring_reader__stop(struct tapir_ring_reader *r)
{
	struct tapir_ring_reader_lane *lane;

	if (!r || !r->is_running)
		return;
	atomic_store(&r->stop, true);
	eventfd_write(r->wake_fd, 1);
	pthread_join(r->thread, NULL);
	r->is_running = false;
	tapir_vec_for_each (lane, &r->lanes)
		tapir_ring_process__want_nothing(lane->process);
	while (r->lanes.cnt)
		close_lane(r, r->lanes.cnt - 1);
	report_children(r);
	free(r->sink.block);
	r->sink.block = NULL;
}

void tapir_ring_reader__free(struct tapir_ring_reader *r)
{
	if (!r)
		return;
	tapir_ring_reader__stop(r);
	tapir_vec__fini(&r->lanes);
	tapir_vec__fini(&r->private_keys);
	free(r->sink.spec_matched);
	tapir_seen_names__fini(&r->sink.seen);
	tapir_ring_kinds__fini(&r->sink.kinds);
	free(r->request);
	tapir_ring_limits__fini(&r->limits);
	tapir_vec__fini(&r->children);
	tapir_recbuf__fini(&r->sink.recbuf);
	tapir_guard__fd(&r->epoll_fd);
	tapir_guard__fd(&r->wake_fd);
	pthread_mutex_destroy(&r->lock);
	free(r);
}
