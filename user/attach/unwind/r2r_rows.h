/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * r2r_rows.h - the unwind rows of the methods that were compiled into an assembly (ReadyToRun), by
 * its table of functions and their UNWIND_INFO: most of such methods keep no frame pointer, and a
 * walk by frame pointers misses their callers.
 *
 * What is between functions (stubs) is a GAP. The file may be hostile: work and memory are bounded
 * by rows.h's limits, and the worst a row can do is to give a wrong caller. x86-64.
 *
 * Formats: RUNTIME_FUNCTION and UNWIND_INFO of "x64 exception handling" (Microsoft Learn), and
 * UWOP_SET_FPREG_LARGE of dotnet/runtime's win64unwind.h, which only .NET has.
 */
#ifndef TAPIR_USER_R2R_ROWS_H
#define TAPIR_USER_R2R_ROWS_H

struct tapir_unwind_rows;

/*
 * Makes the rows by a handle of the file. out: zeroed, of the caller, who calls __fini also after a
 * failure. -ENOEXEC: no assembly, or no code of x86-64 in it; -EFBIG: too much of it; -ENOMEM. No
 * line.
 */
int tapir_r2r_rows__make(int fd, struct tapir_unwind_rows *out);

#endif
