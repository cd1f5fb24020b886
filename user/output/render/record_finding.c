// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A failure to read is not an error here: the recording is written, and `tapir report` reports the
 * reason.
 */
#include "output/render/record_finding.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "output/render/remedies.h"
#include "output/render/report_read.h"
#include "decode/probe_name.h"

#define MAX_BYTES   (256ll << 20)
#define MAX_CPU_NS  (2 * TAPIR_NS_PER_SEC)
#define MAX_WALL_NS (10 * TAPIR_NS_PER_SEC) /* where other programs have the CPUs */
#define PROBE_NS    (100 * TAPIR_NS_PER_MS) /* before that, the speed is not known */

static volatile sig_atomic_t was_interrupted;

static void on_signal(int number)
{
	(void)number;
	was_interrupted = 1;
}

struct budget {
	const struct tapir_reader *reader;
	uint64_t began_ns, began_cpu_ns;
};

/*
 * Bounds the time until the prompt is back: gives up as soon as it is certain that the file takes
 * too long, not when the time is up. Its measure is CPU time, so that a busy machine says the same
 * as an idle one.
 */
static bool is_within_budget(void *ctx)
{
	const struct budget *b = ctx;
	const struct tapir_reader_stats *stats = tapir_reader__stats(b->reader);
	uint64_t took_ns = tapir_clock__cpu_ns() - b->began_cpu_ns;

	if (was_interrupted || took_ns > MAX_CPU_NS ||
	    tapir_clock__now_ns() - b->began_ns > MAX_WALL_NS)
		return false;
	return took_ns < PROBE_NS || !stats->read_bytes ||
	       (double)took_ns / (double)stats->read_bytes * (double)stats->file_bytes < MAX_CPU_NS;
}

/* For a file that is written: its content must not depend on how fast this machine is. */
static bool is_not_interrupted(void *ctx)
{
	(void)ctx;
	return !was_interrupted;
}

/* Nothing else can be read a second time. */
static bool is_regular(const char *path, off_t *bytes)
{
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	*bytes = st.st_size;
	return true;
}

struct said {
	struct tapir_str headline;
	struct tapir_str also;	   /* lines of the next findings */
	struct tapir_str remedies; /* lines: how to get missing callers and names */
	struct tapir_str screen;   /* for a terminal, instead of all these */
};

static void said__fini(struct said *said)
{
	tapir_str__fini(&said->headline);
	tapir_str__fini(&said->also);
	tapir_str__fini(&said->remedies);
	tapir_str__fini(&said->screen);
}

/* *has_stacks: a flame graph can be drawn. -errno:
 * there is none. */
static int read_headline(const char *path, bool (*should_continue)(void *ctx), struct said *said,
			 bool *has_stacks)
{
	struct budget budget = {.began_ns = tapir_clock__now_ns(),
				.began_cpu_ns = tapir_clock__cpu_ns()};
	struct tapir_pids none = {};
	struct tapir_report_request rq = {.path = path,
					  .pids = &none,
					  .tids = &none,
					  .should_continue = should_continue,
					  .ctx = &budget};
	struct tapir_report report = {};
	struct tapir_pairs pairs = {};
	struct tapir_reader *reader = NULL;
	int err = tapir_reader__open(path, &reader);

	if (err)
		return err;
	budget.reader = reader;
	tapir_reader__complete_probes(reader, tapir_probe_name__complete);
	err = tapir_report__read(&report, reader, &pairs, &rq);
	if (!err) {
		tapir_report__add_headline(&report.view, &said->headline);
		tapir_report__add_also(&report.view, &said->also);
		tapir_remedies__add_callers(&report.summary.ends, &said->remedies);
		tapir_report__add_names_missing(&report.view, &said->remedies);
		/* Written while the report is here: all texts of a finding are borrowed from it. */
		tapir_report__write_first_screen(&report.view, tapir_screen__palette(stderr),
						 (size_t)tapir_screen__columns(), &said->screen);
		*has_stacks = report.summary.stacks.cnt > 0;
		err = said->headline.failed || said->also.failed || said->remedies.failed ||
				      said->screen.failed
			      ? -ENOMEM
			      : 0;
	}
	tapir_report__fini(&report);
	tapir_pairs__fini(&pairs);
	tapir_reader__close(reader);
	return err;
}

/* "slow.svg" of "slow.tapir". */
static void add_svg_name(const char *path, struct tapir_str *out)
{
	size_t len = strlen(path), end = sizeof(".tapir") - 1;

	if (len > end && !strcmp(path + len - end, ".tapir"))
		len -= end;
	tapir_str__add(out, path, len);
	tapir_str__adds(out, ".svg");
}

/* has_screen: it names what comes next, other than a picture. */
static void print_next(const char *path, bool has_screen, bool has_stacks)
{
	struct tapir_str svg = {};

	if (!has_screen)
		tapir_info("next: tapir report %s", path);
	add_svg_name(path, &svg);
	if (has_stacks && svg.data)
		tapir_info("%s tapir flamegraph %s -o %s", has_screen ? "next:" : "     ", path,
			   svg.data);
	tapir_str__fini(&svg);
}

/* Each as a message. */
static void print_lines(char *lines)
{
	char *end;

	for (; lines && *lines; lines = end + 1) {
		end = lines + strcspn(lines, "\n");
		if (!*end)
			return;
		*end = 0;
		tapir_info("%s", lines);
	}
}

/* False: they are left out. */
static bool read_finding(const char *path, off_t bytes, bool (*should_continue)(void *ctx),
			 struct said *said, bool *has_stacks)
{
	struct sigaction action = {.sa_handler = on_signal}, old_int, old_term;
	int diag_cnt = tapir_diag__cnt();
	bool is_read;

	was_interrupted = 0;
	sigaction(SIGINT, &action, &old_int);
	sigaction(SIGTERM, &action, &old_term);
	is_read = bytes <= MAX_BYTES && !read_headline(path, should_continue, said, has_stacks);
	tapir_diag__rewind(diag_cnt);
	sigaction(SIGINT, &old_int, NULL);
	sigaction(SIGTERM, &old_term, NULL);
	return is_read;
}

void tapir_record_finding__print(const char *path, bool has_samples)
{
	bool has_stacks = has_samples, is_read, has_screen;
	struct said said = {};
	off_t bytes;

	if (!is_regular(path, &bytes))
		return;
	is_read = read_finding(path, bytes, is_within_budget, &said, &has_stacks);
	has_screen = is_read && tapir_screen__is_tty(stderr);
	if (has_screen) {
		(void)tapir_file__write_all(STDERR_FILENO, said.screen.data, said.screen.len);
	} else if (is_read) {
		tapir_info("%s", said.headline.data);
		print_lines(said.also.data);
		print_lines(said.remedies.data);
	}
	print_next(path, has_screen, has_stacks);
	said__fini(&said);
}

int tapir_record_finding__add(const char *path, bool with_also, struct tapir_str *out)
{
	struct said said = {};
	bool has_stacks;
	off_t bytes;

	was_interrupted = 0;
	if (is_regular(path, &bytes) &&
	    read_finding(path, bytes, is_not_interrupted, &said, &has_stacks)) {
		tapir_str__add(out, said.headline.data, said.headline.len);
		tapir_str__addc(out, '\n');
		if (with_also)
			tapir_str__add(out, said.also.data, said.also.len);
		tapir_str__add(out, said.remedies.data, said.remedies.len);
	}
	said__fini(&said);
	return was_interrupted ? tapir_diag__fail(-EINTR, "interrupted") : 0;
}
