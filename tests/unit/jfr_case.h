/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jfr_case.h - builds a chunk of a flight recording, byte by byte. The test defines JFR_TEXTS, the
 * texts of its metadata, before it includes this.
 */
#ifndef TAPIR_TESTS_JFR_CASE_H
#define TAPIR_TESTS_JFR_CASE_H

#include <stdint.h>
#include <string.h>

static struct {
	uint8_t bytes[4096];
	size_t len;
} file;

static inline void put(uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		file.bytes[file.len++] = (uint8_t)(value | 0x80);
	file.bytes[file.len++] = (uint8_t)value;
}

static inline void put_big(size_t at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		file.bytes[at + i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

/* As the metadata has texts: of units. */
static inline void put_text(const char *text)
{
	put(4);
	put(strlen(text));
	for (; *text; text++)
		put((uint8_t)*text);
}

/* A size of four bytes, as the JVM writes them. */
static inline size_t begin_event(unsigned type)
{
	size_t at = file.len;

	file.len += 4;
	put(type);
	return at;
}

static inline void end_event(size_t at)
{
	uint64_t size = file.len - at;

	for (unsigned i = 0; i < 4; i++)
		file.bytes[at + i] = (uint8_t)((size >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
}

static const char *const texts[] = {JFR_TEXTS};

static inline void put_idx(const char *text)
{
	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(texts[i], text)) {
			put(i);
			return;
		}
	fail();
}

static inline void put_pair(const char *key, const char *value)
{
	put_idx(key);
	put_idx(value);
}

static inline void put_class(const char *id, const char *name, unsigned field_cnt)
{
	put_idx("class");
	put(2);
	put_pair("id", id);
	put_pair("name", name);
	put(field_cnt);
}

enum { PLAIN, POOL, ARRAY };

static inline void put_field(const char *name, const char *class_id, int kind)
{
	put_idx("field");
	put(kind == PLAIN ? 2 : 3);
	put_pair("name", name);
	put_pair("class", class_id);
	if (kind != PLAIN)
		put_pair(kind == POOL ? "constantPool" : "dimension", kind == POOL ? "true" : "1");
	put(0);
}

static inline void begin_chunk(void)
{
	memset(&file, 0, sizeof(file));
	memcpy(file.bytes, "FLR", 4);
	put_big(4, 2, 2);
	put_big(64, 1, 4);
	file.len = 68;
}

/* Begins the metadata with its texts; elements follow. */
static inline size_t begin_metadata(void)
{
	size_t at = begin_event(0);

	put_big(24, at, 8);
	put(1), put(0), put(1);
	put(sizeof(texts) / sizeof(texts[0]));
	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		put_text(texts[i]);
	return at;
}

static inline void end_chunk(void)
{
	put_big(8, file.len, 8);
}

#endif
