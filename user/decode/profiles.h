/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profiles.h - SPECs for what people ask again and again, by name. The first, "default", is what
 * `record` records when no SPEC says: the events that explain a runtime and are rare enough to
 * be left on.
 */
#ifndef TAPIR_USER_PROFILES_H
#define TAPIR_USER_PROFILES_H

#include <stddef.h>

struct tapir_profile {
	const char *name;
	const char *what;	  /* half a line, for help */
	const char *const *specs; /* spec/spec.h; ended by NULL; of all runtimes */
};

#define TAPIR_PROFILE_DEFAULT "default"

extern const struct tapir_profile tapir_profiles[]; /* ended by name == NULL */

/* The i-th name, NULL after the last: for cli/options.h. */
const char *tapir_profile__name(size_t i);

/* NULL: there is none of that name. */
const struct tapir_profile *tapir_profile__find(const char *name);

#endif
