// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions that all views share: to begin and end one, and the texts of threads and durations.
 */
#include "analyze/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"

void *tapir_view__start(const struct tapir_view *view, struct tapir_timeline *tl, const char *arg,
			uint64_t top)
{
	struct tapir_view_args *args = calloc(1, view->ctx_bytes);

	if (!args)
		return NULL;
	args->tl = tl;
	args->arg = arg ? arg : "";
	args->top = top ? top : view->default_top;
	if (view->begin)
		view->begin(args);
	return args;
}

void tapir_view__free(const struct tapir_view *view, void *ctx)
{
	if (ctx && view->fini)
		view->fini(ctx);
	free(ctx);
}

static void add_facts(const struct tapir_view_fact *fact, const char *ctx,
		      struct tapir_view_result *result)
{
	for (; fact->column.key; fact++) {
		const uint64_t *shown = (const void *)(ctx + fact->if_off);
		const char *title = fact->if_off && !*shown ? NULL : fact->column.title;
		const void *value = ctx + fact->off;

		if (fact->is_optional && !*shown)
			continue;
		if (fact->percent > 0)
			tapir_view_result__percentile(result, fact->column.key, title, value,
						      fact->percent);
		else
			tapir_view_result__fact(result, fact->column.key, title, fact->column.type,
						*(const uint64_t *)value);
	}
}

static void add_table(const struct tapir_view_table *table, unsigned which,
		      struct tapir_view_args *args, struct tapir_view_result *result)
{
	struct tapir_keyed_rows *rows = (void *)((char *)args + table->rows_off);
	size_t t;

	if (!rows->cnt)
		return;
	tapir_keyed__sort_rows(rows->data, rows->cnt, table->row_bytes, &rows->idx_by_key,
			       table->compare);
	t = tapir_view_result__table(result, table->key, table->title, table->columns);
	for (size_t i = 0; i < rows->cnt && i < args->top; i++)
		table->write(args, result, t, which,
			     (const char *)rows->data + i * table->row_bytes);
	tapir_view_result__note_top(result, table->title, args->top, rows->cnt);
}

static void add_tables(const struct tapir_view *view, struct tapir_view_args *args,
		       struct tapir_view_result *result)
{
	const struct tapir_view_table *table = view->tables;
	uint64_t more = 0;

	for (unsigned i = 0; table && table[i].key; i++) {
		const struct tapir_keyed_rows *rows =
			(const void *)((const char *)args + table[i].rows_off);

		more += rows->more;
		args->failed |= rows->failed;
		add_table(&table[i], i, args, result);
	}
	tapir_view_result__beyond(result, more, false, view->unit);
}

int tapir_view__finish(const struct tapir_view *view, void *ctx, struct tapir_view_result *result)
{
	const uint64_t *found = (const void *)((const char *)ctx + view->found_off);
	struct tapir_view_args *args = ctx;
	int err = 0;

	result->has_nothing = view->found_off && !*found;
	if (!result->has_nothing) {
		add_tables(view, args, result);
		err = args->failed ? -ENOMEM : view->finish(ctx, result);
	}
	if (view->facts && (view->has_facts_of_nothing || !result->has_nothing))
		add_facts(view->facts, ctx, result);
	if (result->has_nothing && view->nothing)
		tapir_str__adds(&result->headline, view->nothing);
	return args->failed ? -ENOMEM : err;
}

void tapir_view__note_sums(const struct tapir_view *view, const struct tapir_timeline *tl,
			   struct tapir_view_result *result)
{
	const struct tapir_timeline_stats *stats = tapir_timeline__stats(tl);
	char asleep[TAPIR_NS_TEXT_BYTES], runnable[TAPIR_NS_TEXT_BYTES];

	if (!stats->has_sums || !(view->fns.wait || view->fns.switched || view->fns.close))
		return;
	tapir_view_result__note(result,
				TAPIR_WAITS_ARE_SUMMED
				": %" PRIu64
				", with %s asleep and %s without a CPU, are no rows here, and the "
				"parts of intervals count them as running ('tapir help waits')",
				stats->short_cnt, tapir_ns__text(stats->short_asleep_ns, asleep),
				tapir_ns__text(stats->short_runnable_ns, runnable));
}

void tapir_comm__copy(char out[TAPIR_COMM_TEXT_BYTES], struct tapir_sv comm)
{
	size_t len = comm.len < TAPIR_COMM_TEXT_BYTES ? comm.len : TAPIR_COMM_TEXT_BYTES - 1;

	if (len)
		memcpy(out, comm.data, len);
	out[len] = 0;
}

size_t tapir_command_text__copy(char *out, size_t size, struct tapir_sv args)
{
	size_t len = args.len < size ? args.len : size;

	for (size_t i = 0; i < len; i++)
		out[i] = args.data[i] ? args.data[i] : ' ';
	while (len && out[len - 1] == ' ')
		len--;
	return len;
}

const char *tapir_ns__text(uint64_t ns, char text[TAPIR_NS_TEXT_BYTES])
{
	if (ns < 1000)
		snprintf(text, TAPIR_NS_TEXT_BYTES, "%" PRIu64 " ns", ns);
	else if (ns < 1000000)
		snprintf(text, TAPIR_NS_TEXT_BYTES, "%.1f us", (double)ns / 1e3);
	else if (ns < 1000000000)
		snprintf(text, TAPIR_NS_TEXT_BYTES, "%.2f ms", (double)ns / 1e6);
	else
		snprintf(text, TAPIR_NS_TEXT_BYTES, "%.3f s", (double)ns / 1e9);
	return text;
}

char *tapir_tl_thread__within(struct tapir_timeline *tl, const struct tapir_tl_thread *thread,
			      uint64_t at_ns)
{
	uint32_t kind = TAPIR_NO_KIND;
	const char *label = tapir_tl_thread__label(thread, at_ns, &kind);
	char *text = NULL;

	if (!label ||
	    asprintf(&text, "%s %s", tapir_timeline__pairs(tl)->kinds.data[kind].name, label) < 0)
		return NULL;
	return text;
}
