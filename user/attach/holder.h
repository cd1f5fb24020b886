/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * holder.h - the process that traces a program started by tapir, so that a thread of it can be held
 * where it maps a file until the probes in that file are attached (bpf/hold.bpf.c).
 *
 * Only the tracer sees a stop by ptrace(2): no parent, shell or process group does, and when the
 * tracer dies, however it dies, all tracees continue. So the holder does nothing else. It is
 * attached by PTRACE_SEIZE, follows fork, vfork, clone and exec, leaves group stops as they are
 * (PTRACE_LISTEN), passes every signal on except those that BPF sent for it, and reaps exited
 * tracees at once, so that their real parents see them. No hold lasts longer than
 * TAPIR_HOLD_MAX_NS, whatever the recording does. It keeps no file, no name and no terminal.
 *
 * It repairs what traced programs would notice: a system call that an ignored signal interrupts
 * because of tapir restarts, and a process that is refused ptrace(2) because of tapir is released
 * and asks again.
 */
#ifndef TAPIR_USER_HOLDER_H
#define TAPIR_USER_HOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/control.h"

#define TAPIR_HOLD_MAX_NS 2000000000ull

struct tapir_holder;

/*
 * Starts it and has it trace the process, which has one thread. Call it before there are threads
 * and links: the child would inherit what holds them. -EPERM, without a line: it may not (no
 * CAP_SYS_PTRACE in the initial user namespace, ptrace is forbidden, or another traces it).
 * holds, mapped shared, is borrowed until __stop. *out is yours.
 */
int tapir_holder__start(struct tapir_holds *holds, uint32_t tgid, struct tapir_holder **out);

/* The process id of the holder, for tapir_programs__set_holder. */
uint32_t tapir_holder__tgid(const struct tapir_holder *h);

/* The thread of a HELD record may continue. True: it was stopped until now. */
bool tapir_holder__release(struct tapir_holder *h, const struct tapir_rec_held *rec);

/*
 * Stops tracing a process, because another tracer wants to. Its threads are released within
 * moments.
 */
void tapir_holder__detach(struct tapir_holder *h, uint32_t tgid);

/* Releases everything. NULL is fine. */
void tapir_holder__stop(struct tapir_holder *h);

#endif
