// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPython. Source of the facts: "Instrumenting CPython with DTrace and SystemTap"; checked against
 * CPython 3.11. Strings are NUL-terminated.
 */
#include "spec/runtime_db/hint_table.h"

#define NUM		   TAPIR_HINT_NUM
#define BOOL		   TAPIR_HINT_BOOL
#define PTR		   TAPIR_HINT_PTR
#define STR		   TAPIR_HINT_STR
#define PYTHON(name, ...)  TAPIR_HINT("python", name, __VA_ARGS__)
#define PYTHON_LINE(event) PYTHON(event, STR("filename"), STR("function"), NUM("line"))

static const struct tapir_hint hints[] = {
	PYTHON_LINE("function__entry"),
	PYTHON_LINE("function__return"),
	PYTHON_LINE("line"),
	PYTHON("gc__start", NUM("generation")),
	PYTHON("gc__done", NUM("collected")),
	PYTHON("import__find__load__start", STR("module")),
	PYTHON("import__find__load__done", STR("module"), BOOL("is_found")),
	PYTHON("audit", STR("event"), PTR("args")),
};

#define THREAD TAPIR_PAIR_THREAD
#define NONE   TAPIR_CAUSE_NONE
#define GC     TAPIR_CAUSE_GC

static const struct tapir_pair pairs[] = {
	{"python", "gc__start", "gc__done", "gc", THREAD, GC, 0, "generation"},
	{"python", "function__entry", "function__return", "function", THREAD, NONE, 0,
	 "function filename"},
	{"python", "import__find__load__start", "import__find__load__done", "import", THREAD, NONE,
	 "module", "module"},
};

static const struct tapir_lore_file files[] = {
	{"libpython", ".so", NULL}, {"python", "", NULL}, {}};

static const char *const version_after[] = {"/libpython", "/python", NULL};
static const struct tapir_lore_module modules[] = {
	{"python", TAPIR_LORE_VERSION}, {"libpython", TAPIR_LORE_PREFIX}, {}};

static const struct tapir_lore_work functions[] = {
	{"gc_collect_main", GC}, {"gc_collect_region", GC}, {"_PyGC_Collect", GC}, {}};

#define GIL_WAIT(name, ...)                                                                        \
	TAPIR_WAIT_ROW(name, "GIL", .is_lock = true, .is_interpreter = true, __VA_ARGS__)

#define OF_THREADING(function, reason, part)                                                       \
	TAPIR_WAIT_ROW("py::" function ":*threading.py", reason, .instead_of = (part))

/*
 * The global interpreter lock: there is one, and who has it runs Python. take_gil is not exported;
 * its callers are, of which the loop is left to wait for other things, too. Of those that its own
 * functions wait for, only the GIL is a condition: locks are semaphores.
 */
static const struct tapir_lore_wait waits[] = {
	GIL_WAIT("take_gil*", .by = NULL),
	GIL_WAIT("PyEval_RestoreThread", .by = NULL),
	GIL_WAIT("PyEval_AcquireThread", .by = NULL),
	GIL_WAIT("PyGILState_Ensure", .by = NULL),
	GIL_WAIT("_PyEval_EvalFrameDefault", .by = "condition"),
	/* A lock of threading; its queues, conditions and events are made of locks, too. */
	TAPIR_WAIT_ROW("PyThread_acquire_lock*", "Python lock", .is_lock_or_queue = true),
	/* All who wait for a SimpleQueue wait for one lock. */
	TAPIR_WAIT_ROW("_queue.cpython-*", "work", .instead_of = "Python lock"),
	TAPIR_WAIT_ROW("_queue_SimpleQueue_get*", "work", .instead_of = "Python lock"),
	OF_THREADING("Condition.wait", "condition", "Python lock"),
	OF_THREADING("Event.wait", "event", "condition"),
	OF_THREADING("Thread._wait_for_tstate_lock", "join", "Python lock"),
	TAPIR_WAIT_ROW("py::Queue.put:*queue.py", "full queue", .instead_of = "condition"),
	TAPIR_WAIT_ROW("py::Queue.get:*queue.py", "work", .instead_of = "condition"),
	/* gevent's own threads, which do for its loop what would block it. */
	OF_THREADING("_Condition.wait", "condition", "Python lock"),
	TAPIR_WAIT_ROW("py::Queue.get:*gevent/_threading.py", "work", .instead_of = "condition"),
	{},
};

static const struct tapir_lore_headline headlines[] = {{"python", "gc__start", "GC"}, {}};

static const struct tapir_lore_condition conditions[] = {
	{"python", TAPIR_LIST_OF("function__entry", "function__return"),
	 "while python:line is attached too, in CPython 3.11", NULL, NULL, NULL},
	{}};

const struct tapir_lore tapir_lore_cpython = {
	.name = "CPython",
	.live_from = "only code in the process knows them; start it with 'python3 -X tracemalloc' "
		     "and call tracemalloc.take_snapshot()",
	.heap_from =
		"only code in the process can list its objects (gc.get_objects(), tracemalloc)",
	.providers = TAPIR_LIST_OF("python"),
	.files = files,
	.modules = modules,
	.version_after = version_after,
	.functions = functions,
	.waits = waits,
	/* Callers of asyncio's loop; functions of a stripped one have the name of its file. */
	.loop_callers =
		TAPIR_LIST_OF("_asyncio.cpython-", "_asyncio.so", "task_step", "py::Handle._run:"),
	.loop_names = TAPIR_LIST_OF("py::BaseEventLoop._run_once:"),
	.interpreter_loops = TAPIR_LIST_OF("_PyEval_EvalFrameDefault",
					   "_PyEval_EvalFrameDefault.cold", "PyEval_EvalFrameEx"),
	.interpreted = TAPIR_LIST_OF("py::"),
	.hints = {&(const struct tapir_hint_table)TAPIR_TABLE(hints)},
	.pairs = TAPIR_TABLE(pairs),
	.headlines = headlines,
	.conditions = conditions,
	.stacks = {.with = "complete, of the interpreter's functions"},
	.names = {TAPIR_LIST_OF("-X perf", "-Xperf", "PYTHONPERFSUPPORT=1"),
		  "Python functions and native ones", "native functions",
		  "start python 3.12 or newer with -X perf", .unless_its_frames_are_walked = true},
	.specs =
		{
			[TAPIR_PROFILE_ID_DEFAULT] = TAPIR_LIST_OF("python:gc__*"),
			[TAPIR_PROFILE_ID_GC] = TAPIR_LIST_OF("python:gc__*"),
			[TAPIR_PROFILE_ID_EVERYTHING] = TAPIR_LIST_OF("python:gc__*,import__*"),
		},
};
