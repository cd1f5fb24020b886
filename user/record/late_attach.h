/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * late_attach.h - which of the files that were mapped before their probes were attached are gaps:
 * all except those whose thread was held in between (attach/holder.h). The hold and the mapping are
 * reported by different rings, in any order, so a moment passes until it is settled.
 *
 * One thread.
 */
#ifndef TAPIR_USER_LATE_ATTACH_H
#define TAPIR_USER_LATE_ATTACH_H

#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "bpf/control.h"

#define TAPIR_LATE_ATTACH_COMMIT_NS 1000000000ull

struct tapir_late_mapping {
	uint32_t tgid, tid;
	uint64_t start_va;
	uint64_t mapped_ns, attached_ns; /* when it was mapped, and when its probes were attached */
	char *path;
};

/* All zero is a new one. */
struct tapir_late_attach {
	struct tapir_vec(struct tapir_late_mapping) lates;
	struct tapir_vec(struct tapir_rec_held) held_threads;
	struct tapir_map exec_ns; /* by tgid: since when it has the mappings it has */
};

typedef void (*tapir_late_fn)(void *ctx, const struct tapir_late_mapping *late);

/*
 * Notes that a file was mapped before its probes were attached. path is copied. -ENOMEM: it is not
 * kept, and is a gap.
 */
int tapir_late_attach__add(struct tapir_late_attach *l, const struct tapir_late_mapping *late);

/* Drops what was noted of a process that has executed a new program since then, or is gone. */
void tapir_late_attach__on_exec(struct tapir_late_attach *l, uint32_t tgid, uint64_t time_ns);
void tapir_late_attach__on_exit(struct tapir_late_attach *l, uint32_t tgid);

/*
 * Notes that the thread was held, as requested by this record, until after the probes were
 * attached: no event was missed.
 */
void tapir_late_attach__mark_held(struct tapir_late_attach *l, const struct tapir_rec_held *rec);

/* Hands out the gaps that are ones for sure at now_ns; UINT64_MAX: all that are left. */
void tapir_late_attach__commit(struct tapir_late_attach *l, uint64_t now_ns, tapir_late_fn fn,
			       void *ctx);

/* Frees both lists. */
void tapir_late_attach__fini(struct tapir_late_attach *l);

#endif
