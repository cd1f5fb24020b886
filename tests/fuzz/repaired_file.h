/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * repaired_file.h - fuzzed bytes as a recording: magics, sizes and CRCs are made right, or no
 * mutation would come behind them; what the repaired file says is still the fuzzer's.
 */
#ifndef TAPIR_FUZZ_REPAIRED_FILE_H
#define TAPIR_FUZZ_REPAIRED_FILE_H

#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "tapir/trace_format.h"

static inline void repair(uint8_t *data, size_t len)
{
	struct tapir_file_header f;
	size_t at = sizeof(f);

	if (len < at)
		return;
	memcpy(&f, data, sizeof(f));
	f.magic = TAPIR_FILE_MAGIC;
	f.version = TAPIR_FILE_VERSION;
	f.header_bytes = sizeof(f);
	f.crc = 0;
	f.crc = (uint32_t)crc32(0, (const Bytef *)&f, sizeof(f));
	memcpy(data, &f, sizeof(f));
	while (len - at >= sizeof(struct tapir_chunk_header)) {
		struct tapir_chunk_header h;
		size_t left = len - at - sizeof(h);

		memcpy(&h, data + at, sizeof(h));
		h.magic = TAPIR_CHUNK_MAGIC;
		if (h.stored_bytes > left)
			h.stored_bytes = (uint32_t)left;
		if (!(h.flags & TAPIR_CHUNK_ZSTD))
			h.raw_bytes = h.stored_bytes;
		h.data_crc = (uint32_t)crc32(0, data + at + sizeof(h), h.stored_bytes);
		h.header_crc = 0;
		h.header_crc = (uint32_t)crc32(0, (const Bytef *)&h, sizeof(h));
		memcpy(data + at, &h, sizeof(h));
		at += sizeof(h) + h.stored_bytes;
	}
}

#endif
