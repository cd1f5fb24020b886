// SPDX-License-Identifier: GPL-2.0-or-later
/* A flight recording of a JVM and its count by class, whatever is in them, as objects. */
#include <stdlib.h>
#include <string.h>

#include "runtime/jvm/heap/jvm_classes.h"
#include "runtime/jvm/heap/jvm_live.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	char *copy = malloc(len ? len : 1);
	struct tapir_heap_snapshot histogram = {};
	struct tapir_heap_live live = {};
	struct tapir_heap_live_row *row;
	uint64_t cnt = 0;

	if (!copy)
		abort();
	(void)tapir_jvm_classes__parse((const char *)input, len, &histogram);
	tapir_heap_snapshot__fini(&histogram);
	memcpy(copy, input, len);
	(void)tapir_jvm_live__parse(&live, copy, len);
	free(copy); /* what is kept is a copy */
	tapir_vec_for_each (row, &live.rows) {
		cnt += row->cnt;
		if (strlen(row->type) > len * 4 + 64 || !row->stack || !row->path)
			abort();
	}
	if (cnt != live.cnt)
		abort();
	tapir_heap_live__fini(&live);
	return 0;
}
