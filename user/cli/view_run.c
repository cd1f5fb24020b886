// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The notes below a result: losses, gaps, what was not covered, and how stacks get their callers.
 */
#include "cli/view_run.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/capture_check.h"
#include "symbol/stack_ends.h"
#include "base/diag.h"
#include "base/log.h"
#include "trace/pids_seen.h"
#include "cli/recording_file.h"
#include "output/render/remedies.h"
#include "output/render/report_view.h"
#include "output/render/view_result_print.h"
#include "output/render/help_text.h"
#include "output/render/screen.h"
#include "cli/terminal.h"

int tapir_pair_option__name(const struct tapir_cli *cli, const struct tapir_words *words,
			    struct tapir_pairs *pairs)
{
	const char *const *word;

	tapir_vec_for_each (word, words) {
		int err = tapir_pairs__name(pairs, *word);

		if (err == -EINVAL)
			return tapir_cli__usage(cli,
						"--pair: '%s' is not BEGIN,END or BEGIN,END,"
						"key=ARG, with events as PROVIDER:EVENT or EVENT",
						*word);
		if (err)
			return err;
	}
	return 0;
}

int tapir_pair_option__check(const struct tapir_pairs *pairs, const char *path)
{
	const struct tapir_user_pair *pair;

	tapir_vec_for_each (pair, &pairs->user) {
		int missing = !pair->is_seen[0] ? 0 : 1;
		const char *provider = pair->provider[missing], *event = pair->event[missing];

		if (pair->is_seen[0] && pair->is_seen[1])
			continue;
		if (!pair->is_seen[0] && !pair->is_seen[1])
			return tapir_diag__fail(
				-ENODATA, "--pair: %s has neither an event %s%s%s nor its end",
				path, provider ? provider : "", provider ? ":" : "", event);
		tapir_warn("--pair: %s has no event %s%s%s", path, provider ? provider : "",
			   provider ? ":" : "", event);
	}
	return 0;
}

/* Records of a larger file are counted here and there, for a share of its stacks. */
#define COUNTED_BYTES (4u << 20)

/* Counts over all records, in addition to what the view listens to. */
struct counts {
	struct tapir_pids_seen seen;
	struct tapir_capture_check recorded;
	struct tapir_stack_ends ends;
};

static bool has_id(const struct tapir_pids *requested, uint32_t id)
{
	const uint32_t *one;

	if (!requested->cnt)
		return true;
	tapir_vec_for_each (one, requested)
		if (*one == id)
			return true;
	return false;
}

/* Returns true for a record of the requested time, processes and threads: of those is counted. */
static bool is_in_range(const struct tapir_reader *reader, const struct tapir_rec *rec,
			const struct tapir_view_request *rq)
{
	uint64_t start_ns = tapir_reader__stats(reader)->created_ns;
	int which = tapir_rec__counted_thread(rec);

	return rec->time_ns >= start_ns + rq->from_ns &&
	       (!rq->until_ns || rec->time_ns <= start_ns + rq->until_ns) &&
	       has_id(rq->pids, tapir_rec__tgid(rec, which)) &&
	       has_id(rq->tids, tapir_rec__tid(rec, which));
}

static int read_view_records(struct tapir_reader *reader, struct tapir_timeline *tl,
			     struct counts *counts, const struct tapir_view_request *rq)
{
	uint64_t stride = 1 + tapir_reader__stats(reader)->file_bytes / COUNTED_BYTES, seen = 0;
	const struct tapir_rec *rec;
	int err, family;

	tapir_reader__deliver_descriptions(reader, true);
	tapir_where__begin(rq->where, tapir_reader__catalog(reader));
	while ((err = tapir_reader__next(reader, &rec)) > 0) {
		tapir_pids_seen__add(&counts->seen, rec);
		tapir_capture_check__add(&counts->recorded, rec);
		family = tapir_family__of(rec->type);
		if (family >= 0 && rq->where && is_in_range(reader, rec, rq))
			(void)tapir_where__count(rq->where, rec, tapir_rec__counted_thread(rec));
		if (family >= 0 && seen++ % stride == 0)
			tapir_stack_ends__add(&counts->ends, tapir_reader__catalog(reader), rec,
					      (enum tapir_family_id)family);
		err = tapir_timeline__add(tl, rec);
		if (err)
			return err;
	}
	return err ? err : tapir_timeline__finish(tl);
}

int tapir_view_result__print(struct tapir_view_result *result, enum tapir_view_form form)
{
	struct tapir_str out = {};
	int err;

	if (result->failed)
		return -ENOMEM;
	if (form == TAPIR_VIEW_JSON)
		tapir_view_result__write_json(result, &out);
	else if (form == TAPIR_VIEW_JSONL)
		tapir_view_result__write_jsonl(result, &out);
	else if (form == TAPIR_VIEW_CSV)
		tapir_view_result__write_csv(result, &out);
	else
		tapir_view_result__write_text(result, tapir_screen__palette(stdout), &out);
	if (form == TAPIR_VIEW_TEXT)
		tapir_text__fit(&out, tapir_screen__fit_columns());
	err = tapir_terminal__flush(&out);
	tapir_str__fini(&out);
	return err;
}

static void add_notes(const struct tapir_timeline_stats *stats, struct tapir_view_result *result)
{
	if (result->tree->folded_cnt)
		tapir_view_result__note(result,
					"%llu samples or events of rare stacks were folded into "
					"'(rarer stacks)': a call tree holds at most %u frames",
					(unsigned long long)result->tree->folded_cnt,
					TAPIR_STACK_TREE_MAX_NODES);
	if (stats->late)
		tapir_view_result__note(result, "%llu records arrived too late to be sorted",
					(unsigned long long)stats->late);
	if (stats->no_room)
		tapir_view_result__note(result, "%llu threads or intervals dropped: limit reached",
					(unsigned long long)stats->no_room);
}

/*
 * Adds the share of samples that is known to belong to a trace: the others are in no view of one.
 */
static void add_coverage(const struct tapir_timeline_stats *stats,
			 const struct tapir_view_request *rq, struct tapir_view_result *result)
{
	uint64_t known = stats->delivered_with_ids + stats->delivered_joined;

	if (!stats->delivered_samples || (!rq->trace_id && (!rq->view->is_by_trace || !known)))
		return;
	tapir_view_result__fact(result, "ids_samples", NULL, TAPIR_CELL_COUNT,
				stats->delivered_samples);
	tapir_view_result__fact(result, "ids_recorded", NULL, TAPIR_CELL_COUNT,
				stats->delivered_with_ids);
	tapir_view_result__fact(result, "ids_joined", NULL, TAPIR_CELL_COUNT,
				stats->delivered_joined);
	tapir_view_result__note(
		result,
		"ids: %.1f%% of %" PRIu64 " samples are of a trace (%.1f%% have its "
		"id, %.1f%% ran inside a request on their thread)",
		100.0 * (double)known / (double)stats->delivered_samples, stats->delivered_samples,
		100.0 * (double)stats->delivered_with_ids / (double)stats->delivered_samples,
		100.0 * (double)stats->delivered_joined / (double)stats->delivered_samples);
}

static void add_where(const struct tapir_where *where, struct tapir_view_result *result)
{
	struct tapir_str text = {};

	if (!where)
		return;
	tapir_report__add_where(where, &text);
	tapir_view_result__note(result, "%s", text.data ? text.data : "");
	result->failed |= text.failed;
	tapir_str__fini(&text);
}

static bool shows_stacks(const struct tapir_view_result *result)
{
	const struct tapir_view_result_table *t;

	tapir_vec_for_each (t, &result->tables)
		for (unsigned c = 0; t->cells.cnt && c < t->column_cnt; c++)
			if (t->columns[c].type == TAPIR_CELL_STACK ||
			    t->columns[c].type == TAPIR_CELL_ORIGIN ||
			    !strcmp(t->columns[c].title ? t->columns[c].title : "", "FUNCTION"))
				return true;
	return false;
}

/* Adds remedies for stacks that lack callers or names. */
static void add_remedies(struct tapir_stack_ends *ends, const struct tapir_catalog *catalog,
			 const char *path, struct tapir_view_result *result)
{
	struct tapir_sv host = tapir_catalog__meta_value(catalog, "host");
	struct tapir_str lines = {}, host_text = {};
	char *at, *end;

	if (!shows_stacks(result))
		return;
	tapir_stack_ends__sort(ends);
	tapir_str__add(&host_text, host.data, host.len);
	tapir_remedies__add_callers(ends, &lines);
	tapir_remedies__add_names(ends, path, host_text.data, &lines);
	for (at = lines.data; at && *at; at = end + 1) {
		end = strchr(at, '\n');
		if (!end)
			break;
		*end = 0;
		tapir_view_result__note(result, "%s", at);
	}
	result->failed |= lines.failed || host_text.failed || ends->failed;
	tapir_str__fini(&host_text);
	tapir_str__fini(&lines);
}

/* An empty answer to a misspelt id would look like a request that did nothing. */
static int check_trace(const struct tapir_timeline *tl, const struct tapir_view_request *rq)
{
	if (!rq->trace_id || tapir_timeline__stats(tl)->chosen)
		return 0;
	return tapir_diag__fail(-ENODATA, "%s has no records with trace id %s", rq->path,
				rq->trace_id);
}

/*
 * Takes tl. Whether the filters have matched anything is checked before the view is finished: a
 * wrong -p is an error, not an empty result.
 */
static int view(struct tapir_reader *reader, struct tapir_timeline *tl,
		const struct tapir_pairs *pairs, const struct tapir_view_request *rq)
{
	const char *path = rq->path;
	struct tapir_view_result result = {.view = rq->view->name,
					   .tree = tapir_timeline__stacks(tl),
					   .start_ns = tapir_reader__stats(reader)->created_ns,
					   .top = rq->top,
					   .folds = rq->form == TAPIR_VIEW_TEXT && !rq->unfold,
					   .unfold = rq->unfold};
	struct counts counts = {.seen = {.requested = rq->pids, .requested_tids = rq->tids}};
	void *ctx = tapir_view__start(rq->view, tl, rq->arg, rq->top);
	int err = ctx ? tapir_timeline__listen(tl, &rq->view->fns, ctx) : -ENOMEM;

	if (!err)
		err = read_view_records(reader, tl, &counts, rq);
	if (!err)
		err = tapir_pids_seen__check(&counts.seen, tapir_reader__catalog(reader), path);
	if (!err)
		err = tapir_where__check(rq->where);
	if (!err)
		err = check_trace(tl, rq);
	if (!err)
		err = tapir_pair_option__check(pairs, path);
	if (!err)
		err = tapir_view__finish(rq->view, ctx, &result);
	if (!err) {
		tapir_capture_check__explain(&counts.recorded, tapir_reader__catalog(reader),
					     rq->view, &result);
		add_remedies(&counts.ends, tapir_reader__catalog(reader), path, &result);
		add_notes(tapir_timeline__stats(tl), &result);
		tapir_view__note_sums(rq->view, tl, &result);
		add_where(rq->where, &result);
		add_coverage(tapir_timeline__stats(tl), rq, &result);
		err = tapir_view_result__print(&result, rq->form);
	}
	tapir_timeline__free(tl);
	tapir_view__free(rq->view, ctx);
	tapir_view_result__fini(&result);
	tapir_stack_ends__fini(&counts.ends);
	tapir_pids_seen__fini(&counts.seen);
	return err;
}

int tapir_view__run(struct tapir_reader *reader, struct tapir_cli *cli,
		    const struct tapir_view_request *rq)
{
	uint64_t start_ns = tapir_reader__stats(reader)->created_ns;
	struct tapir_trace_filter trace;
	struct tapir_timeline_opts opts = {
		.from_ns = rq->from_ns ? start_ns + rq->from_ns : 0,
		.until_ns = rq->until_ns ? start_ns + rq->until_ns : 0,
		.tgids = rq->pids->data,
		.tgid_cnt = rq->pids->cnt,
		.tids = rq->tids->data,
		.tid_cnt = rq->tids->cnt,
		.trace = &trace,
		.where = rq->where,
		.wants_stacks = true,
	};
	struct tapir_timeline *tl = NULL;
	struct tapir_pairs pairs = {};
	int err = tapir_pair_option__name(cli, rq->pairs, &pairs);

	(void)tapir_trace_filter__parse(rq->trace_id, &trace); /* the command has checked */
	if (!err) {
		tl = tapir_timeline__new(tapir_reader__catalog(reader), &pairs, &opts);
		err = tl ? view(reader, tl, &pairs, rq) : -ENOMEM;
	}
	tapir_pairs__fini(&pairs);
	return err;
}
