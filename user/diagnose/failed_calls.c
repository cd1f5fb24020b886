// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A row for each process, call and error. Errors above 511 are the kernel's own numbers, of calls
 * that it repeats or that a program sees as EINTR.
 */
#include "diagnose/failed_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "base/order.h"
#include "trace/family.h"

#define MAX_ROWS 4096u

/* Above 511 are the kernel's own numbers, of calls that it repeats or that say EINTR. */
static bool is_a_failure(unsigned err)
{
	return err && err < 512 && err != EAGAIN && err != EINTR && err != EINPROGRESS &&
	       err != ETIMEDOUT;
}

void tapir_failed_calls__add(struct tapir_failed_calls *calls, const struct tapir_catalog *catalog,
			     const struct tapir_rec_calls *rec)
{
	struct tapir_failed_call made = {.pid = rec->tgid, .nr = rec->nr, .err = rec->err}, *row;
	uint64_t cnt = tapir_rec__weight(&rec->h);
	const struct tapir_rec_thread *thread;

	calls->call_cnt += cnt;
	if (!cnt || !is_a_failure(rec->err))
		return;
	calls->failed_cnt += cnt;
	thread = tapir_catalog__thread(catalog, rec->tid, rec->h.time_ns);
	if (thread)
		memcpy(made.comm, thread->leader_comm, TAPIR_COMM_BYTES);
	row = tapir_keyed__add(&calls->rows,
			       tapir_hash__mix(rec->tgid, (uint64_t)rec->nr << 16 | rec->err),
			       MAX_ROWS, made);
	calls->failed |= !row && calls->rows.cnt < MAX_ROWS;
	if (row)
		row->cnt += cnt;
}

static int by_count(const void *a, const void *b)
{
	const struct tapir_failed_call *x = a, *y = b;

	return tapir_order__down(x->cnt, y->cnt) ?: tapir_order__up(x->pid, y->pid);
}

void tapir_failed_calls__sort(struct tapir_failed_calls *calls)
{
	tapir_keyed__sort(&calls->rows, by_count);
}

void tapir_failed_calls__fini(struct tapir_failed_calls *calls)
{
	tapir_keyed__fini(&calls->rows);
}
