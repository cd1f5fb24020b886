/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view_fixture.h - a made-up recording, a view that listens to it, and what the view answers. */
#ifndef TAPIR_TESTS_VIEW_FIXTURE_H
#define TAPIR_TESTS_VIEW_FIXTURE_H

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/histogram.h"
#include "analyze/capture_check.h"
#include "analyze/event_counts.h"
#include "output/render/view_result_print.h"
#include "output/render/views.h"
#include "base/diag.h"
#include "timeline_feeder.h"

#define RUNTIME "Microsoft-Windows-DotNETRuntime"

static struct feeder f;
static struct tapir_view_result result;
static const struct tapir_view *view;
static void *ctx;

static inline int setup(void **state)
{
	const struct tapir_timeline_opts opts = {.wants_stacks = true};

	(void)state;
	result = (struct tapir_view_result){};
	ctx = NULL;
	return feeder_init(&f, &opts);
}

static inline int teardown(void **state)
{
	(void)state;
	tapir_view_result__fini(&result);
	feeder_fini(&f);
	if (ctx)
		tapir_view__free(view, ctx);
	tapir_diag__clear();
	return 0;
}

static inline void ask(const char *text, uint64_t top)
{
	const char *arg;

	view = tapir_view__find(text, &arg);
	assert_non_null(view);
	ctx = tapir_view__start(view, f.tl, arg, top);
	assert_non_null(ctx);
	assert_int_equal(tapir_timeline__listen(f.tl, &view->fns, ctx), 0);
}

static inline int answer(void)
{
	int err;

	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	result.tree = tapir_timeline__stacks(f.tl);
	err = tapir_view__finish(view, ctx, &result);
	assert_false(result.failed);
	return err;
}

/* The nth table of that key. */
static const struct tapir_view_result_table *table(const char *key, unsigned nth)
{
	const struct tapir_view_result_table *t;

	tapir_vec_for_each (t, &result.tables)
		if (!strcmp(t->key, key) && !nth--)
			return t;
	fail_msg("no table %s", key);
	return NULL;
}

static const struct tapir_cell *cell(const struct tapir_view_result_table *t, size_t row,
				     const char *key)
{
	for (unsigned c = 0; c < t->column_cnt; c++)
		if (!strcmp(t->columns[c].key, key)) {
			assert_true(row < tapir_view_result_table__rows(t));
			return &t->cells.data[row * t->column_cnt + c];
		}
	fail_msg("no column %s", key);
	return NULL;
}

static inline uint64_t fact(const char *key)
{
	const struct tapir_fact *found;

	tapir_vec_for_each (found, &result.facts)
		if (!strcmp(found->column.key, key))
			return found->cell.u64;
	fail_msg("no fact %s", key);
	return 0;
}

static inline void fire(uint32_t probe, uint32_t tid, uint64_t time_ns)
{
	feeder_event(&f, (struct feeder_event){
				 .probe_id = probe, .tgid = 100, .tid = tid, .time_ns = time_ns});
}

static inline void fire_with(uint32_t probe, uint32_t tid, uint64_t time_ns, uint64_t number,
			     const char *text)
{
	feeder_event(&f, (struct feeder_event){.probe_id = probe,
					       .tgid = 100,
					       .tid = tid,
					       .time_ns = time_ns,
					       .number = number,
					       .has_number = true,
					       .text = text});
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
