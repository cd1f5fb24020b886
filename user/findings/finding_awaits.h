/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_awaits.h - what async methods of the program's own await, and for how long (.NET,
 * --profile async). No thread waits meanwhile, so nothing else shows it. One thread.
 */
#ifndef TAPIR_USER_FINDING_AWAITS_H
#define TAPIR_USER_FINDING_AWAITS_H

#include "findings/found.h"
#include "findings/weights.h"

struct tapir_finding;
struct tapir_finding_event;

struct tapir_awaited {
	struct tapir_found_labels functions; /* that await; no label */
	/* for the finding alone; task: process << 32 | number */
	struct tapir_map begun;	      /* task: when it began to await */
	struct tapir_map names;	      /* task: the awaiting method, idx in the tree's names */
	struct tapir_map own_by_node; /* name + 1; 0: a library's method awaits */
};

void tapir_finding_awaits__event(struct tapir_finding *f, const struct tapir_finding_event *e);
void tapir_finding_awaits__list(struct tapir_finding *f, struct tapir_found_list *list);
void tapir_finding_awaits__fini(struct tapir_finding *f);

#endif
