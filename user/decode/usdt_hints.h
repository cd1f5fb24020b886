/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usdt_hints.h - what the arguments of well-known USDT probes mean.
 *
 * A note of sys/sdt.h says how wide an argument is and where it lies, not that it is a
 * string or what it is called. For the providers of OpenJDK, PostgreSQL, CPython, Ruby, PHP,
 * libstdc++ and libgcc it stands here, by their documentation and sources. A note that names
 * its arguments itself, and what a SPEC says, goes first (collect/plan.h).
 */
#ifndef TAPIR_USER_USDT_HINTS_H
#define TAPIR_USER_USDT_HINTS_H

#include "tapir/abi.h"

struct tapir_hint_arg {
	const char *name;
	uint8_t field_type; /* enum tapir_field_type; NONE: the number the note describes */
	uint8_t len_arg;    /* STRN: the argument that holds the length in bytes */
};

struct tapir_hint {
	const char *provider;
	const char *event;
	struct tapir_hint_arg args[TAPIR_MAX_ARGS];
	unsigned arg_cnt;
};

/*
 * By exact names. NULL: not known, or known with another number of arguments only: a probe
 * that has changed is not guessed at. Borrowed, static; constant time; thread-safe.
 */
const struct tapir_hint *tapir_usdt_hint__find(const char *provider, const char *event,
					       unsigned arg_cnt);

/* The idx-th hint, for those who check them all; NULL behind the last. */
const struct tapir_hint *tapir_usdt_hint__at(size_t idx);

#endif
