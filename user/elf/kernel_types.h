/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_types.h - those of the kernel's types that an object is relocated by. libbpf searches all
 * 140,000 of them by name for each type that is relocated, 1.5 ms; of a few hundred, nothing.
 *
 * Types with one of the names are kept, and what they contain; what a pointer points to is not:
 * each dereference is a relocation of its own. No state; any thread.
 */
#ifndef TAPIR_USER_KERNEL_TYPES_H
#define TAPIR_USER_KERNEL_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct btf;

/*
 * Selects from raw type information, btf[0..len). own: the types of the object, whose named
 * structs, unions and enums are searched for, without their "___flavor". Appends raw type
 * information to out, which is the caller's, also on failure. -EINVAL: btf is malformed; -ENOMEM.
 */
int tapir_kernel_types__keep(const void *btf, size_t len, const struct btf *own,
			     struct tapir_str *out);
/*
 * Writes such a selection of the running kernel's types (/sys/kernel/btf/vmlinux) into fd. 0 or
 * -errno, without a line.
 */
int tapir_kernel_types__write(const struct btf *own, int fd);

#endif
