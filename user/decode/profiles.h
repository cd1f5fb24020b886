/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profiles.h - named sets of SPECs for common tasks. The first, "default", is what `record` records
 * without a SPEC: the events that explain a runtime and are rare enough to be left on. Each
 * runtime's file in spec/runtime_db/ lists its SPECs. Constant; any thread.
 */
#ifndef TAPIR_USER_PROFILES_H
#define TAPIR_USER_PROFILES_H

#include "base/str.h"
#include "spec/runtime_db/lore.h"

struct tapir_profile {
	const char *name;
	const char *description; /* half a line, for help */
	bool has_list;		 /* of runtimes, after what */
	/* A form of the agent offers it, or has it checked. */
	enum { TAPIR_PROFILE_BY_NAME, TAPIR_PROFILE_OFFERED, TAPIR_PROFILE_CHECKED } choice;
	bool may_be_slow; /* in some runtimes it traps at each object */
};

#define TAPIR_PROFILE_DEFAULT "default"

/* Returns the i-th name, NULL after the last: for cli/options.h. */
const char *tapir_profile__name(size_t i);

/* Returns the i-th profile, by enum tapir_profile_id; NULL after the last. */
const struct tapir_profile *tapir_profile__at(size_t i);

/* Returns the profile of that name, or NULL. */
const struct tapir_profile *tapir_profile__find(const char *name);

/*
 * Returns the profile's i-th SPEC, of all runtimes; NULL after the last. Each call counts from the
 * first.
 */
const char *tapir_profile__spec(const struct tapir_profile *profile, size_t i);

/* Appends "exceptions thrown and caught: .NET, PHP, C++". */
void tapir_profile__add_summary(const struct tapir_profile *profile, struct tapir_str *out);

#endif
