/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe_links.h - /run/tapir/PID/NAME: where other tools find files that a process maps and that
 * have no path of their own (memfds, deleted files). Each is a symbolic link to the process's
 * /proc/PID/map_files, which holds as long as the mapping does.
 *
 * Directories belong to root, mode 0755, and are created or entered without following a link. Links
 * of a tapir that was killed lead nowhere once the process has unmapped their targets: its guard
 * removes them, or the next tapir. Needs root. One thread at a time.
 */
#ifndef TAPIR_USER_PROBE_LINKS_H
#define TAPIR_USER_PROBE_LINKS_H

#include <stdint.h>

#include "runtime/peer/peer_helper.h"

#define TAPIR_PROBE_LINKS_PARENT "/run"
#define TAPIR_PROBE_LINKS_NAME	 "tapir"
#define TAPIR_PROBE_LINKS_DIR	 TAPIR_PROBE_LINKS_PARENT "/" TAPIR_PROBE_LINKS_NAME
#define TAPIR_PROBE_LINK_BYTES	 128 /* of a name, its NUL among them */

/* The directory, opened, cleared of what is dead. An fd, or -errno with a line;
   -EPERM: another user has made it, or may write to it. */
int tapir_probe_links__open(void);
/*
 * A process that clears the directory when tapir is killed and the libraries have unloaded; none:
 * the next tapir does it. Ended by tapir_peer_guard__dismiss.
 */
void tapir_probe_links__guard(int dir_fd, struct tapir_peer_guard *out);

/*
 * A link to the mapping [start_va, end_va) of the process, called as name: what is no letter, digit
 * or one of "-._" becomes '_', and where another tapir has that name ".2", ... follows. out is
 * what it is called, to be handed to __remove. 0; -errno with a line.
 */
int tapir_probe_links__add(int dir_fd, uint32_t tgid, uint64_t start_va, uint64_t end_va,
			   const char *name, char out[TAPIR_PROBE_LINK_BYTES]);
/* The link's name if no other file has the same. */
void tapir_probe_links__plain(const char *name, char out[TAPIR_PROBE_LINK_BYTES]);
/* The path of an existing link that leads there, for free(); NULL: none. No privileges needed. */
char *tapir_probe_links__find(uint32_t tgid, const char *target);
/* The process's directory goes with its last link. */
void tapir_probe_links__remove(int dir_fd, uint32_t tgid, const char *name);

#endif
