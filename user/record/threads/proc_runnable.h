/* SPDX-License-Identifier: GPL-2.0-or-later */
/* proc_runnable.h - whether some thread of a process is on a CPU, or wants one, by /proc. Any
 * thread.
 */
#ifndef TAPIR_USER_PROC_RUNNABLE_H
#define TAPIR_USER_PROC_RUNNABLE_H

#include <stdbool.h>
#include <stdint.h>

/* 10 us a thread. false, too: there is no such process. */
bool tapir_process__has_runnable_thread(uint32_t tgid);
/*
 * Returns the letter of the state in a thread's stat file, "4711 (name) S ...", where the name may
 * hold anything (proc(5)). 0: there is none.
 */
char tapir_thread_stat__state(const char *text);

#endif
