// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * protobuf-c and libdeflate on the house's memory: everything of a message is in one arena, so that
 * nothing is freed singly, and a message that ran out of memory is dropped as a whole.
 */
#include "output/render/messages.h"

#include <errno.h>
#include <libdeflate.h>

#define COMPRESSION 4

void *tapir_messages__alloc(struct tapir_arena *arena, size_t cnt, size_t bytes, void ***pointers)
{
	char *all = tapir_arena__alloc(arena, cnt ? cnt * bytes : 1);

	*pointers = tapir_arena__alloc(arena, cnt ? cnt * sizeof(void *) : 1);
	if (!all || !*pointers)
		return NULL;
	for (size_t i = 0; i < cnt; i++)
		(*pointers)[i] = all + i * bytes;
	return all;
}

char *tapir_messages__text(struct tapir_arena *arena, const char *text, size_t len)
{
	struct tapir_str buf = {};
	char *copy = NULL;

	tapir_str__add_printable(&buf, text, len);
	if (!buf.failed)
		copy = tapir_arena__text(arena, buf.data ? buf.data : "", buf.len);
	tapir_str__fini(&buf);
	return copy;
}

int tapir_messages__pack(const ProtobufCMessage *message, struct tapir_str *out)
{
	size_t len = protobuf_c_message_get_packed_size(message);

	if (!tapir_str__reserve(out, len + 1))
		return -ENOMEM;
	out->len += protobuf_c_message_pack(message, (uint8_t *)out->data + out->len);
	out->data[out->len] = '\0';
	return 0;
}

int tapir_messages__gzip(const void *data, size_t len, struct tapir_str *out)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(COMPRESSION);
	size_t bound = libdeflate_gzip_compress_bound(c, len), n = 0;

	if (c && tapir_str__reserve(out, bound))
		n = libdeflate_gzip_compress(c, data, len, out->data + out->len, bound);
	libdeflate_free_compressor(c);
	out->len += n;
	return n ? 0 : -ENOMEM;
}
