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

/*
 * The same by a thread of its own, while the caller does something else: the kernel takes 50 ms to
 * print its names. NULL: no memory. __end waits for it and frees r.
 */
struct tapir_kallsyms_reading;
struct tapir_kallsyms_reading *tapir_kallsyms__begin(const char *path);
int tapir_kallsyms__end(struct tapir_kallsyms_reading *r, struct tapir_kallsyms **out);
void tapir_kallsyms__free_reading(struct tapir_kallsyms_reading *r); /* waits, too */
void tapir_kallsyms__free(struct tapir_kallsyms *k);

/* The function at va. size: to the next one. The name is borrowed until __free. */
bool tapir_kallsyms__find(const struct tapir_kallsyms *k, uint64_t va, const char **name,
			  uint64_t *start_va, uint64_t *size);

#endif
