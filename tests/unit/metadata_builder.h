/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metadata_builder.h - the metadata of an assembly with one EventSource, byte for byte:
 *
 *	[EventSource(Name = "My-Shop")] class Shop : EventSource {
 *		class Keywords { const EventKeywords Orders = 4; }
 *		[Event(7, Level = EventLevel.Error, Keywords = Keywords.Orders)] void Placed();
 *	}
 */
#ifndef TAPIR_TESTS_METADATA_BUILDER_H
#define TAPIR_TESTS_METADATA_BUILDER_H

#include <stdint.h>
#include <string.h>

struct metadata_builder {
	uint8_t bytes[4096];
	size_t len;
};

static inline void metadata__put(struct metadata_builder *b, uint64_t value, unsigned bytes)
{
	memcpy(b->bytes + b->len, &value, bytes);
	b->len += bytes;
}

static inline void metadata__put_text(struct metadata_builder *b, const char *text)
{
	memcpy(b->bytes + b->len, text, strlen(text));
	b->len += strlen(text);
}

/* Its place in the heap that begins at base; with its NUL. */
static inline uint16_t metadata__add_string(struct metadata_builder *b, size_t base,
					    const char *text)
{
	uint16_t at = (uint16_t)(b->len - base);

	metadata__put_text(b, text);
	metadata__put(b, 0, 1);
	return at;
}

/* "\x0e" and alike in front of what follows. */
static inline void metadata__put_counted(struct metadata_builder *b, const char *text)
{
	metadata__put(b, strlen(text), 1);
	metadata__put_text(b, text);
}

static inline void metadata__put_named(struct metadata_builder *b, const char *type,
				       const char *name, uint64_t value, unsigned bytes)
{
	metadata__put(b, 0x5554, 2); /* a property, of an enumeration */
	metadata__put_counted(b, type);
	metadata__put_counted(b, name);
	metadata__put(b, value, bytes);
}

static inline size_t metadata__begin(struct metadata_builder *b, size_t *stream_at)
{
	static const char *const names[] = {"#~\0\0", "#Strings\0\0\0\0", "#Blob\0\0\0"};
	static const size_t name_bytes[] = {4, 12, 8};

	memset(b, 0, sizeof(*b));
	metadata__put(b, 0x424a5342, 4);
	metadata__put(b, 0x00010001, 4);
	metadata__put(b, 0, 4);
	metadata__put(b, 12, 4);
	metadata__put_text(b, "v4.0.30319");
	metadata__put(b, 0, 2);
	metadata__put(b, 0, 2);
	metadata__put(b, 3, 2);
	for (unsigned i = 0; i < 3; i++) {
		stream_at[i] = b->len;
		metadata__put(b, 0, 8);
		memcpy(b->bytes + b->len, names[i], name_bytes[i]);
		b->len += name_bytes[i];
	}
	return b->len;
}

static inline void metadata__end_stream(struct metadata_builder *b, size_t header_at, size_t from)
{
	uint32_t head[2] = {(uint32_t)from, (uint32_t)(b->len - from)};

	memcpy(b->bytes + header_at, head, sizeof(head));
}

/* The length of the blob that begins behind at, put in front of it. */
static inline uint16_t metadata__end_blob(struct metadata_builder *b, size_t base, size_t at)
{
	b->bytes[at] = (uint8_t)(b->len - at - 1);
	return (uint16_t)(at - base);
}

struct metadata_heaps {
	uint16_t source, tracing, source_attribute, event_attribute, ctor, shop, keywords, orders,
		placed, module;
	uint16_t four, named, event;
};

static inline void metadata__build_heaps(struct metadata_builder *b, const size_t *stream_at,
					 struct metadata_heaps *h)
{
	size_t base = b->len, at;

	metadata__put(b, 0, 1);
	h->source = metadata__add_string(b, base, "EventSource");
	h->tracing = metadata__add_string(b, base, "System.Diagnostics.Tracing");
	h->source_attribute = metadata__add_string(b, base, "EventSourceAttribute");
	h->event_attribute = metadata__add_string(b, base, "EventAttribute");
	h->ctor = metadata__add_string(b, base, ".ctor");
	h->shop = metadata__add_string(b, base, "Shop");
	h->keywords = metadata__add_string(b, base, "Keywords");
	h->orders = metadata__add_string(b, base, "Orders");
	h->placed = metadata__add_string(b, base, "Placed");
	h->module = metadata__add_string(b, base, "<Module>");
	metadata__end_stream(b, stream_at[1], base);
	base = b->len;
	metadata__put(b, 0, 1);
	at = b->len++;
	metadata__put(b, 4, 8);
	h->four = metadata__end_blob(b, base, at);
	at = b->len++;
	metadata__put(b, 1, 2);
	metadata__put(b, 1, 2);
	metadata__put(b, 0x0e54, 2);
	metadata__put_counted(b, "Name");
	metadata__put_counted(b, "My-Shop");
	h->named = metadata__end_blob(b, base, at);
	at = b->len++;
	metadata__put(b, 1, 2);
	metadata__put(b, 7, 4);
	metadata__put(b, 2, 2);
	metadata__put_named(b, "System.Diagnostics.Tracing.EventLevel", "Level", 2, 4);
	metadata__put_named(b, "System.Diagnostics.Tracing.EventKeywords", "Keywords", 4, 8);
	b->bytes[at] = (uint8_t)(b->len - at - 1);
	h->event = (uint16_t)(at - base);
	metadata__end_stream(b, stream_at[2], base);
}

static inline void metadata__put_row(struct metadata_builder *b, unsigned cnt,
				     const uint16_t *cells)
{
	for (unsigned i = 0; i < cnt; i++)
		metadata__put(b, cells[i], 2);
}

#define METADATA_ROW(b, ...)                                                                       \
	metadata__put_row(b, sizeof((uint16_t[]){__VA_ARGS__}) / 2, (uint16_t[]){__VA_ARGS__})

static inline void metadata__build_tables(struct metadata_builder *b,
					  const struct metadata_heaps *h)
{
	const uint64_t tables = 1ull << 1 | 1ull << 2 | 1ull << 4 | 1ull << 6 | 1ull << 0x0a |
				1ull << 0x0b | 1ull << 0x0c | 1ull << 0x29;
	const uint32_t cnts[] = {3, 3, 1, 1, 2, 1, 2, 1};

	metadata__put(b, 0x0100000200000000ull, 8);
	metadata__put(b, tables, 8);
	metadata__put(b, 0, 8);
	for (unsigned i = 0; i < 8; i++)
		metadata__put(b, cnts[i], 4);
	METADATA_ROW(b, 0, h->source, h->tracing); /* TypeRef 1 */
	METADATA_ROW(b, 0, h->source_attribute, h->tracing);
	METADATA_ROW(b, 0, h->event_attribute, h->tracing);
	METADATA_ROW(b, 0, 0, h->module, 0, 0, 1, 1);	     /* TypeDef 1 */
	METADATA_ROW(b, 1, 0, h->shop, 0, 1 << 2 | 1, 1, 1); /* 2: of TypeRef 1 */
	METADATA_ROW(b, 2, 0, h->keywords, 0, 0, 1, 2);	     /* 3 */
	METADATA_ROW(b, 0x56, h->orders, 0);		     /* Field 1 */
	METADATA_ROW(b, 0, 0, 0, 6, h->placed, 0, 1);	     /* Method 1 */
	METADATA_ROW(b, 2 << 3 | 1, h->ctor, 0);	     /* MemberRef 1: of TypeRef 2 */
	METADATA_ROW(b, 3 << 3 | 1, h->ctor, 0);	     /* 2: of TypeRef 3 */
	METADATA_ROW(b, 0x0a, 1 << 2, h->four);		     /* Constant 1: of Field 1 */
	METADATA_ROW(b, 1 << 5, 2 << 3 | 3, h->event);	     /* on Method 1 by MemberRef 2 */
	METADATA_ROW(b, 2 << 5 | 3, 1 << 3 | 3, h->named);   /* on TypeDef 2 by MemberRef 1 */
	METADATA_ROW(b, 3, 2);				     /* Keywords in Shop */
}

static inline void metadata__build(struct metadata_builder *b)
{
	struct metadata_heaps heaps;
	size_t stream_at[3], from;

	metadata__begin(b, stream_at);
	metadata__build_heaps(b, stream_at, &heaps);
	from = b->len;
	metadata__build_tables(b, &heaps);
	metadata__end_stream(b, stream_at[0], from);
}

#endif
