/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine.h - sources of the machine in a recording: which tracepoints and system calls the words
 * of a person mean, what is captured of each, and their programs. Their probes have the ids from 1
 * on.
 *
 * One thread. -errno comes with a line.
 */
#ifndef TAPIR_USER_MACHINE_H
#define TAPIR_USER_MACHINE_H

#include "attach/flow/queue.h"
#include "attach/programs.h"
#include "attach/tracepoints.h"

struct tapir_machine;

/*
 * Looks up the tracepoints and system calls of sources (borrowed for the call); nothing is loaded.
 * *out is NULL where there are only functions, which images find. 0, or -errno: of a name that the
 * kernel does not have, or -ENOMEM.
 */
int tapir_machine__new(const struct tapir_machine_source_list *sources, bool with_stack,
		       struct tapir_machine **out);
void tapir_machine__free(struct tapir_machine *m);

/* Returns how many sites there are; 0 of NULL. */
uint32_t tapir_machine__cnt(const struct tapir_machine *m);
/* Sets in out which programs are to be loaded for them, and how many sites there are. */
void tapir_machine__plan(const struct tapir_machine *m, struct tapir_programs_opts *out);
/*
 * Posts their PROBE records and attaches their programs: from then on they fire. programs are
 * loaded and stay the caller's, and outlive m. 0, or -errno: what is attached is detached with
 * programs.
 */
int tapir_machine__start(struct tapir_machine *m, struct tapir_programs *programs,
			 struct tapir_queue *queue);

#endif
