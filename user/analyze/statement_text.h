/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * statement_text.h - statements of databases as rows of tables have them: those that differ in
 * numbers alone are one. Any thread.
 */
#ifndef TAPIR_USER_STATEMENT_TEXT_H
#define TAPIR_USER_STATEMENT_TEXT_H

#include "base/str.h"
#include "trace/record.h"

/* Appends "where id = ?". Cut where it is long. */
void tapir_statement_text__add(struct tapir_sv text, struct tapir_str *out);

#endif
