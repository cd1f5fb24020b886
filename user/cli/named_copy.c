// SPDX-License-Identifier: GPL-2.0-or-later
/* Two passes over one reader: the second copies from the file, whatever the reader's position. */
#include "cli/named_copy.h"

#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "cli/output_file.h"
#include "cli/recording_copy.h"
#include "cli/recording_file.h"
#include "cli/symbol_options.h"
#include "cli/terminal.h"

static int read_named_source(struct tapir_named_copy *copy)
{
	const struct tapir_rec *rec;
	int err;

	while ((err = tapir_long_read__next(&copy->read, &rec)) > 0)
		tapir_symbolize__add(&copy->symbolize, copy->read.reader, rec);
	/* A download may have been interrupted after the last check. */
	if (!err)
		err = tapir_long_read__check(&copy->read);
	return err ? err : tapir_symbolize__read_end(&copy->symbolize);
}

static int check_in_place(const struct tapir_named_copy *copy)
{
	const struct tapir_reader_stats *stats = tapir_reader__stats(copy->read.reader);

	if (copy->out)
		return 0;
	if (stats->is_truncated)
		return tapir_diag__fail(
			-EBUSY, "%s is incomplete or still being written: use -o OUT", copy->path);
	if (tapir_reader_stats__is_damaged(stats))
		return tapir_diag__fail(-EBADMSG, "%s is damaged and is not replaced: use -o OUT",
					copy->path);
	return 0;
}

static int check_output(const struct tapir_cli *cli, const char *out, bool json)
{
	const char *path = cli->words.data[0];

	if (!strcmp(path, "-") && !out)
		return tapir_cli__usage(cli,
					"-o OUT is required for a recording on standard input");
	if (tapir_output_file__is_same(out, path))
		return tapir_cli__usage(cli, "-o %s is the recording itself: omit -o to replace it",
					out);
	if (json && out && tapir_writer__is_stdout(out))
		return tapir_cli__usage(cli, "--json excludes -o %s: both print to standard output",
					out);
	return 0;
}

int tapir_named_copy__run(struct tapir_cli *cli, const char *out, bool json,
			  const struct tapir_symbol_args *symbols,
			  int (*make)(struct tapir_reader *reader, struct tapir_cli *cli))
{
	int err = tapir_recording_file__choose(cli, false);

	err = err ? err : check_output(cli, out, json);
	err = err ? err : tapir_symbols_option__start_always(cli, symbols);
	return err ? err : tapir_recording_file__read(cli, make);
}

int tapir_named_copy__read(struct tapir_named_copy *copy, struct tapir_reader *reader,
			   const struct tapir_cli *cli)
{
	int err;

	copy->symbolize.names = tapir_symbols_option__names(cli);
	tapir_long_read__start(&copy->read, reader, cli);
	err = read_named_source(copy);
	return err ? err : check_in_place(copy);
}

static int check(void *ctx)
{
	return tapir_long_read__check(ctx);
}

int tapir_named_copy__write(struct tapir_named_copy *copy)
{
	struct tapir_recording_copy file = {.path = copy->out ? copy->out : copy->path,
					    .force = copy->force || !copy->out};
	int err = tapir_recording_copy__open(&file, copy->read.reader);

	if (err)
		return err;
	err = tapir_symbolize__write(&copy->symbolize, copy->read.reader, file.w, check,
				     &copy->read);
	if (!err && copy->write_more)
		err = copy->write_more(copy->ctx, file.w,
				       &(struct tapir_stored_check){check, &copy->read});
	err = tapir_recording_copy__close(&file, err);
	copy->is_written = !err;
	return err;
}

int tapir_named_copy__print_json(const struct tapir_named_copy *copy, const char *key,
				 const struct tapir_symbol_count *table, const void *counts)
{
	struct tapir_offline_counts names = tapir_offline_symbols__counts(copy->symbolize.names);
	struct tapir_str out = {};
	struct tapir_json j = tapir_json__to(&out);
	int err;

	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "file", copy->out ? copy->out : copy->path);
	tapir_json__bool(&j, "written", copy->is_written);
	tapir_symbol_counts__write_json(tapir_symbol_counts_names, &names, &j, "names");
	if (table)
		tapir_symbol_counts__write_json(table, counts, &j, key);
	tapir_json__close(&j, '}');
	tapir_str__addc(&out, '\n');
	err = tapir_terminal__flush(&out);
	tapir_str__fini(&out);
	return err;
}

void tapir_named_copy__fini(struct tapir_named_copy *copy)
{
	tapir_long_read__stop(&copy->read);
	tapir_symbolize__fini(&copy->symbolize);
}
