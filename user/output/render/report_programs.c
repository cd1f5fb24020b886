// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each program has a separate finding, to which a common timeline reports only its processes. The
 * first reading determines which programs are the busiest, hence the second reading.
 */
#include "output/render/report_programs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "decode/probe_name.h"
#include "diagnose/finding.h"

#define MAX_PROGRAMS 4096u

/* ---- by name -------------------------------------------------------------------------------- */

/* The kernel's workers have the number of their CPU in their names. */
static struct tapir_sv name_of(const struct tapir_process_row *row)
{
	static const char worker[] = "kworker/";
	const char *name = *row->comm ? row->comm : "?";

	if (!strncmp(name, worker, sizeof(worker) - 1))
		return (struct tapir_sv){name, sizeof(worker) - 2};
	return tapir_sv__of(name);
}

static int by_use(const void *a, const void *b)
{
	const struct tapir_report_program *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	if (x->records != y->records)
		return x->records < y->records ? 1 : -1;
	return x->first < y->first ? -1 : x->first > y->first;
}

int tapir_report_programs__make(struct tapir_report_programs *programs,
				const struct tapir_summary *summary)
{
	const struct tapir_process_row *row;
	struct tapir_map by_name = {};
	int err = 0;

	tapir_vec_for_each (row, &summary->processes) {
		uint64_t records = tapir_captured__sum(row->captured);
		struct tapir_report_program made = {.name = name_of(row), .first = row, .cpus = -1};
		struct tapir_report_program *program;

		if (!records)
			continue;
		program = tapir_keyed__row(&programs->rows, &by_name,
					   tapir_hash__bytes(1, made.name.data, made.name.len),
					   MAX_PROGRAMS, made);
		if (!program) {
			err = programs->rows.cnt < MAX_PROGRAMS ? -ENOMEM : 0;
			continue;
		}
		program->cnt++;
		program->samples += row->captured[TAPIR_FAMILY_SAMPLE];
		program->records += records;
	}
	if (programs->rows.cnt)
		qsort(programs->rows.data, programs->rows.cnt, sizeof(*programs->rows.data),
		      by_use);
	tapir_map__fini(&by_name);
	return err;
}

void tapir_report_programs__fini(struct tapir_report_programs *programs)
{
	struct tapir_report_program *row;

	tapir_vec_for_each (row, &programs->rows)
		tapir_found_list__fini(&row->findings);
	tapir_vec__fini(&programs->rows);
}

/* ---- findings of each program --------------------------------------------------------------- */

struct judge {
	struct tapir_finding *findings; /* cnt of them, of the busiest programs */
	size_t cnt;
	struct tapir_map by_tgid; /* idx of a process's program */
};

/* Returns NULL if the process belongs to another program. */
static struct tapir_finding *finding_of(void *ctx, uint32_t tgid)
{
	struct judge *j = ctx;
	const uint64_t *idx = tapir_map__get(&j->by_tgid, tgid);

	return idx ? &j->findings[*idx] : NULL;
}

/* Calls a function of the finding of a process, if it is one of these programs'. */
#define PASS_ON(fn, tgid, ...)                                                                     \
	do {                                                                                       \
		struct tapir_finding *finding_ = finding_of(ctx, tgid);                            \
		if (finding_)                                                                      \
			tapir_finding_fns.fn(finding_, __VA_ARGS__);                               \
	} while (0)

static void on_sample(void *ctx, struct tapir_tl_thread *thread,
		      const struct tapir_rec_sample *sample)
{
	PASS_ON(sample, sample->tgid, thread, sample);
}

static void on_wait(void *ctx, const struct tapir_wait *wait)
{
	PASS_ON(wait, wait->thread->tgid, wait);
}

static void on_cut_wait(void *ctx, const struct tapir_wait *wait)
{
	PASS_ON(cut_wait, wait->thread->tgid, wait);
}

static void on_event(void *ctx, struct tapir_tl_thread *thread,
		     const struct tapir_probe_view *probe, const struct tapir_event_view *event)
{
	PASS_ON(event, thread->tgid, thread, probe, event);
}

static void on_awaited(void *ctx, struct tapir_interval *interval, uint64_t ns)
{
	PASS_ON(awaited, interval->tgid, interval, ns);
}

static void on_close(void *ctx, struct tapir_interval *interval)
{
	PASS_ON(close, interval->tgid, interval);
}

static void on_counter(void *ctx, const struct tapir_rec_counter *counter)
{
	PASS_ON(counter, counter->tgid, counter);
}

static void on_snapshot(void *ctx, const struct tapir_rec_switch *rec, uint32_t node)
{
	PASS_ON(snapshot, tapir_rec__tgid(&rec->h, tapir_rec__whose(&rec->h)), rec, node);
}

static void on_look(void *ctx, const struct tapir_rec_look *rec, uint32_t node)
{
	PASS_ON(look, rec->tgid, rec, node);
}

static void on_call(void *ctx, const struct tapir_rec *rec)
{
	PASS_ON(call, tapir_rec__tgid(rec, tapir_rec__whose(rec)), rec);
}

static void on_record(void *ctx, const struct tapir_rec *rec)
{
	PASS_ON(record, tapir_rec__tgid(rec, tapir_rec__whose(rec)), rec);
}

static const struct tapir_timeline_fns fns = {.sample = on_sample,
					      .wait = on_wait,
					      .cut_wait = on_cut_wait,
					      .event = on_event,
					      .awaited = on_awaited,
					      .close = on_close,
					      .counter = on_counter,
					      .snapshot = on_snapshot,
					      .look = on_look,
					      .call = on_call,
					      .record = on_record};

static int read_all(struct tapir_timeline *tl, struct tapir_reader *reader,
		    bool (*goes_on)(void *ctx), void *ctx)
{
	const struct tapir_rec *rec;
	int err = 0, got;

	tapir_reader__deliver_descriptions(reader, true);
	while (!err && (got = tapir_reader__next(reader, &rec)) > 0)
		err = goes_on(ctx) ? tapir_timeline__add(tl, rec) : -ECANCELED;
	if (err)
		return err;
	return got ? got : tapir_timeline__finish(tl);
}

static int begin(struct judge *j, const struct tapir_report_programs *programs,
		 const struct tapir_summary *summary, struct tapir_timeline *tl)
{
	const struct tapir_process_row *row;

	j->findings = calloc(TAPIR_PROGRAMS_JUDGED, sizeof(*j->findings));
	if (!j->findings)
		return -ENOMEM;
	for (; j->cnt < TAPIR_PROGRAMS_JUDGED && j->cnt < programs->rows.cnt; j->cnt++)
		j->findings[j->cnt].tl = tl;
	tapir_vec_for_each (row, &summary->processes)
		for (size_t i = 0; i < j->cnt; i++) {
			uint64_t *idx;

			if (tapir_sv__compare(name_of(row), programs->rows.data[i].name) != 0)
				continue;
			idx = tapir_map__put(&j->by_tgid, row->pid, NULL);
			if (!idx)
				return -ENOMEM;
			*idx = i;
		}
	return tapir_timeline__listen(tl, &fns, j);
}

static int list(struct judge *j, struct tapir_report_programs *programs, bool has_clock)
{
	int err = 0;

	for (size_t i = 0; i < j->cnt; i++) {
		struct tapir_report_program *program = &programs->rows.data[i];

		j->findings[i].has_clock = has_clock;
		tapir_finding__list(&j->findings[i], &program->findings);
		program->cpus = tapir_finding__cpus(&j->findings[i]);
		err = program->findings.failed ? -ENOMEM : err;
	}
	return err;
}

static void judge__fini(struct judge *j)
{
	for (size_t i = 0; i < j->cnt; i++)
		tapir_finding__fini(&j->findings[i]);
	free(j->findings);
	tapir_map__fini(&j->by_tgid);
}

int tapir_report_programs__judge(struct tapir_report_programs *programs,
				 const struct tapir_summary *summary,
				 const struct tapir_reader *whole,
				 const struct tapir_timeline_opts *opts, bool has_clock,
				 bool (*goes_on)(void *ctx), void *ctx)
{
	struct tapir_reader *reader = NULL;
	struct tapir_timeline *tl = NULL;
	struct tapir_pairs pairs = {};
	struct judge j = {};
	int err = tapir_reader__open_again(whole, &reader);

	if (err)
		return err;
	tapir_reader__complete_probes(reader, tapir_probe_name__complete);
	tl = tapir_timeline__new(tapir_reader__catalog(reader), &pairs, opts);
	err = tl ? begin(&j, programs, summary, tl) : -ENOMEM;
	if (!err)
		err = read_all(tl, reader, goes_on, ctx);
	if (!err)
		err = list(&j, programs, has_clock);
	judge__fini(&j);
	tapir_timeline__free(tl);
	tapir_pairs__fini(&pairs);
	tapir_reader__close(reader);
	return err;
}
