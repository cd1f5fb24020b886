/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * segments.h - the last part of a recording that has no end: a ring of segments, each a recording
 * of its own, in memory or in a directory. The oldest is discarded when there is no room, or when
 * it is older than the longest time that can be requested.
 *
 * One thread at a time, the one that writes; __stats from any thread.
 */
#ifndef TAPIR_USER_SEGMENTS_H
#define TAPIR_USER_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

/* The smallest ring: of 8 segments, each with room for what is written at once. */
#define TAPIR_SEGMENTS_MIN_BYTES (8u << 20)

struct tapir_segments_opts {
	size_t sz;
	const char *dir;    /* NULL: in memory; else files of this directory, mode 0600 */
	const char *stem;   /* of their names: DIR/STEM.000001.tapir; without dir, in messages */
	uint64_t max_bytes; /* of all together; at least TAPIR_SEGMENTS_MIN_BYTES */
	uint64_t keep_ns;   /* what is older goes */
	bool has_owner;	    /* files of dir belong to uid and gid */
	uid_t uid;
	gid_t gid;
};

struct tapir_segments;

/* Texts are copied. 0, or -errno with a line: dir is no directory, or cannot be opened. */
int tapir_segments__new(const struct tapir_segments_opts *opts, struct tapir_segments **out);
/* Closes all. is_kept: files of a directory stay. Accepts NULL. */
void tapir_segments__free(struct tapir_segments *s, bool is_kept);

/*
 * Makes room, and an empty segment that begins at now_ns; the one before has ended. Its descriptor
 * and name are borrowed until it is discarded. -errno with a line: there is none.
 */
int tapir_segments__begin(struct tapir_segments *s, uint64_t now_ns, int *fd, const char **name);
/* The newest one is complete, with that many bytes; what is after them is cut off. */
void tapir_segments__end(struct tapir_segments *s, uint64_t bytes, uint64_t now_ns);

/*
 * Return true if the newest segment has its share of room, and its share of time: a new one should
 * begin. bytes: its length so far.
 */
bool tapir_segments__is_full(const struct tapir_segments *s, uint64_t bytes);
bool tapir_segments__is_due(const struct tapir_segments *s, uint64_t bytes, uint64_t now_ns);

/* The segments that hold records from from_ns on. */
struct tapir_segment_fds {
	struct tapir_vec(int) fds; /* the oldest first */
	uint64_t from_ns;	   /* since when they have everything, if that is later */
};

/* Complete ones; copies of their descriptors, for the caller to __fini. -ENOMEM or -EMFILE. */
int tapir_segments__list(const struct tapir_segments *s, uint64_t from_ns,
			 struct tapir_segment_fds *out);
/* Closes the descriptors. */
void tapir_segment_fds__fini(struct tapir_segment_fds *fds);

struct tapir_segments_stats {
	uint64_t kept_cnt, kept_bytes;
	uint64_t discarded_cnt, discarded_bytes; /* since the start */
	uint64_t early_cnt; /* of them: younger than keep_ns, for lack of room */
};
/* Writes the numbers of this moment. Any thread. */
void tapir_segments__stats(const struct tapir_segments *s, struct tapir_segments_stats *out);

#endif
