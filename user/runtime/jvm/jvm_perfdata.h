/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_perfdata.h - what HotSpot's performance counters (hsperfdata) say.
 *
 * The layout is that of src/hotspot/share/runtime/perfMemory.hpp, version 2.0, little-endian: a
 * prologue and entries, each a name and a 64-bit number or bytes. The counters are of the JVM's
 * own: services/runtimeService.cpp, gc/shared/{collectorCounters,gcTraceTime}.cpp and others. Pure;
 * any bytes are safe, also while the JVM changes them; no heap, so that it can be used between fork
 * and exec.
 */
#ifndef TAPIR_USER_JVM_PERFDATA_H
#define TAPIR_USER_JVM_PERFDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The default size of a JVM's file; no more is read. */
#define TAPIR_JVM_PERFDATA_BYTES       32768u
#define TAPIR_JVM_PERFDATA_CAUSE_BYTES 64u

/* Counters of one moment; what a JVM does not have is 0. */
struct tapir_jvm_gauges {
	uint64_t gc_cnt, gc_ns; /* of all collectors, since it started */
	uint64_t gc_ended_ns;	/* the last one, since the JVM started; 0: none has */
	uint64_t old_used_bytes;
	uint64_t heap_used_bytes;      /* of all generations */
	uint64_t heap_committed_bytes; /* what they may fill without asking for more */
	uint64_t metaspace_bytes;
	uint64_t jit_ns;	/* of its compilers, since it started */
	uint64_t class_cnt;	/* loaded since it started */
	uint64_t unloaded_cnt;	/* of them */
	uint64_t contended_cnt; /* attempts to enter a monitor that another thread held */
	bool has_gc;		/* there are counters of a collector */
	/* The cause of the last collection: "System.gc()"; printable, "": none. */
	char gc_cause[TAPIR_JVM_PERFDATA_CAUSE_BYTES];
};

/* 1: the JVM can be attached to, 0: attaching is disabled, -ENODATA: unknown. */
int tapir_jvm_perfdata__may_attach(const uint8_t *data, size_t len);

/* 0, or -ENODATA: not such a file, or it ends early; what was read until then is in out. */
int tapir_jvm_perfdata__read(const uint8_t *data, size_t len, struct tapir_jvm_gauges *out);

#endif
