/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nettrace.h - a recording as NetTrace V6: what PerfView, TraceEvent and what is built on them
 * open.
 *
 * Universal.System has processes, mappings and the names of the frames of stacks; Universal.Events
 * has CPU samples ("cpu") and context switches ("cswitch"). A runtime's own events keep their
 * provider, id, version, payload and description; those of USDT probes get typed fields
 * (nettrace_kind.h). Provider "Tapir" has what the format cannot express: Finding (the first lines
 * of a report, at the begin), Loss (which is a gap in the sequence numbers, too: readers count it),
 * Gap, Counter.
 *
 * Readers name an address once for the life of a process: where generated code takes an address
 * that had another name, its frames are placed at an address that no process uses
 * (TAPIR_NETTRACE_MOVED_VA).
 *
 * Streaming, memory bounded. One thread.
 */
#ifndef TAPIR_USER_NETTRACE_H
#define TAPIR_USER_NETTRACE_H

#include "base/str.h"
#include "trace/reader.h"

struct tapir_nettrace;

struct tapir_nettrace_stats {
	uint64_t events, samples, switches,
		losses;	      /* written; losses: what LOSS records add up to */
	uint64_t late;	      /* record_window.h: moved to when they came */
	uint64_t without_row; /* switches to a thread that is not recorded: no thread comes in */
	uint64_t too_long;    /* events left out: > 64 KB of payload */
	uint64_t undescribed; /* events left out: the file lost what they are */
	uint64_t unnamed;     /* names left out: TAPIR_NETTRACE_NAMES_MAX were written */
};

#define TAPIR_NETTRACE_NAMES_MAX 1000000u
#define TAPIR_NETTRACE_MOVED_VA	 (1ull << 56)

/*
 * reader, head: borrowed; the reader delivers descriptions. head: lines for the begin of the trace;
 * NULL: none. NULL: out of memory.
 */
struct tapir_nettrace *tapir_nettrace__new(struct tapir_reader *reader, const char *head);
void tapir_nettrace__free(struct tapir_nettrace *n);

/* Appends what is ready to out. 0, or -ENOMEM. */
int tapir_nettrace__add(struct tapir_nettrace *n, const struct tapir_rec *rec,
			struct tapir_str *out);
/* Writes the remainder, and the end of the file, without which readers deliver little. */
int tapir_nettrace__finish(struct tapir_nettrace *n, struct tapir_str *out);

/* Counts so far; borrowed. */
const struct tapir_nettrace_stats *tapir_nettrace__stats(const struct tapir_nettrace *n);

#endif
