// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A list of processes and a thread that does what is due. An attempt may take seconds and is made
 * without the lock: the list may move in the meantime, so a process is searched again by its pid
 * and start, and may be gone.
 *
 * Failures differ in what they promise. One that starts, or is stopped, is tried without an end;
 * one that does not answer a few times; where no library can be loaded, the stream is taken.
 */
#include "runtime/dotnet/lanes/dotnet_lanes.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "runtime/dotnet/dotnet.h"
#include "runtime/dotnet/dotnet_assembly.h"
#include "runtime/dotnet/dotnet_attach.h"
#include "runtime/dotnet/lanes/dotnet_specs.h"

#define ATTACH_NS      (2 * TAPIR_NS_PER_SEC) /* for one try; a young process may have no socket yet */
#define OPEN_NS	       (2 * TAPIR_NS_PER_SEC) /* from the loading to the lane */
#define FOLLOW_NS      TAPIR_NS_PER_SEC /* from the lane to its first event; then later ones come */
#define FIRST_WAIT_NS  (10 * TAPIR_NS_PER_MS)
#define MAX_WAIT_NS    (500 * TAPIR_NS_PER_MS)
#define SILENT_TRIES   3
#define SILENT_WAIT_NS (20 * TAPIR_NS_PER_SEC) /* after them, where processes are not named */
#define ASSEMBLY_NS    (100 * TAPIR_NS_PER_MS) /* one is loaded, then what it needs */
#define TELL_NS	       TAPIR_NS_PER_SEC	       /* a missing answer is reported after this time */
#define START_WAIT_NS                                                                              \
	(2 * TAPIR_NS_PER_MS) /* between checks for the lane of a process that tapir started */
#define START_NS (5 * TAPIR_NS_PER_SEC) /* for its runtime to begin */

enum state { LOOK, WAITING, TRYING, ATTACHED, FAILED };

struct process {
	uint32_t tgid;
	enum state state;
	bool was_tried, is_forgotten;
	bool is_no_dotnet; /* when it was inspected */
	bool is_streamed;  /* by the runtime's own stream */
	bool takes_none;   /* no library: compiled ahead of time */
	bool is_stale;	   /* another program is in it since it is TRYING */
	bool was_reported; /* that it does not answer */
	unsigned silent_cnt;
	uint64_t seen_ns, next_ns, wait_ns;
	char why[160]; /* the last try failed */
	int err;       /* of the last look or try */
};

struct tapir_dotnet_lanes {
	struct tapir_dotnet_lanes_opts opts;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct tapir_vec(struct process) all;
	pthread_t thread;
	size_t attached_cnt;
	bool has_thread, has_ended;
	bool was_late_reported;
	int cancel_fd;
};

/* ---- the list; lock held -------------------------------------------------------------------- */

static struct process *find_process(struct tapir_dotnet_lanes *l, uint32_t tgid)
{
	struct process *p;

	tapir_vec_for_each (p, &l->all)
		if (p->tgid == tgid && !p->is_forgotten)
			return p;
	return NULL;
}

static bool is_undeclared(const struct process *p)
{
	return p->state == WAITING && p->err == -ENODATA && !p->is_forgotten;
}

static struct process *next_due(struct tapir_dotnet_lanes *l)
{
	struct process *p, *next = NULL;

	tapir_vec_for_each (p, &l->all)
		if (p->state <= WAITING && (!next || p->next_ns < next->next_ns))
			next = p;
	return next;
}

static void drop_forgotten(struct tapir_dotnet_lanes *l)
{
	for (size_t i = 0; i < l->all.cnt; i++)
		if (l->all.data[i].is_forgotten)
			l->all.data[i--] = l->all.data[--l->all.cnt];
}

static void wait_for_change(struct tapir_dotnet_lanes *l, const struct process *next)
{
	struct timespec until = tapir_clock__timespec(next ? next->next_ns : 0);

	if (next)
		pthread_cond_timedwait(&l->changed, &l->lock, &until);
	else
		pthread_cond_wait(&l->changed, &l->lock);
}

/* ---- one process; no lock ------------------------------------------------------------------- */

static const char *reason(int err)
{
	return tapir_diag__cnt() ? tapir_diag__line(0) : tapir_errno__text(err);
}

static void warn(const struct tapir_dotnet_lanes *l, uint32_t tgid, const char *why)
{
	if (l->opts.are_named)
		tapir_warn("process %u: .NET events are not recorded: %s", tgid, why);
	else
		tapir_debug("process %u: no .NET events: %s", tgid, why);
}

/* For a process that is tried again, or was until the end: once, and not if it is only starting. */
static void report_waiting(const struct tapir_dotnet_lanes *l, struct process *p)
{
	if (p->was_reported || !l->opts.are_named ||
	    tapir_clock__now_ns() - p->seen_ns < (p->why[0] && l->has_ended ? 0 : TELL_NS))
		return;
	p->was_reported = true;
	tapir_warn("process %u: .NET events are not recorded%s: %s", p->tgid,
		   l->has_ended ? "" : " yet", p->why[0] ? p->why : "its runtime does not answer");
}

static bool is_cancelled(struct tapir_dotnet_lanes *l)
{
	bool has_ended;

	pthread_mutex_lock(&l->lock);
	has_ended = l->has_ended;
	pthread_mutex_unlock(&l->lock);
	return has_ended;
}

#define TAKES_NO_PROFILER "it was compiled ahead of time (NativeAOT) and cannot load a profiler"

static bool has_lane(struct tapir_dotnet_lanes *l, uint32_t tgid)
{
	return tapir_ring_reader__has_key(l->opts.rings, tgid, l->opts.key) ||
	       (tapir_ring_reader__add(l->opts.rings, tgid) > 0 &&
		tapir_ring_reader__has_key(l->opts.rings, tgid, l->opts.key));
}

/* The library creates the lane at once, or, in a process that is starting, soon. */
static int await_lane(struct tapir_dotnet_lanes *l, uint32_t tgid)
{
	uint64_t end_ns = tapir_clock__now_ns() + OPEN_NS;

	while (!has_lane(l, tgid)) {
		if (is_cancelled(l))
			return -ECANCELED;
		if (kill((pid_t)tgid, 0) && errno == ESRCH)
			return -ESRCH;
		if (tapir_clock__now_ns() >= end_ns)
			return tapir_diag__fail(
				-ETIMEDOUT,
				"cannot attach to .NET in process %u: the library was loaded but opened no ring lane",
				tgid);
		usleep(1000);
	}
	end_ns = tapir_clock__now_ns() + FOLLOW_NS;
	while (!tapir_ring_reader__is_applied(l->opts.rings, tgid, l->opts.key) &&
	       !is_cancelled(l) && tapir_clock__now_ns() < end_ns)
		usleep(1000);
	return 0;
}

/* Returns true for failures that another try, or a stream, might overcome. */
static bool may_stream(const struct tapir_dotnet_lanes *l, int err)
{
	return l->opts.streams && err != -EINPROGRESS && err != -EAGAIN && err != -ETIMEDOUT &&
	       err != -ESRCH && err != -ECANCELED && err != -ENOENT && err != -EPERM &&
	       err != -EMFILE && err != -ENFILE;
}

/* If no library was to be loaded at all, there is nothing to explain. */
static int fall_back(struct tapir_dotnet_lanes *l, uint32_t tgid, const char *why)
{
	struct tapir_str said = {};
	int err;

	tapir_str__adds(&said, why);
	tapir_diag__clear();
	err = tapir_dotnet_streams__open(l->opts.streams, tgid, l->cancel_fd);
	if (!err && *why && l->opts.are_named)
		tapir_warn(
			"process %u: events come from the runtime's stream, with managed frames only (NativeAOT: none); buffer overflows are counted: %s",
			tgid, said.data ? said.data : "");
	tapir_str__fini(&said);
	return err;
}

/* Once: what holds for one process of a tree holds for most of them. By the thread alone. */
static void report_late(struct tapir_dotnet_lanes *l, uint32_t tgid, const char *why)
{
	if (l->was_late_reported)
		return;
	l->was_late_reported = true;
	tapir_warn("process %u: its first .NET events may be missing, because tapir attached "
		   "after its start: %s",
		   tgid, why);
}

static void report_late_library(struct tapir_dotnet_lanes *l, uint32_t tgid, bool was_visible)
{
	if (!l->opts.start_path && l->opts.start_why)
		report_late(l, tgid, l->opts.start_why);
	else if (l->opts.start_path)
		report_late(l, tgid,
			    was_visible ? "its runtime did not load tapir's library at startup"
					: "its root directory does not contain tapir's library");
}

static int try_to_attach(struct tapir_dotnet_lanes *l, uint32_t tgid, uint64_t seen_ns)
{
	const struct tapir_dotnet_opts opts = {
		.tgid = tgid, .cancel_fd = l->cancel_fd, .timeout_ns = ATTACH_NS};
	const struct tapir_dotnet_profiler profiler = {l->opts.library, l->opts.library_bytes,
						       l->opts.key};
	bool is_visible = l->opts.start_path && tapir_dotnet__sees(tgid, l->opts.start_path);
	int err;

	if (has_lane(l, tgid)) /* placed early */
		return await_lane(l, tgid);
	if (is_visible && tapir_clock__now_ns() - seen_ns < START_NS &&
	    tapir_dotnet__was_started_with(tgid, l->opts.key))
		return -EINPROGRESS;
	/* Loaded by a try that got no answer. */
	if (!tapir_dotnet__has_profiler(tgid, l->opts.key)) {
		err = tapir_dotnet__attach_profiler(&opts, &profiler);
		if (err)
			return err;
		report_late_library(l, tgid, is_visible);
	}
	return await_lane(l, tgid);
}

/* Notes that the process has a lane with the events for the names of code. */
static void note_telling(const struct tapir_dotnet_lanes *l, uint32_t tgid)
{
	const struct tapir_note_methods note = {
		.h = {TAPIR_NOTE_METHODS, TAPIR_CPU_UNKNOWN, sizeof(note), tapir_clock__now_ns()},
		.tgid = tgid,
	};

	if (l->opts.queue)
		(void)tapir_queue__post(l->opts.queue, &note.h, -1);
}

/* -ENODATA: by its assemblies, the process has no event source that is requested. */
static int check_declared(const struct tapir_dotnet_lanes *l, uint32_t tgid)
{
	const struct tapir_spec_list *specs = l->opts.declared;
	struct tapir_event_sources sources = {};
	bool is_declared = false;
	int err;

	if (!specs)
		return 0;
	err = tapir_dotnet_sources__add_process(&sources, tgid);
	for (size_t i = 0; i < specs->cnt; i++)
		is_declared |= tapir_dotnet_specs__is_for(specs->data[i]) &&
			       tapir_dotnet_specs__is_defined(specs->data[i], sources.all.data,
							      sources.all.cnt);
	tapir_event_sources__fini(&sources);
	return err || is_declared ? err : -ENODATA;
}

/* 1: by a lane; 2: by a stream. */
static int bring_in(struct tapir_dotnet_lanes *l, uint32_t tgid, uint64_t seen_ns, bool takes_none)
{
	int err = check_declared(l, tgid);

	if (err)
		return err;
	if (!l->opts.rings || takes_none) {
		err = fall_back(l, tgid, takes_none && l->opts.rings ? TAKES_NO_PROFILER : "");
		if (!err && l->opts.start_why)
			report_late(l, tgid, l->opts.start_why);
		return err ? err : 2;
	}
	err = try_to_attach(l, tgid, seen_ns);
	if (!err)
		note_telling(l, tgid);
	if (!may_stream(l, err) || !err)
		return err ? err : 1;
	err = fall_back(l, tgid, reason(err));
	return err ? err : 2;
}

/* 1: attach to it; 2: request its stream; -errno: it could not be inspected. */
static int inspect_process(struct tapir_dotnet_lanes *l, uint32_t tgid)
{
	struct tapir_dotnet_info info;
	int is_dotnet = tapir_dotnet__inspect(tgid, &info);

	if (is_dotnet <= 0)
		return is_dotnet;
	if (info.kind != TAPIR_DOTNET_NATIVE_AOT)
		return 1;
	if (l->opts.streams)
		return 2;
	warn(l, tgid, TAKES_NO_PROFILER);
	return 0;
}

/* ---- the thread ------------------------------------------------------------------------------- */

/*
 * Returns true if the process is tried again. One that starts, is stopped, or for whose stream
 * there is no room yet is tried without an end. One that does not answer is tried a few times,
 * then, if it was not named, once in a while: a recording of hours by a rule does not wait for it.
 */
static bool may_try_again(const struct tapir_dotnet_lanes *l, struct process *p, int err)
{
	if (err == -EINPROGRESS)
		p->wait_ns = START_WAIT_NS;
	/* -ENOENT: it has no socket, or, where many start at once, none yet. */
	if (err == -ENOENT || (err == -ETIMEDOUT && ++p->silent_cnt >= SILENT_TRIES)) {
		p->wait_ns = SILENT_WAIT_NS;
		return !l->opts.are_named;
	}
	/* An assembly that it loads later may declare one: that is noticed. */
	if (err == -ENODATA)
		p->wait_ns = SILENT_WAIT_NS;
	return err == -ENODATA || err == -EINPROGRESS || err == -EAGAIN || err == -EUSERS ||
	       err == -ETIMEDOUT;
}

static void try_later(struct tapir_dotnet_lanes *l, struct process *p, int err)
{
	p->state = WAITING;
	p->next_ns = tapir_clock__now_ns() + p->wait_ns;
	p->wait_ns = p->wait_ns * 2 < MAX_WAIT_NS ? p->wait_ns * 2 : MAX_WAIT_NS;
	if (err == -EINPROGRESS)
		return;
	snprintf(p->why, sizeof(p->why), "%s", reason(err));
	report_waiting(l, p);
}

/* err: what bring_in returned. */
static void settle(struct tapir_dotnet_lanes *l, struct process *p, int err)
{
	p->was_tried = true;
	p->is_streamed = err == 2;
	err = err > 0 ? 0 : err;
	p->err = err;
	p->state = err ? FAILED : ATTACHED;
	l->attached_cnt += !err;
	if (p->is_stale) {
		p->is_stale = false;
		p->state = LOOK;
	} else if (err && may_try_again(l, p, err)) {
		try_later(l, p, err);
	} else if (err == -ECANCELED) {
		report_waiting(l, p);
	} else if (err && err != -ESRCH) {
		warn(l, p->tgid, reason(err));
	}
}

/* Lock held, but released in between: the list may move, so the process is found again. */
static void do_one(struct tapir_dotnet_lanes *l, struct process *p)
{
	uint32_t tgid = p->tgid;
	bool is_look = p->state == LOOK, takes_none = p->takes_none;
	uint64_t seen_ns = p->seen_ns;
	int result;

	p->state = TRYING;
	pthread_mutex_unlock(&l->lock);
	result = is_look ? inspect_process(l, tgid) : bring_in(l, tgid, seen_ns, takes_none);
	pthread_mutex_lock(&l->lock);
	p = find_process(l, tgid);
	if (p && is_look && p->is_stale) {
		p->is_stale = false;
		p->state = LOOK;
	} else if (p && is_look && result > 0) {
		p->state = WAITING;
		p->takes_none = result == 2;
	} else if (p && is_look) {
		p->state = FAILED;
		p->was_tried = p->is_no_dotnet = true;
		p->err = result;
	} else if (p) {
		settle(l, p, result);
	}
	tapir_diag__clear();
}

static void *run_lanes(void *arg)
{
	struct tapir_dotnet_lanes *l = arg;

	pthread_mutex_lock(&l->lock);
	while (!l->has_ended) {
		struct process *p;

		drop_forgotten(l);
		p = next_due(l);
		if (p && p->next_ns <= tapir_clock__now_ns())
			do_one(l, p);
		else
			wait_for_change(l, p);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* ---- its callers -------------------------------------------------------------------------------- */

static void add_lane_process(struct tapir_dotnet_lanes *l, uint32_t tgid, enum state state)
{
	const struct process fresh = {.tgid = tgid,
				      .state = state,
				      .wait_ns = FIRST_WAIT_NS,
				      .seen_ns = tapir_clock__now_ns()};
	struct process *p;

	pthread_mutex_lock(&l->lock);
	p = find_process(l, tgid);
	if (!p)
		tapir_vec__push(&l->all, fresh);
	else if (state == WAITING && (p->state == LOOK || p->is_no_dotnet))
		*p = fresh;
	if (!l->has_thread && !l->has_ended)
		l->has_thread = !pthread_create(&l->thread, NULL, run_lanes, l);
	pthread_cond_signal(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

void tapir_dotnet_lanes__see(struct tapir_dotnet_lanes *l, uint32_t tgid)
{
	if (l)
		add_lane_process(l, tgid, WAITING);
}

void tapir_dotnet_lanes__see_assembly(struct tapir_dotnet_lanes *l, uint32_t tgid)
{
	uint64_t next_ns = tapir_clock__now_ns() + ASSEMBLY_NS;
	struct process *p;

	if (!l || !l->opts.declared)
		return;
	pthread_mutex_lock(&l->lock);
	p = find_process(l, tgid);
	if (p && is_undeclared(p) && p->next_ns > next_ns) {
		p->next_ns = next_ns;
		pthread_cond_signal(&l->changed);
	}
	pthread_mutex_unlock(&l->lock);
}

void tapir_dotnet_lanes__poll(struct tapir_dotnet_lanes *l, uint32_t tgid)
{
	if (l)
		add_lane_process(l, tgid, LOOK);
}

void tapir_dotnet_lanes__forget(struct tapir_dotnet_lanes *l, uint32_t tgid)
{
	struct process *p;

	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	p = find_process(l, tgid);
	if (p)
		p->is_forgotten = true;
	if (!l->has_thread)
		drop_forgotten(l);
	pthread_cond_signal(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

void tapir_dotnet_lanes__restart(struct tapir_dotnet_lanes *l, uint32_t tgid)
{
	struct process *p;

	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	p = find_process(l, tgid);
	if (p && p->state == TRYING)
		p->is_stale = true;
	else if (p && p->state > TRYING)
		p->state = LOOK;
	pthread_cond_signal(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

bool tapir_dotnet_lanes__are_settled(struct tapir_dotnet_lanes *l)
{
	const struct process *p;
	bool settled = true;

	if (!l)
		return true;
	pthread_mutex_lock(&l->lock);
	tapir_vec_for_each (p, &l->all)
		settled &= p->was_tried || p->is_forgotten;
	pthread_mutex_unlock(&l->lock);
	return settled;
}

bool tapir_dotnet_lanes__may_come(struct tapir_dotnet_lanes *l)
{
	const struct process *p;
	bool may = false;

	if (!l)
		return false;
	pthread_mutex_lock(&l->lock);
	tapir_vec_for_each (p, &l->all)
		may |= p->state < ATTACHED && !p->is_forgotten && !is_undeclared(p);
	pthread_mutex_unlock(&l->lock);
	return may;
}

size_t tapir_dotnet_lanes__undeclared_cnt(struct tapir_dotnet_lanes *l)
{
	const struct process *p;
	size_t cnt = 0;

	if (!l)
		return 0;
	pthread_mutex_lock(&l->lock);
	tapir_vec_for_each (p, &l->all)
		cnt += is_undeclared(p);
	pthread_mutex_unlock(&l->lock);
	return cnt;
}

size_t tapir_dotnet_lanes__attached_cnt(struct tapir_dotnet_lanes *l)
{
	size_t cnt;

	if (!l)
		return 0;
	pthread_mutex_lock(&l->lock);
	cnt = l->attached_cnt;
	pthread_mutex_unlock(&l->lock);
	return cnt;
}

int tapir_dotnet_lanes__error(struct tapir_dotnet_lanes *l, uint32_t tgid)
{
	const struct process *p;
	int err;

	if (!l)
		return 0;
	pthread_mutex_lock(&l->lock);
	p = find_process(l, tgid);
	err = p ? p->err : 0;
	pthread_mutex_unlock(&l->lock);
	return err;
}

void tapir_dotnet_lanes__add_attached(struct tapir_dotnet_lanes *l, struct tapir_dotnet_tgids *out)
{
	const struct process *p;

	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	tapir_vec_for_each (p, &l->all)
		if (p->state == ATTACHED && !p->is_forgotten && !p->is_streamed)
			tapir_vec__push(out, p->tgid);
	pthread_mutex_unlock(&l->lock);
}

/* ---- lifecycle ------------------------------------------------------------------------------------ */

static int init(struct tapir_dotnet_lanes *l, const struct tapir_dotnet_lanes_opts *opts)
{
	pthread_condattr_t attr;

	l->opts = *opts;
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->changed, &attr);
	pthread_condattr_destroy(&attr);
	l->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->cancel_fd < 0)
		return -errno;
	while (!l->opts.key)
		if (getrandom(&l->opts.key, sizeof(l->opts.key), 0) != sizeof(l->opts.key))
			return -EIO;
	return opts->rings ? tapir_ring_reader__own(opts->rings, l->opts.key) : 0;
}

int tapir_dotnet_lanes__start(const struct tapir_dotnet_lanes_opts *opts,
			      struct tapir_dotnet_lanes **out)
{
	struct tapir_dotnet_lanes *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	err = init(l, opts);
	if (err)
		tapir_dotnet_lanes__free(l);
	else
		*out = l;
	return err;
}

void tapir_dotnet_lanes__stop(struct tapir_dotnet_lanes *l)
{
	struct process *p;

	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->has_ended = true;
	pthread_cond_signal(&l->changed);
	pthread_mutex_unlock(&l->lock);
	eventfd_write(l->cancel_fd, 1);
	if (l->has_thread)
		pthread_join(l->thread, NULL);
	l->has_thread = false;
	tapir_vec_for_each (p, &l->all)
		if (p->state == WAITING && p->why[0] && !p->is_forgotten)
			report_waiting(l, p);
}

void tapir_dotnet_lanes__free(struct tapir_dotnet_lanes *l)
{
	if (!l)
		return;
	tapir_dotnet_lanes__stop(l);
	tapir_vec__fini(&l->all);
	tapir_guard__fd(&l->cancel_fd);
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
