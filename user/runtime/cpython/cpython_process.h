/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpython_process.h - where the interpreter of a process is: a program that is python, or one that
 * has libpython as a library. No state; any thread. Reads the process's mappings and a file.
 */
#ifndef TAPIR_USER_CPYTHON_PROCESS_H
#define TAPIR_USER_CPYTHON_PROCESS_H

#include "runtime/cpython/cpython_frames.h"
#include "trace/record.h"

/* Returns true for the program and the library: "python3.11", "libpython3.11.so.1.0". */
bool tapir_cpython__is_path(struct tapir_sv path);

/*
 * Finds the interpreter. False: the process has none, or not one whose frames can be read. No line.
 */
bool tapir_cpython__in(struct tapir_cpython *out, uint32_t tgid);

#endif
