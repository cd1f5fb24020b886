/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finding.h - what stands out in a recording, for the report's first sentence: time in the
 * collector and who allocates, for locks, in the JIT compiler. It needs only the stacks of
 * allocations, so it costs little.
 */
#ifndef TAPIR_USER_FINDING_H
#define TAPIR_USER_FINDING_H

#include "analyze/allocators.h"
#include "analyze/runtime_work.h"
#include "analyze/timeline.h"
#include "base/str.h"

struct tapir_lock_found {
	uint64_t key, ns, cnt;
	char *label; /* "monitor java/lang/Object 0x7f.." */
};

struct tapir_finding {
	struct tapir_timeline *tl;
	uint64_t samples, gc_samples, jit_samples;
	uint64_t gc_cnt, gc_ns, gc_worst_ns;
	uint64_t dotnet_gc_cnt, dotnet_gen2_cnt; /* those that stop the program */
	uint64_t dotnet_gc_ns;			 /* the longest one, */
	char *dotnet_gc_label;			 /* "2 AllocLarge NonConcurrentGC"; NULL: none */
	uint64_t lock_cnt, lock_ns;
	struct tapir_allocators allocators;
	/* for the finding alone */
	struct tapir_works works;
	struct tapir_map lock_by_key;
	struct tapir_vec(struct tapir_lock_found) locks;
};

extern const struct tapir_timeline_fns tapir_finding_fns; /* ctx: the finding */

/* "31% of the CPU in GC: 212 pauses, ...; 88% of allocation from Foo.Bar()", or nothing when
 * nothing stands out. */
void tapir_finding__add_text(const struct tapir_finding *f, struct tapir_str *out);
void tapir_finding__fini(struct tapir_finding *f);

#endif
