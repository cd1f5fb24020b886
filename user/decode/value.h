/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * value.h - a decoded value as text for a person and as JSON for a program.
 *
 * Text shows an absent value as a marker, never as "": <null>, <fault>, <missing>, <unreadable:
 * why>; a cut string ends with an ellipsis after its quote. JSON has null in these places and the
 * exact bytes of a cut string; tapir_value__mark names the cause. No state; any thread. Text is
 * safe for a terminal.
 */
#ifndef TAPIR_USER_VALUE_H
#define TAPIR_USER_VALUE_H

#include "base/str.h"
#include "decode/fields.h"

/* Appends the name of a field, or "argN" if it has none. */
void tapir_value__add_name(struct tapir_str *out, struct tapir_sv name, unsigned idx);
/* Append the value as text, and as JSON. */
void tapir_value__add_text(struct tapir_str *out, const struct tapir_value *value);
void tapir_value__add_json(struct tapir_str *out, const struct tapir_value *value);

/*
 * NULL for a complete value; else "cut", "null", "fault", "missing", "nan", "infinite", or the
 * reason why it is unreadable. Static.
 */
const char *tapir_value__mark(const struct tapir_value *value);

#endif
