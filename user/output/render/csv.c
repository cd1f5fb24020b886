// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CSV as in RFC 4180. A text that begins as a formula of a spreadsheet ('=', '+', '-', '@') gets a
 * quote in front: it may come from a traced program.
 */
#include "output/render/csv.h"

#include <string.h>

void tapir_csv__add_text(struct tapir_str *out, const char *text, size_t len)
{
	struct tapir_str printable = {};

	tapir_str__addc(out, '"');
	if (len && strchr("=+-@\t\r\n", *text))
		tapir_str__addc(out, '\'');
	tapir_str__add_printable(&printable, text, len);
	for (size_t i = 0; i < printable.len; i++) {
		if (printable.data[i] == '"')
			tapir_str__addc(out, '"');
		tapir_str__addc(out, printable.data[i]);
	}
	tapir_str__addc(out, '"');
	out->failed |= printable.failed;
	tapir_str__fini(&printable);
}
