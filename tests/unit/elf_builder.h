/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_builder.h - writes small ELF files for tests, well-formed or not, section by section.
 *
 * A file has two segments that hold everything: text (R X) at file offset 0 and data (R W)
 * at DATA_OFF; both are linked LOAD_BIAS above their offset, so that an address and an
 * offset are never the same number by accident.
 */
#ifndef TAPIR_TESTS_ELF_BUILDER_H
#define TAPIR_TESTS_ELF_BUILDER_H

#include <assert.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/image.h"

#define TEXT_OFF     0x1000u
#define DATA_OFF     0x4000u
#define IMAGE_BYTES  0x6000u /* sections of notes and symbols follow */
#define LOAD_BIAS    0x200000u
#define TEXT_VA	     (LOAD_BIAS + TEXT_OFF)
#define DATA_VA	     (LOAD_BIAS + DATA_OFF)
#define MAX_SECTIONS 32
#define MAX_PHDRS    8
#define MAX_BYTES    (8u << 20)

struct elf_builder {
	uint8_t *bytes; /* zeroed, MAX_BYTES */
	size_t len;
	Elf64_Shdr sections[MAX_SECTIONS];
	unsigned section_cnt;
	Elf64_Phdr phdrs[MAX_PHDRS];
	unsigned phdr_cnt;
	char names[1024];
	size_t names_len;
	uint16_t type, machine;
};

static inline void elf_builder__add_phdr(struct elf_builder *b, uint32_t type, uint32_t flags,
					 uint64_t off, uint64_t bytes)
{
	assert(b->phdr_cnt < MAX_PHDRS);
	b->phdrs[b->phdr_cnt++] = (Elf64_Phdr){.p_type = type,
					       .p_flags = flags,
					       .p_offset = off,
					       .p_vaddr = off + LOAD_BIAS,
					       .p_filesz = bytes,
					       .p_memsz = bytes,
					       .p_align = 1};
}

/* A section whose content lies at a place that is already in the file. */
static inline unsigned elf_builder__add_header(struct elf_builder *b, const char *name,
					       uint32_t type, uint64_t flags, uint64_t off,
					       uint64_t bytes)
{
	assert(b->section_cnt < MAX_SECTIONS);
	assert(b->names_len + strlen(name) + 1 <= sizeof(b->names));
	b->sections[b->section_cnt] =
		(Elf64_Shdr){.sh_name = (uint32_t)b->names_len,
			     .sh_type = type,
			     .sh_flags = flags,
			     .sh_offset = off,
			     .sh_size = bytes,
			     .sh_addralign = 4,
			     .sh_addr = flags & SHF_ALLOC ? off + LOAD_BIAS : 0};
	strcpy(b->names + b->names_len, name);
	b->names_len += strlen(name) + 1;
	return b->section_cnt++;
}

static inline size_t elf_builder__append(struct elf_builder *b, const void *data, size_t len)
{
	size_t off = (b->len + 7) & ~(size_t)7;

	assert(off + len <= MAX_BYTES);
	memcpy(b->bytes + off, data, len);
	b->len = off + len;
	return off;
}

static inline unsigned elf_builder__add_section(struct elf_builder *b, const char *name,
						uint32_t type, const void *data, size_t len)
{
	size_t off = elf_builder__append(b, data, len);

	return elf_builder__add_header(b, name, type, 0, off, len);
}

static inline void elf_builder__init(struct elf_builder *b, uint16_t type)
{
	memset(b, 0, sizeof(*b));
	b->bytes = calloc(1, MAX_BYTES);
	assert(b->bytes);
	b->len = IMAGE_BYTES;
	b->type = type;
	b->machine = EM_X86_64;
	elf_builder__add_header(b, "", SHT_NULL, 0, 0, 0);
	elf_builder__add_header(b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT_OFF,
				DATA_OFF - TEXT_OFF);
	elf_builder__add_header(b, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, DATA_OFF,
				IMAGE_BYTES - DATA_OFF);
	elf_builder__add_phdr(b, PT_LOAD, PF_R | PF_X, 0, DATA_OFF);
	elf_builder__add_phdr(b, PT_LOAD, PF_R | PF_W, DATA_OFF, IMAGE_BYTES - DATA_OFF);
}

static inline void elf_builder__fini(struct elf_builder *b)
{
	free(b->bytes);
}

/* A symbol table of cnt symbols whose st_name is an index into names, and its strings. */
static inline void elf_builder__add_symbols(struct elf_builder *b, uint32_t type, Elf64_Sym *syms,
					    size_t cnt, const char *const *names)
{
	char strings[4096] = "";
	size_t len = 1;
	unsigned table;

	for (size_t i = 0; i < cnt; i++) {
		size_t bytes = strlen(names[i]) + 1;

		assert(len + bytes <= sizeof(strings));
		memcpy(strings + len, names[i], bytes);
		syms[i].st_name = (uint32_t)len;
		len += bytes;
	}
	elf_builder__add_section(b, type == SHT_DYNSYM ? ".dynstr" : ".strtab", SHT_STRTAB, strings,
				 len);
	table = elf_builder__add_section(b, type == SHT_DYNSYM ? ".dynsym" : ".symtab", type, syms,
					 cnt * sizeof(*syms));
	b->sections[table].sh_link = table - 1;
	b->sections[table].sh_entsize = sizeof(*syms);
}

/* Writes headers; the file is bytes[0..len) afterwards. */
static inline void elf_builder__finish(struct elf_builder *b)
{
	Elf64_Ehdr head = {.e_ident = ELFMAG,
			   .e_type = b->type,
			   .e_machine = b->machine,
			   .e_version = EV_CURRENT,
			   .e_ehsize = sizeof(head),
			   .e_phoff = sizeof(head),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = (uint16_t)b->phdr_cnt,
			   .e_shentsize = sizeof(Elf64_Shdr)};
	unsigned names = elf_builder__add_header(b, ".shstrtab", SHT_STRTAB, 0, 0, 0);

	b->sections[names].sh_offset = elf_builder__append(b, b->names, b->names_len);
	b->sections[names].sh_size = b->names_len;
	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	head.e_ident[EI_VERSION] = EV_CURRENT;
	head.e_shstrndx = (uint16_t)names;
	head.e_shnum = (uint16_t)b->section_cnt;
	head.e_shoff = elf_builder__append(b, b->sections, b->section_cnt * sizeof(Elf64_Shdr));
	memcpy(b->bytes, &head, sizeof(head));
	memcpy(b->bytes + sizeof(head), b->phdrs, b->phdr_cnt * sizeof(Elf64_Phdr));
}

/* An fd of a file with these bytes, the caller's to close. */
static inline int elf_builder__memfd(const void *bytes, size_t len)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert(fd >= 0);
	assert(write(fd, bytes, len) == (ssize_t)len);
	return fd;
}

/* What tapir_elf__open_fd says to bytes[0..len). */
static inline int elf_builder__open_cut(const struct elf_builder *b, size_t len,
					struct tapir_elf **out)
{
	int fd = elf_builder__memfd(b->bytes, len);
	int err = tapir_elf__open_fd(fd, out);

	close(fd);
	return err;
}

static inline struct tapir_elf *elf_builder__open(const struct elf_builder *b)
{
	struct tapir_elf *elf = NULL;

	if (elf_builder__open_cut(b, b->len, &elf))
		return NULL;
	return elf;
}

#endif
