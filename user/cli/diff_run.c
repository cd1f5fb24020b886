// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A side is read twice, the second time by its halves: a pipe is kept for that
 * (recording_file.h).
 */
#include "cli/diff_run.h"

#include <errno.h>

#include "cli/long_read.h"
#include "cli/recording_file.h"
#include "output/render/report_view.h"

int tapir_diff_run__read(struct tapir_diff_run *run, unsigned nr, struct tapir_reader *reader,
			 struct tapir_cli *cli, const char *where)
{
	struct tapir_long_read read;
	struct tapir_rereading again = {cli, &read};
	struct tapir_diff_opts opts = {.open_again = tapir_rereading__open_again,
				       .should_continue = tapir_rereading__should_continue,
				       .ctx = &again};
	int err = tapir_where_option__parse(where, &run->where[nr]);

	if (err)
		return err;
	opts.where = run->where[nr];
	tapir_long_read__start(&read, reader, cli);
	err = tapir_diff_side__read(&run->sides[nr], reader, &opts);
	tapir_long_read__stop(&read);
	return err == -ECANCELED ? -EINTR : err;
}

int tapir_diff_run__compare(struct tapir_diff_run *run, enum tapir_diff_base base)
{
	return tapir_diff__make(&run->diff, &run->sides[0], &run->sides[1], base);
}

static void note_skipped(const struct tapir_where *where, const char *name,
			 struct tapir_view_result *result)
{
	struct tapir_str text = {};

	if (!where)
		return;
	tapir_report__add_where(where, &text);
	tapir_view_result__note(result, "%s: %s", name, text.data ? text.data : "");
	result->failed |= text.failed;
	tapir_str__fini(&text);
}

void tapir_diff_run__write(struct tapir_diff_run *run, uint64_t top, bool is_all,
			   struct tapir_view_result *result)
{
	tapir_diff__write(&run->diff, run->names, top, is_all, result);
	for (unsigned nr = 0; nr < 2; nr++)
		note_skipped(run->where[nr], run->names[nr], result);
}

void tapir_diff_run__fini(struct tapir_diff_run *run)
{
	tapir_diff__fini(&run->diff);
	for (unsigned nr = 0; nr < 2; nr++) {
		tapir_diff_side__fini(&run->sides[nr]);
		tapir_where__free(run->where[nr]);
	}
	*run = (struct tapir_diff_run){};
}
