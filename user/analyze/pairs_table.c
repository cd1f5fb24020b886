// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pairs of the runtimes. Sources of the facts: the pages on their probes (see decode/hints_*.c)
 * and, for .NET, the runtime's own manifest; its events' names are symbols without _Vn.
 */
#include "analyze/pairs.h"

#include <string.h>

#define THREAD	 TAPIR_PAIR_THREAD
#define KEY	 TAPIR_PAIR_KEY
#define ACTIVITY TAPIR_PAIR_ACTIVITY
#define PROCESS	 TAPIR_PAIR_PROCESS
#define NONE	 TAPIR_CAUSE_NONE
#define GC	 TAPIR_CAUSE_GC
#define STOP	 TAPIR_CAUSE_STOP
#define JIT	 TAPIR_CAUSE_JIT
#define LOCK	 TAPIR_CAUSE_LOCK
#define IO	 TAPIR_CAUSE_IO

#define JVM	 "hotspot"
#define PG	 "postgresql"
#define CLR	 "Microsoft-Windows-DotNETRuntime"
#define TPL	 "System.Threading.Tasks.TplEventSource"

static const struct tapir_pair pairs[] = {
	{JVM, "gc__begin", "gc__end", "gc", PROCESS, GC, 0, "is_full"},
	{JVM, "mem__pool__gc__begin", "mem__pool__gc__end", "pool_gc", KEY, NONE, "pool",
	 "manager pool"},
	{"hs_private", "safepoint__begin", "safepoint__end", "safepoint", PROCESS, STOP, 0, 0},
	{JVM, "vmops__begin", "vmops__end", "vmop", THREAD, NONE, 0, "operation"},
	{JVM, "method__compile__begin", "method__compile__end", "jit", THREAD, JIT, 0,
	 "class method signature"},
	{JVM, "monitor__contended__enter", "monitor__contended__entered", "monitor", THREAD, LOCK,
	 "monitor", "class monitor"},
	{JVM, "monitor__wait", "monitor__waited", "monitor_wait", THREAD, NONE, "monitor", "class"},
	{JVM, "thread__park__begin", "thread__park__end", "park", THREAD, NONE, "parker", 0},
	{JVM, "thread__sleep__begin", "thread__sleep__end", "sleep", THREAD, NONE, 0,
	 "duration_ms"},
	{JVM, "class__initialization__required",
	 "class__initialization__end|class__initialization__error|"
	 "class__initialization__erroneous|class__initialization__recursive|"
	 "class__initialization__concurrent|class__initialization__super__failed",
	 "class_init", THREAD, NONE, "name", "name"},

	{PG, "query__start", "query__done", "query", THREAD, NONE, 0, "query"},
	{PG, "query__parse__start", "query__parse__done", "parse", THREAD, NONE, 0, 0},
	{PG, "query__rewrite__start", "query__rewrite__done", "rewrite", THREAD, NONE, 0, 0},
	{PG, "query__plan__start", "query__plan__done", "plan", THREAD, NONE, 0, 0},
	{PG, "query__execute__start", "query__execute__done", "execute", THREAD, NONE, 0, 0},
	{PG, "transaction__start", "transaction__commit|transaction__abort", "transaction", THREAD,
	 NONE, 0, "local_xid"},
	{PG, "lock__wait__start", "lock__wait__done", "lock", THREAD, LOCK, 0,
	 "tag_type tag_field1 tag_field2 tag_field3 mode"},
	{PG, "lwlock__wait__start", "lwlock__wait__done", "lwlock", THREAD, LOCK, 0, "tranche"},
	{PG, "buffer__read__start", "buffer__read__done", "buffer_read", THREAD, NONE, 0,
	 "relation_oid block"},
	{PG, "smgr__md__read__start", "smgr__md__read__done", "file_read", THREAD, IO, 0,
	 "relation_oid block"},
	{PG, "smgr__md__write__start", "smgr__md__write__done", "file_write", THREAD, IO, 0,
	 "relation_oid block"},
	{PG, "wal__buffer__write__dirty__start", "wal__buffer__write__dirty__done", "wal_write",
	 THREAD, IO, 0, 0},
	{PG, "sort__start", "sort__done", "sort", THREAD, NONE, 0, "kind key_cnt"},
	{PG, "checkpoint__start", "checkpoint__done", "checkpoint", THREAD, NONE, 0, 0},
	{PG, "buffer__sync__start", "buffer__sync__done", "buffer_sync", THREAD, IO, 0, 0},
	{PG, "buffer__flush__start", "buffer__flush__done", "buffer_flush", THREAD, IO, 0,
	 "relation_oid block"},

	{"python", "gc__start", "gc__done", "gc", THREAD, GC, 0, "generation"},
	{"python", "function__entry", "function__return", "function", THREAD, NONE, 0,
	 "function filename"},
	{"python", "import__find__load__start", "import__find__load__done", "import", THREAD, NONE,
	 "module", "module"},
	{"ruby", "gc__mark__begin", "gc__mark__end", "gc_mark", THREAD, GC, 0, 0},
	{"ruby", "gc__sweep__begin", "gc__sweep__end", "gc_sweep", THREAD, GC, 0, 0},
	{"ruby", "method__entry", "method__return", "method", THREAD, NONE, 0, "class method"},
	{"ruby", "cmethod__entry", "cmethod__return", "cmethod", THREAD, NONE, 0, "class method"},
	{"ruby", "require__entry", "require__return", "require", THREAD, NONE, 0, "required_file"},
	{"php", "request__startup", "request__shutdown", "request", THREAD, NONE, 0,
	 "request_method request_uri file"},
	{"php", "compile__file__entry", "compile__file__return", "compile", THREAD, JIT, 0, "file"},
	{"php", "function__entry", "function__return", "function", THREAD, NONE, 0,
	 "class scope function"},
	{"php", "execute__entry", "execute__return", "execute", THREAD, NONE, 0, "file"},
	{"node", "gc__start", "gc__done", "gc", THREAD, GC, 0, 0},
	{"node", "http__server__request", "http__server__response", "request", THREAD, NONE, 0, 0},
	{"node", "http__client__request", "http__client__response", "http_request", THREAD, NONE, 0,
	 0},

	{CLR, "GCStart", "GCEnd", "gc", KEY, NONE, "Count", "Depth Reason Type"},
	{CLR, "GCSuspendEEBegin", "GCRestartEEEnd", "pause", PROCESS, GC, 0, "Reason"},
	{CLR, "GCSuspendEEBegin", "GCSuspendEEEnd", "suspend", PROCESS, NONE, 0, 0},
	{CLR, "GCRestartEEBegin", "GCRestartEEEnd", "resume", PROCESS, NONE, 0, 0},
	{CLR, "MethodJittingStarted", "MethodLoadVerbose", "jit", THREAD, JIT, "MethodID",
	 "MethodNamespace MethodName MethodSignature"},
	{CLR, "ContentionStart", "ContentionStop", "contention", THREAD, LOCK, 0, "LockID"},
	{CLR, "ExceptionCatchStart", "ExceptionCatchStop", "catch", THREAD, NONE, 0, "MethodName"},
	{CLR, "TypeLoadStart", "TypeLoadStop", "type_load", THREAD, NONE, "TypeLoadStartID", 0},
	{CLR, "ThreadPoolEnqueue", "ThreadPoolDequeue", "queued", KEY, NONE, "WorkID", 0},
	{"System.Diagnostics.Eventing.FrameworkEventSource", "ThreadPoolEnqueueWork",
	 "ThreadPoolDequeueWork", "queued", KEY, NONE, "workID", 0},
	{"System.Net.Http", "RequestStart", "RequestStop|RequestFailed", "http_request", ACTIVITY,
	 NONE, 0, "scheme host pathAndQuery"},
	{"Microsoft.AspNetCore.Hosting", "RequestStart", "RequestStop", "request", ACTIVITY, NONE,
	 0, "method path"},
	{TPL, "TaskScheduled", "TaskStarted", "task_queued", KEY, NONE, "TaskID", 0},
	{TPL, "TaskStarted", "TaskCompleted", "task", KEY, NONE, "TaskID", 0},
	{TPL, "TaskWaitBegin", "TaskWaitEnd", "task_wait", KEY, NONE, "TaskID", 0},
	{"System.Net.Sockets", "ConnectStart", "ConnectStop|ConnectFailed", "connect", ACTIVITY,
	 NONE, 0, "address"},
	{"System.Net.NameResolution", "ResolutionStart", "ResolutionStop|ResolutionFailed",
	 "resolve", ACTIVITY, NONE, 0, "hostNameOrAddress"},
	{"Microsoft.Data.SqlClient.EventSource", "BeginExecute", "EndExecute", "sql", KEY, NONE,
	 "objectId", "commandText"},
};

const struct tapir_pair_table tapir_pairs_known = {pairs, sizeof(pairs) / sizeof(*pairs)};

/* ---- numbers in labels ---------------------------------------------------------------------- */

/* PostgreSQL's LockTagType and LOCKMODE. */
static const char *const pg_tags[] = {"relation", "extend",	 "frozenid",   "page",
				      "tuple",	  "transaction", "virtualxid", "speculative",
				      "object",	  "userlock",	 "advisory"};
static const char *const pg_modes[] = {
	NULL,	 "AccessShare",	      "RowShare",  "RowExclusive",   "ShareUpdateExclusive",
	"Share", "ShareRowExclusive", "Exclusive", "AccessExclusive"};

static const struct {
	const char *provider, *kind, *field;
	const char *const *names;
	size_t cnt;
} values[] = {
	{PG, "lock", "tag_type", pg_tags, sizeof(pg_tags) / sizeof(*pg_tags)},
	{PG, "lock", "mode", pg_modes, sizeof(pg_modes) / sizeof(*pg_modes)},
};

const char *tapir_kind__value_name(const struct tapir_kind *kind, const char *field, size_t len,
				   uint64_t value)
{
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		if (strlen(values[i].field) == len && !memcmp(values[i].field, field, len) &&
		    !strcmp(values[i].provider, kind->provider) &&
		    !strcmp(values[i].kind, kind->name))
			return value < values[i].cnt ? values[i].names[value] : NULL;
	return NULL;
}
