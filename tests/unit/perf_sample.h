/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_sample.h - a perf.data as perf writes it, built in memory: a head with two events, cpu-clock
 * and a tracepoint sched:sched_switch, and records.
 */
#ifndef TAPIR_TESTS_PERF_SAMPLE_H
#define TAPIR_TESTS_PERF_SAMPLE_H

#include <string.h>

#include "base/str.h"
#include "decode/perf_record.h"

#define PERF_HEAD_BYTES 104u
#define PERF_ATTR_BYTES 128u
#define PERF_SAMPLE_TYPE                                                                           \
	(TAPIR_PERF_IDENTIFIER | TAPIR_PERF_IP | TAPIR_PERF_TID | TAPIR_PERF_TIME |                \
	 TAPIR_PERF_CPU | TAPIR_PERF_PERIOD | TAPIR_PERF_CALLCHAIN | TAPIR_PERF_RAW)
#define PERF_CLOCK_ID  11u
#define PERF_SWITCH_ID 22u

static inline void perf_u(struct tapir_str *s, uint64_t value, unsigned bytes)
{
	tapir_str__add(s, (const char *)&value, bytes);
}

/* The attribute, and where its only id is. */
static inline void perf_add_attr(struct tapir_str *s, uint32_t type, uint64_t config,
				 uint64_t id_off)
{
	size_t from = s->len;

	perf_u(s, type, 4);
	perf_u(s, PERF_ATTR_BYTES, 4);
	perf_u(s, config, 8);
	perf_u(s, 1000000, 8); /* period */
	perf_u(s, PERF_SAMPLE_TYPE, 8);
	perf_u(s, 0, 8);	/* read_format */
	perf_u(s, 1u << 18, 8); /* sample_id_all */
	while (s->len < from + PERF_ATTR_BYTES)
		tapir_str__addc(s, 0);
	perf_u(s, id_off, 8);
	perf_u(s, 8, 8);
}

/* Begins a file; the records follow, then perf_end. */
static inline void perf_begin(struct tapir_str *s)
{
	uint64_t attrs_off = PERF_HEAD_BYTES + 16;

	tapir_str__adds(s, TAPIR_PERF_MAGIC);
	perf_u(s, PERF_HEAD_BYTES, 8);
	perf_u(s, PERF_ATTR_BYTES + 16, 8);
	perf_u(s, attrs_off, 8);
	perf_u(s, 2 * (PERF_ATTR_BYTES + 16ull), 8);
	perf_u(s, attrs_off + 2 * (PERF_ATTR_BYTES + 16ull), 8);
	while (s->len < PERF_HEAD_BYTES)
		tapir_str__addc(s, 0);
	perf_u(s, PERF_CLOCK_ID, 8);
	perf_u(s, PERF_SWITCH_ID, 8);
	perf_add_attr(s, TAPIR_PERF_SOFTWARE, 0, PERF_HEAD_BYTES);
	perf_add_attr(s, TAPIR_PERF_TRACEPOINT, 300, PERF_HEAD_BYTES + 8);
}

/* A record around a body. */
static inline void perf_add(struct tapir_str *s, uint32_t type, uint16_t misc,
			    const struct tapir_str *body)
{
	perf_u(s, type, 4);
	perf_u(s, misc, 2);
	perf_u(s, body->len + 8, 2);
	tapir_str__add(s, body->data ? body->data : "", body->len);
}

static inline void perf_add_sample(struct tapir_str *s, uint64_t id, uint32_t tid, uint64_t time_ns,
				   const uint64_t *chain, size_t cnt, const void *raw,
				   uint32_t raw_bytes)
{
	struct tapir_str body = {};

	perf_u(&body, id, 8);
	perf_u(&body, cnt ? chain[cnt - 1] : 0x1000, 8);
	perf_u(&body, 100, 4);
	perf_u(&body, tid, 4);
	perf_u(&body, time_ns, 8);
	perf_u(&body, 3, 8); /* CPU */
	perf_u(&body, 1000000, 8);
	perf_u(&body, cnt, 8);
	for (size_t i = 0; i < cnt; i++)
		perf_u(&body, chain[i], 8);
	perf_u(&body, raw_bytes, 4);
	tapir_str__add(&body, raw_bytes ? raw : "", raw_bytes);
	while (body.len % 8)
		tapir_str__addc(&body, 0);
	perf_add(s, TAPIR_PERF_REC_SAMPLE, TAPIR_PERF_MISC_USER, &body);
	tapir_str__fini(&body);
}

/* These fields end every record but a sample. */
static inline void perf_add_id(struct tapir_str *body, uint32_t tid, uint64_t time_ns)
{
	perf_u(body, 100, 4);
	perf_u(body, tid, 4);
	perf_u(body, time_ns, 8);
	perf_u(body, 3, 8);
	perf_u(body, PERF_CLOCK_ID, 8);
}

static inline void perf_add_comm(struct tapir_str *s, uint32_t tid, const char *name,
				 uint64_t time_ns)
{
	struct tapir_str body = {};
	char padded[16] = {};

	strncpy(padded, name, sizeof(padded) - 1);
	perf_u(&body, 100, 4);
	perf_u(&body, tid, 4);
	tapir_str__add(&body, padded, sizeof(padded));
	perf_add_id(&body, tid, time_ns);
	perf_add(s, TAPIR_PERF_REC_COMM, 0, &body);
	tapir_str__fini(&body);
}

static inline void perf_add_lost(struct tapir_str *s, uint64_t cnt, uint64_t time_ns)
{
	struct tapir_str body = {};

	perf_u(&body, PERF_CLOCK_ID, 8);
	perf_u(&body, cnt, 8);
	perf_add_id(&body, 100, time_ns);
	perf_add(s, TAPIR_PERF_REC_LOST, 0, &body);
	tapir_str__fini(&body);
}

static inline void perf_end_round(struct tapir_str *s)
{
	const struct tapir_str none = {};

	perf_add(s, TAPIR_PERF_REC_ROUND, 0, &none);
}

/* All of it has been added: how much that is. */
static inline void perf_end(struct tapir_str *s)
{
	uint64_t off = PERF_HEAD_BYTES + 16 + 2 * (PERF_ATTR_BYTES + 16ull), bytes = s->len - off;

	memcpy(s->data + 48, &bytes, sizeof(bytes));
}

#endif
