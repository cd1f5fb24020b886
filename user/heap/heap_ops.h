/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_ops.h - how a runtime counts the objects of its heap, and which of those that it samples are
 * alive, when it is asked (struct tapir_runtime_ops). Privileges: those of asking it. One thread.
 */
#ifndef TAPIR_USER_HEAP_OPS_H
#define TAPIR_USER_HEAP_OPS_H

#include "heap/heap.h"
#include "heap/heap_live.h"

/*
 * A runtime either lists its objects as events when it collects (the first three; heap_record.h
 * records them), or has the others. Members that it lacks are NULL.
 */
struct tapir_heap_ops {
	/* 0: one of its processes can list its objects; -errno with a line. */
	int (*check_kind)(uint32_t tgid);
	/* 0: it can answer now; -errno with a line. */
	int (*check_runs)(uint32_t tgid);
	/* Makes it collect all generations, once; returns when it has. -ECANCELED, or -errno with a
	 * line. Any thread. */
	int (*collect)(uint32_t tgid, int cancel_fd, uint64_t timeout_ns);
	/* Does what tapir_heap__take says, for one of its processes. */
	int (*take)(const struct tapir_heap_request *request, struct tapir_heap_snapshot *out);
	/* Do what tapir_heap__begin_live and tapir_heap__end_live say. */
	int (*begin_live)(uint32_t tgid);
	int (*end_live)(uint32_t tgid, struct tapir_heap_live *out);
	const char *live_note; /* how it samples, and what tapir made it do */
	/* Does what tapir_heap__show_suspended says. */
	int (*suspended)(uint32_t tgid, uint64_t top, struct tapir_view_result *out);
};

/* 1 and *out: the operations of the process's runtime; 0: it has none; -errno with a line. */
int tapir_heap_ops__find(uint32_t tgid, const struct tapir_heap_ops **out);

#endif
