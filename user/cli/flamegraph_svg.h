/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flamegraph_svg.h - a tree of stacks as one SVG file that any browser shows, with zoom and search.
 */
#ifndef TAPIR_USER_FLAMEGRAPH_SVG_H
#define TAPIR_USER_FLAMEGRAPH_SVG_H

#include "analyze/stack_tree.h"
#include "base/str.h"

/* tree: sorted, not empty. unit: what a stack counts, "events". Nothing outside is referred to. */
void tapir_flamegraph__write(const struct tapir_stack_tree *tree, const char *title,
			     const char *unit, struct tapir_str *out);

#endif
