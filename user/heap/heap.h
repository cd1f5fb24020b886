/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap.h - the heap of a running process, or of a file: what `tapir heap` prints.
 *
 * One thread; privileges: those of a recording of .NET, or of asking the runtime.
 */
#ifndef TAPIR_USER_HEAP_H
#define TAPIR_USER_HEAP_H

#include "heap/heap_record.h"
#include "heap/heap_snapshot.h"

struct tapir_heap_request {
	uint32_t tgid;
	uint64_t max_pause_ns;
	const struct tapir_writer_opts *file; /* where it is kept; NULL: nowhere */
};

/* The effect of a snapshot on the process: a sentence, static. */
const char *tapir_heap__induced(const struct tapir_heap_snapshot *s);

/*
 * Takes the process's heap, as it is now. Failures, with a line: those of a recording; -EOPNOTSUPP:
 * its runtime reports no heap. out: zeros, for __fini in any case. The process collects for it: it
 * stops for as long as that takes.
 */
int tapir_heap__take(const struct tapir_heap_request *request, struct tapir_heap_snapshot *out);

/*
 * The way in which sampled objects that are still alive are found (heap_live.h): the runtime knows
 * when it is asked, or a recording of .NET's allocations does.
 */
enum tapir_heap_live_way { TAPIR_HEAP_LIVE_NONE, TAPIR_HEAP_LIVE_ASKED, TAPIR_HEAP_LIVE_DOTNET };
enum tapir_heap_live_way tapir_heap__live_way(uint32_t tgid);
/* Fails with a line that says which tool shows live objects of this runtime. */
int tapir_heap__refuse_live(uint32_t tgid);

/*
 * Makes a runtime that can be asked sample objects. -EOPNOTSUPP: it cannot. All failures leave a
 * line. note: what is said of the result, static.
 */
struct tapir_heap_live;
int tapir_heap__begin_live(uint32_t tgid, const char **note);
/*
 * Ends that, in any case. Objects that were collected since are not in it: collect first. out:
 * zeros; NULL: only ends it.
 */
int tapir_heap__end_live(uint32_t tgid, struct tapir_heap_live *out);

/*
 * Shows what waits in the heap of a runtime that can be asked, without a thread of the kernel: a
 * JVM's virtual threads, at most top rows. Failures leave a line. out: empty but for view.
 */
struct tapir_view_result;
int tapir_heap__show_suspended(uint32_t tgid, uint64_t top, struct tapir_view_result *out);

/* Opens the snapshot of a recording. */
int tapir_heap__open(const char *path, struct tapir_heap_snapshot *out);

#endif
