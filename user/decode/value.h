/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * value.h - a decoded value as text for a person and as JSON for a program.
 *
 * Text says what is not there by a marker, never by "": <null>, <fault>, <missing>,
 * <unreadable: why>; a cut string ends with an ellipsis behind its quote. JSON has null in
 * these places and the exact bytes of a cut string; tapir_value__mark says which it is.
 */
#ifndef TAPIR_USER_VALUE_H
#define TAPIR_USER_VALUE_H

#include "base/str.h"
#include "decode/fields.h"

/* "name" or "argN". */
void tapir_value__add_name(struct tapir_str *out, struct tapir_sv name, unsigned idx);
void tapir_value__add_text(struct tapir_str *out, const struct tapir_value *value);
void tapir_value__add_json(struct tapir_str *out, const struct tapir_value *value);

/*
 * NULL for a value that is whole; else "cut", "null", "fault", "missing", "nan", "infinite",
 * or why it is unreadable. Static.
 */
const char *tapir_value__mark(const struct tapir_value *value);

#endif
