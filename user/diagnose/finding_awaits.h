/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding_awaits.h - what async methods of the program await, and for how long (.NET, --profile
 * async). No thread waits during an await, so nothing else shows it. One thread.
 */
#ifndef TAPIR_USER_FINDING_AWAITS_H
#define TAPIR_USER_FINDING_AWAITS_H

#include "base/map.h"
#include "base/vec.h"
#include "diagnose/found.h"
#include "diagnose/weights.h"

struct tapir_finding;
struct tapir_finding_event;

/* An await that ended. */
struct tapir_await_span {
	uint64_t from_ns, until_ns;
	uint32_t method; /* idx in .methods */
};

/* That awaits, in a process. */
struct tapir_await_method {
	uint32_t tgid, name;			/* name: idx in the tree's names */
	uint64_t cnt, sum_ns, longest_ns;	/* that ended */
	uint64_t known_from_ns, known_until_ns; /* in between all of them are known */
	uint64_t within_ns;			/* of all of them, in between */
};

struct tapir_awaited {
	bool has_events;
	/* for the finding alone; task: process << 32 | number */
	struct tapir_vec(struct tapir_await_method) methods;
	struct tapir_map method_by_key;
	struct tapir_vec(struct tapir_await_span) spans;
	uint64_t full_ns;	      /* there is no room for those that ended later; 0: there is */
	struct tapir_map first_ns;    /* process: when the first one was seen */
	struct tapir_map begun;	      /* task: when it began to await */
	struct tapir_map names;	      /* task: the awaiting method, idx in the tree's names */
	struct tapir_map own_by_node; /* name + 1; 0: a library's method awaits */
};

void tapir_finding_awaits__event(struct tapir_finding *f, const struct tapir_finding_event *e);
/* "; 1.0 awaits at a time in Shop.Poll (async), 1.00 s each of 5" */
void tapir_finding_awaits__add_few(struct tapir_finding *f, struct tapir_str *out);
void tapir_finding_awaits__fini(struct tapir_finding *f);

#endif
