/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frame_runs.h - frames of a stack that a person reads as one: those of the kernel, of a runtime
 * with the methods of its library that do something for any caller, and those of one file without
 * a name. "[futex wait]", "[kernel: read, 7 frames]", "[.NET: collection, 9 frames]",
 * "[libfoo.so, 14 frames]". What a runtime is at, its functions say, those that called it, or what
 * is known of the thread at that time (tapir_works__purpose).
 *
 * Texts take frames as they come; pictures and pages fold a tree (folded_tree.h).
 */
#ifndef TAPIR_USER_FRAME_RUNS_H
#define TAPIR_USER_FRAME_RUNS_H

#include "analyze/stack_tree.h"

struct tapir_run_frame {
	const char *name;
	uint8_t kind;	 /* enum tapir_frame_kind */
	uint8_t runtime; /* tapir_frame__runtime */
};

enum tapir_run_of {
	TAPIR_RUN_OF_FRAME, /* a function by itself, which has a name */
	TAPIR_RUN_OF_KERNEL,
	TAPIR_RUN_OF_RUNTIME,
	TAPIR_RUN_OF_FILE, /* functions without names */
};

/* Zeroed before the first frame. Texts are borrowed from the frames. */
struct tapir_frame_run {
	uint32_t cnt, unnamed_cnt;
	uint8_t of;	 /* enum tapir_run_of */
	uint8_t runtime; /* idx in tapir_lore_all, + 1 */
	bool is_wait;	 /* of the kernel's: it gave up its CPU there */
	bool is_common;	 /* wait: many things do it so */
	struct tapir_sv file;
	const char *first, *entry;   /* the innermost function; the outermost that has a name */
	const char *activity, *wait; /* NULL: not known */
};

/* Takes the next frame outwards. False: it is not of this run. */
bool tapir_frame_run__take(struct tapir_frame_run *run, const struct tapir_run_frame *frame);
/*
 * Returns the run of the stack at a node that its innermost frame is of; and the node after it, 0:
 * none.
 */
uint32_t tapir_frame_run__of_node(struct tapir_frame_run *run, const struct tapir_stack_tree *tree,
				  uint32_t node);
/*
 * Adds its text, bytes as they are; purpose: what is known of the thread, NULL: nothing. with_cnt:
 * and how many frames they are. Not for TAPIR_RUN_OF_FRAME.
 */
void tapir_frame_run__add(const struct tapir_frame_run *run, const char *purpose, bool with_cnt,
			  struct tapir_str *out);

#endif
