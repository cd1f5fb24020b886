// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * PHP. Source of the facts: "DTrace" of PHP's manual; checked against PHP 8.2. Strings are
 * NUL-terminated.
 */
#include "spec/runtime_db/hint_table.h"

#define NUM		   TAPIR_HINT_NUM
#define STR		   TAPIR_HINT_STR
#define PHP(name, ...)	   TAPIR_HINT("php", name, __VA_ARGS__)
#define PHP_REQUEST(event) PHP(event, STR("file"), STR("request_uri"), STR("request_method"))
#define PHP_COMPILE(event) PHP(event, STR("file"), STR("translated_file"))
#define PHP_FUNCTION(event)                                                                        \
	PHP(event, STR("function"), STR("file"), NUM("line"), STR("class"), STR("scope"))

static const struct tapir_hint hints[] = {
	PHP_REQUEST("request__startup"),
	PHP_REQUEST("request__shutdown"),
	PHP_COMPILE("compile__file__entry"),
	PHP_COMPILE("compile__file__return"),
	PHP("execute__entry", STR("file"), NUM("line")),
	PHP("execute__return", STR("file"), NUM("line")),
	PHP_FUNCTION("function__entry"),
	PHP_FUNCTION("function__return"),
	PHP("exception__thrown", STR("class")),
	PHP("exception__caught", STR("class")),
	PHP("error", STR("message"), STR("file"), NUM("line")),
};

#define THREAD TAPIR_PAIR_THREAD
#define NONE   TAPIR_CAUSE_NONE
#define JIT    TAPIR_CAUSE_JIT

static const struct tapir_pair pairs[] = {
	{"php", "request__startup", "request__shutdown", "request", THREAD, NONE, 0,
	 "request_method request_uri file"},
	{"php", "compile__file__entry", "compile__file__return", "compile", THREAD, JIT, 0, "file"},
	{"php", "function__entry", "function__return", "function", THREAD, NONE, 0,
	 "class scope function"},
	{"php", "execute__entry", "execute__return", "execute", THREAD, NONE, 0, "file"},
};

static const struct tapir_lore_file files[] = {
	{"libphp", ".so", NULL}, {"php-fpm", "", NULL}, {"php", "", NULL}, {}};

static const char *const version_after[] = {"/libphp", "/php", NULL};
static const struct tapir_lore_module modules[] = {
	{"php", TAPIR_LORE_VERSION}, {"libphp", TAPIR_LORE_PREFIX}, {}};

static const struct tapir_lore_work functions[] = {{"zend_jit", JIT}, {}};

static const struct tapir_counted_event exceptions[] = {
	{"php", "exception__thrown", "class", NULL, NULL}, {}};

static const struct tapir_lore_condition conditions[] = {
	{"php", TAPIR_LIST_OF("function__*", "execute__*", "compile__*"),
	 "in a PHP started with USE_ZEND_DTRACE=1 in its environment", NULL, NULL,
	 "USE_ZEND_DTRACE"},
	{}};

const struct tapir_lore tapir_lore_php = {
	.name = "PHP",
	.providers = TAPIR_LIST_OF("php"),
	.files = files,
	.modules = modules,
	.version_after = version_after,
	.functions = functions,
	.interpreter_loops = TAPIR_LIST_OF("execute_ex"),
	.interpreted = TAPIR_LIST_OF("php::"),
	.hints = {&(const struct tapir_hint_table)TAPIR_TABLE(hints)},
	.pairs = TAPIR_TABLE(pairs),
	.counted = {[TAPIR_COUNTS_EXCEPTIONS] = exceptions},
	.conditions = conditions,
	.stacks = {.with = "complete, of the interpreter's functions",
		   .without = "end at the first function compiled by the JIT",
		   .remedy = "start php with -d opcache.jit=off",
		   .unless_code_in = "/dev/zero"},
	.names =
		{TAPIR_LIST_OF("opcache.jit_debug"), "PHP's functions and native ones",
		 "native functions; none of PHP's",
		 "start php with the JIT and -d opcache.jit_debug=0x10, or trace php:function__entry",
		 .unless_its_frames_are_walked = true},
	.specs =
		{
			[TAPIR_PROFILE_ID_EXCEPTIONS] = TAPIR_LIST_OF("php:exception__*"),
			[TAPIR_PROFILE_ID_HTTP] = TAPIR_LIST_OF("php:request__*"),
			[TAPIR_PROFILE_ID_EVERYTHING] =
				TAPIR_LIST_OF("php:request__*,exception__*"),
		},
};
