/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_names.h - when one .NET process is asked for the names of its code, and what becomes of
 * the answers. For code_sources.c only.
 *
 * A snapshot (runtime/dotnet/dotnet_snapshot.h) costs the process 20 to 120 ms of one thread. It is
 * taken when the process is first seen, then only when code without a name ran since the last:
 * after 1 s, 2 s, 4 s, ... at most each 10 s (80 s when the last brought nothing new), and when the
 * recording ends.
 *
 * A process that reports what it compiles is queried once it has begun to, and from then on only
 * for the names of ReadyToRun code: other unnamed code is then not a method. An address that a
 * snapshot did not name when it could have causes no further query.
 *
 * The first holds from the start. What a later one adds came after the one before: it holds from
 * then on, or, where another name had the address, from the later one on.
 */
#ifndef TAPIR_USER_DOTNET_NAMES_H
#define TAPIR_USER_DOTNET_NAMES_H

#include "base/map.h"
#include "record/names/runtime_query.h"
#include "symbol/jit_table.h"
#include "symbol/jitdump.h"

/* The owner of the jitdumps that the process maps. */
enum tapir_dotnet_dumps {
	TAPIR_DOTNET_DUMPS_THEIRS, /* its own: they are to be read; also when it is no .NET */
	TAPIR_DOTNET_DUMPS_UNKNOWN,
	TAPIR_DOTNET_DUMPS_OURS, /* made for snapshots: not to be read, their times are not the
				    code's */
};

struct tapir_dotnet_names {
	struct tapir_runtime_queries *queries; /* NULL: it is no such process; borrowed */
	const struct tapir_runtime_ops *runtime;
	uint32_t tgid, uid;
	struct tapir_runtime_query *question;
	struct tapir_jitdump *dump;   /* the answer, being read */
	uint64_t last_ns;	      /* when the last that was read was taken; 0: none */
	uint64_t taken_ns;	      /* when the one being read was */
	uint64_t missed_ns;	      /* when code without a name ran, the newest */
	uint64_t missed_announced_ns; /* the same, of code its own events would name */
	uint64_t announced_since_ns;  /* its own events come since; 0: they do not */
	struct tapir_map requested;   /* va -> when it first ran without a name */
	uint64_t next_ns, wait_ns;
	unsigned failed_cnt;
	bool has_ended;	 /* it will not answer */
	bool is_doubted; /* some of its own events were lost */
	enum tapir_dotnet_dumps dumps;
};

/*
 * Notes that a mapping shows that the process is .NET, which is likely to report soon. Again:
 * nothing.
 */
void tapir_dotnet_names__start(struct tapir_dotnet_names *n, struct tapir_runtime_queries *queries,
			       const struct tapir_runtime_ops *runtime, uint32_t tgid, uint32_t uid,
			       bool will_announce);
void tapir_dotnet_names__fini(struct tapir_dotnet_names *n);

/*
 * Notes that code without a name ran at time_ns, of a kind its own events would name, or not. True:
 * it may get one later.
 */
bool tapir_dotnet_names__miss(struct tapir_dotnet_names *n, uint64_t va, uint64_t time_ns,
			      bool is_announced);

/*
 * The process itself reports what it compiles from time_ns on; a snapshot taken now has what was
 * compiled before. May be called again, or before __start.
 */
void tapir_dotnet_names__reports_methods(struct tapir_dotnet_names *n, uint64_t time_ns);

/*
 * Reads on, at most max_bytes, and asks if it is time; is_last: now, if at all. True: there is
 * more to read, or, of the last, to wait for.
 */
bool tapir_dotnet_names__read(struct tapir_dotnet_names *n, uint64_t now_ns, bool is_last,
			      size_t max_bytes, struct tapir_jit_table *table);

/* Returns true if what it compiled until time_ns was reported, by a snapshot or its own events. */
bool tapir_dotnet_names__are_known(const struct tapir_dotnet_names *n, uint64_t time_ns);

/* Returns true if it is being queried, or will be by then. */
bool tapir_dotnet_names__poll(const struct tapir_dotnet_names *n, uint64_t until_ns);

#endif
