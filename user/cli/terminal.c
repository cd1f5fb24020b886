// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes to the terminal. Text of traced processes is made printable on its way; a line is one
 * write(2), so that lines of several threads and processes do not mix.
 */
#include "output/render/help_text.h"
#include "base/exhaustion.h"
#include "output/render/screen.h"
#include "cli/terminal.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"

#define MUCH_BYTES (256u * 1024u)

/* One write a line, so that lines of several threads do not mix. */
static void write_line(const char *colour, const char *prefix, const char *line)
{
	const struct tapir_palette *palette = tapir_screen__palette(stderr);
	struct tapir_str text = {};

	tapir_str__addf(&text, "%s%s%s", colour, prefix, *colour ? palette->off : "");
	tapir_str__add_printable(&text, line, strlen(line));
	tapir_str__addc(&text, '\n');
	if (tapir_screen__is_tty(stderr))
		tapir_text__fit(&text, (size_t)tapir_screen__columns());
	if (text.data)
		(void)tapir_file__write_all(STDERR_FILENO, text.data, text.len);
	tapir_str__fini(&text);
}

static void log_line(enum tapir_log_level level, const char *line)
{
	const struct tapir_palette *palette = tapir_screen__palette(stderr);

	if (level == TAPIR_LOG_WARN)
		write_line(palette->yellow, "tapir: warning: ", line);
	else
		write_line(palette->dim, "tapir: ", line);
}

void tapir_terminal__start_log(const struct tapir_cli *cli)
{
	if (cli->is_quiet)
		tapir_log__set(NULL, TAPIR_LOG_WARN);
	else
		tapir_log__set(log_line, cli->is_verbose ? TAPIR_LOG_DEBUG : TAPIR_LOG_INFO);
}

static void print_exhaustion(const char *color)
{
	struct tapir_exhaustions all = tapir_exhaustion__all();
	char line[160];

	if (all.memory_cnt) {
		snprintf(line, sizeof(line),
			 "out of memory: %llu allocations failed, the result may be incomplete",
			 (unsigned long long)all.memory_cnt);
		write_line(color, "tapir: ", line);
	}
	if (all.fd_cnt) {
		snprintf(line, sizeof(line),
			 "too many open files: %llu could not be opened, the result may be "
			 "incomplete (raise `ulimit -n`)",
			 (unsigned long long)all.fd_cnt);
		write_line(color, "tapir: ", line);
	}
}

void tapir_terminal__print_diag(int err)
{
	const char *red = tapir_screen__palette(stderr)->red;

	print_exhaustion(red);
	if (err >= 0)
		return;
	for (int i = 0; i < tapir_diag__cnt(); i++)
		/* An expression, its caret and what exists belong to the line before. */
		write_line(red,
			   tapir_diag__line(i)[0] == ' ' ? "" : "tapir: ", tapir_diag__line(i));
	if (!tapir_diag__cnt())
		write_line(red, "tapir: failed: ", tapir_errno__text(err));
	tapir_debug("errno: %s", tapir_errno__name(err));
	if (err == -EMFILE || err == -ENFILE)
		write_line(
			red, "tapir: ",
			err == -EMFILE
				? "no file descriptor is left: raise the hard limit on open files "
				  "(ulimit -Hn, or LimitNOFILE= of a service)"
				: "no file descriptor is left on this machine: raise sysctl fs.file-max");
}

static atomic_uint_least64_t stop_ns; /* the process has one terminal, and is asked once */

void tapir_terminal__stop_waiting(void)
{
	atomic_store(&stop_ns, tapir_clock__now_ns());
}

void tapir_terminal__wait_again(void)
{
	atomic_store(&stop_ns, 0);
}

int tapir_terminal__write(int fd, const void *data, size_t len)
{
	return tapir_file__write_until(fd, data, len, &stop_ns);
}

int tapir_terminal__flush(struct tapir_str *out)
{
	int err;

	if (out->failed)
		return tapir_diag__fail(-ENOMEM, "out of memory for the output");
	err = out->len ? tapir_terminal__write(STDOUT_FILENO, out->data, out->len) : 0;
	tapir_str__clear(out);
	if (err)
		return tapir_diag__fail(
			err, "cannot write to standard output: %s%s", tapir_errno__text(err),
			err == -ETIMEDOUT ? ": its reader stalled, and the rest was "
					    "dropped"
					  : "");
	return 0;
}

int tapir_terminal__flush_much(struct tapir_str *out)
{
	return out->len >= MUCH_BYTES || out->failed ? tapir_terminal__flush(out) : 0;
}
