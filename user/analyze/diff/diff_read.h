/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff_read.h - one of the recordings that are compared, as rows of figures. One thread. */
#ifndef TAPIR_USER_DIFF_READ_H
#define TAPIR_USER_DIFF_READ_H

#include "analyze/diff/diff_rows.h"
#include "trace/reader.h"

struct tapir_where;

struct tapir_diff_opts {
	/* Opens the recording once more, before its first record. */
	int (*open_again)(void *ctx, struct tapir_reader *first, struct tapir_reader **out);
	struct tapir_where *where; /* borrowed; what is compared; NULL: all */
	/* Called every few thousand records; false: reading ends with -ECANCELED. NULL: never. */
	bool (*should_continue)(void *ctx);
	void *ctx;
};

/* Zero at first. */
struct tapir_diff_side {
	struct tapir_diff_rows rows;
	uint64_t span_ns; /* from when all was attached to the end */
	uint64_t captured[TAPIR_FAMILY_CNT], lost[TAPIR_FAMILY_CNT];
	uint64_t request_cnt;
	double requests[TAPIR_DIFF_PARTS], seconds[TAPIR_DIFF_PARTS];
	char *specs; /* what was requested, one a line; NULL: the file does not say */
	bool has_samples, has_switches; /* they were recorded, even if there were none */
	bool is_truncated;		/* incomplete or damaged: this is what could be read */
	uint64_t late, no_room;		/* of its timeline */
};

/*
 * Reads a recording to its end. first: before its first record; borrowed. 0 or -errno with a line.
 */
int tapir_diff_side__read(struct tapir_diff_side *side, struct tapir_reader *first,
			  const struct tapir_diff_opts *opts);
void tapir_diff_side__fini(struct tapir_diff_side *side);

#endif
