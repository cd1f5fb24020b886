/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ring_writer_case.h - events of the ring lane that say their number, fired and checked. */
#ifndef TAPIR_TESTS_RING_WRITER_CASE_H
#define TAPIR_TESTS_RING_WRITER_CASE_H

#include "ring_taker.h"
#include "usdt/ring/ring_writer.h"

#define EVENTS 4

static struct tapir_ring_event events[TAKER_EVENTS];
static const struct tapir_field fields[] = {
	{.type = TAPIR_FIELD_UINT, .size = 8},
	{.type = TAPIR_FIELD_UINT, .size = 8},
};
static const char *const field_names[] = {"number", "check"};
static const struct tapir_ring_about abouts[EVENTS] = {
	{.provider = "shop",
	 .event = "sold",
	 .level = 4,
	 .keywords = 1,
	 .field_cnt = 2,
	 .fields = fields,
	 .field_names = field_names},
	{.provider = "shop", .event = "bought", .level = 4, .keywords = 2},
	{.provider = "mail",
	 .event = "sent",
	 .level = 2,
	 .metadata = "blob",
	 .metadata_bytes = 4,
	 .metadata_format = 1},
	{.provider = "mail", .event = "large", .level = 2},
};

static int setup(void **state)
{
	(void)state;
	if (tapir_ring__init_private(TAKER_KEY))
		return -1;
	for (unsigned i = 0; i < EVENTS; i++)
		if (tapir_ring__register(&events[i], &abouts[i]))
			return -1;
	return 0;
}

static int fire_sized(unsigned e, uint32_t bytes, uint64_t number)
{
	struct tapir_ring_write write;

	if (!tapir_ring__wanted(&events[e]) || !tapir_ring__begin(&write, &events[e], bytes))
		return 0;
	memset(write.payload, 0x5a, bytes);
	if (bytes >= 16) {
		const uint64_t pair[2] = {number, ~number};

		memcpy(write.payload, pair, sizeof(pair));
	}
	tapir_ring__commit(&write);
	return 1;
}

static __attribute__((noinline)) int fire(unsigned e, uint64_t number)
{
	int ret = fire_sized(e, 16, number);

	__asm__ volatile("" ::: "memory");
	return ret;
}

static uint64_t next_number, wrong_numbers;
static struct tapir_rec_event last_event;

static void check_number(const struct tapir_rec_event *event, const uint8_t *payload)
{
	uint64_t pair[2];

	memcpy(pair, payload, sizeof(pair));
	wrong_numbers += pair[0] != next_number || pair[1] != ~next_number;
	next_number = pair[0] + 1;
	last_event = *event;
}

static void begin(struct taker *t, unsigned s, unsigned first, unsigned last, int stacks)
{
	assert_int_equal(taker_init(t, getpid(), s), 0);
	assert_int_equal(taker_open(t, first, last, stacks), 0);
}

static void end(struct taker *t)
{
	taker_close(t);
	assert_int_equal(t->bad, 0);
	taker_fini(t);
}

#endif
