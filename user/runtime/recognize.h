/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recognize.h - the runtime of a process, by the files it maps: a .NET or HotSpot process by what
 * is in them, others by their names alone. Nothing is sent to the process.
 */
#ifndef TAPIR_USER_RECOGNIZE_H
#define TAPIR_USER_RECOGNIZE_H

#include "attach/proc.h"
#include "runtime/runtime_ops.h"

/*
 * 0 and *out, also when no runtime is known; -errno with a line: the process has ended, or may not
 * be inspected (requires its user or CAP_SYS_PTRACE). Any thread.
 */
int tapir_runtime__recognize(uint32_t tgid, struct tapir_runtime_info *out);
/* The same, of mappings that were read. */
int tapir_runtime__recognize_in(const struct tapir_mappings *mappings,
				struct tapir_runtime_info *out);

#endif
