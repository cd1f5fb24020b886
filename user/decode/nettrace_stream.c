// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An object is: 5, its type, its content, 6. A type is 5, 1, u32 version, u32 oldest reader, u32
 * length, name, 6. The content of a block is a u32 of bytes, padding up to a multiple of 4 from
 * the stream's start, and the bytes. A 1 instead of an object ends the stream. Each step waits
 * until all bytes it needs are there.
 */
#include "decode/nettrace_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/little_endian.h"
#include "base/str.h"
#include "decode/nettrace_blocks.h"

#define TAG_NULL       1
#define TAG_BEGIN      5
#define TAG_END	       6
#define HEAD	       "Nettrace\x14\0\0\0!FastSerialization.1"
#define HEAD_BYTES     32u
#define TYPE_BYTES     14u /* before its name */
#define NAME_MAX_BYTES 64u
#define TRACE_BYTES    48u
#define NEWEST_VERSION 4u

enum step { HEAD_STEP, TAG_STEP, TYPE_STEP, NAME_STEP, TRACE_STEP, SIZE_STEP, BLOCK_STEP, ENDED };

typedef void (*block_fn)(struct nettrace_blocks *b, const uint8_t *data, size_t len);

struct tapir_nettrace_stream {
	struct nettrace_blocks blocks;
	struct tapir_str held; /* of what is not complete yet */
	enum step step;
	size_t want;  /* bytes for the step */
	uint64_t off; /* of the step's first byte */
	block_fn block;
	size_t block_bytes;
	bool has_started;
	int err; /* it stays */
};

int tapir_nettrace_stream__new(const struct tapir_nettrace_sink *sink,
			       struct tapir_nettrace_stream **out)
{
	struct tapir_nettrace_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->blocks.sink = *sink;
	s->want = HEAD_BYTES;
	*out = s;
	return 0;
}

void tapir_nettrace_stream__free(struct tapir_nettrace_stream *s)
{
	if (!s)
		return;
	tapir_map__fini(&s->blocks.sequences);
	tapir_str__fini(&s->held);
	free(s);
}

/* ---- steps: each has s->want bytes, and sets the next step ----------------------------------- */

static int begin_step(struct tapir_nettrace_stream *s, enum step step, size_t want)
{
	s->step = step;
	s->want = want;
	return 0;
}

static int on_head(struct tapir_nettrace_stream *s, const uint8_t *p)
{
	return memcmp(p, HEAD, HEAD_BYTES) ? -EPROTO : begin_step(s, TAG_STEP, 1);
}

static int on_tag(struct tapir_nettrace_stream *s, const uint8_t *p)
{
	if (*p == TAG_NULL)
		return begin_step(s, ENDED, 1);
	return *p == TAG_BEGIN ? begin_step(s, TYPE_STEP, TYPE_BYTES) : -EPROTO;
}

static int on_type(struct tapir_nettrace_stream *s, const uint8_t *p)
{
	uint32_t oldest_reader = tapir_le__u32(p + 6), len = tapir_le__u32(p + 10);

	if (p[0] != TAG_BEGIN || p[1] != TAG_NULL || !len || len > NAME_MAX_BYTES)
		return -EPROTO;
	return oldest_reader > NEWEST_VERSION ? -EOPNOTSUPP : begin_step(s, NAME_STEP, len + 1);
}

static void pass_over(struct nettrace_blocks *b, const uint8_t *data, size_t len)
{
	(void)b, (void)data, (void)len;
}

static int on_name(struct tapir_nettrace_stream *s, const uint8_t *p)
{
	static const struct {
		const char *name;
		block_fn block;
	} kinds[] = {{"EventBlock", tapir_nettrace_blocks__events},
		     {"StackBlock", tapir_nettrace_blocks__stacks},
		     {"MetadataBlock", tapir_nettrace_blocks__metadata},
		     {"SPBlock", tapir_nettrace_blocks__sequence_point}};
	size_t len = s->want - 1;

	if (p[len] != TAG_END)
		return -EPROTO;
	if (len == 5 && !memcmp(p, "Trace", 5))
		return begin_step(s, TRACE_STEP, TRACE_BYTES + 1);
	if (!s->has_started)
		return -EPROTO;
	s->block = pass_over;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (len == strlen(kinds[i].name) && !memcmp(p, kinds[i].name, len))
			s->block = kinds[i].block;
	return begin_step(s, SIZE_STEP, 4);
}

uint64_t tapir_nettrace__utc_ns(const uint8_t *date)
{
	struct tm tm = {.tm_year = tapir_le__u16(date) - 1900,
			.tm_mon = tapir_le__u16(date + 2) - 1,
			.tm_mday = tapir_le__u16(date + 6),
			.tm_hour = tapir_le__u16(date + 8),
			.tm_min = tapir_le__u16(date + 10),
			.tm_sec = tapir_le__u16(date + 12)};
	time_t sec = timegm(&tm);

	return sec > 0 && sec < 4ll * INT32_MAX ? (uint64_t)sec * TAPIR_NS_PER_SEC +
							  tapir_le__u16(date + 14) * TAPIR_NS_PER_MS
						: 0;
}

/*
 * The date, u64 ticks at it, u64 ticks a second, u32 bytes of a pointer, u32 pid, u32 number of
 * CPUs, u32 ns between samples.
 */
static int on_trace(struct tapir_nettrace_stream *s, const uint8_t *p)
{
	const struct tapir_nettrace_start start = {.sync_ticks = tapir_le__u64(p + 16),
						   .ticks_per_sec = tapir_le__u64(p + 24),
						   .utc_ns = tapir_nettrace__utc_ns(p),
						   .pid = tapir_le__u32(p + 36),
						   .sampling_ns = tapir_le__u32(p + 44)};

	if (p[TRACE_BYTES] != TAG_END || !start.ticks_per_sec || s->has_started)
		return -EPROTO;
	if (tapir_le__u32(p + 32) != sizeof(uint64_t))
		return -EOPNOTSUPP;
	s->has_started = true;
	s->blocks.sink.on_start(s->blocks.sink.ctx, &start);
	return begin_step(s, TAG_STEP, 1);
}

static int on_size(struct tapir_nettrace_stream *s, const uint8_t *p)
{
	s->block_bytes = tapir_le__u32(p);
	if (s->block_bytes > TAPIR_NETTRACE_BLOCK_MAX)
		return -EPROTO;
	return begin_step(s, BLOCK_STEP, -(s->off + 4) % 4 + s->block_bytes + 1);
}

static int on_block(struct tapir_nettrace_stream *s, const uint8_t *p)
{
	size_t padding = s->want - 1 - s->block_bytes;

	if (p[s->want - 1] != TAG_END)
		return -EPROTO;
	s->block(&s->blocks, p + padding, s->block_bytes);
	return begin_step(s, TAG_STEP, 1);
}

static int do_step(struct tapir_nettrace_stream *s, const uint8_t *p)
{
	static int (*const steps[])(struct tapir_nettrace_stream *, const uint8_t *) = {
		[HEAD_STEP] = on_head,	 [TAG_STEP] = on_tag,	  [TYPE_STEP] = on_type,
		[NAME_STEP] = on_name,	 [TRACE_STEP] = on_trace, [SIZE_STEP] = on_size,
		[BLOCK_STEP] = on_block,
	};
	size_t used = s->want;

	s->err = steps[s->step](s, p);
	s->off += used;
	return s->err;
}

/* ---- bytes --------------------------------------------------------------------------------------- */

/* Fills up what is held to what is wanted; how many bytes that took. */
static size_t hold(struct tapir_nettrace_stream *s, const uint8_t *bytes, size_t len)
{
	size_t more = s->want - s->held.len;

	more = more < len ? more : len;
	tapir_str__add(&s->held, (const char *)bytes, more);
	if (s->held.failed)
		s->err = -ENOMEM;
	return more;
}

int tapir_nettrace_stream__feed(struct tapir_nettrace_stream *s, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	while (len && !s->err && s->step != ENDED) {
		size_t used = s->want;

		if (!s->held.len && len >= s->want) {
			do_step(s, p);
		} else {
			used = hold(s, p, len);
			if (!s->err && s->held.len == s->want) {
				do_step(s, (const uint8_t *)s->held.data);
				tapir_str__clear(&s->held);
			}
		}
		p += used;
		len -= used;
	}
	return s->err;
}

bool tapir_nettrace_stream__has_ended(const struct tapir_nettrace_stream *s)
{
	return s->step == ENDED;
}

uint64_t tapir_nettrace_stream__malformed_cnt(const struct tapir_nettrace_stream *s)
{
	return s->blocks.malformed_cnt;
}
