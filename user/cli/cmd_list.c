// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir list: whose probes, and which of them; list_view.c shows them. A word with a '/', or that
 * is a file here, is the PATH, the other one the GLOB. What cannot be listed (no right, no answer)
 * is said on stderr: an empty list must not look like a process without probes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/discover.h"
#include "attach/proc.h"
#include "spec/machine_source.h"
#include "spec/spec.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/list_machine.h"
#include "output/render/list_counters.h"
#include "output/render/list_dotnet.h"
#include "decode/note_select.h"
#include "output/render/list_rings.h"
#include "output/render/list_view.h"
#include "output/render/screen.h"
#include "cli/terminal.h"
#include "runtime/peer/probe_links.h"
#include "attach/flow/seen_names.h"
#include "base/foreign/foreign_file.h"
#include "spec/runtime_db/lore.h"
#include "runtime/event_ops.h"
#include "runtime/runtime_ops.h"
#include "runtime/started_with.h"

struct args {
	struct tapir_pids pids;
	bool all;
	bool json;
};

static const struct tapir_option options[] = {
	TAPIR_PIDS("pid", 'p', "PID", "the files this process maps; repeatable, or PID,PID",
		   struct args, pids),
	TAPIR_FLAG("all", 'a', "the files that all processes map", struct args, all),
	TAPIR_FLAG("json", 0, "one JSON object per line, one per site", struct args, json),
	{}};

/* ---- whose probes ----------------------------------------------------------------------- */

struct question {
	const char *path; /* NULL: processes */
	const char *glob; /* NULL: all probes */
};

static bool is_here(const char *word)
{
	tapir_autofd int path_fd = tapir_foreign__take_own(word);

	return path_fd >= 0;
}

/* A word with a '/' in it, or that is a file here, is the PATH; the other one is the GLOB. */
static int understand(const struct tapir_cli *cli, struct question *q)
{
	const struct args *args = cli->args;

	for (size_t i = 0; i < cli->words.cnt; i++) {
		const char *word = cli->words.data[i];
		bool is_path = !args->all && !args->pids.cnt && !q->path &&
			       (strchr(word, '/') || is_here(word));

		if (!is_path && q->glob)
			return tapir_cli__usage(cli,
						"only one GLOB can be given, not '%s' and '%s'",
						q->glob, word);
		*(is_path ? &q->path : &q->glob) = word;
	}
	if (args->all && args->pids.cnt)
		return tapir_cli__usage(cli,
					"--all already includes every process: remove -p or --all");
	if (!args->all && !args->pids.cnt && !q->path)
		return tapir_cli__usage(
			cli,
			"a process (tapir list -p 4242), a file (tapir list /usr/bin/python3) or --all is required");
	return 0;
}

/*
 * Prints on stderr which runtime the process has: it may have events without having probes. True:
 * the runtime lists its events when it is asked.
 */
static bool print_runtime(uint32_t tgid)
{
	struct tapir_runtime_info info = {};
	int mark = tapir_diag__cnt();

	if (tapir_runtimes__inspect(tgid, &info) > 0)
		tapir_info("process %u runs %s", tgid, info.description);
	tapir_diag__rewind(mark);
	return info.declares_events;
}

struct found {
	struct tapir_discovery sites;
	struct tapir_ring_event_list rings; /* of the processes that were named */
	struct tapir_ring_counter_list counters;
	struct tapir_event_sources dotnet; /* of the last of them that is .NET */
};

static int discover_process(uint32_t tgid, struct found *found)
{
	struct tapir_proc proc;
	int err = tapir_proc__read_running(tgid, &proc); /* knows best what is wrong with a pid */

	if (err)
		return err;
	if (proc.is_kernel_thread)
		err = tapir_diag__fail(
			-EOPNOTSUPP,
			"process %u (%s) is a kernel thread: it runs no program that "
			"could have events",
			tgid, proc.comm);
	tapir_proc__fini(&proc);
	if (err)
		return err;
	if (print_runtime(tgid)) {
		tapir_event_sources__fini(&found->dotnet);
		found->dotnet = (struct tapir_event_sources){};
		tapir_event_specs__add_sources(&found->dotnet, tgid);
		err = tapir_list_dotnet__add(&found->dotnet);
	}
	if (!err)
		err = tapir_discover__process(tgid, &found->sites);
	return err ? err : tapir_list_rings__add(tgid, &found->rings, &found->counters);
}

static int discover(const struct args *args, const struct question *q, struct found *found)
{
	int err = 0;

	if (q->path)
		return tapir_discover__file(q->path, &found->sites);
	if (args->all)
		return tapir_discover__all(&found->sites);
	for (size_t i = 0; i < args->pids.cnt && !err; i++)
		err = discover_process(args->pids.data[i], found);
	return err;
}

/* Files of --publish have no path that opens them; the tapir that has them made made links. */
static void find_links(struct tapir_discovery *d)
{
	struct tapir_probe_file **file;

	tapir_vec_for_each (file, &d->files)
		if ((*file)->tgid)
			(*file)->link = tapir_probe_links__find((*file)->tgid, (*file)->openable);
}

/* ---- which of them ---------------------------------------------------------------------- */

/* GLOB without ':' is asked of provider and event; with one it is a SPEC. */
static bool is_chosen(const struct tapir_site_info *site, const char *glob,
		      const struct tapir_spec *spec)
{
	if (!glob)
		return true;
	if (strchr(glob, ':'))
		return tapir_usdt_note__is_selected(site->note, spec, NULL);
	return tapir_glob__match(glob, site->note->provider) ||
	       tapir_glob__match(glob, site->note->name);
}

static int by_name(const void *a, const void *b)
{
	const struct tapir_site_info *x = a, *y = b;
	int order = strcmp(x->note->provider, y->note->provider);

	order = order ? order : strcmp(x->note->name, y->note->name);
	order = order ? order
		      : strcmp(tapir_probe_file__shown(x->file), tapir_probe_file__shown(y->file));
	order = order ? order : strcmp(x->note->args_text, y->note->args_text);
	if (order)
		return order;
	return x->note->site_off < y->note->site_off ? -1 : x->note->site_off > y->note->site_off;
}

/* seen: of everything that is there. */
static int nothing_chosen(const struct tapir_seen_names *seen, const char *glob,
			  const struct tapir_spec *spec)
{
	const char *near = tapir_spec__suggest(spec, seen->all.data, seen->all.cnt);

	if (near)
		return tapir_diag__fail(-ENOENT, "no probe is named '%s'; the nearest is '%s'",
					glob, near);
	return tapir_diag__fail(-ENOENT,
				"no probe matches '%s'; 'tapir list' without GLOB lists all %zu",
				glob, seen->all.cnt);
}

static void add_seen(const struct found *found, struct tapir_seen_names *seen)
{
	const struct tapir_site_info *site;
	const struct tapir_ring_event_info *event;
	const struct tapir_ring_counter_info *counter;
	struct tapir_probe_view view;

	tapir_vec_for_each (site, &found->sites.sites)
		tapir_seen_names__add(seen, tapir_sv__of(site->note->provider),
				      tapir_sv__of(site->note->name));
	tapir_vec_for_each (event, &found->rings) {
		tapir_probe_view__of(event->probe, &view);
		tapir_seen_names__add(seen, view.provider, view.event);
	}
	tapir_vec_for_each (counter, &found->counters) {
		tapir_probe_view__of(counter->probe, &view);
		tapir_seen_names__add(seen, view.provider, view.event);
	}
	tapir_list_dotnet__add_seen(&found->dotnet, seen);
}

/* Sorted; the sites are borrowed from the discovery. Of the rings only those stay that match. */
static int choose_sites(struct found *found, const char *glob, struct tapir_chosen_sites *chosen)
{
	const char *word = glob && !strchr(glob, ':') ? glob : NULL;
	struct tapir_seen_names seen = {};
	struct tapir_str text = {};
	struct tapir_spec *spec = NULL;
	const struct tapir_site_info *site;
	int err = 0;

	/* a plain word may be an event's name: that is what near misses are sought for */
	tapir_str__addf(&text, "%s%s", word ? "*:" : "", glob ? glob : "*");
	err = text.data ? tapir_spec__parse(text.data, &spec) : -ENOMEM;
	tapir_vec_for_each (site, &found->sites.sites)
		if (!err && is_chosen(site, glob, spec) && !tapir_vec__push(chosen, *site))
			err = -ENOMEM;
	add_seen(found, &seen);
	if (!err && glob) {
		tapir_list_rings__choose(&found->rings, word, spec);
		tapir_list_counters__choose(&found->counters, word, spec);
		tapir_list_dotnet__choose(&found->dotnet, word, spec);
	}
	if (!err && glob && seen.all.cnt && !chosen->cnt && !found->rings.cnt &&
	    !found->counters.cnt && !found->dotnet.all.cnt)
		err = nothing_chosen(&seen, glob, spec);
	if (chosen->cnt)
		qsort(chosen->data, chosen->cnt, sizeof(*chosen->data), by_name);
	tapir_spec__free(spec);
	tapir_str__fini(&text);
	tapir_seen_names__fini(&seen);
	return err == -EINVAL ? TAPIR_CLI_USAGE : err;
}

/* ---- the command -------------------------------------------------------------------------- */

/* One after the other, with an empty line between. */
static void write_tables(const struct tapir_chosen_sites *chosen, const struct found *found,
			 bool with_events, struct tapir_str *out)
{
	const struct tapir_palette *palette = tapir_screen__palette(stdout);

	tapir_list__write_table(chosen, palette, out);
	if (chosen->cnt && found->rings.cnt)
		tapir_str__addc(out, '\n');
	tapir_list_rings__write_table(&found->rings, palette, out);
	if (out->len && found->counters.cnt)
		tapir_str__addc(out, '\n');
	tapir_list_counters__write_table(&found->counters, palette, out);
	if (out->len && found->dotnet.all.cnt)
		tapir_str__addc(out, '\n');
	tapir_list_dotnet__write_table(&found->dotnet, with_events, palette, out);
}

static int write_sites(const struct tapir_chosen_sites *chosen, const struct found *found,
		       const struct question *q, bool json)
{
	struct tapir_str out = {};
	int err;

	if (json) {
		tapir_list__write_json(chosen, &out);
		tapir_list_rings__write_json(&found->rings, &out);
		tapir_list_counters__write_json(&found->counters, &out);
		tapir_list_dotnet__write_json(&found->dotnet, &out);
	} else {
		write_tables(chosen, found, q->glob != NULL, &out);
	}
	err = tapir_terminal__flush(&out);
	tapir_str__fini(&out);
	return err;
}

static void print_unread_processes(const struct tapir_discovery *d, const struct question *q)
{
	if (!d->sites.cnt && q->path)
		tapir_info("%s has no USDT probes", q->path);
	else if (!d->sites.cnt)
		tapir_info("none of the %zu mapped files has USDT probes", d->file_cnt);
	if (d->bad_probe_cnt)
		tapir_info(
			"%zu invalid probes are left out: their address is outside their file, or their name is empty, longer than 511 bytes, or contains blanks or control characters",
			d->bad_probe_cnt);
	if (d->skipped_process_cnt)
		tapir_warn("%zu process%s could not be inspected: %s", d->skipped_process_cnt,
			   d->skipped_process_cnt == 1 ? "" : "es",
			   geteuid() ? "run as root or with CAP_SYS_PTRACE"
				     : "the kernel denies it, also to root");
	if (d->skipped_file_cnt)
		tapir_debug("%zu mapped files could not be read", d->skipped_file_cnt);
}

/* Once for each condition that any of the processes was not started with. */
static void print_silent_sites(const struct tapir_chosen_sites *chosen, const struct args *args)
{
	const struct tapir_lore_condition *reported[16] = {}, *c;
	const struct tapir_site_info *site;
	size_t cnt = 0;

	tapir_vec_for_each (site, chosen) {
		bool is_known = false, fires = true;

		c = tapir_lore__condition(site->note->provider, site->note->name);
		for (size_t i = 0; i < cnt; i++)
			is_known |= reported[i] == c;
		for (size_t i = 0; c && !is_known && i < args->pids.cnt; i++)
			fires &= tapir_started_with(args->pids.data[i], c);
		if (fires || cnt == sizeof(reported) / sizeof(*reported))
			continue;
		reported[cnt++] = c;
		tapir_info("%s:%s fires only %s", site->note->provider, site->note->name, c->needs);
	}
}

static int run_list(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct found found = {};
	struct question q = {};
	struct tapir_chosen_sites chosen = {};
	int err;

	if (cli->words.cnt == 1 && tapir_machine_source__is_one(cli->words.data[0])) {
		err = tapir_list_machine__print(cli->words.data[0], args->json);
		return err == -EINVAL ? TAPIR_CLI_USAGE : err;
	}
	err = understand(cli, &q);
	if (!err)
		err = discover(args, &q, &found);
	find_links(&found.sites);
	if (!err)
		err = choose_sites(&found, q.glob, &chosen);
	if (!err)
		print_unread_processes(&found.sites, &q);
	if (!err)
		print_silent_sites(&chosen, args);
	if (!err)
		err = write_sites(&chosen, &found, &q, args->json);
	tapir_vec__fini(&chosen);
	tapir_discovery__fini(&found.sites);
	tapir_ring_events__fini(&found.rings);
	tapir_ring_counters__fini(&found.counters);
	tapir_event_sources__fini(&found.dotnet);
	return err;
}

const struct tapir_command tapir_cmd_list = {
	.name = "list",
	.summary = "list the probes of a process, a file or the whole machine",
	.synopsis = "[-p PID | PATH | --all] [GLOB] [--json]",
	.text = "Shows every USDT probe with the types of its arguments (u64, i32, str, "
		"...), and their names where known. An argument shown as '?' cannot be "
		"read (--json has the reason); the probe still fires. For .NET, shows the "
		"runtime's providers and the EventSources of loaded assemblies with their "
		"keywords, or with GLOB their events; for programs with libtapir, their ring "
		"events and counters. 'tracepoint:CATEGORY:NAME' and 'syscall:NAME' list what the kernel "
		"has, with the names of fields. Listing attaches to nothing and changes nothing.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals =
		(const struct tapir_positional[]){
			{.name = "PATH", .help = "a program or library", .is_path = true},
			{.name = "GLOB",
			 .help = "a provider or event ('gc__*'), PROVIDER:EVENT, or a source of the "
				 "machine ('tapir help spec')"},
			{}},
	.examples =
		(const struct tapir_example[]){
			{"list -p 4242", "all probes of a process"},
			{"list -p 4242 'gc__*'", "the probes of its garbage collector"},
			{"list -p 4242 'MyCompany-*'",
			 "the events of a .NET program's EventSources"},
			{"list /usr/bin/python3", "a program that is not running"},
			{"list 'tracepoint:sched:*'",
			 "tracepoints of the scheduler, and their fields"},
			{"list --all --json | jq -r .provider | sort | uniq -c",
			 "all providers on this machine"},
			{}},
	.args_bytes = sizeof(struct args),
	.reads_foreign_files = true,
	.run = run_list,
};
