/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * screen.h - what a table needs to know of the terminal it is printed on: width and colours.
 * Colour only on a terminal, and never when NO_COLOR is set (no-color.org). One thread.
 */
#ifndef TAPIR_USER_SCREEN_H
#define TAPIR_USER_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Escape sequences, or empty strings. */
struct tapir_palette {
	const char *bold, *dim, *red, *green, *yellow, *off;
};

const struct tapir_palette *tapir_screen__palette(FILE *stream); /* borrowed, static */
extern const struct tapir_palette tapir_palette_plain;		 /* for what no terminal shows */
/* Returns true if the stream is a terminal. */
bool tapir_screen__is_tty(FILE *stream);
int tapir_screen__columns(void); /* of stderr's terminal; 80 if there is none */
/*
 * Returns the greatest width of a table on standard output; 0: no limit, since it is not a
 * terminal.
 */
size_t tapir_screen__fit_columns(void);

/* Notes that standard output goes to a pager, which shows it on the terminal. */
void tapir_screen__set_paged(bool paged);

#endif
