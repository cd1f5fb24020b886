// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Notices that the system's UTC was set: a timer for a time that never comes is cancelled by the
 * kernel then (TFD_TIMER_CANCEL_ON_SET, timerfd_create(2)).
 */
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"

/* An alarm for the end of time, which is cancelled when the clock is set. */
static int arm(int fd)
{
	const struct itimerspec never = {.it_value.tv_sec = INT32_MAX * 4ll};

	return timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

int tapir_clock__watch(void)
{
	int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC), err;

	if (fd < 0 || !arm(fd))
		return fd < 0 ? -errno : fd;
	err = -errno;
	close(fd);
	return err;
}

bool tapir_clock__was_set(int watch_fd)
{
	uint64_t cnt;

	if (watch_fd < 0 || read(watch_fd, &cnt, sizeof(cnt)) >= 0 || errno != ECANCELED)
		return false;
	(void)arm(watch_fd); /* else it is the last time */
	return true;
}
