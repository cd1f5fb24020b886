/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_passed.h - semaphores that are used as locks, and pools of objects (lore's is_passed):
 * the threads that wait in a function end each other's waits. Where others end them, they wait for
 * work, and that is no finding. Bounded. One thread.
 */
#ifndef TAPIR_USER_FINDING_PASSED_H
#define TAPIR_USER_FINDING_PASSED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/keyed.h"
#include "base/vec.h"
#include "diagnose/weights.h"

struct tapir_finding;
struct tapir_found_list;
struct tapir_lore_wait;
struct tapir_str;
struct tapir_wait;

/* Waits in one function of a process that one thread ended. */
struct tapir_passed_row {
	const struct tapir_lore_wait *wait;
	uint32_t tgid, name, waker_tid;
	uint64_t ns, cnt;
};

/* A thread that waits there: in one such function alone, or in several. */
struct tapir_passed_thread {
	const struct tapir_lore_wait *wait;
	uint32_t tgid, tid, name;
	bool has_several;
	uint64_t ns;
};

/* Waits of a thread whose stacks do not tell the function, that one thread ended. */
struct tapir_passed_nameless {
	uint32_t tgid, tid, waker_tid;
	uint64_t ns, cnt;
};

/* A thread whose wait began before the recording and has not ended in it. */
struct tapir_parked {
	uint32_t tid;
	uint64_t ns;
};

struct tapir_passed {
	struct tapir_vec(struct tapir_parked) parked;
	struct tapir_keyed(struct tapir_passed_nameless) nameless;
	struct tapir_keyed(struct tapir_passed_row) rows;
	struct tapir_keyed(struct tapir_passed_thread) threads;
	struct tapir_map waiters;
};

/* Takes a wait. True: it was one for a semaphore. */
bool tapir_finding_passed__wait(struct tapir_finding *f, const struct tapir_wait *wait,
				bool is_open);
/*
 * Appends "; 4 threads pool-* stayed parked throughout ...": what an idle process has, or one that
 * hangs.
 */
void tapir_finding_passed__add_parked(const struct tapir_finding *f, struct tapir_str *out);

#endif
