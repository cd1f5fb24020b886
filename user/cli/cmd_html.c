// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir html: a recording as one page for a browser. The page's data is in output/page/; here is
 * what the file is called and what else is put in.
 */
#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "cli/commands.h"
#include "cli/diff_run.h"
#include "cli/long_read.h"
#include "cli/output_file.h"
#include "cli/recording_file.h"
#include "cli/symbol_options.h"
#include "output/page/page.h"
#include "output/page/page_data.h"
#include "output/render/view_result_print.h"

#define CHANGES_MAX 1000u /* rows of each kind */

struct args {
	const char *output;
	const char *diff, *where;
	bool force;
	bool raw_names;
	bool unfold;
	struct tapir_symbol_args symbols;
	struct tapir_words manifests;
};

static const struct tapir_option options[] = {
	TAPIR_STRING("output", 'o', "OUT",
		     "write to OUT, which is replaced atomically; default, or '-': standard output",
		     struct args, output),
	TAPIR_FLAG("force", 'f', "replace OUT if it exists", struct args, force),
	TAPIR_STRING(
		"diff", 0, "OTHER",
		"compare with this recording: colors in the flame graph, a table of functions, and "
		"what 'tapir diff OTHER FILE' says",
		struct args, diff),
	TAPIR_WHERE_OPTION(struct args),
	TAPIR_UNFOLD_OPTION(struct args),
	TAPIR_SYMBOLS_OPTIONS(struct args),
	TAPIR_RAW_NAMES_OPTION(struct args),
	TAPIR_MANIFEST_OPTION(struct args),
	{}};

/* The name that the page shows. */
static const char *page_file_name(const char *path)
{
	return strcmp(path, "-") != 0 ? path : "recording";
}

static int add_data(struct tapir_reader *reader, struct tapir_cli *cli, const char *path,
		    struct tapir_str *out)
{
	struct tapir_long_read read;
	struct tapir_rereading again = {cli, &read};
	const struct args *args = cli->args;
	struct tapir_where *where;
	int err = tapir_where_option__parse(args->where, &where);

	if (err)
		return err;
	tapir_long_read__start(&read, reader, cli);
	err = tapir_page_data__write(
		reader,
		&(struct tapir_page_opts){.path = page_file_name(path),
					  .unfold = args->unfold,
					  .where = where,
					  .should_continue = tapir_rereading__should_continue,
					  .ctx = &again},
		out);
	tapir_long_read__stop(&read);
	tapir_where__free(where);
	return err == -ECANCELED ? -EINTR : tapir_where_option__status(args->where, err);
}

static int add_other(struct tapir_cli *cli, struct tapir_str *out)
{
	const struct args *args = cli->args;
	struct tapir_reader *reader;
	int err = tapir_recording_file__open(cli, args->diff, &reader);

	if (err)
		return err;
	err = add_data(reader, cli, args->diff, out);
	tapir_reader__close(reader);
	return err;
}

/* Writes what 'tapir diff OTHER FILE' says, or nothing where one of the two has nothing to compare.
 */
static int write_changes(struct tapir_diff_run *run, struct tapir_str *out)
{
	struct tapir_view_result result = {.view = "diff"};
	int err = 0;

	if (!run->sides[0].span_ns || !run->sides[1].span_ns)
		return 0;
	err = tapir_diff_run__compare(run, TAPIR_DIFF_AUTO);
	if (!err) {
		tapir_diff_run__write(run, CHANGES_MAX, false, &result);
		tapir_view_result__write_json(&result, out);
		err = result.failed ? -ENOMEM : 0;
	}
	tapir_view_result__fini(&result);
	return err;
}

/* The recording has been read, and is read again. */
static int add_changes(struct tapir_reader *reader, struct tapir_cli *cli, const char *path,
		       struct tapir_str *out)
{
	const struct args *args = cli->args;
	struct tapir_diff_run run = {.names = {page_file_name(args->diff), page_file_name(path)}};
	struct tapir_reader *before, *after = NULL;
	int err = tapir_recording_file__open(cli, args->diff, &before);

	if (err)
		return err;
	err = tapir_diff_run__read(&run, 0, before, cli, args->where);
	if (!err)
		err = tapir_recording_file__open_again(cli, reader, &after);
	if (!err)
		err = tapir_diff_run__read(&run, 1, after, cli, args->where);
	if (!err)
		err = write_changes(&run, out);
	tapir_reader__close(after);
	tapir_reader__close(before);
	tapir_diff_run__fini(&run);
	return tapir_where_option__status(args->where, err);
}

static int add_documents(struct tapir_reader *reader, struct tapir_cli *cli, const char *path,
			 struct tapir_page_documents *out)
{
	const struct args *args = cli->args;
	int err = add_data(reader, cli, path, &out->data);

	if (!err && args->diff)
		err = add_other(cli, &out->other);
	if (!err && args->diff)
		err = add_changes(reader, cli, path, &out->changes);
	return err;
}

static int write_page(struct tapir_output_file *file, const struct tapir_page_documents *documents,
		      const char *path)
{
	const char *slash = strrchr(path, '/');
	struct tapir_str out = {};
	int err;

	tapir_page__write(slash ? slash + 1 : path, documents, &out);
	err = tapir_output_file__flush(file, &out);
	tapir_str__fini(&out);
	if (!err)
		err = tapir_output_file__finish(file);
	return err;
}

static int make_page(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	const char *path = cli->words.data[0];
	struct tapir_page_documents documents = {};
	struct tapir_output_file file;
	int mark = tapir_diag__cnt();
	int err = tapir_output_file__open(
		&file,
		&(struct tapir_output_file_opts){.path = args->output, .force = args->force});

	if (err)
		return err;
	err = add_documents(reader, cli, path, &documents);
	if (!err)
		err = write_page(&file, &documents, page_file_name(path));
	tapir_output_file__report_end(&file, "; open it in a browser", mark, err);
	tapir_output_file__close(&file);
	tapir_str__fini(&documents.data);
	tapir_str__fini(&documents.other);
	tapir_str__fini(&documents.changes);
	return err;
}

static int run_html(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	int err = tapir_where_option__check(args->where);

	if (!err)
		err = tapir_recording_file__choose(cli, false);
	if (err)
		return err;
	if (tapir_output_file__is_same(args->output, cli->words.data[0]) ||
	    (args->diff && tapir_output_file__is_same(args->output, args->diff)))
		return tapir_cli__usage(cli, "-o %s is the recording itself", args->output);
	return tapir_recording_file__show(cli,
					  &(struct tapir_show_opts){.symbols = &args->symbols,
								    .manifests = &args->manifests,
								    .raw_names = args->raw_names},
					  make_page);
}

const struct tapir_command tapir_cmd_html = {
	.name = "html",
	.summary = "write a recording as one page for a browser",
	.synopsis = "[FILE] [-o OUT.html] [-f] [--diff OTHER] [--where EXPR] [--unfold]",
	.text = "The page is one file that needs no network and no server: the first screen, the "
		"threads on a timeline with what they waited for, a heat map of time, the "
		"stacks of CPU samples, waits and events as a flame graph, and all views "
		"as tables that can be sorted and filtered. A time that is chosen by a drag, and "
		"a thread, restrict all of these. Keys: / searches; on the timeline arrows, + and "
		"- move and zoom. A page has at most about 10 MB: of a "
		"recording with more than 524,288 samples, 65,536 events, waits or intervals, "
		"samples and events are merged by time, the shortest waits and intervals are left "
		"out, and the page shows how many.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals = (const struct tapir_positional[]){TAPIR_FILE_POSITIONAL, {}},
	.examples =
		(const struct tapir_example[]){
			{"html slow.tapir -o slow.html", "a page to look at, or to send"},
			{"html after.tapir --diff before.tapir -o change.html",
			 "colors and tables show what became slower"},
			{"html --where 'pid == 4711' all.tapir -o one.html",
			 "one process of a recording of all"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run_html,
};
