/* SPDX-License-Identifier: MIT */
/*
 * trace_format.h - the .tapir file, for programs that write or read one.
 *
 *   file    := tapir_file_header chunk*
 *   chunk   := tapir_chunk_header stored bytes
 *   segment := a chunk flagged SEGMENT and all chunks up to the next one
 *
 * A RECORDS or DESCRIPTIONS chunk holds complete records (abi.h), one after the other, compressed
 * as one zstd frame or plain. Describing records (PROBE, METADATA, PROCESS, THREAD, MAPPING, STACK,
 * SYMBOL, JIT, CLOCK, META, RESOURCE, HOST, OF_HOST) are in DESCRIPTIONS chunks, all others in
 * RECORDS.
 *
 * A segment names everything it uses: the describing records needed to read its events are in its
 * DESCRIPTIONS chunks, so a damaged chunk costs only its contents and leaves the rest named.
 * Descriptions of an earlier segment are repeated with their own time_ns, a PROCESS as EXISTING. A
 * DESCRIPTIONS chunk may follow the records that need it, but never in a later segment: a reader
 * takes the descriptions of a segment first, then its records.
 *
 * Chunks are appended and never changed. A file that was cut at any byte is read up to its last
 * complete chunk; one with damage in the middle is read again after it: each header carries its own
 * CRC and a magic number to find it by. An END chunk, empty, means that the recording was closed
 * properly; without it the reader reports a cut file.
 *
 * A FILE chunk is a part of a file that came with the recording: debug information of a program or
 * library that occurs in it. It holds a tapir_file_part, the build ID, zeros up to a multiple of 8,
 * and one zstd frame; the chunk itself is not compressed. The parts of a file follow each other.
 *
 * CRCs are CRC-32 as in zlib (polynomial 0xedb88320, initial value 0).
 */
#ifndef TAPIR_TRACE_FORMAT_H
#define TAPIR_TRACE_FORMAT_H

#include <stdint.h>

#include "abi.h"

#define TAPIR_FILE_MAGIC   0x0a0d5249504154b5ull /* bytes b5 'T' 'A' 'P' 'I' 'R' 0d 0a */
#define TAPIR_FILE_VERSION 1

struct tapir_file_header {
	uint64_t magic;
	uint16_t version;      /* a reader refuses one it does not know */
	uint16_t header_bytes; /* where the first chunk starts */
	uint32_t crc;	       /* of this header, with crc = 0 */
	uint64_t created_utc_ns;
	uint64_t created_ns; /* CLOCK_MONOTONIC */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_file_header) == 32, "tapir_file_header");

#define TAPIR_CHUNK_MAGIC	0x4b4e4843u	     /* "CHNK" */
#define TAPIR_CHUNK_MAX_BYTES	(4u * 1024u * 1024u) /* of raw_bytes; a reader refuses more */
#define TAPIR_SEGMENT_MAX_BYTES (64u * 1024u * 1024u)
#define TAPIR_SEGMENT_MAX_NS	(10ull * 1000000000ull)

enum tapir_chunk_type {
	TAPIR_CHUNK_RECORDS = 1,
	TAPIR_CHUNK_DESCRIPTIONS = 2,
	TAPIR_CHUNK_END = 3,
	TAPIR_CHUNK_FILE = 4
};

#define TAPIR_CHUNK_SEGMENT (1u << 0) /* a new segment starts with this chunk */
#define TAPIR_CHUNK_ZSTD    (1u << 1) /* stored bytes are one zstd frame */

struct tapir_chunk_header {
	uint32_t magic;
	uint8_t type; /* enum tapir_chunk_type; unknown ones are skipped */
	uint8_t flags;
	uint16_t pad0;
	uint32_t stored_bytes; /* that follow this header */
	uint32_t raw_bytes;    /* after decompression */
	uint32_t record_cnt;
	uint32_t data_crc; /* of the stored bytes */
	uint64_t first_ns; /* smallest and largest time of the records within */
	uint64_t last_ns;
	uint32_t seq;	     /* 0, 1, 2 …: a jump means missing chunks */
	uint32_t header_crc; /* of this header, with header_crc = 0 */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_chunk_header) == 48, "tapir_chunk_header");

#define TAPIR_FILE_PART_MAX_BYTES (1024u * 1024u) /* of part_bytes; a reader refuses more */

struct tapir_file_part {
	uint64_t file_bytes; /* of the whole file */
	uint64_t off;	     /* of this part in it */
	uint32_t part_bytes; /* after decompression */
	uint8_t build_id_bytes;
	uint8_t pad[3];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_file_part) == 24, "tapir_file_part");

#endif /* TAPIR_TRACE_FORMAT_H */
