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

/* Looks them up; nothing is loaded. NULL in *out: none, but for functions, which images find. */
int tapir_machine__new(const struct tapir_machine_source_list *sources, bool with_stack,
		       struct tapir_machine **out);
void tapir_machine__free(struct tapir_machine *m);

/* Returns how many sites there are; 0 of NULL. */
uint32_t tapir_machine__cnt(const struct tapir_machine *m);
/* Sets what is to be loaded for them. */
void tapir_machine__plan(const struct tapir_machine *m, struct tapir_programs_opts *out);
/* Posts their PROBE records; from then on they fire. */
int tapir_machine__start(struct tapir_machine *m, struct tapir_programs *programs,
			 struct tapir_queue *queue);

#endif
