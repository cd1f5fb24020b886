/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * previous_reader.h - a reader of the first recordings of version 1, kept as it was: it has its own
 * layouts and shares no code with tapir. A change of the format must leave what it knows readable,
 * and what is new for it to skip. Never change it for version 1.
 */
#ifndef TAPIR_TEST_PREVIOUS_READER_H
#define TAPIR_TEST_PREVIOUS_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#define PREVIOUS_ROOM_BYTES (4u << 20)
#define PREVIOUS_TYPES	    64

struct previous_counts {
	uint64_t known, skipped;     /* records */
	uint64_t of[PREVIOUS_TYPES]; /* by their type */
	uint64_t lost;		     /* sum of the LOSS records */
	uint64_t chunks_skipped;
	bool is_complete; /* each byte was one of a chunk or record, and the last chunk is an END */
};

struct previous_chunk {
	uint32_t magic;
	uint8_t type, flags;
	uint16_t pad;
	uint32_t stored_bytes, raw_bytes, record_cnt, data_crc;
	uint64_t first_ns, last_ns;
	uint32_t seq, header_crc;
};

struct previous_record {
	uint16_t type, cpu;
	uint32_t size;
	uint64_t time_ns;
};

/* The bytes of a record's fixed part, by its type from 1 on. */
static const uint32_t previous_bytes[] = {0,  48, 64, 32, 48, 64, 32, 80, 64,
					  96, 48, 56, 48, 48, 40, 32, 24};
#define PREVIOUS_LOSS 13

/* False: the bytes are no records. */
static inline bool previous_read_records(const char *raw, size_t len, struct previous_counts *c)
{
	struct previous_record head;

	for (size_t at = 0; at < len; at += head.size) {
		if (len - at < sizeof(head))
			return false;
		memcpy(&head, raw + at, sizeof(head));
		if (head.size < sizeof(head) || head.size > len - at || head.size % 8)
			return false;
		c->of[head.type % PREVIOUS_TYPES]++;
		if (head.type >= sizeof(previous_bytes) / sizeof(previous_bytes[0])) {
			c->skipped++;
			continue;
		}
		if (head.size < previous_bytes[head.type])
			return false;
		c->known++;
		if (head.type == PREVIOUS_LOSS) {
			uint64_t count;

			memcpy(&count, raw + at + 24, sizeof(count));
			c->lost += count;
		}
	}
	return true;
}

/* Reads a chunk of the two types that have records, 1 and 2; flag 2: it is packed. */
static inline bool previous_read_chunk(FILE *file, const struct previous_chunk *chunk, char *stored,
				       char *raw, struct previous_counts *c)
{
	if (chunk->magic != 0x4b4e4843 || chunk->stored_bytes > PREVIOUS_ROOM_BYTES ||
	    chunk->raw_bytes > PREVIOUS_ROOM_BYTES ||
	    fread(stored, 1, chunk->stored_bytes, file) != chunk->stored_bytes)
		return false;
	if (chunk->type != 1 && chunk->type != 2) {
		c->chunks_skipped += chunk->type != 3;
		return true;
	}
	if (!(chunk->flags & 2))
		return previous_read_records(stored, chunk->stored_bytes, c);
	return ZSTD_decompress(raw, PREVIOUS_ROOM_BYTES, stored, chunk->stored_bytes) ==
		       chunk->raw_bytes &&
	       previous_read_records(raw, chunk->raw_bytes, c);
}

static inline struct previous_counts previous_read(const char *path)
{
	struct previous_counts c = {};
	struct previous_chunk chunk = {};
	char *stored = malloc(PREVIOUS_ROOM_BYTES), *raw = malloc(PREVIOUS_ROOM_BYTES);
	FILE *file = fopen(path, "re");
	bool is_fine = stored && raw && file && !fseek(file, 32, SEEK_SET);

	while (is_fine && fread(&chunk, sizeof(chunk), 1, file) == 1)
		is_fine = previous_read_chunk(file, &chunk, stored, raw, &c);
	c.is_complete = is_fine && feof(file) && chunk.type == 3;
	if (file)
		fclose(file);
	free(stored);
	free(raw);
	return c;
}

#endif
