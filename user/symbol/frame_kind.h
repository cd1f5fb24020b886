/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frame_kind.h - the kind of code of a frame: kernel, compiled while the program ran, interpreted,
 * the runtime's own, or of any other file. By name and file alone, so that a recording gives the
 * same result on every machine. No state; any thread that may use the catalog.
 */
#ifndef TAPIR_USER_FRAME_KIND_H
#define TAPIR_USER_FRAME_KIND_H

#include "symbol/frame.h"

struct tapir_lore;

enum tapir_frame_kind {
	TAPIR_FRAME_NONE, /* no frame: a process, or all of them */
	TAPIR_FRAME_NATIVE,
	TAPIR_FRAME_RUNTIME,
	TAPIR_FRAME_INTERPRETER,
	TAPIR_FRAME_JIT,
	TAPIR_FRAME_KERNEL,
	TAPIR_FRAME_AWAITING, /* it does not run, it awaits: of stacks of async methods */
	TAPIR_FRAME_KIND_CNT
};

/* Returns the kind of a frame, by its function's name and its file. */
enum tapir_frame_kind tapir_frame__kind(const struct tapir_frame *frame);
/* Returns 1 + the index in tapir_lore_all of the runtime whose own code it is; 0: of none. */
uint8_t tapir_frame__runtime(const struct tapir_frame *frame);
/*
 * Returns true for native code of no library of the system and of no server that runtime_db has:
 * the program's.
 */
bool tapir_frame__is_of_program(const struct tapir_frame *frame);
/*
 * Returns the runtime whose own code is in a file of this name, without its directories; NULL:
 * none.
 */
const struct tapir_lore *tapir_frame_kind__runtime(struct tapir_sv file);
const char *tapir_frame_kind__name(enum tapir_frame_kind kind); /* "JIT"; NONE: "" */

#endif
