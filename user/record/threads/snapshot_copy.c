// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads and copies of their stacks; walking them is snapshot_walk.c. A thread that ran during the
 * copy has a stack of two moments: it is copied again in the next round, and left out after the
 * last.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach/thread_list.h"
#include "base/map.h"
#include "runtime/process_memory.h"
#include "record/threads/lock_owners.h"
#include "record/threads/interp_reader.h"
#include "record/threads/snapshot_impl.h"

#define ROUND_NS      2000000 /* between looks */
#define SAME_START_NS 1000000 /* by /proc it is the difference of two clocks */
#define PAGE_BYTES    4096u

/*
 * The red zone below sp is of no frame above. Reads up to the first page that is not there: the
 * number of bytes. Where it may read none, the walk ends at the first frame and says so.
 */
static size_t copy_stack(uint32_t tgid, uint64_t sp, uint8_t *to)
{
	struct iovec pages[TAPIR_COPY_BYTES / PAGE_BYTES + 1];
	uint64_t va = sp & ~7ull, until = va + TAPIR_COPY_BYTES;
	unsigned cnt = 0;

	for (; va < until; cnt++) {
		uint64_t next = (va | (PAGE_BYTES - 1)) + 1;

		next = next < until ? next : until;
		pages[cnt] =
			(struct iovec){.iov_base = (void *)(uintptr_t)va, .iov_len = next - va};
		va = next;
	}
	return tapir_process_memory__read_pieces(tgid, pages, cnt, to, TAPIR_COPY_BYTES);
}

bool tapir_thread_seen__has_not_run(const struct tapir_thread_seen *now,
				    const struct tapir_thread_seen *before)
{
	int64_t apart_ns = (int64_t)(now->thread.start_ns - before->thread.start_ns);

	return apart_ns < SAME_START_NS && -apart_ns < SAME_START_NS &&
	       now->switch_cnt == before->switch_cnt && !(now->flags & TAPIR_THREAD_ON_CPU);
}

static bool wants_memory(const struct tapir_thread_seen *seen)
{
	return !(seen->flags &
		 (TAPIR_THREAD_ON_CPU | TAPIR_THREAD_IS_KERNELS | TAPIR_THREAD_32_BIT));
}

/* Readers of what is copied of a process in one round, apart from its threads' stacks. */
struct readers {
	struct tapir_call_reader *calls;
	struct tapir_lock_owners *owners;
	struct tapir_interp_reader *functions;
};

static int copy_thread(const struct tapir_process_copy *p, const struct readers *readers,
		       struct tapir_thread_copy *copy, size_t *room)
{
	uint8_t buf[TAPIR_COPY_BYTES];
	int err;

	if (!wants_memory(&copy->seen)) {
		tapir_lock_owners__find_running(readers->owners, copy);
		return 0;
	}
	if (*room >= TAPIR_COPY_BYTES)
		copy->bytes = copy_stack(p->tgid, copy->seen.sp, buf);
	copy->memory = copy->bytes ? malloc(copy->bytes) : NULL;
	if (copy->bytes && !copy->memory)
		return -ENOMEM;
	if (copy->memory)
		memcpy(copy->memory, buf, copy->bytes);
	*room -= copy->bytes;
	err = tapir_call_reader__read(readers->calls, copy);
	if (!err && copy->call && !copy->owner)
		tapir_lock_owners__find(readers->owners, copy);
	return err ? err : tapir_interp_reader__read(readers->functions, copy);
}

static int copy_all(const struct tapir_process_copy *p, struct tapir_thread_copies *copies,
		    const struct tapir_thread_list *list, size_t *room)
{
	const struct readers readers = {tapir_call_reader__new(p->tgid),
					tapir_lock_owners__new(p->tgid, list),
					tapir_interp_reader__new(p)};
	int err = readers.calls && readers.owners && readers.functions ? 0 : -ENOMEM;

	for (size_t i = 0; i < list->vec.cnt && !err; i++) {
		struct tapir_thread_copy copy = {.seen = list->vec.data[i]};

		if (tapir_map__get(&p->idx_by_tid, copy.seen.thread.tid))
			continue; /* an earlier round has it */
		err = copy_thread(p, &readers, &copy, room);
		if (!err && !tapir_vec__push(copies, copy))
			err = -ENOMEM;
		if (err)
			tapir_thread_copy__fini(&copy);
	}
	tapir_interp_reader__free(readers.functions);
	tapir_lock_owners__free(readers.owners);
	tapir_call_reader__free(readers.calls);
	return err;
}

static int keep_copy(struct tapir_process_copy *p, struct tapir_thread_copy *copy)
{
	uint64_t *idx = tapir_map__put(&p->idx_by_tid, copy->seen.thread.tid, NULL);

	if (!idx || !tapir_vec__push(&p->copies, *copy))
		return -ENOMEM;
	*idx = p->copies.cnt - 1;
	*copy = (struct tapir_thread_copy){.seen = copy->seen}; /* the rest is the process's now */
	return 0;
}

/* Belongs together what was read of it? */
static bool is_settled(const struct tapir_thread_copy *copy, const struct tapir_thread_seen *now)
{
	if (copy->seen.flags & TAPIR_THREAD_ON_CPU)
		return false;
	return !wants_memory(&copy->seen) || tapir_thread_seen__has_not_run(now, &copy->seen);
}

static int index_list(const struct tapir_thread_list *list, struct tapir_map *idx_by_tid)
{
	for (size_t i = 0; i < list->vec.cnt; i++) {
		uint64_t *idx = tapir_map__put(idx_by_tid, list->vec.data[i].thread.tid, NULL);

		if (!idx)
			return -ENOMEM;
		*idx = i;
	}
	return 0;
}

/* Keeps threads that have not run while they were copied; in the last round all that are left. */
static int keep_settled(struct tapir_process_copy *p, struct tapir_thread_copies *copies,
			const struct tapir_thread_list *after, bool is_last)
{
	struct tapir_map idx_by_tid = {};
	struct tapir_thread_copy *copy;
	int err = index_list(after, &idx_by_tid);

	tapir_vec_for_each (copy, copies) {
		const uint64_t *idx = tapir_map__get(&idx_by_tid, copy->seen.thread.tid);

		if (err || !idx)
			continue; /* it has ended */
		copy->has_moved = !is_settled(copy, &after->vec.data[*idx]);
		if (!copy->has_moved || is_last)
			err = keep_copy(p, copy);
	}
	tapir_map__fini(&idx_by_tid);
	return err;
}

void tapir_thread_copy__fini(struct tapir_thread_copy *copy)
{
	free(copy->memory);
	free(copy->call);
	free(copy->functions);
	free(copy->found.lock);
	free(copy->found.statement);
	free(copy->found.holder_statement);
	free(copy->found.session);
	free(copy->found.holder_session);
}

static void fini_copies(struct tapir_thread_copies *copies)
{
	struct tapir_thread_copy *copy;

	tapir_vec_for_each (copy, copies)
		tapir_thread_copy__fini(copy);
	tapir_vec__fini(copies);
}

int tapir_snapshot__list(struct tapir_programs *programs, uint32_t tgid,
			 struct tapir_thread_list *out)
{
	int err = tapir_thread_list__read(programs, tgid, out);

	if (err == -EOPNOTSUPP)
		err = tapir_thread_list__read_proc(tgid, out);
	return err == -ESRCH ? 0 : err;
}

/* 1: another round may find more. */
static int run_round(struct tapir_process_copy *p, struct tapir_programs *programs, bool is_last,
		     size_t *room)
{
	struct tapir_thread_list before = {}, after = {};
	struct tapir_thread_copies copies = {};
	int err = tapir_snapshot__list(programs, p->tgid, &before);

	if (!err)
		err = copy_all(p, &copies, &before, room);
	if (!err && copies.cnt)
		err = tapir_snapshot__list(programs, p->tgid, &after);
	if (!err && copies.cnt)
		err = keep_settled(p, &copies, &after, is_last);
	if (!err)
		err = p->copies.cnt < before.vec.cnt;
	fini_copies(&copies);
	tapir_thread_list__fini(&before);
	tapir_thread_list__fini(&after);
	return err;
}

int tapir_process_copy__take(struct tapir_process_copy *p, struct tapir_programs *programs,
			     unsigned round_cnt, size_t *room)
{
	const struct timespec pause = {.tv_nsec = ROUND_NS};
	int err = 1;

	p->interpreter = tapir_interpreters__of_program(p->tgid, &p->loop, &p->interpreter_state);
	for (unsigned round = 1; err > 0 && round <= round_cnt; round++) {
		if (round > 1)
			nanosleep(&pause, NULL);
		err = run_round(p, programs, round == round_cnt, room);
	}
	return err < 0 ? err : 0;
}

void tapir_process_copy__fini(struct tapir_process_copy *p)
{
	fini_copies(&p->copies);
	tapir_map__fini(&p->idx_by_tid);
	free(p->interpreter_state);
	p->interpreter_state = NULL; /* a snapshot frees what it posted, and all at its end */
}
