/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usdt_hints.h - what the arguments of well-known USDT probes mean.
 *
 * A note of sys/sdt.h gives the width and location of an argument, not its name or that it is a
 * string: for well-known providers, spec/runtime_db does. A note that names its arguments, and a
 * SPEC, take precedence (record/images/site_layout.h).
 */
#ifndef TAPIR_USER_USDT_HINTS_H
#define TAPIR_USER_USDT_HINTS_H

#include "spec/runtime_db/lore.h"

/*
 * Finds a hint by exact names. NULL: not known, or known with another number of arguments only: the
 * arguments of a probe that has changed are not guessed. Borrowed, static; constant time;
 * thread-safe.
 */
const struct tapir_hint *tapir_usdt_hint__find(const char *provider, const char *event,
					       unsigned arg_cnt);

/* The idx-th hint, for checks of all of them; NULL past the last. */
const struct tapir_hint *tapir_usdt_hint__at(size_t idx);

#endif
