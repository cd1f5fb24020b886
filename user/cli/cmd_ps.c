// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir ps: the processes that have more to record than CPU time and waits, one per line. Probes of
 * the C library do not count: every C program has them. Files are counted once, however many
 * processes map them.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attach/cgroup.h"
#include "attach/discover.h"
#include "attach/proc.h"
#include "attach/proc_usage.h"
#include "attach/ring_find.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/library.h"
#include "base/log.h"
#include "base/map.h"
#include "cli/commands.h"
#include "cli/pager.h"
#include "runtime/otel/otel_process.h"
#include "runtime/otel/otel_reader.h"
#include "spec/runtime_db/lore.h"
#include "output/render/table.h"
#include "output/render/screen.h"
#include "cli/terminal.h"
#include "runtime/recognize.h"

#define MAX_COLUMNS 32

struct args {
	bool all;
	bool json;
};

static const struct tapir_option options[] = {
	TAPIR_FLAG("all", 'a', "also processes with neither events nor probes", struct args, all),
	TAPIR_FLAG("json", 0, "one JSON object per line", struct args, json),
	{}};

/* ---- one process ------------------------------------------------------------------------ */

struct row {
	uint32_t pid, uid;
	char user[33];
	char comm[TAPIR_COMM_BYTES];
	char container[TAPIR_CONTAINER_ID_BYTES];
	char service[64]; /* as it says itself; cut; "": it does not */
	struct tapir_runtime_info runtime;
	uint64_t started_ms; /* CLOCK_MONOTONIC */
	uint64_t cpu_ns, resident_bytes;
	size_t probe_cnt; /* USDT sites */
	bool has_rings;
};

struct walk {
	const struct args *args;
	struct tapir_discovery discovery; /* files are read once, however many processes map them */
	struct tapir_map cnt_by_file;	  /* pack(), by device and inode */
	size_t known_file_cnt;		  /* of discovery.files, those in cnt_by_file */
	struct tapir_vec(struct row) rows;
	struct tapir_mappings mappings; /* of the process that is inspected: */
	size_t probe_cnt;		/* its sites, */
	bool may_have_rings, may_have_service;
	size_t hidden_cnt;
	struct tapir_otel_reader reader; /* of what they say of themselves */
};

/* Most rows have the user of a row before them: who has a uid is read from files, or asked for. */
static void fill_user(const struct walk *w, struct row *row)
{
	const struct passwd *user;

	for (size_t i = w->rows.cnt; i-- > 0;)
		if (w->rows.data[i].uid == row->uid) {
			memcpy(row->user, w->rows.data[i].user, sizeof(row->user));
			return;
		}
	/* The C library finds users by modules, which a static program cannot load. */
	user = tapir_program__is_static() ? NULL : getpwuid(row->uid);
	if (user)
		snprintf(row->user, sizeof(row->user), "%.32s", user->pw_name);
	else
		snprintf(row->user, sizeof(row->user), "%u", row->uid);
}

/* Every C or C++ program has these: they identify a program no more than CPU time does. */
static bool is_system_library(const char *provider)
{
	tapir_lore_for_each (lore)
		for (const char *const *p = lore->is_library ? lore->providers : NULL; p && *p; p++)
			if (!strcmp(provider, *p))
				return true;
	return false;
}

/*
 * Packs a value of cnt_by_file: the sites of a file, and the last process that was found to map it.
 */
static uint64_t pack(size_t site_cnt, uint32_t pid)
{
	return (uint64_t)site_cnt << 32 | pid;
}

static int add_new_files(struct walk *w)
{
	for (; w->known_file_cnt < w->discovery.files.cnt; w->known_file_cnt++) {
		const struct tapir_probe_file *file = w->discovery.files.data[w->known_file_cnt];
		uint64_t *packed = tapir_map__put(&w->cnt_by_file,
						  tapir_hash__mix(file->dev, file->inode), NULL);
		size_t cnt = 0;

		if (!packed)
			return -ENOMEM;
		for (size_t i = 0; i < file->notes.cnt; i++)
			cnt += !is_system_library(file->notes.data[i].provider);
		*packed = pack(cnt, 0);
	}
	return 0;
}

/* Once per file, however often it is mapped. */
static void count_probes(struct walk *w, const struct tapir_mapping_line *m)
{
	uint64_t *packed = tapir_map__get(&w->cnt_by_file, tapir_hash__mix(m->dev, m->inode));

	if (!packed || (uint32_t)*packed == w->mappings.tgid)
		return;
	w->probe_cnt += *packed >> 32;
	*packed = pack(*packed >> 32, w->mappings.tgid);
}

/*
 * A process that has rings, or publishes its name, maps files with these names: few others are
 * inspected further.
 */
static int see_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	struct walk *w = ctx;

	if (m->is_executable && tapir_mapping_line__is_file(m))
		count_probes(w, m);
	w->may_have_rings |= m->is_shared && m->inode && tapir_ring_name__is_ctl(m->path);
	w->may_have_service |= tapir_otel_process__is_header(m->path);
	return 0;
}

static void fill_rings(struct row *row)
{
	struct tapir_ring_lanes lanes = {};

	if (tapir_ring_lanes__find(row->pid, &lanes))
		return;
	row->has_rings = lanes.all.cnt > 0;
	tapir_ring_lanes__fini(&lanes);
}

/* Finds out what can be recorded of the process. */
static int inspect_process(struct walk *w, struct row *row)
{
	int err = tapir_mappings__read(row->pid, &w->mappings);

	w->probe_cnt = 0;
	w->may_have_rings = w->may_have_service = false;
	if (!err)
		err = tapir_runtime__recognize_in(&w->mappings, &row->runtime);
	if (!err)
		err = tapir_discover__mappings(&w->mappings, &w->discovery);
	if (!err)
		err = add_new_files(w);
	if (!err)
		err = tapir_mappings__each(&w->mappings, see_mapping, w);
	row->probe_cnt = w->probe_cnt;
	if (w->may_have_rings)
		fill_rings(row);
	return err;
}

static bool has_something(const struct row *row)
{
	return row->runtime.has_events || row->probe_cnt || row->has_rings;
}

/* Fills the other cells of the process's row. */
static int describe_process(struct walk *w, struct row *row)
{
	struct tapir_proc proc;
	int err = tapir_proc__read(row->pid, &proc);

	if (err)
		return err;
	row->uid = proc.uid;
	row->started_ms = proc.start_ns / TAPIR_NS_PER_MS;
	memcpy(row->comm, proc.comm, sizeof(row->comm));
	tapir_container__id(proc.cgroup, row->container);
	tapir_proc__fini(&proc);
	if (w->may_have_service)
		tapir_sv__copy(tapir_otel_reader__service(&w->reader, row->pid), row->service,
			       sizeof(row->service));
	fill_user(w, row);
	return 0;
}

/*
 * A process that has ended in the meantime, or is another user's, is not a failure. Of most
 * processes two files are read: whether they are the kernel's, and what they map.
 */
static int visit_process(uint32_t pid, void *ctx)
{
	struct walk *w = ctx;
	int diag_cnt = tapir_diag__cnt(), err;
	struct row row = {.pid = pid};
	struct tapir_proc_usage usage = {};
	bool is_listed;

	err = tapir_proc_usage__read_brief(pid, &usage);
	row.cpu_ns = usage.cpu_ns;
	row.resident_bytes = usage.resident_bytes;
	if (!err)
		err = inspect_process(w, &row);
	is_listed = !err && (w->args->all || has_something(&row));
	if (is_listed)
		err = describe_process(w, &row);
	tapir_diag__rewind(diag_cnt);
	w->hidden_cnt += err == -EACCES || err == -EPERM;
	if (err == -ENOMEM)
		return err;
	if (err || !is_listed)
		return 0;
	return tapir_vec__push(&w->rows, row) ? 0 : -ENOMEM;
}

/* ---- output ----------------------------------------------------------------------------- */

/* ".NET events, 12 probes" */
static void add_activity(struct tapir_str *out, const struct row *row)
{
	size_t from = out->len;

	if (row->runtime.has_events)
		tapir_str__adds(out, "events");
	if (row->has_rings && !row->runtime.has_events)
		tapir_str__addf(out, "%sring events", out->len > from ? ", " : "");
	if (row->probe_cnt)
		tapir_str__addf(out, "%s%zu probe%s", out->len > from ? ", " : "", row->probe_cnt,
				row->probe_cnt == 1 ? "" : "s");
	if (out->len == from)
		tapir_str__adds(out, "-");
}

/* "dotnet", "dotnet (checkout)" */
static void add_process_name(struct tapir_str *out, const struct row *row)
{
	tapir_str__add(out, row->comm, strnlen(row->comm, sizeof(row->comm)));
	if (*row->service)
		tapir_str__addf(out, " (%s)", row->service);
}

static void write_ps_table(const struct walk *w, struct tapir_str *out)
{
	static const char *const titles[] = {">PID", "USER",	"RUNTIME", "CONTAINER",
					     "NAME", "RECORDS", NULL};
	struct tapir_table table = {.titles = titles, .max_columns = MAX_COLUMNS};
	struct tapir_str text = {};
	const struct row *row;

	tapir_vec_for_each (row, &w->rows) {
		tapir_table__cell_u64(&table, row->pid);
		tapir_table__cell(&table, row->user);
		tapir_str__clear(&text);
		tapir_str__addf(&text, "%s%s%s", *row->runtime.name ? row->runtime.name : "-",
				*row->runtime.version ? " " : "", row->runtime.version);
		tapir_table__cell(&table, text.data ? text.data : "");
		tapir_table__cell(&table, *row->container ? row->container : "-");
		tapir_str__clear(&text);
		add_process_name(&text, row);
		tapir_table__cell(&table, text.data ? text.data : "");
		tapir_str__clear(&text);
		add_activity(&text, row);
		tapir_table__cell(&table, text.data ? text.data : "");
	}
	if (w->rows.cnt)
		tapir_table__write(&table, tapir_screen__palette(stdout), out);
	tapir_table__fini(&table);
	tapir_str__fini(&text);
}

static void write_json(const struct walk *w, struct tapir_str *out)
{
	const struct row *row;

	tapir_vec_for_each (row, &w->rows) {
		struct tapir_json j = tapir_json__to(out);

		tapir_json__open(&j, NULL, '{');
		tapir_json__u64(&j, "pid", row->pid);
		tapir_json__u64(&j, "started", row->started_ms);
		tapir_json__u64(&j, "uid", row->uid);
		tapir_json__str(&j, "user", row->user);
		tapir_json__strn(&j, "name", row->comm, strnlen(row->comm, sizeof(row->comm)));
		tapir_json__str(&j, "service", *row->service ? row->service : NULL);
		tapir_json__str(&j, "runtime", *row->runtime.name ? row->runtime.name : NULL);
		tapir_json__str(&j, "version", *row->runtime.version ? row->runtime.version : NULL);
		tapir_json__str(&j, "container", *row->container ? row->container : NULL);
		tapir_json__bool(&j, "events", row->runtime.has_events);
		tapir_json__bool(&j, "rings", row->has_rings);
		tapir_json__u64(&j, "probes", row->probe_cnt);
		tapir_json__u64(&j, "cpu_ns", row->cpu_ns);
		tapir_json__u64(&j, "resident_bytes", row->resident_bytes);
		tapir_json__close(&j, '}');
		tapir_str__addc(out, '\n');
	}
}

static int print(const struct walk *w)
{
	struct tapir_str out = {};
	int err;

	if (w->args->json)
		write_json(w, &out);
	else
		write_ps_table(w, &out);
	err = tapir_terminal__flush(&out);
	tapir_str__fini(&out);
	if (err)
		return err;
	if (!w->rows.cnt)
		tapir_info("no process has events or probes; --all lists the others, too");
	if (w->hidden_cnt)
		tapir_warn("%zu process%s could not be inspected: %s", w->hidden_cnt,
			   w->hidden_cnt == 1 ? "" : "es",
			   geteuid() ? "run as root or with CAP_SYS_PTRACE"
				     : "the kernel denies it, also to root");
	return 0;
}

static int run_ps(struct tapir_cli *cli)
{
	struct walk w = {.args = cli->args, .reader = TAPIR_OTEL_READER_NONE};
	int err = tapir_proc__each(visit_process, &w);

	if (!err && !w.args->json)
		tapir_pager__start(cli);
	if (!err)
		err = print(&w);
	tapir_vec__fini(&w.rows);
	tapir_map__fini(&w.cnt_by_file);
	tapir_discovery__fini(&w.discovery);
	tapir_mappings__fini(&w.mappings);
	tapir_otel_reader__fini(&w.reader);
	return err;
}

const struct tapir_command tapir_cmd_ps = {
	.name = "ps",
	.summary = "list the processes that have events or probes to record",
	.synopsis = "[--all] [--json]",
	.text = "Shows one line per process: user, runtime and version, container, name (and its "
		"service.name, if it publishes one in OpenTelemetry's process context), and "
		"what can be recorded besides CPU time and waits: events of its runtime, ring "
		"events, USDT probes. 'tapir list -p PID' names them. Probes of system libraries "
		"such as libc, which every process has, do not count. Nothing is sent to any process.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0}, {}},
	.examples =
		(const struct tapir_example[]){
			{"ps", "what can be recorded on this machine"},
			{"ps --json | jq 'select(.runtime == \".NET\").pid'", "all .NET processes"},
			{}},
	.args_bytes = sizeof(struct args),
	.reads_foreign_files = true,
	.run = run_ps,
};
