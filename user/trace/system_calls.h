/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * system_calls.h - the system calls of Linux on x86-64 by their numbers: names, and which of them
 * work on a file. Data of the kernel's ABI, which only grows; up to Linux 6.18. Any thread.
 */
#ifndef TAPIR_USER_SYSTEM_CALLS_H
#define TAPIR_USER_SYSTEM_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#define TAPIR_SYSTEM_CALL_CNT	     480u
#define TAPIR_SYSTEM_CALL_TEXT_BYTES 24u

enum tapir_system_call_file {
	TAPIR_SYSTEM_CALL_NO_FILE,
	TAPIR_SYSTEM_CALL_FILE_IS_ARG, /* the first argument is its descriptor */
	TAPIR_SYSTEM_CALL_PATH_IS_FIRST,
	TAPIR_SYSTEM_CALL_PATH_IS_SECOND,
	TAPIR_SYSTEM_CALL_OPENS_FIRST, /* the same, and the result is a descriptor */
	TAPIR_SYSTEM_CALL_OPENS_SECOND,
};

const char *tapir_system_call__name(unsigned nr); /* NULL: not known */
enum tapir_system_call_file tapir_system_call__file(unsigned nr);
bool tapir_system_call__returns(unsigned nr); /* false: it ends the thread */

/* The number of a struct tapir_rec_calls for people: "read", "511", "3 (32-bit)". */
const char *tapir_system_call__text(unsigned nr, char text[TAPIR_SYSTEM_CALL_TEXT_BYTES]);
/* The name of an error: "ENOENT", "interrupted"; NULL: it has none. */
const char *tapir_system_call__error_name(unsigned err);

/* Adds the calls of "open*,read" to those chosen. -EINVAL with a line: one of them is no call. */
int tapir_system_calls__choose(const char *list, bool chosen[TAPIR_SYSTEM_CALL_CNT]);

#endif
