// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OpenJDK's HotSpot. The strings of its provider are pointer and length, modified UTF-8, not
 * terminated. Source of the facts: "DTrace Probes in HotSpot VM" of the JDK's guide and the places
 * of the probes in HotSpot's source; checked against JDK 17 and 25.
 */
#include "spec/runtime_db/hint_table.h"

#define EVENT(name, ...)     TAPIR_HINT("hotspot", name, __VA_ARGS__)
#define NUM		     TAPIR_HINT_NUM
#define BOOL		     TAPIR_HINT_BOOL
#define PTR		     TAPIR_HINT_PTR
/* A string whose length is the argument after it. */
#define TEXT(idx, name)	     TAPIR_HINT_STRN(name, (idx) + 1), NUM(name "_len")

/* class, method and signature, of which the first is at idx. */
#define METHOD(idx)	     TEXT(idx, "class"), TEXT((idx) + 2, "method"), TEXT((idx) + 4, "signature")

#define CLASS_LOADING(event) EVENT(event, TEXT(0, "name"), PTR("loader"), BOOL("is_shared"))
#define CLASS_INIT(event)                                                                          \
	EVENT("class__initialization__" event, TEXT(0, "name"), PTR("loader"), NUM("thread_type"), \
	      BOOL("is_wait"))
#define MEM_POOL(event)                                                                            \
	EVENT(event, TEXT(0, "manager"), TEXT(2, "pool"), NUM("init_bytes"), NUM("used_bytes"),    \
	      NUM("committed_bytes"), NUM("max_bytes"))
#define MONITOR(event) EVENT(event, NUM("thread_id"), PTR("monitor"), TEXT(2, "class"))
#define JAVA_THREAD(event)                                                                         \
	EVENT(event, TEXT(0, "name"), NUM("thread_id"), NUM("native_id"), BOOL("is_daemon"))
#define VM_OPERATION(event) EVENT(event, TEXT(0, "operation"), NUM("mode"))

static const struct tapir_hint hints[] = {
	CLASS_LOADING("class__loaded"),
	CLASS_LOADING("class__unloaded"),
	EVENT("class__initialization__required", TEXT(0, "name"), PTR("loader"),
	      NUM("thread_type")),
	CLASS_INIT("clinit"),
	CLASS_INIT("concurrent"),
	CLASS_INIT("end"),
	CLASS_INIT("erroneous"),
	CLASS_INIT("error"),
	CLASS_INIT("recursive"),
	CLASS_INIT("super__failed"),

	EVENT("compiled__method__load", METHOD(0), PTR("code"), NUM("code_bytes")),
	EVENT("compiled__method__unload", METHOD(0)),
	EVENT("method__compile__begin", TEXT(0, "compiler"), METHOD(2)),
	EVENT("method__compile__end", TEXT(0, "compiler"), METHOD(2), BOOL("is_success")),
	EVENT("method__entry", NUM("thread_id"), METHOD(1)),
	EVENT("method__return", NUM("thread_id"), METHOD(1)),

	EVENT("gc__begin", BOOL("is_full")),
	MEM_POOL("mem__pool__gc__begin"),
	MEM_POOL("mem__pool__gc__end"),
	/* JDK 17 passes garbage as size (a HotSpot bug) */
	EVENT("object__alloc", NUM("thread_id"), TEXT(1, "class"), NUM("size")),

	MONITOR("monitor__contended__enter"),
	MONITOR("monitor__contended__entered"),
	MONITOR("monitor__contended__exit"),
	MONITOR("monitor__notify"),
	MONITOR("monitor__notifyAll"),
	MONITOR("monitor__waited"),
	EVENT("monitor__wait", NUM("thread_id"), PTR("monitor"), TEXT(2, "class"),
	      NUM("timeout_ms")),

	JAVA_THREAD("thread__start"),
	JAVA_THREAD("thread__stop"),
	EVENT("thread__park__begin", PTR("parker"), BOOL("is_absolute"), NUM("time")),
	EVENT("thread__park__end", PTR("parker")),
	EVENT("thread__unpark", PTR("parker")),
	EVENT("thread__sleep__begin", NUM("duration_ms")),
	EVENT("thread__sleep__end", BOOL("is_interrupted")),

	VM_OPERATION("vmops__request"),
	VM_OPERATION("vmops__begin"),
	VM_OPERATION("vmops__end"),
};

#define THREAD	TAPIR_PAIR_THREAD
#define KEY	TAPIR_PAIR_KEY
#define PROCESS TAPIR_PAIR_PROCESS
#define NONE	TAPIR_CAUSE_NONE
#define GC	TAPIR_CAUSE_GC
#define STOP	TAPIR_CAUSE_SAFEPOINT
#define JIT	TAPIR_CAUSE_JIT
#define LOCK	TAPIR_CAUSE_LOCK

static const struct tapir_pair pairs[] = {
	{"hotspot", "gc__begin", "gc__end", "gc", PROCESS, GC, 0, "is_full"},
	{"hotspot", "mem__pool__gc__begin", "mem__pool__gc__end", "pool_gc", KEY, NONE, "pool",
	 "manager pool"},
	{"hs_private", "safepoint__begin", "safepoint__end", "safepoint", PROCESS, STOP, 0, 0},
	{"hotspot", "vmops__begin", "vmops__end", "vmop", THREAD, NONE, 0, "operation"},
	{"hotspot", "method__compile__begin", "method__compile__end", "jit", THREAD, JIT, 0,
	 "class method signature"},
	{"hotspot", "monitor__contended__enter", "monitor__contended__entered", "monitor", THREAD,
	 LOCK, "monitor", "class monitor"},
	{"hotspot", "monitor__wait", "monitor__waited", "monitor_wait", THREAD, NONE, "monitor",
	 "class"},
	{"hotspot", "thread__park__begin", "thread__park__end", "park", THREAD, NONE, "parker", 0},
	{"hotspot", "thread__sleep__begin", "thread__sleep__end", "sleep", THREAD, NONE, 0,
	 "duration_ms"},
	{"hotspot", "class__initialization__required",
	 "class__initialization__end|class__initialization__error|"
	 "class__initialization__erroneous|class__initialization__recursive|"
	 "class__initialization__concurrent|class__initialization__super__failed",
	 "class_init", THREAD, NONE, "name", "name"},
};

static const char *const version_after[] = {"/java-", "/jdk-", "/jdk", NULL};
static const struct tapir_lore_module modules[] = {
	{"libjvm.so", TAPIR_LORE_WHOLE}, {"libgraal", TAPIR_LORE_PREFIX}, {}};

/* JDK 27 gives the kernel the first seven and the last six characters of a longer name. */
static const struct tapir_lore_work threads[] = {
	{"GC Thread", GC}, {"G1 ", GC},	     {"ParGC", GC},   {"ZWorker", GC},
	{"ZDriver", GC},   {"XWorker", GC},  {"Shenand", GC}, {"CMS ", GC},
	{"C1 Comp", JIT},  {"C2 Comp", JIT}, {"JVMCI", JIT},  {}};

static const struct tapir_lore_work functions[] = {{"CompileBroker::", JIT}, {}};

static const struct tapir_lore_purpose purposes[] = {
	{"SystemDictionary::", "class loading"},
	{"ClassLoader::", "class loading"},
	{"ClassFileParser::", "class loading"},
	{"InstanceKlass::link_class", "class loading"},
	{"InstanceKlass::initialize", "class loading"},
	{"JVM_DefineClass", "class loading"},
	{"JVM_FindClass", "class loading"},
	{"JVM_StartThread", "start of a thread"},
	{"VM_G1", "collection"},
	{"VM_GenCollect", "collection"},
	{"VM_ParallelGC", "collection"},
	{"CollectedHeap::collect", "collection"},
	{"G1CollectedHeap::", "collection"},
	{"ParallelScavengeHeap::", "collection"},
	{"GenCollectedHeap::", "collection"},
	{"SafepointSynchronize::", "safepoint"},
	{"LinkResolver::", "linking"},
	{"JavaThread::run", "thread start"},
	{"JavaThread::thread_main_inner", "thread start"},
	{}};
static const struct tapir_lore_purpose interval_purposes[] = {
	{"class_init", "class loading"}, {"safepoint", "safepoint"}, {}};

#define AQS(type, method) type " java.util.concurrent.locks.AbstractQueuedSynchronizer." method "*"
/* ReentrantReadWriteLock of JDK 25. */
#define AQLS(type, method)                                                                         \
	type " java.util.concurrent.locks.AbstractQueuedLongSynchronizer." method "*"

/* All of java.util.concurrent waits so: for locks, permits, connections of a pool, work. */
#define PARK(function)                                                                             \
	TAPIR_WAIT_ROW(function, "park", .is_common = true, .is_handoff = true,                    \
		       .handoff_label = "permit or a pooled object")

/* A wait until another thread takes an element. */
#define FULL(function) TAPIR_WAIT(function, "full queue")

static const struct tapir_lore_wait waits[] = {
	TAPIR_WAIT_LOCK("ObjectMonitor::enter*", "monitor"),
	TAPIR_WAIT_LOCK("ObjectMonitor::EnterI*", "monitor"),
	TAPIR_WAIT_LOCK("ObjectMonitor::ReenterI*", "monitor"),
	TAPIR_WAIT_ROW("JVM_StartThread*", TAPIR_REASON_THREAD_START, .instead_of = "mutex"),
	TAPIR_WAIT("ObjectMonitor::wait*", "condition"),
	TAPIR_WAIT("JavaThread::sleep*", "sleep"),
	PARK("Unsafe_Park*"),
	PARK("void jdk.internal.misc.Unsafe.park*"),
	PARK("void java.util.concurrent.locks.LockSupport.park*"),
	FULL("void java.util.concurrent.ArrayBlockingQueue.put*"),
	FULL("boolean java.util.concurrent.ArrayBlockingQueue.offer*"),
	FULL("void java.util.concurrent.LinkedBlockingQueue.put*"),
	FULL("boolean java.util.concurrent.LinkedBlockingQueue.offer*"),
	FULL("void java.util.concurrent.LinkedBlockingDeque.put*"),
	FULL("boolean java.util.concurrent.LinkedBlockingDeque.offer*"),
	FULL("void java.util.concurrent.SynchronousQueue.put*"),
	FULL("boolean java.util.concurrent.SynchronousQueue.offer*"),
	/* JDK 17 and later; before */
	TAPIR_WAIT_MAYBE_LOCK(AQS("int", "acquire("), "java.util.concurrent lock"),
	TAPIR_WAIT_MAYBE_LOCK(AQS("boolean", "acquireQueued("), "java.util.concurrent lock"),
	TAPIR_WAIT_MAYBE_LOCK(AQS("void", "acquire("), "java.util.concurrent lock"),
	TAPIR_WAIT_MAYBE_LOCK(AQLS("int", "acquire("), "java.util.concurrent lock"),
	{},
};

/* Not put(), which waits for room. */
#define TAKES(queue) "java.util.concurrent." queue ".take", "java.util.concurrent." queue ".poll"

/* Compiled code without frame pointers hides who asked for it. */
static const struct tapir_lore_activity cpu_activities[] = {
	TAPIR_CPU_ACTIVITY("java.util.regex.*",
			   "matches regular expressions (a pattern may backtrack)"),
	{}};

/* JDK 17 passes no right size. */
static const struct tapir_counted_event allocations[] = {
	{"hotspot", "object__alloc", "class", NULL, NULL}, {}};

static const struct tapir_lore_headline headlines[] = {{"hotspot", "gc__begin", "GC"}, {}};

#define STARTED_WITH(option)                                                                       \
	"in a JVM started with " option, TAPIR_LIST_OF(option, "-XX:+ExtendedDTraceProbes"),       \
		TAPIR_LIST_OF("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"), NULL

static const struct tapir_lore_condition conditions[] = {
	{"hotspot", TAPIR_LIST_OF("method__entry", "method__return"),
	 STARTED_WITH("-XX:+DTraceMethodProbes")},
	{"hotspot", TAPIR_LIST_OF("object__alloc"), STARTED_WITH("-XX:+DTraceAllocProbes")},
	{"hotspot", TAPIR_LIST_OF("monitor__*"), STARTED_WITH("-XX:+DTraceMonitorProbes")},
	{}};

const struct tapir_lore tapir_lore_hotspot = {
	.name = "OpenJDK",
	.finalizer_thread = "Finalizer",
	.providers = TAPIR_LIST_OF("hotspot", "hotspot_jni", "hs_private"),
	.modules = modules,
	.version_after = version_after,
	.threads = threads,
	.functions = functions,
	.purposes = purposes,
	.interval_purposes = interval_purposes,
	.library_code = TAPIR_LIST_OF("java.", "javax.", "jdk.", "sun.", "com.sun.", "kotlin.",
				      "kotlinx.", "scala.", "groovy.", "clojure."),
	.exception_functions = TAPIR_LIST_OF(
		"java_lang_Throwable::fill_in_stack_trace", "JVM_FillInStackTrace",
		"Exceptions::_throw", "SharedRuntime::raw_exception_handler_for_return_address",
		"SharedRuntime::compute_compiled_exc_handler", "OptoRuntime::handle_exception_C",
		"OptoRuntime::rethrow_C", "Runtime1::handle_exception", "exception_handler_for_pc",
		"InterpreterRuntime::exception_handler_for_exception",
		"java.lang.Throwable java.lang.Throwable.fillInStackTrace("),
	.workers = TAPIR_LIST_OF("java.util.concurrent.ThreadPoolExecutor.runWorker(",
				 "java.util.concurrent.ForkJoinPool.runWorker(",
				 "org.apache.tomcat.util.threads.ThreadPoolExecutor.runWorker("),
	.dequeue_functions = TAPIR_LIST_OF(
		"java.util.concurrent.ThreadPoolExecutor.getTask(",
		"java.util.concurrent.ForkJoinPool.awaitWork(",
		"org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask(",
		TAKES("LinkedBlockingQueue"), TAKES("LinkedBlockingDeque"),
		TAKES("ArrayBlockingQueue"), TAKES("PriorityBlockingQueue"),
		TAKES("SynchronousQueue"), TAKES("LinkedTransferQueue"), TAKES("DelayQueue")),
	.join_functions = TAPIR_LIST_OF("java.util.concurrent.FutureTask.awaitDone(",
					"java.util.concurrent.FutureTask.get(",
					"java.util.concurrent.CompletableFuture.waitingGet(",
					"java.util.concurrent.CompletableFuture.timedGet(",
					"java.util.concurrent.ForkJoinTask.awaitDone(",
					"java.util.concurrent.CountDownLatch.await(",
					"java.util.concurrent.CyclicBarrier.dowait("),
	.interpreter_loops = TAPIR_LIST_OF("BytecodeInterpreter::run"),
	.interpreted = TAPIR_LIST_OF("Interpreter"),
	.waits = waits,
	.cpu_activities = cpu_activities,
	.hints = {&(const struct tapir_hint_table)TAPIR_TABLE(hints), &tapir_hints_jni},
	.pairs = TAPIR_TABLE(pairs),
	.counted = {[TAPIR_COUNTS_ALLOCATIONS] = allocations},
	.headlines = headlines,
	.conditions = conditions,
	.stacks = {TAPIR_LIST_OF("-XX:+PreserveFramePointer"),
		   "complete, with compiled Java methods", "end at the first compiled Java method",
		   "start java with -XX:+PreserveFramePointer (or in JAVA_TOOL_OPTIONS)",
		   .unless_it_has_frame_sizes = true},
	.names = {.with = "Java methods and the JVM's functions"},
	.specs =
		{
			[TAPIR_PROFILE_ID_DEFAULT] = TAPIR_LIST_OF(
				"hotspot:gc__*,mem__pool__gc__*", "hotspot:method__compile__*",
				"hotspot:class__loaded,class__unloaded",
				"hotspot:thread__start,thread__stop", "hotspot:vmops__*"),
			[TAPIR_PROFILE_ID_GC] =
				TAPIR_LIST_OF("hotspot:gc__*,mem__pool__gc__*", "hotspot:vmops__*"),
			[TAPIR_PROFILE_ID_CONTENTION] =
				TAPIR_LIST_OF("hotspot:monitor__contended__*"),
			[TAPIR_PROFILE_ID_ALLOCATIONS] = TAPIR_LIST_OF("hotspot:object__alloc"),
			[TAPIR_PROFILE_ID_THREADPOOL] = TAPIR_LIST_OF("hotspot:thread__*"),
			[TAPIR_PROFILE_ID_EVERYTHING] = TAPIR_LIST_OF(
				"hotspot:gc__*,mem__pool__gc__*", "hotspot:method__compile__*",
				"hotspot:class__*", "hotspot:thread__*", "hotspot:vmops__*",
				"hotspot:monitor__contended__*"),
		},
};
