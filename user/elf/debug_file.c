// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finding separate debug files the way gdb does (gdb manual, "Debugging Information in
 * Separate Files"). Nothing here trusts a name: the content has to match.
 */
#include "elf/debug_file.h"

#include "base/diag.h"
#include "base/file.h"
#include "base/str.h"
#include "elf/image.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zlib.h>

#define DEBUG_DIR	   "/usr/lib/debug"
#define MAX_CRC_BYTES	   (1ll << 30)
#define MAX_UNPACKED_BYTES (256u << 20)
#define MAX_LZMA_BYTES	   (128u << 20)

/* ---- opening below a root ---------------------------------------------------------------- */

static int open_below(const char *root, const char *path)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

	return *root ? tapir_file__open_in_root(root, path, flags) : open(path, flags);
}

static bool same_build_id(const struct tapir_elf *a, const struct tapir_elf *b)
{
	size_t a_len, b_len;
	const uint8_t *a_id = tapir_elf__build_id(a, &a_len);
	const uint8_t *b_id = tapir_elf__build_id(b, &b_len);

	return a_id && b_id && a_len == b_len && memcmp(a_id, b_id, a_len) == 0;
}

/* A candidate that is no ELF file is nothing to tell anybody about. */
static int open_quietly(int fd, struct tapir_elf **out)
{
	int diag_cnt = tapir_diag__cnt();
	int err = tapir_elf__open_fd(fd, out);

	tapir_diag__rewind(diag_cnt);
	return err ? -ENOENT : 0;
}

/* ---- by build ID ------------------------------------------------------------------------- */

static int open_by_build_id(struct tapir_elf *elf, const char *root, struct tapir_elf **out)
{
	struct tapir_str path = {};
	struct tapir_elf *found = NULL;
	tapir_autofd int fd = -1;
	size_t len;
	const uint8_t *id = tapir_elf__build_id(elf, &len);

	if (!id || len < 2)
		return -ENOENT;
	tapir_str__adds(&path, DEBUG_DIR "/.build-id/");
	tapir_str__add_hex(&path, id, 1);
	tapir_str__addc(&path, '/');
	tapir_str__add_hex(&path, id + 1, len - 1);
	tapir_str__adds(&path, ".debug");
	fd = path.failed ? -1 : open_below(root, path.data);
	tapir_str__fini(&path);
	if (fd < 0 || open_quietly(fd, &found))
		return -ENOENT;
	if (!same_build_id(elf, found)) {
		tapir_elf__free(found);
		return -ENOENT;
	}
	*out = found;
	return 0;
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

static bool has_crc(int fd, uint32_t want)
{
	uint8_t buf[16384];
	uLong crc = crc32(0, NULL, 0);
	struct stat st;
	off_t off = 0;
	ssize_t n;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > MAX_CRC_BYTES)
		return false;
	while ((n = pread(fd, buf, sizeof(buf), off)) > 0 && off < MAX_CRC_BYTES) {
		crc = crc32(crc, buf, (uInt)n);
		off += n;
	}
	return n == 0 && crc == want;
}

static int open_linked(const char *root, const char *path, uint32_t crc, struct tapir_elf **out)
{
	tapir_autofd int fd = open_below(root, path);

	return fd >= 0 && has_crc(fd, crc) ? open_quietly(fd, out) : -ENOENT;
}

static int open_by_link(struct tapir_elf *elf, const char *root, const char *path,
			struct tapir_elf **out)
{
	static const char *const forms[][2] = {{"", "/"}, {"", "/.debug/"}, {DEBUG_DIR, "/"}};
	const char *slash = strrchr(path, '/'), *name;
	int err = -ENOENT;
	uint32_t crc;

	name = slash ? read_link(elf, &crc) : NULL;
	for (size_t i = 0; name && err && i < sizeof(forms) / sizeof(*forms); i++) {
		struct tapir_str full = {};

		tapir_str__adds(&full, forms[i][0]);
		tapir_str__add(&full, path, (size_t)(slash - path));
		tapir_str__adds(&full, forms[i][1]);
		tapir_str__adds(&full, name);
		if (!full.failed)
			err = open_linked(root, full.data, crc, out);
		tapir_str__fini(&full);
	}
	return err;
}

int tapir_debug_file__open(struct tapir_elf *elf, const char *root, const char *path,
			   struct tapir_elf **out)
{
	int err = open_by_build_id(elf, root, out);

	return err ? open_by_link(elf, root, path, out) : 0;
}

/* ---- .gnu_debugdata ----------------------------------------------------------------------- */

/* Unpacks xz data into a file. -EFBIG, -ENOMEM, -EBADMSG, or what writing says. */
static int unpack(const uint8_t *data, size_t len, int fd)
{
	lzma_stream xz = LZMA_STREAM_INIT;
	lzma_ret ret = lzma_stream_decoder(&xz, MAX_LZMA_BYTES, 0);
	uint8_t buf[16384];
	int err = 0;

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

	if (!sec || tapir_elf__data(elf, sec, &data, &len))
		return -ENOENT;
	fd = memfd_create("tapir-debugdata", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	return unpack(data, len, fd) ? -ENOENT : open_quietly(fd, out);
}
