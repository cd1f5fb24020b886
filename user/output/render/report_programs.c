// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each process has a separate finding, to which a common timeline reports what is its own. The
 * first reading determines which processes are the busiest, hence the second reading.
 */
#include "output/render/report_programs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decode/record_where.h"
#include "analyze/wait_reason.h"
#include "base/keyed.h"
#include "base/order.h"
#include "decode/probe_name.h"
#include "diagnose/diagnosis.h"

#define MAX_PROGRAMS 4096u
#define MAX_OWNERS   65536u

/* ---- by name -------------------------------------------------------------------------------- */

/* The kernel's workers have the number of their CPU in their names. */
static struct tapir_sv program_row_name(const struct tapir_process_row *row)
{
	static const char worker[] = "kworker/";
	const char *name = *row->comm ? row->comm : "?";

	if (!strncmp(name, worker, sizeof(worker) - 1))
		return (struct tapir_sv){name, sizeof(worker) - 2};
	return tapir_sv__of(name);
}

static uint64_t program_name_key(struct tapir_sv name)
{
	return tapir_hash__bytes(1, name.data, name.len);
}

static int by_use(const void *a, const void *b)
{
	const struct tapir_report_program *x = a, *y = b;

	return tapir_order__by(
		tapir_order__down(x->cpu_ns, y->cpu_ns), tapir_order__down(x->samples, y->samples),
		tapir_order__down(x->records, y->records), tapir_order__up(x->first, y->first));
}

int tapir_report_programs__make(struct tapir_report_programs *programs,
				const struct tapir_summary *summary)
{
	const struct tapir_process_row *row;
	int err = 0;

	tapir_vec_for_each (row, &summary->processes) {
		uint64_t records = tapir_captured__sum(row->captured);
		struct tapir_report_program made = {.name = program_row_name(row), .first = row};
		struct tapir_report_program *program;

		if (!records)
			continue;
		program = tapir_keyed__add(&programs->rows, program_name_key(made.name),
					   MAX_PROGRAMS, made);
		if (!program) {
			err = programs->rows.cnt < MAX_PROGRAMS ? -ENOMEM : 0;
			continue;
		}
		program->cnt++;
		program->samples += row->captured[TAPIR_FAMILY_SAMPLE];
		program->records += records;
	}
	return err;
}

void tapir_report_programs__sort(struct tapir_report_programs *programs)
{
	tapir_keyed__sort(&programs->rows, by_use);
}

void tapir_report_programs__fini(struct tapir_report_programs *programs)
{
	tapir_findings__fini(&programs->findings);
	tapir_keyed__fini(&programs->rows);
}

void tapir_report_programs__add_process(const struct tapir_process_row *row, struct tapir_str *out)
{
	const char *name = *row->service ? row->service : *row->comm ? row->comm : "?";

	tapir_str__add_printable(out, name, strlen(name));
	tapir_str__addf(out, " (%u", row->pid);
	if (row->host) {
		tapir_str__adds(out, " on ");
		tapir_str__add_printable(out, row->host, strlen(row->host));
	}
	tapir_str__addc(out, ')');
}

/* ---- findings of each process --------------------------------------------------------------- */

struct judged {
	const struct tapir_process_row *row;
	struct tapir_diagnosis finding;
};

struct judge {
	struct judged *busiest; /* cnt of them */
	size_t cnt;
	struct tapir_map by_tgid; /* -> idx */
	struct tapir_process_use use;
	struct tapir_wait_reasons reasons;
	struct tapir_keyed(struct tapir_lock_owner) owners;
};

/* Returns NULL if the process is not one of them. */
static struct tapir_diagnosis *finding_of(void *ctx, uint32_t tgid)
{
	struct judge *j = ctx;
	const uint64_t *idx = tapir_map__get(&j->by_tgid, tgid);

	return idx ? &j->busiest[*idx].finding : NULL;
}

/* Calls a function of the finding of a process, if it is one of these. */
#define PASS_ON(fn, tgid, ...)                                                                     \
	do {                                                                                       \
		struct tapir_diagnosis *finding_ = finding_of(ctx, tgid);                          \
		if (finding_)                                                                      \
			tapir_diagnosis_fns.fn(finding_, __VA_ARGS__);                             \
	} while (0)

static void programs_on_sample(void *ctx, struct tapir_tl_thread *thread,
			       const struct tapir_rec_sample *sample)
{
	PASS_ON(sample, sample->tgid, thread, sample);
}

/* A thread that ends waits for locks had them, whichever process waited. */
static void count_owner(struct judge *j, const struct tapir_wait *wait)
{
	const struct tapir_lore_wait *reason = tapir_wait_reasons__find(
		&j->reasons, tapir_timeline__stacks(j->use.tl), wait->node);
	struct tapir_lock_owner made = {.tid = wait->waker_tid}, *owner;

	if (!reason || !reason->is_lock || reason->may_idle || !wait->waker_tid || !wait->state)
		return;
	made.reason = reason->reason;
	owner = tapir_keyed__add(&j->owners, made.tid, MAX_OWNERS, made);
	if (!owner)
		return;
	owner->ns += wait->wake_ns - wait->from_ns;
	tapir_comm__copy(owner->comm, tapir_timeline__comm(j->use.tl, made.tid, wait->wake_ns));
}

static void programs_on_wait(void *ctx, const struct tapir_wait *wait)
{
	count_owner(ctx, wait);
	PASS_ON(wait, wait->thread->tgid, wait);
}

static void programs_on_open_ended_wait(void *ctx, const struct tapir_wait *wait)
{
	PASS_ON(open_ended_wait, wait->thread->tgid, wait);
}

static void programs_on_event(void *ctx, struct tapir_tl_thread *thread,
			      const struct tapir_probe_view *probe,
			      const struct tapir_event_view *event)
{
	PASS_ON(event, thread->tgid, thread, probe, event);
}

static void on_awaited(void *ctx, struct tapir_interval *interval, uint64_t ns)
{
	PASS_ON(awaited, interval->tgid, interval, ns);
}

static void programs_on_close(void *ctx, struct tapir_interval *interval)
{
	PASS_ON(close, interval->tgid, interval);
}

static void on_counter(void *ctx, const struct tapir_rec_counter *counter)
{
	PASS_ON(counter, counter->tgid, counter);
}

static void on_snapshot(void *ctx, const struct tapir_rec_switch *rec, uint32_t node)
{
	PASS_ON(snapshot, tapir_rec__tgid(&rec->h, tapir_rec__counted_thread(&rec->h)), rec, node);
}

static void on_interp_sample(void *ctx, const struct tapir_rec_interp_sample *rec, uint32_t node)
{
	PASS_ON(interp_sample, rec->tgid, rec, node);
}

static void on_call(void *ctx, const struct tapir_rec *rec)
{
	PASS_ON(call, tapir_rec__tgid(rec, tapir_rec__counted_thread(rec)), rec);
}

static void on_process(void *ctx, const struct tapir_rec *rec)
{
	PASS_ON(process, tapir_rec__tgid(rec, 0), rec);
}

/* A signal is heard by its sender and by its receiver. */
static void programs_on_record(void *ctx, const struct tapir_rec *rec)
{
	uint32_t whose = tapir_rec__tgid(rec, 0), other = tapir_rec__tgid(rec, 1);

	PASS_ON(record, whose, rec);
	if (other != whose)
		PASS_ON(record, other, rec);
}

static const struct tapir_timeline_fns fns = {.sample = programs_on_sample,
					      .wait = programs_on_wait,
					      .open_ended_wait = programs_on_open_ended_wait,
					      .event = programs_on_event,
					      .awaited = on_awaited,
					      .close = programs_on_close,
					      .counter = on_counter,
					      .snapshot = on_snapshot,
					      .interp_sample = on_interp_sample,
					      .call = on_call,
					      .record = programs_on_record,
					      .process = on_process};

static int read_program_records(struct tapir_timeline *tl, struct tapir_reader *reader,
				bool (*should_continue)(void *ctx), void *ctx)
{
	const struct tapir_rec *rec;
	int err = 0, got;

	tapir_reader__deliver_descriptions(reader, true);
	while (!err && (got = tapir_reader__next(reader, &rec)) > 0)
		err = should_continue(ctx) ? tapir_timeline__add(tl, rec) : -ECANCELED;
	if (err)
		return err;
	return got ? got : tapir_timeline__finish(tl);
}

static int by_samples(const void *a, const void *b)
{
	const struct tapir_process_row *x = *(const struct tapir_process_row *const *)a;
	const struct tapir_process_row *y = *(const struct tapir_process_row *const *)b;
	uint64_t of_x = x->captured[TAPIR_FAMILY_SAMPLE], of_y = y->captured[TAPIR_FAMILY_SAMPLE];

	return tapir_order__down(of_x, of_y) ?: tapir_order__up(x, y);
}

/* The summary has those with most records first, whose order holds where there are no samples. */
static int choose_programs(struct judge *j, const struct tapir_summary *summary,
			   struct tapir_timeline *tl)
{
	struct tapir_vec(const struct tapir_process_row *) rows = {};
	const struct tapir_process_row *row;
	int err = 0;

	tapir_vec_for_each (row, &summary->processes)
		if (tapir_captured__sum(row->captured) && !tapir_vec__push(&rows, row))
			err = -ENOMEM;
	if (rows.cnt)
		qsort(rows.data, rows.cnt, sizeof(*rows.data), by_samples);
	for (; !err && j->cnt < TAPIR_PROCESSES_JUDGED && j->cnt < rows.cnt; j->cnt++) {
		uint64_t *idx = tapir_map__put(&j->by_tgid, rows.data[j->cnt]->pid, NULL);

		if (idx)
			*idx = j->cnt;
		else
			err = -ENOMEM;
		j->busiest[j->cnt].row = rows.data[j->cnt];
		j->busiest[j->cnt].finding.tl = tl;
	}
	tapir_vec__fini(&rows);
	return err;
}

static int start_judging(struct judge *j, const struct tapir_summary *summary,
			 struct tapir_timeline *tl)
{
	int err;

	j->use.tl = tl;
	j->busiest = calloc(TAPIR_PROCESSES_JUDGED, sizeof(*j->busiest));
	err = j->busiest ? choose_programs(j, summary, tl) : -ENOMEM;
	if (!err)
		err = tapir_timeline__listen(tl, &fns, j);
	return err ? err : tapir_timeline__listen(tl, &tapir_process_use_fns, &j->use);
}

/*
 * Adds what each process used to the program of its name, once: an id can have several rows (it was
 * used again, or a record came before that of the process's begin), of which the one with most
 * records comes first.
 */
static void add_use(struct judge *j, struct tapir_report_programs *programs,
		    const struct tapir_summary *summary)
{
	const struct tapir_process_row *row;

	programs->cpu_ns = tapir_process_use__finish(&j->use);
	tapir_vec_for_each (row, &summary->processes) {
		struct tapir_process_used *used = tapir_keyed__get(&j->use.rows, row->pid);
		struct tapir_report_program *program =
			tapir_keyed__get(&programs->rows, program_name_key(program_row_name(row)));

		if (!used || !program)
			continue;
		program->cpu_ns += tapir_process_use__cpu_ns(&j->use, &used->used);
		used->used = (struct tapir_used){};
	}
}

static void add_owner(const struct judge *j, struct tapir_report_programs *programs)
{
	const struct tapir_lock_owner *owner;

	tapir_vec_for_each (owner, &j->owners)
		if (owner->ns > programs->owner.ns)
			programs->owner = *owner;
}

static int list_programs(struct judge *j, struct tapir_report_programs *programs, bool has_clock)
{
	struct tapir_str name = {};

	for (size_t i = 0; i < j->cnt; i++) {
		struct tapir_findings found = {};

		tapir_str__clear(&name);
		tapir_report_programs__add_process(j->busiest[i].row, &name);
		j->busiest[i].finding.has_clock = has_clock;
		tapir_diagnosis__list(&j->busiest[i].finding, &found);
		tapir_findings__take(&programs->findings, &found, j->busiest[i].row->pid,
				     name.data ? name.data : "?");
		tapir_findings__fini(&found);
	}
	tapir_findings__rank(&programs->findings);
	programs->findings.failed |= name.failed || j->use.failed;
	tapir_str__fini(&name);
	return programs->findings.failed ? -ENOMEM : 0;
}

static void judge__fini(struct judge *j)
{
	for (size_t i = 0; i < j->cnt; i++)
		tapir_diagnosis__fini(&j->busiest[i].finding);
	free(j->busiest);
	tapir_map__fini(&j->by_tgid);
	tapir_process_use__fini(&j->use);
	tapir_wait_reasons__fini(&j->reasons);
	tapir_keyed__fini(&j->owners);
}

int tapir_report_programs__judge(struct tapir_report_programs *programs,
				 const struct tapir_summary *summary,
				 const struct tapir_reader *whole,
				 const struct tapir_timeline_opts *opts, bool has_clock,
				 bool (*should_continue)(void *ctx), void *ctx)
{
	struct tapir_reader *reader = NULL;
	struct tapir_timeline *tl = NULL;
	struct tapir_pairs pairs = {};
	struct judge j = {};
	int err = tapir_reader__open_again(whole, &reader);

	if (err)
		return err;
	tapir_reader__complete_probes(reader, tapir_probe_name__complete);
	tapir_where__begin(opts->where, tapir_reader__catalog(reader));
	tl = tapir_timeline__new(tapir_reader__catalog(reader), &pairs, opts);
	err = tl ? start_judging(&j, summary, tl) : -ENOMEM;
	if (!err)
		err = read_program_records(tl, reader, should_continue, ctx);
	if (!err)
		err = list_programs(&j, programs, has_clock);
	if (!err) {
		add_use(&j, programs, summary);
		add_owner(&j, programs);
	}
	judge__fini(&j);
	tapir_timeline__free(tl);
	tapir_pairs__fini(&pairs);
	tapir_reader__close(reader);
	return err;
}
