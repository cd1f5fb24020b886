/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_facts.h - what must be known of a JVM before it is spoken to; for jvm_attach.c only. Any
 * thread.
 */
#ifndef TAPIR_USER_JVM_FACTS_H
#define TAPIR_USER_JVM_FACTS_H

#include <stdint.h>

#include "runtime/peer/peer_facts.h"

struct tapir_jvm_facts {
	struct tapir_peer_facts peer;
	uint8_t no_signal; /* enum tapir_peer_why */
	uint64_t perfdata_va, perfdata_bytes;
};

/* On success out needs __fini. -ENOEXEC: not a HotSpot JVM; the others as in jvm_attach.h. */
int tapir_jvm_facts__read(uint32_t tgid, struct tapir_jvm_facts *out);
/* Closes the descriptors and frees the texts. */
void tapir_jvm_facts__fini(struct tapir_jvm_facts *facts);

#endif
