// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Node.js, and other programs around JavaScript engines. Node 18 and later has no USDT notes; older
 * ones have the events below.
 */
#include "spec/runtime_db/hint_table.h"

#define THREAD TAPIR_PAIR_THREAD
#define NONE   TAPIR_CAUSE_NONE
#define GC     TAPIR_CAUSE_GC

static const struct tapir_pair pairs[] = {
	{"node", "gc__start", "gc__done", "gc", THREAD, GC, 0, 0},
	{"node", "http__server__request", "http__server__response", "request", THREAD, NONE, 0, 0},
	{"node", "http__client__request", "http__client__response", "http_request", THREAD, NONE, 0,
	 0},
};

static const struct tapir_lore_file files[] = {{"node", "", NULL}, {}};

static const char *const version_after[] = {"/node-v", "/node/v", NULL};
static const struct tapir_lore_module modules[] = {{"node", TAPIR_LORE_VERSION},
						   {"nodejs", TAPIR_LORE_VERSION},
						   {"libnode.", TAPIR_LORE_PREFIX},
						   {"libv8", TAPIR_LORE_PREFIX},
						   {"bun", TAPIR_LORE_WHOLE},
						   {"deno", TAPIR_LORE_WHOLE},
						   {}};

static const struct tapir_lore_work functions[] = {
	{"v8::internal::Heap::CollectGarbage", GC},
	{"v8::internal::Scavenger", GC},
	{"v8::internal::MarkCompact", GC},
	{"v8::internal::ConcurrentMarking", GC},
	{"v8::internal::Sweeper", GC},
	{"v8::internal::Compiler::", TAPIR_CAUSE_JIT},
	{"v8::internal::compiler::", TAPIR_CAUSE_JIT},
	{"v8::internal::OptimizingCompileDispatcher", TAPIR_CAUSE_JIT},
	{"v8::internal::baseline::", TAPIR_CAUSE_JIT},
	{"v8::internal::maglev::", TAPIR_CAUSE_JIT},
	{},
};

/* SyncProcessRunner runs a loop of its own until the child ends. */
static const struct tapir_lore_wait waits[] = {TAPIR_WAIT("node::SyncProcessRunner::*", "child"),
					       {}};

static const struct tapir_lore_headline headlines[] = {{"node", "gc__start", "GC"}, {}};

const struct tapir_lore tapir_lore_node = {
	.name = "Node.js",
	.live_from = "only V8 knows them; start it with 'node --heap-prof', which writes them to a "
		     "file when it exits",
	.heap_from = "it writes its heap itself (start it with --heapsnapshot-signal=SIGUSR2)",
	.providers = TAPIR_LIST_OF("node"),
	.files = files,
	.modules = modules,
	.version_after = version_after,
	.functions = functions,
	.library_code = TAPIR_LIST_OF("Builtin:", "BytecodeHandler:", "RegExp:", "Stub:"),
	.interpreter_loops = TAPIR_LIST_OF("Builtins_InterpreterEntryTrampoline"),
	.interpreted = TAPIR_LIST_OF("JS:~", "LazyCompile:~", "Function:~", "Script:~",
				     "Builtin:Interpreter"),
	.loop_function = "uv_run",
	.loop_prefix = "uv_",
	.loop_glue = TAPIR_LIST_OF("Builtins_CEntry", "Builtins_CallApiCallback",
				   "Builtins_HandleApiCall", "v8::internal::Builtin_HandleApiCall",
				   "v8::internal::(anonymous namespace)::HandleApiCallHelper",
				   "v8::internal::FunctionCallbackArguments::Call"),
	.loop_queue = "Builtins_RunMicrotasks",
	.loop_queued = "to make promises and run their callbacks, all at one go",
	.loop_queue_steps = TAPIR_LIST_OF(
		"Builtins_RunMicrotasks", "Builtins_Promise", "Builtins_PerformPromiseThen",
		"Builtins_AsyncFunctionAwait", "Builtins_ResumeGeneratorTrampoline",
		"Builtins_EnqueueMicrotask", "Builtins_FulfillPromise", "Builtins_ResolvePromise"),
	.loop_blocking_calls = TAPIR_LIST_OF("uv__fs_work", "node::SyncProcessRunner::"),
	.waits = waits,
	.pairs = TAPIR_TABLE(pairs),
	.headlines = headlines,
	.stacks = {.with = "complete, with JavaScript functions"},
	.names = {TAPIR_LIST_OF("--perf-basic-prof", "--perf-prof"),
		  "JavaScript functions and native ones; what is inlined counts for its caller",
		  "native functions; none of JavaScript's",
		  "start node with --perf-basic-prof --interpreted-frames-native-stack (or in "
		  "NODE_OPTIONS)",
		  .unless_its_frames_are_walked = true},
	.specs =
		{
			[TAPIR_PROFILE_ID_HTTP] = TAPIR_LIST_OF("node:http__*"),
		},
};
