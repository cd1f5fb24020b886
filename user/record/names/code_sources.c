// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds, follows and closes one process's name files. A file that is not there may still come, so
 * it is searched less and less often; one that a JVM wrote for tapir is a picture of one moment,
 * and is read when it is complete.
 */
#include "record/names/code_sources.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"

#define FIRST_OPEN_WAIT_NS (50 * TAPIR_NS_PER_MS)
#define MAX_OPEN_WAIT_NS   (2 * TAPIR_NS_PER_SEC)
#define JITDUMPS_MAX	   4
#define PATH_BYTES	   80
#define FDS_MAX		   256

static void forget_jitdumps(struct tapir_code_sources *s)
{
	struct tapir_jitdump **dump;

	tapir_vec_for_each (dump, &s->jitdumps)
		tapir_jitdump__close(*dump);
	tapir_vec__fini(&s->jitdumps);
}

static void drop_sources(struct tapir_code_sources *s)
{
	forget_jitdumps(s);
	tapir_perf_map__close(s->perf_map);
	tapir_perf_map__close(s->answer);
	tapir_jit_table__free(s->table);
	tapir_runtime_query__drop(s->question);
	free(s->code_state);
	tapir_dotnet_names__fini(&s->dotnet);
}

void tapir_code_sources__begin(struct tapir_code_sources *s, const struct tapir_rec_process *rec)
{
	/* A process that ran already may be described twice; one that forks or executes is new. */
	if (rec->kind == TAPIR_PROCESS_EXISTING && s->tgid == rec->tgid && !s->exit_ns)
		return;
	drop_sources(s);
	*s = (struct tapir_code_sources){
		.tgid = rec->tgid,
		.parent_tgid = rec->parent_tgid,
		.ns_tgid = rec->ns_tgid,
		.uid = rec->uid,
		.start_ns = rec->start_ns,
		.inherits = rec->kind == TAPIR_PROCESS_FORK,
		.open_wait_ns = FIRST_OPEN_WAIT_NS,
	};
}

void tapir_code_sources__fini(struct tapir_code_sources *s)
{
	drop_sources(s);
}

struct tapir_jit_table *tapir_code_sources__table(struct tapir_code_sources *s)
{
	if (!s->table)
		(void)tapir_jit_table__new(&s->table);
	return s->table;
}

/* ---- names by its mappings -------------------------------------------------------------- */

/* The kernel's own pieces are no generated code. */
static bool is_generated(const struct tapir_rec_mapping *rec, struct tapir_sv path)
{
	return !rec->file_id && !tapir_sv__starts_with(path, "[v") &&
	       !tapir_sv__starts_with(path, "[uprobes");
}

static void add_jitdump(struct tapir_code_sources *s, int fd)
{
	struct tapir_jitdump_opts opts = {
		.sz = sizeof(opts), .fd = fd, .tgid = s->tgid, .uid = s->uid};
	struct tapir_jitdump *dump;
	int mark = tapir_diag__cnt();

	(void)tapir_proc__clock_offset(s->tgid, &opts.clock_offset_ns);
	if (s->dotnet.dumps == TAPIR_DOTNET_DUMPS_OURS || s->jitdumps.cnt == JITDUMPS_MAX ||
	    tapir_jitdump__open(&opts, &dump)) {
		tapir_diag__rewind(mark);
		return;
	}
	if (!tapir_vec__push(&s->jitdumps, dump))
		tapir_jitdump__close(dump);
}

void tapir_code_sources__on_mapping(struct tapir_code_sources *s,
				    struct tapir_runtime_queries *queries,
				    const struct tapir_rec_mapping *rec, int fd)
{
	const struct tapir_runtime_ops *runtime;
	struct tapir_mapping_view view;

	tapir_mapping_view__of(&rec->h, &view);
	if (is_generated(rec, view.path))
		s->has_code = true;
	if (fd >= 0 && tapir_jitdump__is_path(view.path.data, view.path.len))
		add_jitdump(s, fd);
	runtime = tapir_runtimes__of_path(view.path);
	if (runtime && (runtime->code || runtime->path_of_answer))
		s->runtime = runtime;
	if (runtime && runtime->path_of_answer && !s->question)
		s->question = tapir_runtime_queries__ask(queries, runtime, s->tgid);
	if (runtime && runtime->answers_jitdump)
		tapir_dotnet_names__start(&s->dotnet, queries, runtime, s->tgid, s->uid,
					  s->dotnet_reports_methods);
}

/* ---- reading ---------------------------------------------------------------------------- */

/* start_ns: an older file is another process's; 0: it is this one's, whatever its age. */
static void open_perf_map(struct tapir_code_sources *s, const char *path, uint64_t start_ns,
			  struct tapir_perf_map **out)
{
	struct tapir_perf_map_opts opts = {
		.sz = sizeof(opts),
		.tgid = s->tgid,
		.ns_tgid = s->ns_tgid,
		.uid = s->uid,
		.start_ns = start_ns,
		.path = path,
	};

	(void)tapir_perf_map__open(&opts, out);
}

struct map_of_parent {
	uint32_t ns_tgid; /* of the process itself, whose map it is not */
	char path[PATH_BYTES];
};

/*
 * A program that writes a perf map and forks leaves its code to the child, and the file open,
 * which is named after the parent: that may have ended long ago. The link's text is the process's
 * choice, but the file is opened as one of its own is.
 */
static int find_map_of_parent(const char *fd, const char *target, void *ctx)
{
	struct map_of_parent *map = ctx;
	unsigned tgid;
	char end[8];

	(void)fd;
	if (sscanf(target, "/tmp/perf-%u.%7s", &tgid, end) != 2 || strcmp(end, "map") ||
	    tgid == map->ns_tgid)
		return 0;
	snprintf(map->path, sizeof(map->path), "%s", target);
	return 1;
}

/* A file that is not there may come: it is asked for less and less often. */
static void try_perf_map(struct tapir_code_sources *s, uint64_t now_ns)
{
	struct map_of_parent map = {.ns_tgid = s->ns_tgid};
	char path[32];

	if (s->exit_ns || now_ns < s->next_open_ns)
		return;
	open_perf_map(s, NULL, s->start_ns, &s->perf_map);
	/* Code of a parent whose fork was seen is found there. */
	snprintf(path, sizeof(path), "/proc/%u/fd", s->tgid);
	if (!s->perf_map && s->has_code && !s->inherits &&
	    tapir_proc__each_fd_link(opendir(path), FDS_MAX, find_map_of_parent, &map) > 0)
		open_perf_map(s, map.path, 0, &s->perf_map);
	s->next_open_ns = now_ns + s->open_wait_ns;
	if (s->open_wait_ns < MAX_OPEN_WAIT_NS)
		s->open_wait_ns *= 2;
}

static bool read_map(struct tapir_code_sources *s, struct tapir_perf_map *map, uint64_t now_ns,
		     size_t max_bytes)
{
	struct tapir_jit_table *table = map ? tapir_code_sources__table(s) : NULL;

	return table && tapir_perf_map__read(map, now_ns, max_bytes, table) > 0;
}

/* A file that was written for tapir is read when it is complete: it is a picture of one moment. */
static bool read_answer(struct tapir_code_sources *s, uint64_t now_ns, size_t max_bytes)
{
	char path[PATH_BYTES];
	const void *answer;

	if (!tapir_runtime_query__is_answered(s->question))
		return false;
	answer = tapir_runtime_query__answer(s->question);
	if (answer && !s->answer) {
		s->runtime->path_of_answer(answer, path, sizeof(path));
		open_perf_map(s, path, s->start_ns, &s->answer);
	}
	if (read_map(s, s->answer, now_ns, max_bytes))
		return true;
	tapir_perf_map__close(s->answer);
	tapir_runtime_query__drop(s->question);
	s->answer = NULL;
	s->question = NULL;
	return false;
}

static bool read_jitdumps(struct tapir_code_sources *s, uint64_t now_ns, size_t max_bytes)
{
	struct tapir_jitdump **dump;
	bool more = false;

	if (s->dotnet.dumps == TAPIR_DOTNET_DUMPS_OURS)
		forget_jitdumps(s); /* mapped before it was known whose it is */
	if (s->dotnet.dumps != TAPIR_DOTNET_DUMPS_THEIRS)
		return false;
	tapir_vec_for_each (dump, &s->jitdumps)
		if (tapir_code_sources__table(s))
			more |= tapir_jitdump__read(*dump, now_ns, max_bytes, s->table) > 0;
	return more;
}

bool tapir_code_sources__read(struct tapir_code_sources *s, uint64_t now_ns, bool is_last,
			      size_t max_bytes)
{
	bool more = false;

	if (s->question)
		return read_answer(s, now_ns, max_bytes);
	if (s->has_code && !s->perf_map)
		try_perf_map(s, now_ns);
	more |= read_map(s, s->perf_map, now_ns, max_bytes);
	if (s->dotnet.queries && (!s->exit_ns || s->dotnet.question))
		more |= tapir_dotnet_names__read(&s->dotnet, now_ns, is_last && !s->exit_ns,
						 max_bytes, tapir_code_sources__table(s));
	return more | read_jitdumps(s, now_ns, max_bytes);
}
