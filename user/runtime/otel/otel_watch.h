/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * otel_watch.h - what traced processes publish of themselves (otel_process.h), while they are
 * recorded: a RESOURCE record of each that says something, and after each change that is seen. A
 * process that publishes nothing is read less and less often; what could not be read is counted.
 *
 * One thread, which waits for a process that does not answer as otel_reader.h says.
 */
#ifndef TAPIR_USER_OTEL_WATCH_H
#define TAPIR_USER_OTEL_WATCH_H

#include "base/vec.h"
#include "attach/flow/queue.h"

struct tapir_otel_watch;

/* queue is borrowed. NULL: out of memory. */
struct tapir_otel_watch *tapir_otel_watch__new(struct tapir_queue *queue);
void tapir_otel_watch__free(struct tapir_otel_watch *w); /* accepts NULL */

/* Reads the processes that run now, if they are due; at the last call all of them. Accepts NULL. */
void tapir_otel_watch__poll(struct tapir_otel_watch *w, const struct tapir_pids *live,
			    uint64_t now_ns, bool is_last);

#endif
