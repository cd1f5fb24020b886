/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code_sources.h - where the names of one process's generated code come from: its perf map, its
 * jitdumps, a perf map that its runtime writes when asked, its .NET runtime. For code_names.c only;
 * session thread.
 */
#ifndef TAPIR_USER_CODE_SOURCES_H
#define TAPIR_USER_CODE_SOURCES_H

#include "base/vec.h"
#include "record/names/dotnet_names.h"
#include "record/names/runtime_query.h"
#include "runtime/runtime_ops.h"
#include "symbol/jit_table.h"
#include "symbol/jitdump.h"
#include "symbol/perf_map.h"
#include "trace/record.h"

struct tapir_code_sources {
	uint32_t tgid, parent_tgid, ns_tgid, uid;
	uint64_t start_ns;
	uint64_t exit_ns; /* 0: it lives */
	bool has_code;	  /* executable memory without a file */
	bool inherits;	  /* forked and not executed since: it runs its parent's code, too */
	struct tapir_jit_table *table;
	bool is_full; /* which was reported */
	struct tapir_perf_map *perf_map;
	struct tapir_vec(struct tapir_jitdump *) jitdumps;
	uint64_t next_open_ns, open_wait_ns;	 /* a perf map may come late or never */
	const struct tapir_runtime_ops *runtime; /* that describes or writes names; NULL: none */
	struct tapir_runtime_query *question;	 /* NULL: none, or its answer was read */
	struct tapir_perf_map *answer;		 /* being read */
	bool code_is_read;
	size_t inlined_cnt; /* addresses that were looked up */
	void *code_state;   /* read when one is; NULL: not known */
	struct tapir_code_place place;
	bool dotnet_reports_methods; /* likely: dotnet_names.h */
	struct tapir_dotnet_names dotnet;
};

/* Begins with a PROCESS record other than EXIT. An EXEC discards everything. */
void tapir_code_sources__begin(struct tapir_code_sources *s, const struct tapir_rec_process *rec);
void tapir_code_sources__fini(struct tapir_code_sources *s);

/* Returns the table of names, created at the first call; NULL: out of memory. */
struct tapir_jit_table *tapir_code_sources__table(struct tapir_code_sources *s);

/*
 * Notes what a mapping shows of the process's runtime, and queries that for names. fd: borrowed;
 * -1: none.
 */
void tapir_code_sources__on_mapping(struct tapir_code_sources *s,
				    struct tapir_runtime_queries *queries,
				    const struct tapir_rec_mapping *rec, int fd);

/*
 * Continues reading, at most max_bytes of each file. True: there is more. is_last: the recording
 * ends, and each runtime is queried once more if possible.
 */
bool tapir_code_sources__read(struct tapir_code_sources *s, uint64_t now_ns, bool is_last,
			      size_t max_bytes);

#endif
