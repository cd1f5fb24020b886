// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of profiles, in the order in which help lists them. A program that lacks an event of a
 * profile is recorded without it, unlike one that lacks what a SPEC names.
 */
#include "decode/profiles.h"

#include <string.h>

static const struct tapir_profile profiles[TAPIR_PROFILE_ID_CNT] = {
	[TAPIR_PROFILE_ID_DEFAULT] =
		{TAPIR_PROFILE_DEFAULT,
		 "each runtime's own account of itself, cheap enough to leave on", false,
		 TAPIR_PROFILE_CHECKED},
	[TAPIR_PROFILE_ID_GC] = {"gc", "garbage collections", false, TAPIR_PROFILE_CHECKED},
	[TAPIR_PROFILE_ID_CPU] = {"cpu",
				  "no events: CPU samples and context switches only (record)",
				  false},
	[TAPIR_PROFILE_ID_EXCEPTIONS] = {"exceptions", "exceptions thrown and caught", true,
					 TAPIR_PROFILE_CHECKED},
	[TAPIR_PROFILE_ID_CONTENTION] = {"contention", "waits for locks", true,
					 TAPIR_PROFILE_CHECKED},
	[TAPIR_PROFILE_ID_ALLOCATIONS] = {"allocations",
					  "one per 100 KB in .NET, else every object", true,
					  TAPIR_PROFILE_OFFERED, .may_be_slow = true},
	[TAPIR_PROFILE_ID_THREADPOOL] = {"threadpool", "threads, work items and tasks", true,
					 TAPIR_PROFILE_CHECKED},
	[TAPIR_PROFILE_ID_HTTP] = {"http", "requests; in .NET also DNS, sockets and TLS", true,
				   TAPIR_PROFILE_OFFERED},
	[TAPIR_PROFILE_ID_REQUESTS] = {"requests",
				       "by trace id; activities are created while it records",
				       true},
	[TAPIR_PROFILE_ID_ASYNC] = {"async", "tasks and awaits, for --async; slows each await",
				    true},
	[TAPIR_PROFILE_ID_EVERYTHING] = {"everything", "all of these except single allocations",
					 false},
};

const struct tapir_profile *tapir_profile__at(size_t i)
{
	return i < TAPIR_PROFILE_ID_CNT ? &profiles[i] : NULL;
}

const char *tapir_profile__name(size_t i)
{
	return i < TAPIR_PROFILE_ID_CNT ? profiles[i].name : NULL;
}

const struct tapir_profile *tapir_profile__find(const char *name)
{
	for (size_t i = 0; i < TAPIR_PROFILE_ID_CNT; i++)
		if (!strcmp(profiles[i].name, name))
			return &profiles[i];
	return NULL;
}

const char *tapir_profile__spec(const struct tapir_profile *profile, size_t i)
{
	tapir_lore_for_each (lore) {
		const char *const *spec = lore->specs[profile - profiles];

		for (; spec && *spec; spec++)
			if (!i--)
				return *spec;
	}
	return NULL;
}

void tapir_profile__add_summary(const struct tapir_profile *profile, struct tapir_str *out)
{
	const char *separator = ": ";

	tapir_str__adds(out, profile->description);
	tapir_lore_for_each (lore) {
		if (!profile->has_list || !lore->specs[profile - profiles])
			continue;
		tapir_str__adds(out, separator);
		tapir_str__adds(out, lore->name);
		separator = ", ";
	}
}
