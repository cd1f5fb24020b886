// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/export_job.h"

#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "base/log.h"
#include "cli/long_read.h"
#include "cli/output_file.h"
#include "cli/recording_file.h"
#include "output/render/offcpu_tree.h"
#include "output/render/record_finding.h"
#include "output/sink/sinks.h"

/* The host of a sink: its bytes go to a file, or to standard output. */
struct export_run {
	struct tapir_cli *cli;
	struct tapir_reader *reader;
	struct tapir_long_read read;
	struct tapir_output_file file;
};

static int next_record(void *ctx, const struct tapir_rec **rec)
{
	return tapir_long_read__next(&((struct export_run *)ctx)->read, rec);
}

static int write_out(void *ctx, struct tapir_str *out)
{
	struct export_run *run = ctx;
	int err = tapir_long_read__check(&run->read);

	return err ? err : tapir_output_file__flush(&run->file, out);
}

static int open_again(void *ctx, struct tapir_reader **out)
{
	const struct export_run *run = ctx;

	return tapir_recording_file__open_again(run->cli, run->reader, out);
}

static int run_sink(const struct tapir_sink *sink, const struct tapir_export_job *job,
		    struct tapir_export *x, struct tapir_cli *cli)
{
	int err = 0;

	if (sink->has_head && job->has_head)
		err = tapir_record_finding__add(cli->words.data[0], true, &x->head);
	if (!err)
		err = tapir_sink__run(sink, x);
	if (!err && x->choice.glob && !x->chosen_cnt)
		tapir_warn("no event of %s matches %s", cli->words.data[0], x->choice.glob);
	if (!err && (sink->has_switches || x->of_offcpu) && tapir_catalog__sums_waits(x->catalog))
		tapir_warn("%s: " TAPIR_WAITS_ARE_SUMMED ", so these are not in it",
			   cli->words.data[0]);
	if (!err && job->trace_id && !x->chosen_cnt)
		err = tapir_diag__fail(-ENODATA, "%s has no records with trace id %s",
				       cli->words.data[0], job->trace_id);
	return err;
}

static bool is_offcpu(const struct tapir_export_job *job)
{
	return job->event && !strcmp(job->event, TAPIR_OFFCPU_EVENT);
}

int tapir_export_job__run(const struct tapir_export_job *job, struct tapir_reader *reader,
			  struct tapir_cli *cli)
{
	const char *slash = strrchr(cli->words.data[0], '/');
	struct export_run run = {.cli = cli, .reader = reader};
	const struct tapir_sink_host host = {&run, next_record, write_out, open_again};
	struct tapir_export x = {.host = &host,
				 .reader = reader,
				 .catalog = tapir_reader__catalog(reader),
				 .title = slash ? slash + 1 : cli->words.data[0],
				 .of_offcpu = is_offcpu(job),
				 .folds = job->folds,
				 .choice.glob = is_offcpu(job) ? NULL : job->event};
	int mark = tapir_diag__cnt();
	int err = tapir_output_file__open(
		&run.file,
		&(struct tapir_output_file_opts){.path = job->output, .force = job->force});

	if (err)
		return err;
	tapir_long_read__start(&run.read, reader, cli);
	(void)tapir_trace_filter__parse(job->trace_id, &x.trace); /* which run has checked */
	err = run_sink(tapir_sink__find(job->format), job, &x, cli);
	if (!err) /* names may have been fetched after the last record */
		err = write_out(&run, &x.out);
	tapir_long_read__stop(&run.read);
	if (!err)
		err = tapir_output_file__finish(&run.file);
	tapir_output_file__report_end(&run.file, "", mark, err);
	tapir_output_file__close(&run.file);
	tapir_event_filter__fini(&x.choice);
	tapir_str__fini(&x.head);
	tapir_str__fini(&x.out);
	return err;
}
