// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir heap: the objects of a process by type, what they retain and what holds them. A JVM counts
 * classes itself and knows no references; its growth is sampled between two counts, of which the
 * second collects.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "base/sudo_user.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "cli/view_run.h"
#include "heap/heap.h"
#include "heap/heap_tables.h"

#define TOP	20
#define LIVE_NS (10 * TAPIR_NS_PER_SEC)

struct args {
	struct tapir_pids pids;
	const char *output;
	const char *type;
	uint64_t max_pause_ns, growth_ns;
	uint64_t top;
	bool force, live;
	bool json;
};

static const struct args defaults = {.max_pause_ns = TAPIR_HEAP_MAX_PAUSE_NS, .top = TOP};

static const struct tapir_option options[] = {
	TAPIR_PIDS("pid", 'p', "PID", "this process", struct args, pids),
	TAPIR_STRING("output", 'o', "FILE", "also keep the snapshot in FILE", struct args, output),
	TAPIR_FLAG("force", 'f', "replace FILE", struct args, force),
	TAPIR_DURATION("max-pause", 0, "TIME",
		       "let the suspended process wait for tapir at most this long in total; "
		       "objects that are lost after that are counted (default: 10)",
		       struct args, max_pause_ns, 1000000, 3600000000000ull),
	TAPIR_DURATION("growth", 'g', "TIME",
		       "take a second snapshot after this time, and show what grew, what holds it, "
		       "and who allocated it meanwhile",
		       struct args, growth_ns, 1000000, 86400000000000ull),
	TAPIR_FLAG(
		"live", 0,
		"sample what .NET or a JVM (17 or later) allocates for 10 s or --growth TIME, and "
		"show which of these objects are still alive, by the stacks that made them, and "
		"what holds them",
		struct args, live),
	TAPIR_STRING("type", 't', "GLOB", "only types whose names match", struct args, type),
	TAPIR_TOP("show N types, 0: all (default: 20)", struct args, top),
	TAPIR_FLAG("json", 0, "one JSON document", struct args, json),
	{}};

/* before: NULL: there is one snapshot. */
static int show_snapshot(const struct tapir_heap_snapshot *before,
			 const struct tapir_heap_snapshot *s,
			 const struct tapir_heap_allocations *allocations,
			 const struct tapir_heap_live *live, const struct args *args, bool is_live)
{
	const struct tapir_heap_tables_opts opts = {
		.top = args->top,
		.glob = args->type,
		.allocations = allocations,
		.live = live,
		.induced = is_live ? tapir_heap__induced(s) : NULL,
	};
	struct tapir_view_result result = {.view = before ? "heap-growth" : "heap",
					   .top = args->top};
	int err = before ? tapir_heap_tables__growth(before, s, &opts, &result)
			 : tapir_heap_tables__one(s, &opts, &result);

	if (!err)
		err = tapir_view_result__print(&result,
					       args->json ? TAPIR_VIEW_JSON : TAPIR_VIEW_TEXT);
	tapir_view_result__fini(&result);
	return err;
}

static int show_process(const struct args *args)
{
	struct tapir_writer_opts file = {
		.sz = sizeof(file), .path = args->output, .force = args->force};
	struct tapir_heap_snapshot s = {};
	struct tapir_heap_request request = {.tgid = args->pids.data[0],
					     .max_pause_ns = args->max_pause_ns,
					     .file = args->output ? &file : NULL};
	int err;

	file.has_owner = tapir_sudo_user__get(&file.uid, &file.gid);
	err = tapir_heap__take(&request, &s);
	if (!err)
		err = show_snapshot(NULL, &s, NULL, NULL, args, true);
	tapir_heap_snapshot__fini(&s);
	return err;
}

static void warn_of_lack(const char *lack, int err, int mark)
{
	if (err)
		tapir_warn("%s: %s", lack,
			   tapir_diag__cnt() > mark ? tapir_diag__line(mark)
						    : tapir_errno__text(err));
	tapir_diag__rewind(mark);
}

/*
 * Shows the growth of the heap of a runtime that is asked: objects are sampled between two counts,
 * of which the second collects.
 */
static int show_asked_growth(const struct args *args)
{
	const struct tapir_heap_request request = {.tgid = args->pids.data[0]};
	struct tapir_heap_snapshot before = {}, s = {};
	struct tapir_heap_live live = {};
	const char *note;
	int err = tapir_heap__take(&request, &before), mark = tapir_diag__cnt(), sampled;

	if (err)
		goto out;
	sampled = tapir_heap__begin_live(request.tgid, &note);
	tapir_heap_live__wait(args->growth_ns);
	err = tapir_heap__take(&request, &s);
	if (!sampled)
		sampled = tapir_heap__end_live(request.tgid, err ? NULL : &live);
	if (err)
		goto out;
	warn_of_lack("live objects were not sampled", sampled, mark);
	err = show_snapshot(&before, &s, NULL, sampled ? NULL : &live, args, true);
out:
	tapir_heap_live__fini(&live);
	tapir_heap_snapshot__fini(&before);
	tapir_heap_snapshot__fini(&s);
	return err;
}

static int print_live(const struct tapir_heap_live *live, const struct args *args, const char *note)
{
	struct tapir_view_result result = {.view = "heap-live", .top = args->top};
	int err;

	tapir_heap_live__add_headline(live, &result.headline);
	tapir_heap_live__add_table(live, args->top, &result);
	tapir_view_result__note(&result, "%s", note);
	err = result.headline.failed
		      ? -ENOMEM
		      : tapir_view_result__print(&result,
						 args->json ? TAPIR_VIEW_JSON : TAPIR_VIEW_TEXT);
	tapir_view_result__fini(&result);
	return err;
}

static int show_asked_live(const struct args *args)
{
	const struct tapir_heap_request request = {.tgid = args->pids.data[0]};
	struct tapir_heap_snapshot collected = {};
	struct tapir_heap_live live = {};
	const char *note;
	int err = tapir_heap__begin_live(request.tgid, &note), ended;

	if (err)
		return err;
	tapir_heap_live__wait(args->growth_ns ? args->growth_ns : LIVE_NS);
	err = tapir_heap__take(&request, &collected);
	ended = tapir_heap__end_live(request.tgid, err ? NULL : &live);
	err = err ? err : ended;
	if (!err)
		err = print_live(&live, args, note);
	tapir_heap_live__fini(&live);
	tapir_heap_snapshot__fini(&collected);
	return err;
}

/* Records what .NET allocates for a time, and its heap after it. live: of a complete one. */
static int follow_dotnet(const struct args *args, uint64_t follow_ns,
			 struct tapir_heap_allocations *allocations, struct tapir_heap_snapshot *s,
			 struct tapir_heap_live *live)
{
	const struct tapir_heap_record_opts opts = {.tgid = args->pids.data[0],
						    .max_pause_ns = args->max_pause_ns,
						    .follow_ns = follow_ns};
	int err = tapir_heap_allocations__record(allocations, &opts, s);

	return err || !s->has_references ? err : tapir_heap_live__join(live, allocations, s);
}

static int show_dotnet_live(const struct args *args)
{
	struct tapir_heap_allocations allocations = TAPIR_HEAP_NO_ALLOCATIONS;
	struct tapir_heap_snapshot s = {};
	struct tapir_heap_live live = {};
	int err = follow_dotnet(args, args->growth_ns ? args->growth_ns : LIVE_NS, &allocations, &s,
				&live);

	if (!err && !s.has_references)
		err = tapir_diag__fail(-ENODATA, "which objects are alive is not known: %s",
				       s.rows.cnt ? s.incomplete
						  : "the recording ended before the collection "
						    "that lists them");
	if (!err)
		err = print_live(&live, args,
				 "a sample stands for about 100 KB of allocations; tapir made the "
				 "process collect all generations to see which are alive");
	tapir_heap_live__fini(&live);
	tapir_heap_allocations__fini(&allocations);
	tapir_heap_snapshot__fini(&s);
	return err;
}

static int show_live(const struct args *args)
{
	switch (tapir_heap__live_way(args->pids.data[0])) {
	case TAPIR_HEAP_LIVE_ASKED:
		return show_asked_live(args);
	case TAPIR_HEAP_LIVE_DOTNET:
		return show_dotnet_live(args);
	default:
		return tapir_heap__refuse_live(args->pids.data[0]);
	}
}

/*
 * If the runtime reports no allocations, or Ctrl-C ended the recording of them, what grew is shown
 * without them.
 */
static int show_growth(const struct args *args)
{
	const struct tapir_heap_request request = {.tgid = args->pids.data[0],
						   .max_pause_ns = args->max_pause_ns};
	struct tapir_heap_allocations allocations = TAPIR_HEAP_NO_ALLOCATIONS;
	struct tapir_heap_snapshot before = {}, s = {};
	struct tapir_heap_live live = {};
	int err = tapir_heap__take(&request, &before), mark, recorded;

	if (!err) {
		mark = tapir_diag__cnt();
		recorded = follow_dotnet(args, args->growth_ns, &allocations, &s, &live);
		warn_of_lack("allocations were not recorded", recorded, mark);
		if (!s.rows.cnt)
			err = tapir_heap__take(&request, &s);
		if (!err)
			err = show_snapshot(&before, &s, recorded ? NULL : &allocations,
					    live.rows.cnt ? &live : NULL, args, true);
	}
	tapir_heap_live__fini(&live);
	tapir_heap_allocations__fini(&allocations);
	tapir_heap_snapshot__fini(&before);
	tapir_heap_snapshot__fini(&s);
	return err;
}

static int show_files(const struct args *args, const char *before_path, const char *path)
{
	struct tapir_heap_snapshot before = {}, s = {};
	int err = before_path ? tapir_heap__open(before_path, &before) : 0;

	if (!err)
		err = tapir_heap__open(path, &s);
	if (!err)
		err = show_snapshot(before_path ? &before : NULL, &s, NULL, NULL, args, false);
	tapir_heap_snapshot__fini(&before);
	tapir_heap_snapshot__fini(&s);
	return err;
}

static int show_asked(const struct args *args)
{
	if (args->live)
		return show_live(args);
	if (!args->growth_ns)
		return show_process(args);
	return tapir_heap__live_way(args->pids.data[0]) == TAPIR_HEAP_LIVE_ASKED
		       ? show_asked_growth(args)
		       : show_growth(args);
}

static int run_heap(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	const char *const *words = cli->words.data;
	size_t cnt = cli->words.cnt;

	if (args->pids.cnt > 1)
		return tapir_cli__usage(cli, "-p takes one process");
	if (args->pids.cnt && cnt)
		return tapir_cli__usage(cli, "-p and FILE exclude each other");
	if (args->output && (!args->pids.cnt || tapir_writer__is_stdout(args->output)))
		return tapir_cli__usage(cli, "-o FILE requires -p and the name of a file");
	if (args->growth_ns && (!args->pids.cnt || args->output))
		return tapir_cli__usage(cli, "--growth requires -p and excludes -o");
	if (args->live && (!args->pids.cnt || args->output))
		return tapir_cli__usage(cli, "--live requires -p and excludes -o");
	if (args->pids.cnt)
		return show_asked(args);
	if (cnt == 1)
		return show_files(args, NULL, words[0]);
	if (cnt == 3 && !strcmp(words[0], "diff"))
		return show_files(args, words[1], words[2]);
	return tapir_cli__usage(cli, "-p PID, a snapshot FILE, or diff FILE FILE is required");
}

const struct tapir_command tapir_cmd_heap = {
	.name = "heap",
	.summary = "show the objects of a process by type, and what holds them",
	.synopsis = "-p PID [-o FILE | --growth TIME] | FILE | diff FILE FILE",
	.text = "Lists the objects of a .NET process (8, 9, 10) by type: count, bytes, the bytes "
		"they retain (what would be freed with them, by dominators), and for the types that "
		"retain most a shortest path to a root (on a thread's stack only where there is "
		"no other), with the name of the static field where "
		"there is one. For a JVM, count and bytes by class, as the JVM itself reports "
		"them.\n\n"
		"The process collects all generations (a JVM its whole heap) and is suspended "
		"while it lists its objects. When tapir is 4 MB behind, the process waits for it, "
		"all waits together no longer than --max-pause. If objects are missing after that, "
		"the output begins with 'incomplete'.\n\n"
		"With --growth, two snapshots and samples of the allocations in between show which "
		"types grow, what holds them, and which functions allocate what stays alive; --live "
		"shows only the samples. .NET's runtime samples one object per about 100 KB, and "
		"tapir follows it through collections, which take longer meanwhile. For a JVM "
		"(OpenJDK 17 or later), its flight recorder keeps at most 256 live objects; if "
		"tapir is killed, 'jcmd PID JFR.stop name=tapir' ends the sampling.\n\n"
		"FILE is a recording, which 'tapir export --format nettrace' converts for TraceEvent, "
		"with its objects and references. 'diff' shows which types grew from one FILE to the "
		"other, and what holds them.\n\n"
		"Requires the privileges of 'tapir record -p' (root).",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals = (const struct tapir_positional[]){{.name = "FILE",
							  .help = "a snapshot that -o wrote",
							  .many = true,
							  .is_path = true},
							 {}},
	.examples =
		(const struct tapir_example[]){
			{"heap -p 4711", "what its memory is used for"},
			{"heap -p 4711 --growth 30", "what leaks, what holds it, who allocates it"},
			{"heap -p 4711 --live", "what allocated the objects that stay alive"},
			{"heap -p 4711 -o before.tapir", "the same, kept for later"},
			{"heap diff before.tapir after.tapir", "what grew in between"},
			{"heap -p 4711 --type 'MyApp.*' --json | jq '.by_type[0]'",
			 "the types of one namespace"},
			{}},
	.args_bytes = sizeof(struct args),
	.defaults = &defaults,
	.reads_foreign_files = true,
	.run = run_heap,
};
