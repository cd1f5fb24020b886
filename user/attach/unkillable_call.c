// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See unkillable_call.h. Two processes share tapir's table of descriptors: the child that makes one
 * call, and the detach helper, which lives until all threads of tapir have ended, so that the last
 * close of a link is never made by a task that a signal interrupts.
 */
#include "attach/unkillable_call.h"

#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the detach helper -------------------------------------------------------------------------- */

#define HELPER_STACK_BYTES (64u << 10)

static atomic_int kept;	    /* the process that has a helper; another one after fork() */
static pid_t detach_helper; /* of it */
static atomic_int has_exit; /* end_detach_helper is registered, also in what is forked */

/*
 * The helper shares the memory of the thread that made it, and with it errno: no call here fails.
 * All signals are blocked.
 */
static int run_call(void *arg)
{
	struct pollfd end = {.fd = (int)(intptr_t)arg, .events = POLLIN};

	syscall(SYS_setsid);
	while (syscall(SYS_ppoll, &end, 1, NULL, NULL, 0) != 1)
		;
	syscall(SYS_exit_group, 0);
	__builtin_unreachable();
}

static void end_detach_helper(void)
{
	if (detach_helper <= 0 || atomic_load(&kept) != getpid())
		return;
	kill(detach_helper, SIGKILL);
	while (waitpid(detach_helper, NULL, __WALL) < 0 && errno == EINTR)
		;
	detach_helper = 0;
}

static void start_detach_helper(int pidfd, char *stack)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	detach_helper = clone(run_call, stack + HELPER_STACK_BYTES, CLONE_VM | CLONE_FILES,
			      (void *)(intptr_t)pidfd);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Without a helper tapir works, too: then only its exit can be interrupted. */
static void have_detach_helper(void)
{
	int self = getpid(), other = atomic_load(&kept);
	char *stack;
	int pidfd;

	if (other == self || !atomic_compare_exchange_strong(&kept, &other, self))
		return;
	detach_helper = 0;
	pidfd = (int)syscall(SYS_pidfd_open, self, 0);
	stack = mmap(NULL, HELPER_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (pidfd >= 0 && stack != MAP_FAILED)
		start_detach_helper(pidfd, stack);
	if (detach_helper > 0) {
		if (!atomic_exchange(&has_exit, 1))
			atexit(end_detach_helper);
		return;
	}
	if (pidfd >= 0)
		close(pidfd);
	if (stack != MAP_FAILED)
		munmap(stack, HELPER_STACK_BYTES);
}

/* ---- the call ------------------------------------------------------------------------------------ */

/* No SIGCHLD, and only __WALL finds it: no other waitpid() takes it for a traced program. */
static long make_child(void)
{
	struct clone_args args = {.flags = CLONE_FILES};

	return syscall(SYS_clone3, &args, sizeof(args));
}

static long await(pid_t child, const long *result)
{
	while (waitpid(child, NULL, __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	return *result;
}

long tapir_unkillable__call(long (*fn)(const void *ctx), const void *ctx)
{
	long *result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long child, ret;

	have_detach_helper();
	if (result == MAP_FAILED)
		return fn(ctx);
	*result = -ECANCELED; /* until the child has written its own */
	child = make_child();
	if (!child) {
		*result = fn(ctx);
		syscall(SYS_exit_group, 0);
		__builtin_unreachable();
	}
	ret = child < 0 ? fn(ctx) : await((pid_t)child, result);
	munmap(result, sizeof(*result));
	return ret;
}

struct fds {
	const int *fds;
	size_t cnt;
};

static long close_all(const void *ctx)
{
	const struct fds *all = ctx;

	for (size_t i = 0; i < all->cnt; i++)
		close(all->fds[i]);
	return 0;
}

void tapir_unkillable__close(const int *fds, size_t cnt)
{
	struct fds all = {fds, cnt};

	if (cnt)
		tapir_unkillable__call(close_all, &all);
}
