/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringpace [--wait] SECONDS THREADS RATE - fires ringpace:event (four integers and a string of 16
 * characters) RATE times a second from each thread, through the ring lane: an even row a
 * millisecond, and after a late one no more than it takes to catch up.
 */
// build: -I. -fno-optimize-sibling-calls
#include <pthread.h>

#include "target.h"
#include "usdt/ring/ring_writer.h"

#define TEXT_BYTES 16

static const struct tapir_field fields[] = {
	{.type = TAPIR_FIELD_INT, .size = 4},
	{.type = TAPIR_FIELD_INT, .size = 4},
	{.type = TAPIR_FIELD_INT, .size = 4},
	{.type = TAPIR_FIELD_INT, .size = 4},
	{.type = TAPIR_FIELD_STR},
};
static const char *const field_names[] = {"a", "b", "c", "d", "text"};
static const struct tapir_ring_about about = {
	.provider = "ringpace",
	.event = "event",
	.encoding = TAPIR_ENCODING_SLOTS,
	.field_cnt = 5,
	.fields = fields,
	.field_names = field_names,
};
static struct tapir_ring_event event;
static long seconds, rate;

struct payload {
	uint64_t numbers[4];
	struct tapir_slot_bytes text;
	char bytes[TEXT_BYTES];
};

__attribute__((noipa)) void pace_fire(int a, int b, int c, int d, const char *text);
__attribute__((noipa)) void pace_fire(int a, int b, int c, int d, const char *text)
{
	struct tapir_ring_write write;
	struct payload *p;

	if (!tapir_ring__begin(&write, &event, sizeof(*p)))
		return;
	p = (void *)write.payload;
	p->numbers[0] = (uint64_t)(int64_t)a;
	p->numbers[1] = (uint64_t)(int64_t)b;
	p->numbers[2] = (uint64_t)(int64_t)c;
	p->numbers[3] = (uint64_t)(int64_t)d;
	p->text = (struct tapir_slot_bytes){.len_bytes = TEXT_BYTES};
	memcpy(p->bytes, text, TEXT_BYTES);
	tapir_ring__commit(&write);
}

static void *run(void *arg)
{
	uint64_t start_ns = target__now_ns(), now_ns, end_ns;
	long fired = 0;

	end_ns = start_ns + (uint64_t)seconds * 1000000000u;
	while ((now_ns = target__now_ns()) < end_ns) {
		long due = (long)((now_ns - start_ns) / 1000 * (uint64_t)rate / 1000000);

		for (; fired < due; fired++)
			pace_fire((int)fired, (int)(fired >> 8), -1, 42, "sixteen chars...");
		target__sleep_ns(1000000);
	}
	*(long *)arg = fired;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	long fired[64], sum = 0, thread_cnt;

	if (tapir_ring__init() || tapir_ring__register(&event, &about))
		target__die("ring lane");
	target__start(&argc, argv);
	seconds = target__number(argc, argv, 1, 1);
	thread_cnt = target__number(argc, argv, 2, 1);
	rate = target__number(argc, argv, 3, 1000);
	if (thread_cnt < 1 || thread_cnt > 64)
		return 2;
	for (long t = 0; t < thread_cnt; t++)
		if (pthread_create(&threads[t], NULL, run, &fired[t]) != 0)
			target__die("pthread_create");
	for (long t = 0; t < thread_cnt; t++) {
		pthread_join(threads[t], NULL);
		sum += fired[t];
	}
	printf("{\"fired\": %ld}\n", sum);
	return 0;
}
