/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringboth [--wait] [--late] COUNT - fires ringboth:twice(i) COUNT times both ways, by the ring
 * lane and by a USDT site of that name, and ringboth:site(i) by a site alone. --late: the ring is
 * made behind half of the events, and the other half waits until it is wanted.
 */
// build: -I.
#include "target.h"
#include "usdt/ring/ring_writer.h"

static const struct tapir_field fields[] = {{.type = TAPIR_FIELD_UINT, .size = 8}};
static const char *const field_names[] = {"i"};
static const struct tapir_ring_about about = {
	.provider = "ringboth",
	.event = "twice",
	.encoding = TAPIR_ENCODING_SLOTS,
	.field_cnt = 1,
	.fields = fields,
	.field_names = field_names,
};
static struct tapir_ring_event event;

static void make_lane(void)
{
	if (tapir_ring__init() || tapir_ring__register(&event, &about))
		target__die("ring lane");
}

static void fire(uint64_t i, bool has_ring)
{
	struct tapir_ring_write write;

	if (has_ring && tapir_ring__wanted(&event) &&
	    tapir_ring__begin(&write, &event, sizeof(i))) {
		memcpy(write.payload, &i, sizeof(i));
		tapir_ring__commit(&write);
	}
	TAPIR_PROBE(ringboth, twice, i);
	TAPIR_PROBE(ringboth, site, i);
}

int main(int argc, char **argv)
{
	bool late = target__option(&argc, argv, "--late");
	long cnt;

	if (!late)
		make_lane();
	target__start(&argc, argv);
	cnt = target__number(argc, argv, 1, 1);
	for (long i = 0; i < cnt; i++) {
		if (late && i == cnt / 2)
			make_lane();
		for (int n = 0; n < 500 && late && i == cnt / 2 && !tapir_ring__wanted(&event); n++)
			target__sleep_ns(10000000);
		fire((uint64_t)i, !late || i >= cnt / 2);
	}
	printf("{\"fired\": %ld}\n", cnt);
	return 0;
}
