// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first pass finds what is to be added. A recording in place to which nothing is added is not
 * written again.
 */
#include "cli/archive_file.h"

#include <errno.h>
#include <inttypes.h>

#include "base/diag.h"
#include "base/log.h"
#include "cli/named_copy.h"
#include "cli/recording_file.h"
#include "cli/symbol_options.h"
#include "output/export/archive.h"
#include "output/render/human_units.h"

static const struct tapir_symbol_count of_files[] = {
	{"files", NULL, offsetof(struct tapir_archive_counts, file_cnt)},
	{"bytes", NULL, offsetof(struct tapir_archive_counts, bytes)},
	{"files_already_there",
	 "already there:", offsetof(struct tapir_archive_counts, stored_cnt)},
	{"files_not_found", "none found for", offsetof(struct tapir_archive_counts, lacking_cnt)},
	{"files_without_build_id", "no build ID in",
	 offsetof(struct tapir_archive_counts, no_build_id_cnt)},
	{"files_left_out", NULL, offsetof(struct tapir_archive_counts, dropped_cnt)},
	{}};

/* "debug files: 3 files, 12.3 MB before compression; none found for 2 files" */
static void print_archive_sizes(const struct tapir_archive_counts *counts)
{
	struct tapir_str line = {};

	tapir_str__addf(&line, "debug files: %" PRIu64 " file%s, ", counts->file_cnt,
			counts->file_cnt == 1 ? "" : "s");
	tapir_human__add_bytes(&line, counts->bytes);
	tapir_str__adds(&line, " before compression");
	tapir_symbol_counts__add_text(of_files, counts, &line);
	if (line.data)
		tapir_info("%s", line.data);
	tapir_str__fini(&line);
	if (counts->dropped_cnt)
		tapir_warn("%" PRIu64 " debug files are left out: more than %u, or too large",
			   counts->dropped_cnt, TAPIR_ARCHIVE_FILES_MAX);
}

static int check_sizes(const struct tapir_archive_counts *counts, uint64_t max_bytes)
{
	struct tapir_str limit = {};
	int err = 0;

	if (counts->bytes > max_bytes) {
		tapir_human__add_bytes(&limit, max_bytes);
		err = tapir_diag__fail(
			-EFBIG,
			"the debug files are larger than %s: nothing was written ('tapir archive "
			"--max-size')",
			limit.data ? limit.data : "the limit");
	}
	tapir_str__fini(&limit);
	return err;
}

static int write_files(void *ctx, struct tapir_writer *w, const struct tapir_stored_check *check)
{
	return tapir_archive__write(ctx, w, check);
}

/* a: NULL without debug files. */
static int copy(struct tapir_cli *cli, struct tapir_reader *reader,
		const struct tapir_archive_opts *opts, struct tapir_archive *a)
{
	struct tapir_named_copy copy = {.path = opts->path,
					.out = opts->out,
					.force = opts->force,
					.write_more = a ? write_files : NULL,
					.ctx = a};
	struct tapir_archive_counts counts = {};
	int err = tapir_named_copy__read(&copy, reader, cli);
	bool is_read = !err;

	if (!err && a) {
		counts = tapir_archive__counts(a);
		print_archive_sizes(&counts);
		err = check_sizes(&counts, opts->max_bytes);
	}
	if (!err && (opts->out || counts.file_cnt ||
		     tapir_offline_symbols__counts(tapir_symbols_option__names(cli)).name_cnt))
		err = tapir_named_copy__write(&copy);
	else if (!err)
		tapir_info("%s has all of that and is not changed", opts->path);
	if (opts->json && is_read)
		err = tapir_named_copy__print_json(&copy, "debug_files", a ? of_files : NULL,
						   &counts)
			      ?: err;
	tapir_named_copy__fini(&copy);
	return err;
}

int tapir_archive_file__make(struct tapir_cli *cli, struct tapir_reader *reader,
			     const struct tapir_archive_opts *opts)
{
	struct tapir_archive *a = NULL;
	struct tapir_line_source source;
	int err = 0;

	if (opts->debug_files)
		err = tapir_archive__new(tapir_symbols_option__files(cli), tapir_reader__fd(reader),
					 &a);
	if (err)
		return err;
	if (a) {
		source = tapir_archive__source(a);
		tapir_reader__use_lines(reader, &source);
	}
	err = copy(cli, reader, opts, a);
	tapir_archive__free(a);
	return err;
}

int tapir_archive_file__after_recording(struct tapir_cli *cli, const char *path, bool debug_files)
{
	const struct tapir_archive_opts opts = {.path = path,
						.debug_files = debug_files,
						.max_bytes = (uint64_t)TAPIR_ARCHIVE_DEFAULT_MB
							     << 20};
	struct tapir_offline_counts names = {};
	struct tapir_reader *reader;
	int err = tapir_symbols_option__start_always(cli, &(struct tapir_symbol_args){});

	if (err)
		return err;
	err = tapir_recording_file__open(cli, path, &reader);
	if (!err) {
		err = tapir_archive_file__make(cli, reader, &opts);
		tapir_reader__close(reader);
	}
	names = tapir_offline_symbols__counts(tapir_symbols_option__names(cli));
	if (!err && names.file_cnt + names.nameless_cnt + names.no_build_id_cnt)
		tapir_symbols_option__report(cli);
	tapir_symbols_option__end(cli);
	return err;
}
