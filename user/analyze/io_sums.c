// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A row for each process and file. Sorting moves the rows, so the map's indexes are wrong
 * afterwards.
 */
#include "analyze/io_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "base/order.h"
#include "decode/io_text.h"

#define MAX_ROWS 65536u

struct tapir_sv tapir_io__requester(const struct tapir_catalog *catalog,
				    const struct tapir_rec_io *io, uint32_t *pid)
{
	static const char worker[] = "kworker/";
	const struct tapir_rec_thread *thread =
		io->tid ? tapir_catalog__thread(catalog, io->tid, io->h.time_ns) : NULL;
	const char *comm = thread ? thread->leader_comm : "";

	*pid = 0;
	if (tapir_io__is_write_back(io))
		return tapir_sv__of("[write-back]");
	if (!io->tgid)
		return tapir_sv__of("[the kernel]");
	if (!strncmp(comm, worker, sizeof(worker) - 1))
		return tapir_sv__of("[kworkers]");
	*pid = io->tgid;
	return *comm ? (struct tapir_sv){comm, strnlen(comm, TAPIR_COMM_BYTES)} : tapir_sv__of("?");
}

static struct tapir_io_row *io_row_of(struct tapir_io_sums *sums,
				      const struct tapir_catalog *catalog,
				      const struct tapir_io_view *io)
{
	struct tapir_io_row made = {}, *row;
	struct tapir_str file = {};
	struct tapir_sv requester = tapir_io__requester(catalog, io->rec, &made.pid);
	uint64_t key = tapir_hash__bytes(made.pid, requester.data, requester.len);

	tapir_io__add_file(&file, io);
	if (!file.len)
		tapir_str__adds(&file, "[no data]");
	sums->failed |= file.failed;
	if (file.failed) {
		tapir_str__fini(&file);
		return NULL;
	}
	key = tapir_hash__bytes(key, file.data, file.len);
	row = tapir_keyed__add(&sums->rows, key, MAX_ROWS, made);
	sums->failed |= !row && sums->rows.cnt < MAX_ROWS;
	if (row && !row->file) {
		row->requester = strndup(requester.data, requester.len);
		row->file = strndup(file.data, file.len);
		sums->failed |= !row->requester || !row->file;
	}
	tapir_str__fini(&file);
	return row;
}

void tapir_io_sums__add(struct tapir_io_sums *sums, const struct tapir_catalog *catalog,
			const struct tapir_rec *rec)
{
	struct tapir_io_row *row;
	struct tapir_io_view io;
	uint64_t read, written;

	tapir_io_view__of(rec, &io);
	read = io.rec->op == TAPIR_IO_READ ? io.rec->bytes : 0;
	written = io.rec->op == TAPIR_IO_WRITE ? io.rec->bytes : 0;
	sums->cnt++;
	sums->read_bytes += read;
	sums->written_bytes += written;
	row = io_row_of(sums, catalog, &io);
	if (!row)
		return;
	row->cnt++;
	row->read_bytes += read;
	row->written_bytes += written;
}

static int by_bytes(const void *a, const void *b)
{
	const struct tapir_io_row *x = a, *y = b;
	uint64_t of_x = x->read_bytes + x->written_bytes, of_y = y->read_bytes + y->written_bytes;

	return tapir_order__by(tapir_order__down(of_x, of_y), tapir_order__down(x->cnt, y->cnt),
			       strcmp(x->file, y->file));
}

/* The map's places are wrong afterwards: nothing is added. */
void tapir_io_sums__sort(struct tapir_io_sums *sums)
{
	if (sums->rows.cnt && !sums->failed)
		tapir_keyed__sort(&sums->rows, by_bytes);
}

void tapir_io_sums__fini(struct tapir_io_sums *sums)
{
	struct tapir_io_row *row;

	tapir_vec_for_each (row, &sums->rows) {
		free(row->requester);
		free(row->file);
	}
	tapir_keyed__fini(&sums->rows);
}
