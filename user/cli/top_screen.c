// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The second screen of the terminal is used, so that the first is as it was afterwards. The marked
 * row is that of a process, wherever it moves to.
 */
#include "cli/top_screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/terminal.h"

#define ENTER_SCREEN "\033[?1049h\033[?25l\033[2J"
#define LEAVE_SCREEN "\033[?25h\033[?1049l"
#define KEYS	     "Enter stacks  / filter  t threads  S record  q quit"
#define MIN_ROWS     4u

bool tapir_top_screen__is_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) == 1 && isatty(STDIN_FILENO) == 1 && term && *term &&
	       strcmp(term, "dumb") != 0;
}

void tapir_top_screen__measure(struct tapir_top_screen *s)
{
	struct winsize size = {};

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	s->rows = size.ws_row < MIN_ROWS ? size.ws_row ? MIN_ROWS : 24 : size.ws_row;
	s->columns = size.ws_col ? size.ws_col : 80;
}

/* Ctrl-C stays a signal; Ctrl-Z would leave the terminal as it is. */
void tapir_top_screen__open(struct tapir_top_screen *s)
{
	struct termios raw;

	tapir_top_screen__measure(s);
	if (tcgetattr(STDIN_FILENO, &s->saved))
		return;
	raw = s->saved;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VSUSP] = _POSIX_VDISABLE;
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	(void)tapir_terminal__write(STDOUT_FILENO, ENTER_SCREEN, strlen(ENTER_SCREEN));
	s->is_open = true;
}

void tapir_top_screen__close(struct tapir_top_screen *s)
{
	if (!s->is_open)
		return;
	s->is_open = false;
	(void)tapir_terminal__write(STDOUT_FILENO, LEAVE_SCREEN, strlen(LEAVE_SCREEN));
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &s->saved);
}

/* ---- keys ------------------------------------------------------------------------------------- */

static enum tapir_top_action move(struct tapir_top_screen *s, const struct tapir_top_view *view,
				  int by)
{
	size_t cnt = view->chosen.cnt;

	if (by < 0)
		s->marked -= s->marked < (size_t)-by ? s->marked : (size_t)-by;
	else
		s->marked += (size_t)by;
	if (s->marked >= cnt)
		s->marked = cnt ? cnt - 1 : 0;
	if (cnt) {
		s->chosen_tgid = view->chosen.data[s->marked]->tgid;
		s->chosen_tid = view->chosen.data[s->marked]->tid;
	}
	return TAPIR_TOP_DRAW;
}

/* Up is ESC [ A or ESC O A, down has a B; 5 and 6 are a page up and down, and '~' follows. */
static enum tapir_top_action take_sequence(struct tapir_top_screen *s, char byte,
					   const struct tapir_top_view *view)
{
	if (s->escape == 1 && (byte == '[' || byte == 'O')) {
		s->escape = 2;
		return TAPIR_TOP_NOTHING;
	}
	s->escape = 0;
	switch (byte) {
	case 'A':
		return move(s, view, -1);
	case 'B':
		return move(s, view, 1);
	case '5':
		return move(s, view, -(int)(s->rows / 2));
	case '6':
		return move(s, view, (int)(s->rows / 2));
	default:
		return TAPIR_TOP_NOTHING;
	}
}

static enum tapir_top_action edit(struct tapir_top_screen *s, char byte)
{
	size_t len = strlen(s->filter);

	if (byte == '\n' || byte == '\r')
		s->edits_filter = false;
	else if ((byte == 127 || byte == '\b') && len)
		s->filter[len - 1] = '\0';
	else if (byte == '\033') {
		s->edits_filter = false;
		s->filter[0] = '\0';
	} else if ((unsigned char)byte >= ' ' && byte != 127 && len + 1 < sizeof(s->filter)) {
		s->filter[len] = byte;
		s->filter[len + 1] = '\0';
	}
	return TAPIR_TOP_DRAW;
}

enum tapir_top_action tapir_top_screen__key(struct tapir_top_screen *s, char byte,
					    const struct tapir_top_view *view)
{
	s->message[0] = '\0';
	if (s->edits_filter)
		return edit(s, byte);
	if (s->escape)
		return take_sequence(s, byte, view);
	switch (byte) {
	case 'q':
	case '\004': /* Ctrl-D */
		return TAPIR_TOP_QUIT;
	case '\033':
		s->escape = 1;
		return TAPIR_TOP_NOTHING;
	case 'k':
		return move(s, view, -1);
	case 'j':
		return move(s, view, 1);
	case '\n':
	case '\r':
		s->shows_stacks = !s->shows_stacks;
		return TAPIR_TOP_DRAW;
	case 't':
		s->is_of_threads = !s->is_of_threads;
		s->marked = 0;
		return TAPIR_TOP_DRAW;
	case '/':
		s->edits_filter = true;
		return TAPIR_TOP_DRAW;
	case 'S':
		return TAPIR_TOP_RECORD;
	default:
		return TAPIR_TOP_NOTHING;
	}
}

const struct tapir_top_row *tapir_top_screen__marked(struct tapir_top_screen *s,
						     const struct tapir_top_view *view)
{
	const struct tapir_top_row *row;

	for (size_t i = 0; i < view->chosen.cnt; i++) {
		row = view->chosen.data[i];
		if (row->tgid == s->chosen_tgid && row->tid == s->chosen_tid)
			s->marked = i;
	}
	if (s->marked >= view->chosen.cnt)
		s->marked = view->chosen.cnt ? view->chosen.cnt - 1 : 0;
	return view->chosen.cnt ? view->chosen.data[s->marked] : NULL;
}

/* ---- drawing ---------------------------------------------------------------------------------- */

unsigned tapir_top_screen__stack_lines(const struct tapir_top_screen *s)
{
	return s->shows_stacks && s->rows > 2 * MIN_ROWS ? (s->rows - 3) / 2 : 0;
}

static void end_line(struct tapir_str *out)
{
	tapir_str__adds(out, "\033[m\033[K\r\n");
}

static void add_shortened_line(const struct tapir_top_screen *s, const char *text, size_t len,
			       struct tapir_str *out)
{
	tapir_str__add(out, text, tapir_utf8__fitting(text, len, s->columns));
}

static void draw_rows(struct tapir_top_screen *s, const struct tapir_top_view *view, size_t room,
		      struct tapir_str *out)
{
	if (s->marked < s->first)
		s->first = s->marked;
	if (s->marked >= s->first + room)
		s->first = s->marked - room + 1;
	for (size_t i = s->first; i < s->first + room; i++) {
		if (i < view->chosen.cnt) {
			tapir_str__adds(out, i == s->marked ? "\033[7m" : "");
			tapir_top_view__add_row(view, view->chosen.data[i], out);
		}
		end_line(out);
	}
}

static void draw_stacks(const struct tapir_top_screen *s, const char *stacks, unsigned lines,
			struct tapir_str *out)
{
	for (unsigned i = 0; i < lines; i++) {
		size_t len = strcspn(stacks, "\n");

		add_shortened_line(s, stacks, len, out);
		end_line(out);
		stacks += len + (stacks[len] == '\n');
	}
}

static void draw_last_line(const struct tapir_top_screen *s, struct tapir_str *out)
{
	struct tapir_str line = {};

	if (s->edits_filter || (*s->filter && !*s->message)) {
		tapir_str__adds(&line, s->edits_filter ? "/" : "only ");
		tapir_str__add_printable(&line, s->filter, strlen(s->filter));
		tapir_str__adds(&line, s->edits_filter ? "_  " : "  ");
		tapir_str__adds(&line, *s->mistake	 ? s->mistake
				       : s->edits_filter ? "Enter: keep, Esc: all"
							 : "");
		tapir_str__adds(&line, *s->mistake || s->edits_filter ? "  " : "");
	}
	if (!s->edits_filter)
		tapir_str__adds(&line, *s->message ? s->message : KEYS);
	tapir_str__adds(out, "\033[2m");
	if (line.data)
		add_shortened_line(s, line.data, line.len, out);
	tapir_str__adds(out, "\033[m\033[K\033[J");
	tapir_str__fini(&line);
}

void tapir_top_screen__draw(struct tapir_top_screen *s, const struct tapir_top_view *view,
			    const char *stacks, struct tapir_str *out)
{
	unsigned stack_lines = tapir_top_screen__stack_lines(s);

	tapir_str__adds(out, "\033[H");
	tapir_top_view__add_head(view, out);
	end_line(out);
	tapir_str__adds(out, "\033[1m");
	tapir_top_view__add_titles(view, out);
	end_line(out);
	draw_rows(s, view, s->rows - 3 - stack_lines, out);
	draw_stacks(s, stacks, stack_lines, out);
	draw_last_line(s, out);
}
