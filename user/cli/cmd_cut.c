// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir cut: a smaller recording, of a part of another one. The part has descriptions of its own
 * segments, so it is readable alone; META says what was left out.
 */
#include <errno.h>

#include "base/diag.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/long_read.h"
#include "cli/output_file.h"
#include "cli/recording_copy.h"
#include "cli/recording_file.h"
#include "output/export/cut.h"
#include "output/export/host_cut.h"
#include "output/render/human_units.h"
#include "trace/pids_seen.h"

struct args {
	const char *output, *host;
	bool force;
	uint64_t from_ns, until_ns;
	struct tapir_pids pids;
	struct tapir_words globs;
};

static const struct tapir_option options[] = {
	TAPIR_DURATION("from", 0, "TIME", "start at this time of the recording", struct args,
		       from_ns, 0, UINT64_MAX / 4),
	TAPIR_DURATION("to", 0, "TIME", "end at this time of the recording", struct args, until_ns,
		       1, UINT64_MAX / 4),
	TAPIR_PIDS("pid", 'p', "PID", "only this process; repeatable, or PID,PID", struct args,
		   pids),
	TAPIR_LIST("event", 'e', "GLOB",
		   "of the events only these (gc__*, hotspot:gc__*, hotspot); repeatable",
		   struct args, globs),
	TAPIR_STRING(
		"host", 0, "NAME",
		"only this host of a merged recording, as it was recorded; with no other choice",
		struct args, host),
	TAPIR_STRING("output", 'o', "OUT", "write to OUT, which is replaced atomically",
		     struct args, output),
	TAPIR_FLAG("force", 'f', "replace OUT if it exists", struct args, force),
	{}};

static int read_cut_source(struct tapir_long_read *read, struct tapir_cut *cut, const char *path)
{
	struct tapir_pids_seen seen = {.requested = cut->pids};
	const struct tapir_rec *rec;
	int err;

	tapir_reader__deliver_descriptions(read->reader, true);
	while ((err = tapir_long_read__next(read, &rec)) > 0) {
		tapir_pids_seen__add(&seen, rec);
		tapir_cut__add(cut, read->reader, rec);
	}
	if (!err)
		err = tapir_long_read__check(read);
	if (!err)
		err = tapir_pids_seen__check(&seen, tapir_reader__catalog(read->reader), path);
	tapir_pids_seen__fini(&seen);
	return err ? err : tapir_cut__read_end(cut);
}

static void add_words(struct tapir_str *out, const char *prefix, const struct args *args)
{
	const char *const *glob;
	const char *sep = prefix;

	tapir_vec_for_each (glob, &args->globs) {
		tapir_str__adds(out, sep);
		tapir_str__adds(out, *glob);
		sep = ", ";
	}
}

static void add_pids(struct tapir_str *out, const struct args *args)
{
	const uint32_t *pid;
	const char *sep = args->pids.cnt > 1 ? "; processes " : "; process ";

	tapir_vec_for_each (pid, &args->pids) {
		tapir_str__addf(out, "%s%u", sep, *pid);
		sep = ", ";
	}
}

/* "1.000 s to 3.000 s of 6.012 s; process 4514; left out: 1,234 events, 20 samples, 310 switches"
 */
static void write_note(const struct tapir_cut *cut, const struct tapir_reader *reader,
		       const struct args *args, struct tapir_str *out)
{
	const struct tapir_reader_stats *stats = tapir_reader__stats(reader);
	struct tapir_sv earlier =
		tapir_catalog__meta_value(tapir_reader__catalog(reader), TAPIR_META_CUT);
	uint64_t whole_ns =
		stats->last_ns > stats->created_ns ? stats->last_ns - stats->created_ns : 0;
	uint64_t until_ns = args->until_ns && args->until_ns < whole_ns ? args->until_ns : whole_ns;

	tapir_str__addf(out, "%.3f s to %.3f s of ", (double)args->from_ns / 1e9,
			(double)until_ns / 1e9);
	tapir_human__add_duration(out, whole_ns);
	add_pids(out, args);
	add_words(out, "; events ", args);
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++) {
		uint64_t left = stats->captured[i] - cut->kept[i];

		tapir_str__adds(out, i ? ", " : "; left out: ");
		tapir_human__add_count(out, left);
		tapir_str__addf(out, " %s", tapir_family__noun(&tapir_families[i], left));
	}
	if (earlier.len) {
		tapir_str__adds(out, "; of what had been cut before: ");
		tapir_str__add(out, earlier.data, earlier.len);
	}
}

static int check_read(void *ctx)
{
	return tapir_long_read__check(ctx);
}

static int write_cut_copy(struct tapir_long_read *read, struct tapir_cut *cut,
			  const struct args *args)
{
	struct tapir_recording_copy copy = {
		.path = args->output, .force = args->force, .from_ns = args->from_ns};
	int err = tapir_recording_copy__open(&copy, read->reader);

	if (err)
		return err;
	err = tapir_cut__write(cut, read->reader, copy.w, check_read, read);
	return tapir_recording_copy__close(&copy, err);
}

static int cut_file(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	const char *path = cli->words.data[0];
	uint64_t start_ns = tapir_reader__stats(reader)->created_ns;
	struct tapir_cut cut = {.from_ns = args->from_ns ? start_ns + args->from_ns : 0,
				.until_ns = args->until_ns ? start_ns + args->until_ns : UINT64_MAX,
				.pids = &args->pids,
				.globs = &args->globs};
	struct tapir_str note = {};
	struct tapir_long_read read;
	int err;

	tapir_long_read__start(&read, reader, cli);
	/* A first pass finds which descriptions the part needs; write_all reads the file again. */
	err = read_cut_source(&read, &cut, path);
	if (!err && tapir_cut__is_empty(&cut))
		err = tapir_diag__fail(-ENODATA, "%s has nothing of that; nothing was written",
				       path);
	if (!err) {
		write_note(&cut, reader, args, &note);
		cut.note = note.data;
		err = note.failed ? -ENOMEM : write_cut_copy(&read, &cut, args);
	}
	tapir_long_read__stop(&read);
	if (!err)
		tapir_info("%s: %s", args->output, note.data);
	tapir_str__fini(&note);
	tapir_cut__fini(&cut);
	return err;
}

static int write_host(struct tapir_long_read *read, struct tapir_host_cut *cut,
		      const struct args *args)
{
	struct tapir_recording_copy copy = {.path = args->output,
					    .force = args->force,
					    .created_ns = cut->host.created_ns,
					    .created_utc_ns = cut->host.created_utc_ns};
	int err = tapir_recording_copy__open(&copy, read->reader);

	if (err)
		return err;
	err = tapir_host_cut__write(cut, copy.w, check_read, read);
	return tapir_recording_copy__close(&copy, err);
}

static void print_host_cut(const struct tapir_host_cut *cut, const struct args *args)
{
	struct tapir_str text = {};

	tapir_human__add_captured(&text, cut->kept);
	tapir_info("%s: %s of host %s", args->output, text.data ? text.data : "", cut->name);
	tapir_str__fini(&text);
}

static int cut_host(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct tapir_host_cut cut = {.name = args->host};
	struct tapir_long_read read;
	int err;

	tapir_long_read__start(&read, reader, cli);
	err = tapir_host_cut__read(&cut, reader, check_read, &read);
	if (!err)
		err = write_host(&read, &cut, args);
	tapir_long_read__stop(&read);
	if (!err)
		print_host_cut(&cut, args);
	tapir_host_cut__fini(&cut);
	return err;
}

static int run_cut(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	int err;

	if (!args->output)
		return tapir_cli__usage(cli, "-o OUT is required");
	if (args->until_ns && args->until_ns <= args->from_ns)
		return tapir_cli__usage(cli, "--to must be later than --from");
	if (args->host && (args->from_ns || args->until_ns || args->pids.cnt || args->globs.cnt))
		return tapir_cli__usage(cli, "--host gives back a whole recording: cut that again");
	err = tapir_recording_file__choose(cli, false);
	if (err)
		return err;
	if (tapir_output_file__is_same(args->output, cli->words.data[0]))
		return tapir_cli__usage(cli, "-o %s is the recording itself", args->output);
	return tapir_recording_file__read(cli, args->host ? cut_host : cut_file);
}

const struct tapir_command tapir_cmd_cut = {
	.name = "cut",
	.summary = "write a part of a recording as a smaller one",
	.synopsis =
		"[FILE] [--from TIME] [--to TIME] [--pid PID] [--event GLOB]... [--host NAME] -o OUT [-f]",
	.text = "OUT is a recording that every command reads: it has the processes, threads, "
		"files, stacks and names that are needed to read what it holds. 'tapir report' "
		"says of which part it is, and how much was left out. Times in OUT count from "
		"--from. A thread that began to wait earlier waits from the beginning of OUT; an "
		"interval that an event before it began is not paired. Losses stay, whichever "
		"process they are of. --event leaves CPU samples and context switches as they are.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals = (const struct tapir_positional[]){TAPIR_FILE_POSITIONAL, {}},
	.examples =
		(const struct tapir_example[]){
			{"cut slow.tapir --from 10 --to 12 -o two_seconds.tapir",
			 "second 10 to second 12"},
			{"cut slow.tapir --pid 4514 -o shop.tapir", "one process, for a colleague"},
			{"cut slow.tapir --event 'gc__*' -o gc.tapir", "without other events"},
			{"cut all.tapir --host web2 -o web2.tapir",
			 "one host of what 'tapir merge' made"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run_cut,
};
