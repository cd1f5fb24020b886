// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the width of the screen, and the colours that it takes: NO_COLOR and a dumb terminal are
 * obeyed, and a pager on the terminal counts as the terminal.
 */
#include "output/render/screen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_paged;

void tapir_screen__set_paged(bool paged)
{
	is_paged = paged;
}

bool tapir_screen__is_tty(FILE *stream)
{
	return isatty(fileno(stream)) == 1;
}

/* Standard output: the terminal itself, or the pager on it. */
static bool is_read_on_terminal(void)
{
	return tapir_screen__is_tty(stdout) || is_paged;
}

const struct tapir_palette tapir_palette_plain = {"", "", "", "", "", ""};

const struct tapir_palette *tapir_screen__palette(FILE *stream)
{
	static const struct tapir_palette colour = {"\033[1m",	"\033[2m",  "\033[31m",
						    "\033[32m", "\033[33m", "\033[0m"};
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	bool is_tty = stream == stdout ? is_read_on_terminal() : tapir_screen__is_tty(stream);

	if (!is_tty || (no_color && *no_color) || (term && !strcmp(term, "dumb")))
		return &tapir_palette_plain;
	return &colour;
}

int tapir_screen__columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return 80;
	return size.ws_col;
}

size_t tapir_screen__fit_columns(void)
{
	struct winsize size;

	if (!is_read_on_terminal())
		return 0;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return (size_t)tapir_screen__columns(); /* the pager's */
}
