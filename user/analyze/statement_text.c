// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One pass: a digit that is not part of a word, or of a parameter ($1), begins a number, which
 * becomes one '?'. The end is cut of what is longer.
 */
#include "analyze/statement_text.h"

#include <ctype.h>
#include <string.h>

#define STATEMENT_BYTES 120u

void tapir_statement_text__add(struct tapir_sv text, struct tapir_str *out)
{
	bool is_word = false;

	while (text.len && strchr("; \t\r\n", text.data[text.len - 1]))
		text.len--;
	for (size_t at = 0, cnt = 0; at < text.len && cnt < STATEMENT_BYTES; cnt++) {
		const char *byte = text.data + at;
		bool is_number = !is_word && isdigit((unsigned char)*byte);

		tapir_str__add_printable(out, is_number ? "?" : byte, 1);
		is_word = isalnum((unsigned char)*byte) || *byte == '_' || *byte == '$';
		do
			at++;
		while (is_number && at < text.len && strchr("0123456789.", text.data[at]));
	}
}
