/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug_file.h - symbols that were taken out of a file: separate debug files, and the
 * compressed copy that some distributions leave inside (.gnu_debugdata).
 */
#ifndef TAPIR_USER_DEBUG_FILE_H
#define TAPIR_USER_DEBUG_FILE_H

#include <stdint.h>

struct tapir_elf;

/* Where it is looked for; all borrowed. */
struct tapir_debug_place {
	int root_fd;	  /* of a directory, O_PATH: nothing out of it is found */
	uint32_t tgid;	  /* a process that sees the mounts there; 0: this one */
	const char *path; /* of the file, as seen below the root; NULL: by build ID alone */
};

/*
 * Looks, below the root, for usr/lib/debug/.build-id/NN/NNNN.debug, then for the name that
 * .gnu_debuglink gives: beside path, in its .debug/, and in usr/lib/debug. A file counts
 * only if its build ID (or the link's CRC) is right; it is opened as foreign/foreign_file.h opens
 * what another process names. -ENOENT: there is none. -EFBIG: it is too large to be checked.
 */
int tapir_debug_file__open(struct tapir_elf *elf, const struct tapir_debug_place *place,
			   struct tapir_elf **out);

/* Unpacks .gnu_debugdata. -ENOENT: there is none, or it is broken. -EFBIG: it unpacks to too much.
 */
int tapir_debug_file__open_embedded(struct tapir_elf *elf, struct tapir_elf **out);

#endif
