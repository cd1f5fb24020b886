// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See heap_trigger.h. The thread waits for its time or a cancel, then for the runtime, which
 * answers when it has collected.
 */
#include "heap/heap_trigger.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"

/* true: it is time; false: cancelled. */
static bool wait_for_it(const struct tapir_heap_trigger *t)
{
	uint64_t end_ns = tapir_clock__now_ns() + t->after_ns, now_ns;
	struct pollfd fd = {.fd = t->cancel_fd, .events = POLLIN};

	while ((now_ns = tapir_clock__now_ns()) < end_ns) {
		uint64_t left_ms = (end_ns - now_ns) / TAPIR_NS_PER_MS + 1;

		if (poll(&fd, 1, left_ms < 1000 ? (int)left_ms : 1000) > 0)
			return false;
	}
	return true;
}

static void *run_trigger(void *arg)
{
	struct tapir_heap_trigger *t = arg;

	pthread_setname_np(pthread_self(), "tapir-collect");
	if (wait_for_it(t))
		t->err = t->collect(t->tgid, t->cancel_fd, t->timeout_ns);
	if (t->err)
		(void)eventfd_write(t->failed_fd, 1);
	t->lines = tapir_diag__take();
	return NULL;
}

int tapir_heap_trigger__start(struct tapir_heap_trigger *t)
{
	sigset_t all, before;
	int err;

	t->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->cancel_fd < 0)
		return tapir_diag__fail(-errno, "cannot make an eventfd: %s",
					tapir_errno__text(errno));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&t->thread, NULL, run_trigger, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err) {
		t->is_started = true;
		return 0;
	}
	tapir_guard__fd(&t->cancel_fd);
	return tapir_diag__fail(err, "cannot start a thread: %s", tapir_errno__text(err));
}

int tapir_heap_trigger__stop(struct tapir_heap_trigger *t)
{
	int mark = tapir_diag__cnt();

	if (!t->is_started)
		return 0;
	t->is_started = false;
	(void)eventfd_write(t->cancel_fd, 1);
	pthread_join(t->thread, NULL);
	tapir_guard__fd(&t->cancel_fd);
	tapir_diag__give(t->lines);
	t->lines = NULL;
	if (t->err && t->err != -ECANCELED)
		return t->err;
	tapir_diag__rewind(mark);
	return 0;
}
