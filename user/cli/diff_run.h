/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_run.h - reads two recordings and compares them, for the commands that do: with progress, and
 * with a condition for each recording, since it is bound to what is in it. Main thread.
 */
#ifndef TAPIR_USER_DIFF_RUN_H
#define TAPIR_USER_DIFF_RUN_H

#include "analyze/diff/diff.h"
#include "cli/options.h"

struct tapir_diff_run {
	const char *names[2]; /* what messages call the recordings, the first one first; borrowed */
	struct tapir_where *where[2];
	struct tapir_diff_side sides[2];
	struct tapir_diff diff;
};

/*
 * Reads one of the recordings, nr 0 or 1, to its end; reader is borrowed, before its first record.
 * where: the value of --where, borrowed until __fini; NULL: none. 0, -EINTR, -ENOMEM or -errno
 * with lines.
 */
int tapir_diff_run__read(struct tapir_diff_run *run, unsigned nr, struct tapir_reader *reader,
			 struct tapir_cli *cli, const char *where);
/* After both were read: fills run->diff. 0 or -ENOMEM. */
int tapir_diff_run__compare(struct tapir_diff_run *run, enum tapir_diff_base base);
/* After __compare: what tapir_diff__write does, and a note of what each condition left out. */
void tapir_diff_run__write(struct tapir_diff_run *run, uint64_t top, bool is_all,
			   struct tapir_view_result *result);
void tapir_diff_run__fini(struct tapir_diff_run *run);

#endif
