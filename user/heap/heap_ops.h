/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_ops.h - how a runtime counts the objects of its heap, and which of those that it samples are
 * alive, when it is asked (struct tapir_runtime_ops). Privileges: those of asking it. One thread.
 */
#ifndef TAPIR_USER_HEAP_OPS_H
#define TAPIR_USER_HEAP_OPS_H

#include "heap/heap.h"
#include "heap/heap_live.h"

struct tapir_heap_ops {
	/* Does what tapir_heap__take says, for one of its processes. */
	int (*take)(const struct tapir_heap_request *request, struct tapir_heap_snapshot *out);
	/* Do what tapir_heap__begin_live and tapir_heap__end_live say. */
	int (*begin_live)(uint32_t tgid);
	int (*end_live)(uint32_t tgid, struct tapir_heap_live *out);
	const char *live_note; /* how it samples, and what tapir made it do */
};

#endif
