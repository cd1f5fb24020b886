/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_names.h - when one .NET process is asked for the names of its code, and what becomes of
 * the answers. For code_sources.c only.
 *
 * A snapshot (runtime/dotnet_snapshot.h) costs the process 20 to 120 ms of one thread. It is taken
 * when the process is first seen, then only when code without a name ran since the last: after
 * 1 s, 2 s, 4 s, ... at most each 10 s (80 s when the last brought nothing new), and when the
 * recording ends.
 *
 * The first holds from the start. What a later one adds came after the one before: it holds from
 * then on, or, where another name had the address, from the later one on.
 */
#ifndef TAPIR_USER_DOTNET_NAMES_H
#define TAPIR_USER_DOTNET_NAMES_H

#include "collect/runtime_asker.h"
#include "symbol/jit_table.h"
#include "symbol/jitdump.h"

/* Whose are the jitdumps that the process maps? */
enum tapir_dotnet_dumps {
	TAPIR_DOTNET_DUMPS_THEIRS, /* its own: they are to be read; also when it is no .NET */
	TAPIR_DOTNET_DUMPS_UNKNOWN,
	TAPIR_DOTNET_DUMPS_OURS, /* made for snapshots: not to be read, their times are not the
				    code's */
};

struct tapir_dotnet_names {
	struct tapir_runtime_asker *asker; /* NULL: it is no .NET process; borrowed */
	uint32_t tgid, uid;
	struct tapir_runtime_question *question;
	struct tapir_jitdump *dump; /* the answer, being read */
	uint64_t last_ns;	    /* when the last that was read was taken; 0: none */
	uint64_t taken_ns;	    /* when the one being read was */
	uint64_t missed_ns;	    /* when code without a name ran, the newest */
	uint64_t next_ns, wait_ns;
	unsigned failed_cnt;
	bool is_over; /* it will not answer */
	bool is_told; /* its own events have come */
	enum tapir_dotnet_dumps dumps;
};

/* A mapping shows that it is .NET. Again: nothing. */
void tapir_dotnet_names__start(struct tapir_dotnet_names *n, struct tapir_runtime_asker *asker,
			       uint32_t tgid, uint32_t uid);
void tapir_dotnet_names__fini(struct tapir_dotnet_names *n);

/* Code without a name ran at time_ns. */
void tapir_dotnet_names__miss(struct tapir_dotnet_names *n, uint64_t time_ns);

/*
 * From time_ns on the process tells itself what it compiles: one more snapshot, soon, has what was
 * compiled since the one before. Again: nothing.
 */
void tapir_dotnet_names__told(struct tapir_dotnet_names *n, uint64_t time_ns);

/*
 * Reads on, at most max_bytes, and asks if it is time; is_last: now, if at all. True: there is
 * more to read, or, of the last, to wait for.
 */
bool tapir_dotnet_names__read(struct tapir_dotnet_names *n, uint64_t now_ns, bool is_last,
			      size_t max_bytes, struct tapir_jit_table *table);

/* May names come for what ran at time_ns and has none? */
bool tapir_dotnet_names__may_come(const struct tapir_dotnet_names *n, uint64_t time_ns);

/* Is it being asked, or will it be by then? */
bool tapir_dotnet_names__come_by(const struct tapir_dotnet_names *n, uint64_t until_ns);

#endif
