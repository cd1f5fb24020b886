/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * repairs.h - tells the BPF walker where a process has code that hides its callers: CoreCLR's
 * runtime, JIT and garbage collector, or a single-file app's executable, which has them in it
 * (unwind/repair.h). A table is made once per file, in some 15 ms for libcoreclr.so, and passed to
 * the kernel; each process has the address where it maps the file.
 *
 * On the session thread. Without a table stacks miss a caller: nothing here is an error.
 */
#ifndef TAPIR_USER_REPAIRS_H
#define TAPIR_USER_REPAIRS_H

#include "tapir/abi.h"

struct tapir_programs;
struct tapir_repairs;

/* programs is borrowed; NULL: none walk stacks, nothing is done. */
int tapir_repairs__new(struct tapir_programs *programs, struct tapir_repairs **out);
void tapir_repairs__free(struct tapir_repairs *r);

/* Every describing record; fd: of a MAPPING its file, borrowed; -1: none. */
void tapir_repairs__on_record(struct tapir_repairs *r, const struct tapir_rec *rec, int fd);

/* Files, and mappings of files in processes, for whose table there was no room; added up. */
uint64_t tapir_repairs__left_cnt(const struct tapir_repairs *r);

#endif
