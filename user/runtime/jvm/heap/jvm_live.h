/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_live.h - objects that a JVM sampled and that are still alive: its flight recorder's
 * OldObjectSample (JDK 17 and later), which keeps at most 256 of the objects that are allocated
 * while it records, preferring those with more bytes around them.
 *
 * The JVM records under the name "tapir". If tapir is killed in between, it continues: 'jcmd PID
 * JFR.stop name=tapir'. Privileges: as of jvm_attach.h. One thread.
 */
#ifndef TAPIR_USER_JVM_LIVE_H
#define TAPIR_USER_JVM_LIVE_H

#include "heap/heap_live.h"

/* begin_live and end_live of heap_ops.h. -EOPNOTSUPP: it has no flight recorder. */
int tapir_jvm_live__begin(uint32_t tgid);
int tapir_jvm_live__end(uint32_t tgid, struct tapir_heap_live *out);

/* Parses the content of such a file. -EPROTO: it is none, or damaged; -ENOMEM. No line. */
int tapir_jvm_live__parse(struct tapir_heap_live *out, const void *data, size_t len);

#endif
