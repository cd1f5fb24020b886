/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_end.h - how a user stack ended, in words: complete, or with callers missing, where and why.
 * Thread safety: that of the catalog.
 */
#ifndef TAPIR_USER_STACK_END_H
#define TAPIR_USER_STACK_END_H

#include "base/str.h"
#include "trace/catalog.h"
#include "trace/record.h"

/*
 * UNKNOWN of a kernel stack, and where the recording is older. A chain of frame pointers that the
 * process walked itself and that ends in a function where threads begin is FP_START: it is not
 * known if callers without frame pointers are missing within it. One that was walked for it,
 * without tables, is not: an interrupted function without a frame record hides its caller.
 */
enum tapir_stack_end tapir_stack_end__of(const struct tapir_catalog *catalog, uint32_t tgid,
					 uint64_t time_ns, const struct tapir_rec_stack *stack);

/* Returns true if threads begin in that function. */
bool tapir_stack_end__is_start(const char *function, size_t len);

/* Returns true if the stack leads to the thread's start: WHOLE or FP_START. */
bool tapir_stack_end__at_start(enum tapir_stack_end end);

/* Returns true if callers are missing for certain: not UNKNOWN, and not at the start. */
bool tapir_stack_end__lost_callers(enum tapir_stack_end end);

/* Return "no_table", for programs, and "no unwind table", for people; never NULL. Static. */
const char *tapir_stack_end__id(enum tapir_stack_end end);
const char *tapir_stack_end__text(enum tapir_stack_end end);

/* Returns the remedy that makes such stacks complete, or NULL. */
const char *tapir_stack_end__remedy(enum tapir_stack_end end);

/*
 * Returns the file of the last frame, whose caller is missing, without its directories:
 * "libfoo.so", "generated code", or "" where no mapping is known. Borrowed from the catalog.
 */
struct tapir_sv tapir_stack_end__module(const struct tapir_catalog *catalog, uint32_t tgid,
					uint64_t time_ns, const struct tapir_rec_stack *stack);

/*
 * Appends text and module of a stack whose callers are missing; false: they are not, nothing was
 * added.
 */
bool tapir_stack_end__add_of(struct tapir_str *out, const struct tapir_catalog *catalog,
			     uint32_t tgid, uint64_t time_ns, const struct tapir_rec_stack *stack);

#endif
