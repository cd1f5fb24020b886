// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A copy belongs to its owner as the recording does (sudo), and has its name when it is complete.
 */
#include "cli/recording_copy.h"

#include <unistd.h>

#include "base/diag.h"
#include "cli/long_read.h"

int tapir_recording_copy__create(struct tapir_recording_copy *copy, const struct stat *st,
				 bool is_truncated)
{
	struct tapir_writer_opts opts = {.sz = sizeof(opts),
					 .path = copy->path,
					 .force = copy->force,
					 .is_complete = true,
					 .is_truncated = is_truncated,
					 .created_ns = copy->created_ns,
					 .created_utc_ns = copy->created_utc_ns};

	if (st && !geteuid()) {
		opts.has_owner = true;
		opts.uid = st->st_uid;
		opts.gid = st->st_gid;
	}
	copy->diag_cnt = tapir_diag__cnt();
	return tapir_writer__open(&opts, &copy->w);
}

int tapir_recording_copy__open(struct tapir_recording_copy *copy, const struct tapir_reader *reader)
{
	const struct tapir_reader_stats *stats = tapir_reader__stats(reader);
	bool has_owner;
	struct stat st;

	if (!copy->created_ns) {
		copy->created_ns = stats->created_ns + copy->from_ns;
		copy->created_utc_ns = stats->created_utc_ns + copy->from_ns;
	}
	has_owner = !fstat(tapir_reader__fd(reader), &st);
	return tapir_recording_copy__create(copy, has_owner ? &st : NULL, stats->is_truncated);
}

int tapir_recording_copy__close(struct tapir_recording_copy *copy, int err)
{
	if (!err) {
		tapir_writer__keep(copy->w);
		err = tapir_writer__close(copy->w);
	}
	if (err) {
		tapir_writer__abandon(copy->w);
		tapir_long_read__name_output(copy->path, copy->diag_cnt, err);
	}
	tapir_writer__free(copy->w);
	return err;
}
