/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_virtual.h - virtual threads of a JVM, by its dump of threads (jcmd Thread.dump_to_file, JDK
 * 21 and later). Those that wait have no thread of the kernel: their stacks are in the heap. The
 * JVM writes the dump into a file of its /tmp, as a perf map is written (jvm_attach.h).
 *
 * The text is the JVM's, and names of threads and classes in it are the program's: what it claims
 * concerns that program alone. Parsing is pure. One thread.
 */
#ifndef TAPIR_USER_JVM_VIRTUAL_H
#define TAPIR_USER_JVM_VIRTUAL_H

#include "heap/suspended.h"

#define TAPIR_JVM_VIRTUAL_FRAMES 1024u /* are kept of a stack */

/* Adds the virtual threads of a dump to a table of zeros, and sorts it. -EPROTO: it is no dump. */
int tapir_jvm_virtual__parse(const char *dump, size_t len, struct tapir_suspended *out);

/* suspended of heap_ops.h. -EOPNOTSUPP: it has no virtual threads. */
int tapir_jvm_virtual__show(uint32_t tgid, uint64_t top, struct tapir_view_result *out);

#endif
