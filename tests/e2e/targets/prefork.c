/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prefork [--wait] ROUNDS EVENTS LINGER_MS - a server that forks before it serves: in each round
 * eight workers, each of which fires prefork:request(pid, i) EVENTS times through the ring lane
 * that it inherited, waits LINGER_MS, and ends: by _exit, by exit, by exit with a handler that
 * fires once more, or by taking the lane down first, in turn. The parent fires as well, once a
 * round. Prints what each process fired, and how many workers ended in another way than by status
 * 0.
 */
// build: -I.
#include <sys/mman.h>
#include <sys/wait.h>

#include "target.h"
#include "usdt/ring/ring_writer.h"

#define WORKERS 8

static const struct tapir_field fields[] = {{.type = TAPIR_FIELD_UINT, .size = 8},
					    {.type = TAPIR_FIELD_UINT, .size = 8}};
static const char *const field_names[] = {"pid", "i"};
static const struct tapir_ring_about about = {
	.provider = "prefork",
	.event = "request",
	.encoding = TAPIR_ENCODING_SLOTS,
	.field_cnt = 2,
	.fields = fields,
	.field_names = field_names,
};
static struct tapir_ring_event request;

static void fire(uint64_t i)
{
	uint64_t payload[2] = {(uint64_t)getpid(), i};
	struct tapir_ring_write write;

	if (!tapir_ring__begin(&write, &request, sizeof(payload)))
		return;
	memcpy(write.payload, payload, sizeof(payload));
	tapir_ring__commit(&write);
}

static void fire_last(void)
{
	fire(1000000);
}

static void work(long way, long events, long linger_ms)
{
	for (long i = 0; i < events; i++)
		fire((uint64_t)i);
	target__sleep_ns((uint64_t)linger_ms * 1000000);
	if (way == 0)
		_exit(0);
	if (way == 1)
		atexit(fire_last);
	if (way == 2)
		tapir_ring__fini();
	exit(0);
}

static void run_round(long round, long events, long linger_ms, long *fired, long *bad)
{
	pid_t pids[WORKERS];

	for (int w = 0; w < WORKERS; w++) {
		pids[w] = fork();
		if (!pids[w])
			work(w % 4, events, linger_ms);
	}
	fire((uint64_t)round);
	for (int w = 0; w < WORKERS; w++) {
		long mine = events + (w % 4 == 1);
		int status = 0;

		*bad += waitpid(pids[w], &status, 0) != pids[w] || status;
		printf("{\"pid\": %d, \"fired\": %ld}\n", (int)pids[w], mine);
		*fired += mine;
	}
	fflush(stdout); /* before the next fork */
}

int main(int argc, char **argv)
{
	long rounds, events, linger_ms, bad = 0, fired;

	if (tapir_ring__init() || tapir_ring__register(&request, &about))
		target__die("ring lane");
	target__start(&argc, argv);
	rounds = target__number(argc, argv, 1, 1);
	events = target__number(argc, argv, 2, 1);
	linger_ms = target__number(argc, argv, 3, 0);
	fired = rounds;
	for (long round = 0; round < rounds; round++)
		run_round(round, events, linger_ms, &fired, &bad);
	printf("{\"pid\": %d, \"fired\": %ld}\n", (int)getpid(), rounds);
	printf("{\"all\": %ld, \"bad\": %ld}\n", fired, bad);
	return 0;
}
