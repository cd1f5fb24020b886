/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sideband.h - files that are mapped executable, as they are mapped: a perf dummy event on each CPU
 * with mmap2 records, on CLOCK_MONOTONIC. Build IDs are not requested: see
 * record/images/mapped_files.h.
 *
 * Needs CAP_PERFMON (or perf_event_paranoid < 0). Costs the machine nothing but a record an
 * executable mmap. One thread.
 */
#ifndef TAPIR_USER_SIDEBAND_H
#define TAPIR_USER_SIDEBAND_H

#include <stdbool.h>
#include <stdint.h>

#include "tapir/abi.h"

struct tapir_sideband;

struct tapir_sideband_mmap {
	uint64_t time_ns;
	uint32_t tgid, tid;
	uint64_t start_va, len_bytes, file_off;
	uint64_t inode;		       /* 0: not a file */
	uint32_t dev_major, dev_minor; /* of its file system; stat(2) may show another */
	const char *path;	       /* as the process sees it, or //anon, [vdso] …; borrowed */
};

typedef void (*tapir_sideband_fn)(void *ctx, const struct tapir_sideband_mmap *mmap);

/*
 * Opens an event and its ring on each CPU. 0 or -errno with a line. All others take NULL: there are
 * no records.
 */
int tapir_sideband__open(struct tapir_sideband **out);
void tapir_sideband__close(struct tapir_sideband *s);

/* An epoll fd that is readable when there are records. Borrowed. */
int tapir_sideband__fd(const struct tapir_sideband *s);

/*
 * Remembers how far the rings are filled: __drain stops there. A caller that then reads the
 * kernel's records of processes knows every process of such a mapping. True: there is something to
 * drain.
 */
bool tapir_sideband__mark(struct tapir_sideband *s);

/* Hands out what there was at the last __mark, ring by ring. */
void tapir_sideband__drain(struct tapir_sideband *s, tapir_sideband_fn fn, void *ctx);

/* Records that the kernel dropped for lack of space, and malformed ones, since open. */
uint64_t tapir_sideband__lost(const struct tapir_sideband *s);

#endif
