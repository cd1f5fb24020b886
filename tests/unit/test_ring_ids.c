/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of the ring lane that carry ids of activities: where those stand, and what they count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ring_case.h"

static const uint8_t activity_id[16] = "activity 1234567", related_id[16] = "related";
static const uint8_t trace_ids[24] = "trace 123456789.span 12";
static unsigned with_ids, ids_seen, ids_wrong;
static uint32_t ids_payload;

static void check_ids(const struct tapir_rec_event *rec, const uint8_t *at)
{
	static const uint8_t zeros[8];
	const uint8_t *end = (const uint8_t *)rec + rec->h.size;
	const uint16_t flags = (uint16_t)((with_ids & 1 ? TAPIR_EVENT_ACTIVITY : 0) |
					  (with_ids & 2 ? TAPIR_EVENT_RELATED : 0) |
					  (with_ids & 4 ? TAPIR_EVENT_TRACE_IDS : 0));

	ids_seen++;
	ids_wrong += rec->flags != flags || (rec->h.size & 7) != 0;
	ids_wrong += rec->payload_bytes != ids_payload;
	if (with_ids & 1) {
		ids_wrong += memcmp(at, activity_id, 16) != 0;
		at += 16;
	}
	if (with_ids & 2) {
		ids_wrong += memcmp(at, related_id, 16) != 0;
		at += 16;
	}
	for (uint32_t i = 0; i < ids_payload; i++)
		ids_wrong += at[i] != (uint8_t)(i + 1);
	at += ids_payload;
	if (with_ids & 4) {
		end -= sizeof(trace_ids);
		ids_wrong += memcmp(end, trace_ids, sizeof(trace_ids)) != 0;
	}
	ids_wrong += at > end || end - at > 7 || memcmp(at, zeros, (size_t)(end - at)) != 0;
}

static void fire_with_ids(unsigned which, uint32_t bytes)
{
	const struct tapir_ring_ids ids = {.activity = which & 1 ? activity_id : NULL,
					   .related = which & 2 ? related_id : NULL,
					   .trace = which & 4 ? trace_ids : NULL};
	struct tapir_ring_write write;

	if (which & 4)
		CHECK(tapir_ring__begin_at(&write, &event, bytes, &ids,
					   __builtin_frame_address(0)));
	else
		CHECK(tapir_ring__begin_with_ids(&write, &event, bytes, ids.activity, ids.related));
	for (uint32_t i = 0; i < bytes; i++)
		write.payload[i] = (uint8_t)(i + 1);
	tapir_ring__commit(&write);
}

/* Each combination, with payloads that fill their last word and such that do not. */
static void all_combinations(void)
{
	struct taker t;

	ids_seen = ids_wrong = 0;
	start(&t);
	t.on_event = check_ids;
	for (with_ids = 0; with_ids < 8; with_ids++)
		for (ids_payload = 0; ids_payload < 26; ids_payload++) {
			fire_with_ids(with_ids, ids_payload);
			taker_take(&t);
		}
	taker_close(&t);
	CHECK(ids_seen == 8 * 26);
	CHECK(ids_wrong == 0);
}

/* The largest payload is 64 KB, with ids and without. */
static void largest(void)
{
	const uint32_t most = TAPIR_RING_PAYLOAD_BYTES;
	struct tapir_ring_write write;
	struct taker t;

	start(&t);
	fire_with_ids(7, most);
	CHECK(!tapir_ring__begin_with_ids(&write, &event, most + 1, activity_id, related_id));
	fire_with_ids(2, most);
	CHECK(!tapir_ring__begin_with_ids(&write, &event, most + 1, activity_id, NULL));
	fire_with_ids(0, most);
	taker_close(&t);
	CHECK(t.read[0] == 3);
	CHECK(taker_missed(&t, 0) == 2);
	CHECK(taker_lost(&t, 0, TAPIR_RING_TOO_LARGE) == 2);
}

static void ids_stand_around_the_payload(void **state)
{
	(void)state;
	in_child(all_combinations);
}

static void a_payload_of_64_kb_is_complete_with_any_ids(void **state)
{
	(void)state;
	in_child(largest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_stand_around_the_payload),
		cmocka_unit_test(a_payload_of_64_kb_is_complete_with_any_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
