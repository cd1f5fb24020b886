/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pe_image.h - where things are in an assembly's file (PE/COFF, ECMA-335 II.25).
 *
 * Files are hostile input: every read is checked. No lines; -ENOEXEC: it is not an assembly. One
 * thread for each file.
 */
#ifndef TAPIR_USER_PE_IMAGE_H
#define TAPIR_USER_PE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAPIR_PE_SECTIONS 96u

struct tapir_pe_section {
	uint32_t va, bytes, off; /* of what is in the file */
};

struct tapir_pe {
	int fd;					  /* borrowed */
	uint64_t cli_off;			  /* of the CLI header */
	uint32_t exceptions_va, exceptions_bytes; /* the table of functions; 0: there is none */
	uint16_t machine;
	uint16_t section_cnt;
	struct tapir_pe_section sections[TAPIR_PE_SECTIONS];
};

/* Reads the headers; fd is borrowed. -ENOEXEC: it is not an assembly. */
int tapir_pe__open(int fd, struct tapir_pe *out);

/* Returns true if the code in it, if any, is that of x86-64, for every system or for Linux. */
bool tapir_pe__is_x86_64(const struct tapir_pe *pe);

/* Reads exactly `bytes` at a file offset; false: the file is shorter. */
bool tapir_pe__read(const struct tapir_pe *pe, uint64_t off, void *out, size_t bytes);

/* Translates an address in memory (RVA) into a place in the file. 0 or -ENOEXEC. */
int tapir_pe__off(const struct tapir_pe *pe, uint32_t va, uint64_t *off);

/* Reads the metadata into *out, which the caller frees; not empty, 32 MB at most. Also -ENOMEM. */
int tapir_pe__read_metadata(const struct tapir_pe *pe, void **out, size_t *len);

#endif
