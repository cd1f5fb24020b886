// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Formats that user/output/export writes: the loop around each, and what it could not take. And
 * those made of a tree of calls, whose first frame is the name of the process: folded, one stack
 * per line, outermost first, with its count, as stackcollapse-perf.pl writes it and flame graph
 * scripts take it; pprof, the same as a profile of pprof. OpenTelemetry's has the time of each
 * sample, too.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "output/render/offcpu_tree.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "cli/export_job.h"
#include "output/export/nettrace.h"
#include "output/export/perf_script.h"
#include "output/export/speedscope.h"
#include "output/render/otlp_profiles.h"
#include "output/render/pprof.h"

static bool is_chosen_event(struct tapir_export_job *job, const struct tapir_rec *rec)
{
	return !job->choice.glob ||
	       (rec->type == TAPIR_REC_EVENT &&
		tapir_event_filter__has(&job->choice, tapir_reader__catalog(job->reader),
					(const void *)rec));
}

/*
 * Reads records as tapir_long_read__next does, without samples, switches and events that are not
 * chosen.
 */
static int next_chosen(struct tapir_export_job *job, const struct tapir_rec **rec)
{
	int more;

	while ((more = tapir_long_read__next(&job->read, rec)) > 0) {
		if (is_chosen_event(job, *rec) && tapir_trace_filter__has(&job->trace, *rec)) {
			job->chosen_cnt++;
			return more;
		}
	}
	return more;
}

/*
 * Some readers take the first kind of records for the only one (speedscope does): events are
 * for files without samples, unless they were requested.
 */
static bool is_perf_script_record(const struct tapir_export_job *job, const struct tapir_rec *rec)
{
	return rec->type != TAPIR_REC_EVENT || job->choice.glob ||
	       !tapir_catalog__meta_value(tapir_reader__catalog(job->reader), "sample_event").len;
}

/* The header as 'perf script --header' frames it: Firefox Profiler knows the format by its first
 * line. */
#define HEADER_EDGE "# ========\n"

static void add_header(struct tapir_export_job *job)
{
	const char *line = job->head.data;

	tapir_str__adds(&job->out, HEADER_EDGE);
	for (size_t len; line && *line; line += len) {
		len = strcspn(line, "\n") + 1;
		tapir_str__adds(&job->out, "# ");
		tapir_str__add(&job->out, line, len);
	}
	tapir_str__adds(&job->out, HEADER_EDGE "#\n");
}

int tapir_export__perf_script(struct tapir_export_job *job)
{
	struct tapir_perf_script script = {.catalog = tapir_reader__catalog(job->reader)};
	const struct tapir_rec *rec;
	int err;

	add_header(job);
	while ((err = next_chosen(job, &rec)) > 0) {
		if (is_perf_script_record(job, rec))
			tapir_perf_script__add(&script, rec, &job->out);
		err = tapir_output_file__flush_much(&job->file, &job->out);
		if (err)
			break;
	}
	tapir_perf_script__fini(&script);
	return err;
}

/* ---- speedscope ----------------------------------------------------------------------------- */

/* "slow.tapir: 52% of the CPU in GC ..."; of standard input, "recording of 2026-11-28T16:20:00Z" */
static void add_title(const struct tapir_export_job *job, struct tapir_str *out)
{
	char when[TAPIR_UTC_TEXT_BYTES];

	tapir_clock__utc_text(tapir_reader__stats(job->reader)->created_utc_ns, when);
	if (!strcmp(job->title, "-"))
		tapir_str__addf(out, "recording of %sZ", when);
	else
		tapir_str__adds(out, job->title);
	if (!job->head.len)
		return;
	tapir_str__adds(out, ": ");
	tapir_str__add(out, job->head.data, strcspn(job->head.data, "\n"));
}

static int write_speedscope(struct tapir_export_job *job, struct tapir_speedscope *s)
{
	struct tapir_str title = {};
	int err = 0;

	add_title(job, &title);
	while (!err &&
	       tapir_speedscope__next_part(s, title.data ? title.data : job->title, &job->out)) {
		err = tapir_long_read__check(&job->read);
		if (!err)
			err = tapir_output_file__flush_much(&job->file, &job->out);
	}
	tapir_str__fini(&title);
	if (!err && tapir_speedscope__left_out(s))
		tapir_warn("%" PRIu64 " samples are left out: the limit of %u MB is reached",
			   tapir_speedscope__left_out(s), TAPIR_SPEEDSCOPE_MAX_BYTES >> 20);
	return err;
}

int tapir_export__speedscope(struct tapir_export_job *job)
{
	struct tapir_speedscope *s = tapir_speedscope__new(
		tapir_reader__catalog(job->reader), tapir_reader__stats(job->reader)->created_ns);
	const struct tapir_rec *rec;
	int err = -ENOMEM;

	while (s && (err = next_chosen(job, &rec)) > 0) {
		err = tapir_speedscope__add(s, rec);
		if (err)
			break;
	}
	if (!err)
		err = write_speedscope(job, s);
	tapir_speedscope__free(s);
	return err;
}

/* ---- nettrace ------------------------------------------------------------------------------- */

static void say_what_lacks(const struct tapir_nettrace_stats *stats)
{
	if (stats->late)
		tapir_warn(
			"%" PRIu64
			" records arrived much later than others of their time and are out of order",
			stats->late);
	if (stats->too_long)
		tapir_warn(
			"%" PRIu64
			" events are left out: larger than the 64 KB that nettrace readers accept",
			stats->too_long);
	if (stats->undescribed)
		tapir_warn("%" PRIu64 " events are left out: the recording lost their descriptions",
			   stats->undescribed);
	if (stats->unnamed)
		tapir_warn("some frames have no name: the limit of %u names is reached",
			   TAPIR_NETTRACE_NAMES_MAX);
}

static int write_nettrace(struct tapir_export_job *job, struct tapir_nettrace *n)
{
	const struct tapir_rec *rec;
	int err;

	while ((err = tapir_long_read__next(&job->read, &rec)) > 0) {
		err = tapir_nettrace__add(n, rec, &job->out);
		if (!err)
			err = tapir_output_file__flush_much(&job->file, &job->out);
		if (err)
			return err;
	}
	return err ? err : tapir_nettrace__finish(n, &job->out);
}

int tapir_export__nettrace(struct tapir_export_job *job)
{
	struct tapir_nettrace *n = tapir_nettrace__new(job->reader, job->head.data);
	int err = n ? write_nettrace(job, n) : -ENOMEM;

	if (!err)
		say_what_lacks(tapir_nettrace__stats(n));
	tapir_nettrace__free(n);
	return err;
}

/* ---- trees of calls ------------------------------------------------------------------------- */

/* A name may hold what separates: stackcollapse's readers split at ';' and the last space. */
static void add_name(struct tapir_str *out, const struct tapir_stack_tree *tree, uint32_t node)
{
	struct tapir_str name = {};
	size_t at = out->len;

	tapir_stack_tree__add_label(&name, tree, node);
	tapir_str__add_printable(out, name.data ? name.data : "?", name.data ? name.len : 1);
	out->failed |= name.failed;
	tapir_str__fini(&name);
	for (; at < out->len; at++)
		if (out->data[at] == ';')
			out->data[at] = ':';
}

static int write_node(struct tapir_export_job *job, const struct tapir_stack_tree *tree,
		      uint32_t idx, struct tapir_str *path)
{
	const struct tapir_tree_node *node = &tree->nodes.data[idx];
	size_t len = path->len;
	int err = 0;

	if (idx != TAPIR_STACK_TREE_ROOT) {
		if (len)
			tapir_str__addc(path, ';');
		add_name(path, tree, idx);
	}
	if (node->self && path->len) {
		tapir_str__add(&job->out, path->data, path->len);
		tapir_str__addc(&job->out, ' ');
		tapir_str__addu(&job->out, node->self);
		tapir_str__addc(&job->out, '\n');
	}
	for (uint32_t c = node->first_child; c && !err; c = tree->nodes.data[c].next_sibling)
		err = write_node(job, tree, c, path);
	if (!err)
		err = tapir_output_file__flush_much(&job->file, &job->out);
	path->len = len;
	return err;
}

static int fold_offcpu(struct tapir_export_job *job, struct tapir_stack_tree *tree)
{
	struct tapir_offcpu_tree *offcpu =
		tapir_offcpu_tree__new(tree, tapir_reader__catalog(job->reader), &job->trace);
	const struct tapir_rec *rec;
	int err = -ENOMEM;

	while (offcpu && (err = tapir_long_read__next(&job->read, &rec)) > 0) {
		if ((err = tapir_offcpu_tree__add(offcpu, rec, NULL, NULL)))
			break;
		job->chosen_cnt += tapir_trace_filter__has(&job->trace, rec);
	}
	if (!err)
		err = tapir_offcpu_tree__finish(offcpu);
	tapir_offcpu_tree__free(offcpu);
	return err;
}

/* Records of one kind. */
struct folded {
	struct tapir_stack_tree tree;
	struct tapir_pprof_spans spans; /* for pprof alone */
};

static void fold_record(struct folded *f, const struct tapir_catalog *catalog,
			const struct tapir_rec *rec, bool has_spans)
{
	uint32_t node = tapir_stack_tree__record_node(&f->tree, catalog, rec);

	if (node == UINT32_MAX)
		return;
	f->tree.nodes.data[node].self++;
	if (has_spans)
		tapir_pprof_spans__add(&f->spans, node, tapir_rec__trace_ids(rec));
}

static int fold(struct tapir_export_job *job, struct folded *samples, struct folded *events,
		bool has_spans)
{
	const struct tapir_rec *rec;
	int err;

	if (job->of_offcpu)
		return fold_offcpu(job, &events->tree);
	while ((err = next_chosen(job, &rec)) > 0)
		fold_record(rec->type == TAPIR_REC_SAMPLE ? samples : events,
			    tapir_reader__catalog(job->reader), rec, has_spans);
	return err;
}

static int write_folded(struct tapir_export_job *job, const struct folded *f, bool is_of_samples)
{
	struct tapir_str path = {};
	int err = f->tree.nodes.cnt ? write_node(job, &f->tree, TAPIR_STACK_TREE_ROOT, &path) : 0;

	(void)is_of_samples;
	tapir_str__fini(&path);
	return err;
}

/* CPU time of a sample; 0: samples are taken on another event. */
static uint64_t period_ns(const struct tapir_catalog *catalog)
{
	struct tapir_sv hz = tapir_catalog__meta_value(catalog, "sample_hz");
	char text[24];
	uint64_t value;

	snprintf(text, sizeof(text), "%.*s", (int)(hz.len < 20 ? hz.len : 20), hz.data);
	if (!tapir_sample_event__is_clock(tapir_catalog__meta_value(catalog, "sample_event")) ||
	    !tapir_str__to_u64(text, 1, TAPIR_NS_PER_SEC, &value))
		return 0;
	return TAPIR_NS_PER_SEC / value;
}

static int write_pprof(struct tapir_export_job *job, const struct folded *f, bool is_of_samples)
{
	struct tapir_pprof_opts opts = {
		.utc_ns = tapir_reader__stats(job->reader)->created_utc_ns,
		.counts = is_of_samples ? "samples" : "events",
		.period_ns = is_of_samples ? period_ns(tapir_reader__catalog(job->reader)) : 0,
		.lines = job->head.data};

	return tapir_pprof__write(&f->tree, &f->spans, &opts, &job->out);
}

static void say_folded(const struct tapir_stack_tree *tree)
{
	tapir_warn("%" PRIu64
		   " samples or events of rare stacks were folded into their callers: a tree holds "
		   "at most %u frames",
		   tree->folded_cnt, TAPIR_STACK_TREE_MAX_NODES);
}

static void say_untied(uint64_t cnt)
{
	tapir_warn("%" PRIu64
		   " samples are written without their span: the limit of %u stacks is reached",
		   cnt, TAPIR_PPROF_MAX_SPANS);
}

static void folded__fini(struct folded *f)
{
	tapir_stack_tree__fini(&f->tree);
	tapir_pprof_spans__fini(&f->spans);
}

static int write_tree(struct tapir_export_job *job, bool has_spans,
		      int (*write)(struct tapir_export_job *job, const struct folded *f,
				   bool is_of_samples))
{
	struct folded samples = {.tree.process_frame = TAPIR_PROCESS_FRAME_NAME};
	struct folded events = {.tree.process_frame = TAPIR_PROCESS_FRAME_NAME}, *f;
	int err = fold(job, &samples, &events, has_spans);

	f = samples.tree.nodes.cnt ? &samples : &events;
	tapir_stack_tree__sort(&f->tree);
	if (!err && (samples.tree.failed || events.tree.failed || samples.spans.failed ||
		     events.spans.failed))
		err = -ENOMEM;
	if (!err)
		err = write(job, f, f == &samples);
	if (!err && f->tree.folded_cnt)
		say_folded(&f->tree);
	if (!err && f->spans.untied)
		say_untied(f->spans.untied);
	folded__fini(&samples);
	folded__fini(&events);
	return err;
}

int tapir_export__folded(struct tapir_export_job *job)
{
	return write_tree(job, false, write_folded);
}

int tapir_export__pprof(struct tapir_export_job *job)
{
	return write_tree(job, true, write_pprof);
}

/* ---- OpenTelemetry --------------------------------------------------------------------------- */

static void say_what_otlp_lacks(const struct tapir_otlp_samples *s)
{
	if (s->left_out)
		tapir_warn(
			"%" PRIu64
			" samples are left out: the limit of %u stacks or %u processes is reached",
			s->left_out, TAPIR_OTLP_MAX_ROWS, TAPIR_OTLP_MAX_OWNERS);
	if (s->untied)
		tapir_warn("%" PRIu64
			   " samples are written without their span: the limit of %u stacks is "
			   "reached",
			   s->untied, TAPIR_OTLP_MAX_ROWS);
	if (s->has_no_times)
		tapir_warn("sums of stacks are written, without the time of each sample: there are "
			   "more than %u",
			   TAPIR_OTLP_MAX_POINTS);
	if (s->tree.folded_cnt)
		say_folded(&s->tree);
}

/* Texts of these messages have no line breaks. */
static void add_in_one_line(const char *lines, struct tapir_str *out)
{
	for (size_t len; lines && *lines; lines += len + (lines[len] != '\0')) {
		len = strcspn(lines, "\n");
		if (len && out->len)
			tapir_str__adds(out, "; ");
		tapir_str__add(out, lines, len);
	}
}

static int write_otlp(struct tapir_export_job *job, const struct tapir_otlp_samples *s)
{
	const struct tapir_catalog *catalog = tapir_reader__catalog(job->reader);
	struct tapir_sv event = tapir_catalog__meta_value(catalog, "sample_event");
	char event_text[128], host[256];
	struct tapir_otlp_opts opts = {.host = host};
	struct tapir_str finding = {};
	int err;

	add_in_one_line(job->head.data, &finding);
	opts.finding = finding.data;
	tapir_sv__copy(tapir_catalog__meta_value(catalog, "host"), host, sizeof(host));
	tapir_sv__copy(event, event_text, sizeof(event_text));
	if (event.len && !tapir_sample_event__is_clock(event))
		opts.event = event_text;
	err = finding.failed ? -ENOMEM : tapir_otlp_profiles__write(s, &opts, &job->out);
	tapir_str__fini(&finding);
	return err;
}

int tapir_export__otlp(struct tapir_export_job *job)
{
	const struct tapir_reader_stats *stats = tapir_reader__stats(job->reader);
	struct tapir_otlp_samples samples;
	const struct tapir_rec *rec;
	int err = tapir_otlp_samples__init(&samples, tapir_reader__catalog(job->reader),
					   stats->created_ns, stats->created_utc_ns);

	samples.trace = &job->trace;
	while (!err && (err = tapir_long_read__next(&job->read, &rec)) > 0) {
		job->chosen_cnt += tapir_trace_filter__has(&job->trace, rec);
		err = tapir_otlp_samples__add(&samples, rec);
	}
	if (!err)
		err = tapir_otlp_samples__finish(&samples);
	if (!err)
		err = write_otlp(job, &samples);
	if (!err)
		say_what_otlp_lacks(&samples);
	tapir_otlp_samples__fini(&samples);
	return err;
}
