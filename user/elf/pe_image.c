// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See pe_image.h. The CLI header of the data directories leads to the metadata; addresses become
 * offsets by the table of sections.
 */
#include "elf/pe_image.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define METADATA_MAX	     (32u << 20)
#define EXCEPTIONS_DIRECTORY 3u
#define CLI_DIRECTORY	     14u
#define PE32		     0x10bu
#define PE32_PLUS	     0x20bu
#define MACHINE_X86_64	     0x8664u
#define MACHINE_X86_64_LINUX (0x8664u ^ 0x7b79u) /* code for one system is marked so */

bool tapir_pe__read(const struct tapir_pe *pe, uint64_t off, void *out, size_t bytes)
{
	return pread(pe->fd, out, bytes, (off_t)off) == (ssize_t)bytes;
}

static void read_sections(struct tapir_pe *pe, uint64_t off, uint16_t cnt)
{
	struct {
		char name[8];
		uint32_t bytes, va, raw_bytes, raw_off;
		uint8_t rest[16];
	} header;

	for (uint16_t i = 0; i < cnt && i < TAPIR_PE_SECTIONS; i++) {
		if (!tapir_pe__read(pe, off + i * sizeof(header), &header, sizeof(header)))
			break;
		pe->sections[pe->section_cnt++] = (struct tapir_pe_section){
			.va = header.va, .bytes = header.raw_bytes, .off = header.raw_off};
	}
}

int tapir_pe__open(int fd, struct tapir_pe *out)
{
	struct tapir_pe pe = {.fd = fd};
	uint32_t at, magic, cli_va, exceptions[2]; /* va, bytes */
	uint16_t cnt, opt_bytes, kind;
	uint64_t opt, directories;

	if (!tapir_pe__read(&pe, 0x3c, &at, 4) || !tapir_pe__read(&pe, at, &magic, 4) ||
	    magic != 0x4550 || !tapir_pe__read(&pe, (uint64_t)at + 4, &pe.machine, 2) ||
	    !tapir_pe__read(&pe, (uint64_t)at + 6, &cnt, 2) ||
	    !tapir_pe__read(&pe, (uint64_t)at + 20, &opt_bytes, 2))
		return -ENOEXEC;
	opt = (uint64_t)at + 24;
	if (!tapir_pe__read(&pe, opt, &kind, 2) || (kind != PE32 && kind != PE32_PLUS))
		return -ENOEXEC;
	directories = opt + (kind == PE32 ? 96 : 112);
	if (!tapir_pe__read(&pe, directories + 8 * CLI_DIRECTORY, &cli_va, 4) || !cli_va ||
	    !tapir_pe__read(&pe, directories + 8 * EXCEPTIONS_DIRECTORY, exceptions, 8))
		return -ENOEXEC;
	pe.exceptions_va = exceptions[0];
	pe.exceptions_bytes = exceptions[1];
	read_sections(&pe, opt + opt_bytes, cnt);
	*out = pe;
	return tapir_pe__off(&pe, cli_va, &out->cli_off);
}

bool tapir_pe__is_x86_64(const struct tapir_pe *pe)
{
	return pe->machine == MACHINE_X86_64 || pe->machine == MACHINE_X86_64_LINUX;
}

int tapir_pe__off(const struct tapir_pe *pe, uint32_t va, uint64_t *off)
{
	for (uint16_t i = 0; i < pe->section_cnt; i++) {
		const struct tapir_pe_section *s = &pe->sections[i];

		if (va >= s->va && va - s->va < s->bytes) {
			*off = (uint64_t)s->off + (va - s->va);
			return 0;
		}
	}
	return -ENOEXEC;
}

int tapir_pe__read_metadata(const struct tapir_pe *pe, void **out, size_t *len)
{
	uint32_t metadata[2]; /* va, bytes */
	uint64_t off;
	void *bytes;

	if (!tapir_pe__read(pe, pe->cli_off + 8, metadata, sizeof(metadata)) || !metadata[1] ||
	    metadata[1] > METADATA_MAX || tapir_pe__off(pe, metadata[0], &off))
		return -ENOEXEC;
	bytes = malloc(metadata[1]);
	if (!bytes)
		return -ENOMEM;
	if (!tapir_pe__read(pe, off, bytes, metadata[1])) {
		free(bytes);
		return -ENOEXEC;
	}
	*out = bytes;
	*len = metadata[1];
	return 0;
}
