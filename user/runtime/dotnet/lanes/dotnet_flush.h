/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_flush.h - a thread that makes .NET 11's AsyncProfilerEventSource send the buffers of
 * threads that are neither idle nor fast enough to fill them, once a second and at the end: each of
 * them sends its buffer with its next event after a listener was added or removed.
 */
#ifndef TAPIR_USER_DOTNET_FLUSH_H
#define TAPIR_USER_DOTNET_FLUSH_H

#include "runtime/dotnet/lanes/dotnet_lanes.h"

struct tapir_dotnet_flush;

/* lanes are borrowed until __free. */
int tapir_dotnet_flush__start(struct tapir_dotnet_lanes *lanes, struct tapir_dotnet_flush **out);
/* Once more, if the recording has started; before the lanes' __stop. NULL is fine. */
void tapir_dotnet_flush__free(struct tapir_dotnet_flush *f, bool has_started);

#endif
