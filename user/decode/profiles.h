/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profiles.h - what `record` records when no SPEC says: the events that explain a runtime
 * and are rare enough to be left on.
 */
#ifndef TAPIR_USER_PROFILES_H
#define TAPIR_USER_PROFILES_H

struct tapir_profile {
	const char *name;	  /* the runtime */
	const char *const *specs; /* attach/spec.h; ended by NULL */
};

extern const struct tapir_profile tapir_profiles[]; /* ended by name == NULL */

#endif
