// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --symbols, --lines, --inline, and the line that shows how far a download is. DEBUGINFOD_URLS
 * alone fetches nothing: a report must not ask the network because a distribution sets a variable.
 */
#include "cli/symbol_options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/long_read.h"
#include "base/foreign/helper.h"
#include "output/render/human_units.h"
#include "output/render/screen.h"
#include "symbol/source_lines.h"

#define SHOW_AFTER_NS (300 * TAPIR_NS_PER_MS)

struct tapir_symbol_use {
	struct tapir_symbol_files *files;
	struct tapir_offline_symbols *names; /* NULL: none were requested */
	struct tapir_source_lines *lines;    /* NULL: none were requested */
	bool is_shown, has_line;
	uint64_t began_ns; /* of the file that is fetched; 0: none */
};

/* ---- progress ---------------------------------------------------------------------------- */

static void show_progress(struct tapir_symbol_use *use, const char *file, uint64_t done,
			  uint64_t total)
{
	struct tapir_str line = {};

	tapir_str__addf(&line, "\r\033[K  %s: ", file);
	tapir_human__add_bytes(&line, done);
	if (total) {
		tapir_str__adds(&line, " of ");
		tapir_human__add_bytes(&line, total);
	}
	if (line.data)
		(void)tapir_file__write_all(STDERR_FILENO, line.data, line.len);
	tapir_str__fini(&line);
	use->has_line = true;
}

static bool should_continue_fetch(void *ctx, const char *file, uint64_t done, uint64_t total)
{
	struct tapir_symbol_use *use = ctx;
	uint64_t now_ns = tapir_clock__now_ns();

	if (!use->began_ns)
		use->began_ns = now_ns;
	if (use->is_shown && now_ns - use->began_ns >= SHOW_AFTER_NS)
		show_progress(use, file, done, total);
	return !tapir_long_read__was_interrupted();
}

static void ended(void *ctx)
{
	struct tapir_symbol_use *use = ctx;

	if (use->has_line)
		(void)tapir_file__write_all(STDERR_FILENO, "\r\033[K", 4);
	use->has_line = false;
	use->began_ns = 0;
}

/* ---- sources ----------------------------------------------------------------------------- */

/* DEBUGINFOD_URLS: separated by spaces. Returns how many, or an error. */
static int add_of_variable(struct tapir_symbol_files *files)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	tapir_autofree char *copy = strdup(urls ? urls : "");
	char *rest = NULL;
	int err = copy ? 0 : -ENOMEM, cnt = 0;

	for (char *url = copy ? strtok_r(copy, " \t\n", &rest) : NULL; url && !err;
	     url = strtok_r(NULL, " \t\n", &rest)) {
		if (!tapir_symbol_source__is_url(url))
			continue; /* debuginfod's clients also take "ima:" and file:// */
		cnt++;
		err = tapir_symbol_files__add(files, url);
	}
	return err ? err : cnt;
}

static int add_default(const struct tapir_cli *cli, struct tapir_symbol_files *files)
{
	int cnt = add_of_variable(files);

	if (!cnt)
		return tapir_cli__usage(cli, "--symbols without a value requires an http(s) server "
					     "in DEBUGINFOD_URLS");
	return cnt < 0 ? cnt : 0;
}

/* "debuginfod" is the variable's servers, where it has any. */
static int add_named(struct tapir_symbol_files *files, const char *name)
{
	int cnt = strcmp(name, "debuginfod") ? 0 : add_of_variable(files);

	if (!cnt)
		return tapir_symbol_files__add(files, tapir_symbol_source__url_of(name));
	return cnt < 0 ? cnt : 0;
}

static int add_sources(const struct tapir_cli *cli, struct tapir_symbol_files *files,
		       const struct tapir_sources_or_default *symbols)
{
	const char *const *word;
	int err = 0;

	tapir_vec_for_each (word, &symbols->words) {
		if (err)
			break;
		if (tapir_symbol_source__url_of(*word))
			err = add_named(files, *word);
		else if (strstr(*word, "://") && !tapir_symbol_source__is_url(*word))
			err = tapir_cli__usage(cli, "--symbols %s: not an http or https URL",
					       *word);
		else
			err = tapir_symbol_files__add(files, *word);
	}
	return !err && symbols->has_default ? add_default(cli, files) : err;
}

static int start_symbols(struct tapir_cli *cli, const struct tapir_symbol_args *args,
			 bool with_names)
{
	struct tapir_symbol_use *use = calloc(1, sizeof(*use));
	const struct tapir_symbol_watch watch = {
		.should_continue = should_continue_fetch, .ended = ended, .ctx = use};
	struct tapir_source_lines_opts lines = {.with_lines = args->lines,
						.with_inlined = args->inlined};
	int err;

	if (!use)
		return -ENOMEM;
	cli->symbols = use;
	use->is_shown = !cli->is_quiet && tapir_screen__is_tty(stderr);
	err = tapir_symbol_files__new(&watch, &use->files);
	if (!err)
		err = add_sources(cli, use->files, &args->sources);
	if (!err && with_names)
		err = tapir_offline_symbols__new(use->files, &use->names);
	lines.files = use->files;
	if (!err && (args->lines || args->inlined)) {
		(void)tapir_helpers__start(); /* while this process is small */
		err = tapir_source_lines__new(&lines, &use->lines);
	}
	if (err)
		tapir_symbols_option__end(cli);
	return err;
}

int tapir_symbols_option__start_always(struct tapir_cli *cli, const struct tapir_symbol_args *args)
{
	return start_symbols(cli, args, true);
}

int tapir_symbols_option__start(struct tapir_cli *cli, const struct tapir_symbol_args *args)
{
	bool with_names = args->sources.words.cnt || args->sources.has_default;

	return with_names || args->lines || args->inlined ? start_symbols(cli, args, with_names)
							  : 0;
}

void tapir_symbols_option__attach(struct tapir_cli *cli, struct tapir_reader *reader)
{
	struct tapir_symbol_use *use = cli->symbols;

	if (use)
		(void)tapir_symbol_files__add_recording(use->files, tapir_reader__fd(reader));
	if (use && use->names) {
		struct tapir_offline_source source = tapir_offline_symbols__source(use->names);

		tapir_reader__use_source(reader, &source);
	}
	if (use && use->lines) {
		struct tapir_line_source source = tapir_source_lines__source(use->lines);

		tapir_reader__use_lines(reader, &source);
	}
}

struct tapir_offline_symbols *tapir_symbols_option__names(const struct tapir_cli *cli)
{
	return cli->symbols ? cli->symbols->names : NULL;
}

struct tapir_symbol_files *tapir_symbols_option__files(const struct tapir_cli *cli)
{
	return cli->symbols ? cli->symbols->files : NULL;
}

/* ---- what was found ----------------------------------------------------------------------- */

#define COUNT(counts, member) offsetof(struct counts, member)

const struct tapir_symbol_count tapir_symbol_counts_names[] = {
	{"functions", NULL, COUNT(tapir_offline_counts, name_cnt)},
	{"files", NULL, COUNT(tapir_offline_counts, file_cnt)},
	{"files_without_symbols", "no symbols found for",
	 COUNT(tapir_offline_counts, nameless_cnt)},
	{"files_without_build_id", "no build ID in", COUNT(tapir_offline_counts, no_build_id_cnt)},
	{}};

static const struct tapir_symbol_count of_lines[] = {
	{"files_not_found", "none found for", COUNT(tapir_source_line_counts, lineless_cnt)},
	{"files_without_build_id", "no build ID in",
	 COUNT(tapir_source_line_counts, no_build_id_cnt)},
	{}};

static uint64_t count_of(const struct tapir_symbol_count *c, const void *counts)
{
	uint64_t cnt;

	memcpy(&cnt, (const char *)counts + c->offset, sizeof(cnt));
	return cnt;
}

void tapir_symbol_counts__add_text(const struct tapir_symbol_count *table, const void *counts,
				   struct tapir_str *out)
{
	for (const struct tapir_symbol_count *c = table; c->name; c++) {
		uint64_t cnt = count_of(c, counts);

		if (cnt && c->words)
			tapir_str__addf(out, "; %s %" PRIu64 " file%s", c->words, cnt,
					cnt == 1 ? "" : "s");
	}
}

void tapir_symbol_counts__write_json(const struct tapir_symbol_count *table, const void *counts,
				     struct tapir_json *j, const char *key)
{
	tapir_json__open(j, key, '{');
	for (const struct tapir_symbol_count *c = table; c->name; c++)
		tapir_json__u64(j, c->name, count_of(c, counts));
	tapir_json__close(j, '}');
}

static void add_count(struct tapir_str *out, uint64_t cnt, const char *noun)
{
	tapir_str__addf(out, "%" PRIu64 " %s%s", cnt, noun, cnt == 1 ? "" : "s");
}

static void report_names(const struct tapir_offline_symbols *names)
{
	struct tapir_offline_counts counts = tapir_offline_symbols__counts(names);
	struct tapir_str line = {};

	add_count(&line, counts.name_cnt, "function");
	tapir_str__adds(&line, " of ");
	add_count(&line, counts.file_cnt, "file");
	tapir_str__adds(&line, " named");
	tapir_symbol_counts__add_text(tapir_symbol_counts_names, &counts, &line);
	if (line.data)
		tapir_info("%s", line.data);
	tapir_str__fini(&line);
}

static void report_lines(const struct tapir_source_lines *lines)
{
	struct tapir_source_line_counts counts = tapir_source_lines__counts(lines);
	struct tapir_str line = {};

	tapir_str__adds(&line, "debug information of ");
	add_count(&line, counts.file_cnt, "file");
	tapir_str__adds(&line, " used");
	tapir_symbol_counts__add_text(of_lines, &counts, &line);
	if (line.data)
		tapir_info("%s", line.data);
	tapir_str__fini(&line);
	if (counts.dropped_cnt)
		tapir_warn("%" PRIu64 " addresses or files have no source lines: limit reached",
			   counts.dropped_cnt);
}

void tapir_symbols_option__report(const struct tapir_cli *cli)
{
	if (cli->symbols && cli->symbols->names)
		report_names(cli->symbols->names);
	if (cli->symbols && cli->symbols->lines)
		report_lines(cli->symbols->lines);
}

void tapir_symbols_option__end(struct tapir_cli *cli)
{
	if (!cli->symbols)
		return;
	tapir_source_lines__free(cli->symbols->lines);
	tapir_offline_symbols__free(cli->symbols->names);
	tapir_symbol_files__free(cli->symbols->files);
	free(cli->symbols);
	cli->symbols = NULL;
}
