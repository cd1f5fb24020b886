// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the metadata lies in the files of dotnet_assembly.h, and which files a process maps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/map.h"
#include "runtime/dotnet_assembly.h"

#define METADATA_MAX  (32u << 20)
#define SECTIONS_MAX  96u
#define FILES_MAX     2048u
#define CLI_DIRECTORY 14u
#define PE32	      0x10bu
#define PE32_PLUS     0x20bu

static bool read_at(int fd, uint64_t off, void *out, size_t bytes)
{
	return pread(fd, out, bytes, (off_t)off) == (ssize_t)bytes;
}

struct section {
	char name[8];
	uint32_t bytes, va, raw_bytes, raw_off;
	uint8_t rest[16];
};

struct pe {
	int fd;
	uint64_t sections_off;
	uint16_t section_cnt;
	uint32_t cli_va;
};

static int open_pe(struct pe *pe)
{
	uint32_t at, magic;
	uint16_t cnt, opt_bytes, kind;
	uint64_t opt;

	if (!read_at(pe->fd, 0x3c, &at, 4) || !read_at(pe->fd, at, &magic, 4) || magic != 0x4550 ||
	    !read_at(pe->fd, (uint64_t)at + 6, &cnt, 2) ||
	    !read_at(pe->fd, (uint64_t)at + 20, &opt_bytes, 2))
		return -ENOEXEC;
	opt = (uint64_t)at + 24;
	if (!read_at(pe->fd, opt, &kind, 2) || (kind != PE32 && kind != PE32_PLUS) ||
	    !read_at(pe->fd, opt + (kind == PE32 ? 96 : 112) + 8 * CLI_DIRECTORY, &pe->cli_va, 4))
		return -ENOEXEC;
	pe->sections_off = opt + opt_bytes;
	pe->section_cnt = cnt < SECTIONS_MAX ? cnt : SECTIONS_MAX;
	return pe->cli_va ? 0 : -ENOEXEC;
}

static int find_va(const struct pe *pe, uint32_t va, uint64_t *off)
{
	for (uint16_t i = 0; i < pe->section_cnt; i++) {
		struct section s;

		if (!read_at(pe->fd, pe->sections_off + i * sizeof(s), &s, sizeof(s)))
			break;
		if (va >= s.va && va - s.va < s.raw_bytes) {
			*off = (uint64_t)s.raw_off + (va - s.va);
			return 0;
		}
	}
	return -ENOEXEC;
}

int tapir_dotnet_sources__add_file(struct tapir_dotnet_sources *sources, int fd)
{
	struct pe pe = {.fd = fd};
	uint32_t metadata[2]; /* va, bytes */
	tapir_autofree void *bytes = NULL;
	uint64_t off;
	int err = open_pe(&pe);

	if (!err)
		err = find_va(&pe, pe.cli_va, &off);
	if (err)
		return err;
	if (!read_at(fd, off + 8, metadata, sizeof(metadata)) || !metadata[1] ||
	    metadata[1] > METADATA_MAX || find_va(&pe, metadata[0], &off))
		return -ENOEXEC;
	bytes = malloc(metadata[1]);
	if (!bytes)
		return -ENOMEM;
	if (!read_at(fd, off, bytes, metadata[1]))
		return -ENOEXEC;
	return tapir_dotnet_sources__add_metadata(sources, bytes, metadata[1]);
}

/* ---- of a process ------------------------------------------------------------------------------- */

struct walk {
	uint32_t tgid;
	struct tapir_map seen; /* files, by device and inode */
	struct tapir_dotnet_sources *sources;
};

static bool is_dll(const char *path)
{
	size_t len = strlen(path);

	return len > 4 && !strcmp(path + len - 4, ".dll");
}

static int see_mapping(const struct tapir_mapping_line *line, void *ctx)
{
	struct walk *walk = ctx;
	bool is_new = false;
	int mark = tapir_diag__cnt();
	tapir_autofd int fd = -1;

	if (!tapir_mapping_line__is_file(line) || !is_dll(line->path) ||
	    !tapir_map__put(&walk->seen, tapir_hash__mix(line->dev, line->inode), &is_new) ||
	    !is_new)
		return 0;
	fd = tapir_proc__open_mapped(walk->tgid, line, NULL);
	if (fd >= 0)
		(void)tapir_dotnet_sources__add_file(walk->sources, fd);
	tapir_diag__rewind(mark);
	return walk->seen.cnt >= FILES_MAX;
}

int tapir_dotnet_sources__add_process(struct tapir_dotnet_sources *sources, uint32_t tgid)
{
	struct walk walk = {.tgid = tgid, .sources = sources};
	int err = tapir_proc__each_mapping(tgid, see_mapping, &walk);

	tapir_map__fini(&walk.seen);
	return err < 0 ? err : 0;
}
