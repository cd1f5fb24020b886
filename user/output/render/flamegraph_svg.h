/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flamegraph_svg.h - a tree of stacks as one SVG file that any browser shows, with zoom and search;
 * nothing outside of it is referred to. Names may be any bytes.
 *
 * At most TAPIR_FLAMEGRAPH_MAX_FRAMES frames are drawn, the widest; the picture shows how many were
 * left out. Any thread.
 */
#ifndef TAPIR_USER_FLAMEGRAPH_SVG_H
#define TAPIR_USER_FLAMEGRAPH_SVG_H

#include "analyze/stack_tree.h"
#include "base/str.h"

#define TAPIR_FLAMEGRAPH_MAX_FRAMES 20000

struct tapir_flamegraph {
	const struct tapir_stack_tree *tree; /* sorted, not empty */
	const char *title;
	const char *about;   /* a line below it: when, how long, where */
	const char *unit;    /* what a stack counts: "events" */
	const char *finding; /* lines more, of what is wrong; NULL or "": none */
};

/*
 * The Content-Security-Policy with which a browser may show it: its own script and style, and
 * nothing else, as a document of no site.
 */
extern const char tapir_flamegraph_policy[];

/* Appends the picture, a complete SVG document; out->failed: out of memory. */
void tapir_flamegraph__write(const struct tapir_flamegraph *graph, struct tapir_str *out);

#endif
