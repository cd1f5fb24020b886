/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kallsyms.h - the kernel's own names, its modules' and its BPF programs' included. One thread
 * loads; lookups from any.
 */
#ifndef TAPIR_USER_KALLSYMS_H
#define TAPIR_USER_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

struct tapir_kallsyms;

/*
 * path: "/proc/kallsyms", or a file like it. -EACCES: the kernel shows no addresses to this user
 * (kernel.kptr_restrict); -ENOENT: nothing in it.
 */
int tapir_kallsyms__load(const char *path, struct tapir_kallsyms **out);

/* Frees the names: those that __find gave are invalid. NULL is fine. */
void tapir_kallsyms__free(struct tapir_kallsyms *k);

/*
 * Finds the function at va; *size reaches to the next one. The name is borrowed until __free.
 * False: va is below the first symbol.
 */
bool tapir_kallsyms__find(const struct tapir_kallsyms *k, uint64_t va, const char **name,
			  uint64_t *start_va, uint64_t *size);

#endif
