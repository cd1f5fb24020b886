// SPDX-License-Identifier: GPL-2.0-or-later
/* tapir list: the probes of files and processes, as a table or one JSON object a site. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/discover.h"
#include "attach/proc.h"
#include "attach/spec.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "elf/operand.h"

struct args {
	struct tapir_pids pids;
	bool all;
	bool json;
};

static const struct tapir_option options[] = {
	TAPIR_PIDS("pid", 'p', "PID", "the files this process maps; more than once, or PID,PID",
		   struct args, pids),
	TAPIR_FLAG("all", 'a', "the files every process of the machine maps", struct args, all),
	TAPIR_FLAG("json", 0, "one JSON object a line, one for each site", struct args, json),
	{}};

/* ---- whose probes ----------------------------------------------------------------------- */

struct question {
	const char *path; /* NULL: processes */
	const char *glob; /* NULL: all probes */
};

/* A word with a '/' in it, or that is a file here, is the PATH; the other one is the GLOB. */
static int understand(const struct tapir_cli *cli, struct question *q)
{
	const struct args *args = cli->args;

	for (size_t i = 0; i < cli->words.cnt; i++) {
		const char *word = cli->words.data[i];
		bool is_path = !args->all && !args->pids.cnt && !q->path &&
			       (strchr(word, '/') || !access(word, F_OK));

		if (!is_path && q->glob)
			return tapir_cli__usage(cli,
						"'%s' and '%s': one GLOB at a time, such as "
						"'gc__*' or 'hotspot:gc__*'",
						q->glob, word);
		*(is_path ? &q->path : &q->glob) = word;
	}
	if (args->all && args->pids.cnt)
		return tapir_cli__usage(cli,
					"--all has every process in it: leave out -p, or --all");
	if (!args->all && !args->pids.cnt && !q->path)
		return tapir_cli__usage(cli,
					"whose probes? a process (tapir list -p 4242), a file "
					"(tapir list /usr/bin/python3) or all (tapir list --all)");
	return 0;
}

static int discover_process(uint32_t tgid, struct tapir_discovery *d)
{
	struct tapir_proc proc;
	int err = tapir_proc__read(tgid, &proc); /* knows best what is wrong with a pid */

	if (err)
		return err;
	tapir_proc__fini(&proc);
	return tapir_discover__process(tgid, d);
}

static int discover(const struct args *args, const struct question *q, struct tapir_discovery *d)
{
	int err = 0;

	if (q->path)
		return tapir_discover__file(q->path, d);
	if (args->all)
		return tapir_discover__all(d);
	for (size_t i = 0; i < args->pids.cnt && !err; i++)
		err = discover_process(args->pids.data[i], d);
	return err;
}

/* ---- which of them ---------------------------------------------------------------------- */

struct chosen tapir_vec(struct tapir_site_info);

/* GLOB without ':' is asked of provider and event; with one it is a SPEC. */
static bool is_chosen(const struct tapir_site_info *site, const char *glob,
		      const struct tapir_spec *spec)
{
	if (!glob)
		return true;
	if (strchr(glob, ':'))
		return tapir_spec__matches(spec, NULL, site->note->provider, site->note->name);
	return tapir_glob__match(glob, site->note->provider) ||
	       tapir_glob__match(glob, site->note->name);
}

static int by_name(const void *a, const void *b)
{
	const struct tapir_site_info *x = a, *y = b;
	int order = strcmp(x->note->provider, y->note->provider);

	order = order ? order : strcmp(x->note->name, y->note->name);
	order = order ? order : strcmp(x->file->path, y->file->path);
	order = order ? order : strcmp(x->note->args_text, y->note->args_text);
	if (order)
		return order;
	return x->note->site_off < y->note->site_off ? -1 : x->note->site_off > y->note->site_off;
}

static int nothing_chosen(const struct tapir_discovery *d, const char *glob,
			  const struct tapir_spec *spec)
{
	const struct tapir_usdt_note *near = tapir_discovery__nearest(d, spec);

	if (near)
		return tapir_diag__fail(-ENOENT, "No probe is called '%s': did you mean '%s:%s'?",
					glob, near->provider, near->name);
	return tapir_diag__fail(-ENOENT, "No probe is called '%s'; without it all %zu are listed",
				glob, d->sites.cnt);
}

/* Sorted; the sites are borrowed from the discovery. */
static int choose(const struct tapir_discovery *d, const char *glob, struct chosen *chosen)
{
	struct tapir_str text = {};
	struct tapir_spec *spec = NULL;
	const struct tapir_site_info *site;
	int err = 0;

	/* a plain word may be an event's name: that is what near misses are sought for */
	tapir_str__addf(&text, "%s%s", glob && strchr(glob, ':') ? "" : "*:", glob ? glob : "*");
	err = text.data ? tapir_spec__parse(text.data, &spec) : -ENOMEM;
	tapir_vec_for_each (site, &d->sites)
		if (!err && is_chosen(site, glob, spec) && !tapir_vec__push(chosen, *site))
			err = -ENOMEM;
	if (!err && glob && d->sites.cnt && !chosen->cnt)
		err = nothing_chosen(d, glob, spec);
	if (chosen->cnt)
		qsort(chosen->data, chosen->cnt, sizeof(*chosen->data), by_name);
	tapir_spec__free(spec);
	tapir_str__fini(&text);
	return err == -EINVAL ? TAPIR_CLI_USAGE : err;
}

/* ---- as a table --------------------------------------------------------------------------- */

static const char *type_letter(const struct tapir_usdt_note *note, unsigned i)
{
	if (note->kinds[0] && strlen(note->kinds) > i) {
		switch (note->kinds[i]) {
		case 's':
			return "str";
		case 'p':
			return "ptr";
		case 'b':
			return "bool";
		case 'c':
			return "char";
		case 'f':
			return "f";
		}
	}
	return note->args[i].is_float ? "f" : note->args[i].is_signed ? "i" : "u";
}

/* "name:u64", "i32" without a name, "?" for one that cannot be read. */
static void add_arg(struct tapir_str *out, const struct tapir_usdt_note *note, unsigned i)
{
	const char *type = type_letter(note, i);

	if (i)
		tapir_str__addc(out, ' ');
	if (note->arg_names[i] && *note->arg_names[i])
		tapir_str__addf(out, "%s:", note->arg_names[i]);
	if (note->reasons[i] != TAPIR_OPERAND_OK)
		tapir_str__addc(out, '?');
	else if (type[1])
		tapir_str__adds(out, type);
	else
		tapir_str__addf(out, "%s%u", type, note->args[i].size * 8u);
}

static void describe_args(struct tapir_str *out, const struct tapir_usdt_note *note)
{
	tapir_str__clear(out);
	for (unsigned i = 0; i < note->arg_cnt; i++)
		add_arg(out, note, i);
	if (note->dropped_arg_cnt)
		tapir_str__addf(out, " +%u", note->dropped_arg_cnt);
}

/* Same probe, same file, same types: one row. */
static bool same_row(const struct tapir_site_info *a, const struct tapir_site_info *b)
{
	struct tapir_str a_args = {}, b_args = {};
	bool same;

	if (strcmp(a->note->provider, b->note->provider) || strcmp(a->note->name, b->note->name) ||
	    a->file != b->file)
		return false;
	describe_args(&a_args, a->note);
	describe_args(&b_args, b->note);
	same = !strcmp(a_args.data ? a_args.data : "", b_args.data ? b_args.data : "");
	tapir_str__fini(&a_args);
	tapir_str__fini(&b_args);
	return same;
}

static void add_row(struct tapir_table *table, const struct tapir_site_info *site, size_t site_cnt)
{
	struct tapir_str args = {};

	describe_args(&args, site->note);
	tapir_table__cell(table, site->note->provider);
	tapir_table__cell(table, site->note->name);
	tapir_table__cell(table, args.len ? args.data : "-");
	tapir_table__cell_u64(table, site_cnt);
	tapir_table__cell(table, site->note->semaphore_off ? "yes" : "-");
	tapir_table__cell(table, site->file->path);
	tapir_str__fini(&args);
}

static void write_table(const struct chosen *chosen, struct tapir_str *out)
{
	static const char *const titles[] = {"PROVIDER",  "EVENT", "ARGUMENTS", ">SITES",
					     "SEMAPHORE", "FILE",  NULL};
	struct tapir_table table = {.titles = titles};
	size_t first = 0;

	for (size_t i = 1; i <= chosen->cnt; i++) {
		if (i < chosen->cnt && same_row(&chosen->data[first], &chosen->data[i]))
			continue;
		add_row(&table, &chosen->data[first], i - first);
		first = i;
	}
	if (chosen->cnt)
		tapir_table__write(&table, tapir_terminal__palette(stdout), out);
	tapir_table__fini(&table);
}

/* ---- as JSON ------------------------------------------------------------------------------ */

static void write_arg(struct tapir_json *j, const struct tapir_usdt_note *note, unsigned i)
{
	const struct tapir_operand *operand = &note->args[i];
	size_t len = 0;
	const char *text = tapir_usdt_note__arg_text(note, i, &len);
	const char *at = text ? memchr(text, '@', len) : NULL;

	tapir_json__open(j, NULL, '{');
	if (note->arg_names[i] && *note->arg_names[i])
		tapir_json__str(j, "name", note->arg_names[i]);
	tapir_json__u64(j, "size", operand->size);
	tapir_json__bool(j, "signed", operand->is_signed);
	tapir_json__bool(j, "float", operand->is_float);
	if (at)
		tapir_json__strn(j, "operand", at + 1, len - (size_t)(at + 1 - text));
	else
		tapir_json__strn(j, "operand", text ? text : "", len);
	if (note->reasons[i] != TAPIR_OPERAND_OK)
		tapir_json__str(j, "reason", tapir_operand_reason__text(note->reasons[i]));
	tapir_json__close(j, '}');
}

static void write_site(const struct tapir_site_info *site, struct tapir_str *out)
{
	struct tapir_json j = tapir_json__to(out);
	struct tapir_str build_id = {};

	for (size_t i = 0; i < site->file->build_id_bytes; i++)
		tapir_str__addf(&build_id, "%02x", site->file->build_id[i]);
	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "provider", site->note->provider);
	tapir_json__str(&j, "name", site->note->name);
	tapir_json__str(&j, "file", site->file->path);
	tapir_json__u64(&j, "offset", site->note->site_off);
	tapir_json__u64(&j, "semaphore", site->note->semaphore_off);
	tapir_json__str(&j, "build_id", build_id.data ? build_id.data : "");
	tapir_json__open(&j, "args", '[');
	for (unsigned i = 0; i < site->note->arg_cnt; i++)
		write_arg(&j, site->note, i);
	tapir_json__close(&j, ']');
	tapir_json__close(&j, '}');
	tapir_str__addc(out, '\n');
	tapir_str__fini(&build_id);
}

/* ---- the command -------------------------------------------------------------------------- */

static int write_all(const struct chosen *chosen, bool json)
{
	const struct tapir_site_info *site;
	struct tapir_str out = {};
	int err;

	if (!json)
		write_table(chosen, &out);
	tapir_vec_for_each (site, chosen)
		if (json)
			write_site(site, &out);
	err = tapir_terminal__flush(&out);
	tapir_str__fini(&out);
	return err;
}

static void say_what_was_not_seen(const struct tapir_discovery *d, const struct question *q)
{
	if (!d->sites.cnt && q->path)
		tapir_info("%s has no USDT probes", q->path);
	else if (!d->sites.cnt)
		tapir_info("none of the %zu mapped files has USDT probes", d->file_cnt);
	if (d->skipped_process_cnt)
		tapir_warn("processes not ours to look at: %zu; be root, or have CAP_SYS_PTRACE",
			   d->skipped_process_cnt);
	if (d->skipped_file_cnt)
		tapir_debug("%zu mapped files could not be read", d->skipped_file_cnt);
}

static int run(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct tapir_discovery discovery = {};
	struct question q = {};
	struct chosen chosen = {};
	int err = understand(cli, &q);

	if (!err)
		err = discover(args, &q, &discovery);
	if (!err)
		err = choose(&discovery, q.glob, &chosen);
	if (!err)
		say_what_was_not_seen(&discovery, &q);
	if (!err)
		err = write_all(&chosen, args->json);
	tapir_vec__fini(&chosen);
	tapir_discovery__fini(&discovery);
	return err;
}

const struct tapir_command tapir_cmd_list = {
	.name = "list",
	.summary = "the probes of a process, a file or everything that runs",
	.synopsis = "[-p PID | PATH | --all] [GLOB] [--json]",
	.text = "Shows every USDT probe with the arguments it carries: u64, i32, f64 ... is their "
		"type,\n"
		"with a name where the program tells one; '?' cannot be read (--json says why), "
		"the\n"
		"probe fires all the same. A probe with a semaphore costs its program nothing but "
		"a\n"
		"test until it is traced. Nothing is attached and nothing is changed by looking.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.positionals =
		(const struct tapir_positional[]){
			{.name = "PATH", .help = "a program or library", .is_path = true},
			{.name = "GLOB",
			 .help = "only these: a provider or event ('gc__*'), or PROVIDER:EVENT"},
			{}},
	.examples =
		(const struct tapir_example[]){
			{"list -p 4242", "all probes this process could fire"},
			{"list -p 4242 'gc__*'", "its garbage collection"},
			{"list /usr/bin/python3", "a program that does not run yet"},
			{"list --all --json | jq -r .provider | sort | uniq -c",
			 "which providers are there on this machine?"},
			{}},
	.args_bytes = sizeof(struct args),
	.run = run,
};
