/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report_programs.h - the processes of a recording by name: sixty of one name are one row. The
 * busiest ones of a recording of all processes have separate findings, because findings of all
 * together would add up what belongs to different programs. One thread.
 */
#ifndef TAPIR_USER_REPORT_PROGRAMS_H
#define TAPIR_USER_REPORT_PROGRAMS_H

#include "analyze/summary.h"
#include "analyze/timeline.h"
#include "base/vec.h"
#include "diagnose/found.h"
#include "trace/reader.h"

#define TAPIR_PROGRAMS_JUDGED 3

struct tapir_report_program {
	struct tapir_sv name;		       /* the summary's */
	const struct tapir_process_row *first; /* the one that was recorded most */
	size_t cnt;
	uint64_t samples, records;
	double cpus;			  /* used on average; negative: not known, or not judged */
	struct tapir_found_list findings; /* of the first TAPIR_PROGRAMS_JUDGED, once judged */
};

struct tapir_report_programs {
	struct tapir_vec(struct tapir_report_program) rows; /* with most CPU time first */
};

/* 0 or -ENOMEM. summary: borrowed, sorted. */
int tapir_report_programs__make(struct tapir_report_programs *programs,
				const struct tapir_summary *summary);
/*
 * Reads the recording once more, for findings of each of the busiest programs. has_clock: samples'
 * periods are times. goes_on: called with ctx before each record. 0, -errno, or -ECANCELED when it
 * returned false.
 */
int tapir_report_programs__judge(struct tapir_report_programs *programs,
				 const struct tapir_summary *summary,
				 const struct tapir_reader *whole,
				 const struct tapir_timeline_opts *opts, bool has_clock,
				 bool (*goes_on)(void *ctx), void *ctx);
void tapir_report_programs__fini(struct tapir_report_programs *programs);

#endif
