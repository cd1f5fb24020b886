// SPDX-License-Identifier: GPL-2.0-or-later
/* Any well-formed records in any order, summed up: every row that is named is there. */
#include <stdlib.h>
#include <string.h>

#include "analyze/summary.h"
#include "each_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void check(const struct tapir_summary *s)
{
	uint64_t captured = 0;

	for (size_t i = 0; i < s->events.cnt; i++)
		captured += s->events.data[i].captured;
	if (captured !=
	    s->captured[TAPIR_FAMILY_EVENT]) /* an input is too small for rows to run out */
		abort();
	for (size_t i = 0; i < s->stacks.cnt; i++) {
		const struct tapir_stack_row *row = &s->stacks.data[i];

		if (row->event != TAPIR_SUMMARY_SAMPLED && row->event >= s->events.cnt)
			abort();
		for (uint32_t f = 0; f < row->function_cnt; f++)
			if (row->functions[f] >= s->functions.cnt)
				abort();
	}
}

struct summing {
	struct tapir_summary summary;
	const struct tapir_catalog *catalog;
};

static void add(void *ctx, const struct tapir_rec *rec)
{
	struct summing *s = ctx;

	tapir_summary__add(&s->summary, s->catalog, rec);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_catalog *catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	struct summing s = {.catalog = catalog};

	each_record(input, len, catalog, add, &s);
	if (tapir_summary__sort(&s.summary))
		abort();
	check(&s.summary);
	tapir_summary__fini(&s.summary);
	tapir_catalog__free(catalog);
	return 0;
}
