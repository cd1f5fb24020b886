/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwinding.h - all that the BPF walker needs to find callers: tables of files (unwind_tables.h)
 * and the code that processes map (unwind_spaces.h), from the records of a session.
 *
 * On the session thread. Every function takes NULL: there are no programs that walk stacks.
 */
#ifndef TAPIR_USER_UNWINDING_H
#define TAPIR_USER_UNWINDING_H

#include <stdbool.h>
#include <stddef.h>

#include "record/unwind_tables.h"
#include "tapir/abi.h"

struct tapir_interp_stacks;
struct tapir_programs;
struct tapir_unwinding;

/*
 * programs and interp_stacks are borrowed, as by tapir_unwind_spaces__new. table_bytes: the
 * ceiling; 0: 100 MB. *out is NULL without BPF programs. 0 or -errno with a line.
 */
int tapir_unwinding__new(struct tapir_programs *programs, size_t table_bytes,
			 struct tapir_interp_stacks *interp_stacks, struct tapir_unwinding **out);
void tapir_unwinding__free(struct tapir_unwinding *u);

/* Takes every describing record; fd: of a MAPPING its file, borrowed; -1: none. */
void tapir_unwinding__on_record(struct tapir_unwinding *u, const struct tapir_rec *rec, int fd);
void tapir_unwinding__flush(struct tapir_unwinding *u); /* after a batch of them */
void tapir_unwinding__poll(struct tapir_unwinding *u);	/* once a second */

/* Returns true if the walker has the table of every file that is mapped. Any thread. */
bool tapir_unwinding__is_complete(struct tapir_unwinding *u);

/*
 * Returns the number of tables and mappings without room, since the start: some stacks end early.
 */
uint64_t tapir_unwinding__left_cnt(struct tapir_unwinding *u);

/*
 * Returns the number of files that were rewritten while they were mapped: stacks through them end
 * there.
 */
uint64_t tapir_unwinding__changed_cnt(struct tapir_unwinding *u);

/* Prints, at the end, lines for what had no room, and figures with -v. */
void tapir_unwinding__report(struct tapir_unwinding *u);

#endif
