/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_gil.h - threads that wait for the lock of an interpreter, and the threads that hold it:
 * those that run in the interpreter during the wait, by samples. One thread.
 */
#ifndef TAPIR_USER_FINDING_GIL_H
#define TAPIR_USER_FINDING_GIL_H

#include "base/keyed.h"
#include "diagnose/finding.h"
#include "diagnose/function_sums.h"

struct tapir_lock_kind;
struct tapir_diagnosis;
struct tapir_node_facts;
struct tapir_tl_thread;

/* The place of a sample's stack. */
enum tapir_gil_side {
	TAPIR_GIL_ELSEWHERE, /* in no interpreter, or about to wait */
	TAPIR_GIL_INSIDE,    /* in its own functions: those need the lock */
	TAPIR_GIL_OUTSIDE,   /* in another file's that it called */
};

/* A thread that runs in an interpreter. */
struct tapir_gil_thread {
	uint32_t tid;
	uint64_t inside, outside; /* samples in its own functions; in other files' that it called */
	struct tapir_function_sums functions;
};

struct tapir_gil {
	struct tapir_keyed(struct tapir_gil_thread) threads;
};

/* Takes a sample of an interpreter's thread, by which the holder of its lock is known. */
void tapir_finding_gil__sample(struct tapir_diagnosis *f, const struct tapir_tl_thread *thread,
			       uint32_t node, const struct tapir_node_facts *facts);
/* Returns the place of a stack, for node_facts.h. */
enum tapir_gil_side tapir_finding_gil__side(struct tapir_diagnosis *f, uint32_t node);
/*
 * Appends "; thread 7 (python3) has it: 98% of the CPU ...": who has it while others wait for it.
 */
void tapir_finding_gil__add_holder(struct tapir_diagnosis *f, struct tapir_str *out);

#endif
