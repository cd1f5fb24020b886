// SPDX-License-Identifier: GPL-2.0-or-later
/* tapir merge: recordings of several hosts, or of one after the other, as one. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/long_read.h"
#include "cli/output_file.h"
#include "cli/recording_copy.h"
#include "cli/recording_file.h"
#include "output/export/host_part.h"
#include "output/export/merge.h"

struct args {
	const char *output;
	bool force;
};

static const struct tapir_option options[] = {
	TAPIR_STRING("output", 'o', "OUT", "write to OUT, which is replaced atomically",
		     struct args, output),
	TAPIR_FLAG("force", 'f', "replace OUT if it exists", struct args, force),
	{}};

/* An input: "web1=a.tapir", or a file alone. */
struct named {
	const char *path;
	char *host; /* freed by the caller; NULL: as the recording says */
	struct tapir_reader *reader;
};

static int name_input(const char *word, struct named *out)
{
	const char *is = strchr(word, '=');

	*out = (struct named){.path = word};
	if (!is || is == word || !access(word, F_OK))
		return 0;
	out->path = is + 1;
	out->host = strndup(word, (size_t)(is - word));
	return out->host ? 0 : -ENOMEM;
}

struct merge {
	const struct args *args;
	struct tapir_merge *m;
	struct tapir_long_read read;
	struct tapir_vec(struct named) inputs;
	struct tapir_host_names hosts; /* of merged ones among them */
	struct stat st;		       /* of the first input */
};

static int open_input(struct merge *merge, const char *word)
{
	struct named *named = tapir_vec__add(&merge->inputs);
	int err = named ? name_input(word, named) : -ENOMEM;

	if (err)
		return err;
	if (tapir_output_file__is_same(merge->args->output, named->path))
		return tapir_diag__fail(-EINVAL, "-o %s is one of the recordings", named->path);
	return tapir_reader__open(named->path, &named->reader);
}

static int open_all(struct merge *merge, const struct tapir_cli *cli)
{
	int err = 0;

	for (size_t i = 0; i < cli->words.cnt && !err; i++)
		err = open_input(merge, cli->words.data[i]);
	if (!err)
		(void)fstat(tapir_reader__fd(merge->inputs.data[0].reader), &merge->st);
	return err;
}

static int check_parts(void *ctx)
{
	struct merge *merge = ctx;

	return tapir_long_read__check(&merge->read);
}

static int check(void *ctx, uint64_t done_bytes, uint64_t all_bytes)
{
	(void)done_bytes;
	(void)all_bytes;
	return check_parts(ctx);
}

/* Adds each host of a merged recording from the first-th name on. */
static int add_hosts(struct merge *merge, const struct named *named, size_t first)
{
	int err = 0;

	if (named->host)
		return tapir_diag__fail(-EINVAL, "%s= names one host, and %s has several",
					named->host, named->path);
	for (size_t i = first; i < merge->hosts.cnt && !err; i++) {
		const char *name = merge->hosts.data[i];
		struct tapir_reader *part;

		err = tapir_host_part__open(named->reader, named->path, name, check_parts, merge,
					    &part);
		err = err ? err : tapir_merge__add(merge->m, part, named->path, name);
	}
	return err;
}

static int add_input(struct merge *merge, struct named *named)
{
	struct tapir_reader *reader = named->reader;
	size_t first = merge->hosts.cnt;
	int err = tapir_host_names__read(reader, &merge->hosts);

	if (err || merge->hosts.cnt > first)
		return err ? err : add_hosts(merge, named, first);
	named->reader = NULL;
	return tapir_merge__add(merge->m, reader, named->path, named->host);
}

static int add_all(struct merge *merge)
{
	struct named *named;
	int err = 0;

	tapir_vec_for_each (named, &merge->inputs) {
		err = err ? err : tapir_long_read__check(&merge->read);
		err = err ? err : add_input(merge, named);
	}
	return err ? err : tapir_merge__plan(merge->m);
}

static int write_output(struct merge *merge)
{
	struct tapir_recording_copy copy = {.path = merge->args->output,
					    .force = merge->args->force};
	bool is_truncated;
	int err;

	tapir_merge__begin(merge->m, &copy.created_ns, &copy.created_utc_ns, &is_truncated);
	err = tapir_recording_copy__create(&copy, &merge->st, is_truncated);
	if (err)
		return err;
	err = tapir_merge__write(merge->m, copy.w, &(struct tapir_merge_check){check, merge});
	return tapir_recording_copy__close(&copy, err);
}

/* "all.tapir: 2 hosts: web1, web2", and what is not known, a line each. */
static void print_merge_end(const struct merge *merge)
{
	const char *line = tapir_merge__text(merge->m);

	for (bool is_first = true; *line; is_first = false) {
		size_t len = strcspn(line, "\n");

		if (is_first)
			tapir_info("%s: %.*s", merge->args->output, (int)len, line);
		else
			tapir_warn("%.*s", (int)len, line);
		line += len + (line[len] != '\0');
	}
	if (tapir_merge__skipped_cnt(merge->m))
		tapir_warn("%" PRIu64 " records have ids that no process of a host has and were "
			   "left out",
			   tapir_merge__skipped_cnt(merge->m));
}

static int check_damage(const struct merge *merge)
{
	const struct tapir_reader_stats *stats;
	const char *path;
	int err = 0;

	for (size_t i = 0; (stats = tapir_merge__stats(merge->m, i, &path)); i++) {
		int one = tapir_recording_file__check_damage(path, stats);

		err = err ? err : one;
	}
	return err;
}

static int merge_all(struct merge *merge, struct tapir_cli *cli)
{
	int err;

	merge->m = tapir_merge__new();
	if (!merge->m)
		return -ENOMEM;
	err = open_all(merge, cli); /* Ctrl-C ends what waits for a pipe */
	if (err)
		return err;
	tapir_long_read__start(&merge->read, merge->inputs.data[0].reader, cli);
	merge->read.is_shown = false;
	err = add_all(merge);
	if (!err)
		err = write_output(merge);
	tapir_long_read__stop(&merge->read);
	if (err)
		return err;
	print_merge_end(merge);
	return check_damage(merge);
}

static int run_merge(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct merge merge = {.args = args};
	struct named *named;
	int err;

	if (cli->words.cnt < 2)
		return tapir_cli__usage(cli, "two recordings or more are required");
	if (cli->words.cnt > TAPIR_MERGE_INPUTS_MAX)
		return tapir_cli__usage(cli, "at most %u recordings are merged",
					TAPIR_MERGE_INPUTS_MAX);
	if (!args->output)
		return tapir_cli__usage(cli, "-o OUT is required");
	err = merge_all(&merge, cli);
	tapir_merge__free(merge.m);
	tapir_vec_for_each (named, &merge.inputs) {
		tapir_reader__close(named->reader);
		free(named->host);
	}
	tapir_vec__fini(&merge.inputs);
	tapir_host_names__fini(&merge.hosts);
	return err;
}

const struct tapir_command tapir_cmd_merge = {
	.name = "merge",
	.summary = "make one recording of those of several hosts",
	.synopsis = "[NAME=]FILE [NAME=]FILE... -o OUT [-f]",
	.text = "OUT is a recording that every command reads, with the records of all in the order "
		"of their times. Recordings of one boot of a machine are parts of one host: their "
		"processes and losses are joined. Other recordings are of several hosts. NAME is the "
		"host's name, where the recording lacks it or two have the same.\n\n"
		"Processes of hosts are kept apart by their ids: in OUT, the processes, threads and "
		"CPUs of the second host have 20,000,000 (CPUs: 2,000) more than they had there: "
		"process 20004711 is its 4711. 'tapir report' names the hosts, "
		"'tapir events --json' has 'host' in each line, 'tapir query' has a table 'hosts'. "
		"Numbers that events have as values are as on the host.\n\n"
		"Times are aligned by the UTC that each recording has. How far hosts' clocks were "
		"apart from UTC, no recording knows but by what the kernel said then; OUT says "
		"which clocks were synchronized and to within how much, and which were not. "
		"'tapir record --at' starts on many hosts at one instant.\n\n"
		"'tapir cut --host NAME' gives back one host's recording. FILE may be a merged one: its "
		"hosts are merged with the others, for which each is a temporary file meanwhile.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals = (const struct tapir_positional[]){{.name = "FILE",
							  .help = "a recording; two or more",
							  .required = true,
							  .many = true,
							  .is_path = true},
							 {}},
	.examples =
		(const struct tapir_example[]){
			{"merge web1.tapir web2.tapir db.tapir -o all.tapir", "three hosts"},
			{"merge shop=a.tapir cart=b.tapir -o all.tapir",
			 "two containers, whose host has no name that tells them apart"},
			{"merge monday-*.tapir -o monday.tapir", "one host, one after the other"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run_merge,
};
