/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export_job.h - a recording in the form of another tool, to a file or standard output. */
#ifndef TAPIR_USER_EXPORT_JOB_H
#define TAPIR_USER_EXPORT_JOB_H

#include "cli/options.h"
#include "trace/reader.h"

struct tapir_export_job {
	const char *format;	      /* of a sink */
	const char *output;	      /* NULL or "-": standard output */
	const char *event, *trace_id; /* NULL: all; both are checked */
	bool force, folds;
	bool has_head; /* with the finding, if the format has a place for it */
};

/* For recording_file.h: the recording is FILE, cli's first word. 0 or -errno with a line. */
int tapir_export_job__run(const struct tapir_export_job *job, struct tapir_reader *reader,
			  struct tapir_cli *cli);

#endif
