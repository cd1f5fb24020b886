/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peer_ability.h - whether a process can answer now: asked before tapir contacts any runtime, and
 * while it waits for an answer. What a process is sent while it cannot answer, it does when it
 * runs again, perhaps long after tapir has gone: a JVM then prints its threads for a SIGQUIT.
 */
#ifndef TAPIR_USER_PEER_ABILITY_H
#define TAPIR_USER_PEER_ABILITY_H

#include "runtime/peer/peer_helper.h"

/*
 * A stop may be short, as one by a debugger: how long one waits for its end, and once for each
 * stop, however many questions meet it.
 */
#define TAPIR_PEER_PATIENCE_NS 1500000000ull

/*
 * 0: the process of the job can answer. -EAGAIN with a line that says why it cannot: its cgroup is
 * frozen, or has a CPU quota that leaves it nothing; it is stopped, for patience_ns by now; it has
 * no file descriptors left (job->needed_fds); it waits for something at its start (suspended, the
 * end of the sentence; NULL: it does not). A cancel ends the wait for the end of a stop, which is
 * the reason then, too.
 */
int tapir_peer__check_able(const struct tapir_peer_helper *job, const char *suspended,
			   uint64_t patience_ns);

/*
 * The same for a process that there was no time to ask: task is the middle of "cannot ... in
 * process 12". 0, -EAGAIN with the line, or another failure, also with one. Waits for nothing.
 */
int tapir_peer__check_able_now(uint32_t tgid, const char *task);

/*
 * Waits for bytes on fd: 0, -ETIMEDOUT or -ECANCELED without a line; -EAGAIN with that of
 * check_able, at most 2 s after the process has lost its ability to answer.
 */
int tapir_peer__await(const struct tapir_peer_helper *job, int fd, uint64_t deadline_ns);

#endif
