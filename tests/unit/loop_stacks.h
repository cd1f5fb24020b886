/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loop_stacks.h - stacks of threads that run event loops, and what such threads do, for tests of
 * made-up recordings. */
#ifndef TAPIR_TEST_LOOP_STACKS_H
#define TAPIR_TEST_LOOP_STACKS_H

#include "finding_state.h"

/* Stacks. POLL: the loop waits. DRAW: in the program's own function. CHILD: a loop in that. */
enum {
	POLL = 1,
	READ,
	DRAW,
	SLEEP,
	CHILD,
	UNNAMED,
	GIL,
	RESTORE,
	NUMPY,
	INTERPRETER,
	ELSEWHERE,
	PYTHON_LOCK,
	SELECT,
	TASK_SLEEP,
	CALLBACK_SLEEP,
	CALLBACK,
	RUN_ONCE,
	SEEN_IN_CALLBACK,
	SYNC,
	PARSE,
	PROMISED,
	SETTLE
};

/* Functions by their place; those of files without symbols have none. */
enum {
	EPOLL = 1,
	UV_READ,
	UV_RUN,
	JS_DRAW,
	SPAWN,
	FUTEX,
	JIT,
	COND_WAIT,
	STRIPPED,
	EVAL,
	RESTORE_THREAD,
	LIBNUMPY,
	START,
	ACQUIRE_LOCK,
	SEM_WAIT,
	TASK_STEP,
	NANOSLEEP,
	PY_RUN_ONCE,
	PY_RUN,
	PY_DRAW,
	UV_FS_WORK,
	FS_READ,
	JS_PARSE,
	MICROTASKS,
	AWAIT,
	FUNCTION_CNT
};

static const struct {
	const char *file, *name;
} functions[FUNCTION_CNT] = {
	[EPOLL] = {"/x/libc.so.6", "epoll_pwait"},
	[UV_READ] = {"/x/node", "uv__read"},
	[UV_RUN] = {"/x/node", "uv_run"},
	[JS_DRAW] = {NULL, "JS:*draw /srv/shop/shop.js:12:3"},
	[SPAWN] = {"/x/node", "node::SyncProcessRunner::Spawn"},
	[FUTEX] = {"/x/libc.so.6", "pthread_cond_wait"},
	[JIT] = {NULL, NULL},
	[COND_WAIT] = {"/x/libc.so.6", "pthread_cond_timedwait"},
	[STRIPPED] = {"/x/python3.11", NULL},
	[EVAL] = {"/x/python3.11", "_PyEval_EvalFrameDefault"},
	[RESTORE_THREAD] = {"/x/python3.11", "PyEval_RestoreThread"},
	[LIBNUMPY] = {"/x/libnumpy.so", NULL},
	[START] = {"/x/libc.so.6", "clone3"},
	[ACQUIRE_LOCK] = {"/x/python3.11", "PyThread_acquire_lock_timed"},
	[SEM_WAIT] = {"/x/libc.so.6", "__new_sem_wait_slow64"},
	[TASK_STEP] = {"/x/_asyncio.cpython-311-x86_64-linux-gnu.so", NULL},
	[PY_RUN_ONCE] = {NULL,
			 "py::BaseEventLoop._run_once:/usr/lib/python3.11/asyncio/base_events.py"},
	[PY_RUN] = {NULL, "py::Handle._run:/usr/lib/python3.11/asyncio/events.py"},
	[PY_DRAW] = {NULL, "py::draw:/srv/shop.py"},
	[UV_FS_WORK] = {"/x/node", "uv__fs_work"},
	[FS_READ] = {"/x/node", "node::fs::Read"},
	[JS_PARSE] = {NULL, "JS:*parse /srv/shop/shop.js:40:3"},
	[MICROTASKS] = {"/x/node", "Builtins_RunMicrotasks"},
	[AWAIT] = {"/x/node", "Builtins_AsyncFunctionAwaitUncaught"},
	[NANOSLEEP] = {"/x/postgres", "pg_sleep"}, /* of which it is known that it sleeps */
};

static void name_function(unsigned at)
{
	const uint64_t va = 0x1000 * (uint64_t)at;
	struct tapir_rec_symbol symbol = {.file_id = va, .size = 0x1000};
	struct tapir_rec_jit jit = {
		.h.time_ns = 1, .tgid = TGID, .start_va = va, .size = 0x1000, .from_ns = 1};

	if (functions[at].file)
		feeder_mapping(&f, va, functions[at].file);
	if (!functions[at].name)
		return;
	if (functions[at].file)
		feeder_add(&f,
			   tapir_recbuf__symbol(&f.buf, &symbol, feeder_sv(functions[at].name)));
	else
		feeder_add(&f, tapir_recbuf__jit(&f.buf, &jit, feeder_sv(functions[at].name)));
}

static inline int setup(void **state)
{
	(void)state;
	if (finding_begin())
		return -1;
	for (unsigned at = 1; at < FUNCTION_CNT; at++)
		name_function(at);
	FINDING_STACK(POLL, EPOLL, UV_RUN, START);
	FINDING_STACK(READ, UV_READ, UV_RUN, START);
	FINDING_STACK(DRAW, JS_DRAW, UV_RUN, START);
	FINDING_STACK(SLEEP, FUTEX, JS_DRAW, UV_RUN, START);
	FINDING_STACK(CHILD, EPOLL, UV_RUN, SPAWN, JS_DRAW, UV_RUN, START);
	FINDING_STACK(UNNAMED, JIT, UV_RUN, START);
	FINDING_STACK(GIL, COND_WAIT, STRIPPED, EVAL, START);
	FINDING_STACK(RESTORE, COND_WAIT, STRIPPED, RESTORE_THREAD, EVAL, START);
	FINDING_STACK(NUMPY, COND_WAIT, LIBNUMPY, EVAL, START);
	FINDING_STACK(INTERPRETER, STRIPPED, EVAL, START);
	FINDING_STACK(ELSEWHERE, EPOLL, START);
	FINDING_STACK(SELECT, EPOLL, STRIPPED, EVAL, START);
	FINDING_STACK(TASK_SLEEP, NANOSLEEP, EVAL, TASK_STEP, EVAL, START);
	FINDING_STACK(CALLBACK_SLEEP, NANOSLEEP, EVAL, STRIPPED, EVAL, START);
	FINDING_STACK(CALLBACK, STRIPPED, EVAL, STRIPPED, EVAL, START);
	FINDING_STACK(RUN_ONCE, EPOLL, EVAL, PY_RUN_ONCE, START);
	FINDING_STACK(SEEN_IN_CALLBACK, NANOSLEEP, EVAL, PY_DRAW, STRIPPED, EVAL, PY_RUN,
		      PY_RUN_ONCE, START);
	FINDING_STACK(SYNC, UV_FS_WORK, FS_READ, JS_DRAW, UV_RUN, START);
	FINDING_STACK(PARSE, JS_PARSE, UV_RUN, START);
	FINDING_STACK(PROMISED, JS_DRAW, MICROTASKS, UV_RUN, START);
	FINDING_STACK(SETTLE, AWAIT, JS_DRAW, MICROTASKS, UV_RUN, START);
	FINDING_STACK(PYTHON_LOCK, SEM_WAIT, ACQUIRE_LOCK, STRIPPED, EVAL, START);
	return finding_listen();
}

/* Sleeps there until then. */
static inline void sleep_until(uint32_t tid, uint64_t from_ms, uint64_t until_ms, uint64_t stack)
{
	finding_sleep(tid, from_ms, stack);
	feeder_come(&f, tid, until_ms * MS, until_ms * MS, 0);
}

static void sample(uint32_t tid, uint64_t at_ms, uint64_t stack)
{
	struct tapir_rec_sample rec = {.tgid = TGID, .tid = tid, .stack_id = stack, .period = MS};

	tapir_rec__init(&rec.h, TAPIR_REC_SAMPLE, sizeof(rec), at_ms * MS);
	feeder_add(&f, &rec.h);
}

static inline void run(uint32_t tid, uint64_t from_ms, uint64_t until_ms, uint64_t stack)
{
	for (uint64_t at = from_ms; at < until_ms; at++)
		sample(tid, at, stack);
}

static inline const char *lead_at(uint64_t end_ms)
{
	feeder_come(&f, 99, end_ms * MS, end_ms * MS, 0);
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	tapir_diagnosis__list(&finding, &found);
	assert_false(found.failed);
	return found.rows.cnt ? found.rows.data[0].text : "";
}

static inline void start(uint32_t tid)
{
	feeder_thread(&f, tid, "node");
	feeder_come(&f, tid, 10 * MS, 0, 0);
}

static inline void expect(const char *text, uint64_t end_ms)
{
	assert_string_equal(lead_at(end_ms), text);
}

static inline void expect_no_loop(uint64_t end_ms)
{
	lead_at(end_ms);
	for (size_t i = 0; i < found.rows.cnt; i++)
		assert_int_not_equal(found.rows.data[i].kind, TAPIR_FINDING_LOOP);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, finding_teardown)

#endif
