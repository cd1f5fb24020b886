// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * PostgreSQL. Source of the facts: the chapter "Dynamic Tracing" of PostgreSQL's
 * manual; checked against PostgreSQL 15. Strings are NUL-terminated.
 */
#include "spec/runtime_db/hint_table.h"

#define EVENT(name, ...)   TAPIR_HINT("postgresql", name, __VA_ARGS__)
#define NUM		   TAPIR_HINT_NUM
#define BOOL		   TAPIR_HINT_BOOL
#define STR		   TAPIR_HINT_STR

#define QUERY(event)	   EVENT(event, STR("query"))
#define TRANSACTION(event) EVENT(event, NUM("local_xid"))
/* Arguments that name a block of a relation. */
#define BLOCK                                                                                      \
	NUM("fork"), NUM("block"), NUM("tablespace_oid"), NUM("database_oid"), NUM("relation_oid")
#define PG_LOCK(event)                                                                             \
	EVENT(event, NUM("tag_field1"), NUM("tag_field2"), NUM("tag_field3"), NUM("tag_field4"),   \
	      NUM("tag_type"), NUM("mode"))
#define LWLOCK(event)	  EVENT(event, STR("tranche"), NUM("mode"))
#define CHECKPOINT(event) EVENT(event, BOOL("is_normal"))

static const struct tapir_hint hints[] = {
	QUERY("query__start"),
	QUERY("query__done"),
	QUERY("query__parse__start"),
	QUERY("query__parse__done"),
	QUERY("query__rewrite__start"),
	QUERY("query__rewrite__done"),
	EVENT("statement__status", STR("status")),

	TRANSACTION("transaction__start"),
	TRANSACTION("transaction__commit"),
	TRANSACTION("transaction__abort"),

	PG_LOCK("lock__wait__start"),
	PG_LOCK("lock__wait__done"),
	LWLOCK("lwlock__acquire"),
	LWLOCK("lwlock__acquire__or__wait"),
	LWLOCK("lwlock__acquire__or__wait__fail"),
	LWLOCK("lwlock__condacquire"),
	LWLOCK("lwlock__condacquire__fail"),
	LWLOCK("lwlock__wait__start"),
	LWLOCK("lwlock__wait__done"),
	EVENT("lwlock__release", STR("tranche")),

	EVENT("buffer__read__start", BLOCK, NUM("backend"), BOOL("is_extend")),
	EVENT("buffer__read__done", BLOCK, NUM("backend"), BOOL("is_extend"), BOOL("is_hit")),
	EVENT("buffer__flush__start", BLOCK),
	EVENT("buffer__flush__done", BLOCK),
	EVENT("buffer__write__dirty__start", BLOCK),
	EVENT("buffer__write__dirty__done", BLOCK),
	EVENT("buffer__sync__start", NUM("buffer_cnt"), NUM("dirty_cnt")),
	EVENT("buffer__sync__written", NUM("buffer_id")),
	EVENT("buffer__sync__done", NUM("buffer_cnt"), NUM("written_cnt"), NUM("dirty_cnt")),
	EVENT("smgr__md__read__start", BLOCK, NUM("backend")),
	EVENT("smgr__md__read__done", BLOCK, NUM("backend"), NUM("bytes"), NUM("asked_bytes")),
	EVENT("smgr__md__write__start", BLOCK, NUM("backend")),
	EVENT("smgr__md__write__done", BLOCK, NUM("backend"), NUM("bytes"), NUM("asked_bytes")),

	EVENT("checkpoint__start", NUM("flags")),
	EVENT("checkpoint__done", NUM("written_cnt"), NUM("buffer_cnt"), NUM("wal_added_cnt"),
	      NUM("wal_removed_cnt"), NUM("wal_recycled_cnt")),
	EVENT("buffer__checkpoint__start", NUM("flags")),
	CHECKPOINT("clog__checkpoint__start"),
	CHECKPOINT("clog__checkpoint__done"),
	CHECKPOINT("multixact__checkpoint__start"),
	CHECKPOINT("multixact__checkpoint__done"),
	CHECKPOINT("subtrans__checkpoint__start"),
	CHECKPOINT("subtrans__checkpoint__done"),

	EVENT("sort__start", NUM("kind"), BOOL("is_unique"), NUM("key_cnt"), NUM("work_mem_kb"),
	      BOOL("is_random_access"), NUM("parallel")),
	EVENT("sort__done", BOOL("is_external"), NUM("space")),
	EVENT("wal__insert", NUM("resource_manager"), NUM("info")),
};

#define THREAD TAPIR_PAIR_THREAD
#define NONE   TAPIR_CAUSE_NONE
#define LOCK   TAPIR_CAUSE_LOCK
#define IO     TAPIR_CAUSE_IO

static const struct tapir_pair pairs[] = {
	{"postgresql", "query__start", "query__done", "query", THREAD, NONE, 0, "query"},
	{"postgresql", "query__parse__start", "query__parse__done", "parse", THREAD, NONE, 0, 0},
	{"postgresql", "query__rewrite__start", "query__rewrite__done", "rewrite", THREAD, NONE, 0,
	 0},
	{"postgresql", "query__plan__start", "query__plan__done", "plan", THREAD, NONE, 0, 0},
	{"postgresql", "query__execute__start", "query__execute__done", "execute", THREAD, NONE, 0,
	 0},
	{"postgresql", "transaction__start", "transaction__commit|transaction__abort",
	 "transaction", THREAD, NONE, 0, "local_xid"},
	{"postgresql", "lock__wait__start", "lock__wait__done", "lock", THREAD, LOCK, 0,
	 "tag_type tag_field1 tag_field2 tag_field3 tag_field4"},
	{"postgresql", "lwlock__wait__start", "lwlock__wait__done", "lwlock", THREAD, LOCK, 0,
	 "tranche"},
	{"postgresql", "buffer__read__start", "buffer__read__done", "buffer_read", THREAD, NONE, 0,
	 "relation_oid block"},
	{"postgresql", "smgr__md__read__start", "smgr__md__read__done", "file_read", THREAD, IO, 0,
	 "relation_oid block"},
	{"postgresql", "smgr__md__write__start", "smgr__md__write__done", "file_write", THREAD, IO,
	 0, "relation_oid block"},
	{"postgresql", "wal__buffer__write__dirty__start", "wal__buffer__write__dirty__done",
	 "wal_write", THREAD, IO, 0, 0},
	{"postgresql", "sort__start", "sort__done", "sort", THREAD, NONE, 0, "kind key_cnt"},
	{"postgresql", "checkpoint__start", "checkpoint__done", "checkpoint", THREAD, NONE, 0, 0},
	{"postgresql", "buffer__sync__start", "buffer__sync__done", "buffer_sync", THREAD, IO, 0,
	 0},
	{"postgresql", "buffer__flush__start", "buffer__flush__done", "buffer_flush", THREAD, IO, 0,
	 "relation_oid block"},
};

/*
 * The only event after lock_timeout or a cancellation has ended a wait is the abort. An error ends
 * a query, and what it does at that time, without an event as well; in a transaction that has
 * failed before there is no abort either.
 */
#define BY_ERROR "transaction__abort"
#define BY_QUERY "transaction__abort|query__done"

static const struct tapir_pair_more pairs_more[] = {
	{"postgresql", "lock", BY_ERROR, true, true, TAPIR_NESTS_IN_NONE},
	{"postgresql", "lwlock", NULL, true, false, TAPIR_NESTS},
	{"postgresql", "query", BY_ERROR, false, false, TAPIR_NESTS_IN_NONE},
	{"postgresql", "parse", BY_QUERY, false, false, TAPIR_NESTS_IN_NONE},
	{"postgresql", "rewrite", BY_QUERY, false, false, TAPIR_NESTS},
	{"postgresql", "plan", BY_QUERY, false, false, TAPIR_NESTS},
	/* by PortalRun and, of what returns no rows, by PortalRunMulti */
	{"postgresql", "execute", BY_QUERY, false, false, TAPIR_NESTS_AS_ONE},
	{"postgresql", "sort", BY_QUERY, false, false, TAPIR_NESTS},
	{},
};

/* PostgreSQL's LockTagType. */
static const char *const pg_tags[] = {"relation", "extend",	 "frozenid",   "page",
				      "tuple",	  "transaction", "virtualxid", "speculative",
				      "object",	  "userlock",	 "advisory"};

static const struct tapir_lore_value values[] = {
	{"postgresql", "lock", "tag_type", pg_tags, sizeof(pg_tags) / sizeof(*pg_tags)},
	{},
};

static const struct tapir_lore_file files[] = {{"postgres", "", "/postgresql/"}, {}};

static const struct tapir_lore_wait waits[] = {
	TAPIR_WAIT_ROW("ProcSleep", "PostgreSQL lock", .is_lock = true, .is_shared = true),
	TAPIR_WAIT_ROW("LWLockAcquire*", "lwlock", .is_lock = true, .is_shared = true,
		       .is_common = true),
	TAPIR_WAIT_ROW("XLogFlush", "WAL flush", .is_lock = true, .is_shared = true,
		       .instead_of = "disk"),
	TAPIR_WAIT("pg_sleep", "sleep"),
	TAPIR_WAIT("secure_read", "client"),
	TAPIR_WAIT_COMMON("PGSemaphoreLock", "semaphore"),
	{},
};

#define SCANS	"scans whole tables for rows (an index may be missing)"
#define PLANS	"parses and plans statements (prepared ones are planned once)"
#define HASHES	"hashes rows, to join or to group them"
#define FILES	"reads and writes temporary files (work_mem is too small)"
#define KEPT	"goes through rows of a function, a WITH query or a join in nested loops"
#define JSON	"reads and writes JSON"
#define PLPGSQL "runs functions of PL/pgSQL"
#define JIT	"compiles expressions (jit)"

/*
 * The innermost one decides. What a scan evaluates for each row is called by ExecScan, whether the
 * rows are those of a table, of an index, or of a function.
 */
static const struct tapir_lore_activity cpu_activities[] = {
	{"index_getnext*", "fetches rows by an index", true},
	{"heap_getnextslot", SCANS, true},
	{"tuplestore_gettupleslot", KEPT, true},
	TAPIR_CPU_ACTIVITY("ExecScan", TAPIR_CPU_ACTIVITY_WITH_ROWS),
	TAPIR_CPU_ACTIVITY("ExecNestLoop", "joins rows in nested loops (an index may be missing)"),
	TAPIR_CPU_ACTIVITY("tuplesort_*", "sorts rows"),
	TAPIR_CPU_ACTIVITY("LookupTupleHashEntry*", HASHES),
	TAPIR_CPU_ACTIVITY("ExecHashTableInsert", HASHES),
	TAPIR_CPU_ACTIVITY("MultiExecHash", HASHES),
	TAPIR_CPU_ACTIVITY("ExecScanHashBucket", HASHES),
	TAPIR_CPU_ACTIVITY("BufFile*", FILES),
	TAPIR_CPU_ACTIVITY("raw_parser", PLANS),
	TAPIR_CPU_ACTIVITY("parse_analyze*", PLANS),
	TAPIR_CPU_ACTIVITY("pg_analyze_and_rewrite*", PLANS),
	TAPIR_CPU_ACTIVITY("standard_planner", PLANS),
	TAPIR_CPU_ACTIVITY("llvm_get_function", JIT),
	TAPIR_CPU_ACTIVITY("llvm_compile_expr", JIT),
	TAPIR_CPU_ACTIVITY("llvm_release_context", JIT),
	TAPIR_CPU_ACTIVITY("heap_vacuum_rel", "vacuums tables"),
	TAPIR_CPU_ACTIVITY("analyze_rel", "collects statistics of tables (ANALYZE)"),
	TAPIR_CPU_ACTIVITY("index_build", "builds indexes"),
	TAPIR_CPU_ACTIVITY("plpgsql_exec_*", PLPGSQL),
	TAPIR_CPU_ACTIVITY("plpgsql_inline_handler", PLPGSQL),
	TAPIR_CPU_ACTIVITY("plpgsql_compile*", PLPGSQL),
	TAPIR_CPU_ACTIVITY("jsonb_*", JSON),
	TAPIR_CPU_ACTIVITY("json_*", JSON),
	TAPIR_CPU_ACTIVITY("pg_parse_json*", JSON),
	TAPIR_CPU_ACTIVITY("JsonbToCString*", JSON),
	TAPIR_CPU_ACTIVITY("JsonbValueToJsonb", JSON),
	TAPIR_CPU_ACTIVITY("nextval_internal", "draws numbers from sequences"),
	TAPIR_CPU_ACTIVITY("pg_regexec", "matches regular expressions"),
	{},
};

static const struct tapir_lore_headline headlines[] = {
	{"postgresql", "query__start", "query"},
	{"postgresql", "transaction__commit", "commit"},
	{},
};

const struct tapir_lore tapir_lore_postgresql = {
	.name = "PostgreSQL",
	.providers = TAPIR_LIST_OF("postgresql"),
	.files = files,
	.titled_comm = "postgres",
	.waits = waits,
	.cpu_activities = cpu_activities,
	.hints = {&(const struct tapir_hint_table)TAPIR_TABLE(hints)},
	.pairs = TAPIR_TABLE(pairs),
	.pairs_more = pairs_more,
	.values = values,
	.headlines = headlines,
	.specs =
		{
			[TAPIR_PROFILE_ID_DEFAULT] =
				TAPIR_LIST_OF("postgresql:query__*", "postgresql:transaction__*",
					      "postgresql:lock__wait__*,deadlock__found",
					      "postgresql:sort__*,checkpoint__*"),
			[TAPIR_PROFILE_ID_CONTENTION] = TAPIR_LIST_OF(
				"postgresql:lock__wait__*,lwlock__wait__*,deadlock__found"),
			[TAPIR_PROFILE_ID_EVERYTHING] = TAPIR_LIST_OF("postgresql:*"),
		},
};
