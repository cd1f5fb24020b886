/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * capabilities.h - gives up capabilities, before a process handles what strangers wrote. For the
 * whole process, and irrevocably; to be called with one thread.
 */
#ifndef TAPIR_USER_CAPABILITIES_H
#define TAPIR_USER_CAPABILITIES_H

/*
 * Removes all from the bounding set. Works as long as there is CAP_SETPCAP, which a change of user
 * takes away; without it there is nothing to remove.
 */
void tapir_capabilities__drop_bounding_set(void);

/*
 * No capabilities, now or after an exec; the user stays. 0 or -errno, without a line. System calls
 * only: usable in a copy of a process with threads.
 */
int tapir_capabilities__drop(void);

#endif
