// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads a nettrace file block by block. Version 4 is a stream that its reader cuts; version 6 has
 * blocks that say their size. A file may end anywhere, for its writer may have been killed: what is
 * whole is delivered.
 */
#include "output/import/nettrace_file.h"

#include <errno.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/little_endian.h"
#include "decode/nettrace_v6.h"

#define READ_BYTES  (256u << 10)
#define BLOCK_MAX   (16u << 20) /* 24 bits */
#define VERSION_OFF 8u

static int64_t read_nettrace_at(const struct tapir_import_input *input, void *buf, size_t len,
				uint64_t off)
{
	return tapir_import_input__read((void *)input, buf, len, off);
}

/*
 * A file that ends between two blocks lacks only its last tag. One byte is then counted as not
 * read, so that it is reported as cut.
 */
static int read_v4(const struct tapir_import_input *input, const struct tapir_nettrace_sink *sink,
		   int (*stop)(void *ctx), struct tapir_nettrace_rest *rest)
{
	tapir_autofree char *buffer = malloc(READ_BYTES);
	struct tapir_nettrace_stream *stream;
	int err = buffer ? tapir_nettrace_stream__new(sink, &stream) : -ENOMEM;
	uint64_t off = 0;

	if (err)
		return err;
	while (!err && off < input->bytes) {
		int64_t got = read_nettrace_at(input, buffer, READ_BYTES, off);

		err = got < 0 ? (int)got : tapir_nettrace_stream__feed(stream, buffer, (size_t)got);
		if (got <= 0)
			break;
		off += err ? 0 : (uint64_t)got;
		err = err ? err : stop(sink->ctx);
	}
	rest->malformed_cnt = tapir_nettrace_stream__malformed_cnt(stream);
	rest->tail_bytes = input->bytes - off;
	if (!rest->tail_bytes && !tapir_nettrace_stream__has_ended(stream))
		rest->tail_bytes = 1;
	tapir_nettrace_stream__free(stream);
	return err;
}

/* 1: *off is behind the next block; 0: the end has come, or what follows cannot be followed. */
static int take_block(const struct tapir_import_input *input, struct tapir_nettrace_v6 *v,
		      uint8_t *block, uint64_t *off, bool *ends)
{
	uint8_t head[4];
	int64_t got = read_nettrace_at(input, head, sizeof(head), *off);
	uint32_t header = tapir_le__u32(head);
	size_t bytes;
	int err;

	if (got < (int64_t)sizeof(head))
		return got < 0 ? (int)got : 0;
	bytes = tapir_nettrace_v6__block_bytes(header, ends);
	if (*ends) {
		*off = input->bytes; /* nothing is read behind it */
		return 0;
	}
	got = read_nettrace_at(input, block, bytes, *off + sizeof(head));
	if (got < (int64_t)bytes)
		return got < 0 ? (int)got : 0;
	err = tapir_nettrace_v6__take(v, header, block, bytes);
	*off += err ? 0 : sizeof(head) + bytes;
	return err ? err : 1;
}

static int read_v6(const struct tapir_import_input *input, const struct tapir_nettrace_sink *sink,
		   int (*stop)(void *ctx), struct tapir_nettrace_rest *rest)
{
	tapir_autofree uint8_t *block = malloc(BLOCK_MAX);
	uint64_t off = TAPIR_NETTRACE_V6_HEAD_BYTES;
	struct tapir_nettrace_v6 *v;
	int err = block ? tapir_nettrace_v6__new(sink, &v) : -ENOMEM;
	bool ends = false;

	if (err)
		return err;
	do {
		err = take_block(input, v, block, &off, &ends);
		if (err > 0 && stop(sink->ctx))
			err = stop(sink->ctx);
	} while (err > 0);
	rest->malformed_cnt = tapir_nettrace_v6__malformed_cnt(v);
	rest->tail_bytes = input->bytes > off ? input->bytes - off : !ends;
	tapir_nettrace_v6__free(v);
	return err;
}

int tapir_nettrace_file__read(const struct tapir_import_input *input,
			      const struct tapir_nettrace_sink *sink, int (*stop)(void *ctx),
			      struct tapir_nettrace_rest *rest)
{
	uint8_t head[TAPIR_NETTRACE_V6_HEAD_BYTES] = {};
	int64_t got = read_nettrace_at(input, head, sizeof(head), 0);

	*rest = (struct tapir_nettrace_rest){};
	if (got < (int64_t)sizeof(head))
		return got < 0 ? (int)got : -EPROTO;
	if (tapir_le__u32(head + VERSION_OFF))
		return read_v4(input, sink, stop, rest);
	if (tapir_le__u32(head + VERSION_OFF + 4) != TAPIR_NETTRACE_V6_MAJOR)
		return -EOPNOTSUPP;
	return read_v6(input, sink, stop, rest);
}
