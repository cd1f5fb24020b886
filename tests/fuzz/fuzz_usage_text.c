// SPDX-License-Identifier: GPL-2.0-or-later
/* Texts of what was measured, whatever is in them: each is read as all three. */
#include <stdlib.h>

#include "decode/usage_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_sv text = {(const char *)input, len}, rest = text;
	struct tapir_memory_series series;
	struct tapir_neighbours n;
	struct tapir_quota_use q;

	while (tapir_usage_text__next_memory(&rest, &series))
		for (unsigned i = 0; i < series.cnt; i++)
			if (series.points[i].file_bytes > series.points[i].resident_bytes)
				abort();
	if (tapir_usage_text__neighbours(text, &n) && (n.cnt > TAPIR_NEIGHBOURS_MAX || !n.wall_ns))
		abort();
	if (tapir_usage_text__quota(text, &q) && (!q.period_us || !q.wall_ns))
		abort();
	return 0;
}
