/* SPDX-License-Identifier: GPL-2.0-or-later */
/* private_file.h - files with secrets: of this user, mode 0600. No state; any thread. */
#ifndef TAPIR_USER_PRIVATE_FILE_H
#define TAPIR_USER_PRIVATE_FILE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The content of a file that no other user can read or write, NUL-terminated; the caller frees
 * *text, after explicit_bzero(3). *key stands for this content (base/file.h). -EPERM or another
 * -errno, with a line.
 */
int tapir_private_file__read(const char *path, char **text, size_t *len, uint64_t *key);

#endif
