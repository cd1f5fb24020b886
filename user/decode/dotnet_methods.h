/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_methods.h - the names of compiled .NET methods from the runtime's own events, as it
 * compiles and unloads them: MethodLoadVerbose and MethodUnloadVerbose (143 and 144 of
 * Microsoft-Windows-DotNETRuntime), every version. They are composed like those in the runtime's
 * jitdump, except for the module, which the event does not contain; its signatures spell some types
 * differently. As shown (symbol/dotnet_name.h), both are equal.
 *
 * Pure and thread-safe; payloads may be hostile.
 */
#ifndef TAPIR_USER_DOTNET_METHODS_H
#define TAPIR_USER_DOTNET_METHODS_H

#include "base/str.h"
#include "trace/record.h"

enum tapir_dotnet_probe {
	TAPIR_DOTNET_PROBE_OTHER,
	TAPIR_DOTNET_PROBE_LOAD,
	TAPIR_DOTNET_PROBE_UNLOAD
};

/* The kind of event that a PROBE record describes: call once per probe. */
enum tapir_dotnet_probe tapir_dotnet_probe__of(const struct tapir_probe_view *probe);

struct tapir_dotnet_method {
	uint64_t start_va, size;
};

/*
 * Adds the name to *name. The event is one of a LOAD or an UNLOAD. -EINVAL: it does not hold what
 * these hold, or no code; -ENOMEM; *name and *out are as before then.
 */
int tapir_dotnet_method__of(const struct tapir_event_view *event, struct tapir_dotnet_method *out,
			    struct tapir_str *name);

#endif
