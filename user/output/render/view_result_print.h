/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view_result_print.h - what a view found, as text for a person and as JSON for a program. */
#ifndef TAPIR_USER_VIEW_RESULT_PRINT_H
#define TAPIR_USER_VIEW_RESULT_PRINT_H

#include "analyze/view_result.h"
#include "output/render/screen.h"

/* Appends the result as text; its tables fit the terminal. */
void tapir_view_result__write_text(const struct tapir_view_result *result,
				   const struct tapir_palette *p, struct tapir_str *out);
/* One document: "view", "headline", the facts, the tables by their keys, "notes". */
void tapir_view_result__write_json(const struct tapir_view_result *result, struct tapir_str *out);

#endif
