/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nettrace_sample.h - a small nettrace stream of version 4, built piece by piece as a runtime
 * writes it: two events of one source with a stack, the second with a gap of 3 in front.
 */
#ifndef TAPIR_TESTS_NETTRACE_SAMPLE_H
#define TAPIR_TESTS_NETTRACE_SAMPLE_H

#include "base/str.h"

static inline void sample__num(struct tapir_str *out, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		tapir_str__addc(out, (char)(value >> (8 * i)));
}

static inline void sample__var(struct tapir_str *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		tapir_str__addc(out, (char)(value | 0x80));
	tapir_str__addc(out, (char)value);
}

static inline void sample__wstr(struct tapir_str *out, const char *text)
{
	do
		sample__num(out, (unsigned char)*text, 2);
	while (*text++);
}

static inline void sample__type(struct tapir_str *out, const char *name)
{
	sample__num(out, 0x0105 << 8 | 5, 3);
	sample__num(out, 2, 4);
	sample__num(out, 2, 4);
	sample__num(out, strlen(name), 4);
	tapir_str__adds(out, name);
	tapir_str__addc(out, 6);
}

static inline void sample__block(struct tapir_str *out, const char *name,
				 const struct tapir_str *body)
{
	sample__type(out, name);
	sample__num(out, body->len, 4);
	while (out->len % 4)
		tapir_str__addc(out, 0);
	tapir_str__add(out, body->data, body->len);
	tapir_str__addc(out, 6);
}

static inline void sample__start(struct tapir_str *out)
{
	tapir_str__add(out, "Nettrace\x14\0\0\0!FastSerialization.1", 32);
	sample__type(out, "Trace");
	sample__num(out, 0, 8);
	sample__num(out, 0, 8);
	sample__num(out, 1000, 8);
	sample__num(out, 1000000000, 8);
	sample__num(out, 8, 4);
	sample__num(out, 77, 4);
	sample__num(out, 2, 4);
	sample__num(out, 0, 4);
	tapir_str__addc(out, 6);
}

static inline void sample__rows(struct tapir_str *out)
{
	tapir_str__clear(out);
	sample__num(out, 20, 2);
	sample__num(out, 1, 2);
	sample__num(out, 0, 16);
}

static inline void sample__metadata(struct tapir_str *out)
{
	struct tapir_str body = {}, blob = {};

	sample__num(&blob, 1, 4);
	sample__wstr(&blob, "My-Source");
	sample__num(&blob, 5, 4);
	sample__wstr(&blob, "Ordered");
	sample__num(&blob, 0xf00000000001ull, 8);
	sample__num(&blob, 1, 4);
	sample__num(&blob, 4, 4);
	sample__num(&blob, 1, 4);
	sample__num(&blob, 9, 4); /* an int32 */
	sample__wstr(&blob, "count");
	sample__rows(&body);
	tapir_str__addc(&body, (char)0x80);
	sample__var(&body, 1000);
	sample__var(&body, blob.len);
	tapir_str__add(&body, blob.data, blob.len);
	sample__block(out, "MetadataBlock", &body);
	tapir_str__fini(&blob);
	tapir_str__fini(&body);
}

static inline void sample__stack(struct tapir_str *out)
{
	struct tapir_str body = {};

	sample__num(&body, 1, 4);
	sample__num(&body, 1, 4);
	sample__num(&body, 16, 4);
	sample__num(&body, 0x1111, 8);
	sample__num(&body, 0x2222, 8);
	sample__block(out, "StackBlock", &body);
	tapir_str__fini(&body);
}

static inline void sample__events(struct tapir_str *out)
{
	struct tapir_str body = {};

	sample__rows(&body);
	tapir_str__addc(&body, (char)(1 | 2 | 4 | 8 | 16 | 64 | 128));
	sample__var(&body, 1);	 /* metadata */
	sample__var(&body, 0);	 /* sequence: the next one, 1 */
	sample__var(&body, 700); /* capture thread */
	sample__var(&body, 1);	 /* CPU */
	sample__var(&body, 700);
	sample__var(&body, 1); /* stack */
	sample__var(&body, 5000);
	sample__num(&body, 0xabcd, 16 - 8);
	sample__num(&body, 1, 8);
	sample__var(&body, 4);
	sample__num(&body, 41, 4);
	tapir_str__addc(&body, 2 | 64);
	sample__var(&body, 3); /* 2, 3 and 4 were dropped */
	sample__var(&body, 700);
	sample__var(&body, 0);
	sample__var(&body, 10);
	sample__num(&body, 42, 4);
	sample__block(out, "EventBlock", &body);
	tapir_str__fini(&body);
}

/* Thread 700 tried 7 until now, thread 800 two of which none came. */
static inline void sample__sequence_point(struct tapir_str *out)
{
	struct tapir_str body = {};

	sample__num(&body, 6000, 8);
	sample__num(&body, 2, 4);
	sample__num(&body, 700, 8);
	sample__num(&body, 7, 4);
	sample__num(&body, 800, 8);
	sample__num(&body, 2, 4);
	sample__block(out, "SPBlock", &body);
	tapir_str__fini(&body);
}

static inline void sample__whole(struct tapir_str *out)
{
	struct tapir_str other = {};

	sample__start(out);
	sample__metadata(out);
	sample__stack(out);
	tapir_str__adds(&other, "of a kind that is not known");
	sample__block(out, "OtherBlock", &other);
	sample__events(out);
	sample__sequence_point(out);
	tapir_str__addc(out, 1);
	tapir_str__fini(&other);
}

#endif
