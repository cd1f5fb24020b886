/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dotnet_ops.h - the tables of functions of which .NET's row is made (dotnet_ops.c). */
#ifndef TAPIR_USER_DOTNET_OPS_H
#define TAPIR_USER_DOTNET_OPS_H

#include "runtime/event_ops.h"
#include "runtime/runtime_ops.h"

/* Finds who holds monitors: dotnet_seekers.c */
extern const struct tapir_lock_ops tapir_dotnet_lock_ops;

/* Has events without probes: lanes/dotnet_events.c */
extern const struct tapir_event_ops tapir_dotnet_event_ops;
/* Brings them into a recording: lanes/dotnet_recording.c */
extern const struct tapir_event_lane_ops tapir_dotnet_event_lane_ops;

/* Has it list its objects: heap/dotnet_heap.c */
extern const struct tapir_heap_ops tapir_dotnet_heap_ops;

/*
 * Adds the doctor's lines: whether it is .NET, whether its socket answers, and how its events would
 * be recorded. If they can be without BPF, what is missing for BPF becomes a limit. Queries only
 * the process's identity; waits for the socket up to 1.5 s. dotnet_doctor.c
 */
void tapir_dotnet_doctor__check(struct tapir_checkup *checkup, uint32_t tgid);

#endif
