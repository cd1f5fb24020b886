// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPython, Ruby, PHP, and the exceptions of the C++ runtime. Sources of the facts: the pages
 * "Instrumenting CPython with DTrace and SystemTap", "DTrace Probes" of Ruby's documentation,
 * "DTrace" of PHP's manual, and libstdc++'s and libgcc's manuals; checked against CPython
 * 3.11, Ruby 3.1, PHP 8.2. Strings are NUL-terminated. Node 18 and later has no notes.
 */
#include "decode/hint_table.h"

#define PYTHON(name, ...)   TAPIR_HINT("python", name, __VA_ARGS__)
#define RUBY(name, ...)	    TAPIR_HINT("ruby", name, __VA_ARGS__)
#define PHP(name, ...)	    TAPIR_HINT("php", name, __VA_ARGS__)
#define NUM		    TAPIR_HINT_NUM
#define BOOL		    TAPIR_HINT_BOOL
#define PTR		    TAPIR_HINT_PTR
#define STR		    TAPIR_HINT_STR

#define PYTHON_LINE(event)  PYTHON(event, STR("filename"), STR("function"), NUM("line"))
#define RUBY_METHOD(event)  RUBY(event, STR("class"), STR("method"), STR("file"), NUM("line"))
#define RUBY_REQUIRE(event) RUBY(event, STR("required_file"), STR("file"), NUM("line"))
#define RUBY_CREATE(event)  RUBY(event, NUM("length"), STR("file"), NUM("line"))
#define PHP_REQUEST(event)  PHP(event, STR("file"), STR("request_uri"), STR("request_method"))
#define PHP_COMPILE(event)  PHP(event, STR("file"), STR("translated_file"))
#define PHP_FUNCTION(event)                                                                        \
	PHP(event, STR("function"), STR("file"), NUM("line"), STR("class"), STR("scope"))
#define CXX_EXCEPTION(event) TAPIR_HINT("libstdcxx", event, PTR("object"), PTR("type"))

static const struct tapir_hint hints[] = {
	PYTHON_LINE("function__entry"),
	PYTHON_LINE("function__return"),
	PYTHON_LINE("line"),
	PYTHON("gc__start", NUM("generation")),
	PYTHON("gc__done", NUM("collected")),
	PYTHON("import__find__load__start", STR("module")),
	PYTHON("import__find__load__done", STR("module"), BOOL("is_found")),
	PYTHON("audit", STR("event"), PTR("args")),

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

	CXX_EXCEPTION("throw"),
	CXX_EXCEPTION("rethrow"),
	CXX_EXCEPTION("catch"),
	TAPIR_HINT("libgcc", "unwind", PTR("cfa"), PTR("handler")),
};

const struct tapir_hint_table tapir_hints_scripting = {hints, sizeof(hints) / sizeof(hints[0])};
