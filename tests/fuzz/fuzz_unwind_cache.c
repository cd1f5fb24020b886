// SPDX-License-Identifier: GPL-2.0-or-later
// fuzz: user/unwind/go_rows.c user/elf/go_table.c
// fuzz: user/unwind/unwind_cache.c user/unwind/unwind_table.c user/unwind/rows.c
// fuzz: user/unwind/rule.c user/unwind/eh_source.c user/unwind/undescribed.c
// fuzz: user/elf/image.c user/elf/note_iter.c user/base/map.c user/base/trusted_dir.c
// fuzz: user/base/diag.c user/base/str.c user/base/log.c user/base/clock.c
// fuzz: user/base/file.c
// fuzz: user/foreign/foreign_file.c user/foreign/foreign_path.c user/foreign/file_system.c
// fuzz: user/foreign/helper.c user/foreign/helper_child.c user/foreign/mount_list.c
// fuzz: user/foreign/overlay.c
/*
 * Any bytes as a file of the cache, with the checksums put right so that what follows them is
 * reached: a table that is accepted can be searched anywhere.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "unwind/unwind_cache.h"
#include "unwind/unwind_table.h"

#define HEADER_BYTES 96
#define MAGIC	     (0x31776e75ull << 32 | 0x72706174)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* magic, version, crc, key, shape, crc of the header: as in unwind_cache.c. */
static void put_right(uint8_t *file, size_t size, const struct tapir_unwind_key *key)
{
	uint64_t magic = MAGIC;
	uint32_t version = 3, crc;

	memcpy(file, &magic, 8);
	memcpy(file + 8, &version, 4);
	crc = (uint32_t)crc32_z(0, file + HEADER_BYTES, size - HEADER_BYTES);
	memcpy(file + 12, &crc, 4);
	memcpy(file + 16, key, sizeof(*key));
	crc = (uint32_t)crc32_z(0, file, HEADER_BYTES - 8);
	memcpy(file + HEADER_BYTES - 8, &crc, 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct tapir_unwind_key key = {.inode = 1};
	struct tapir_unwind_table *t;
	uint8_t *file;
	int fd;

	if (size < HEADER_BYTES + 1)
		return 0;
	file = malloc(size);
	assert(file);
	memcpy(file, data, size);
	if (data[HEADER_BYTES - 1] & 1)
		put_right(file, size, &key);
	fd = memfd_create("cache", MFD_CLOEXEC);
	assert(fd >= 0 && write(fd, file, size) == (ssize_t)size);
	if (!tapir_unwind_cache__read(fd, &key, &t)) {
		for (uint64_t pc = 0; pc <= UINT32_MAX; pc += 9999991)
			(void)tapir_unwind_table__find(t, (uint32_t)pc);
		for (uint32_t i = 0; i < 1000; i++)
			(void)tapir_unwind_table__find(t, t->shape.first_pc + 97 * i);
		tapir_unwind_table__free(t);
	}
	close(fd);
	free(file);
	return 0;
}
