/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deferred_program.h - programs of a BPF object that threads of their own load, at the same time as
 * the others: the verifier takes 40 ms for each that walks stacks, and a recording of .NET alone
 * never needs the one of probes.
 *
 * libbpf prepares it with the others (relocations, BTF), is then given a program of two
 * instructions instead, and the thread loads what was prepared. Privileges and kernel: as
 * programs.h.
 */
#ifndef TAPIR_USER_DEFERRED_PROGRAM_H
#define TAPIR_USER_DEFERRED_PROGRAM_H

#include <bpf/libbpf.h>

/* The last lines of the verifier's log that are printed with -v: they have its reason. */
#define TAPIR_VERIFIER_LINES 30

/* A libbpf_print_fn_t: what libbpf prints, for -v. */
int tapir_load__log(enum libbpf_print_level level, const char *fmt, va_list ap);

/* A line for what opening or loading the object returned; returns an -errno that suits it. */
int tapir_load__error(int err);

struct tapir_deferred_program;

enum tapir_deferred_kind {
	TAPIR_DEFERRED_PROBES,	/* the program in the section "uprobe.s" */
	TAPIR_DEFERRED_SAMPLES, /* "perf_event" */
	TAPIR_DEFERRED_KINDS
};

/*
 * Before the object is opened: of the one that this thread opens and loads now, the program of this
 * kind is loaded later. -errno, without a line.
 */
int tapir_deferred_program__new(enum tapir_deferred_kind kind, struct tapir_deferred_program **out);
/* When the object was loaded, or could not be; by the same thread. */
void tapir_deferred_program__end_capture(struct tapir_deferred_program *l);
/* Before the object is opened: no thread, __fd loads it when its descriptor is needed. */
void tapir_deferred_program__on_demand(struct tapir_deferred_program *l);

/* Waits for it. Its fd, borrowed, or -errno with a line. One thread. */
int tapir_deferred_program__fd(struct tapir_deferred_program *l);
/* Negative as long as it is not loaded. Any thread. */
int tapir_deferred_program__fd_now(const struct tapir_deferred_program *l);

/* Before the object; waits for the thread. NULL is fine. */
void tapir_deferred_program__free(struct tapir_deferred_program *l);

#endif
