/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jitdump.h - follows a jitdump file: records of generated code with times of their own, as Linux's
 * tools/perf/Documentation/jitdump-specification.txt has them. The code itself is not read.
 *
 * A runtime maps the file executable to announce it: the mapping gives access to the file. It
 * belongs to the traced process: bounded work per call, and the first problem with it is reported
 * once. One thread at a time; no privileges.
 */
#ifndef TAPIR_USER_JITDUMP_H
#define TAPIR_USER_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/jit_table.h"

struct tapir_jitdump;

/* Two moments of a processor's tick counter and of CLOCK_MONOTONIC; the further apart the better.
 */
struct tapir_jitdump_ticks {
	uint64_t ticks[2], ns[2];
};

struct tapir_jitdump_opts {
	size_t sz;
	int fd;	       /* the mapped file, open for reading; duplicated */
	uint32_t tgid; /* for the users /proc/PID/status names and the filesystem; 0: not asked */
	uint32_t uid;  /* who may own the file */
	int64_t clock_offset_ns;	  /* the process's CLOCK_MONOTONIC minus tapir's:
					     /proc/PID/timens_offsets */
	struct tapir_jitdump_ticks ticks; /* for files with such times; zero: times of reading */
	/*
	 * The file was written all at once, at at_ns, for code that existed already: its own times
	 * mean nothing. Names are valid from since_ns (0: the start) where no other name is known,
	 * else from at_ns.
	 */
	bool is_picture;
	uint64_t since_ns, at_ns;
};

struct tapir_jitdump_stats {
	uint64_t records, bad_records;
	uint64_t names;	  /* that were news */
	uint64_t refused; /* by the table */
	uint64_t bytes;	  /* passed, of the file */
};

/* Returns true if a mapped file of this path is one: "jit-PID.dump", in any directory. */
bool tapir_jitdump__is_path(const char *path, size_t path_len);

/*
 * Opens the file for reading as it grows; *out is the caller's to close. -EACCES, -EINVAL: not a
 * file that may be read (jit_file.h), with a line; -ENOMEM.
 */
int tapir_jitdump__open(const struct tapir_jitdump_opts *opts, struct tapir_jitdump **out);
void tapir_jitdump__close(struct tapir_jitdump *d);

/*
 * Reads about max_bytes at most, whole records, into the table. 1: more is there, 0: all was read.
 */
int tapir_jitdump__read(struct tapir_jitdump *d, uint64_t now_ns, size_t max_bytes,
			struct tapir_jit_table *table);

/* Counts since the file was opened; borrowed. */
const struct tapir_jitdump_stats *tapir_jitdump__stats(const struct tapir_jitdump *d);

/* The problem with the file, a line for a person that was logged as a warning; NULL: none. */
const char *tapir_jitdump__problem(const struct tapir_jitdump *d);

#endif
