/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report_view.h - a summary as text for a person and as JSON for a program. */
#ifndef TAPIR_USER_REPORT_VIEW_H
#define TAPIR_USER_REPORT_VIEW_H

#include "analyze/summary.h"
#include "cli/terminal.h"
#include "trace/reader.h"

struct tapir_report_view {
	const char *path;
	const struct tapir_summary *summary; /* sorted */
	const struct tapir_catalog *catalog;
	const struct tapir_reader_stats *stats;
	bool all_rows;
};

void tapir_report__write_text(const struct tapir_report_view *view, const struct tapir_palette *p,
			      struct tapir_str *out);
void tapir_report__write_json(const struct tapir_report_view *view, struct tapir_str *out);

uint64_t tapir_report__duration_ns(const struct tapir_report_view *view);

#endif
