/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * holder.h - the process that traces a program of ours, so that a thread of it can be kept where
 * it maps a file until the probes in that file are attached (bpf/hold.bpf.c).
 *
 * A stop by ptrace(2) is the tracer's alone: no parent, shell or process group sees it, and when
 * the tracer dies, however it dies, everything goes on. So the holder does nothing else. It is
 * attached by PTRACE_SEIZE, follows fork, vfork, clone and exec, leaves group stops what they are
 * (PTRACE_LISTEN), passes every signal on but those that BPF sent for it, and reaps at once what
 * ends, for its real parent to see. No hold lasts longer than TAPIR_HOLD_MAX_NS, whatever the
 * recording does. It keeps no file, no name and no terminal.
 *
 * What traced programs would notice, it mends: a system call that an ignored signal interrupts
 * because of us begins anew, and who is refused ptrace(2) because of us is let go and asks again.
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

uint32_t tapir_holder__tgid(const struct tapir_holder *h);

/* The thread of a HELD record may go on. True: it stood still until now. */
bool tapir_holder__release(struct tapir_holder *h, const struct tapir_rec_held *rec);

/* Traces a process no longer: another one wants to. Its threads are let go within moments. */
void tapir_holder__let_go(struct tapir_holder *h, uint32_t tgid);

/* Everything goes on. NULL is fine. */
void tapir_holder__stop(struct tapir_holder *h);

#endif
