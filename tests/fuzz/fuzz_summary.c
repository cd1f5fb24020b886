// SPDX-License-Identifier: GPL-2.0-or-later
// fuzz: user/analyze/*.c user/symbol/frame.c user/symbol/frame_kind.c user/symbol/stack_memo.c user/trace/*.c user/base/*.c
/* Any well-formed records in any order, summed up: every row that is named is there. */
#include <stdlib.h>
#include <string.h>

#include "analyze/summary.h"

#define MAX_RECORDS 4096

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void check(const struct tapir_summary *s)
{
	uint64_t captured = 0;

	for (size_t i = 0; i < s->events.cnt; i++)
		captured += s->events.data[i].captured;
	if (captured != s->event_cnt) /* an input is too small for rows to run out */
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

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_catalog *catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	struct tapir_summary summary = {};
	uint64_t *copy = malloc(len + 8); /* aligned */
	size_t at = 0;

	memcpy(copy, input, len);
	for (unsigned i = 0; i < MAX_RECORDS && at < len; i++) {
		const struct tapir_rec *rec = (const void *)((const uint8_t *)copy + at);

		if (!tapir_record__ok(rec, len - at))
			break;
		tapir_catalog__describe(catalog, rec);
		tapir_summary__add(&summary, catalog, rec);
		at += rec->size;
	}
	if (tapir_summary__sort(&summary))
		abort();
	check(&summary);
	tapir_summary__fini(&summary);
	tapir_catalog__free(catalog);
	free(copy);
	return 0;
}
