// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads a file with progress. The clock is read every CHECK_EVERY records, since it costs as much
 * as a record. The signal handler only sets a flag; a second Ctrl-C has the default action.
 */
#include "cli/long_read.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/str.h"
#include "output/render/human_units.h"
#include "output/render/screen.h"
#include "cli/terminal.h"

#define CHECK_EVERY 4096 /* records */
#define FIRST_NS    TAPIR_NS_PER_SEC
#define AGAIN_NS    (200 * TAPIR_NS_PER_MS)

static volatile sig_atomic_t was_interrupted;

static void on_signal(int number)
{
	(void)number;
	was_interrupted = 1;
	tapir_terminal__stop_waiting();
}

void tapir_long_read__start(struct tapir_long_read *read, struct tapir_reader *reader,
			    const struct tapir_cli *cli)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

	*read = (struct tapir_long_read){.reader = reader,
					 .is_shown = reader && !cli->is_quiet &&
						     tapir_screen__is_tty(stderr),
					 .began_ns = tapir_clock__now_ns()};
	was_interrupted = 0;
	tapir_terminal__wait_again();
	signal(SIGXFSZ, SIG_IGN); /* a limit is an error of the write */
	sigaction(SIGINT, &action, &read->old_int);
	sigaction(SIGTERM, &action, &read->old_term);
	read->has_handlers = true;
}

static void clear_line(struct tapir_long_read *read)
{
	if (read->has_line)
		(void)tapir_file__write_all(STDERR_FILENO, "\r\033[K", 4);
	read->has_line = false;
}

void tapir_long_read__stop(struct tapir_long_read *read)
{
	clear_line(read);
	if (!read->has_handlers)
		return;
	sigaction(SIGINT, &read->old_int, NULL);
	sigaction(SIGTERM, &read->old_term, NULL);
	read->has_handlers = false;
}

static void show_progress(struct tapir_long_read *read)
{
	const struct tapir_reader_stats *stats = tapir_reader__stats(read->reader);
	uint64_t now_ns = tapir_clock__now_ns();
	struct tapir_str line = {};

	if (now_ns - read->began_ns < FIRST_NS || now_ns - read->shown_ns < AGAIN_NS)
		return;
	tapir_str__addf(&line, "\r\033[K  %.0f %%   ",
			stats->file_bytes
				? 100.0 * (double)stats->read_bytes / (double)stats->file_bytes
				: 0.0);
	tapir_human__add_count(&line, read->records);
	tapir_str__adds(&line, " records");
	if (line.data)
		(void)tapir_file__write_all(STDERR_FILENO, line.data, line.len);
	tapir_str__fini(&line);
	read->has_line = true;
	read->shown_ns = now_ns;
}

bool tapir_long_read__was_interrupted(void)
{
	return was_interrupted;
}

int tapir_long_read__check(struct tapir_long_read *read)
{
	if (was_interrupted) {
		clear_line(read);
		return tapir_diag__fail(-EINTR, "interrupted");
	}
	if (read->is_shown)
		show_progress(read);
	return 0;
}

void tapir_long_read__name_output(const char *path, int mark, int err)
{
	if (err != -EINTR)
		return;
	tapir_diag__rewind(mark);
	tapir_diag__add("interrupted: %s was not written", path);
}

int tapir_long_read__next(struct tapir_long_read *read, const struct tapir_rec **rec)
{
	int err = read->records % CHECK_EVERY ? 0 : tapir_long_read__check(read);

	read->records++;
	return err ? err : tapir_reader__next(read->reader, rec);
}
