/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sudo_user.h - the person who typed sudo. Any thread, as long as none changes the environment. */
#ifndef TAPIR_USER_SUDO_USER_H
#define TAPIR_USER_SUDO_USER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Writes the ids of the user who typed sudo. False: tapir does not run as root, or sudo(8) did not
 * start it. gid may be NULL. The outputs are set only on success.
 */
bool tapir_sudo_user__get(uid_t *uid, gid_t *gid);

#endif
