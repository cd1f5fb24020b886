/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_asker.h - a thread that asks JVMs for their perf maps, one after the other: an answer takes
 * from half a second to for ever, and the session thread cannot wait.
 *
 * All functions are called by one other thread; none of them blocks but __free.
 */
#ifndef TAPIR_USER_JVM_ASKER_H
#define TAPIR_USER_JVM_ASKER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/jvm_attach.h"

struct tapir_jvm_asker;
struct tapir_jvm_question;

int tapir_jvm_asker__new(struct tapir_jvm_asker **out);
/* Gives up what is being asked, and removes the files that were made for us. */
void tapir_jvm_asker__free(struct tapir_jvm_asker *asker);

/* NULL: out of memory. The thread begins with the first question. */
struct tapir_jvm_question *tapir_jvm_asker__ask(struct tapir_jvm_asker *asker, uint32_t tgid);

bool tapir_jvm_question__is_answered(struct tapir_jvm_question *q);
/* Of an answered one; borrowed until __drop. NULL: the JVM wrote none. */
const struct tapir_jvm_perf_map *tapir_jvm_question__map(const struct tapir_jvm_question *q);
/* Nobody waits for it, or reads its file, any more: the file goes if it was made for us. */
void tapir_jvm_question__drop(struct tapir_jvm_question *q);

#endif
