/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interp_stacks.h - stacks with what an interpreter runs (bpf/interp.h): whose processes have one,
 * and how addresses and functions become one stack. A function is a frame with an address at the
 * start of its description, as if it were a return address; JIT records name it. What has no name
 * is left out.
 *
 * Names are read from the process when a function is first seen; where the cookie says that there
 * is another one at its address, that has another one of the description's first bytes. On the
 * session thread.
 */
#ifndef TAPIR_USER_INTERP_STACKS_H
#define TAPIR_USER_INTERP_STACKS_H

#include <stdbool.h>

#include "bpf/interp.h"
#include "trace/catalog.h"

struct tapir_interp_stacks;

/* Receives the records that describe a stack or a function; called by __on_stack only. */
typedef void tapir_interp_describe_fn(void *ctx, const struct tapir_rec *rec);

/* catalog and ctx are borrowed. NULL: no memory. */
struct tapir_interp_stacks *tapir_interp_stacks__new(struct tapir_catalog *catalog,
						     tapir_interp_describe_fn *describe, void *ctx);
void tapir_interp_stacks__free(struct tapir_interp_stacks *s);

/*
 * Searches for the process's interpreter, whose file was mapped at mapped_ns: an EXEC of before,
 * which may come later, does not end it. False: there is none whose frames can be found.
 */
bool tapir_interp_stacks__find(struct tapir_interp_stacks *s, uint32_t tgid, uint64_t mapped_ns,
			       struct tapir_interp *out);

/* Takes every PROCESS record: a child inherits its parent's interpreter, an EXEC ends it. */
void tapir_interp_stacks__on_process(struct tapir_interp_stacks *s,
				     const struct tapir_rec_process *rec);

/* Takes a TAPIR_REC_INTERP_STACK, and emits the merged STACK. False: it is malformed. */
bool tapir_interp_stacks__on_stack(struct tapir_interp_stacks *s, const struct tapir_rec *rec);

#endif
