/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_assembly.h - the EventSources that .NET assemblies define, by their metadata: types that
 * derive from EventSource, the names [EventSource] gives them, the constants of their nested class
 * Keywords, and their methods with [Event]. No code runs and no process is queried; what a program
 * creates at run time (new EventSource("name")) is not found.
 *
 * Assemblies are hostile input: reads, memory and walks are bounded. Thread-safe.
 */
#ifndef TAPIR_USER_DOTNET_ASSEMBLY_H
#define TAPIR_USER_DOTNET_ASSEMBLY_H

#include "decode/event_sources.h"

/*
 * Adds the sources of an assembly (PE file, also ReadyToRun). 0, or -errno without a line: it is
 * not an assembly.
 */
int tapir_dotnet_sources__add_file(struct tapir_event_sources *sources, int fd);
/* The same of its metadata alone. */
int tapir_dotnet_sources__add_metadata(struct tapir_event_sources *sources, const void *bytes,
				       size_t len);
/*
 * Adds the EventSources of every .dll that the process maps. -errno with a line: it cannot be
 * inspected.
 */
int tapir_dotnet_sources__add_process(struct tapir_event_sources *sources, uint32_t tgid);

#endif
