/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpython_process.h - a process whose program is python, and where its interpreter is. One that
 * has the interpreter as a library of another program is not looked for.
 */
#ifndef TAPIR_USER_CPYTHON_PROCESS_H
#define TAPIR_USER_CPYTHON_PROCESS_H

#include "runtime/cpython/cpython_frames.h"

/* False: it is none, or not one whose frames can be read. No line. */
bool tapir_cpython__of(struct tapir_cpython *out, uint32_t tgid);

#endif
