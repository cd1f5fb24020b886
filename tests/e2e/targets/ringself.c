/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ringself - fires through the ring lane from threads that end, reads itself, and says by its
 * exit status whether all was there: for C libraries that the unit tests do not run with. */
// build: -I. -fno-optimize-sibling-calls
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/unit/ring_taker.h"
#include "usdt/ring/ring_writer.h"

static struct tapir_ring_event event;
static const struct tapir_ring_about about = {.provider = "self", .event = "hit"};

static void *fire(void *arg)
{
	for (uint64_t i = 0; i < 1000; i++) {
		struct tapir_ring_write write;

		if (tapir_ring__wanted(&event) && tapir_ring__begin(&write, &event, sizeof(i))) {
			memcpy(write.payload, &i, sizeof(i));
			tapir_ring__commit(&write);
		}
	}
	return arg;
}

int main(void)
{
	static struct taker t;
	pthread_t thread;

	if (tapir_ring__init() || tapir_ring__register(&event, &about) ||
	    taker_init(&t, getpid(), 0) || taker_open(&t, 0, 1, 1))
		return 1;
	for (unsigned i = 0; i < 20; i++) {
		if (pthread_create(&thread, NULL, fire, NULL))
			return 1;
		pthread_join(thread, NULL);
	}
	taker_close(&t);
	printf("read %lu, bad %lu, unnamed %lu, without a stack %lu, slots %u\n",
	       (unsigned long)t.read[0], (unsigned long)t.bad, (unsigned long)t.unnamed,
	       (unsigned long)t.lost_stacks, taker_arena(&t, 0)->slots_used);
	return t.read[0] != 20000 || t.bad || t.unnamed || t.lost_stacks || t.threads != 20 ||
	       taker_arena(&t, 0)->slots_used != 1;
}
