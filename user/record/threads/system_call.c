// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One table of the calls in which threads wait, with a letter for each argument that says how it is
 * written. Arguments that are pointers are read from the thread's memory, which may have changed:
 * what makes no sense is left out.
 */
#include "record/threads/system_call.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/clock.h"
#include "trace/system_calls.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

#define LINK_BYTES 200 /* of what a descriptor refers to: a longer path is cut */
#define SHOWN_FDS  4u

/*
 * A letter per argument: f descriptor, n number, p process, m timeout in milliseconds (-1: none), t
 * timeout as struct timespec (NULL: none), s how long it sleeps, P struct pollfd[], whose number is
 * the next argument, - not shown; F and C are futex's and clock_nanosleep's, all arguments in one.
 * Only the first four arguments are known.
 */
static const struct form {
	uint16_t nr;
	char args[5];
} forms[] = {
	{SYS_read, "f-n"},
	{SYS_write, "f-n"},
	{SYS_readv, "f"},
	{SYS_writev, "f"},
	{SYS_pread64, "f-n"},
	{SYS_pwrite64, "f-n"},
	{SYS_recvfrom, "f-n"},
	{SYS_recvmsg, "f"},
	{SYS_recvmmsg, "f"},
	{SYS_sendto, "f-n"},
	{SYS_sendmsg, "f"},
	{SYS_sendfile, "ff"},
	{SYS_splice, "f-f"},
	{SYS_accept, "f"},
	{SYS_accept4, "f"},
	{SYS_connect, "f"},
	{SYS_poll, "P-m"},
	{SYS_ppoll, "P-t"},
	{SYS_select, "n"},
	{SYS_pselect6, "n"},
	{SYS_epoll_wait, "f--m"},
	{SYS_epoll_pwait, "f--m"},
	{SYS_epoll_pwait2, "f--t"},
	{SYS_io_uring_enter, "f-n"},
	{SYS_io_getevents, "-n"},
	{SYS_futex, "F"},
	{SYS_nanosleep, "s"},
	{SYS_clock_nanosleep, "C"},
	{SYS_restart_syscall, ""},
	{SYS_pause, ""},
	{SYS_rt_sigsuspend, ""},
	{SYS_rt_sigtimedwait, "--t"},
	{SYS_wait4, "p"},
	{SYS_waitid, "-p"},
	{SYS_flock, "f"},
	{SYS_fcntl, "f"},
	{SYS_fsync, "f"},
	{SYS_fdatasync, "f"},
	{SYS_close, "f"},
	{SYS_ioctl, "f"},
	{SYS_msgrcv, "n"},
	{SYS_msgsnd, "n"},
	{SYS_semop, "n"},
	{SYS_semtimedop, "n--t"},
	{SYS_mq_timedreceive, "f"},
	{SYS_openat, ""},
	{SYS_open, ""},
	{SYS_vfork, ""},
};

static void separate(struct tapir_str *out)
{
	if (out->len && out->data[out->len - 1] != '(')
		tapir_str__adds(out, ", ");
}

static void add_seconds(struct tapir_str *out, const char *before, int64_t ns)
{
	separate(out);
	tapir_str__addf(out, "%s%.6g s", before, (double)ns / 1e9);
}

static void add_fd(const struct tapir_call_source *source, int fd, struct tapir_str *out)
{
	char link[LINK_BYTES];
	size_t len = fd < 0 ? 0 : source->fd_link(source->ctx, fd, link, sizeof(link));

	separate(out);
	tapir_str__addf(out, "fd %d", fd);
	if (len) {
		tapir_str__addc(out, ' ');
		tapir_str__add(out, link, len < sizeof(link) ? len : sizeof(link));
	}
}

/* A value outside what a clock can have is none: false. */
static bool read_time(const struct tapir_call_source *source, uint64_t va, int64_t *ns)
{
	int64_t words[2];

	if (source->memory(source->ctx, va, words, sizeof(words)) != sizeof(words) ||
	    words[0] < 0 || words[0] > INT32_MAX || words[1] < 0 || words[1] > 1000000000)
		return false;
	*ns = words[0] * 1000000000 + words[1];
	return true;
}

static void add_timeout(const struct tapir_call_source *source, uint64_t va, struct tapir_str *out)
{
	int64_t ns;

	if (!va) {
		separate(out);
		tapir_str__adds(out, "no timeout");
	} else if (read_time(source, va, &ns)) {
		add_seconds(out, "timeout ", ns);
	}
}

static void add_duration(const struct tapir_call_source *source, uint64_t va, struct tapir_str *out)
{
	int64_t ns;

	if (read_time(source, va, &ns))
		add_seconds(out, "", ns);
}

static void add_milliseconds(int32_t ms, struct tapir_str *out)
{
	separate(out);
	if (ms < 0)
		tapir_str__adds(out, "no timeout");
	else
		tapir_str__addf(out, "timeout %.6g s", (double)ms / 1e3);
}

/* At a time of a clock, as the process reads it. */
static void add_deadline(const struct tapir_call_source *source, uint64_t va, int clock,
			 struct tapir_str *out)
{
	bool is_monotonic = clock == CLOCK_MONOTONIC;
	int64_t ns;

	if (va && (is_monotonic || clock == CLOCK_REALTIME) && read_time(source, va, &ns)) {
		ns -= (int64_t)tapir_clock__ns(clock);
		ns -= is_monotonic ? source->clock_offset_ns : 0;
		add_seconds(out, "timeout in ", ns > 0 ? ns : 0);
	} else if (!va) {
		add_timeout(source, va, out);
	}
}

static void add_polled(const struct tapir_call_source *source, uint64_t va, uint32_t cnt,
		       struct tapir_str *out)
{
	struct pollfd fds[SHOWN_FDS];
	uint32_t shown = cnt < SHOWN_FDS ? cnt : SHOWN_FDS;
	size_t bytes = shown ? source->memory(source->ctx, va, fds, shown * sizeof(*fds)) : 0;

	for (uint32_t i = 0; (i + 1) * sizeof(*fds) <= bytes; i++)
		add_fd(source, fds[i].fd, out);
	if (cnt > shown) {
		separate(out);
		tapir_str__addf(out, "%u more", cnt - shown);
	}
}

/* futex(word, op, value, timeout) */
static void add_futex(const struct tapir_call_source *source, const uint64_t args[4],
		      struct tapir_call *out)
{
	uint32_t op = (uint32_t)args[1], cmd = op & FUTEX_CMD_MASK;
	bool is_real = op & FUTEX_CLOCK_REALTIME || cmd == FUTEX_LOCK_PI;
	uint32_t words[TAPIR_FUTEX_WORDS] = {};

	separate(&out->text);
	tapir_str__addf(&out->text, "%s 0x%" PRIx64,
			cmd == FUTEX_LOCK_PI || cmd == FUTEX_LOCK_PI2 ? "lock" : "wait", args[0]);
	if (cmd == FUTEX_WAIT)
		add_timeout(source, args[3], &out->text);
	else
		add_deadline(source, args[3], is_real ? CLOCK_REALTIME : CLOCK_MONOTONIC,
			     &out->text);
	out->futex_va = args[0];
	(void)source->memory(source->ctx, args[0], words, sizeof(words)); /* what is not there: 0 */
	out->owner = tapir_futex__owner(op, (uint32_t)args[2], words);
}

static void add_argument(const struct tapir_call_source *source, const struct form *form,
			 unsigned idx, const uint64_t args[4], struct tapir_call *out)
{
	switch (form->args[idx]) {
	case 'f':
		return add_fd(source, (int)args[idx], &out->text);
	case 'n':
	case 'p':
		separate(&out->text);
		tapir_str__addf(&out->text, "%s%d", form->args[idx] == 'p' ? "process " : "",
				(int)args[idx]);
		return;
	case 'm':
		return add_milliseconds((int32_t)args[idx], &out->text);
	case 't':
		return add_timeout(source, args[idx], &out->text);
	case 'P':
		return add_polled(source, args[idx], (uint32_t)args[idx + 1], &out->text);
	case 'F':
		return add_futex(source, args, out);
	case 's':
		return add_duration(source, args[idx], &out->text);
	case 'C': /* clock_nanosleep(clock, flags, time) */
		if (args[1] & TIMER_ABSTIME)
			return add_deadline(source, args[2], (int)args[0], &out->text);
		return add_duration(source, args[2], &out->text);
	}
}

static const struct form *find_form(int64_t nr)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (forms[i].nr == nr)
			return &forms[i];
	return NULL;
}

void tapir_call__read(const struct tapir_call_source *source, const struct tapir_thread_seen *seen,
		      struct tapir_call *out)
{
	const struct form *form = find_form(seen->syscall);

	tapir_str__clear(&out->text);
	out->futex_va = 0;
	out->owner = 0;
	if (!form)
		return;
	tapir_str__addf(&out->text, "%s(", tapir_system_call__name(form->nr));
	for (unsigned i = 0; i < 4 && form->args[i]; i++)
		add_argument(source, form, i, seen->args, out);
	tapir_str__addc(&out->text, ')');
}

void tapir_call__fini(struct tapir_call *call)
{
	tapir_str__fini(&call->text);
}
