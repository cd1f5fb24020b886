/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_suggest.h - what a SPEC may have meant that names no EventSource of a process's
 * assemblies: most likely it is misspelt, unless the program makes it at run time.
 *
 * Pure; thread-safe.
 */
#ifndef TAPIR_USER_DOTNET_SUGGEST_H
#define TAPIR_USER_DOTNET_SUGGEST_H

#include "spec/spec.h"
#include "base/str.h"
#include "decode/layout.h"

/*
 * Is it meant, and does it have one of the events or keywords that are named? One whose events are
 * in no metadata may have any.
 */
bool tapir_dotnet_suggest__has(const struct tapir_layout_provider *p,
			       const struct tapir_spec *spec);

/* Adds the nearest name, "provider" or "provider:event"; nothing if none is near. */
void tapir_dotnet_suggest__add_nearest(const struct tapir_spec *spec,
				       const struct tapir_layout_provider *providers, size_t cnt,
				       struct tapir_str *out);

#endif
