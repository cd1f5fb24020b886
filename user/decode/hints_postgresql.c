// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The postgresql provider. Source of the facts: the chapter "Dynamic Tracing" of PostgreSQL's
 * manual; checked against PostgreSQL 15. Strings are NUL-terminated.
 */
#include "decode/hint_table.h"

#define EVENT(name, ...)   TAPIR_HINT("postgresql", name, __VA_ARGS__)
#define NUM		   TAPIR_HINT_NUM
#define BOOL		   TAPIR_HINT_BOOL
#define STR		   TAPIR_HINT_STR

#define QUERY(event)	   EVENT(event, STR("query"))
#define TRANSACTION(event) EVENT(event, NUM("local_xid"))
/* Which block of which relation. */
#define BLOCK                                                                                      \
	NUM("fork"), NUM("block"), NUM("tablespace_oid"), NUM("database_oid"), NUM("relation_oid")
#define LOCK(event)                                                                                \
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

	LOCK("lock__wait__start"),
	LOCK("lock__wait__done"),
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

const struct tapir_hint_table tapir_hints_postgresql = {hints, sizeof(hints) / sizeof(hints[0])};
