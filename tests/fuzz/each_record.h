/* SPDX-License-Identifier: GPL-2.0-or-later */
/* each_record.h - fuzzed bytes as records: each well-formed one, up to the first that is not. */
#ifndef TAPIR_FUZZ_EACH_RECORD_H
#define TAPIR_FUZZ_EACH_RECORD_H

#include <stdlib.h>
#include <string.h>

#include "trace/catalog.h"
#include "trace/record.h"

#define MAX_RECORDS 4096

/* fn is called after the catalog has the record. */
static inline void each_record(const uint8_t *input, size_t len, struct tapir_catalog *catalog,
			       void (*fn)(void *ctx, const struct tapir_rec *rec), void *ctx)
{
	uint64_t *copy = malloc(len + 8); /* aligned */
	size_t at = 0;

	memcpy(copy, input, len);
	for (unsigned i = 0; i < MAX_RECORDS && at < len; i++) {
		const struct tapir_rec *rec = (const void *)((const uint8_t *)copy + at);

		if (!tapir_record__ok(rec, len - at))
			break;
		tapir_catalog__describe(catalog, rec);
		fn(ctx, rec);
		at += rec->size;
	}
	free(copy);
}

#endif
