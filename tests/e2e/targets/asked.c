// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asked - fires events whose sums it knows, from several threads: what questions must answer.
 *
 *	asked [--wait] THREADS EVENTS KEYS
 *
 * Each thread fires asked:order(id, customer, cents, path) EVENTS times, and an interval
 * asked:work__start(id), asked:work__done(id, status) around each. customer: of KEYS keys, and at
 * some places hostile ones: NULL, an address that cannot be read, a text that is cut, "" and one
 * with escape sequences. Every second event is fired by fire_odd, the others by fire_even. It
 * prints what it fired, as one line of JSON.
 */

#include "target.h"

#define HOSTILE_CNT 6

static uint64_t event_cnt, key_cnt;
static char longest[1 << 14];

struct thread {
	unsigned idx;
	uint64_t fired, big, cents, hostile[HOSTILE_CNT];
	uint64_t least, most, statuses[3];
};

static const char *hostile_key(unsigned which)
{
	switch (which) {
	case 0:
		return NULL;
	case 1:
		return (const char *)16; /* nothing is there */
	case 2:
		return longest;
	case 3:
		return "";
	case 4:
		return "\033[31m\007red\xff";
	default:
		return "<null>";
	}
}

static __attribute__((noinline)) void fire(struct thread *t, uint64_t i)
{
	uint64_t id = t->idx * event_cnt + i, cents = id * 2654435761u % 10000;
	unsigned which = (unsigned)(i % 16);
	const char *customer;
	char name[32];

	snprintf(name, sizeof(name), "c%" PRIu64, id % key_cnt);
	customer = which < HOSTILE_CNT ? hostile_key(which) : name;
	if (which < HOSTILE_CNT)
		t->hostile[which]++;
	TAPIR_PROBE(asked, work__start, id);
	TAPIR_PROBE(asked, order, id, customer, cents,
		    (const char *)(cents % 2 ? "/cart/odd" : "/even"));
	TAPIR_PROBE(asked, work__done, id, (int)(id % 3) - 1);
	t->fired++;
	t->big += cents > 5000;
	t->cents += cents;
	t->least = cents < t->least ? cents : t->least;
	t->most = cents > t->most ? cents : t->most;
	t->statuses[id % 3]++;
}

/* Two stacks: what follows the call keeps it from being the caller's last. */
static __attribute__((noinline)) void fire_even(struct thread *t, uint64_t i)
{
	fire(t, i);
	__asm__ volatile("");
}

static __attribute__((noinline)) void fire_odd(struct thread *t, uint64_t i)
{
	fire(t, i);
	__asm__ volatile("");
}

static void *run(void *arg)
{
	struct thread *t = arg;

	t->least = UINT64_MAX;
	for (uint64_t i = 0; i < event_cnt; i++)
		(i % 2 ? fire_odd : fire_even)(t, i);
	return NULL;
}

static void print(const struct thread *threads, unsigned cnt)
{
	struct thread all = {.least = UINT64_MAX};

	for (unsigned i = 0; i < cnt; i++) {
		const struct thread *t = &threads[i];

		all.fired += t->fired;
		all.big += t->big;
		all.cents += t->cents;
		all.least = t->least < all.least ? t->least : all.least;
		all.most = t->most > all.most ? t->most : all.most;
		for (unsigned h = 0; h < HOSTILE_CNT; h++)
			all.hostile[h] += t->hostile[h];
		for (unsigned s = 0; s < 3; s++)
			all.statuses[s] += t->statuses[s];
	}
	printf("{\"fired\":%" PRIu64 ",\"big\":%" PRIu64 ",\"cents\":%" PRIu64 ",\"least\":%" PRIu64
	       ",\"most\":%" PRIu64 ",\"null\":%" PRIu64 ",\"fault\":%" PRIu64 ",\"cut\":%" PRIu64
	       ",\"empty\":%" PRIu64 ",\"escape\":%" PRIu64 ",\"quoted\":%" PRIu64
	       ",\"statuses\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]}\n",
	       all.fired, all.big, all.cents, all.least, all.most, all.hostile[0], all.hostile[1],
	       all.hostile[2], all.hostile[3], all.hostile[4], all.hostile[5], all.statuses[0],
	       all.statuses[1], all.statuses[2]);
}

int main(int argc, char **argv)
{
	struct thread threads[TARGET_MAX_THREADS] = {};
	unsigned cnt;

	memset(longest, 'x', sizeof(longest) - 1);
	target__start(&argc, argv);
	if (argc != 4)
		return 2;
	cnt = (unsigned)strtoul(argv[1], NULL, 10);
	event_cnt = strtoull(argv[2], NULL, 10);
	key_cnt = strtoull(argv[3], NULL, 10);
	for (unsigned i = 0; i < TARGET_MAX_THREADS; i++)
		threads[i].idx = i;
	if (!key_cnt || !target__run_threads(run, threads, sizeof(*threads), cnt))
		return 2;
	print(threads, cnt);
	return 0;
}
