// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An instant is a time of day or a multiple of a period. Days may have 23 or 25 hours: the day
 * after is the calendar's, not 24 hours later.
 */
#include "cli/start_time.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/duration.h"

static bool next_multiple(const char *text, uint64_t now_ns, uint64_t *out)
{
	uint64_t step_ns;

	if (!tapir_duration__parse(text, &step_ns) || step_ns < TAPIR_NS_PER_MS ||
	    step_ns > 24 * 3600 * TAPIR_NS_PER_SEC)
		return false;
	*out = (now_ns / step_ns + 1) * step_ns;
	return true;
}

/* Days may have 23 or 25 hours: the day after is the calendar's, not 24 hours later. */
static uint64_t moment_of(const struct tm *day, int days, const unsigned at[3], bool is_utc)
{
	struct tm tm = *day;
	time_t made;

	tm.tm_mday += days;
	tm.tm_hour = (int)at[0];
	tm.tm_min = (int)at[1];
	tm.tm_sec = (int)at[2];
	tm.tm_isdst = -1;
	made = is_utc ? timegm(&tm) : mktime(&tm);
	return made > 0 ? (uint64_t)made * TAPIR_NS_PER_SEC : 0;
}

static bool next_time_of_day(const char *text, uint64_t now_ns, uint64_t *out)
{
	time_t now = (time_t)(now_ns / TAPIR_NS_PER_SEC);
	unsigned at[3] = {};
	int len = 0;
	bool is_utc;
	struct tm day;

	if (strspn(text, "0123456789:Z") != strlen(text) ||
	    (sscanf(text, "%2u:%2u:%2u%n", &at[0], &at[1], &at[2], &len) < 3 &&
	     (at[2] || sscanf(text, "%2u:%2u%n", &at[0], &at[1], &len) < 2)))
		return false;
	is_utc = !strcmp(text + len, "Z");
	if ((text[len] && !is_utc) || at[0] > 23 || at[1] > 59 || at[2] > 59 ||
	    !(is_utc ? gmtime_r(&now, &day) : localtime_r(&now, &day)))
		return false;
	for (int days = 0; days < 3; days++) {
		*out = moment_of(&day, days, at, is_utc);
		if (*out > now_ns)
			return true;
	}
	return false;
}

bool tapir_start_time__parse(const char *text, uint64_t now_ns, uint64_t *out)
{
	return *text == '/' ? next_multiple(text + 1, now_ns, out)
			    : next_time_of_day(text, now_ns, out);
}

void tapir_start_time__wait(uint64_t utc_ns)
{
	const struct timespec until = tapir_clock__timespec(utc_ns);

	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == EINTR)
		; /* stopped and continued */
}
