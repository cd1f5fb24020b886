// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks of text, and paragraphs wrapped into lines. Columns are bytes, because help is ASCII; what
 * is in brackets stays on one line.
 */
#include "output/render/help_text.h"

#include <string.h>

bool tapir_text__next_block(const char **text, struct tapir_text_block *block)
{
	const char *at = *text + strspn(*text, "\n"), *end;

	if (!*at)
		return false;
	end = strstr(at, "\n\n");
	if (!end)
		end = at + strlen(at);
	*text = end;
	while (end > at && end[-1] == '\n')
		end--;
	block->text = (struct tapir_sv){at, (size_t)(end - at)};
	block->is_preformatted = *at == ' ';
	return true;
}

/* Up to the next space; [what is in brackets] stays on one line. */
static size_t word_len(const char *at, const char *end)
{
	size_t len = 0;
	int depth = 0;

	for (; at + len < end && (depth > 0 || (at[len] != ' ' && at[len] != '\n')); len++)
		depth += (at[len] == '[') - (at[len] == ']');
	return len;
}

void tapir_text__add_wrapped(struct tapir_str *out, size_t line_from, struct tapir_sv text,
			     size_t indent)
{
	const char *at = text.data, *end = text.data + text.len;
	bool line_is_empty = true;

	while (at < end) {
		size_t len = word_len(at, end);

		if (!line_is_empty && out->len - line_from + 1 + len > TAPIR_HELP_COLUMNS) {
			tapir_str__addc(out, '\n');
			line_from = out->len;
			tapir_str__pad(out, line_from, indent);
			line_is_empty = true;
		}
		if (len) {
			if (!line_is_empty)
				tapir_str__addc(out, ' ');
			tapir_str__add(out, at, len);
			line_is_empty = false;
		}
		at += len + 1;
	}
	tapir_str__addc(out, '\n');
}

#define FIT_INDENT 4 /* of what continues a sentence */

/* The number of columns on the terminal: without colours, and UTF-8 as characters. */
static size_t columns_of(const char *at, const char *end)
{
	size_t columns = 0;

	for (; at < end; at++) {
		if (*at == '\033')
			while (at + 1 < end && *at != 'm')
				at++;
		else
			columns += ((unsigned char)*at & 0xc0) != 0x80;
	}
	return columns;
}

static bool is_row(const char *line, size_t len)
{
	return *line == ' ' || memmem(line, len, "  ", 2);
}

static void add_fitted(struct tapir_str *out, const char *at, const char *end, size_t columns)
{
	size_t left = columns;

	while (at < end) {
		const char *blank = memchr(at, ' ', (size_t)(end - at)),
			   *stop = blank ? blank : end;
		size_t width = columns_of(at, stop);

		if (left < columns && width + 1 > left) {
			tapir_str__adds(out, "\n    ");
			left = columns - FIT_INDENT;
		} else if (left < columns) {
			tapir_str__addc(out, ' ');
			left--;
		}
		tapir_str__add(out, at, (size_t)(stop - at));
		left = width < left ? left - width : 0;
		at = stop + (stop < end);
	}
}

void tapir_text__fit(struct tapir_str *text, size_t columns)
{
	const char *line = text->data, *end = line + text->len;
	struct tapir_str out = {};

	if (columns <= 2 * FIT_INDENT || !text->len)
		return;
	while (line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t len = (size_t)((stop ? stop : end) - line);

		if (columns_of(line, line + len) <= columns || is_row(line, len))
			tapir_str__add(&out, line, len);
		else
			add_fitted(&out, line, line + len, columns);
		if (stop)
			tapir_str__addc(&out, '\n');
		line += len + 1;
	}
	if (!out.failed) {
		tapir_str__clear(text);
		tapir_str__add(text, out.data, out.len);
	}
	tapir_str__fini(&out);
}

void tapir_text__add_blocks(struct tapir_str *out, const char *text)
{
	struct tapir_text_block block;

	for (bool is_first = true; tapir_text__next_block(&text, &block); is_first = false) {
		if (!is_first)
			tapir_str__addc(out, '\n');
		if (!block.is_preformatted) {
			tapir_text__add_wrapped(out, out->len, block.text, 0);
			continue;
		}
		tapir_str__add(out, block.text.data, block.text.len);
		tapir_str__addc(out, '\n');
	}
}
