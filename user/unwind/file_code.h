/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file_code.h - the instructions of a file, where its unwind data alone does not decide: which
 * bytes between two functions are padding, and how far an entry point goes.
 *
 * The bytes are borrowed from the image and may be anything. x86-64.
 */
#ifndef TAPIR_USER_FILE_CODE_H
#define TAPIR_USER_FILE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_elf;

#define TAPIR_FILE_CODE_SEGMENTS 8u

struct tapir_file_code {
	size_t cnt;
	struct tapir_code_segment {
		const uint8_t *bytes;
		size_t len;
		uint32_t off; /* of bytes[0] in the file */
	} segments[TAPIR_FILE_CODE_SEGMENTS];
};

/* Of the executable segments that can be read, as far as they have at most 64 MB. No line. */
struct tapir_file_code tapir_file_code__of(struct tapir_elf *elf);

/* What is at off: NULL or *len bytes, at least one. Borrowed from the image. */
const uint8_t *tapir_file_code__at(const struct tapir_file_code *code, uint64_t off, size_t *len);

/*
 * Are [from_off, until_off) bytes that only align what follows: no-operations, traps and zeros? A
 * function has a jump or a return, which are none of these. false: they cannot be read.
 */
bool tapir_file_code__is_padding(const struct tapir_file_code *code, uint32_t from_off,
				 uint32_t until_off);

/*
 * The bytes of an entry point up to the end of its first call or jump, which it does not return
 * from; or as far as its instructions are known, at most max_bytes.
 */
uint32_t tapir_file_code__entry_bytes(const struct tapir_file_code *code, uint32_t off,
				      uint32_t max_bytes);

#endif
