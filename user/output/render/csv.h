/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * csv.h - texts of traced processes in CSV: none controls a terminal, none is a formula. No state;
 * any thread.
 */
#ifndef TAPIR_USER_CSV_H
#define TAPIR_USER_CSV_H

#include "base/str.h"

/* Adds a quoted text; one that a spreadsheet would calculate begins with an apostrophe. */
void tapir_csv__add_text(struct tapir_str *out, const char *text, size_t len);

#endif
