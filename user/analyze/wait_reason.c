// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of Linux 6.1 to 6.18, glibc, HotSpot and CoreCLR. The innermost known name decides; the
 * kernel's futex and epoll are what many things are made of: there, a name further out says which.
 */
#include "analyze/wait_reason.h"

#include <string.h>

#include "symbol/frame_kind.h"

static const char futex[] = "futex", epoll[] = "epoll";
static const char pg_lock[] = "PostgreSQL lock", lwlock[] = "lwlock";
static const char mutex[] = "mutex", monitor[] = "monitor", rwlock[] = "rwlock";
static const char kernel_lock[] = "kernel lock";

static const struct known {
	const char *function; /* one that ends in '*': begins with it */
	const char *reason;
} kernel[] = {
	{"futex_wait*", futex},
	{"__futex_wait*", futex},
	{"futex_lock_pi", mutex},
	{"hrtimer_nanosleep", "sleep"},
	{"do_nanosleep", "sleep"},
	{"common_nsleep*", "sleep"},
	{"ep_poll", epoll},
	{"do_epoll_wait", epoll},
	{"do_sys_poll", "poll"},
	{"do_poll*", "poll"},
	{"do_select", "select"},
	{"pipe_read", "pipe"},
	{"anon_pipe_read", "pipe"},
	{"pipe_write", "pipe"},
	{"anon_pipe_write", "pipe"},
	{"unix_stream_*", "socket"},
	{"unix_dgram_*", "socket"},
	{"__skb_wait_for_more_packets", "socket"},
	{"sk_wait_data", "socket"},
	{"sk_stream_wait*", "socket"},
	{"tcp_recvmsg*", "socket"},
	{"inet_csk_accept", "socket"},
	{"do_wait", "child"},
	{"kernel_wait4", "child"},
	{"io_schedule", "disk"},
	{"folio_wait_bit*", "disk"},
	{"wait_on_page*", "disk"},
	{"submit_bio_wait", "disk"},
	{"blk_mq_*", "disk"},
	{"jbd2_*", "disk"},
	{"io_cqring_wait", "io_uring"},
	{"read_events", "aio"},
	{"do_sigtimedwait", "signal"},
	{"sigsuspend", "signal"},
	{"do_signal_stop", "stopped"},
	{"ptrace_stop", "stopped"},
	{"do_semtimedop", "semaphore"},
	{"__do_semtimedop", "semaphore"},
	{"do_msgrcv", "message queue"},
	{"rwsem_down_*", kernel_lock},
	{"down_read*", kernel_lock},
	{"down_write*", kernel_lock},
	{"__mutex_lock*", kernel_lock},
	{"eventfd_read", "eventfd"},
	{"timerfd_read*", "timer"},
	{"tty_read", "terminal"},
	{"n_tty_read", "terminal"},
	{"n_tty_write", "terminal"},
	{"flock_lock_inode_wait", "file lock"},
	{"posix_lock_inode_wait", "file lock"},
};

static const struct known user[] = {
	{"ProcSleep", pg_lock},
	{"LWLockAcquire*", lwlock},
	{"pg_sleep", "sleep"},
	{"secure_read", "client"},
	{"ObjectMonitor::enter*", monitor},
	{"ObjectMonitor::EnterI*", monitor},
	{"ObjectMonitor::ReenterI*", monitor},
	{"ObjectMonitor::wait*", "condition"},
	{"Unsafe_Park*", "park"},
	{"jdk.internal.misc.Unsafe.park*", "park"},
	{"AwareLock::Enter*", monitor},
	{"pthread_mutex_lock", mutex},
	{"___pthread_mutex_lock", mutex},
	{"__pthread_mutex_lock*", mutex},
	{"pthread_mutex_timedlock", mutex},
	{"__lll_lock_wait*", mutex},
	{"lll_mutex_lock*", mutex},
	{"pthread_rwlock_*", rwlock},
	{"__pthread_rwlock_*", rwlock},
	{"pthread_cond_*", "condition"},
	{"___pthread_cond_*", "condition"},
	{"__pthread_cond_*", "condition"},
	{"sem_wait*", "semaphore"},
	{"__new_sem_wait*", "semaphore"},
	{"sem_timedwait*", "semaphore"},
	{"PGSemaphoreLock", "semaphore"},
	{"pthread_join", "join"},
	{"__pthread_clockjoin*", "join"},
	{"pthread_barrier_wait", "barrier"},
};

static bool matches(const char *function, const char *name)
{
	size_t len = strlen(function);

	return function[len - 1] == '*' ? !strncmp(name, function, len - 1)
					: !strcmp(name, function);
}

static const char *find(const struct known *table, size_t cnt, const char *name)
{
	for (size_t i = 0; i < cnt; i++)
		if (matches(table[i].function, name))
			return table[i].reason;
	return NULL;
}

#define FIND(table, name) find(table, sizeof(table) / sizeof(*(table)), name)

static const char *look_up(const struct tapir_stack_tree *tree, uint32_t node)
{
	const char *reason = NULL;

	for (; node < tree->nodes.cnt && node; node = tree->nodes.data[node].parent) {
		const struct tapir_tree_node *n = &tree->nodes.data[node];
		const char *name = tree->names.data[n->name], *more;

		if (n->kind == TAPIR_FRAME_KERNEL) {
			if (!reason)
				reason = FIND(kernel, name);
			continue;
		}
		if (reason && reason != futex && reason != epoll)
			return reason;
		more = FIND(user, name);
		if (more)
			return more;
	}
	return reason;
}

const char *tapir_wait_reasons__of(struct tapir_wait_reasons *reasons,
				   const struct tapir_stack_tree *tree, uint32_t node)
{
	struct tapir_wait_reason *known;

	if (node >= tree->nodes.cnt)
		return NULL;
	while (reasons->by_node.cnt <= node)
		if (!tapir_vec__add(&reasons->by_node))
			return look_up(tree, node);
	known = &reasons->by_node.data[node];
	if (!known->is_known)
		*known = (struct tapir_wait_reason){look_up(tree, node), true};
	return known->text;
}

void tapir_wait_reasons__fini(struct tapir_wait_reasons *reasons)
{
	tapir_vec__fini(&reasons->by_node);
}

bool tapir_wait_reason__is_lock(const char *reason)
{
	return reason == mutex || reason == monitor || reason == rwlock || reason == pg_lock ||
	       reason == lwlock;
}

bool tapir_stack__is_whole(const struct tapir_stack_tree *tree, uint32_t node)
{
	return node && node < tree->nodes.cnt && tree->nodes.data[node].is_whole;
}
