/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usdt_hints.h - what the arguments of well-known USDT probes mean.
 *
 * A note of sys/sdt.h says how wide an argument is and where it is, not that it is a string or what
 * it is called: lore/ knows, of well-known providers. A note that names its arguments itself, and
 * what a SPEC says, goes first (collect/plan.h).
 */
#ifndef TAPIR_USER_USDT_HINTS_H
#define TAPIR_USER_USDT_HINTS_H

#include "lore/lore.h"

/*
 * By exact names. NULL: not known, or known with another number of arguments only: a probe
 * that has changed is not guessed at. Borrowed, static; constant time; thread-safe.
 */
const struct tapir_hint *tapir_usdt_hint__find(const char *provider, const char *event,
					       unsigned arg_cnt);

/* The idx-th hint, for those who check them all; NULL behind the last. */
const struct tapir_hint *tapir_usdt_hint__at(size_t idx);

#endif
