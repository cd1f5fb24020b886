// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread that is not traced never sees a signal that its process ignores: the kernel drops it
 * when it is sent. One that is traced is woken by it (sig_ignored, kernel/signal.c), and some
 * system calls then fail with EINTR though no handler runs: those that signal(7) lists under
 * "Interruption of system calls and library functions by stop signals". They had no effect yet,
 * so they are made again.
 */
#include "attach/holder_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <elf.h>
#include <unistd.h>

#if defined(__x86_64__)

#define CONTINUE      18 /* the signal; scripts/check-signals keeps its name out of here */
#define SYSCALL_BYTES 2	 /* syscall, int $0x80 and sysenter's stub alike */

static bool get_regs(pid_t tid, struct user_regs_struct *regs)
{
	struct iovec iov = {regs, sizeof(*regs)};

	return !ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &iov) && iov.iov_len == sizeof(*regs);
}

static void restart(pid_t tid, struct user_regs_struct *regs)
{
	struct iovec iov = {regs, sizeof(*regs)};

	regs->rax = regs->orig_rax;
	regs->rip -= SYSCALL_BYTES;
	ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &iov);
}

void tapir_holder_regs__restart_syscall(pid_t tid)
{
	struct user_regs_struct regs;

	if (get_regs(tid, &regs) && (long)regs.orig_rax >= 0)
		restart(tid, &regs);
}

/* Returns true for system calls that fail although the kernel could have restarted them. */
static bool is_interrupted(const struct user_regs_struct *regs)
{
	static const long calls[] = {
		SYS_epoll_wait,
		SYS_epoll_pwait,
		441 /* epoll_pwait2 */,
		SYS_rt_sigtimedwait,
		SYS_semop,
		SYS_semtimedop,
		SYS_msgrcv,
		SYS_msgsnd,
		SYS_io_getevents,
		SYS_io_pgetevents,
		SYS_accept,
		SYS_accept4,
		SYS_recvfrom,
		SYS_recvmsg,
		SYS_recvmmsg,
		SYS_sendto,
		SYS_sendmsg,
		SYS_sendmmsg,
		SYS_read,
		SYS_write,
		SYS_readv,
		SYS_writev,
		SYS_io_uring_enter,
	};

	if ((long)regs->rax != -EINTR)
		return false;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if ((long)regs->orig_rax == calls[i])
			return true;
	return false;
}

/* A mask of /proc/PID/status. */
static uint64_t mask_of(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line ? strtoull(line + strlen(name), NULL, 16) : 0;
}

/* Signals that would have been dropped: ignored, by default or because the process said so. */
static bool is_dropped(const char *status, int signal)
{
	static const uint64_t by_default = 1ull << (SIGCHLD - 1) | 1ull << (SIGURG - 1) |
					   1ull << (SIGWINCH - 1) | 1ull << (CONTINUE - 1);
	uint64_t bit = 1ull << (signal - 1);

	return (mask_of(status, "\nSigIgn:") & bit) ||
	       ((by_default & bit) && !(mask_of(status, "\nSigCgt:") & bit));
}

/* Is another one waiting, one that a handler may run for? Then EINTR is what it would have seen. */
static bool is_another_pending(const char *status)
{
	uint64_t pending = mask_of(status, "\nSigPnd:") | mask_of(status, "\nShdPnd:");

	pending &= ~mask_of(status, "\nSigBlk:");
	for (int signal = 1; pending; signal++, pending >>= 1)
		if ((pending & 1) && !is_dropped(status, signal))
			return true;
	return false;
}

bool tapir_holder_regs__restart_interrupted(pid_t tid, int signal)
{
	struct user_regs_struct regs;
	char path[32], status[4096];
	ssize_t n;
	int fd;

	if (!get_regs(tid, &regs) || !is_interrupted(&regs))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, status, sizeof(status) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	status[n] = '\0';
	if ((signal && !is_dropped(status, signal)) || is_another_pending(status))
		return false;
	restart(tid, &regs);
	return true;
}

#else

void tapir_holder_regs__restart_syscall(pid_t tid)
{
	(void)tid;
}

bool tapir_holder_regs__restart_interrupted(pid_t tid, int signal)
{
	(void)tid;
	(void)signal;
	return false;
}

#endif
