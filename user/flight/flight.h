/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flight.h - a flight recorder: a recording that keeps its last part in a ring of segments
 * (trace/segments.h) and writes it to a file when a trigger fires, at SIGUSR2, and at its end.
 *
 * What is frozen is everything from window_ns before the trigger to half a second after it, as one
 * recording. A file is at least cooldown_ns later than the one before; the last one, at the end, is
 * not. Writing takes place on a thread of its own, while the recording continues.
 */
#ifndef TAPIR_USER_FLIGHT_H
#define TAPIR_USER_FLIGHT_H

#include "record/recording.h"
#include "flight/trigger.h"

struct tapir_flight_file {
	const char *why;
	uint64_t ns, bytes; /* that it covers; has */
};

struct tapir_flight_opts {
	size_t sz;
	const char *stem; /* files are STEM-DATE-TIME.tapir; borrowed */
	const char *dir;  /* of the segments; NULL: memory; borrowed */
	uint64_t ring_bytes;
	uint64_t window_ns, cooldown_ns;
	uint64_t max_files;
	struct tapir_triggers *triggers;      /* NULL: none; borrowed */
	const struct tapir_writer_opts *file; /* all but its path and descriptor; borrowed */
	/*
	 * The destination of files instead, on the freezer's thread: make returns a descriptor or
	 * -errno with a line, take gets it with what is in it. NULL: STEM-DATE-TIME.tapir, and one
	 * at the end.
	 */
	int (*make)(void *ctx);
	void (*take)(void *ctx, int fd, const struct tapir_flight_file *file);
	/*
	 * Returns true if a recording has a finding of this severity, and describes it: for
	 * triggers, once per window, on the freezer's thread. NULL: findings fire nothing.
	 */
	bool (*judge)(void *ctx, int fd, double severity, struct tapir_str *why);
	/*
	 * All that is recorded, as parts of this length, one after the other without overlap: part
	 * gets a memory file of each, which is its own, on the freezer's thread. 0: none.
	 */
	uint64_t part_ns;
	void (*part)(void *ctx, int fd, uint64_t from_ns, uint64_t until_ns);
	void *ctx;
};

struct tapir_flight_stats {
	uint64_t file_cnt, failed_cnt; /* written; could not be */
	uint64_t ignored_cnt;	       /* triggers: too soon, or one file too many */
	uint64_t missed_cnt;	       /* intervals that slow= did not follow */
	struct tapir_segments_stats segments;
};

/*
 * Runs the recording: opts is as for tapir_recording__run, without file and ring, which are set
 * here. One line on stderr per file. last_path: of the newest file, to be freed; NULL: none.
 * 0 or -errno with lines, also when the last file could not be written.
 */
int tapir_flight__run(const struct tapir_flight_opts *flight, struct tapir_recording_opts *opts,
		      struct tapir_recording_result *result, struct tapir_flight_stats *stats,
		      char **last_path);

#endif
