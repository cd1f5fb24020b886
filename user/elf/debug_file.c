// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finding separate debug files the way gdb does (gdb manual, "Debugging Information in
 * Separate Files"). Nothing here trusts a name: the content has to match.
 */
#include "elf/debug_file.h"

#include "base/diag.h"
#include "base/file.h"
#include "base/str.h"
#include "elf/go_table.h"
#include "elf/image.h"
#include "base/foreign/foreign_file.h"

#include <errno.h>
#include <libdeflate.h>
#include <lzma.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define DEBUG_DIR	   "/usr/lib/debug"
#define MAX_CRC_BYTES	   (256ll << 20) /* 50 ms where it is in memory */
#define MAX_PACKED_BYTES   (4u << 20)	 /* 50 ms for each megabyte that is hardly compressed */
#define MAX_UNPACKED_BYTES (32u << 20)	 /* a distribution's are below 5 MB */
#define MAX_LZMA_BYTES	   (80u << 20)	 /* xz -9 wants 65 MB */
#define BUFFER_BYTES	   65536

/* ---- what is the right one --------------------------------------------------------------- */

bool tapir_debug_file__is_of(const struct tapir_elf *elf, const uint8_t *build_id, size_t len)
{
	size_t own_len;
	const uint8_t *own_id = tapir_elf__build_id(elf, &own_len);

	return own_id && build_id && own_len == len && memcmp(own_id, build_id, len) == 0;
}

static bool same_build_id(const struct tapir_elf *a, const struct tapir_elf *b)
{
	size_t len;
	const uint8_t *id = tapir_elf__build_id(a, &len);

	return id && tapir_debug_file__is_of(b, id, len);
}

bool tapir_debug_file__has_functions(struct tapir_elf *elf)
{
	struct tapir_elf_syms syms;
	int mark = tapir_diag__cnt();
	bool has = !tapir_elf__syms(elf, SHT_SYMTAB, &syms) && syms.cnt > 1;

	tapir_diag__rewind(mark);
	return has || tapir_elf__section(elf, ".gnu_debugdata") || tapir_go_table__is_in(elf);
}

bool tapir_debug_file__has_lines(const struct tapir_elf *elf)
{
	const Elf64_Shdr *section = tapir_elf__section(elf, ".debug_info");

	if (!section)
		section = tapir_elf__section(elf, ".zdebug_info");
	return section && section->sh_type != SHT_NOBITS;
}

/*
 * A candidate that is not an ELF file is skipped without a line: another place may have the right
 * one.
 */
static int open_quietly(int fd, struct tapir_elf **out)
{
	int diag_cnt = tapir_diag__cnt();
	int err = tapir_elf__open_fd(fd, out);

	tapir_diag__rewind(diag_cnt);
	return err ? -ENOENT : 0;
}

/* ---- by build ID ------------------------------------------------------------------------- */

/* One file that must have the build ID. */
static int open_of(const uint8_t *id, size_t len, const struct tapir_debug_location *location,
		   const struct tapir_str *path, struct tapir_elf **out)
{
	struct tapir_elf *found = NULL;
	tapir_autofd int fd =
		path->failed ? -1
			     : tapir_foreign__open(location->root_fd, path->data, location->tgid);

	if (fd < 0 || open_quietly(fd, &found))
		return -ENOENT;
	if (!tapir_debug_file__is_of(found, id, len)) {
		tapir_elf__free(found);
		return -ENOENT;
	}
	*out = found;
	return 0;
}

static int open_by_build_id(const uint8_t *id, size_t len,
			    const struct tapir_debug_location *location, struct tapir_elf **out)
{
	struct tapir_str path = {};
	int err;

	if (!id || len < 2)
		return -ENOENT;
	tapir_str__adds(&path, DEBUG_DIR "/.build-id/");
	tapir_str__add_hex(&path, id, 1);
	tapir_str__addc(&path, '/');
	tapir_str__add_hex(&path, id + 1, len - 1);
	tapir_str__adds(&path, ".debug");
	err = open_of(id, len, location, &path, out);
	tapir_str__fini(&path);
	return err;
}

/* "libcoreclr.so.dbg" is what Microsoft calls it. */
static int open_beside(const uint8_t *id, size_t len, const struct tapir_debug_location *location,
		       struct tapir_elf **out)
{
	static const char *const endings[] = {".debug", ".dbg"};
	int err = -ENOENT;

	if (!id || !location->path || *location->path != '/')
		return err;
	for (size_t i = 0; err && i < sizeof(endings) / sizeof(*endings); i++) {
		struct tapir_str path = {};

		tapir_str__adds(&path, location->path);
		tapir_str__adds(&path, endings[i]);
		err = open_of(id, len, location, &path, out);
		tapir_str__fini(&path);
	}
	return err;
}

int tapir_debug_file__find(const uint8_t *build_id, size_t len,
			   const struct tapir_debug_location *location, struct tapir_elf **out)
{
	struct tapir_elf *found = NULL;
	int err = open_by_build_id(build_id, len, location, &found);

	if (err)
		err = open_beside(build_id, len, location, &found);
	if (!err && !tapir_debug_file__has_functions(found)) {
		tapir_elf__free(found);
		err = -ENOENT;
	}
	if (!err)
		*out = found;
	return err;
}

/* ---- by link ----------------------------------------------------------------------------- */

/* The section holds a file name, NUL, padding to 4 bytes, and the CRC-32 of that file. */
static const char *read_link(struct tapir_elf *elf, uint32_t *crc)
{
	const Elf64_Shdr *sec = tapir_elf__section(elf, ".gnu_debuglink");
	const void *data;
	const char *name;
	size_t len, crc_off;

	if (!sec || tapir_elf__data(elf, sec, &data, &len))
		return NULL;
	name = data;
	crc_off = (strnlen(name, len) + 4) & ~(size_t)3;
	if (crc_off > len || len - crc_off < sizeof(*crc) || !*name || strchr(name, '/'))
		return NULL;
	memcpy(crc, name + crc_off, sizeof(*crc));
	return name;
}

/* 0, -ENOENT: it is another one's, or -EFBIG. fd: content, which never blocks. */
static int check_crc(int fd, uint32_t want)
{
	uint8_t buf[BUFFER_BYTES];
	uint32_t crc = 0;
	struct stat st;
	off_t off = 0;
	ssize_t n;

	if (fstat(fd, &st))
		return -ENOENT;
	if (st.st_size > MAX_CRC_BYTES)
		return -EFBIG;
	while ((n = pread(fd, buf, sizeof(buf), off)) > 0) {
		if (off > MAX_CRC_BYTES)
			return -EFBIG;
		crc = libdeflate_crc32(crc, buf, (size_t)n);
		off += n;
	}
	return n == 0 && crc == want ? 0 : -ENOENT;
}

static int open_linked(struct tapir_elf *elf, const struct tapir_debug_location *location,
		       const char *path, uint32_t crc, struct tapir_elf **out)
{
	tapir_autofd int handle = tapir_foreign__open(location->root_fd, path, location->tgid);
	tapir_autofd int fd = handle < 0 ? handle : tapir_foreign__content(handle);
	struct tapir_elf *found = NULL;
	int err = fd < 0 ? -ENOENT : open_quietly(fd, &found);

	/* A file with the build ID need not be read from its first to its last byte. */
	if (!err && !same_build_id(elf, found))
		err = check_crc(fd, crc);
	if (err)
		tapir_elf__free(found);
	else
		*out = found;
	return err;
}

static int open_by_link(struct tapir_elf *elf, const struct tapir_debug_location *location,
			struct tapir_elf **out)
{
	static const char *const forms[][2] = {{"", "/"}, {"", "/.debug/"}, {DEBUG_DIR, "/"}};
	const char *path = location->path, *slash = path ? strrchr(path, '/') : NULL, *name;
	int err = -ENOENT;
	uint32_t crc;

	name = slash ? read_link(elf, &crc) : NULL;
	for (size_t i = 0; name && err == -ENOENT && i < sizeof(forms) / sizeof(*forms); i++) {
		struct tapir_str full = {};

		tapir_str__adds(&full, forms[i][0]);
		tapir_str__add(&full, path, (size_t)(slash - path));
		tapir_str__adds(&full, forms[i][1]);
		tapir_str__adds(&full, name);
		if (!full.failed)
			err = open_linked(elf, location, full.data, crc, out);
		tapir_str__fini(&full);
	}
	return err;
}

int tapir_debug_file__open(struct tapir_elf *elf, const struct tapir_debug_location *location,
			   struct tapir_elf **out)
{
	size_t len;
	const uint8_t *id = tapir_elf__build_id(elf, &len);
	int err = open_by_build_id(id, len, location, out);

	if (err)
		err = open_by_link(elf, location, out);
	return err == -ENOENT ? open_beside(id, len, location, out) : err;
}

/* The section holds a path, NUL, and the build ID of that file. */
static const uint8_t *read_alt(struct tapir_elf *elf, const char **path, size_t *len)
{
	const Elf64_Shdr *section = tapir_elf__section(elf, ".gnu_debugaltlink");
	const void *data;
	size_t bytes, id_at;

	if (!section || tapir_elf__data(elf, section, &data, &bytes))
		return NULL;
	id_at = strnlen(data, bytes) + 1;
	if (id_at + 2 > bytes)
		return NULL;
	*path = data;
	*len = bytes - id_at;
	return (const uint8_t *)data + id_at;
}

const uint8_t *tapir_debug_file__alt_id(struct tapir_elf *elf, size_t *len)
{
	const char *path;

	return read_alt(elf, &path, len);
}

int tapir_debug_file__open_alt(struct tapir_elf *elf, const struct tapir_debug_location *location,
			       struct tapir_elf **out)
{
	struct tapir_str path = {};
	const char *name;
	size_t len;
	const uint8_t *id = read_alt(elf, &name, &len);
	int err;

	if (!id)
		return -ENOENT;
	err = open_by_build_id(id, len, location, out);
	if (err && *name == '/') {
		tapir_str__adds(&path, name);
		err = open_of(id, len, location, &path, out);
		tapir_str__fini(&path);
	}
	return err;
}

/* ---- .gnu_debugdata ----------------------------------------------------------------------- */

/* Unpacks xz data into a file. -EFBIG, -ENOMEM, -EBADMSG, or the error of the write. */
static int unpack(const uint8_t *data, size_t len, int fd)
{
	lzma_stream xz = LZMA_STREAM_INIT;
	lzma_ret ret = lzma_stream_decoder(&xz, MAX_LZMA_BYTES, 0);
	uint8_t buf[BUFFER_BYTES];
	int err = len > MAX_PACKED_BYTES ? -EFBIG : 0;

	xz.next_in = data;
	xz.avail_in = len;
	while (ret == LZMA_OK && !err) {
		xz.next_out = buf;
		xz.avail_out = sizeof(buf);
		ret = lzma_code(&xz, LZMA_FINISH);
		if (xz.total_out > MAX_UNPACKED_BYTES)
			err = -EFBIG;
		else
			err = tapir_file__write_all(fd, buf, sizeof(buf) - xz.avail_out);
	}
	lzma_end(&xz);
	if (err)
		return err;
	return ret == LZMA_STREAM_END ? 0 : ret == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

int tapir_debug_file__open_embedded(struct tapir_elf *elf, struct tapir_elf **out)
{
	const Elf64_Shdr *sec = tapir_elf__section(elf, ".gnu_debugdata");
	tapir_autofd int fd = -1;
	const void *data;
	size_t len;
	int err;

	if (!sec || tapir_elf__data(elf, sec, &data, &len))
		return -ENOENT;
	fd = memfd_create("tapir-debugdata", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = unpack(data, len, fd);
	if (err)
		return err == -EFBIG ? err : -ENOENT;
	return open_quietly(fd, out);
}
