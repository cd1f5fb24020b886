/* SPDX-License-Identifier: GPL-2.0-or-later */
/* holder_impl.h - what the holder and its parent share; for holder*.c only. */
#ifndef TAPIR_USER_HOLDER_IMPL_H
#define TAPIR_USER_HOLDER_IMPL_H

#include <signal.h>
#include <sys/types.h>

#include "attach/holder.h"

#define TAPIR_HOLDER_WAKE     SIGUSR1
#define TAPIR_HOLDER_DETACHES 256

/* Mapped by both. */
struct tapir_holder_shared {
	pid_t parent;
	uint32_t served_cnt;			/* holds the parent was done with: a sign of life */
	uint32_t detach[TAPIR_HOLDER_DETACHES]; /* tids; 0: free. Written by the parent, taken by
						  the child */
};

/* The child's life. Never returns; report_fd gets 0 or an errno when the process is traced or not.
 */
_Noreturn void tapir_holder_child__run(struct tapir_holds *holds,
				       struct tapir_holder_shared *shared, pid_t tgid,
				       int report_fd);

/* ---- registers of a stopped thread; nothing is done where they are not known ---------------- */

/* Restarts the last system call of the stopped thread. */
void tapir_holder_regs__restart_syscall(pid_t tid);

/*
 * Restarts a system call that ended early because of tapir: the thread stopped on its way out of it
 * because of this signal (0: because tapir stopped it), which would have been dropped if the thread
 * were not traced. Returns true if there was such a call.
 */
bool tapir_holder_regs__restart_interrupted(pid_t tid, int signal);

#endif
