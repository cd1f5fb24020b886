/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finding_fixture.h - a made-up .NET process with a few methods, and what the report says of it. */
#ifndef TAPIR_TEST_FINDING_FIXTURE_H
#define TAPIR_TEST_FINDING_FIXTURE_H

#include "finding_state.h"

#define RUNTIME "Microsoft-Windows-DotNETRuntime"

static bool is_listed;

enum {
	PAUSE = 1,
	GOES_ON,
	GC_START,
	GC_END,
	TICK,
	BLOCKED,
	ENTERED,
	THROWN,
	POOL_GREW,
	POOL_IDLE,
	ASK,
	ASKED,
	METHOD_LOADED,
	GC_DUE,
	HEAP_GREW
};

/* Methods at 0x100, 0x200, ... and a runtime without symbols at 0x400000. */
static inline void describe_code(void)
{
	static const char *const methods[] = {"System.Collections.List.Add(!0)",
					      "Shop.Draw(int)",
					      "Shop.Price()",
					      "System.Threading.Monitor.Enter(object)",
					      "System.Threading.SemaphoreSlim.WaitCore(long)",
					      "System.Collections.Concurrent."
					      "BlockingCollection<int>.TryAddCore(int)",
					      "System.Threading.ReaderWriterLockSlim.EnterCore()",
					      "System.Threading.Monitor.Wait(object)"};
	struct tapir_rec_mapping mapping = {.h.time_ns = 1,
					    .tgid = TGID,
					    .flags = TAPIR_MAPPING_EXEC,
					    .start_va = 0x400000,
					    .end_va = 0x500000,
					    .file_id = 7};

	for (unsigned i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		struct tapir_rec_jit jit = {.h.time_ns = 1,
					    .tgid = TGID,
					    .start_va = 0x100 * (i + 1),
					    .size = 0x100,
					    .from_ns = 1};

		feeder_add(&f, tapir_recbuf__jit(&f.buf, &jit, feeder_sv(methods[i])));
	}
	feeder_add(&f, tapir_recbuf__mapping(&f.buf, &mapping, feeder_sv("/x/libcoreclr.so")));
	feeder_mapping(&f, 0x600000, "/x/libclrjit.so");
}

static inline void add_stack(uint64_t id, uint64_t inner_va, uint64_t middle_va, uint64_t outer_va)
{
	const uint64_t frames_va[] = {inner_va, middle_va, outer_va};
	struct tapir_rec_stack stack = {.stack_id = id};

	feeder_add(&f, tapir_recbuf__stack(&f.buf, &stack, frames_va, 3));
}

static inline int setup(void **state)
{
	(void)state;
	finding = (struct tapir_diagnosis){};
	found = (struct tapir_findings){};
	is_listed = false;
	if (feeder_init(&f, &(struct tapir_timeline_opts){.wants_stacks = true}))
		return -1;
	finding.tl = f.tl;
	feeder_probe(&f, PAUSE, RUNTIME, "GCSuspendEEBegin", NULL, NULL);
	feeder_probe(&f, GOES_ON, RUNTIME, "GCRestartEEBegin", NULL, NULL);
	feeder_probe(&f, GC_START, RUNTIME, "GCStart", "Count", "Depth");
	feeder_probe(&f, GC_END, RUNTIME, "GCEnd", "Count", NULL);
	feeder_probe(&f, TICK, RUNTIME, "GCAllocationTick", "AllocationAmount64", "TypeName");
	feeder_probe(&f, BLOCKED, RUNTIME, "ContentionStart", "LockOwnerThreadID", "LockID");
	feeder_probe(&f, ENTERED, RUNTIME, "ContentionStop", "DurationNs", NULL);
	feeder_probe(&f, THROWN, RUNTIME, "ExceptionThrown", "Flags", "ExceptionType");
	feeder_probe(&f, POOL_GREW, RUNTIME, "ThreadPoolWorkerThreadAdjustmentAdjustment",
		     "NewWorkerThreadCount", "Reason");
	feeder_probe(&f, POOL_IDLE, RUNTIME, "ThreadPoolWorkerThreadWait", "Active", NULL);
	feeder_probe(&f, METHOD_LOADED, RUNTIME, "MethodLoadVerbose", "MethodID", "MethodName");
	feeder_probe(&f, GC_DUE, RUNTIME, "GCTriggered", "ClrInstanceID", "Reason");
	feeder_probe(&f, HEAP_GREW, RUNTIME, "GCCreateSegment", "Size", "Type");
	feeder_probe(&f, ASK, "Shop-Orders", "OrderStart", "id", NULL);
	feeder_probe(&f, ASKED, "Shop-Orders", "OrderStop", "id", NULL);
	describe_code();
	add_stack(1, 0x400010, 0x110, 0x210);	 /* Draw, by List.Add */
	add_stack(2, 0x400020, 0x310, 0x210);	 /* Price, by Draw */
	add_stack(3, 0x400030, 0x120, 0x110);	 /* nobody but the framework */
	add_stack(5, 0x600010, 0x400010, 0x210); /* the compiler, for Draw */
	add_stack(6, 0x400040, 0x410, 0x210);	 /* Draw waits for a lock */
	add_stack(7, 0x400040, 0x410, 0x310);	 /* and Price */
	add_stack(8, 0x510, 0x210, 0x210);	 /* Draw waits for a semaphore, */
	add_stack(9, 0x510, 0x310, 0x310);	 /* and Price, */
	add_stack(10, 0x510, 0x610, 0x310);	 /* and it for room in a queue; */
	add_stack(11, 0x710, 0x210, 0x210);	 /* Draw for a reader-writer lock, */
	add_stack(12, 0x710, 0x310, 0x310);	 /* and Price; */
	add_stack(13, 0x400040, 0x210, 0x210);	 /* the runtime waits for Draw */
	add_stack(14, 0x400040, 0x810, 0x210);	 /* Draw waits for a condition */
	return finding_listen();
}

static inline void fire(uint32_t probe, uint64_t time_ns, uint64_t number, const char *text,
			uint64_t stack)
{
	feeder_event(&f, (struct feeder_event){.probe_id = probe,
					       .tgid = TGID,
					       .tid = 1,
					       .time_ns = time_ns,
					       .number = number,
					       .has_number = probe > GOES_ON,
					       .text = text,
					       .stack_id = stack});
}

static inline void collect(uint64_t from_ns, uint64_t took_ns, uint64_t count, const char *what)
{
	fire(PAUSE, from_ns, 0, NULL, 0);
	fire(GC_START, from_ns, count, what, 0);
	fire(GC_END, from_ns + took_ns, count, NULL, 0);
	fire(GOES_ON, from_ns + took_ns, 0, NULL, 0);
}

/* The rank-th finding; NULL: there are not that many. */
static inline const char *finding_text(size_t rank)
{
	if (!found.rows.cnt && !is_listed) {
		assert_int_equal(tapir_timeline__finish(f.tl), 0);
		tapir_diagnosis__list(&finding, &found);
		assert_false(found.failed);
		is_listed = true;
	}
	return rank < found.rows.cnt ? found.rows.data[rank].text : NULL;
}

static inline void expect_finding(const char *wanted)
{
	const char *text = finding_text(0);

	assert_string_equal(text ? text : "", wanted);
}

static inline void fire_on(uint32_t probe, uint32_t tid, uint64_t time_ns, uint64_t number,
			   const char *text, uint64_t stack)
{
	feeder_event(&f, (struct feeder_event){.probe_id = probe,
					       .tgid = TGID,
					       .tid = tid,
					       .time_ns = time_ns,
					       .number = number,
					       .has_number = true,
					       .text = text,
					       .stack_id = stack});
}

static inline void call_thread(uint32_t tid, const char *comm)
{
	struct tapir_rec_thread thread = {.h.time_ns = 1, .tgid = TGID, .tid = tid, .start_ns = 1};

	memcpy(thread.comm, comm, strnlen(comm, sizeof(thread.comm) - 1));
	tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), 1);
	feeder_add(&f, &thread.h);
}

static inline void sample(uint32_t tid, uint64_t from_ns, unsigned cnt, uint64_t stack)
{
	for (unsigned i = 0; i < cnt; i++) {
		struct tapir_rec_sample one = {
			.tgid = TGID, .tid = tid, .period = MS, .stack_id = stack};

		tapir_rec__init(&one.h, TAPIR_REC_SAMPLE, sizeof(one), from_ns + i * MS);
		feeder_add(&f, &one.h);
	}
}

static inline enum tapir_finding_kind kind_at(size_t rank)
{
	finding_text(rank);
	return rank < found.rows.cnt ? found.rows.data[rank].kind : TAPIR_FINDING_KIND_CNT;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, finding_teardown)

#endif
