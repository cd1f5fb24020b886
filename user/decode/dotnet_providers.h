/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_providers.h - the providers of .NET that are known before a process is asked: what their
 * keywords and events are called. For those who turn names into bits before a session begins.
 *
 * Static; thread-safe.
 */
#ifndef TAPIR_USER_DOTNET_PROVIDERS_H
#define TAPIR_USER_DOTNET_PROVIDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_dotnet_keyword {
	const char *name;
	uint64_t mask;
};

struct tapir_dotnet_event_info {
	const char *name;  /* public: without _Vn */
	uint64_t keywords; /* of any of its versions; 0: it belongs to none */
	uint8_t level;	   /* the highest of its versions' */
};

struct tapir_dotnet_provider_info {
	const char *name;
	bool is_native; /* the runtime's own: its events carry numbers, not names */
	const struct tapir_dotnet_keyword *keywords; /* both end with a name that is NULL */
	const struct tapir_dotnet_event_info *events;
};

/* By exact name; NULL: not known. */
const struct tapir_dotnet_provider_info *tapir_dotnet_known__find(const char *name);
/* The idx-th; NULL behind the last. */
const struct tapir_dotnet_provider_info *tapir_dotnet_known__at(size_t idx);

#endif
