/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jvm_ops.h - the tables of functions of which the JVM's row is made (jvm_ops.c). */
#ifndef TAPIR_USER_JVM_OPS_H
#define TAPIR_USER_JVM_OPS_H

#include "runtime/runtime_ops.h"

/* Reads its interpreter and its compiled code: jvm_code_ops.c */
extern const struct tapir_code_ops tapir_jvm_code_ops;
/* Counts its objects: heap/jvm_heap.c */
extern const struct tapir_heap_ops tapir_jvm_heap_ops;
/* COUNTER records of what JVMs count themselves: jvm_gauges.c */
extern const struct tapir_runtime_watch_ops tapir_jvm_watch_ops;

#endif
