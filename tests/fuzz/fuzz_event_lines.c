// SPDX-License-Identifier: GPL-2.0-or-later
/* Any well-formed records in any order: descriptions are learnt, all of them are printed. */
#include <stdlib.h>
#include <string.h>

#include "each_record.h"
#include "output/export/event_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void print(struct tapir_event_lines *lines, const struct tapir_rec *rec)
{
	struct tapir_str out = {};

	tapir_event_lines__add(lines, rec, &out);
	if (out.len && out.data[out.len - 1] != '\n')
		abort(); /* whatever it says, it ends its line */
	tapir_str__fini(&out);
}

struct sinks {
	struct tapir_event_lines *text, *json;
};

static void print_both(void *ctx, const struct tapir_rec *rec)
{
	const struct sinks *sinks = ctx;

	print(sinks->text, rec);
	print(sinks->json, rec);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_catalog *catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	struct sinks sinks = {tapir_event_lines__new(TAPIR_EVENT_TEXT, catalog, 0),
			      tapir_event_lines__new(TAPIR_EVENT_JSON, catalog, 0)};

	each_record(input, len, catalog, print_both, &sinks);
	tapir_event_lines__free(sinks.json);
	tapir_event_lines__free(sinks.text);
	tapir_catalog__free(catalog);
	return 0;
}
