// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir import: files of other tools as recordings. The recording is made when the file's beginning
 * has been understood, so that a wrong file leaves no output behind; the last line says what became
 * of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/long_read.h"
#include "cli/output_file.h"
#include "cli/recording_copy.h"
#include "output/import/import.h"
#include "output/render/human_units.h"

struct args {
	const char *output;
	bool force;
};

static const struct tapir_option options[] = {
	TAPIR_STRING("output", 'o', "OUT", "write to OUT, which is replaced atomically",
		     struct args, output),
	TAPIR_FLAG("force", 'f', "replace OUT if it exists", struct args, force),
	{}};

struct import {
	const struct args *args;
	struct tapir_long_read read;
	struct tapir_recording_copy copy;
	struct stat st; /* of the file */
};

static int open_input(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0 || fstat(fd, st)) {
		int err = -errno;

		tapir_guard__fd(&fd);
		return tapir_diag__fail(err, "cannot open %s: %s", path, tapir_errno__text(err));
	}
	if (S_ISREG(st->st_mode))
		return fd;
	close(fd);
	return tapir_diag__fail(-EINVAL, "%s is not a regular file: it is read twice", path);
}

static int open_output(void *ctx, uint64_t created_ns, uint64_t created_utc_ns,
		       struct tapir_writer **out)
{
	struct import *import = ctx;
	int err;

	import->copy = (struct tapir_recording_copy){.path = import->args->output,
						     .force = import->args->force,
						     .created_ns = created_ns,
						     .created_utc_ns = created_utc_ns};
	err = tapir_recording_copy__create(&import->copy, &import->st, false);
	*out = import->copy.w;
	return err;
}

static int check_progress(void *ctx)
{
	struct import *import = ctx;

	return tapir_long_read__check(&import->read);
}

/* "perf.data: 1,234 samples, 310 switches -> x.tapir" */
static void print_import_end(const struct args *args, const struct tapir_import_result *result)
{
	struct tapir_str text = {};

	tapir_human__add_captured(&text, result->captured);
	tapir_info("%s: %s -> %s", result->format, text.data ? text.data : "", args->output);
	if (result->malformed_cnt)
		tapir_warn("%" PRIu64 " records made no sense and were skipped",
			   result->malformed_cnt);
	if (result->tail_bytes)
		tapir_warn("the file is cut: its last %" PRIu64 " bytes are no whole record",
			   result->tail_bytes);
	tapir_str__fini(&text);
}

static int run_import(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct import import = {.args = args};
	struct tapir_import_result result;
	tapir_autofd int fd = -1;
	struct tapir_import_input input;
	int err;

	if (cli->words.cnt != 1)
		return tapir_cli__usage(cli, "FILE is required");
	if (!args->output)
		return tapir_cli__usage(cli, "-o OUT is required");
	if (tapir_output_file__is_same(args->output, cli->words.data[0]))
		return tapir_cli__usage(cli, "-o %s is the file itself", args->output);
	fd = open_input(cli->words.data[0], &import.st);
	if (fd < 0)
		return fd;
	input = (struct tapir_import_input){.fd = fd,
					    .name = cli->words.data[0],
					    .bytes = (uint64_t)import.st.st_size,
					    /* Formats without a date have that of the file. */
					    .changed_ns = (uint64_t)import.st.st_mtim.tv_sec *
								  TAPIR_NS_PER_SEC +
							  (uint64_t)import.st.st_mtim.tv_nsec};
	tapir_long_read__start(&import.read, NULL, cli);
	err = tapir_import__file(
		&input, &(struct tapir_import_opts){open_output, check_progress, &import}, &result);
	if (import.copy.w)
		err = tapir_recording_copy__close(&import.copy, err);
	tapir_long_read__stop(&import.read);
	if (!err)
		print_import_end(args, &result);
	return err;
}

const struct tapir_command tapir_cmd_import = {
	.name = "import",
	.summary = "make a recording from a file of another tool",
	.synopsis = "FILE -o OUT [-f]",
	.text = "Reads perf.data (perf 5.10 and newer): samples with their call chains, switches, "
		"tracepoints with their fields, processes, mappings, losses; and nettrace files of "
		"EventPipe (dotnet-trace, also collect-linux): events with their fields and stacks, "
		"samples, names of methods from the rundown; flight recordings of a JVM (JDK 11 and newer): "
		"events with their fields and stacks, samples, and as hotspot's own events pauses of "
		"collections, waits for monitors, parks, sleeps and compilations; and CPU profiles of "
		"V8 (node --cpu-prof): samples. OUT is a recording "
		"that every command reads. 'tapir report' prints what the format does not have: "
		"no figure stands for what was not recorded.\n\n"
		"Functions have names where the files that were mapped are on this machine and have "
		"the build ID of the recording; for others, 'tapir symbolize' finds them later. "
		"Generated code has the names of jitdumps and perf maps that are still there. The "
		"format is recognized by the first bytes of FILE.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals =
		(const struct tapir_positional[]){
			{.name = "FILE",
			 .help = "perf.data, a nettrace file, a flight recording of a "
				 "JVM, or a CPU profile of V8",
			 .required = true,
			 .is_path = true},
			{}},
	.examples =
		(const struct tapir_example[]){
			{"import perf.data -o shop.tapir", "what perf record wrote"},
			{"import trace.nettrace -o shop.tapir", "what dotnet-trace collected"},
			{"import shop.jfr -o shop.tapir", "what 'jcmd PID JFR.dump' wrote"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run_import,
};
