/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * await_feeder.h - a recording in memory of one .NET process with events of tasks, for the unit
 * tests and the fuzz target of user/record/async_stacks.
 */
#ifndef TAPIR_TEST_AWAIT_FEEDER_H
#define TAPIR_TEST_AWAIT_FEEDER_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/reader.h"
#include "trace/recbuf.h"
#include "trace/writer.h"

#define FEED_TGID  100
#define FEED_SV(s) ((struct tapir_sv){s, sizeof(s) - 1})

/* Functions, by number: their code is at feed_va(number). */
enum { BURN, PAY, PLACE_ORDER, CHECKOUT, BOX, DISPATCH, LAMBDA, RUN_TASK, WORKER, FUNCTION_CNT };

enum { PROBE_BEGIN = 1, PROBE_END, PROBE_WAIT, PROBE_OTHER };

struct feeder {
	struct tapir_writer *w;
	struct tapir_recbuf buf;
	int fd;
	uint64_t now_ns, next_stack;
};

static inline uint64_t feed_va(unsigned function)
{
	return 0x100000 + function * 0x10000ull + 0x10;
}

static inline void feed(struct feeder *f, const struct tapir_rec *rec)
{
	if (!rec || tapir_writer__put(f->w, rec))
		abort();
}

static inline void feed_probe(struct feeder *f, uint32_t id, struct tapir_sv event)
{
	struct tapir_rec_probe probe = {.h.time_ns = 1, .probe_id = id};

	feed(f,
	     tapir_recbuf__probe(&f->buf, &probe, FEED_SV("System.Threading.Tasks.TplEventSource"),
				 event, (struct tapir_sv){}, (struct tapir_sv){}, NULL, NULL, 0));
}

static inline void feed_start(struct feeder *f)
{
	static const char *const names[FUNCTION_CNT] = {
		[BURN] = "void [App] Shop::Burn(int32)[OptimizedTier1]",
		[PAY] = "instance void [App] Shop+<Pay>d__2::MoveNext()[OptimizedTier1]",
		[PLACE_ORDER] = "instance void Shop+<PlaceOrder>d__3::MoveNext()[OptimizedTier1]",
		[CHECKOUT] = "instance void Shop+<Checkout>d__4::MoveNext()[QuickJitted]",
		[BOX] = "instance void System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+"
			"AsyncStateMachineBox`1[System.Int32,Shop+<Pay>d__2]::MoveNext()[Optimized]",
		[DISPATCH] = "bool [System.Private.CoreLib] System.Threading.ThreadPoolWorkQueue::"
			     "Dispatch()[PreJIT]",
		[LAMBDA] = "instance void [App] Shop+<>c::<Main>b__8_3()[QuickJitted]",
		[RUN_TASK] = "instance void [System.Private.CoreLib] System.Threading.Tasks.Task::"
			     "ExecuteWithThreadLocal(class System.Threading.Tasks.Task&)[PreJIT]",
		[WORKER] = "void [System.Private.CoreLib] System.Threading.PortableThreadPool+"
			   "WorkerThread::WorkerThreadStart()[PreJIT]",
	};

	*f = (struct feeder){.fd = memfd_create("awaits", MFD_CLOEXEC), .now_ns = 1000};
	if (f->fd < 0 ||
	    tapir_writer__open(&(struct tapir_writer_opts){.sz = sizeof(struct tapir_writer_opts),
							   .path = "awaits",
							   .has_fd = true,
							   .plain = true,
							   .fd = f->fd},
			       &f->w))
		abort();
	for (unsigned i = 0; i < FUNCTION_CNT; i++) {
		struct tapir_rec_jit jit = {.h.time_ns = 1,
					    .tgid = FEED_TGID,
					    .start_va = feed_va(i) - 0x10,
					    .size = 0x1000,
					    .from_ns = 1};

		feed(f, tapir_recbuf__jit(&f->buf, &jit,
					  (struct tapir_sv){names[i], strlen(names[i])}));
	}
	feed_probe(f, PROBE_BEGIN, FEED_SV("TraceSynchronousWorkBegin"));
	feed_probe(f, PROBE_END, FEED_SV("TraceSynchronousWorkEnd"));
	feed_probe(f, PROBE_WAIT, FEED_SV("TaskWaitBegin"));
	feed_probe(f, PROBE_OTHER, FEED_SV("TaskScheduled"));
}

/* Its id; functions: innermost first. */
static inline uint64_t feed_stack(struct feeder *f, const unsigned *functions, unsigned cnt,
				  uint16_t flags)
{
	struct tapir_rec_stack stack = {.h.time_ns = 2,
					.stack_id = ++f->next_stack,
					.flags = flags,
					.end = TAPIR_STACK_END_WHOLE};
	uint64_t va[64];

	for (unsigned i = 0; i < cnt; i++)
		va[i] = feed_va(functions[i]);
	feed(f, tapir_recbuf__stack(&f->buf, &stack, va, cnt));
	return stack.stack_id;
}

static inline void feed_event(struct feeder *f, uint32_t probe_id, uint32_t tid, uint64_t stack_id,
			      const uint32_t *payload, size_t payload_bytes)
{
	struct tapir_rec_event fixed = {.h.time_ns = ++f->now_ns,
					.probe_id = probe_id,
					.tgid = FEED_TGID,
					.tid = tid,
					.stack_id = stack_id};
	struct tapir_event_view view = {
		.rec = &fixed, .payload = (const uint8_t *)payload, .payload_bytes = payload_bytes};

	feed(f, tapir_recbuf__event(&f->buf, &view));
}

static inline void feed_begin(struct feeder *f, uint32_t tid, uint32_t task, uint32_t work)
{
	feed_event(f, PROBE_BEGIN, tid, 0, (const uint32_t[]){task, work}, 8);
}

static inline void feed_end(struct feeder *f, uint32_t tid, uint32_t work)
{
	feed_event(f, PROBE_END, tid, 0, &work, 4);
}

/* awaiter, which is where the stack is, awaits task. */
static inline void feed_wait(struct feeder *f, uint32_t tid, uint32_t task, uint32_t awaiter,
			     uint64_t stack_id)
{
	feed_event(f, PROBE_WAIT, tid, stack_id, (const uint32_t[]){1, 0, task, 2, awaiter}, 20);
}

static inline void feed_sample(struct feeder *f, uint32_t tid, uint64_t stack_id)
{
	struct tapir_rec_sample sample = {
		.tgid = FEED_TGID, .tid = tid, .period = 1, .stack_id = stack_id};

	tapir_rec__init(&sample.h, TAPIR_REC_SAMPLE, sizeof(sample), ++f->now_ns);
	feed(f, &sample.h);
}

static inline void feed_switch(struct feeder *f, uint32_t tid, uint64_t stack_id, uint16_t state)
{
	struct tapir_rec_switch sw = {.out_tgid = FEED_TGID,
				      .out_tid = tid,
				      .out_stack_id = stack_id,
				      .out_state = state};

	tapir_rec__init(&sw.h, TAPIR_REC_SWITCH, sizeof(sw), ++f->now_ns);
	feed(f, &sw.h);
}

/* No more is written; what was is read. */
static inline struct tapir_reader *feed_reader(struct feeder *f)
{
	struct tapir_reader *reader;

	if (tapir_writer__close(f->w) || tapir_reader__open_fd(f->fd, "awaits", &reader))
		abort();
	return reader;
}

static inline void feed_fini(struct feeder *f)
{
	tapir_writer__free(f->w);
	tapir_recbuf__fini(&f->buf);
	close(f->fd);
}

#endif
