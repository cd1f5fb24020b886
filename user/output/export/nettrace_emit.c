// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A row of an event block, and the row of the thread that it is of, which must come before it.
 * Threads are numbered as they occur; those beyond the limit are the number of the capturing one.
 */
#include "output/export/nettrace_impl.h"

void tapir_nettrace__put_thread(struct tapir_nettrace *n, uint64_t idx, uint32_t tgid, uint32_t tid,
				struct tapir_sv name)
{
	enum { THREAD_NAME = 1, THREAD_TGID = 2, THREAD_TID = 3 };
	struct tapir_str row = {};

	tapir_nettrace__put_var(&row, idx);
	tapir_nettrace__put_u8(&row, THREAD_TGID);
	tapir_nettrace__put_var(&row, tgid);
	tapir_nettrace__put_u8(&row, THREAD_TID);
	tapir_nettrace__put_var(&row, tid);
	if (name.len) {
		tapir_nettrace__put_u8(&row, THREAD_NAME);
		tapir_nettrace__put_text(&row, name);
	}
	n->failed |= row.failed;
	tapir_nettrace__put_u16(&n->threads, (uint16_t)row.len);
	tapir_str__add(&n->threads, row.data, row.len);
	tapir_str__fini(&row);
}

static uint64_t thread_idx(struct tapir_nettrace *n, uint32_t tgid, uint32_t tid)
{
	bool is_new = false;
	uint64_t id = (uint64_t)tgid << 32 | tid;
	bool is_full = n->thread_by_id.cnt >= TAPIR_NETTRACE_THREADS_MAX;
	uint64_t *idx = is_full ? tapir_map__get(&n->thread_by_id, id)
				: tapir_map__put(&n->thread_by_id, id, &is_new);
	const struct tapir_rec_thread *thread;
	struct tapir_thread_view view = {};

	n->failed |= !idx && !is_full;
	if (!idx || !is_new)
		return idx ? *idx : TAPIR_NETTRACE_CAPTURE_THREAD;
	thread = tapir_catalog__thread(n->catalog, tid, n->now_ns);
	if (thread && thread->tgid == tgid)
		tapir_thread_view__of(&thread->h, &view);
	*idx = n->next_thread_idx++;
	tapir_nettrace__put_thread(n, *idx, tgid, tid, view.comm);
	return *idx;
}

void tapir_nettrace__emit(struct tapir_nettrace *n, const struct tapir_nettrace_subject *subject)
{
	struct tapir_nettrace_row row = {
		.metadata_id = subject->metadata_id,
		.stack_id = subject->stack_id,
		.label_id = subject->label_id,
		.sequence = ++n->sequence,
		.thread_idx = subject->tid || subject->tgid
				      ? thread_idx(n, subject->tgid, subject->tid)
				      : TAPIR_NETTRACE_CAPTURE_THREAD,
		.cpu = subject->cpu == TAPIR_CPU_UNKNOWN ? 0 : subject->cpu,
		.time_ns = n->now_ns,
		.payload = {n->payload.data, n->payload.len},
	};

	tapir_nettrace_rows__add(&n->rows, &row);
	n->failed |= n->payload.failed;
	tapir_str__clear(&n->payload);
}
