/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deferred_program.h - a program of a BPF object that a separate thread loads: the verifier takes
 * 40 ms for the largest one, which a recording of .NET alone never needs.
 *
 * libbpf prepares it with the others (relocations, BTF), is then given a program of two
 * instructions instead, and the thread loads what was prepared. Privileges and kernel: as
 * programs.h.
 */
#ifndef TAPIR_USER_DEFERRED_PROGRAM_H
#define TAPIR_USER_DEFERRED_PROGRAM_H

/* Of the verifier's log, where its reason is, for -v. */
#define TAPIR_VERIFIER_LINES 30

struct tapir_deferred_program;

/*
 * Before the object is opened: of the one that this thread opens and loads now, the program in the
 * section "uprobe.s" is loaded later. -errno, without a line.
 */
int tapir_deferred_program__new(struct tapir_deferred_program **out);
/* When the object was loaded, or could not be; by the same thread. */
void tapir_deferred_program__end_capture(struct tapir_deferred_program *l);

/* Waits for it. Its fd, borrowed, or -errno with a line. One thread. */
int tapir_deferred_program__fd(struct tapir_deferred_program *l);
/* Negative as long as it is not loaded. Any thread. */
int tapir_deferred_program__fd_now(const struct tapir_deferred_program *l);

/* Before the object; waits for the thread. NULL is fine. */
void tapir_deferred_program__free(struct tapir_deferred_program *l);

#endif
