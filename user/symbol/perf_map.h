/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_map.h - follows a perf map: "start size name", one line per piece of generated code, written
 * by the runtime to /tmp/perf-PID.map of its own mount and pid namespace.
 *
 * Numbers are hexadecimal, with 0x or without; a name is what remains of the line. Lines are
 * appended while the code runs (Node, CPython, BEAM, PHP), or the file is rewritten as a picture of
 * one moment (HotSpot); a name gets the time before which it did not exist: that of the last read
 * that reached the end. The last line may be cut: it is read when it is complete.
 *
 * The file belongs to the traced process (jit_file.h): its cost is bounded, and the first problem
 * with it is reported once. One thread at a time. Privileges: those of jit_file.h.
 */
#ifndef TAPIR_USER_PERF_MAP_H
#define TAPIR_USER_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/jit_table.h"

struct tapir_perf_map;

struct tapir_perf_map_opts {
	size_t sz;
	uint32_t tgid;
	uint32_t ns_tgid;  /* in its innermost pid namespace: in the file's name */
	uint32_t uid;	   /* who may own the file, in addition to the users in /proc/PID/status */
	uint64_t start_ns; /* of the process, CLOCK_MONOTONIC: what is older is another's; 0 any */
	const char *path;  /* NULL: /tmp/perf-NS_TGID.map; below the process's root */
};

struct tapir_perf_map_stats {
	uint64_t lines, bad_lines;
	uint64_t names;	  /* that were news */
	uint64_t refused; /* by the table */
	uint64_t bytes;	  /* read */
};

/*
 * -ENOENT: there is no such file, or it is older than the process; -ESRCH: no such process;
 * -ENOMEM. None adds a line: ask again later. A file that may not be read is not a failure: it
 * causes a warning, nothing is read, and it is checked again later.
 */
int tapir_perf_map__open(const struct tapir_perf_map_opts *opts, struct tapir_perf_map **out);
void tapir_perf_map__close(struct tapir_perf_map *m);

/*
 * Reads what was appended, at most about max_bytes, into the table. A file that was replaced,
 * cut or written anew is read from its beginning. 1: more is there, 0: all was read.
 */
int tapir_perf_map__read(struct tapir_perf_map *m, uint64_t now_ns, size_t max_bytes,
			 struct tapir_jit_table *table);

/* Counts since the file was opened; borrowed. */
const struct tapir_perf_map_stats *tapir_perf_map__stats(const struct tapir_perf_map *m);

/* The problem with the file, a line for a person that was logged as a warning; NULL: none. */
const char *tapir_perf_map__problem(const struct tapir_perf_map *m);

#endif
