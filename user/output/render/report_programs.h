/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report_programs.h - the processes of a recording by name: sixty of one name are one row. Of a
 * recording of all processes, the busiest ones are diagnosed, each by itself: findings of all
 * together would add up what belongs to different processes. One thread.
 */
#ifndef TAPIR_USER_REPORT_PROGRAMS_H
#define TAPIR_USER_REPORT_PROGRAMS_H

#include "base/keyed.h"
#include "analyze/summary.h"
#include "analyze/process_use.h"
#include "base/vec.h"
#include "diagnose/finding.h"
#include "trace/reader.h"

#define TAPIR_PROCESSES_JUDGED 8

struct tapir_report_program {
	struct tapir_sv name;		       /* the summary's */
	const struct tapir_process_row *first; /* the one that was recorded most */
	size_t cnt;
	uint64_t samples, records;
	uint64_t cpu_ns; /* of a machine, once judged: by process_use.h */
};

/* The thread that ended most of the time for which others waited for locks. */
struct tapir_lock_owner {
	uint32_t tid;
	const char *reason; /* static: "monitor" */
	uint64_t ns;
	char comm[TAPIR_COMM_TEXT_BYTES];
};

struct tapir_report_programs {
	/* with most CPU time first: by samples, once judged by cpu_ns */
	struct tapir_keyed(struct tapir_report_program) rows;
	/* of a machine, once judged */
	struct tapir_findings findings; /* of single processes, the worst first */
	uint64_t cpu_ns;		/* of all processes; 0: not known */
	struct tapir_lock_owner owner;	/* ns 0: none was seen */
};

/* Groups processes by their programs. summary: borrowed, sorted. 0 or -ENOMEM. */
int tapir_report_programs__make(struct tapir_report_programs *programs,
				const struct tapir_summary *summary);
/* Puts rows in order, after they are judged. */
void tapir_report_programs__sort(struct tapir_report_programs *programs);
/* Appends "java (4711)", or the name of its service. */
void tapir_report_programs__add_process(const struct tapir_process_row *row, struct tapir_str *out);
/*
 * Reads the recording once more, for findings of each of the busiest processes. has_clock: samples'
 * periods are times. should_continue: called with ctx before each record. 0, -errno, or -ECANCELED
 * when it returned false.
 */
int tapir_report_programs__judge(struct tapir_report_programs *programs,
				 const struct tapir_summary *summary,
				 const struct tapir_reader *whole,
				 const struct tapir_timeline_opts *opts, bool has_clock,
				 bool (*should_continue)(void *ctx), void *ctx);
void tapir_report_programs__fini(struct tapir_report_programs *programs);

#endif
