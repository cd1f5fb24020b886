/* SPDX-License-Identifier: MIT */
/*
 * activity.c - the thread's current activity and trace context. What a signal handler may read at
 * any moment is one pointer, or a record whose `valid` is 0 while it changes.
 */
#include <errno.h>
#include <unistd.h>

#include "../provider/provider_impl.h"
#include "../ring/ring_sys.h"
#include "tapir/activity.h"

#define PATH_BYTES  12u
#define LAST_DIGIT  10u
#define BYTES_FIRST 12u /* the nibble that announces one whole byte */
#define CHECK_WORD  0x599d99adu
#define DOMAIN	    1u /* the first number of every path, as EventSource has it */

struct otel_record {
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t valid;
	uint8_t trace_flags;
	uint16_t attrs_bytes;
	uint8_t attrs[TAPIR_TRACE_ATTRS_BYTES];
};
_Static_assert(offsetof(struct otel_record, attrs) == 28, "otel_record");

extern __thread struct otel_record *otel_thread_ctx_v1;
__attribute__((weak, used, visibility("default"))) __thread struct otel_record *otel_thread_ctx_v1;

static __thread struct {
	struct tapir_activity *current;
	struct otel_record record;
} self;

static uint32_t root_cnt;

#define compiler_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* ---- ids ---------------------------------------------------------------------------------- */

/* Nibbles, the more significant of a byte first. 0: no room. */
static int put_nibble(uint8_t *id, uint8_t *at, uint32_t value)
{
	if (*at >= 2 * PATH_BYTES)
		return 0;
	id[*at / 2] |= (uint8_t)(*at % 2 ? value : value << 4);
	++*at;
	return 1;
}

/* A larger number begins at the next whole byte. */
static int put_number(uint8_t *id, uint8_t *at, uint32_t number)
{
	uint32_t bytes = number > 0xffffff ? 4 : number > 0xffff ? 3 : number > 0xff ? 2 : 1;

	if (number && number <= LAST_DIGIT)
		return put_nibble(id, at, number);
	if (!put_nibble(id, at, BYTES_FIRST + bytes - 1))
		return 0;
	*at = (uint8_t)((*at + 1) & ~1);
	if (*at / 2 + bytes > PATH_BYTES)
		return 0;
	for (uint32_t i = 0; i < bytes; i++, *at = (uint8_t)(*at + 2))
		id[*at / 2] = (uint8_t)(number >> 8 * i);
	return 1;
}

static void put_check(uint8_t *id)
{
	uint32_t words[4];

	memcpy(words, id, sizeof(words));
	words[3] = (words[0] + words[1] + words[2] + CHECK_WORD) ^
		   (uint32_t)ring_sys3(SYS_getpid, 0, 0, 0);
	memcpy(id, words, sizeof(words));
}

static void make_random(struct tapir_activity *a)
{
	a->path_nibbles = 0;
	memset(a->id, 0, sizeof(a->id));
	ring_sys3(SYS_getrandom, a->id, sizeof(a->id), 1); /* 1: do not wait for entropy */
	a->id[7] = (uint8_t)((a->id[7] & 0x0f) | 0x40);	   /* a GUID of version 4 */
	a->id[8] = (uint8_t)((a->id[8] & 0x3f) | 0x80);
}

static void make_path(struct tapir_activity *a, struct tapir_activity *outer)
{
	uint32_t *cnt = outer ? &outer->child_cnt : &root_cnt;
	uint32_t number = __atomic_add_fetch(cnt, 1, __ATOMIC_RELAXED);
	uint8_t at = 0;

	memset(a->id, 0, sizeof(a->id));
	if (outer) {
		at = outer->path_nibbles;
		memcpy(a->id, outer->id, PATH_BYTES);
	} else {
		put_number(a->id, &at, DOMAIN);
	}
	if (!put_number(a->id, &at, number)) {
		make_random(a);
		return;
	}
	a->path_nibbles = at;
	put_check(a->id);
}

/* ---- the current one ---------------------------------------------------------------------- */

void tapir_activity__start(struct tapir_activity *activity)
{
	struct tapir_activity *outer = self.current;

	activity->outer = outer;
	activity->child_cnt = 0;
	if (outer && !outer->path_nibbles)
		make_random(activity);
	else
		make_path(activity, outer);
	compiler_fence();
	self.current = activity;
}

void tapir_activity__enter(struct tapir_activity *activity, const uint8_t id[16])
{
	memset(activity, 0, sizeof(*activity));
	memcpy(activity->id, id, sizeof(activity->id));
	activity->outer = self.current;
	compiler_fence();
	self.current = activity;
}

void tapir_activity__stop(struct tapir_activity *activity)
{
	const struct tapir_activity *a = self.current;

	while (a && a != activity)
		a = a->outer;
	if (a)
		self.current = activity->outer;
}

const uint8_t *tapir_activity__current(void)
{
	return self.current ? self.current->id : NULL;
}

void provider_activity__of(const struct tapir_event *event, const uint8_t **activity,
			   const uint8_t **related)
{
	const struct tapir_activity *a = self.current;

	*activity = a ? a->id : NULL;
	*related =
		a && a->outer && event->about->opcode == TAPIR_OPCODE_START ? a->outer->id : NULL;
}

/* ---- trace and span ----------------------------------------------------------------------- */

void tapir_trace__set(const uint8_t trace_id[16], const uint8_t span_id[8], uint8_t trace_flags)
{
	struct otel_record *r = &self.record;
	volatile uint8_t *valid = &r->valid;

	*valid = 0;
	compiler_fence();
	r->attrs_bytes = 0;
	if (trace_id && span_id) {
		memcpy(r->trace_id, trace_id, sizeof(r->trace_id));
		memcpy(r->span_id, span_id, sizeof(r->span_id));
		r->trace_flags = trace_flags;
		compiler_fence();
		*valid = 1;
	}
	compiler_fence();
	otel_thread_ctx_v1 = r;
}

/*
 * A structure that another publisher has put there is not followed: only a debugger survives a
 * wrong address.
 */
const uint8_t *provider_trace__ids(void)
{
	const struct otel_record *r = &self.record;

	return r->valid == 1 && otel_thread_ctx_v1 == r ? r->trace_id : NULL;
}

int tapir_trace__set_attribute(uint8_t key, const char *value)
{
	struct otel_record *r = &self.record;
	volatile uint8_t *valid = &r->valid;
	size_t len = value ? strlen(value) : 256;
	uint8_t was;

	if (len > 255)
		return -EINVAL;
	if (r->attrs_bytes + 2 + len > sizeof(r->attrs))
		return -ENOSPC;
	was = *valid;
	*valid = 0;
	compiler_fence();
	r->attrs[r->attrs_bytes] = key;
	r->attrs[r->attrs_bytes + 1] = (uint8_t)len;
	memcpy(&r->attrs[r->attrs_bytes + 2], value, len);
	r->attrs_bytes = (uint16_t)(r->attrs_bytes + 2 + len);
	compiler_fence();
	*valid = was;
	return 0;
}
