// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The calendar by arithmetic: the C library reads TZ and /etc/localtime even for UTC, and a
 * recording must print the same wherever it is read. Years begin in March here, so that a leap day
 * is the last of its year; 400 years have 146,097 days.
 */
#include "base/clock.h"

#include <stdio.h>

#define DAYS_400_YEARS	  146097u
#define DAYS_BEFORE_EPOCH 719468u /* from 0000-03-01 to 1970-01-01 */

void tapir_clock__utc_text(uint64_t utc_ns, char text[TAPIR_UTC_TEXT_BYTES])
{
	uint64_t seconds = utc_ns / TAPIR_NS_PER_SEC;
	uint64_t days = seconds / 86400 + DAYS_BEFORE_EPOCH;
	unsigned era_day = (unsigned)(days % DAYS_400_YEARS);
	unsigned era_year = (era_day - era_day / 1460 + era_day / 36524 - era_day / 146096) / 365;
	unsigned year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
	unsigned month = (5 * year_day + 2) / 153; /* 0: March; 153 days are five months */
	unsigned day = year_day - (153 * month + 2) / 5 + 1;
	unsigned year = (unsigned)(days / DAYS_400_YEARS) * 400 + era_year + (month >= 10);

	/* % 100 shows gcc's buffer check that each number has two digits. */
	snprintf(text, TAPIR_UTC_TEXT_BYTES, "%04u-%02u-%02uT%02u:%02u:%02u", year % 10000,
		 (month < 10 ? month + 3 : month - 9) % 100, day % 100,
		 (unsigned)(seconds / 3600 % 24), (unsigned)(seconds / 60 % 60),
		 (unsigned)(seconds % 60));
}
