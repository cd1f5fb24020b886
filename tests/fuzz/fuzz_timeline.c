// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any well-formed records in any order through the timeline into every view, and the finding: an
 * interval's parts add up to it, a result and a sentence are made. The first byte chooses the view;
 * up to the first newline a pair as a user writes it.
 */
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnosis.h"
#include "output/render/views.h"
#include "base/diag.h"
#include "each_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void on_close(void *ctx, struct tapir_interval *i)
{
	uint64_t sum = 0;

	(void)ctx;
	for (unsigned c = 0; c < TAPIR_CAUSE_CNT; c++)
		sum += tapir_time_breakdown__sum(&i->parts, c);
	if (i->until_ns < i->from_ns || sum != i->until_ns - i->from_ns)
		abort();
}

static void add(void *ctx, const struct tapir_rec *rec)
{
	if (tapir_timeline__add(ctx, rec))
		abort();
}

static size_t name_pair(struct tapir_pairs *pairs, const uint8_t *input, size_t len)
{
	char text[64] = "";
	size_t n = 0;

	while (n < len && n < sizeof(text) - 1 && input[n] != '\n')
		n++;
	memcpy(text, input, n);
	tapir_pairs__name(pairs, text);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	static const struct tapir_timeline_fns check = {.close = on_close};
	const struct tapir_timeline_opts opts = {.wants_stacks = true};
	struct tapir_catalog *catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	struct tapir_pairs pairs = {};
	struct tapir_diagnosis finding = {};
	struct tapir_view_result result = {};
	struct tapir_findings found = {};
	const struct tapir_view *view;
	struct tapir_timeline *tl;
	size_t cnt = 0, at = 1;
	void *ctx;

	while (tapir_views[cnt])
		cnt++;
	if (len > 1)
		at += name_pair(&pairs, input + 1, len - 1);
	view = tapir_views[len ? input[0] % cnt : 0];
	tl = tapir_timeline__new(catalog, &pairs, &opts);
	ctx = tapir_view__start(view, tl, view->arg ? "order" : NULL, 3);
	finding.tl = tl;
	if (tapir_timeline__listen(tl, &view->fns, ctx) ||
	    tapir_timeline__listen(tl, &tapir_diagnosis_fns, &finding) ||
	    tapir_timeline__listen(tl, &check, NULL))
		abort();
	if (at < len)
		each_record(input + at, len - at, catalog, add, tl);
	if (tapir_timeline__finish(tl))
		abort();
	result.tree = tapir_timeline__stacks(tl);
	tapir_view__finish(view, ctx, &result);
	for (size_t i = 0; i < result.tables.cnt; i++)
		if (result.tables.data[i].cells.cnt % result.tables.data[i].column_cnt)
			abort();
	tapir_diagnosis__list(&finding, &found);
	if (!found.failed && found.rows.cnt > 1000)
		abort();
	tapir_findings__fini(&found);
	tapir_view_result__fini(&result);
	tapir_diagnosis__fini(&finding);
	tapir_timeline__free(tl);
	tapir_view__free(view, ctx);
	tapir_pairs__fini(&pairs);
	tapir_catalog__free(catalog);
	tapir_diag__clear();
	return 0;
}
