// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/figures.h"

void tapir_figure__add_count(struct tapir_str *out, uint64_t value)
{
	if (value >= 1000) {
		tapir_figure__add_count(out, value / 1000);
		tapir_str__addf(out, ",%03u", (unsigned)(value % 1000));
	} else {
		tapir_str__addu(out, value);
	}
}

void tapir_figure__add_bytes(struct tapir_str *out, uint64_t bytes)
{
	if (bytes < 1000)
		tapir_str__addf(out, "%u bytes", (unsigned)bytes);
	else if (bytes < 1000 * 1000)
		tapir_str__addf(out, "%.1f KB", (double)bytes / 1e3);
	else
		tapir_str__addf(out, "%.1f MB", (double)bytes / 1e6);
}
