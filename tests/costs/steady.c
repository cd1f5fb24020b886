// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * steady.c - preloaded into tapir while its instructions are counted: random numbers are the same
 * each time, so that its trees have the same shape, and time stands still, so that what may take
 * two seconds is done whole.
 */
#include <string.h>
#include <sys/random.h>
#include <time.h>

ssize_t getrandom(void *at, size_t n, unsigned flags)
{
	(void)flags;
	memset(at, 0x5a, n);
	return (ssize_t)n;
}

int clock_gettime(clockid_t id, struct timespec *out)
{
	(void)id;
	*out = (struct timespec){.tv_sec = 1000};
	return 0;
}
