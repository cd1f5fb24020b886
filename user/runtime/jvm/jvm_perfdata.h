/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_perfdata.h - one question to HotSpot's performance counters (hsperfdata).
 *
 * The layout is that of src/hotspot/share/runtime/perfMemory.hpp, version 2.0, little-endian;
 * the counter sun.rt.jvmCapabilities is made by services/runtimeService.cpp: its first
 * character is '0' when the JVM cannot be attached to. Pure; any bytes are safe; no heap, so
 * that it can be used between fork and exec.
 */
#ifndef TAPIR_USER_JVM_PERFDATA_H
#define TAPIR_USER_JVM_PERFDATA_H

#include <stddef.h>
#include <stdint.h>

/* 1: the JVM can be attached to, 0: attaching is disabled, -ENODATA: unknown. */
int tapir_jvm_perfdata__may_attach(const uint8_t *data, size_t len);

#endif
