/* SPDX-License-Identifier: GPL-2.0-or-later */
/* export_job.h - what all formats of `tapir export` are given; for export_*.c and cmd_export.c. */
#ifndef TAPIR_USER_EXPORT_JOB_H
#define TAPIR_USER_EXPORT_JOB_H

#include "output/export/event_filter.h"
#include "trace/trace_filter.h"
#include "cli/long_read.h"
#include "cli/output_file.h"

struct tapir_export_job {
	struct tapir_reader *reader;
	struct tapir_long_read read;
	struct tapir_output_file file;
	struct tapir_str out;		  /* on its way to file */
	const char *title;		  /* the recording's name */
	struct tapir_str head;		  /* lines of the finding; empty: none */
	bool of_offcpu;			  /* folded: time off the CPU, not samples */
	struct tapir_event_filter choice; /* these events instead of samples; no glob: of both */
	struct tapir_trace_filter trace;  /* and these samples, events and times off the CPU */
	uint64_t chosen_cnt;		  /* records that were given */
};

/* Each reads all of it and leaves the last bytes in job->out. 0 or -errno, with a line. */
int tapir_export__folded(struct tapir_export_job *job);
int tapir_export__pprof(struct tapir_export_job *job);
int tapir_export__otlp(struct tapir_export_job *job);
int tapir_export__perf_script(struct tapir_export_job *job);
int tapir_export__speedscope(struct tapir_export_job *job);
int tapir_export__nettrace(struct tapir_export_job *job);

#endif
