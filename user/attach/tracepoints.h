/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracepoints.h - which tracepoints, system calls and counters the kernel has, and the fields of
 * each, of tracepoints by its tracefs. Reading that is root's, unless the administrator mounted it
 * otherwise; where it is not mounted, root of the initial user namespace reads it by a mount that
 * no other process sees. The names of system calls are known without it.
 */
#ifndef TAPIR_USER_TRACEPOINTS_H
#define TAPIR_USER_TRACEPOINTS_H

#include "attach/sample_events.h"
#include "base/vec.h"
#include "decode/tracepoint_format.h"
#include "spec/machine_source.h"

struct tapir_tracepoint {
	char *category, *name; /* of a system call: category NULL */
	bool is_function;      /* of the kernel: the category is kprobe or kretprobe */
	unsigned nr;	       /* of a system call */
	/* A counter of CPUs, or their clock, which has a rate: category NULL */
	const struct tapir_sample_event *event;
	uint64_t period; /* 0: rate_hz times a second */
	unsigned rate_hz;
};

struct tapir_tracepoint_list tapir_vec(struct tapir_tracepoint);

#define TAPIR_TRACEPOINT_PROVIDER_BYTES 288u

/* The name of the provider of its events: "tracepoint:sched", "syscall", "perf", "timer". */
void tapir_tracepoint__provider(const struct tapir_tracepoint *tracepoint,
				char out[static TAPIR_TRACEPOINT_PROVIDER_BYTES]);

/*
 * Adds those that a source means, by category and name; the list is the caller's to __fini. -errno:
 * with a line.
 */
int tapir_tracepoints__find(const struct tapir_machine_source *source,
			    struct tapir_tracepoint_list *out);
void tapir_tracepoint_list__fini(struct tapir_tracepoint_list *list);

/*
 * Writes the fields of a tracepoint, or the arguments of a system call: those that tracefs names,
 * else arg0 to arg5. -errno with a line.
 */
int tapir_tracepoint__format(const struct tapir_tracepoint *tracepoint,
			     struct tapir_tracepoint_format *out);

/* Writes the number by which perf_event_open(2) knows a tracepoint. -errno with a line. */
int tapir_tracepoint__id(const struct tapir_tracepoint *tracepoint, uint64_t *out);

/* Returns in words where tracefs is read, which tapir_tracepoints__check() says it can be. */
const char *tapir_tracepoints__where(void);

/* 0, or why tracefs cannot be read: -ENOENT, -EACCES. No line. */
int tapir_tracepoints__check(void);

#endif
