/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * freeze.h - segments of a ring (segments.h), joined into one recording of a stretch of time.
 *
 * No state; any thread, while the ring continues: the segments are complete.
 */
#ifndef TAPIR_USER_FREEZE_H
#define TAPIR_USER_FREEZE_H

#include <stddef.h>
#include <stdint.h>

#include "trace/segments.h"
#include "trace/writer.h"

struct tapir_freeze {
	const struct tapir_segment_fds *segments;
	uint64_t from_ns, until_ns; /* both included; descriptions are taken whole */
	/* Snapshots at an end are copied from this time on: earlier ones belong to other files. */
	uint64_t snapshot_ns;
	const struct tapir_rec *const *first; /* put before everything: META, GAP */
	size_t first_cnt;
};

/*
 * Damaged parts are left out. GAPs that last (tapir_gap__lasts) come from `first` alone, since the
 * segment in which they were written may be gone. 0, or the writer's or reader's error.
 */
int tapir_freeze__write(const struct tapir_freeze *freeze, struct tapir_writer *w);

/* Returns true if the gap holds until the process ends, not only from from_ns to until_ns. */
bool tapir_gap__lasts(const struct tapir_rec_gap *gap);

#endif
