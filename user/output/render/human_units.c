// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers as people read them: one decimal, units of 1,000 (a KB is 1,000 bytes), UTC with a 'Z'.
 * JSON has the exact numbers; these functions are for text alone.
 */
#include "output/render/human_units.h"

#include "base/clock.h"

void tapir_human__add_count(struct tapir_str *out, uint64_t value)
{
	if (value >= 1000) {
		tapir_human__add_count(out, value / 1000);
		tapir_str__addf(out, ",%03u", (unsigned)(value % 1000));
	} else {
		tapir_str__addu(out, value);
	}
}

void tapir_human__add_captured(struct tapir_str *out, const uint64_t captured[TAPIR_FAMILY_CNT])
{
	const char *between = "";

	for (int i = 0; i < TAPIR_FAMILY_CNT; i++) {
		if (!captured[i])
			continue;
		tapir_str__adds(out, between);
		tapir_human__add_count(out, captured[i]);
		tapir_str__addf(out, " %s", tapir_family__noun(&tapir_families[i], captured[i]));
		between = ", ";
	}
	if (!*between)
		tapir_str__adds(out, "no event and no sample");
}

void tapir_human__add_bytes(struct tapir_str *out, uint64_t bytes)
{
	if (bytes < 1000)
		tapir_str__addf(out, "%u bytes", (unsigned)bytes);
	else if (bytes < 1000 * 1000)
		tapir_str__addf(out, "%.1f KB", (double)bytes / 1e3);
	else
		tapir_str__addf(out, "%.1f MB", (double)bytes / 1e6);
}

void tapir_human__add_duration(struct tapir_str *out, uint64_t ns)
{
	if (ns < TAPIR_NS_PER_SEC)
		tapir_str__addf(out, "%.1f ms", (double)ns / 1e6);
	else
		tapir_str__addf(out, "%.1f s", (double)ns / 1e9);
}

void tapir_human__add_utc(struct tapir_str *out, uint64_t utc_ns)
{
	char text[TAPIR_UTC_TEXT_BYTES];

	tapir_clock__utc_text(utc_ns, text);
	tapir_str__adds(out, text);
	tapir_str__addc(out, 'Z');
}
