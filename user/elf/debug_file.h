/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug_file.h - symbols that were taken out of a file: separate debug files, and the
 * compressed copy that some distributions leave inside (.gnu_debugdata).
 */
#ifndef TAPIR_USER_DEBUG_FILE_H
#define TAPIR_USER_DEBUG_FILE_H

struct tapir_elf;

/*
 * Looks, below root, for usr/lib/debug/.build-id/NN/NNNN.debug, then for the name that
 * .gnu_debuglink gives: beside path, in its .debug/, and in usr/lib/debug. A file counts
 * only if its build ID (or the link's CRC) is right. root "" is the host's; else links in
 * it are followed as a process inside would follow them. -ENOENT: there is none.
 */
int tapir_debug_file__open(struct tapir_elf *elf, const char *root, const char *path,
			   struct tapir_elf **out);

/* Unpacks .gnu_debugdata. -ENOENT: there is none, or it is broken. */
int tapir_debug_file__open_embedded(struct tapir_elf *elf, struct tapir_elf **out);

#endif
