/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * help_text.h - help texts as blocks: a paragraph, which is wrapped, or preformatted lines, which
 * begin with a space. Blank lines separate blocks. No state; any thread.
 */
#ifndef TAPIR_USER_HELP_TEXT_H
#define TAPIR_USER_HELP_TEXT_H

#include <string.h>

#include "base/str.h"
#include "trace/record.h"

#define TAPIR_HELP_COLUMNS 80

struct tapir_text_block {
	struct tapir_sv text; /* without the newline at its end */
	bool is_preformatted;
};

static inline struct tapir_sv tapir_text__sv(const char *text)
{
	return (struct tapir_sv){text, strlen(text)};
}

/* The next block of *text, which is advanced. False: there is none. */
bool tapir_text__next_block(const char **text, struct tapir_text_block *block);

/*
 * Adds text wrapped at TAPIR_HELP_COLUMNS: the first line continues the line that began at
 * line_from, the others are indented by indent columns. Ends with a newline.
 */
void tapir_text__add_wrapped(struct tapir_str *out, size_t line_from, struct tapir_sv text,
			     size_t indent);

/*
 * Wraps each line that has more columns: sentences, not rows of tables, which fit by themselves and
 * have gaps of two blanks. columns 0: nothing.
 */
void tapir_text__fit(struct tapir_str *text, size_t columns);

/* All blocks of text, a blank line between two. */
void tapir_text__add_blocks(struct tapir_str *out, const char *text);

#endif
