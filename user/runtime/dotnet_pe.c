// SPDX-License-Identifier: GPL-2.0-or-later
/* See dotnet_pe.h. */
#include "runtime/dotnet_pe.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define METADATA_MAX  (32u << 20)
#define SECTIONS_MAX  96u
#define CLI_DIRECTORY 14u
#define PE32	      0x10bu
#define PE32_PLUS     0x20bu

struct section {
	char name[8];
	uint32_t bytes, va, raw_bytes, raw_off;
	uint8_t rest[16];
};

bool tapir_pe__read(const struct tapir_pe *pe, uint64_t off, void *out, size_t bytes)
{
	return pread(pe->fd, out, bytes, (off_t)off) == (ssize_t)bytes;
}

int tapir_pe__open(int fd, struct tapir_pe *out)
{
	struct tapir_pe pe = {.fd = fd};
	uint32_t at, magic, cli_va;
	uint16_t cnt, opt_bytes, kind;
	uint64_t opt;

	if (!tapir_pe__read(&pe, 0x3c, &at, 4) || !tapir_pe__read(&pe, at, &magic, 4) ||
	    magic != 0x4550 || !tapir_pe__read(&pe, (uint64_t)at + 4, &pe.machine, 2) ||
	    !tapir_pe__read(&pe, (uint64_t)at + 6, &cnt, 2) ||
	    !tapir_pe__read(&pe, (uint64_t)at + 20, &opt_bytes, 2))
		return -ENOEXEC;
	opt = (uint64_t)at + 24;
	if (!tapir_pe__read(&pe, opt, &kind, 2) || (kind != PE32 && kind != PE32_PLUS) ||
	    !tapir_pe__read(&pe, opt + (kind == PE32 ? 96 : 112) + 8 * CLI_DIRECTORY, &cli_va, 4) ||
	    !cli_va)
		return -ENOEXEC;
	pe.sections_off = opt + opt_bytes;
	pe.section_cnt = cnt < SECTIONS_MAX ? cnt : SECTIONS_MAX;
	*out = pe;
	return tapir_pe__off(&pe, cli_va, &out->cli_off);
}

int tapir_pe__off(const struct tapir_pe *pe, uint32_t va, uint64_t *off)
{
	for (uint16_t i = 0; i < pe->section_cnt; i++) {
		struct section s;

		if (!tapir_pe__read(pe, pe->sections_off + i * sizeof(s), &s, sizeof(s)))
			break;
		if (va >= s.va && va - s.va < s.raw_bytes) {
			*off = (uint64_t)s.raw_off + (va - s.va);
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
