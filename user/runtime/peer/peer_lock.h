/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peer_lock.h - one tapir at a time asks a runtime for a file: another's switch, or its removal of
 * the file, would come in between. The lock is on the process's environ in /proc, which every tapir
 * that may ask it can open, and which is gone with the process.
 *
 * A guard holds the lock together with the tapir that made it (lock_fd of its job), so that the
 * next one begins when what a killed one left is removed.
 */
#ifndef TAPIR_USER_PEER_LOCK_H
#define TAPIR_USER_PEER_LOCK_H

#include "runtime/peer/peer_helper.h"

/*
 * Takes the lock, waiting until the job's deadline; *out is the caller's to close. With a line:
 * -EBUSY another tapir has it (the line says so where the process is stopped), -ECANCELED, or why
 * it cannot be opened.
 */
int tapir_peer_lock__take(const struct tapir_peer_helper *job, int *out);

#endif
