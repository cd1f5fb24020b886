/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_gauges.h - COUNTER records of what JVMs count themselves (runtime/jvm/jvm_counters.h): a few
 * values of the heap and the classes once a second, and collections with their cause when they were
 * seen, four times a second. Session thread.
 */
#ifndef TAPIR_USER_JVM_GAUGES_H
#define TAPIR_USER_JVM_GAUGES_H

#include <stdbool.h>
#include <stdint.h>

#include "tapir/abi.h"
#include "trace/recbuf.h"

#define TAPIR_JVM_GAUGES_POLL_NS 250000000u

struct tapir_jvm_gauges_set;
typedef void (*tapir_jvm_gauges_fn)(void *ctx, const struct tapir_rec *counter);

/* fn is called with each COUNTER record. NULL: out of memory. __free closes all files. */
struct tapir_jvm_gauges_set *tapir_jvm_gauges_set__new(tapir_jvm_gauges_fn fn, void *ctx);
void tapir_jvm_gauges_set__free(struct tapir_jvm_gauges_set *set);

/* A MAPPING of libjvm.so makes its process one of them; any other record changes nothing. */
void tapir_jvm_gauges_set__learn(struct tapir_jvm_gauges_set *set, const struct tapir_rec *rec);
/* Returns true if no JVM was seen: then nothing has to be polled. */
bool tapir_jvm_gauges_set__is_empty(const struct tapir_jvm_gauges_set *set);
/* Reads their counters if it is time for it; is_last: in any case. */
void tapir_jvm_gauges_set__poll(struct tapir_jvm_gauges_set *set, uint64_t now_ns, bool is_last);

#endif
