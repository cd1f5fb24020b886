/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * merge.h - several recordings as one: of several hosts, whose ids are kept apart (trace/rehost.h)
 * and whose clocks are aligned by the UTC that each recording has, or of one host, one after the
 * other. Records of all are in the order of their times.
 *
 * It takes two passes: __add reads the descriptions of a recording, __plan decides which are of one
 * host and how times are moved, and __write merges. Memory holds a chunk of each recording that is
 * being read, and the keys of one segment's descriptions. One thread.
 */
#ifndef TAPIR_USER_MERGE_H
#define TAPIR_USER_MERGE_H

#include "base/str.h"
#include "trace/family.h"
#include "trace/reader.h"
#include "trace/writer.h"

#define TAPIR_MERGE_INPUTS_MAX 256

struct tapir_merge;

struct tapir_merge *tapir_merge__new(void); /* NULL: out of memory */
void tapir_merge__free(struct tapir_merge *m);

/*
 * Adds a recording, which is read once here; reader is taken, also after an error. host: its name,
 * NULL: as the recording says; path: in messages, both borrowed. -EINVAL with a line: it is a
 * merged one (host_part.h), or there is one like it already; others with a line.
 */
int tapir_merge__add(struct tapir_merge *m, struct tapir_reader *reader, const char *path,
		     const char *host);
/* After the last: 0, or -errno with a line. */
int tapir_merge__plan(struct tapir_merge *m);
/* Says what was merged and what is not known of the clocks, a sentence a line; borrowed. */
const char *tapir_merge__text(const struct tapir_merge *m);
/* When the merged recording begins, for its header; is_cut: one lacks its end. */
void tapir_merge__begin(const struct tapir_merge *m, uint64_t *created_ns, uint64_t *created_utc_ns,
			bool *is_truncated);

/* Called now and then; an error of it ends the merge. done: of all bytes, read so far. */
struct tapir_merge_check {
	int (*check)(void *ctx, uint64_t done_bytes, uint64_t all_bytes);
	void *ctx;
};
int tapir_merge__write(struct tapir_merge *m, struct tapir_writer *w,
		       const struct tapir_merge_check *check);

/* After __write: what the idx-th recording had, and its path; NULL: there are fewer. Borrowed. */
const struct tapir_reader_stats *tapir_merge__stats(const struct tapir_merge *m, size_t idx,
						    const char **path);
/* Records whose ids no host has: they were left out. */
uint64_t tapir_merge__skipped_cnt(const struct tapir_merge *m);

#endif
