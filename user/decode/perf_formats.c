// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The part is as trace-cmd writes it: 3 bytes of magic, "tracing", a version, a byte each for the
 * byte order and the size of a long, u32 page size; "header_page" and "header_event", each with u64
 * bytes; u32 files of the category "ftrace", each u64 bytes and its text; u32 categories, each its
 * name and u32 files. What follows (kallsyms, printk) is of no use here.
 */
#include "decode/perf_formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "decode/byte_input.h"

#define MAGIC	       "\x17\x08\x44tracing"
#define MAGIC_BYTES    10u
#define CATEGORIES_MAX 4096u
#define FILES_MAX      65536u
#define TEXT_MAX_BYTES (64u << 10)

/* A text up to its NUL; NULL: it does not end. */
static const char *read_nul_text(struct tapir_byte_input *in)
{
	const uint8_t *end = in->is_bad ? NULL : memchr(in->at, 0, in->left);

	if (!end) {
		in->is_bad = true;
		return NULL;
	}
	return (const char *)tapir_byte_input__take(in, (size_t)(end - in->at) + 1);
}

static void skip_header(struct tapir_byte_input *in)
{
	read_nul_text(in);
	tapir_byte_input__take(in, tapir_byte_input__le(in, 8));
}

static int take_file(struct tapir_byte_input *in, const char *category,
		     int (*found)(void *ctx, const char *category, const char *text), void *ctx)
{
	uint64_t bytes = tapir_byte_input__le(in, 8);
	const uint8_t *text = tapir_byte_input__take(in, bytes);
	tapir_autofree char *copy = NULL;

	if (!text || bytes > TEXT_MAX_BYTES)
		return -EPROTO;
	copy = strndup((const char *)text, bytes);
	return copy ? found(ctx, category, copy) : -ENOMEM;
}

static int take_files(struct tapir_byte_input *in, const char *category,
		      int (*found)(void *ctx, const char *category, const char *text), void *ctx)
{
	uint64_t cnt = tapir_byte_input__le(in, 4);
	int err = in->is_bad || cnt > FILES_MAX ? -EPROTO : 0;

	for (uint64_t i = 0; i < cnt && !err; i++)
		err = take_file(in, category, found, ctx);
	return err;
}

int tapir_perf_formats__each(const uint8_t *data, size_t len,
			     int (*found)(void *ctx, const char *category, const char *text),
			     void *ctx)
{
	struct tapir_byte_input in = {data, len, false};
	const uint8_t *magic = tapir_byte_input__take(&in, MAGIC_BYTES);
	uint64_t cnt;
	int err;

	if (!magic || memcmp(magic, MAGIC, MAGIC_BYTES))
		return -EPROTO;
	read_nul_text(&in);
	if (tapir_byte_input__le(&in, 1))
		return -EPROTO; /* big-endian */
	tapir_byte_input__take(&in, 1 + 4);
	skip_header(&in);
	skip_header(&in);
	err = take_files(&in, "ftrace", found, ctx);
	cnt = err ? 0 : tapir_byte_input__le(&in, 4);
	if (in.is_bad || cnt > CATEGORIES_MAX)
		return -EPROTO;
	for (uint64_t i = 0; i < cnt && !err; i++) {
		const char *category = read_nul_text(&in);

		err = category ? take_files(&in, category, found, ctx) : -EPROTO;
	}
	return err;
}
