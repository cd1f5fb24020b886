/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_names.h - names of kernel functions one by one, where few are wanted: a BPF program
 * formats an address as "%pS". /proc/kallsyms costs 70 ms in which the kernel prints 200,000 of
 * them.
 *
 * Requires CAP_BPF and CAP_PERFMON, Linux 5.14 (programs of type syscall: commit 79a7f8bdb159). One
 * thread.
 */
#ifndef TAPIR_USER_KERNEL_NAMES_H
#define TAPIR_USER_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct tapir_kernel_names;

/* 0 or -errno, no line: read kallsyms.h's instead. */
int tapir_kernel_names__new(struct tapir_kernel_names **out);
void tapir_kernel_names__free(struct tapir_kernel_names *names); /* accepts NULL */

/* The function at va; false: none. The name is borrowed until the next call. */
bool tapir_kernel_names__find(struct tapir_kernel_names *names, uint64_t va, const char **name,
			      uint64_t *start_va, uint64_t *size);

/* "name+0x12/0x34", with " [module]" behind it or not, cut to its name. false: it is not one. */
bool tapir_kernel_names__parse(char *text, uint64_t va, uint64_t *start_va, uint64_t *size);

#endif
