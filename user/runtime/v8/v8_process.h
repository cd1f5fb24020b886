/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * v8_process.h - the V8 of a process: of a program that is node, or one with libnode. No state; any
 * thread.
 */
#ifndef TAPIR_USER_V8_PROCESS_H
#define TAPIR_USER_V8_PROCESS_H

#include "runtime/v8/v8_functions.h"
#include "trace/record.h"

/* Returns true for the program or the library: "node", "libnode.so.108". */
bool tapir_v8__is_path(struct tapir_sv path);

/*
 * Finds V8 and reads its constants. False: the process has none, or not one whose functions can be
 * read, or it writes their names itself (--perf-basic-prof). No line.
 */
bool tapir_v8__in(struct tapir_v8 *out, uint32_t tgid);

#endif
