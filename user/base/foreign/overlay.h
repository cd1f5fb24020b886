/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overlay.h - decides whether an overlay, such as a container's root, has only local layers.
 *
 * Its options name the directories of its layers as the process that mounted it saw them. They are
 * believed only of an overlay that this process's own list of mounts has: only a privileged process
 * can put it there. One of another namespace may have been mounted by any user, over anything.
 *
 * No state; any thread.
 */
#ifndef TAPIR_USER_OVERLAY_H
#define TAPIR_USER_OVERLAY_H

#include <stdbool.h>

/*
 * Returns true if the overlay on device dev ("0:57", as lists of mounts have it) has only local
 * layers; false also where that cannot be determined.
 */
bool tapir_overlay__is_local(const char *dev);

/* The same by a given list; text is NUL-terminated. */
bool tapir_overlay__is_local_in(const char *text, const char *dev);

#endif
