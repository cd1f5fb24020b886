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
#include "decode/event_sources.h"

/*
 * Adds the runtime's own to the sources that the files of a .NET process declare, in their order.
 * 0 or -ENOMEM; the caller frees sources either way.
 */
int tapir_list_dotnet__add(struct tapir_event_sources *sources);
/* Adds their events to the names for near misses, which seen copies. */
void tapir_list_dotnet__add_seen(const struct tapir_event_sources *sources,
				 struct tapir_seen_names *seen);

/*
 * Keeps the events that match: by the SPEC, or, where word is not NULL, those with word in the name
 * of provider or event. Providers without any are removed.
 */
void tapir_list_dotnet__choose(struct tapir_event_sources *sources, const char *word,
			       const struct tapir_spec *spec);

/* Append a row for each provider (with_events: for each event), or a JSON line for each event. */
void tapir_list_dotnet__write_table(const struct tapir_event_sources *sources, bool with_events,
				    const struct tapir_palette *p, struct tapir_str *out);
void tapir_list_dotnet__write_json(const struct tapir_event_sources *sources,
				   struct tapir_str *out);

#endif
