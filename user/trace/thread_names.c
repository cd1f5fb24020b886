// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A chain of rows per key: threads that had one id follow each other, and so do the names of each.
 * Most records are of a thread's only name, the first of its chain.
 */
#include "trace/thread_names.h"

#include <string.h>

/* Threads take a name of their own within this time after their start. */
#define SETTLE_NS     100000000ull
/* /proc gives a start to the tick of 10 ms, the kernel to the nanosecond. */
#define SAME_START_NS 20000000ull
#define NO_NEXT	      UINT32_MAX

static bool is_same_start(uint64_t a, uint64_t b)
{
	return !a || !b || (a > b ? a - b : b - a) <= SAME_START_NS;
}

static void set_comm(struct tapir_thread_name *row, const struct tapir_rec_thread *rec)
{
	memset(row->comm, 0, sizeof(row->comm));
	memcpy(row->comm, rec->comm, strnlen(rec->comm, sizeof(rec->comm)));
}

static bool is_called(const struct tapir_thread_name *row, const struct tapir_rec_thread *rec)
{
	return !strncmp(row->comm, rec->comm, TAPIR_COMM_BYTES);
}

static size_t add_name_row(struct tapir_thread_names *n, const struct tapir_rec_thread *rec,
			   bool is_first, size_t max_rows)
{
	struct tapir_thread_name row = {
		.start_ns = rec ? rec->start_ns : 0, .next_idx = NO_NEXT, .is_first = is_first};

	if (n->rows.cnt >= max_rows)
		return TAPIR_THREAD_NAMES_NO_ROW;
	if (rec)
		set_comm(&row, rec);
	if (tapir_vec__push(&n->rows, row))
		return n->rows.cnt - 1;
	n->failed = true;
	return TAPIR_THREAD_NAMES_NO_ROW;
}

static size_t add_key(struct tapir_thread_names *n, uint64_t key,
		      const struct tapir_rec_thread *rec, size_t max_rows)
{
	size_t idx = add_name_row(n, rec, true, max_rows);
	uint64_t *first = idx == TAPIR_THREAD_NAMES_NO_ROW
				  ? NULL
				  : tapir_map__put(&n->first_by_key, key, NULL);

	if (first) {
		*first = idx;
		return idx;
	}
	if (idx != TAPIR_THREAD_NAMES_NO_ROW) {
		n->rows.cnt--;
		n->failed = true;
	}
	return TAPIR_THREAD_NAMES_NO_ROW;
}

/* Rows of one thread in the chain that begins at an index. */
struct rows_of_thread {
	size_t called, latest; /* NO_ROW: there is none */
	size_t end;	       /* of the chain */
	unsigned cnt;
};

static struct rows_of_thread find_rows(const struct tapir_thread_names *n, size_t idx,
				       const struct tapir_rec_thread *rec)
{
	struct rows_of_thread rows = {.called = TAPIR_THREAD_NAMES_NO_ROW,
				      .latest = TAPIR_THREAD_NAMES_NO_ROW};

	for (size_t next; rows.called == TAPIR_THREAD_NAMES_NO_ROW; idx = next) {
		const struct tapir_thread_name *row = &n->rows.data[idx];

		rows.end = idx;
		if (!rec || is_same_start(row->start_ns, rec->start_ns)) {
			rows.latest = idx;
			rows.cnt++;
			if (rec && is_called(row, rec))
				rows.called = idx;
		}
		next = row->next_idx;
		if (next == NO_NEXT)
			break;
	}
	return rows;
}

/* A row that so far stands for a name that the thread did nothing under, or only just inherited. */
static bool may_rename(const struct tapir_thread_name *row, const struct tapir_rec_thread *rec)
{
	return !*row->comm || !row->is_used ||
	       (rec->start_ns && rec->h.time_ns < rec->start_ns + SETTLE_NS);
}

static size_t follow_names(struct tapir_thread_names *n, size_t first,
			   const struct tapir_rec_thread *rec, size_t max_rows)
{
	struct rows_of_thread rows = find_rows(n, first, rec);
	bool is_known = rows.latest != TAPIR_THREAD_NAMES_NO_ROW;
	size_t idx;

	if (!rec || (is_known && !*rec->comm))
		return rows.latest;
	if (rows.called != TAPIR_THREAD_NAMES_NO_ROW)
		return rows.called;
	if (is_known && may_rename(&n->rows.data[rows.latest], rec)) {
		set_comm(&n->rows.data[rows.latest], rec);
		return rows.latest;
	}
	if (rows.cnt >= TAPIR_THREAD_NAMES_MAX)
		return rows.latest;
	idx = add_name_row(n, rec, !is_known, max_rows);
	if (idx != TAPIR_THREAD_NAMES_NO_ROW)
		n->rows.data[rows.end].next_idx = (uint32_t)idx;
	return idx;
}

size_t tapir_thread_names__row(struct tapir_thread_names *n, uint64_t key,
			       const struct tapir_rec_thread *rec, bool is_used, size_t max_rows)
{
	const uint64_t *first = tapir_map__get(&n->first_by_key, key);
	size_t idx =
		first ? follow_names(n, *first, rec, max_rows) : add_key(n, key, rec, max_rows);

	if (idx == TAPIR_THREAD_NAMES_NO_ROW)
		return idx;
	n->rows.data[idx].is_used |= is_used;
	if (rec && !n->rows.data[idx].start_ns)
		n->rows.data[idx].start_ns = rec->start_ns;
	return idx;
}

void tapir_thread_names__fini(struct tapir_thread_names *n)
{
	tapir_map__fini(&n->first_by_key);
	tapir_vec__fini(&n->rows);
}
