// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * .NET. Source of the facts: the runtime's own manifest; the names of its events are symbols
 * without _Vn. An exception is four events at level 4, one at level 2.
 */
#include "spec/runtime_db/hint_table.h"

#define CLR	   "Microsoft-Windows-DotNETRuntime"
#define TPL	   TAPIR_LORE_TASK_EVENTS
#define BUFFERS	   TAPIR_LORE_ASYNC_BUFFERS
#define FRAMEWORK  "System.Diagnostics.Eventing.FrameworkEventSource"
#define DS	   "Microsoft-Diagnostics-DiagnosticSource"
#define KESTREL	   "Microsoft-AspNetCore-Server-Kestrel"
#define SQL_CLIENT "Microsoft.Data.SqlClient.EventSource"
#define THREAD	   TAPIR_PAIR_THREAD
#define KEY	   TAPIR_PAIR_KEY
#define ACTIVITY   TAPIR_PAIR_ACTIVITY
#define PROCESS	   TAPIR_PAIR_PROCESS
#define NONE	   TAPIR_CAUSE_NONE
#define GC	   TAPIR_CAUSE_GC
#define JIT	   TAPIR_CAUSE_JIT
#define LOCK	   TAPIR_CAUSE_LOCK

static const struct tapir_pair pairs[] = {
	{CLR, "GCStart", "GCEnd", "gc", KEY, NONE, "Count", "Depth Reason Type"},
	/* Threads run again from where they are released, as GC.GetTotalPauseDuration has it: the
	 * rest of the restart is the collecting thread's, which may have lost its CPU by then. */
	{CLR, "GCSuspendEEBegin", "GCRestartEEBegin", "pause", PROCESS, GC, 0, "Reason"},
	{CLR, "GCSuspendEEBegin", "GCSuspendEEEnd", "suspend", PROCESS, NONE, 0, 0},
	{CLR, "GCRestartEEBegin", "GCRestartEEEnd", "resume", PROCESS, NONE, 0, 0},
	{CLR, "MethodJittingStarted", "MethodLoadVerbose", "jit", THREAD, JIT, "MethodID",
	 "MethodNamespace MethodName MethodSignature"},
	{CLR, "ContentionStart", "ContentionStop", "contention", THREAD, LOCK, 0, "LockID"},
	{CLR, "ExceptionCatchStart", "ExceptionCatchStop", "catch", THREAD, NONE, 0, "MethodName"},
	{CLR, "TypeLoadStart", "TypeLoadStop", "type_load", THREAD, NONE, "TypeLoadStartID", 0},
	{CLR, "ThreadPoolEnqueue", "ThreadPoolDequeue", "queued", KEY, NONE, "WorkID", 0},
	{FRAMEWORK, "ThreadPoolEnqueueWork", "ThreadPoolDequeueWork", "queued", KEY, NONE, "workID",
	 0},
	{"System.Net.Http", "RequestStart", "RequestStop|RequestFailed", "http_request", ACTIVITY,
	 NONE, 0, "scheme host pathAndQuery"},
	{"Microsoft.AspNetCore.Hosting", "RequestStart", "RequestStop", "request", ACTIVITY, NONE,
	 0, "method path"},
	{KESTREL, "RequestStart", "RequestStop", "server_request", KEY, NONE, "requestId",
	 "method path"},
	{KESTREL, "ConnectionStart", "ConnectionStop", "server_connection", KEY, NONE,
	 "connectionId", "remoteEndPoint"},
	{KESTREL, "TlsHandshakeStart", "TlsHandshakeStop|TlsHandshakeFailed", "tls_handshake", KEY,
	 NONE, "connectionId", 0},
	{DS, "Activity1Start", "Activity1Stop", "request", KEY, NONE, "SpanId", "Method Path"},
	{DS, "Activity2Start", "Activity2Stop", "http_request", KEY, NONE, "SpanId", "Method Url"},
	{DS, "RecursiveActivity1Start", "RecursiveActivity1Stop", "sql", KEY, NONE, "SpanId",
	 "Sql"},
	{DS, "ActivityStart", "ActivityStop", "span", KEY, NONE, "SpanId", "SourceName Name"},
	{TPL, "TaskScheduled", "TaskStarted", "task_queued", KEY, NONE, "TaskID", 0},
	{TPL, "TaskStarted", "TaskCompleted", "task", KEY, NONE, "TaskID", 0},
	{TPL, "TaskWaitBegin", "TaskWaitEnd", "task_wait", KEY, NONE, "TaskID", 0},
	{TPL, "TraceOperationBegin", "TraceOperationEnd", "operation", KEY, NONE, "TaskID",
	 "OperationName"},
	{TPL, "TraceSynchronousWorkBegin", "TraceSynchronousWorkEnd", "synchronous_work", THREAD,
	 NONE, 0, 0},
	{"System.Net.Sockets", "ConnectStart", "ConnectStop|ConnectFailed", "connect", ACTIVITY,
	 NONE, 0, "address"},
	{"System.Net.NameResolution", "ResolutionStart", "ResolutionStop|ResolutionFailed",
	 "resolve", ACTIVITY, NONE, 0, "hostNameOrAddress"},
	{SQL_CLIENT, "BeginExecute", "EndExecute", "sql", KEY, NONE, "objectId", "commandText"},
};

/*
 * Requests as activities, without a change to the recorded flag, which decides whether services
 * downstream sample. For listeners of their DiagnosticListener, HTTP servers and clients create
 * activities that inherit the flag. [AS] listens to every other ActivitySource, with a sampler:
 * -Record clears the flag of a request that came with it (seen on 10.0.12), no sampler sets it, and
 * ParentRatioSampler(0) follows the parent (DiagnosticSource 9; earlier ones ignore the line). It
 * shows spans of sampled traces, and those that begin a trace or continue one of another process.
 * Microsoft.Data.SqlClient creates no activities: its statements are below the one in which they
 * are made, by an id of their own that is no span's of W3C.
 */
#define IDS_OF_CURRENT                                                                             \
	"TraceId=*Activity.TraceId;SpanId=*Activity.SpanId;ParentSpanId=*Activity.ParentSpanId;"   \
	"Flags=*Activity.ActivityTraceFlags;"
#define SERVER	  "Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.HttpRequestIn."
#define CLIENT	  "HttpHandlerDiagnosticListener/System.Net.Http.HttpRequestOut."
#define STATEMENT "SqlClientDiagnosticListener/Microsoft.Data.SqlClient.WriteCommand"
#define IDS_OF_STATEMENT                                                                           \
	"SpanId=OperationId;TraceId=*Activity.TraceId;ParentSpanId=*Activity.SpanId;"
#define REQUESTS                                                                                      \
	DS ":0x2:Informational:FilterAndPayloadSpecs=\"" SERVER                                       \
	   "Start@Activity1Start:-" IDS_OF_CURRENT                                                    \
	   "Method=Request.Method;Path=Request.Path\n" SERVER                                         \
	   "Stop@Activity1Stop:-" IDS_OF_CURRENT "Status=Response.StatusCode\n" CLIENT                \
	   "Start@Activity2Start:-" IDS_OF_CURRENT                                                    \
	   "Method=Request.Method.Method;Url=Request.RequestUri;"                                     \
	   "host=Request.RequestUri.Host\n" CLIENT "Stop@Activity2Stop:-" IDS_OF_CURRENT              \
	   "Status=Response.StatusCode\n" STATEMENT                                                   \
	   "Before@RecursiveActivity1Start:-" IDS_OF_STATEMENT                                        \
	   "Sql=Command.CommandText\n" STATEMENT "After@RecursiveActivity1Stop:-" IDS_OF_STATEMENT    \
	   "\n" STATEMENT "Error@RecursiveActivity1Stop:-" IDS_OF_STATEMENT "\n"                      \
	   "[AS]*/-ParentRatioSampler(0):-TraceId;SpanId;ParentSpanId;Flags=ActivityTraceFlags;Kind;" \
	   "Name=DisplayName;Tags=TagObjects.*Enumerate\""

static const char *const version_after[] = {"/Microsoft.NETCore.App/", NULL};
static const struct tapir_lore_module modules[] = {{"libcoreclr.so", TAPIR_LORE_WHOLE},
						   {"libclrjit.so", TAPIR_LORE_WHOLE},
						   {"libclrgc.so", TAPIR_LORE_WHOLE},
						   {"libclrgcexp.so", TAPIR_LORE_WHOLE},
						   {}};

static const struct tapir_lore_work threads[] = {
	{".NET Server GC", GC}, {".NET BGC", GC}, {".NET GC", GC}, {".NET Tiered", JIT}, {}};

/* Without symbols, the name of a function is that of its library. */
static const struct tapir_lore_work functions[] = {
	{"WKS::", GC}, {"SVR::", GC}, {"libclrjit.so", JIT}, {"libclrgc", GC}, {}};

static const struct tapir_lore_purpose purposes[] = {
	{"System.Runtime.EH.", "exception dispatch"},
	{"*.Throw", "exception dispatch"},
	{"IL_Throw", "exception dispatch"},
	{"IL_Rethrow", "exception dispatch"},
	{"ProcessCLRException", "exception dispatch"},
	{"SfiInit", "exception dispatch"},
	{"SfiNext", "exception dispatch"},
	{"System.Runtime.CompilerServices.InitHelpers.", "type loading"},
	{"System.Runtime.CompilerServices.StaticsHelpers.", "type loading"},
	{"System.Runtime.CompilerServices.GenericsHelpers.", "type loading"},
	{"System.RuntimeTypeHandle.", "type loading"},
	{"System.Reflection.RuntimeAssembly.", "type loading"},
	{"ClassLoader::", "type loading"},
	{"MethodTable::CheckRunClassInit", "type loading"},
	{"System.GC.", "collection"},
	{"PreStubWorker", "method preparation"},
	{"ThePreStub", "method preparation"},
	{"System.Threading.PortableThreadPool.", "thread pool"},
	{"System.Threading.ThreadPoolWorkQueue.", "thread pool"},
	{"System.Threading.Thread.StartCallback", "thread start"},
	{}};
static const struct tapir_lore_purpose interval_purposes[] = {{"type_load", "type loading"}, {}};

static const struct tapir_lore_wait waits[] = {
	TAPIR_WAIT_LOCK("AwareLock::Enter*", "monitor"),
	TAPIR_WAIT_LOCK("System.Threading.Monitor.Enter*", "monitor"),
	TAPIR_WAIT_LOCK("System.Threading.Monitor.TryEnter*", "monitor"),
	TAPIR_WAIT_LOCK("System.Threading.Monitor.ReliableEnter*", "monitor"),
	TAPIR_WAIT_LOCK("System.Threading.Lock.*", "lock"),
	TAPIR_WAIT_TURNS("System.Threading.ReaderWriterLockSlim.*", "reader-writer lock"),
	TAPIR_WAIT_TURNS("System.Threading.ReaderWriterLock.*", "reader-writer lock"),
	TAPIR_WAIT_LOCK("System.Threading.Mutex.*", "mutex"),
	TAPIR_WAIT_COMMON("System.Threading.Monitor.Wait*", "condition"),
	TAPIR_WAIT_COMMON("System.Threading.WaitHandle.*", "event"),
	TAPIR_WAIT_COMMON("System.Threading.ManualResetEventSlim.Wait*", "event"),
	TAPIR_WAIT_HANDOFF("System.Threading.SemaphoreSlim.Wait*", "semaphore"),
	TAPIR_WAIT("System.Collections.Concurrent.BlockingCollection<*>.TryAdd", "full queue"),
	TAPIR_WAIT("System.Collections.Concurrent.BlockingCollection<*>.TryTake", "work"),
	TAPIR_WAIT("System.Threading.Tasks.Task.SpinThenBlockingWait*", "task"),
	TAPIR_WAIT("System.Threading.Tasks.Task.InternalWait*", "task"),
	TAPIR_WAIT("System.Threading.Thread.Sleep*", "sleep"),
	TAPIR_WAIT("System.Threading.Thread.Join*", "join"),
	/* Not Start*: each thread begins in StartCallback. */
	TAPIR_WAIT_ROW("System.Threading.Thread.Start(*", TAPIR_REASON_THREAD_START,
		       .instead_of = "mutex"),
	TAPIR_WAIT_ROW("System.Threading.Thread.UnsafeStart(*", TAPIR_REASON_THREAD_START,
		       .instead_of = "mutex"),
	/* Such a wait is not for the answer of another program. */
	TAPIR_WAIT_ROW("System.ConsolePal.*", "standard input", .instead_of = "pipe"),
	{}};

/* More special ones first. */
static const struct tapir_lore_awaited awaited[] = {
	{"System.Threading.SemaphoreSlim.", "a semaphore", TAPIR_QUEUE_HANDOFF, false},
	{"System.Threading.Channels.", "a channel", TAPIR_QUEUE_ONCE, false},
	{"System.Net.Http.HttpConnectionWaiter", "a connection", TAPIR_QUEUE_ALWAYS, false},
	{"System.Threading.Tasks.Task.DelayPromise", "a delay", TAPIR_QUEUE_NONE, false},
	{"System.Threading.PeriodicTimer.", "a timer", TAPIR_QUEUE_NONE, false},
	{"System.Threading.Tasks.Task.WhenAllPromise", "all of several tasks", TAPIR_QUEUE_NONE,
	 true},
	{"System.Threading.Tasks.TaskFactory.CompleteOnInvokePromise", "one of several tasks",
	 TAPIR_QUEUE_NONE, true},
	{"System.Net.Http.", "HTTP", TAPIR_QUEUE_NONE, false},
	{"Grpc.", "gRPC", TAPIR_QUEUE_NONE, false},
	{"Npgsql.", "PostgreSQL", TAPIR_QUEUE_NONE, false},
	{"MySqlConnector.", "MySQL", TAPIR_QUEUE_NONE, false},
	{"Microsoft.Data.SqlClient.", "SQL Server", TAPIR_QUEUE_NONE, false},
	{"StackExchange.Redis.", "Redis", TAPIR_QUEUE_NONE, false},
	{"System.Net.Security.", "TLS", TAPIR_QUEUE_NONE, false},
	{"System.Net.NameResolution", "DNS", TAPIR_QUEUE_NONE, false},
	{"System.Net.Sockets.", "a socket", TAPIR_QUEUE_NONE, false},
	{"System.IO.Pipelines.", "a pipe", TAPIR_QUEUE_NONE, false},
	{"System.IO.RandomAccess", "a file", TAPIR_QUEUE_NONE, false},
	{}};

#define CONNECTS TAPIR_CPU_ACTIVITY_CONNECTS
#define TLS	 "negotiates TLS for new connections"
#define JSON	 "finds out how to serialize types (JsonSerializerOptions may be created for each call)"
#define REGEX	 "compiles regular expressions (one may be created for each call)"

/* Activities that are meant to be done once, and then reused. */
static const struct tapir_lore_activity cpu_activities[] = {
	TAPIR_CPU_ACTIVITY("System.Diagnostics.Process.Start*",
			   TAPIR_CPU_ACTIVITY_STARTS_PROCESSES),
	TAPIR_CPU_ACTIVITY("System.Net.Http.HttpConnectionPool.Connect*", CONNECTS),
	TAPIR_CPU_ACTIVITY("System.Net.Http.HttpConnectionPool.Create*", CONNECTS),
	TAPIR_CPU_ACTIVITY("System.Net.Http.HttpConnectionPool.Dispose*", CONNECTS),
	TAPIR_CPU_ACTIVITY("System.Net.Http.HttpConnectionPool.InjectNew*", CONNECTS),
	TAPIR_CPU_ACTIVITY("System.Net.Http.HttpConnectionPoolManager..ctor*", CONNECTS),
	TAPIR_CPU_ACTIVITY("System.Net.Http.SocketsHttpHandler.SetupHandlerChain*", CONNECTS),
	TAPIR_CPU_ACTIVITY("System.Net.Http.HttpMessageHandler.Dispose*", CONNECTS),
	TAPIR_CPU_ACTIVITY("System.Net.Sockets.NetworkStream.Dispose*", CONNECTS),
	TAPIR_CPU_ACTIVITY("System.Net.Sockets.SafeSocketHandle.*", CONNECTS),
	TAPIR_CPU_ACTIVITY("System.Net.Sockets.Socket..ctor*", CONNECTS),
	TAPIR_CPU_ACTIVITY("System.Net.Sockets.Socket.Connect*", CONNECTS),
	TAPIR_CPU_ACTIVITY("System.Net.Sockets.SocketAsyncEventArgs.DnsConnect*", CONNECTS),
	TAPIR_CPU_ACTIVITY("System.Net.Security.SslStream.ForceAuthenticationAsync*", TLS),
	TAPIR_CPU_ACTIVITY("System.Text.Json.Serialization.Metadata.DefaultJsonTypeInfoResolver.*",
			   JSON),
	TAPIR_CPU_ACTIVITY("System.Text.Json.JsonSerializerOptions.GetTypeInfo*", JSON),
	TAPIR_CPU_ACTIVITY("System.Text.RegularExpressions.Regex..ctor*", REGEX),
	{}};

static const struct tapir_counted_event exceptions[] = {
	{CLR, "ExceptionThrown", "ExceptionType", "ExceptionMessage", NULL}, {}};

static const struct tapir_counted_event allocations[] = {
	{CLR, "GCAllocationTick", "TypeName", NULL, "AllocationAmount64 AllocationAmount"},
	{CLR, "GCSampledObjectAllocation", "TypeID", NULL, "TotalSizeForTypeSample"},
	{},
};

static const struct tapir_counted_event samples[] = {
	{CLR, "AllocationSampled", "TypeName", NULL, "ObjectSize"},
	{},
};

static const struct tapir_lore_headline headlines[] = {{CLR, "GCStart", "GC"}, {}};

/* One for each task that runs: the stack of its begin says what completed what it awaited. */
static const struct tapir_lore_event stackless[] = {{TPL, "TraceSynchronousWorkEnd"}, {}};

const struct tapir_lore tapir_lore_dotnet = {
	.name = ".NET",
	.short_name = "dotnet",
	.live_from = "it was compiled ahead of time (NativeAOT)", /* all others are followed */
	.providers = TAPIR_LIST_OF(CLR),
	.modules = modules,
	.version_after = version_after,
	.threads = threads,
	.functions = functions,
	.purposes = purposes,
	.interval_purposes = interval_purposes,
	/* The runtime's libraries, and those through which programs ask databases and services. */
	.library_code = TAPIR_LIST_OF(
		"System.", "Microsoft.", "Internal.", "Interop.", "dynamicClass.", "MS.",
		"FxResources.", "InvokeStub_", "Npgsql.", "MySqlConnector.", "StackExchange.Redis.",
		"Grpc.", "Dapper.", "MongoDB.", "RabbitMQ.Client.", "Confluent.Kafka."),
	.framework_glue = TAPIR_LIST_OF(
		"System.Runtime.EH.", "System.Runtime.ExceptionServices.",
		"System.Runtime.CompilerServices.", "System.Diagnostics.Tracing.",
		"System.Threading.Monitor.", "System.Threading.Lock.", "System.Threading.Thread.",
		"System.Threading.WaitHandle.", "System.Threading.ManualResetEventSlim.",
		"System.Threading.ExecutionContext.", "System.Threading.ThreadPoolWorkQueue.",
		"System.Threading.PortableThreadPool.", "System.Threading.Tasks.Task.",
		"System.Threading.Tasks.AwaitTaskContinuation.", "System.ThrowHelper."),
	.stackless = stackless,
	.async_methods = TAPIR_LIST_OF("* (async)"),
	.continuation_functions = TAPIR_LIST_OF(
		"System.Runtime.CompilerServices.*StateMachineBox<*",
		"System.Runtime.CompilerServices.*Awaiter.*",
		"System.Runtime.CompilerServices.AsyncMethodBuilderCore.ContinuationWrapper.*",
		"System.Threading.ExecutionContext.*", "System.Threading.QueueUserWorkItem*",
		"System.Threading.Tasks.AwaitTaskContinuation.*",
		"System.Threading.Tasks.SynchronizationContextAwaitTaskContinuation.*",
		"System.Threading.Tasks.TaskSchedulerAwaitTaskContinuation.*",
		"System.Threading.Tasks.Task.RunContinuation*",
		"System.Threading.Tasks.Sources.ManualResetValueTaskSourceCore<*",
		"System.Threading.ThreadPoolWorkQueue.*"),
	.async_dispatchers = TAPIR_LIST_OF(
		"System.Runtime.CompilerServices.AsyncHelpers.*Dispatch*",
		"System.Runtime.CompilerServices.AsyncProfiler.ContinuationWrapper.*"),
	.task_start_functions =
		TAPIR_LIST_OF("System.Threading.Tasks.*.InnerInvoke(*",
			      "System.Threading.Tasks.Task.ExecuteWithThreadLocal(*",
			      "System.Threading.ExecutionContext.RunFromThreadPoolDispatchLoop(*"),
	.pool_thread = ".NET TP Worker",
	.pool_idle = TAPIR_LIST_OF("System.Threading.LowLevelLifoSemaphore."),
	.finalizer_thread = ".NET Finalizer",
	.tracer_threads = TAPIR_LIST_OF(".NET EventPipe", "tapir"),
	.waits = waits,
	.awaited = awaited,
	.cpu_activities = cpu_activities,
	.pairs = TAPIR_TABLE(pairs),
	.counted = {[TAPIR_COUNTS_EXCEPTIONS] = exceptions,
		    [TAPIR_COUNTS_ALLOCATIONS] = allocations,
		    [TAPIR_COUNTS_ALLOCATION_SAMPLES] = samples},
	.headlines = headlines,
	.activities = TAPIR_LIST_OF(TPL ":TasksFlowActivityIds",
				    TPL ":TaskWaitBegin,TaskWaitEnd,TraceOperationBegin,"
					"TraceOperationEnd",
				    FRAMEWORK ":ThreadPoolEnqueueWork,ThreadPoolDequeueWork"),
	.stacks = {.with = "complete, with .NET's methods"},
	.names = {.with = "methods, and functions that the runtime exports"},
	.specs =
		{
			[TAPIR_PROFILE_ID_DEFAULT] = TAPIR_LIST_OF(
				CLR ":GC,Jit,Loader,Contention,Threading:Informational",
				CLR ":Exception:Error",
				"System.Net.Sockets:ev=ConnectStart,ev=ConnectStop,"
				"ev=ConnectFailed:Informational",
				KESTREL ":ev=RequestStart,ev=RequestStop:Informational",
				SQL_CLIENT ":ev=BeginExecute,ev=EndExecute:Informational",
				TAPIR_LORE_NPGSQL ":ev=CommandStart:Informational"),
			[TAPIR_PROFILE_ID_GC] = TAPIR_LIST_OF(CLR ":GC:Informational"),
			[TAPIR_PROFILE_ID_EXCEPTIONS] =
				TAPIR_LIST_OF(CLR ":Exception:Informational"),
			[TAPIR_PROFILE_ID_CONTENTION] =
				TAPIR_LIST_OF(CLR ":Contention,WaitHandle:Verbose"),
			[TAPIR_PROFILE_ID_ALLOCATIONS] =
				TAPIR_LIST_OF(CLR ":GCAllocationTick,AllocationSampled",
					      CLR ":GCStart,GCEnd,GCHeapStats"),
			[TAPIR_PROFILE_ID_THREADPOOL] = TAPIR_LIST_OF(
				CLR ":Threading:Informational",
				CLR ":ThreadPoolIOEnqueue,ThreadPoolIODequeue",
				FRAMEWORK ":ThreadPoolEnqueueWork,ThreadPoolDequeueWork",
				TPL ":Tasks:Verbose"),
			[TAPIR_PROFILE_ID_HTTP] =
				TAPIR_LIST_OF("Microsoft.AspNetCore.Hosting", KESTREL,
					      "System.Net.Http", "System.Net.NameResolution",
					      "System.Net.Sockets", "System.Net.Security"),
			[TAPIR_PROFILE_ID_REQUESTS] = TAPIR_LIST_OF(REQUESTS),
			/* TaskTransfer: awaits. AsyncCausalitySynchronousWork: which task a thread
			   runs. Buffers: TAPIR_LORE_ASYNC_KEYWORDS. */
			[TAPIR_PROFILE_ID_ASYNC] = TAPIR_LIST_OF(TAPIR_LORE_AWAITS_SPEC,
								 BUFFERS ":0x25c:Informational"),
			[TAPIR_PROFILE_ID_EVERYTHING] = TAPIR_LIST_OF(
				CLR
				":GC,Jit,Loader,Contention,Threading,Exception,Type,Interop,Compilation:Informational",
				"Microsoft.AspNetCore.Hosting", KESTREL,
				"Microsoft.EntityFrameworkCore", "System.Net.*",
				TPL ":Tasks:Informational",
				"System.Runtime:ev=EventCounters:Error:EventCounterIntervalSec=1"),
		},
};
