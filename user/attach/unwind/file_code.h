/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file_code.h - the instructions of a file, where its unwind data alone does not decide: which
 * bytes between two functions are padding, how far an entry point goes, where trampolines are.
 *
 * The code of a runtime is many megabytes, and several threads may make tables of it at once in a
 * container with little memory: only a window of it is in memory. The bytes may be anything, and
 * other ones the next time they are read. x86-64.
 */
#ifndef TAPIR_USER_FILE_CODE_H
#define TAPIR_USER_FILE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_elf;

#define TAPIR_FILE_CODE_SEGMENTS 8u
#define TAPIR_FILE_CODE_WINDOW	 (64u << 10)

struct tapir_file_code {
	const struct tapir_elf *elf; /* borrowed */
	size_t cnt;
	struct tapir_code_segment {
		uint32_t off, len; /* in the file */
	} segments[TAPIR_FILE_CODE_SEGMENTS];
	uint8_t *window; /* TAPIR_FILE_CODE_WINDOW, made when it is first needed */
	uint64_t window_off;
	size_t window_len;
};

/*
 * Notes the executable segments, as far as they have at most 64 MB; nothing is read yet. elf is
 * borrowed. No line. __fini frees the window.
 */
void tapir_file_code__init(struct tapir_file_code *code, const struct tapir_elf *elf);
void tapir_file_code__fini(struct tapir_file_code *code);

/*
 * Returns the bytes at off: NULL or *len bytes, at least one; want, as far as the segment and the
 * file have them and a window holds them, or more. Borrowed until the next call.
 */
const uint8_t *tapir_file_code__at(struct tapir_file_code *code, uint64_t off, size_t want,
				   size_t *len);

/*
 * Searches a segment for len bytes (at most a kilobyte), from *off on, and sets *off to the first
 * occurrence; false: there is none, *off is untouched.
 */
bool tapir_file_code__search(struct tapir_file_code *code, size_t segment_idx, const uint8_t *bytes,
			     size_t len, uint64_t *off);

/*
 * Returns true if [from_off, until_off) are bytes that only align what follows: no-operations,
 * traps and zeros. A function has a jump or a return, which are none of these. false also: they
 * cannot be read.
 */
bool tapir_file_code__is_padding(struct tapir_file_code *code, uint32_t from_off,
				 uint32_t until_off);

/*
 * Returns the length of an entry point up to the end of its first call or jump, which it does not
 * return from; or as far as its instructions are known, at most max_bytes.
 */
uint32_t tapir_file_code__entry_bytes(struct tapir_file_code *code, uint32_t off,
				      uint32_t max_bytes);

#endif
