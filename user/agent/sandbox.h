/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox.h - what processes of the agent give up that handle what strangers sent: an HTTP process
 * before it accepts its first connection, a reader of recordings before it reads one. Irrevocable,
 * for the whole process; one thread.
 */
#ifndef TAPIR_USER_SANDBOX_H
#define TAPIR_USER_SANDBOX_H

/*
 * Drops all capabilities, also for what it executes, and core files; root becomes an unprivileged
 * user. 0 or -errno with a line.
 */
int tapir_sandbox__drop_user(void);

/*
 * Allows only the system calls of a server that uses the sockets it has, with threads: it opens no
 * file, makes no connection, starts no program, sends no signal. Others fail with EPERM. 0 or
 * -errno with a line.
 */
int tapir_sandbox__confine_server(void);

#endif
