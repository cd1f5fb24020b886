/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_functions.h - what a probe at a function of the kernel can read: arguments by the names
 * and types that the kernel's type information has for them, or its result. No state; any thread.
 */
#ifndef TAPIR_USER_KERNEL_FUNCTIONS_H
#define TAPIR_USER_KERNEL_FUNCTIONS_H

#include <stdbool.h>

#include "decode/tracepoint_format.h"

struct btf;

/*
 * Fills the fields of a function, whose record is struct pt_regs. One that the types do not have
 * has arg0 to arg5, as numbers, and ret.
 */
void tapir_kernel_function__format(const char *name, bool is_return,
				   struct tapir_tracepoint_format *out);
/* The same by these types, which may be NULL. */
void tapir_kernel_function__format_by(const struct btf *types, const char *name, bool is_return,
				      struct tapir_tracepoint_format *out);

#endif
