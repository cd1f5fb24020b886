/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_tables.h - providers whose keywords and events are known without asking a process: the
 * .NET runtime's own (compiled in from usdt/manifests) and those of manifests the user named.
 *
 * The runtime's native events come with empty names and no field descriptions: name, keywords and
 * layout are found here by (provider, event id, version). EventSources describe their events
 * themselves; of many, only the keywords are here.
 *
 * What is returned is constant and lives as long as the program. Looking up is thread-safe; adding
 * a manifest is not: it is for the start of a command.
 */
#ifndef TAPIR_USER_DOTNET_TABLES_H
#define TAPIR_USER_DOTNET_TABLES_H

#include "decode/layout.h"
#include "trace/record.h"

#define TAPIR_DOTNET_RUNTIME "Microsoft-Windows-DotNETRuntime"

/* The idx-th provider: the user's manifests first, then the built-in ones. NULL past the last. */
const struct tapir_layout_provider *tapir_dotnet_provider__at(unsigned idx);
/*
 * Finds a provider by its exact name, letters of either case as the runtime has it. NULL: not
 * known.
 */
const struct tapir_layout_provider *tapir_dotnet_provider__find(struct tapir_sv name);

/* Finds the keyword of that name, in any case: true, and *mask is its mask. */
bool tapir_dotnet_keyword__find(const struct tapir_layout_provider *provider, struct tapir_sv name,
				uint64_t *mask);

/*
 * The event of this version; else of the next older one known (versions grow at the end), else
 * of the oldest. NULL: no such provider or id.
 */
const struct tapir_layout_event *tapir_dotnet_event__find(struct tapir_sv provider, uint16_t id,
							  uint8_t version);

/*
 * The name of an event that has none: the table's name, or "EventID(123)" in buf, which must have
 * TAPIR_EVENT_ID_TEXT_BYTES. Borrowed.
 */
#define TAPIR_EVENT_ID_TEXT_BYTES 16
struct tapir_sv tapir_dotnet_event__name(struct tapir_sv provider, uint16_t id, uint8_t version,
					 char *buf);

/*
 * Reads an ETW manifest and puts its providers before those known. 0 or -errno with a
 * diagnostic line.
 */
int tapir_dotnet_tables__add_manifest(const char *path);
/* Forgets the manifests that were added. */
void tapir_dotnet_tables__fini(void);

#endif
