/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf_lines.h - source lines and inlined functions of an address, from a file's DWARF by libdw.
 *
 * libdw trusts its input: a hostile file may crash it, make it loop, or have it open other files.
 * Only processes that may die and can open nothing call __open and __find (symbol/source_lines.c).
 * What they found is a block without pointers, which the other side checks before it believes it.
 */
#ifndef TAPIR_USER_DWARF_LINES_H
#define TAPIR_USER_DWARF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAPIR_LINES_MAX_FRAMES 64
#define TAPIR_LINES_TEXT_BYTES (32u << 10)

/* Positions in texts of a terminated string; TAPIR_LINES_NO_TEXT: unknown. */
struct tapir_lines_frame {
	uint32_t function; /* unknown also for the function that is not inlined */
	uint32_t file;
	uint32_t line; /* 0: unknown */
};
#define TAPIR_LINES_NO_TEXT UINT32_MAX

struct tapir_lines_answer {
	uint32_t cnt; /* of functions at the address; the innermost is the first */
	struct tapir_lines_frame frames[TAPIR_LINES_MAX_FRAMES];
	uint32_t text_bytes;
	char texts[TAPIR_LINES_TEXT_BYTES];
};

/*
 * Returns true if an answer of a process that may have been taken over can be used: counts and
 * positions are within the block, and texts end.
 */
bool tapir_lines_answer__is_valid(const struct tapir_lines_answer *answer);

struct tapir_dwarf_lines;

/*
 * fd: the file; alt_fd: what dwz took out of it (.gnu_debugaltlink), or -1; both borrowed until
 * __free. -ENODATA: no debug information, or libdw cannot read it. One thread.
 */
int tapir_dwarf_lines__open(int fd, int alt_fd, struct tapir_dwarf_lines **out);
void tapir_dwarf_lines__free(struct tapir_dwarf_lines *lines);

/* Finds the functions and lines of an address as linked; out->cnt 0: nothing is known. */
void tapir_dwarf_lines__find(struct tapir_dwarf_lines *lines, uint64_t va,
			     struct tapir_lines_answer *out);

#endif
