/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lateness.h - which of the files that were mapped before their probes were attached are gaps: all
 * except those whose thread was held in between (attach/holder.h). The hold and the mapping are
 * reported by different rings, in any order, so a moment passes until it is settled.
 *
 * One thread.
 */
#ifndef TAPIR_USER_LATENESS_H
#define TAPIR_USER_LATENESS_H

#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "bpf/control.h"

#define TAPIR_LATENESS_SETTLED_NS 1000000000ull

struct tapir_late {
	uint32_t tgid, tid;
	uint64_t start_va;
	uint64_t mapped_ns, on_ns; /* when it was mapped, and when its probes were attached */
	char *path;
};

/* All zero is a new one. */
struct tapir_lateness {
	struct tapir_vec(struct tapir_late) lates;
	struct tapir_vec(struct tapir_rec_held) pardons;
	struct tapir_map exec_ns; /* by tgid: since when it has the mappings it has */
};

typedef void (*tapir_late_fn)(void *ctx, const struct tapir_late *late);

/* path is copied. -ENOMEM: it is not kept, and is a gap. */
int tapir_lateness__add(struct tapir_lateness *l, const struct tapir_late *late);

/* The process has executed a new program since then, or is gone. */
void tapir_lateness__on_exec(struct tapir_lateness *l, uint32_t tgid, uint64_t time_ns);
void tapir_lateness__on_exit(struct tapir_lateness *l, uint32_t tgid);

/* The thread was held, as asked for by this record, until after the probes were attached. */
void tapir_lateness__pardon(struct tapir_lateness *l, const struct tapir_rec_held *rec);

/* Hands out the gaps that are ones for sure at now_ns; UINT64_MAX: all that are left. */
void tapir_lateness__settle(struct tapir_lateness *l, uint64_t now_ns, tapir_late_fn fn, void *ctx);

void tapir_lateness__fini(struct tapir_lateness *l);

#endif
