/* SPDX-License-Identifier: MIT */
/*
 * coreclr_control.c - the control thread: waits at ctl->generation, opens and changes the session,
 * and ends it all when no tracer is left. It checks every TAPIR_RING_LIFE_NS without being woken.
 *
 * The runtime may run managed code on it (an EventSource is notified that it is enabled), so its
 * stack has the usual size, and it blocks only signals that a program handles for itself: neither
 * faults nor the real-time ones, with which the runtime stops threads for a collection.
 *
 * The end: StopSession; the gate is closed; no more destructors at thread exits; a second passes,
 * no thread is in ProviderCreated, and coreclr_quiescence.c has its proof; the lane is removed;
 * RequestProfilerDetach. Until then the library stays loaded and idle, sets TAPIR_RING_CTL_IDLE in
 * ctl, and keeps trying.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "../ring/ring_control.h"
#include "../ring/ring_sys.h"
#include "../ring/ring_writer.h"
#include "coreclr_publish.h"

#define STACK_BYTES   (1536ul * 1024)
#define SETTLE_NS     1000000000ull
#define IDLE_AFTER_NS 3000000000ull
#define STEP_NS	      50000000ull
#define FIRST_STEP_NS 1000000ull
#define FUTEX_SHARED  0
/* The runtime looks after this time, again after the same, then each 5 s; its least is 300. */
#define DETACH_MS     300u

static struct {
	pthread_t thread;
	uint32_t is_running;
	int turn; /* of the detach */
	uint64_t open_until_ns;
	const struct tapir_ring_ctl *ctl;
	struct plan {
		struct coreclr_session session;
		struct coreclr_wants wants;
	} * plan;
} control;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static void nap(uint64_t ns)
{
	struct timespec time = {.tv_nsec = (long)ns};

	ring_sys3(SYS_nanosleep, &time, 0, 0);
}

/* A little longer than the time between two checks for tracers: each wait is followed by one. */
static void wait_for_change(uint32_t seen)
{
	struct timespec time = {.tv_nsec = (long)(TAPIR_RING_LIFE_NS + TAPIR_RING_LIFE_NS / 32)};

	ring_sys4(SYS_futex, &control.ctl->generation, FUTEX_WAIT | FUTEX_SHARED, seen, &time);
}

/* ---- while tracers are there ---------------------------------------------------------------- */

/* 1: there is a session to work for, or there may be one. */
static int poll_sessions(int *had_session)
{
	struct plan *plan = control.plan;
	uint32_t unnamed;

	tapir_ring__check_life();
	coreclr_wants__collect(&plan->wants, control.ctl);
	*had_session |= plan->wants.session_cnt != 0;
	if (!plan->wants.session_cnt && (*had_session || now_ns() > control.open_until_ns))
		return 0;
	coreclr_publish__turn((int)plan->wants.publishes);
	/* Refused while the runtime starts: requested again when the wait has ended. */
	if (!coreclr_wants__are_equal(&plan->wants, &plan->session.wants))
		coreclr_session__change(&plan->session, &plan->wants);
	unnamed = plan->wants.has_glob ? coreclr_providers__unnamed_cnt() : 0;
	tapir_ring__report_unserved(plan->wants.left_cnt + unnamed);
	coreclr_publish__serve();
	coreclr_kinds__sweep();
	return 1;
}

static void serve_sessions(void)
{
	int had_session = 0;

	while (!coreclr_load(&coreclr.is_shut_down)) {
		uint32_t seen = coreclr_load_acquire(&control.ctl->generation);

		if (!poll_sessions(&had_session))
			return;
		if (coreclr_wants__are_equal(&control.plan->wants, &control.plan->session.wants))
			tapir_ring__report_applied(seen);
		wait_for_change(seen);
	}
}

/* ---- the end ---------------------------------------------------------------------------------- */

static void wait_until_quiet(void)
{
	uint64_t stopped_ns = now_ns();
	struct coreclr_quiescence *quiet = NULL;
	int has_reported_idle = 0;

	for (;;) {
		uint64_t since_ns = now_ns() - stopped_ns;

		if (!quiet)
			quiet = coreclr_quiescence__note();
		else if (coreclr_quiescence__is_proven(quiet) && since_ns >= SETTLE_NS &&
			 !__atomic_load_n(&coreclr.inside_cnt, __ATOMIC_SEQ_CST))
			break;
		if (since_ns >= IDLE_AFTER_NS && !has_reported_idle) {
			tapir_ring__report_idle();
			has_reported_idle = 1;
		}
		nap(has_reported_idle ? TAPIR_RING_LIFE_NS : STEP_NS);
		if (coreclr_load(&coreclr.is_shut_down))
			break;
	}
	coreclr_quiescence__free(quiet);
}

static void take_lane_down(void)
{
	coreclr_session__stop(&control.plan->session);
	__atomic_store_n(coreclr.gate, 0, __ATOMIC_SEQ_CST); /* before inside_cnt is read */
	tapir_ring__retire();
	wait_until_quiet();
	if (coreclr_load(&coreclr.is_shut_down))
		return;
	control.ctl = NULL;
	coreclr_wakeup__at(NULL);
	coreclr_repair__stop();
	coreclr_publish__end();
	tapir_ring__fini();
	coreclr_memory__fini();
	ring_sys3(SYS_munmap, control.plan, sizeof(*control.plan), 0);
	control.turn = coreclr_detach_lock__take();
	if (coreclr_info__request_detach(coreclr.info, DETACH_MS) < 0)
		coreclr_detach_lock__release(control.turn);
}

static void *run_control_thread(void *unused)
{
	(void)unused;
	/* Else it is called as the runtime's thread that was asked to attach us. */
	ring_sys4(SYS_prctl, PR_SET_NAME, "tapir", 0, 0);
	serve_sessions();
	if (!coreclr_load(&coreclr.is_shut_down))
		take_lane_down();
	return NULL;
}

/* ---- start ------------------------------------------------------------------------------------ */

/* The classic signals, except those that the thread's own instructions raise. */
static uint64_t signals_to_block(void)
{
	const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
	uint64_t set = 0x7fffffffull;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		set &= ~(1ull << (own[i] - 1));
	return set;
}

static int start_thread(void)
{
	uint64_t block = signals_to_block(), before = 0;
	pthread_attr_t attr;
	int err;

	if (pthread_attr_init(&attr))
		return -ENOMEM;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	ring_sys4(SYS_rt_sigprocmask, SIG_BLOCK, &block, &before, sizeof(before));
	err = pthread_create(&control.thread, &attr, run_control_thread, NULL);
	ring_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof(before));
	pthread_attr_destroy(&attr);
	return -err;
}

/*
 * In Initialize the runtime allows opening a session, and it has run no code yet: so the tracer
 * gets the very first event. The tracer has seen the library and is searching for the lane: a few
 * milliseconds.
 */
static void await_first(uint64_t max_ns)
{
	uint64_t end_ns = now_ns() + max_ns;
	struct plan *plan = control.plan;

	do {
		coreclr_wants__collect(&plan->wants, control.ctl);
		coreclr_publish__turn((int)plan->wants.publishes);
		if (plan->wants.cnt) {
			coreclr_session__change(&plan->session, &plan->wants);
			return;
		}
		nap(FIRST_STEP_NS);
	} while (now_ns() < end_ns);
}

int coreclr_control__start(uint64_t open_within_ns, uint64_t await_ns)
{
	long va = ring_sys6(SYS_mmap, 0, sizeof(struct plan), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int err;

	if (ring_sys_failed(va))
		return -ENOMEM;
	control.plan = (struct plan *)va;
	control.open_until_ns = now_ns() + open_within_ns;
	control.ctl = tapir_ring__ctl();
	coreclr_wakeup__at(control.ctl);
	coreclr_store_release(coreclr.gate, 1);
	if (await_ns)
		await_first(await_ns);
	err = start_thread();
	control.is_running = !err;
	if (err) {
		coreclr_store_release(coreclr.gate, 0);
		control.ctl = NULL;
		coreclr_wakeup__at(NULL);
		ring_sys3(SYS_munmap, va, sizeof(struct plan), 0);
	}
	return err;
}

void coreclr_control__join(void)
{
	if (control.is_running)
		pthread_join(control.thread, NULL);
	control.is_running = 0;
	coreclr_detach_lock__release(control.turn);
}
