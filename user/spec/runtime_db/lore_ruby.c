// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ruby (MRI). Source of the facts: "DTrace Probes" of Ruby's documentation; checked against Ruby
 * 3.1. Strings are NUL-terminated.
 */
#include "spec/runtime_db/hint_table.h"

#define NUM		    TAPIR_HINT_NUM
#define STR		    TAPIR_HINT_STR
#define RUBY(name, ...)	    TAPIR_HINT("ruby", name, __VA_ARGS__)
#define RUBY_METHOD(event)  RUBY(event, STR("class"), STR("method"), STR("file"), NUM("line"))
#define RUBY_REQUIRE(event) RUBY(event, STR("required_file"), STR("file"), NUM("line"))
#define RUBY_CREATE(event)  RUBY(event, NUM("length"), STR("file"), NUM("line"))

static const struct tapir_hint hints[] = {
	RUBY_METHOD("method__entry"),
	RUBY_METHOD("method__return"),
	RUBY_METHOD("cmethod__entry"),
	RUBY_METHOD("cmethod__return"),
	RUBY_REQUIRE("require__entry"),
	RUBY_REQUIRE("require__return"),
	RUBY_REQUIRE("find__require__entry"),
	RUBY_REQUIRE("find__require__return"),
	RUBY_REQUIRE("load__entry"),
	RUBY_REQUIRE("load__return"),
	RUBY("raise", STR("class"), STR("file"), NUM("line")),
	RUBY("object__create", STR("class"), STR("file"), NUM("line")),
	RUBY_CREATE("array__create"),
	RUBY_CREATE("hash__create"),
	RUBY_CREATE("string__create"),
	RUBY("symbol__create", STR("symbol"), STR("file"), NUM("line")),
	RUBY("parse__begin", STR("file"), NUM("line")),
	RUBY("parse__end", STR("file"), NUM("line")),
	RUBY("method__cache__clear", STR("class"), STR("file"), NUM("line")),
};

#define THREAD TAPIR_PAIR_THREAD
#define NONE   TAPIR_CAUSE_NONE
#define GC     TAPIR_CAUSE_GC

static const struct tapir_pair pairs[] = {
	{"ruby", "gc__mark__begin", "gc__mark__end", "gc_mark", THREAD, GC, 0, 0},
	{"ruby", "gc__sweep__begin", "gc__sweep__end", "gc_sweep", THREAD, GC, 0, 0},
	{"ruby", "method__entry", "method__return", "method", THREAD, NONE, 0, "class method"},
	{"ruby", "cmethod__entry", "cmethod__return", "cmethod", THREAD, NONE, 0, "class method"},
	{"ruby", "require__entry", "require__return", "require", THREAD, NONE, 0, "required_file"},
};

static const struct tapir_lore_file files[] = {{"libruby-", ".so", NULL}, {"ruby", "", NULL}, {}};

static const char *const version_after[] = {"/libruby-", "/ruby", NULL};
static const struct tapir_lore_module modules[] = {
	{"ruby", TAPIR_LORE_VERSION}, {"libruby", TAPIR_LORE_PREFIX}, {}};

static const struct tapir_lore_work functions[] = {
	{"gc_start", GC}, {"gc_marks", GC}, {"gc_sweep", GC}, {}};

static const struct tapir_counted_event exceptions[] = {{"ruby", "raise", "class", "file", NULL},
							{}};

static const struct tapir_counted_event allocations[] = {
	{"ruby", "object__create", "class", NULL, NULL}, {}};

static const struct tapir_lore_headline headlines[] = {{"ruby", "gc__mark__begin", "GC"}, {}};

/* The interpreter reaches these where it reports calls to a hook; those of C functions always. */
static const struct tapir_lore_condition conditions[] = {
	{"ruby", TAPIR_LIST_OF("method__entry", "method__return"),
	 "while the program traces its calls (TracePoint.new(:call, :return) {}.enable)", NULL,
	 NULL, NULL},
	{}};

const struct tapir_lore tapir_lore_ruby = {
	.name = "Ruby",
	.providers = TAPIR_LIST_OF("ruby"),
	.files = files,
	.modules = modules,
	.version_after = version_after,
	.functions = functions,
	.interpreter_loops = TAPIR_LIST_OF("vm_exec_core", "rb_vm_exec", "vm_exec"),
	.interpreted = TAPIR_LIST_OF("rb::"),
	.hints = {&(const struct tapir_hint_table)TAPIR_TABLE(hints)},
	.conditions = conditions,
	.pairs = TAPIR_TABLE(pairs),
	.counted =
		{[TAPIR_COUNTS_EXCEPTIONS] = exceptions, [TAPIR_COUNTS_ALLOCATIONS] = allocations},
	.headlines = headlines,
	.stacks = {.with = "complete, of the interpreter's functions"},
	.names = {TAPIR_LIST_OF("--yjit-perf"), "Ruby's methods and native functions",
		  "native functions; none of Ruby's",
		  "start ruby 3.3 or newer with --yjit --yjit-perf, or trace ruby:method__entry",
		  .unless_its_frames_are_walked = true},
	.specs =
		{
			[TAPIR_PROFILE_ID_GC] = TAPIR_LIST_OF("ruby:gc__*"),
			[TAPIR_PROFILE_ID_ALLOCATIONS] = TAPIR_LIST_OF(
				"ruby:object__create,array__create,hash__create,string__create"),
			[TAPIR_PROFILE_ID_EVERYTHING] =
				TAPIR_LIST_OF("ruby:gc__*,require__*,raise"),
		},
};
