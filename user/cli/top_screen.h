/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_screen.h - tapir top on a terminal: what is drawn, and what the keys mean. It is drawn whole
 * each time, by the sequences that every terminal but a dumb one has (ECMA-48). One thread.
 */
#ifndef TAPIR_USER_TOP_SCREEN_H
#define TAPIR_USER_TOP_SCREEN_H

#include <termios.h>

#include "cli/top_table.h"

#define TAPIR_TOP_FILTER_BYTES 256

struct tapir_top_screen {
	struct termios saved;
	bool is_open;
	unsigned rows, columns;
	uint32_t chosen_tgid, chosen_tid; /* of the marked row */
	size_t marked, first;		  /* idx of it, and of the first row on the screen */
	bool shows_stacks, is_of_threads, edits_filter;
	char filter[TAPIR_TOP_FILTER_BYTES];
	char mistake[128]; /* in the filter, which is not used then; "": none */
	char message[128]; /* of the last line, until the next key */
	unsigned escape;   /* bytes of a key's sequence that came */
};

enum tapir_top_action { TAPIR_TOP_NOTHING, TAPIR_TOP_DRAW, TAPIR_TOP_RECORD, TAPIR_TOP_QUIT };

/* Standard output is a terminal that can be drawn on, and standard input one, too. */
bool tapir_top_screen__is_possible(void);
void tapir_top_screen__open(struct tapir_top_screen *s);
void tapir_top_screen__close(struct tapir_top_screen *s); /* twice, too */
void tapir_top_screen__measure(struct tapir_top_screen *s);

/* Takes a byte from the keyboard. view: what is on the screen. */
enum tapir_top_action tapir_top_screen__key(struct tapir_top_screen *s, char byte,
					    const struct tapir_top_view *view);
/* Returns the lines that the stacks of the marked row may have; 0: they are not shown. */
unsigned tapir_top_screen__stack_lines(const struct tapir_top_screen *s);
/* Finds the marked row in the view. NULL: the view is empty. */
const struct tapir_top_row *tapir_top_screen__marked(struct tapir_top_screen *s,
						     const struct tapir_top_view *view);
/* Draws the screen. stacks: lines, "" if they are not shown. */
void tapir_top_screen__draw(struct tapir_top_screen *s, const struct tapir_top_view *view,
			    const char *stacks, struct tapir_str *out);

#endif
