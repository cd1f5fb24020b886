// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The report as one JSON document. Without --top it is complete: a program can leave out what it
 * does not need.
 */
#include "base/json.h"
#include "output/render/finding_page.h"
#include "output/render/human_units.h"
#include "spec/runtime_db/lore.h"
#include "output/render/remedies.h"
#include "output/render/report_view.h"
#include "symbol/stack_end.h"
#include "trace/rehost.h"
#include "trace/system_calls.h"

/* The causes of one kind as an object: {"ring_full": 12}. */
static void json_losses(struct tapir_json *j, const char *key, const struct tapir_summary *s,
			int kind)
{
	tapir_json__open(j, key, '{');
	for (unsigned cause = 0; cause < TAPIR_LOSS_CAUSE_CNT; cause++)
		if (s->lost[cause].cnt && tapir_loss__kind(cause) == kind)
			tapir_json__u64(j, tapir_loss__name(cause), s->lost[cause].cnt);
	tapir_json__close(j, '}');
}

static void json_events(struct tapir_json *j, const struct tapir_summary *s)
{
	tapir_json__open(j, "events", '[');
	for (size_t i = 0; i < s->events.cnt; i++) {
		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "provider", s->events.data[i].provider);
		tapir_json__str(j, "event", s->events.data[i].event);
		tapir_json__u64(j, "captured", s->events.data[i].captured);
		tapir_json__u64(j, "lost", s->events.data[i].lost);
		if (s->events.data[i].skipped_cnt)
			tapir_json__u64(j, "left_out", s->events.data[i].skipped_cnt);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
	tapir_json__open(j, "samples", '{');
	tapir_json__u64(j, "captured", s->captured[TAPIR_FAMILY_SAMPLE]);
	tapir_json__u64(j, "lost", tapir_summary__lost(s, TAPIR_LOSS_KIND_SAMPLE));
	tapir_json__u64(j, "without_stack", s->sample_no_stack_cnt);
	tapir_json__u64(j, "named", s->sample_named_cnt);
	tapir_json__u64(j, "period", s->sample_period);
	tapir_json__u64(j, "frames", s->frame_cnt);
	tapir_json__u64(j, "frames_named", s->frame_named_cnt);
	tapir_json__open(j, "kinds", '{');
	for (unsigned kind = TAPIR_FRAME_NONE + 1; kind < TAPIR_FRAME_KIND_CNT; kind++)
		if (s->kinds[kind])
			tapir_json__u64(j, tapir_frame_kind__name(kind), s->kinds[kind]);
	tapir_json__close(j, '}');
	tapir_json__close(j, '}');
	for (int i = TAPIR_FAMILY_SAMPLE + 1; i < TAPIR_FAMILY_CNT; i++) {
		tapir_json__open(j, tapir_family__key(&tapir_families[i]), '{');
		tapir_json__u64(j, "captured", s->captured[i]);
		tapir_json__u64(j, "lost", tapir_summary__lost(s, tapir_families[i].loss_kind));
		tapir_json__close(j, '}');
	}
}

static void json_captured(struct tapir_json *j, const uint64_t captured[TAPIR_FAMILY_CNT])
{
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		tapir_json__u64(j, tapir_family__key(&tapir_families[i]), captured[i]);
}

static void json_where(struct tapir_json *j, const struct tapir_where *where)
{
	tapir_json__open(j, "where", '{');
	tapir_json__str(j, "text", tapir_where__text(where));
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++) {
		tapir_json__open(j, tapir_family__key(&tapir_families[i]), '{');
		tapir_json__u64(j, "chosen", tapir_where__chosen(where, i));
		tapir_json__u64(j, "of", tapir_where__seen(where, i));
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, '}');
}

static void json_stack_ends(struct tapir_json *j, const struct tapir_stack_ends *ends)
{
	if (!tapir_stack_ends__known(ends))
		return;
	tapir_json__open(j, "stack_ends", '{');
	for (int of = 0; of < TAPIR_FAMILY_CNT; of++) {
		tapir_json__open(j, tapir_family__key(&tapir_families[of]), '{');
		tapir_json__u64(j, "known", ends->known[of]);
		tapir_json__u64(j, "whole", ends->whole[of]);
		tapir_json__u64(j, "by_frame_pointers", ends->by_fp[of]);
		tapir_json__close(j, '}');
	}
	tapir_json__open(j, "lost", '[');
	for (size_t i = 0; i < ends->rows.cnt; i++) {
		const struct tapir_stack_end_row *row = &ends->rows.data[i];

		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "end", tapir_stack_end__id((enum tapir_stack_end)row->end));
		tapir_json__str(j, "module", *row->module ? row->module : NULL);
		tapir_json__str(j, "runtime", row->runtime ? row->runtime->name : NULL);
		tapir_json__str(j, "remedy", tapir_remedies__of(row));
		for (int of = 0; of < TAPIR_FAMILY_CNT; of++)
			tapir_json__u64(j, tapir_family__key(&tapir_families[of]), row->cnt[of]);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
	tapir_json__close(j, '}');
}

/* The hosts of a merged recording, and what is known of their clocks. */
static void json_hosts(struct tapir_json *j, const struct tapir_report_view *v)
{
	if (!tapir_catalog__host_cnt(v->catalog))
		return;
	tapir_json__open(j, "hosts", '[');
	for (uint32_t nr = 1; nr <= tapir_catalog__host_cnt(v->catalog); nr++) {
		const struct tapir_rec_host *host = tapir_catalog__host(v->catalog, nr);
		struct tapir_sv name = tapir_catalog__host_name(v->catalog, nr);

		if (!host)
			continue;
		tapir_json__open(j, NULL, '{');
		tapir_json__u64(j, "number", nr);
		tapir_json__strn(j, "name", name.data, name.len);
		tapir_json__str(j, "clock", tapir_host_clock__name(host->clock));
		tapir_json__u64(j, "error_ns", host->error_ns);
		tapir_json__u64(j, "set_ns", host->set_ns);
		tapir_json__u64(j, "shift_ns", host->shift_ns);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void json_processes(struct tapir_json *j, const struct tapir_summary *s)
{
	tapir_json__open(j, "processes", '[');
	for (size_t i = 0; i < s->processes.cnt; i++) {
		const struct tapir_process_row *row = &s->processes.data[i];

		tapir_json__open(j, NULL, '{');
		tapir_json__u64(j, "pid", row->pid);
		tapir_json__str(j, "comm", *row->comm ? row->comm : NULL);
		tapir_json__str(j, "exe", *row->exe ? row->exe : NULL);
		if (*row->service)
			tapir_json__str(j, "service", row->service);
		if (row->host)
			tapir_json__str(j, "host", row->host);
		json_captured(j, row->captured);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void json_threads(struct tapir_json *j, const struct tapir_summary *s)
{
	const struct tapir_thread_row *row;

	tapir_json__open(j, "threads", '[');
	tapir_vec_for_each (row, &s->threads) {
		if (!tapir_captured__sum(row->captured))
			continue;
		tapir_json__open(j, NULL, '{');
		tapir_json__u64(j, "pid", row->pid);
		tapir_json__u64(j, "tid", row->tid);
		tapir_json__str(j, "comm", *row->comm ? row->comm : NULL);
		json_captured(j, row->captured);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

/* Without --top the document is complete. */
static bool is_enough(const struct tapir_report_view *v, size_t cnt)
{
	return v->top && cnt >= v->top;
}

/* samples: it was the innermost; total: it was anywhere in the stack. */
static void json_functions(struct tapir_json *j, const struct tapir_report_view *v)
{
	const struct tapir_summary *s = v->summary;
	const struct tapir_function_row *row;

	tapir_json__open(j, "functions", '[');
	tapir_vec_for_each (row, &s->functions) {
		if (!row->total || is_enough(v, (size_t)(row - s->functions.data)))
			break;
		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "name", row->name);
		tapir_json__str(j, "module", row->module);
		tapir_json__str(j, "kind", tapir_frame_kind__name(row->kind));
		tapir_json__bool(j, "named", row->is_named);
		tapir_json__u64(j, "samples", row->self);
		tapir_json__u64(j, "total", row->total);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void json_modules(struct tapir_json *j, const struct tapir_report_view *v)
{
	const struct tapir_summary *s = v->summary;
	const struct tapir_module_row *row;

	tapir_json__open(j, "modules", '[');
	tapir_vec_for_each (row, &s->modules) {
		if (!row->total || is_enough(v, (size_t)(row - s->modules.data)))
			break;
		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "module", row->name);
		tapir_json__u64(j, "samples", row->self);
		tapir_json__u64(j, "total", row->total);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void json_stack(struct tapir_json *j, const struct tapir_summary *s,
		       const struct tapir_stack_row *row, const char *count_key)
{
	const struct tapir_function_row *last = NULL;

	tapir_json__u64(j, count_key, row->cnt);
	tapir_json__open(j, "functions", '[');
	for (uint32_t f = 0; f < row->function_cnt; f++) {
		last = &s->functions.data[row->functions[f]];
		if (!last->is_lost_callers)
			tapir_json__str(j, NULL, last->name);
	}
	tapir_json__close(j, ']');
	if (last && last->is_lost_callers)
		tapir_json__str(j, "callers_lost", last->name);
}

static void json_stacks(struct tapir_json *j, const struct tapir_report_view *v)
{
	const struct tapir_summary *s = v->summary;
	const struct tapir_stack_row *row;
	size_t cnt = 0; /* those of an event follow one another, the hottest first */

	tapir_json__open(j, "stacks", '[');
	tapir_vec_for_each (row, &s->stacks) {
		cnt = row > s->stacks.data && row[-1].event == row->event ? cnt + 1 : 0;
		if (row->event == TAPIR_SUMMARY_SAMPLED || is_enough(v, cnt))
			continue;
		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "provider", s->events.data[row->event].provider);
		tapir_json__str(j, "event", s->events.data[row->event].event);
		json_stack(j, s, row, "events");
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
	cnt = 0;
	tapir_json__open(j, "sample_stacks", '[');
	tapir_vec_for_each (row, &s->stacks) {
		if (row->event != TAPIR_SUMMARY_SAMPLED || is_enough(v, cnt++))
			continue;
		tapir_json__open(j, NULL, '{');
		json_stack(j, s, row, "samples");
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

/* When: each cause's counts by part of the time. */
static void json_loss_times(struct tapir_json *j, const struct tapir_report_view *v)
{
	uint64_t start_ns = tapir_report__start_ns(v);

	tapir_json__open(j, "loss_times", '[');
	for (unsigned cause = 0; cause < TAPIR_LOSS_CAUSE_CNT; cause++) {
		const struct tapir_loss_row *row = &v->summary->lost[cause];

		if (!row->cnt)
			continue;
		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "cause", tapir_loss__name(cause));
		tapir_json__u64(j, "count", row->cnt);
		tapir_json__u64(j, "from_ns",
				row->from_ns > start_ns ? row->from_ns - start_ns : 0);
		tapir_json__u64(j, "until_ns",
				row->until_ns > start_ns ? row->until_ns - start_ns : 0);
		tapir_json__u64(j, "part_ns", row->width_ns);
		tapir_json__open(j, "counts", '[');
		for (unsigned i = 0; i < TAPIR_SUMMARY_TIMES; i++)
			tapir_json__u64(j, NULL, row->counts[i]);
		tapir_json__close(j, ']');
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

/* Writes each kind of interval; half ones began before the file or did not end in it. */
static void json_intervals(struct tapir_json *j, const struct tapir_pairs *pairs)
{
	const struct tapir_interval_kind *kind;

	tapir_json__open(j, "intervals", '[');
	tapir_vec_for_each (kind, &pairs->kinds) {
		if (!kind->cnt && !kind->at_attach && !kind->unbegun && !kind->unended)
			continue;
		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "provider", kind->provider);
		tapir_json__str(j, "name", kind->name);
		tapir_json__u64(j, "count", kind->cnt);
		tapir_json__u64(j, "ns", kind->sum_ns);
		tapir_json__u64(j, "worst_ns", kind->worst_ns);
		tapir_json__u64(j, "half", kind->unbegun + kind->unended);
		tapir_json__u64(j, "at_attach", kind->at_attach);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void json_gaps(struct tapir_json *j, const struct tapir_summary *s)
{
	tapir_json__open(j, "gaps", '[');
	for (size_t i = 0; i < s->gaps.cnt; i++) {
		const struct tapir_gap_row *gap = &s->gaps.data[i];

		tapir_json__open(j, NULL, '{');
		tapir_json__u64(j, "pid", gap->pid);
		tapir_json__str(j, "reason", tapir_gap__name(gap->reason));
		tapir_json__str(j, "path", gap->path);
		tapir_json__u64(j, "from_ns", gap->from_ns);
		tapir_json__u64(j, "until_ns", gap->until_ns);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void json_findings(struct tapir_json *j, const struct tapir_findings *list)
{
	const struct tapir_finding *finding;

	tapir_json__open(j, "findings", '[');
	tapir_vec_for_each (finding, &list->rows) {
		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "kind", tapir_finding__kind_name(finding->kind));
		tapir_json__str(j, "title", tapir_finding__title(finding->kind));
		tapir_json__str(j, "level", tapir_finding__level(finding->severity));
		tapir_json__f64(j, "severity", finding->severity);
		tapir_json__f64(j, "magnitude", finding->magnitude);
		tapir_json__str(j, "unit", tapir_finding__unit(finding->kind));
		if (finding->process) {
			tapir_json__u64(j, "pid", finding->pid);
			tapir_json__str(j, "process", finding->process);
		}
		tapir_json__str(j, "subject", finding->subject);
		tapir_json__str(j, "text", finding->text);
		tapir_json__str(j, "evidence", finding->evidence);
		tapir_finding_page__add_facts(j, finding);
		tapir_json__str(j, "view", finding->view);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

/* Adds the programs, with most CPU time first; of a machine, what they used. */
static void json_programs(struct tapir_json *j, const struct tapir_report_programs *programs)
{
	const struct tapir_report_program *row;

	tapir_json__open(j, "programs", '[');
	tapir_vec_for_each (row, &programs->rows) {
		tapir_json__open(j, NULL, '{');
		tapir_json__strn(j, "name", row->name.data, row->name.len);
		tapir_json__u64(j, "pid", row->first->pid);
		tapir_json__u64(j, "processes", row->cnt);
		tapir_json__u64(j, "samples", row->samples);
		if (programs->cpu_ns)
			tapir_json__u64(j, "cpu_ns", row->cpu_ns);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void overview_requests(struct tapir_json *j, const struct tapir_overview *o)
{
	tapir_json__open(j, "requests", '[');
	for (size_t i = 0; i < o->request_cnt; i++) {
		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "name", o->requests[i].name);
		tapir_json__bool(j, "route", o->requests[i].is_route);
		if (o->requests[i].pid)
			tapir_json__u64(j, "pid", o->requests[i].pid);
		tapir_json__u64(j, "count", o->requests[i].cnt);
		tapir_json__f64(j, "per_second", o->requests[i].per_second);
		tapir_json__u64(j, "ns", o->requests[i].sum_ns);
		tapir_json__u64(j, "p50_ns", o->requests[i].p50_ns);
		tapir_json__u64(j, "p99_ns", o->requests[i].p99_ns);
		tapir_json__str(j, "spent", o->requests[i].spent);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void overview_functions(struct tapir_json *j, const struct tapir_overview *o)
{
	tapir_json__open(j, "functions", '[');
	for (size_t i = 0; i < o->function_cnt; i++) {
		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "name", o->functions[i].name);
		tapir_json__f64(j, "percent", o->functions[i].percent);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void overview_waits(struct tapir_json *j, const struct tapir_overview *o)
{
	tapir_json__open(j, "waits", '[');
	for (size_t i = 0; i < o->site_cnt; i++) {
		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "reason", o->sites[i].reason);
		tapir_json__str(j, "function", o->sites[i].name);
		tapir_json__str(j, "thread", o->sites[i].thread);
		tapir_json__u64(j, "ns", o->sites[i].ns);
		tapir_json__str(j, "ended_by", o->sites[i].ended_by);
		tapir_json__bool(j, "open", o->sites[i].is_open);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void overview_chains(struct tapir_json *j, const struct tapir_overview *o)
{
	tapir_json__open(j, "chains", '[');
	for (size_t i = 0; i < o->chain_cnt; i++) {
		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "chain", o->chains[i].text);
		tapir_json__u64(j, "ns", o->chains[i].ns);
		tapir_json__u64(j, "count", o->chains[i].cnt);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void overview_calls(struct tapir_json *j, const struct tapir_overview *o)
{
	tapir_json__open(j, "calls", '[');
	for (size_t i = 0; i < o->call_cnt; i++) {
		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "peer", o->calls[i].peer);
		tapir_json__u64(j, "count", o->calls[i].cnt);
		tapir_json__u64(j, "timed", o->calls[i].timed_cnt);
		tapir_json__u64(j, "ns", o->calls[i].sum_ns);
		tapir_json__u64(j, "unanswered", o->calls[i].unanswered_cnt);
		tapir_json__u64(j, "unanswered_ns", o->calls[i].unanswered_ns);
		tapir_json__str(j, "waiters", o->calls[i].waiters);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void overview_io(struct tapir_json *j, const struct tapir_overview *o)
{
	tapir_json__open(j, "io", '{');
	tapir_json__u64(j, "requests", o->io_requests);
	tapir_json__u64(j, "read_bytes", o->io_read_bytes);
	tapir_json__u64(j, "written_bytes", o->io_written_bytes);
	tapir_json__open(j, "most", '[');
	for (size_t i = 0; i < o->io_cnt; i++) {
		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "process", o->ios[i].requester);
		tapir_json__u64(j, "pid", o->ios[i].pid);
		tapir_json__str(j, "file", o->ios[i].file);
		tapir_json__u64(j, "read_bytes", o->ios[i].read_bytes);
		tapir_json__u64(j, "written_bytes", o->ios[i].written_bytes);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
	tapir_json__close(j, '}');
}

static void overview_syscalls(struct tapir_json *j, const struct tapir_overview *o)
{
	tapir_json__open(j, "syscalls", '{');
	tapir_json__u64(j, "calls", o->syscalls_made);
	tapir_json__u64(j, "failed", o->syscalls_failed);
	tapir_json__open(j, "most", '[');
	for (size_t i = 0; i < o->failed_call_cnt; i++) {
		char call[TAPIR_SYSTEM_CALL_TEXT_BYTES];

		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "process", o->failed_calls[i].comm);
		tapir_json__u64(j, "pid", o->failed_calls[i].pid);
		tapir_json__str(j, "call", tapir_system_call__text(o->failed_calls[i].nr, call));
		tapir_json__str(j, "error", tapir_system_call__error_name(o->failed_calls[i].err));
		tapir_json__u64(j, "failed", o->failed_calls[i].cnt);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
	tapir_json__close(j, '}');
}

/* The figures of the first screen. */
static void json_overview(struct tapir_json *j, const struct tapir_overview *o)
{
	tapir_json__open(j, "overview", '{');
	overview_requests(j, o);
	overview_functions(j, o);
	overview_waits(j, o);
	overview_chains(j, o);
	overview_calls(j, o);
	overview_io(j, o);
	overview_syscalls(j, o);
	tapir_json__close(j, '}');
}

static void json_window(struct tapir_json *j, const struct tapir_report_view *v)
{
	if (!tapir_report__has_window(v))
		return;
	tapir_json__open(j, "window", '{');
	tapir_json__u64(j, "from_ns", tapir_report__window_from_ns(v));
	tapir_json__u64(j, "until_ns", tapir_report__window_until_ns(v));
	tapir_json__close(j, '}');
}

static void json_metas(struct tapir_json *j, const struct tapir_summary *s)
{
	tapir_json__open(j, "meta", '{');
	for (size_t i = 0; i < s->metas.cnt; i++)
		tapir_json__str(j, s->metas.data[i].key, s->metas.data[i].value);
	tapir_json__close(j, '}');
}

void tapir_report__write_json(const struct tapir_report_view *v, struct tapir_str *out)
{
	const struct tapir_summary *s = v->summary;
	struct tapir_json j = tapir_json__to(out);
	struct tapir_str utc = {}, headline = {}, screen = {};

	tapir_human__add_utc(&utc, v->stats->created_utc_ns);
	tapir_json__open(&j, NULL, '{');
	tapir_report__add_headline(v, &headline);
	tapir_json__str(&j, "headline", headline.data);
	if (!v->without_stacks) {
		tapir_report__write_first_screen(v, &tapir_palette_plain, 0, &screen);
		tapir_json__strn(&j, "first_screen", screen.data ? screen.data : "", screen.len);
		out->failed |= screen.failed;
	}
	tapir_json__str(&j, "finding",
			v->findings->rows.cnt ? v->findings->rows.data[0].text : NULL);
	json_findings(&j, v->findings);
	if (v->findings->more)
		tapir_json__u64(&j, "findings_without_room", v->findings->more);
	json_overview(&j, v->overview);
	json_programs(&j, v->programs);
	if (v->cpus >= 0)
		tapir_json__f64(&j, "cpus", v->cpus);
	tapir_json__u64(&j, "duration_ns", tapir_report__duration_ns(v));
	tapir_json__str(&j, "utc", utc.data);
	if (v->where)
		json_where(&j, v->where);
	json_window(&j, v);
	json_events(&j, s);
	json_stack_ends(&j, &s->ends);
	json_hosts(&j, v);
	json_processes(&j, s);
	json_threads(&j, s);
	json_losses(&j, "lost", s, TAPIR_LOSS_KIND_EVENT);
	json_losses(&j, "incomplete", s, TAPIR_LOSS_KIND_PART);
	tapir_json__u64(&j, "stacks_missing", s->no_stack_cnt);
	tapir_json__u64(&j, "too_late", v->late);
	tapir_json__u64(&j, "refused_by_sources", tapir_report__refused(v));
	json_losses(&j, "not_wanted", s, TAPIR_LOSS_KIND_INFO);
	json_loss_times(&j, v);
	if (!v->without_stacks)
		json_functions(&j, v);
	json_modules(&j, v);
	if (!v->without_stacks)
		json_stacks(&j, v);
	json_intervals(&j, v->pairs);
	json_gaps(&j, s);
	json_metas(&j, s);
	tapir_json__bool(&j, "complete",
			 !v->stats->is_truncated && !tapir_reader_stats__is_damaged(v->stats));
	tapir_json__close(&j, '}');
	tapir_str__addc(out, '\n');
	tapir_str__fini(&screen);
	tapir_str__fini(&headline);
	tapir_str__fini(&utc);
}
