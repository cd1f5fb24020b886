/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * debug_file.h - symbols that were taken out of a file: separate debug files, and the compressed
 * copy that some distributions leave inside (.gnu_debugdata).
 *
 * Each function that opens returns 0 and an image for the caller to free, or -errno without a line.
 * It may read a file of tens of MB (a CRC, xz), so none is called while records wait. One image,
 * one thread.
 */
#ifndef TAPIR_USER_DEBUG_FILE_H
#define TAPIR_USER_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_elf;

/* The places to search; all borrowed. */
struct tapir_debug_location {
	int root_fd;	  /* of a directory, O_PATH: nothing out of it is found */
	uint32_t tgid;	  /* a process that sees the mounts there; 0: this one */
	const char *path; /* of the file, as seen below the root; NULL: by build ID alone */
};

/*
 * Searches, below the root, for usr/lib/debug/.build-id/NN/NNNN.debug, then for the name in
 * .gnu_debuglink: in the directory of path, in its .debug/, and in usr/lib/debug; then for
 * PATH.debug and PATH.dbg, by build ID. A file counts
 * only if its build ID (or the link's CRC) matches; it is opened like every path that another
 * process names (base/foreign/foreign_file.h). -ENOENT: not found. -EFBIG: it is too large to be
 * checked.
 */
int tapir_debug_file__open(struct tapir_elf *elf, const struct tapir_debug_location *location,
			   struct tapir_elf **out);

/*
 * Searches by build ID alone, for a file that may be absent: in usr/lib/debug, then PATH.debug and
 * PATH.dbg, if they have function symbols. -ENOENT: there is none.
 */
int tapir_debug_file__find(const uint8_t *build_id, size_t len,
			   const struct tapir_debug_location *location, struct tapir_elf **out);

/*
 * The first returns true if the file has this build ID, the second if it has names of functions, of
 * whatever kind.
 */
bool tapir_debug_file__is_of(const struct tapir_elf *elf, const uint8_t *build_id, size_t len);
bool tapir_debug_file__has_functions(struct tapir_elf *elf);
/* Returns true if the file has DWARF (.debug_info). */
bool tapir_debug_file__has_lines(const struct tapir_elf *elf);

/* Returns the build ID of what dwz(1) took out of a file, borrowed; NULL: nothing. */
const uint8_t *tapir_debug_file__alt_id(struct tapir_elf *elf, size_t *len);
/*
 * Opens what dwz(1) took out of a file with DWARF, by .gnu_debugaltlink. -ENOENT: nothing, or not
 * found.
 */
int tapir_debug_file__open_alt(struct tapir_elf *elf, const struct tapir_debug_location *location,
			       struct tapir_elf **out);

/* Unpacks .gnu_debugdata. -ENOENT: missing or malformed. -EFBIG: too large when unpacked. */
int tapir_debug_file__open_embedded(struct tapir_elf *elf, struct tapir_elf **out);

#endif
