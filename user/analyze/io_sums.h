/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * io_sums.h - bytes that went to and came from block devices, by who made the requests and by
 * file. Bounded memory; one thread.
 */
#ifndef TAPIR_USER_IO_SUMS_H
#define TAPIR_USER_IO_SUMS_H

#include "base/keyed.h"
#include "base/vec.h"
#include "trace/catalog.h"
#include "trace/record.h"

struct tapir_io_row {
	char *requester, *file; /* "dd", "[write-back]"; "/tmp/x" */
	uint32_t pid;		/* 0: no process, or the kernel's */
	uint64_t cnt, read_bytes, written_bytes;
};

struct tapir_io_sums {
	struct tapir_keyed(struct tapir_io_row) rows;
	uint64_t cnt, read_bytes, written_bytes; /* of all, also those without a row */
	bool failed;				 /* out of memory */
};

/*
 * Returns the maker of a request: the process's name, borrowed, and its *pid; or "[write-back]",
 * "[kworkers]" or "[the kernel]" with 0: which of the kernel's workers it was says nothing.
 */
struct tapir_sv tapir_io__requester(const struct tapir_catalog *catalog,
				    const struct tapir_rec_io *io, uint32_t *pid);

/* Adds a block request or a file operation to the row of its process and file. */
void tapir_io_sums__add(struct tapir_io_sums *sums, const struct tapir_catalog *catalog,
			const struct tapir_rec *rec);
/* Sorts the rows: those with the most bytes come first. Nothing is added afterwards. */
void tapir_io_sums__sort(struct tapir_io_sums *sums);
void tapir_io_sums__fini(struct tapir_io_sums *sums);

#endif
