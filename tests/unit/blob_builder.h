/* SPDX-License-Identifier: GPL-2.0-or-later */
/* blob_builder.h - EventPipe's metadata blobs and payloads, byte by byte. Behind cmocka.h. */
#ifndef TAPIR_TEST_BLOB_BUILDER_H
#define TAPIR_TEST_BLOB_BUILDER_H

#include <stdint.h>
#include <string.h>

struct bytes {
	uint8_t data[8192];
	uint32_t len;
};

static inline void put(struct bytes *b, const void *data, size_t len)
{
	assert_true(b->len + len <= sizeof(b->data));
	memcpy(b->data + b->len, data, len);
	b->len += (uint32_t)len;
}

static inline void u(struct bytes *b, uint64_t value, size_t len)
{
	put(b, &value, len);
}

static inline void wide(struct bytes *b, const char *text)
{
	for (; *text; text++)
		u(b, (unsigned char)*text, 2);
	u(b, 0, 2);
}

/* Event 7, version 3. */
static inline void head_of(struct bytes *b, const char *name, uint64_t keywords, unsigned level,
			   unsigned field_cnt)
{
	*b = (struct bytes){};
	u(b, 7, 4);
	wide(b, name);
	u(b, keywords, 8);
	u(b, 3, 4);
	u(b, level, 4);
	u(b, field_cnt, 4);
}

static inline void field(struct bytes *b, unsigned type, const char *name)
{
	u(b, type, 4);
	wide(b, name);
}

#endif
