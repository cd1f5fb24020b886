/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * line_helper.h - a process that reads debug information by libdw (elf/dwarf_lines.h): without
 * privileges, without a way to open files, for a limited time and in limited memory. A file that
 * ends it, or occupies it for too long, is the caller's to leave out; the next call starts another
 * process. One thread at a time.
 */
#ifndef TAPIR_USER_LINE_HELPER_H
#define TAPIR_USER_LINE_HELPER_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/dwarf_lines.h"

#define TAPIR_LINE_HELPER_FILES 256u

struct tapir_line_helper;

int tapir_line_helper__new(struct tapir_line_helper **out); /* -errno with a line */
void tapir_line_helper__free(struct tapir_line_helper *h);

/* fd: of a file with debug information; alt_fd: of what dwz took out of it, or -1. Borrowed. */
struct tapir_line_file {
	int fd, alt_fd;
	uint32_t slot;	     /* below TAPIR_LINE_HELPER_FILES; one for each file */
	uint32_t generation; /* of the process that has it open; 0 at first */
};

/*
 * Finds functions and lines for an address as linked; *out is borrowed until the next call.
 * -ENODATA: libdw cannot read the file; -EPIPE, -ETIMEDOUT: it ended the process, or occupies it;
 * -ELOOP: no further process is started, too many ended.
 */
int tapir_line_helper__find(struct tapir_line_helper *h, struct tapir_line_file *file, uint64_t va,
			    const struct tapir_lines_answer **out);

#endif
