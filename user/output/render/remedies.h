/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * remedies.h - where stacks lack callers or functions lack names: what to start the runtime with,
 * or which package to install, to get them. One thread.
 */
#ifndef TAPIR_USER_REMEDIES_H
#define TAPIR_USER_REMEDIES_H

#include "symbol/stack_ends.h"
#include "base/str.h"

/* The remedy for a row: what makes stacks complete; NULL: none is known. */
const char *tapir_remedies__of(const struct tapir_stack_end_row *row);

/*
 * Appends a line each, "callers: ...", where many stacks of a family lack them. ends: sorted.
 * Returns true if there is one.
 */
bool tapir_remedies__add_callers(const struct tapir_stack_ends *ends, struct tapir_str *out);

/*
 * Appends a line each, "names: ...", of runtimes and files. path: of the recording; host: the
 * machine it was made on, or NULL: packages are known of this one.
 */
void tapir_remedies__add_names(const struct tapir_stack_ends *ends, const char *path,
			       const char *host, struct tapir_str *out);

#endif
