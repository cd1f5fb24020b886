/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_specs.h - what SPECs ask of .NET processes.
 *
 * A provider of .NET has keywords: their names become bits before a recording begins (resolve). The
 * runtime's own providers know their events by number alone, so that an event's name becomes the
 * keywords and the level it is sent under (select); the reader selects by the name (ring_select.h).
 * Any other provider is taken for an EventSource until it proves to be native.
 *
 * Pure except for the lines of failures; thread-safe.
 */
#ifndef TAPIR_USER_DOTNET_SPECS_H
#define TAPIR_USER_DOTNET_SPECS_H

#include "spec/spec.h"
#include "decode/layout.h"
#include "attach/rings/ring_request.h"

/* Forces a collection when a session begins: only where it is named. */
#define TAPIR_DOTNET_HEAP_COLLECT 0x800000ull

/*
 * In a SPEC whose provider is the name of one that is known (of the table, or of more): kw=NAME and
 * words that are keywords become masks. -EINVAL with a line: a name that is neither keyword nor
 * event, with a near miss, or both.
 */
int tapir_dotnet_specs__resolve(const struct tapir_spec_list *specs,
				const struct tapir_layout_provider *more, size_t more_cnt);

/*
 * Adds, before the names are resolved, a SPEC for each of these providers that a SPEC with a glob
 * matches: a session can request a provider that does not exist yet only by its name, and a keyword
 * has a different meaning in each. Beyond TAPIR_DOTNET_SPECS_MADE_MAX of them, a line gives the
 * number left out: assemblies may define any number.
 */
#define TAPIR_DOTNET_SPECS_MADE_MAX 1024u

/*
 * Adds, for each SPEC with a glob as provider, the SPECs of the given providers that it matches. 0
 * or -ENOMEM.
 */
int tapir_dotnet_specs__expand(struct tapir_spec_list *specs,
			       const struct tapir_layout_provider *providers, size_t cnt);

/* Returns true if an EventSource that the table lacks could resolve more of a SPEC. */
bool tapir_dotnet_specs__need_sources(const struct tapir_spec_list *specs);

/* Does the SPEC ask anything of a .NET process? Not if it names a file or a runtime with probes. */
bool tapir_dotnet_specs__is_for(const struct tapir_spec *spec);

/* Returns true if it is one of the runtime's own, whose events have only numbers. */
bool tapir_dotnet_specs__is_native(const struct tapir_layout_provider *p);

/* Is its provider one that is known, with what it names? Then that nothing came is no mistake. */
bool tapir_dotnet_specs__is_known(const struct tapir_spec *spec);
/* Returns true if it is known, or a glob that matches one that is. */
bool tapir_dotnet_specs__may_be_known(const struct tapir_spec *spec);
/* The same of one of these providers or a known one. */
bool tapir_dotnet_specs__is_defined(const struct tapir_spec *spec,
				    const struct tapir_layout_provider *providers, size_t cnt);

struct tapir_dotnet_skipped {
	unsigned cnt;
	const char *first; /* a provider; borrowed from the SPECs */
};

/*
 * Prints one line if a SPEC has level 0 or keywords 0, which meant all until the change: for one
 * version after it.
 */
void tapir_dotnet_specs__warn_of_zeros(const struct tapir_spec_list *specs);

/*
 * Fills out with what all of them request of a process's providers; returns the number used. A glob
 * over providers is kept for EventSources, and an exact selection is added for each native provider
 * it matches. skipped: those that did not fit, or have too long a name.
 */
unsigned tapir_dotnet_specs__select(const struct tapir_spec_list *specs,
				    struct tapir_ring_request *out,
				    struct tapir_dotnet_skipped *skipped);

#endif
