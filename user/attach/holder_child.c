// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tracer. The kernel has the list of its tracees; this file only stores which threads are held
 * until when, which are to be released, and how often each stops. System calls only: it is a copy
 * of a larger program. It sleeps in sigtimedwait(2): SIGCHLD for a stop, TAPIR_HOLDER_WAKE from its
 * parent.
 */
#include "attach/holder_impl.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEAVING_MAX  256
#define SEIZE_TRIES  10
#define NS_PER_SEC   1000000000ull
#define QUIET_NS     (2 * NS_PER_SEC) /* no thread was held for this long */
/* Stops in a second that are worth their price, of a thread and of all; and in any case. */
#define THREAD_STOPS 64
#define ALL_STOPS    200
#define COSTLY_STOPS 500
#define COUNTERS     1024 /* a power of two */
#define OPTIONS                                                                                    \
	(PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE)

/* A thread that is stopped on tapir's behalf. */
struct kept {
	pid_t tid;
	pid_t awaits; /* it continues, and asks again, when this one was released; 0: see its hold
		       */
	int signal;   /* continues with it */
	bool is_owed; /* the signal that was to stop it is still to come */
	uint64_t until_ns;
};

/* One thread per slot: two with the same slot replace each other. */
struct counter {
	pid_t tid;
	unsigned cnt;
	uint64_t since_ns;
};

static struct {
	struct tapir_holds *holds;
	struct tapir_holder_shared *shared;
	struct kept kept[TAPIR_HOLDS];
	unsigned kept_cnt;
	pid_t leaving[LEAVING_MAX]; /* released at their next stop */
	unsigned leaving_cnt;
	struct counter all_stops, signal_stops[COUNTERS];
	uint64_t held_ns; /* when a thread was held last */
	bool is_alone; /* the parent left a hold unserved: none is begun until it serves one again
			*/
	uint32_t served_cnt; /* when that was so */
} me;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- the holds, shared with BPF and the parent ------------------------------------------------ */

static struct tapir_hold *hold_of(pid_t tid)
{
	struct tapir_hold *hold = &me.holds->slots[(uint32_t)tid & (TAPIR_HOLDS - 1)];
	uint64_t word = __atomic_load_n(&hold->word, __ATOMIC_ACQUIRE);

	return word && tapir_hold__tid(word) == (uint32_t)tid ? hold : NULL;
}

static void free_hold(pid_t tid)
{
	struct tapir_hold *hold = hold_of(tid);

	if (hold)
		__atomic_store_n(&hold->word, 0, __ATOMIC_RELEASE);
}

static bool is_done(pid_t tid)
{
	const struct tapir_hold *hold = hold_of(tid);

	return !hold ||
	       tapir_hold__state(__atomic_load_n(&hold->word, __ATOMIC_ACQUIRE)) == TAPIR_HOLD_DONE;
}

/* ---- releasing a stopped thread ------------------------------------------------------------- */

static bool is_leaving(pid_t tid)
{
	for (unsigned i = 0; i < me.leaving_cnt; i++)
		if (me.leaving[i] == tid)
			return true;
	return false;
}

static void stay(pid_t tid)
{
	for (unsigned i = 0; i < me.leaving_cnt; i++)
		if (me.leaving[i] == tid)
			me.leaving[i--] = me.leaving[--me.leaving_cnt];
}

static void release_who_awaits(pid_t tid);

/* A thread in a group stop stays stopped when it is released. */
static void detach(pid_t tid, int signal)
{
	stay(tid);
	if (ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)signal) && errno != ESRCH)
		_exit(1); /* the end of its tracer resumes what nothing else can */
	release_who_awaits(tid);
}

/* Counts this stop; returns how many there were, with it, since the current second began. */
static unsigned count_stop(struct counter *c, pid_t tid, uint64_t now)
{
	if (c->tid != tid || now - c->since_ns > NS_PER_SEC)
		*c = (struct counter){.tid = tid, .since_ns = now};
	return ++c->cnt;
}

/*
 * A stop costs tens of microseconds: null checks that a runtime leaves to the hardware, or a build
 * of short processes, stop thousands of times per second. If nothing new was mapped for a while,
 * such a thread is released, with its children; files that they map later are not held, but gaps.
 */
static bool is_too_dear(pid_t tid, int signal)
{
	uint64_t now = now_ns();
	unsigned all = count_stop(&me.all_stops, 0, now), own = 0;

	if (signal)
		own = count_stop(&me.signal_stops[(unsigned)tid & (COUNTERS - 1)], tid, now);
	if (own >= COSTLY_STOPS)
		return true;
	return now - me.held_ns > QUIET_NS && (own >= THREAD_STOPS || all >= ALL_STOPS);
}

static void go_on(pid_t tid, int signal)
{
	if (is_leaving(tid) || is_too_dear(tid, signal))
		detach(tid, signal);
	else if (ptrace(PTRACE_CONT, tid, NULL, (void *)(long)signal) && errno != ESRCH)
		detach(tid, signal);
}

static void drop_kept(struct kept *k)
{
	*k = me.kept[--me.kept_cnt];
}

static void finish_hold(const struct kept *was)
{
	struct tapir_hold *hold = hold_of(was->tid);

	if (hold)
		__atomic_store_n(&hold->word,
				 was->is_owed ? tapir_hold__with(hold->word, TAPIR_HOLD_OWED) : 0,
				 __ATOMIC_RELEASE);
	go_on(was->tid, was->signal);
}

static void keep_tracee(struct kept k)
{
	k.until_ns = now_ns() + TAPIR_HOLD_MAX_NS;
	me.held_ns = now_ns();
	me.is_alone &= me.served_cnt == __atomic_load_n(&me.shared->served_cnt, __ATOMIC_ACQUIRE);
	if (me.kept_cnt < TAPIR_HOLDS && (!me.is_alone || k.awaits))
		me.kept[me.kept_cnt++] = k;
	else
		finish_hold(&k);
}

static void release_kept(struct kept *k)
{
	const struct kept was = *k;

	drop_kept(k);
	finish_hold(&was);
}

static void release_who_awaits(pid_t tid)
{
	for (unsigned i = 0; i < me.kept_cnt; i++)
		if (me.kept[i].awaits == tid) {
			tapir_holder_regs__restart_syscall(me.kept[i].tid);
			release_kept(&me.kept[i--]);
		}
}

/* A parent that is stopped, blocked on its terminal or hung costs one hold, not one for each file.
 */
static void note_unserved(const struct kept *k)
{
	if (k->awaits || is_done(k->tid))
		return;
	me.is_alone = true;
	me.served_cnt = __atomic_load_n(&me.shared->served_cnt, __ATOMIC_ACQUIRE);
}

static void release_done(void)
{
	uint64_t now = now_ns();

	for (unsigned i = 0; i < me.kept_cnt; i++) {
		struct kept *k = &me.kept[i];

		if (now >= k->until_ns || (!k->awaits && is_done(k->tid))) {
			note_unserved(k);
			release_kept(k);
			i = (unsigned)-1; /* others may have ended with it */
		}
	}
}

/*
 * ---- ptrace(2) of tracees by others
 * ----------------------------------------------------------------
 */

/* False: not a tracee, or gone. */
static bool interrupt_to_leave(pid_t tid)
{
	if (me.leaving_cnt == LEAVING_MAX || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return false;
	if (!is_leaving(tid))
		me.leaving[me.leaving_cnt++] = tid;
	return true;
}

static struct kept *find_kept(pid_t tid)
{
	for (unsigned i = 0; i < me.kept_cnt; i++)
		if (me.kept[i].tid == tid)
			return &me.kept[i];
	return NULL;
}

/*
 * caller was refused to trace a thread that may be a tracee: it is released, and the caller asks
 * again. 0: of a pid namespace with other ids; then all are released.
 */
static void serve_refused(struct kept caller, pid_t wanted)
{
	struct kept *k;

	if (!wanted || wanted == caller.tid) {
		tapir_holder_regs__restart_syscall(caller.tid);
		free_hold(caller.tid);
		detach(caller.tid, caller.signal);
		if (!wanted)
			_exit(0);
		return;
	}
	if (!interrupt_to_leave(wanted)) {
		finish_hold(&caller); /* it was not because of the holder */
		return;
	}
	caller.awaits = wanted;
	keep_tracee(caller);
	k = find_kept(wanted);
	if (k)
		release_kept(k);
}

/* ---- stops --------------------------------------------------------------------------------------- */

static bool is_from_kernel(pid_t tid)
{
	siginfo_t info = {};

	return !ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) && info.si_code == SI_KERNEL;
}

/* BPF requested this stop, or the first of several: holds the thread. False: not requested. */
static bool was_requested(pid_t tid, int signal)
{
	struct tapir_hold *hold = hold_of(tid);
	uint64_t word = hold ? __atomic_load_n(&hold->word, __ATOMIC_ACQUIRE) : 0;
	struct kept k = {.tid = tid, .signal = signal};
	bool is_its_signal;

	if (!word)
		return false;
	is_its_signal = signal && tapir_hold__signal(word) == signal && is_from_kernel(tid);
	if (tapir_hold__state(word) != TAPIR_HOLD_ASKED &&
	    tapir_hold__state(word) != TAPIR_HOLD_DONE) {
		if (!is_its_signal)
			return false;
		free_hold(tid);
		go_on(tid, 0);
		return true;
	}
	if (is_its_signal)
		k.signal = 0;
	k.is_owed = tapir_hold__signal(word) && !is_its_signal;
	if (tapir_hold__kind(word) == TAPIR_HOLD_PTRACE) {
		__atomic_store_n(&hold->word, tapir_hold__with(word, TAPIR_HOLD_STOPPED),
				 __ATOMIC_RELEASE);
		serve_refused(k, (pid_t)hold->arg);
		return true;
	}
	keep_tracee(k);
	/* Fails if the parent is done already: the next check of held threads finds that. */
	word = tapir_hold__with(word, TAPIR_HOLD_ASKED);
	__atomic_compare_exchange_n(&hold->word, &word, tapir_hold__with(word, TAPIR_HOLD_STOPPED),
				    false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	return true;
}

static bool is_synchronous(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
	       signal == SIGTRAP;
}

/*
 * A thread that an ignored signal woke is released: the next signal would wake it again, and a wait
 * with a timeout would restart each time.
 */
static void on_signal(pid_t tid, int signal)
{
	if (was_requested(tid, signal))
		return;
	if (!is_synchronous(signal) && tapir_holder_regs__restart_interrupted(tid, signal))
		detach(tid, signal);
	else
		go_on(tid, signal);
}

/* A thread that is new or was interrupted (SIGTRAP), or whose process was stopped by this signal.
 */
static void on_event_stop(pid_t tid, int signal)
{
	if (is_leaving(tid)) {
		tapir_holder_regs__restart_interrupted(tid, 0);
		detach(tid, 0);
	} else if (signal != SIGTRAP) {
		if (ptrace(PTRACE_LISTEN, tid, NULL, NULL) && errno != ESRCH)
			detach(tid, 0);
	} else {
		go_on(tid, 0);
	}
}

/* status: the signal, and above it the event (0: the signal is about to be delivered). */
static void on_stop(pid_t tid, int status)
{
	struct kept *k = find_kept(tid);

	if (k) { /* a leader whose id another thread took when it executed */
		drop_kept(k);
		free_hold(tid);
	}
	switch (status >> 8) {
	case 0:
		on_signal(tid, status);
		break;
	case PTRACE_EVENT_STOP:
		on_event_stop(tid, status & 0xff);
		break;
	case PTRACE_EVENT_EXEC:
		if (!was_requested(tid, 0))
			go_on(tid, 0);
		break;
	default:
		go_on(tid, 0);
	}
}

static void on_end(pid_t tid)
{
	struct kept *k = find_kept(tid);

	if (k)
		drop_kept(k);
	free_hold(tid);
	stay(tid);
	release_who_awaits(tid);
}

/* ---- the loop --------------------------------------------------------------------------------------- */

/*
 * Handles one that stopped or, with WEXITED, ended; wait(2) for WEXITED alone reports a tracee's
 * stops as well. 0: there is none; -1: there are no tracees left.
 */
static int handle_tracee(int which)
{
	siginfo_t info = {};

	if (waitid(P_ALL, 0, &info, which | __WALL | WNOHANG))
		return errno == EINTR ? 0 : -1;
	if (!info.si_pid)
		return 0;
	if (info.si_code == CLD_STOPPED || info.si_code == CLD_TRAPPED)
		on_stop(info.si_pid, info.si_status);
	else
		on_end(info.si_pid);
	return 1;
}

/*
 * Stops first: the parent of one that ends gets its signal when it is reaped, and the kernel
 * delivers that to another thread than the one the holder keeps stopped.
 */
static bool take_changes(void)
{
	int taken;

	do {
		while ((taken = handle_tracee(WSTOPPED)) > 0)
			;
		if (!taken)
			taken = handle_tracee(WEXITED);
	} while (taken > 0);
	return !taken;
}

static void take_detaches(void)
{
	for (unsigned i = 0; i < TAPIR_HOLDER_DETACHES; i++) {
		uint32_t *tid = &me.shared->detach[i];

		if (__atomic_load_n(tid, __ATOMIC_RELAXED))
			(void)interrupt_to_leave(
				(pid_t)__atomic_exchange_n(tid, 0, __ATOMIC_ACQUIRE));
	}
}

/* Until something happens, or the first hold has lasted long enough. */
static void sleep_until_change(const sigset_t *wake_signals)
{
	struct timespec wait = {};
	uint64_t now = now_ns(), until_ns = UINT64_MAX;

	for (unsigned i = 0; i < me.kept_cnt; i++)
		if (me.kept[i].until_ns < until_ns)
			until_ns = me.kept[i].until_ns;
	if (until_ns == UINT64_MAX) {
		sigwaitinfo(wake_signals, NULL);
	} else if (until_ns > now) {
		wait.tv_sec = (time_t)((until_ns - now) / 1000000000u);
		wait.tv_nsec = (long)((until_ns - now) % 1000000000u);
		sigtimedwait(wake_signals, NULL, &wait);
	}
}

/* No terminal, no signal but the last one, no file, and no longer there than our parent is. */
static void become_nobody(int report_fd)
{
	sigset_t all;

	prctl(PR_SET_NAME, "tapir-holder");
	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGCHLD, SIG_DFL);
	if (report_fd)
		syscall(SYS_close_range, 0u, (unsigned)report_fd - 1, 0u);
	syscall(SYS_close_range, (unsigned)report_fd + 1, ~0u, 0u);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != me.shared->parent)
		_exit(0);
}

/* Another tapir that traces it releases it when it sees that this one wants it. */
static int seize(pid_t tgid)
{
	const struct timespec moment = {.tv_nsec = 5 * 1000 * 1000};

	for (int try = 0; ptrace(PTRACE_SEIZE, tgid, NULL, (void *)OPTIONS); try++) {
		if (errno != EPERM || try == SEIZE_TRIES)
			return errno;
		nanosleep(&moment, NULL);
	}
	return 0;
}

void tapir_holder_child__run(struct tapir_holds *holds, struct tapir_holder_shared *shared,
			     pid_t tgid, int report_fd)
{
	sigset_t wake_signals;
	int report;

	me.holds = holds;
	me.shared = shared;
	me.held_ns = now_ns();
	become_nobody(report_fd);
	report = seize(tgid);
	if (write(report_fd, &report, sizeof(report)) != sizeof(report) || report)
		_exit(1);
	close(report_fd);
	sigemptyset(&wake_signals);
	sigaddset(&wake_signals, SIGCHLD);
	sigaddset(&wake_signals, TAPIR_HOLDER_WAKE);
	while (take_changes()) {
		take_detaches();
		release_done();
		sleep_until_change(&wake_signals);
	}
	_exit(0);
}
