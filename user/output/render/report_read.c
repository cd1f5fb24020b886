// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads a file into a summary, a timeline and the findings at once. Records outside the window, and
 * of other processes, only move the clock; descriptions are for all, since names may be described
 * before the window.
 */
#include "output/render/report_read.h"

#include <errno.h>
#include <string.h>

#include "trace/family.h"
#include "trace/pids_seen.h"

#define RECORDS_BETWEEN_CHECKS 4096

struct reading {
	const struct tapir_report_request *request;
	uint64_t from_ns, until_ns; /* on the records' clock; until_ns 0: to the end */
	struct tapir_pids_seen seen;
	uint64_t record_cnt;
};

static bool has(const struct tapir_pids *requested, uint32_t id)
{
	const uint32_t *one;

	if (!requested->cnt || !id)
		return true;
	tapir_vec_for_each (one, requested)
		if (*one == id)
			return true;
	return false;
}

/* Records with a duration are in the window if any part of them is. */
static bool overlaps(const struct reading *r, uint64_t from_ns, uint64_t until_ns)
{
	return until_ns >= r->from_ns && (!r->until_ns || from_ns <= r->until_ns);
}

static bool is_in_window(const struct reading *r, const struct tapir_rec *rec)
{
	const struct tapir_rec_loss *loss = (const void *)rec;
	const struct tapir_rec_gap *gap = (const void *)rec;

	switch (rec->type) {
	case TAPIR_REC_LOSS:
		return overlaps(r, loss->from_ns ? loss->from_ns : rec->time_ns,
				loss->until_ns ? loss->until_ns : rec->time_ns);
	case TAPIR_REC_GAP:
		return overlaps(r, gap->from_ns,
				gap->until_ns > gap->from_ns ? gap->until_ns : rec->time_ns);
	default:
		return tapir_rec_type__describes(rec->type) ||
		       overlaps(r, rec->time_ns, rec->time_ns);
	}
}

/* A record of no process and no thread always counts. */
static bool is_wanted_record(const struct reading *r, const struct tapir_rec *rec)
{
	int which = tapir_rec__counted_thread(rec);

	return has(r->request->pids, tapir_rec__tgid(rec, which)) &&
	       has(r->request->tids, tapir_rec__tid(rec, which)) && is_in_window(r, rec) &&
	       tapir_where__count(r->request->where, rec, which);
}

static bool should_continue_report(void *ctx)
{
	struct reading *r = ctx;

	return !r->request->should_continue || r->record_cnt++ % RECORDS_BETWEEN_CHECKS ||
	       r->request->should_continue(r->request->ctx);
}

/* The summary gets records as they are read, and this is its part of tapir_reorder__announce. */
static void expect(const struct tapir_summary *summary, const struct tapir_reader *reader)
{
	for (unsigned step = 0; step < TAPIR_REORDER_STEP_CNT; step++) {
		const struct tapir_rec *rec = tapir_reader__peek(reader, tapir_reorder_ahead[step]);

		if (rec)
			tapir_summary__expect(summary, rec, (enum tapir_reorder_step)step);
	}
}

static int read_report_records(struct tapir_report *report, struct tapir_reader *reader,
			       struct reading *r)
{
	struct tapir_timeline *tl = report->finding.tl;
	struct tapir_summary *summary = &report->summary;
	const struct tapir_rec *rec;
	int err, added = 0;

	tapir_reader__deliver_descriptions(reader, true);
	tapir_where__begin(r->request->where, tapir_reader__catalog(reader));
	summary->start_ns = tapir_reader__stats(reader)->created_ns;
	summary->shared = &tapir_timeline__stacks(tl)->memo;
	while (!added && (err = tapir_reader__next(reader, &rec)) > 0) {
		expect(summary, reader);
		tapir_pids_seen__add(&r->seen, rec);
		if (r->request->on_record)
			r->request->on_record(r->request->ctx, rec);
		summary->hint = 0;
		if (is_wanted_record(r, rec))
			tapir_summary__add(summary, tapir_reader__catalog(reader), rec);
		else
			tapir_summary__pass(summary, rec);
		added = should_continue_report(r)
				? tapir_timeline__add_hinted(tl, rec, summary->hint)
				: -ECANCELED;
	}
	if (added)
		return added;
	return err ? err : summary->failed ? -ENOMEM : tapir_timeline__finish(tl);
}

static bool is_machine(const struct tapir_summary *summary)
{
	const char *targets = tapir_summary__meta(summary, "targets");

	return targets && !strcmp(targets, "all processes");
}

static void make_view(struct tapir_report *report, struct tapir_reader *reader,
		      const struct reading *r)
{
	report->view = (struct tapir_report_view){
		.path = r->request->path,
		.summary = &report->summary,
		.pairs = tapir_timeline__pairs(report->finding.tl),
		.findings = is_machine(&report->summary) ? &report->programs.findings
							 : &report->findings,
		.overview = &report->overview,
		.programs = &report->programs,
		.is_machine = is_machine(&report->summary),
		.late = tapir_timeline__stats(report->finding.tl)->late,
		.cpus = tapir_diagnosis__cpus(&report->finding),
		.catalog = tapir_reader__catalog(reader),
		.stats = tapir_reader__stats(reader),
		.from_ns = r->from_ns,
		.until_ns = r->until_ns,
		.where = r->request->where,
	};
}

/* Samples were taken, or would have been had the targets run, and their periods are times. */
static bool has_clock(const struct tapir_summary *summary)
{
	const char *event = tapir_summary__meta(summary, "sample_event");

	if (!summary->captured[TAPIR_FAMILY_SAMPLE] && !tapir_summary__meta(summary, "sample_hz"))
		return false;
	return !event || !strcmp(event, "cpu-clock");
}

int tapir_report__read(struct tapir_report *report, struct tapir_reader *reader,
		       struct tapir_pairs *pairs, const struct tapir_report_request *request)
{
	uint64_t start_ns = tapir_reader__stats(reader)->created_ns;
	struct reading r = {.request = request,
			    .from_ns = request->from_ns ? start_ns + request->from_ns : 0,
			    .until_ns = request->until_ns ? start_ns + request->until_ns : 0,
			    .seen = {.requested = request->pids, .requested_tids = request->tids}};
	struct tapir_timeline_opts opts = {.from_ns = r.from_ns,
					   .until_ns = r.until_ns,
					   .tgids = request->pids->data,
					   .tgid_cnt = request->pids->cnt,
					   .tids = request->tids->data,
					   .tid_cnt = request->tids->cnt,
					   .where = request->where,
					   .wants_stacks = true};
	struct tapir_diagnosis *finding = &report->finding;
	int err = -ENOMEM;

	finding->tl = tapir_timeline__new(tapir_reader__catalog(reader), pairs, &opts);
	if (finding->tl)
		err = tapir_timeline__listen(finding->tl, &tapir_diagnosis_fns, finding);
	if (!err && request->begin)
		err = request->begin(request->ctx, finding->tl);
	if (!err)
		err = read_report_records(report, reader, &r);
	if (!err)
		err = tapir_pids_seen__check(&r.seen, tapir_reader__catalog(reader), request->path);
	if (!err)
		err = tapir_where__check(request->where);
	if (!err)
		err = tapir_summary__sort(&report->summary);
	/* Without a process, none is idle. */
	if (!err && report->summary.processes.cnt) {
		finding->has_clock = has_clock(&report->summary);
		tapir_diagnosis__list(finding, &report->findings);
		tapir_overview__make(finding, &report->overview);
		err = report->findings.failed || report->overview.failed ? -ENOMEM : 0;
	}
	if (!err)
		err = tapir_report_programs__make(&report->programs, &report->summary);
	/*
	 * The processes of a whole machine are independent of each other: each is diagnosed by
	 * itself.
	 */
	if (!err && is_machine(&report->summary))
		err = tapir_report_programs__judge(&report->programs, &report->summary, reader,
						   &opts, has_clock(&report->summary),
						   should_continue_report, &r);
	if (!err) {
		tapir_report_programs__sort(&report->programs);
		make_view(report, reader, &r);
	}
	tapir_pids_seen__fini(&r.seen);
	return err;
}

void tapir_report__fini(struct tapir_report *report)
{
	tapir_timeline__free(report->finding.tl);
	report->finding.tl = NULL;
	tapir_diagnosis__fini(&report->finding);
	tapir_summary__fini(&report->summary);
	tapir_findings__fini(&report->findings);
	tapir_overview__fini(&report->overview);
	tapir_report_programs__fini(&report->programs);
}
