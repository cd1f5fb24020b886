/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host_cut.h - one host's recording out of a merged one, with the ids, times and facts that it had.
 * Like tapir_cut it takes two passes: __read finds the host and the stacks that its records have,
 * __write copies. One thread.
 */
#ifndef TAPIR_USER_HOST_CUT_H
#define TAPIR_USER_HOST_CUT_H

#include "base/map.h"
#include "trace/chunk.h"
#include "trace/family.h"
#include "trace/reader.h"
#include "trace/rehost.h"
#include "trace/writer.h"

struct tapir_host_cut {
	const char *name; /* borrowed */
	/* Set by __read. */
	struct tapir_rec_host host;
	uint64_t kept[TAPIR_FAMILY_CNT];
	/* Used by the cut alone. */
	struct tapir_reader *reader;
	struct tapir_chunk room;
	struct tapir_rehost rehost;
	struct tapir_map kernel_files, files, stacks;
	struct tapir_map segments; /* by number: those that have something of the host */
	char *copy;
	uint64_t record_cnt;
	int (*check)(void *ctx);
	void *ctx;
};

/* Reads all of the recording. -ENOENT with a line: it has no such host. check, ctx: as for
 * __write. */
int tapir_host_cut__read(struct tapir_host_cut *cut, struct tapir_reader *reader,
			 int (*check)(void *ctx), void *ctx);
/* Writes the copy. check, ctx: of struct tapir_rewrite. */
int tapir_host_cut__write(struct tapir_host_cut *cut, struct tapir_writer *w,
			  int (*check)(void *ctx), void *ctx);
void tapir_host_cut__fini(struct tapir_host_cut *cut);

#endif
