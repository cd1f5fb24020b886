/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reader_words.h - the words of where a message is read. Messages name options of the command line;
 * who reads them in an answer of the agent or of `tapir mcp` has parameters instead, which have the
 * names of the options. Only text of tapir itself is given here, never what a traced process says.
 *
 * Set once, before threads; read by any.
 */
#ifndef TAPIR_USER_READER_WORDS_H
#define TAPIR_USER_READER_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* In the environment of a child of the agent or of `tapir mcp`: its text is read there. */
#define TAPIR_READER_WORDS_ENV	 "TAPIR_READER"
#define TAPIR_READER_WORDS_BYTES 512

void tapir_reader_words__use_parameters(void);
/* Returns true where parameters are meant, no options. */
bool tapir_reader_words__are_parameters(void);
/* The name of an option, "--where", or of its parameter; borrowed from the text. */
const char *tapir_reader_words__of_option(const char *option);

/*
 * The text, or format, in the words of its reader: text itself, or out, which has
 * TAPIR_READER_WORDS_BYTES: "`tapir record --profile gc` records them" becomes "`profile=gc`
 * records them". Conversions of a format stay. Text that does not fit stays as it is.
 */
const char *tapir_reader_words__of(const char *text, char *out);

#endif
