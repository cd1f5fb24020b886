/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jvm_child.h - what the helper process does for a JVM (runtime/peer/peer_helper.h). */
#ifndef TAPIR_USER_JVM_CHILD_H
#define TAPIR_USER_JVM_CHILD_H

#include "runtime/peer/peer_helper.h"

/* Makes the JVM listen and connects to it. */
int tapir_jvm_child__connect(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer);

#endif
