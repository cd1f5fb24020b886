// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CSV as in RFC 4180. A text that begins as a formula of a spreadsheet ('=', '+', '-', '@') gets a
 * quote in front: it may come from a traced program.
 */
#include "output/render/csv.h"

#include <string.h>

/* Doubles the quotes from a place on, from the last one so that each byte is moved once. */
static void double_quotes(struct tapir_str *out, size_t from)
{
	size_t cnt = 0, to;

	if (!memchr(out->data + from, '"', out->len - from))
		return;
	for (size_t i = from; i < out->len; i++)
		cnt += out->data[i] == '"';
	if (!tapir_str__reserve(out, cnt))
		return;
	to = out->len + cnt;
	out->data[to] = '\0';
	for (size_t at = out->len; at-- > from;) {
		out->data[--to] = out->data[at];
		if (out->data[at] == '"')
			out->data[--to] = '"';
	}
	out->len += cnt;
}

void tapir_csv__add_text(struct tapir_str *out, const char *text, size_t len)
{
	size_t from;

	tapir_str__addc(out, '"');
	if (len && strchr("=+-@\t\r\n", *text))
		tapir_str__addc(out, '\'');
	from = out->len;
	tapir_str__add_printable(out, text, len);
	if (!out->failed)
		double_quotes(out, from);
	tapir_str__addc(out, '"');
}
