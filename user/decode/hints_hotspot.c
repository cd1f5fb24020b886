// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hotspot provider of OpenJDK. Its strings are pointer and length, modified UTF-8, not
 * terminated. Source of the facts: "DTrace Probes in HotSpot VM" of the JDK's guide and the
 * places in HotSpot where the probes stand; checked against JDK 17 and 25.
 */
#include "decode/hint_table.h"

#define EVENT(name, ...)     TAPIR_HINT("hotspot", name, __VA_ARGS__)
#define NUM		     TAPIR_HINT_NUM
#define BOOL		     TAPIR_HINT_BOOL
#define PTR		     TAPIR_HINT_PTR
/* A string whose length is the argument behind it. */
#define TEXT(idx, name)	     TAPIR_HINT_STRN(name, (idx) + 1), NUM(name "_len")

/* class, method and signature, of which the first stands at idx. */
#define METHOD(idx)	     TEXT(idx, "class"), TEXT((idx) + 2, "method"), TEXT((idx) + 4, "signature")

#define CLASS_LOADING(event) EVENT(event, TEXT(0, "name"), PTR("loader"), BOOL("is_shared"))
#define CLASS_INIT(event)                                                                          \
	EVENT("class__initialization__" event, TEXT(0, "name"), PTR("loader"), NUM("thread_type"), \
	      BOOL("is_wait"))
#define MEM_POOL(event)                                                                            \
	EVENT(event, TEXT(0, "manager"), TEXT(2, "pool"), NUM("init_bytes"), NUM("used_bytes"),    \
	      NUM("committed_bytes"), NUM("max_bytes"))
#define MONITOR(event) EVENT(event, NUM("thread_id"), PTR("monitor"), TEXT(2, "class"))
#define THREAD(event)                                                                              \
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

	THREAD("thread__start"),
	THREAD("thread__stop"),
	EVENT("thread__park__begin", PTR("parker"), BOOL("is_absolute"), NUM("time")),
	EVENT("thread__park__end", PTR("parker")),
	EVENT("thread__unpark", PTR("parker")),
	EVENT("thread__sleep__begin", NUM("duration_ms")),
	EVENT("thread__sleep__end", BOOL("is_interrupted")),

	VM_OPERATION("vmops__request"),
	VM_OPERATION("vmops__begin"),
	VM_OPERATION("vmops__end"),
};

const struct tapir_hint_table tapir_hints_hotspot = {hints, sizeof(hints) / sizeof(hints[0])};
