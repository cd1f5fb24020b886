// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The layout is of glibc, sysdeps/generic/dl-cache.h: struct cache_file, cache_file_new and
 * file_entry_new. Entries hold offsets of strings, which are checked against the length; the cache
 * may be one of a container.
 */
#include "elf/ld_cache.h"
#include "base/little_endian.h"

#include <stdint.h>
#include <string.h>

#define OLD_MAGIC	 "ld.so-1.7.0"
#define OLD_HEADER_BYTES 16
#define OLD_ENTRY_BYTES	 12
#define NEW_MAGIC	 "glibc-ld.so.cache1.1"
#define NEW_HEADER_BYTES 48
#define NEW_ENTRY_BYTES	 24

/* The offset at which the new layout begins; len: there is none. */
static size_t find_new(const char *data, size_t len)
{
	uint64_t at;

	if (len < OLD_HEADER_BYTES || memcmp(data, OLD_MAGIC, strlen(OLD_MAGIC)) != 0)
		return 0;
	at = OLD_HEADER_BYTES + (uint64_t)tapir_le__u32(data + 12) * OLD_ENTRY_BYTES;
	at = (at + 7) & ~7ull;
	return at < len ? (size_t)at : len;
}

/* NULL: outside, or without an end. */
static const char *string_at(const char *data, size_t len, uint32_t off)
{
	return off < len && memchr(data + off, '\0', len - off) ? data + off : NULL;
}

int tapir_ld_cache__each(const char *data, size_t len, const char *name, tapir_ld_cache_fn fn,
			 void *ctx)
{
	size_t skipped = find_new(data, len);
	uint64_t cnt;

	data += skipped;
	len -= skipped;
	if (len < NEW_HEADER_BYTES || memcmp(data, NEW_MAGIC, strlen(NEW_MAGIC)) != 0)
		return 0;
	cnt = tapir_le__u32(data + strlen(NEW_MAGIC));
	if (cnt > (len - NEW_HEADER_BYTES) / NEW_ENTRY_BYTES)
		cnt = (len - NEW_HEADER_BYTES) / NEW_ENTRY_BYTES;
	for (uint64_t i = 0; i < cnt; i++) {
		size_t entry = NEW_HEADER_BYTES + i * NEW_ENTRY_BYTES;
		const char *key = string_at(data, len, tapir_le__u32(data + entry + 4));
		const char *path = string_at(data, len, tapir_le__u32(data + entry + 8));
		int result;

		if (!key || !path || strcmp(key, name) != 0)
			continue;
		result = fn(ctx, path);
		if (result)
			return result;
	}
	return 0;
}
