/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * list_dotnet.h - the part of `tapir list -p` that is about .NET: the runtime's providers, and the
 * EventSources of the assemblies a process has loaded, with keywords and events. Main thread.
 */
#ifndef TAPIR_USER_LIST_DOTNET_H
#define TAPIR_USER_LIST_DOTNET_H

#include "spec/spec.h"
#include "base/str.h"
#include "output/render/screen.h"
#include "attach/flow/seen_names.h"
#include "runtime/dotnet/dotnet_assembly.h"

/*
 * Adds the sources of a process that runs .NET; one that cannot be inspected has only the
 * runtime's.
 */
int tapir_list_dotnet__add(uint32_t tgid, struct tapir_dotnet_sources *sources);
void tapir_list_dotnet__add_seen(const struct tapir_dotnet_sources *sources,
				 struct tapir_seen_names *seen);

/* Keeps the events that match: by the SPEC, or, where word is not NULL, in provider or event. */
void tapir_list_dotnet__choose(struct tapir_dotnet_sources *sources, const char *word,
			       const struct tapir_spec *spec);

/* A row a provider; with_events: a row an event. */
void tapir_list_dotnet__write_table(const struct tapir_dotnet_sources *sources, bool with_events,
				    const struct tapir_palette *p, struct tapir_str *out);
void tapir_list_dotnet__write_json(const struct tapir_dotnet_sources *sources,
				   struct tapir_str *out);

#endif
