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

#include "analyze/view_result.h"
#include "base/keyed.h"

#define TAPIR_JVM_VIRTUAL_FRAMES 1024u /* are kept of a stack */

/* Virtual threads whose stacks are the same. */
struct tapir_jvm_virtual_stack {
	uint64_t cnt;
	uint64_t parked_cnt;  /* of them: the others run, or are about to */
	struct tapir_sv text; /* its lines in the dump, innermost frame first */
};

struct tapir_jvm_virtual {
	uint64_t cnt, parked_cnt;
	struct tapir_keyed(struct tapir_jvm_virtual_stack) stacks; /* those with most first */
};

/* Groups the virtual threads of a dump, which must stay as it is. -EPROTO: it is no dump. */
int tapir_jvm_virtual__parse(const char *dump, size_t len, struct tapir_jvm_virtual *out);
void tapir_jvm_virtual__fini(struct tapir_jvm_virtual *v);

/* Adds "java.lang.Thread.sleep(Thread.java:540)" of a stack's next line. False: there is none. */
bool tapir_jvm_virtual__next_frame(struct tapir_sv *text, struct tapir_sv *frame);

/* suspended of heap_ops.h. -EOPNOTSUPP: it has no virtual threads. */
int tapir_jvm_virtual__show(uint32_t tgid, uint64_t top, struct tapir_view_result *out);

#endif
