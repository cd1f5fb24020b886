/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sheet_view.h - what a view found, as text for a person and as JSON for a program. */
#ifndef TAPIR_USER_SHEET_VIEW_H
#define TAPIR_USER_SHEET_VIEW_H

#include "analyze/sheet.h"
#include "render/screen.h"

void tapir_sheet__write_text(const struct tapir_sheet *sheet, const struct tapir_palette *p,
			     struct tapir_str *out);
/* One document: "view", "headline", the facts, the tables by their keys, "notes". */
void tapir_sheet__write_json(const struct tapir_sheet *sheet, struct tapir_str *out);

#endif
