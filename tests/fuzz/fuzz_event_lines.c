// SPDX-License-Identifier: GPL-2.0-or-later
// fuzz: user/export/*.c user/symbol/frame.c user/symbol/frame_kind.c user/symbol/stack_memo.c user/decode/fields.c user/decode/value.c user/elf/*.c user/trace/*.c user/base/*.c
/* Any well-formed records in any order: descriptions are learnt, all of them are printed. */
#include <stdlib.h>
#include <string.h>

#include "export/event_lines.h"

#define MAX_RECORDS 4096

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void print(struct tapir_event_lines *lines, const struct tapir_rec *rec)
{
	struct tapir_str out = {};

	tapir_event_lines__add(lines, rec, &out);
	if (out.len && out.data[out.len - 1] != '\n')
		abort(); /* whatever it says, it ends its line */
	tapir_str__fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_catalog *catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	struct tapir_event_lines *text = tapir_event_lines__new(TAPIR_EVENT_TEXT, catalog, 0);
	struct tapir_event_lines *json = tapir_event_lines__new(TAPIR_EVENT_JSON, catalog, 0);
	uint64_t *copy = malloc(len + 8); /* aligned */
	size_t at = 0;

	memcpy(copy, input, len);
	for (unsigned i = 0; i < MAX_RECORDS && at < len; i++) {
		const struct tapir_rec *rec = (const void *)((const uint8_t *)copy + at);

		if (!tapir_record__ok(rec, len - at))
			break;
		tapir_catalog__describe(catalog, rec);
		print(text, rec);
		print(json, rec);
		at += rec->size;
	}
	free(copy);
	tapir_event_lines__free(json);
	tapir_event_lines__free(text);
	tapir_catalog__free(catalog);
	return 0;
}
