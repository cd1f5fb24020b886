// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In which system calls copied threads wait, and who holds the locks they wait for. Both may have
 * changed since the copy, so a thread whose switch count has moved is left out.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/proc.h"
#include "attach/thread_list.h"
#include "base/diag.h"
#include "attach/flow/queue.h"
#include "runtime/process_memory.h"
#include "record/threads/lock_owners.h"
#include "record/threads/snapshot_impl.h"
#include "record/threads/sockets.h"
#include "record/threads/system_call.h"
#include "trace/recbuf.h"

struct tapir_call_reader {
	uint32_t tgid;
	struct tapir_call_source source;
	struct tapir_call call;
};

static size_t read_memory(void *ctx, uint64_t va, void *out, size_t bytes)
{
	const struct tapir_call_reader *reader = ctx;

	return tapir_process_memory__read(reader->tgid, va, out, bytes);
}

static size_t read_fd_link(void *ctx, int fd, char *out, size_t bytes)
{
	const struct tapir_call_reader *reader = ctx;
	char path[48];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/fd/%d", reader->tgid, fd);
	n = readlink(path, out, bytes);
	return n < 0 ? 0 : (size_t)n;
}

struct tapir_call_reader *tapir_call_reader__new(uint32_t tgid)
{
	struct tapir_call_reader *reader = calloc(1, sizeof(*reader));
	int mark = tapir_diag__cnt();

	if (!reader)
		return NULL;
	reader->tgid = tgid;
	reader->source = (struct tapir_call_source){read_memory, read_fd_link, reader, 0};
	(void)tapir_proc__clock_offset(tgid, &reader->source.clock_offset_ns); /* else 0 */
	tapir_diag__rewind(mark);
	return reader;
}

void tapir_call_reader__free(struct tapir_call_reader *reader)
{
	if (!reader)
		return;
	tapir_call__fini(&reader->call);
	free(reader);
}

int tapir_call_reader__read(struct tapir_call_reader *reader, struct tapir_thread_copy *copy)
{
	struct tapir_call *call = &reader->call;

	if (!copy->seen.state)
		return 0; /* it waits for nothing but a CPU */
	tapir_call__read(&reader->source, &copy->seen, call);
	if (call->text.failed)
		return -ENOMEM;
	if (!call->text.len)
		return 0;
	copy->call = strdup(call->text.data);
	copy->futex_va = call->futex_va;
	copy->owner = call->owner;
	return copy->call ? 0 : -ENOMEM;
}

/* Posts the first thread, for its name, of an owner's process that is not in the snapshot. */
static void post_owner_elsewhere(const struct tapir_process_copy *p,
				 const struct tapir_thread_copy *copy, struct tapir_queue *queue)
{
	struct tapir_thread_list list = {};

	if (!copy->owner_tid || tapir_map__get(&p->idx_by_tid, copy->owner_tid))
		return;
	if (!tapir_thread_list__read_proc(copy->owner_tid, &list) && list.vec.cnt) {
		struct tapir_rec_thread *thread = &list.vec.data[0].thread;

		thread->h.time_ns = copy->seen.thread.h.time_ns;
		(void)tapir_queue__post(queue, &thread->h, -1);
	}
	tapir_thread_list__fini(&list);
}

struct texts {
	struct tapir_sockets sockets;
	struct tapir_recbuf buf;
	struct tapir_str call, lock;
};

/* Adds the system call in which the thread waits. */
static void add_call(const struct tapir_thread_copy *copy, const struct tapir_poster *poster,
		     struct texts *texts, struct tapir_rec_wait *wait, struct tapir_wait_view *view)
{
	wait->owner_tid = copy->owner_tid;
	wait->syscall = (uint16_t)copy->seen.syscall;
	wait->object_va = copy->futex_va;
	tapir_sockets__explain(&texts->sockets, wait->tgid, copy->call, &texts->call);
	tapir_lock_namers__add(&poster->locks, copy, &texts->lock);
	view->text = tapir_sv__of(texts->call.data);
	view->object = tapir_sv__of(texts->lock.data);
	view->holder_statement = tapir_sv__of(copy->found.holder_statement);
	view->session = tapir_sv__of(copy->found.session);
	view->holder_session = tapir_sv__of(copy->found.holder_session);
}

/* waits: else it runs, and what it executes is all that is known. */
static void post_thread_calls(const struct tapir_thread_copy *copy, bool waits,
			      const struct tapir_poster *poster, struct texts *texts)
{
	const struct tapir_rec_thread *thread = &copy->seen.thread;
	struct tapir_rec_wait wait = {
		.h = {.cpu = TAPIR_CPU_UNKNOWN, .time_ns = thread->h.time_ns},
		.tgid = thread->tgid,
		.tid = thread->tid,
	};
	struct tapir_wait_view view = {.rec = &wait,
				       .statement = tapir_sv__of(copy->found.statement)};
	const struct tapir_rec *rec;

	tapir_str__clear(&texts->call);
	tapir_str__clear(&texts->lock);
	if (waits)
		add_call(copy, poster, texts, &wait, &view);
	rec = tapir_recbuf__wait(&texts->buf, &view);
	if (rec && !texts->call.failed && !texts->lock.failed)
		(void)tapir_queue__post(poster->queue, rec, -1); /* it counts what it refuses */
}

void tapir_process_copy__post_calls(const struct tapir_process_copy *p, struct tapir_poster *poster)
{
	const struct tapir_thread_copy *copy;
	struct texts texts = {};

	tapir_lock_namers__find(&poster->locks, p);
	tapir_vec_for_each (copy, &p->copies) {
		bool waits = copy->call && !copy->has_moved;

		if (waits)
			post_owner_elsewhere(p, copy, poster->queue);
		if (waits || copy->found.statement)
			post_thread_calls(copy, waits, poster, &texts);
	}
	tapir_recbuf__fini(&texts.buf);
	tapir_str__fini(&texts.call);
	tapir_str__fini(&texts.lock);
	tapir_sockets__fini(&texts.sockets);
}
