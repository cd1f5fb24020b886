/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * offcpu.h - when threads did not run: from the switch that took a thread off its CPU to the one
 * that brought it back, with the reason and the thread that ended it.
 *
 * Feed it a file's SWITCH records as the reader delivers them. They come from many CPUs and between
 * chunks their time may step back: they wait in a window before they are paired. Bounded memory,
 * also for a hostile file: what cannot be paired is counted. One thread.
 */
#ifndef TAPIR_USER_OFFCPU_H
#define TAPIR_USER_OFFCPU_H

#include <stdbool.h>
#include <stdint.h>

#include "tapir/abi.h"

#define TAPIR_OFFCPU_WINDOW_NS	 500000000u
#define TAPIR_OFFCPU_WINDOW_CNT	 65536u /* records that wait at most */
#define TAPIR_OFFCPU_MAX_THREADS 65536u

struct tapir_offcpu_span {
	uint32_t tgid, tid;
	uint64_t from_ns, until_ns;
	uint64_t
		wake_ns; /* when it could have run again; from_ns when it always could; 0 unknown */
	uint32_t waker_tid; /* 0 unknown, or an interrupt */
	uint64_t token;	    /* what on_out returned */
};

struct tapir_offcpu_fns {
	/*
	 * A thread leaves its CPU: while its stack is known, find its place. ids: NULL: none. May
	 * be NULL.
	 */
	uint64_t (*on_out)(void *ctx, const struct tapir_rec_switch *out,
			   const struct tapir_trace_ids *ids);
	/* The thread is back on a CPU. */
	void (*on_span)(void *ctx, const struct tapir_offcpu_span *span);
};

struct tapir_offcpu_stats {
	uint64_t spans;
	uint64_t unpaired; /* came back and had not been seen to leave, or left twice */
	uint64_t open;	   /* after __finish: away at the end; their time is in no span */
};

struct tapir_offcpu;

/* NULL: out of memory. */
struct tapir_offcpu *tapir_offcpu__new(const struct tapir_offcpu_fns *fns, void *ctx);
void tapir_offcpu__free(struct tapir_offcpu *o);

/*
 * Takes any well-formed record, copied: only context switches count, and of these the sides, out
 * and in, whose process is wanted. is_wanted: NULL: every process is. 0 or -ENOMEM.
 */
int tapir_offcpu__add(struct tapir_offcpu *o, const struct tapir_rec *rec,
		      bool (*is_wanted)(void *ctx, uint32_t tgid), void *ctx);
/* Pairs what still waits, after the last record. */
int tapir_offcpu__finish(struct tapir_offcpu *o);
const struct tapir_offcpu_stats *tapir_offcpu__stats(const struct tapir_offcpu *o);

#endif
