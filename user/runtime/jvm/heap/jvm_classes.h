/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_classes.h - a JVM's own count of its live objects by class: the command "inspectheap -live"
 * of its attach protocol, which makes it collect first (heapDumper's histogram, as jmap -histo:live
 * prints it). It has no references. Privileges: jvm_attach.h. One thread.
 *
 * The reply is the JVM's: bounded, and lines that are none are refused.
 */
#ifndef TAPIR_USER_JVM_CLASSES_H
#define TAPIR_USER_JVM_CLASSES_H

#include "heap/heap_snapshot.h"

/* -errno with a line: jvm_attach.h. out: zeros. */
int tapir_jvm_classes__count(uint32_t tgid, uint64_t timeout_ns, struct tapir_heap_snapshot *out);

/* Parses the text of the reply into rows. -EPROTO: it is not a histogram; -ENOMEM. No line. */
int tapir_jvm_classes__parse(const char *text, size_t len, struct tapir_heap_snapshot *out);

/* Appends a class as people write it: "[I" is int[], "[Lcom.shop.Order;" com.shop.Order[]. */
void tapir_jvm_classes__add_class(struct tapir_str *out, const char *name, size_t len);

#endif
