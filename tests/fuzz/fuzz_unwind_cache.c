// SPDX-License-Identifier: GPL-2.0-or-later
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

#include "attach/unwind/unwind_cache.h"
#include "attach/unwind/unwind_table.h"

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
