/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image.h - an ELF file as tapir needs it: segments, sections, build ID, and the way between
 * addresses at link time and offsets in the file.
 *
 * 64-bit little-endian only. Files belong to traced processes and may be hostile or change
 * under us: they are read, never mapped (a truncated mapping is a SIGBUS), headers at open
 * and sections when they are first requested. Not thread-safe; one image, one thread.
 */
#ifndef TAPIR_USER_IMAGE_H
#define TAPIR_USER_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct tapir_elf;

/*
 * Regular files only; never blocks, whatever file system they are on (base/foreign/foreign_file.h).
 * -ENOEXEC: no ELF file we can read. path is one that the user gave; fd a handle of a foreign file
 * or any descriptor open for reading, of which a duplicate is kept.
 */
int tapir_elf__open(const char *path, struct tapir_elf **out);
int tapir_elf__open_fd(int fd, struct tapir_elf **out);
void tapir_elf__free(struct tapir_elf *elf);

const char *tapir_elf__name(const struct tapir_elf *elf);	 /* path or "fd N", for messages */
int tapir_elf__fd(const struct tapir_elf *elf);			 /* of the content, borrowed */
const struct stat *tapir_elf__stat(const struct tapir_elf *elf); /* borrowed */
uint16_t tapir_elf__machine(const struct tapir_elf *elf);	 /* EM_X86_64 ... */
uint16_t tapir_elf__type(const struct tapir_elf *elf);		 /* ET_EXEC, ET_DYN, ... */
/* A program rather than a library: ET_EXEC, or ET_DYN with an interpreter or DF_1_PIE. */
bool tapir_elf__is_program(struct tapir_elf *elf);

/* Borrowed; NULL if the file has none. */
const uint8_t *tapir_elf__build_id(const struct tapir_elf *elf, size_t *len);

/*
 * Names the content: the same for two copies of one build, never 0. From the build ID, or
 * without one from device, inode, size and modification time.
 */
uint64_t tapir_elf__file_id(const struct tapir_elf *elf);

/* ---- segments ------------------------------------------------------------------------ */

/* The PT_LOAD header whose file-backed part holds va; NULL: none. Borrowed. */
const Elf64_Phdr *tapir_elf__load_at(const struct tapir_elf *elf, uint64_t va);
const Elf64_Phdr *tapir_elf__tls(const struct tapir_elf *elf); /* PT_TLS or NULL */

/* The first PT_LOAD header of a segment that can be executed; NULL: none. Borrowed. */
const Elf64_Phdr *tapir_elf__first_executable(const struct tapir_elf *elf);

/* The program header at idx, of any type; NULL: past the last one. Borrowed. */
const Elf64_Phdr *tapir_elf__phdr_at_idx(const struct tapir_elf *elf, size_t idx);
uint64_t tapir_elf__entry_va(const struct tapir_elf *elf); /* 0: none */

/* Translates by PT_LOAD headers; false: not backed by the file, *out untouched. */
bool tapir_elf__va_to_off(const struct tapir_elf *elf, uint64_t va, uint64_t *out);
bool tapir_elf__off_to_va(const struct tapir_elf *elf, uint64_t off, uint64_t *out);

/* ---- sections ------------------------------------------------------------------------ */

/* Borrowed; NULL: no such section. Names and types need not be unique: the first one. */
const Elf64_Shdr *tapir_elf__section(const struct tapir_elf *elf, const char *name);
const Elf64_Shdr *tapir_elf__section_of_type(const struct tapir_elf *elf, uint32_t type);
const Elf64_Shdr *tapir_elf__section_at_idx(const struct tapir_elf *elf, size_t idx);

/*
 * The bytes of a section, borrowed until the image is freed and aligned for any ELF type.
 * -ENODATA: it has none (SHT_NOBITS, or cut off). -EFBIG: over 512 MB with those before it;
 * each call counts, also for the same section.
 */
int tapir_elf__data(struct tapir_elf *elf, const Elf64_Shdr *section, const void **data,
		    size_t *len);

/* ---- symbol tables -------------------------------------------------------------------- */

struct tapir_elf_syms {
	const Elf64_Sym *syms; /* borrowed */
	size_t cnt;
	const char *strings;
	size_t strings_len; /* every string that starts before it is terminated */
};

/* type: SHT_SYMTAB or SHT_DYNSYM. -ENOENT: the file has none. */
int tapir_elf__syms(struct tapir_elf *elf, uint32_t type, struct tapir_elf_syms *out);

/* Borrowed; "" for a symbol without a (valid) name. */
static inline const char *tapir_elf_syms__name(const struct tapir_elf_syms *syms, size_t idx)
{
	uint32_t off = syms->syms[idx].st_name;

	return off < syms->strings_len ? syms->strings + off : "";
}

#endif
