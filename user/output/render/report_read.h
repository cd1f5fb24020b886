/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report_read.h - a recording read once for the report: all counts, and the finding. For `tapir
 * report`, and for the last lines of `tapir record`. One thread.
 */
#ifndef TAPIR_USER_REPORT_READ_H
#define TAPIR_USER_REPORT_READ_H

#include "diagnose/diagnosis.h"
#include "analyze/pairs.h"
#include "analyze/summary.h"
#include "base/vec.h"
#include "output/render/report_view.h"
#include "trace/reader.h"

struct tapir_report_request {
	const char *path;		      /* as the report calls it */
	const struct tapir_pids *pids, *tids; /* none: all */
	uint64_t from_ns, until_ns; /* since the recording began; until_ns 0: to its end */
	struct tapir_where *where;  /* what is counted; NULL: all */
	/*
	 * Called every few thousand records; false: reading ends with -ECANCELED. NULL: never ends
	 * early.
	 */
	bool (*should_continue)(void *ctx);
	/*
	 * For a caller that makes more of the same pass: called once with the timeline, to which it
	 * listens, and with each record. It may use the timeline until __fini. NULL: none.
	 */
	int (*begin)(void *ctx, struct tapir_timeline *tl);
	void (*on_record)(void *ctx, const struct tapir_rec *rec);
	void *ctx;
};

struct tapir_report {
	struct tapir_report_view view; /* what the functions of report_view.h take */
	/* for the report alone */
	struct tapir_summary summary;
	struct tapir_diagnosis finding;
	struct tapir_findings findings;
	struct tapir_overview overview;
	struct tapir_report_programs programs;
};

/*
 * Reads to the end. pairs: borrowed until __fini, with those that --pair names. 0, or -errno with a
 * line where a process or thread that was requested is not in the file. __fini in any case.
 */
int tapir_report__read(struct tapir_report *report, struct tapir_reader *reader,
		       struct tapir_pairs *pairs, const struct tapir_report_request *request);
void tapir_report__fini(struct tapir_report *report);

#endif
