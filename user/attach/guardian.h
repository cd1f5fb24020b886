/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guardian.h - a promise: no process stays stopped because tapir died.
 *
 * While processes are held at exec and mmap (bpf/process.bpf.c), a child of ours waits for
 * our end. When it comes, however it comes, the child lets go of what we held and of what the
 * control ring says was held and we had not read yet; then it ends.
 *
 * Start it before any thread exists and before any link is attached: the child inherits open
 * fds, and a link it inherited would outlive us.
 */
#ifndef TAPIR_USER_GUARDIAN_H
#define TAPIR_USER_GUARDIAN_H

#include <stdint.h>

#include "attach/bpf_ring.h"

struct tapir_guardian;

/* control_ring_fd: see tapir_programs__control_ring_fd. *out is yours. */
int tapir_guardian__start(int control_ring_fd, struct tapir_guardian **out);

/* A process is held / goes on: SIGCONT is sent here. */
void tapir_guardian__hold(struct tapir_guardian *g, uint32_t tgid);
void tapir_guardian__release(struct tapir_guardian *g, uint32_t tgid);

/*
 * Lets go of what the ring's unread records say was held, and passes over the others: for the
 * end, when nobody looks at them any more. System calls only.
 */
void tapir_guardian__release_unread(struct tapir_bpf_ring *ring);

/* Lets everything go, ends the child and waits for it. NULL is fine. */
void tapir_guardian__stop(struct tapir_guardian *g);

#endif
