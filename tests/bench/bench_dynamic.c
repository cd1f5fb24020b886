/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_dynamic - what events cost that are defined at run time (tapir/dynamic.h): 10,000 of 500
 * providers, and one of them beside the same event known at build time, in rounds taken in turn:
 * the least and the median of each, as JSON. Without a tracer it measures "off". lib.py runs it:
 *
 *	build/tests/bench/bench_dynamic
 *	tapir record Bench-Shop --lane ring -f -o /tmp/x.tapir -- build/tests/bench/bench_dynamic
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tapir/dynamic.h"

#define PROVIDER_CNT 500
#define EVENT_CNT    20 /* each */
#define ROUND_CNT    60
#define FIRE_CNT     5000
#define PROVIDER     "Bench-Shop"

TAPIR_EVENT(Static, PROVIDER, "Static", 1, 0, TAPIR_INFORMATIONAL, 0, (I32, A), (I32, B), (I32, C),
	    (I32, D), (UTF8, Text));

static const struct tapir_event_field fields[] = {
	{"A", NULL, 0, 0, TAPIR_TYPE_I32, TAPIR_REPEAT_NONE, {0, 0}},
	{"B", NULL, 0, 0, TAPIR_TYPE_I32, TAPIR_REPEAT_NONE, {0, 0}},
	{"C", NULL, 0, 0, TAPIR_TYPE_I32, TAPIR_REPEAT_NONE, {0, 0}},
	{"D", NULL, 0, 0, TAPIR_TYPE_I32, TAPIR_REPEAT_NONE, {0, 0}},
	{"Text", NULL, 0, 0, TAPIR_TYPE_UTF8, TAPIR_REPEAT_NONE, {0, 0}},
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static long resident_kb(void)
{
	long pages = 0, resident = 0;
	FILE *statm = fopen("/proc/self/statm", "r");

	if (statm) {
		if (fscanf(statm, "%ld %ld", &pages, &resident) != 2)
			resident = 0;
		fclose(statm);
	}
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static struct tapir_event *define(struct tapir_dynamic *d, unsigned idx)
{
	struct tapir_event_about about = {NULL, "Dynamic", fields, 0,  2, 0, TAPIR_INFORMATIONAL,
					  5,	0,	   0,	   {0}};
	struct tapir_event *event;
	char name[32];

	snprintf(name, sizeof(name), "Dynamic%u", idx);
	about.name = name;
	if (tapir_event__define(d, &about, &event) || tapir_dynamic__probe_error(d))
		exit(1);
	return event;
}

static void measure_defining(void)
{
	static struct tapir_dynamic *all[PROVIDER_CNT];
	long before_kb = resident_kb(), after_kb;
	uint64_t begin = now_ns(), took;

	for (unsigned i = 0; i < PROVIDER_CNT; i++) {
		char name[32];

		snprintf(name, sizeof(name), "Bench-Many-%u", i);
		if (tapir_dynamic__new(name, NULL, NULL, &all[i]))
			exit(1);
		for (unsigned k = 0; k < EVENT_CNT; k++)
			define(all[i], k);
	}
	took = now_ns() - begin;
	after_kb = resident_kb();
	begin = now_ns();
	for (unsigned i = 0; i < PROVIDER_CNT; i++)
		tapir_dynamic__free(all[i]);
	printf("{\"define_us\": %.2f, \"kib\": %.2f, \"free_us\": %.2f}\n",
	       (double)took / 1e3 / (PROVIDER_CNT * EVENT_CNT),
	       (double)(after_kb - before_kb) / (PROVIDER_CNT * EVENT_CNT),
	       (double)(now_ns() - begin) / 1e3 / (PROVIDER_CNT * EVENT_CNT));
}

static __attribute__((noipa)) void fire_static(int n)
{
	TAPIR_FIRE(Static, n, n + 1, n + 2, n + 3, "0123456789abcde");
}

static __attribute__((noipa)) void fire_dynamic(struct tapir_event *event, int n)
{
	struct {
		int32_t numbers[4];
		char text[16];
	} payload;

	if (!TAPIR_EVENT_ENABLED(*event))
		return;
	for (int i = 0; i < 4; i++)
		payload.numbers[i] = n + i;
	memcpy(payload.text, "0123456789abcde", 16);
	tapir_event__fire(event, &payload, sizeof(payload));
}

static double ns_each(struct tapir_event *event)
{
	uint64_t begin = now_ns();

	for (int i = 0; i < FIRE_CNT; i++) {
		if (event)
			fire_dynamic(event, i);
		else
			fire_static(i);
	}
	return (double)(now_ns() - begin) / FIRE_CNT;
}

static int by_value(const void *left, const void *right)
{
	double l = *(const double *)left, r = *(const double *)right;

	return (l > r) - (l < r);
}

static void report(const char *what, double *ns)
{
	qsort(ns, ROUND_CNT, sizeof(*ns), by_value);
	printf("{\"what\": \"%s\", \"ns_min\": %.2f, \"ns_median\": %.2f}\n", what, ns[0],
	       ns[ROUND_CNT / 2]);
}

/*
 * What a probe costs besides its trap, of which a run with a tracer shows too little: the trap
 * scatters by more. The semaphores are raised by hand, and nobody is there.
 */
static void measure_probes(struct tapir_event *event)
{
	static double ns[2][ROUND_CNT];

	if (TAPIR_EVENT_ENABLED(*event) || TAPIR_EVENT_ENABLED(Static))
		return;
	Static.word.half.semaphore = event->word.half.semaphore = 1;
	for (int i = 0; i < ROUND_CNT; i++) {
		ns[0][i] = ns_each(NULL);
		ns[1][i] = ns_each(event);
	}
	Static.word.half.semaphore = event->word.half.semaphore = 0;
	report("probe of an event known at build time, without its trap", ns[0]);
	report("probe of one defined at run time, likewise", ns[1]);
}

/* bench_dynamic --wait: until a tracer that was given its process has attached. */
int main(int argc, char **argv)
{
	static struct tapir_event *const events[] = {&Static};
	static double ns[2][ROUND_CNT];
	struct tapir_provider *provider;
	struct tapir_dynamic *d;
	struct tapir_event *event;

	if (argc < 2)
		measure_defining();
	if (tapir_provider__new(PROVIDER, NULL, events, 1, NULL, &provider) ||
	    tapir_dynamic__new(PROVIDER, NULL, NULL, &d))
		return 1;
	event = define(d, 0);
	printf("ready\n");
	fflush(stdout);
	usleep(300000); /* a tracer finds the events */
	for (int i = 0; i < 1000 && argc > 1 && !strcmp(argv[1], "--wait"); i++) {
		if (TAPIR_EVENT_ENABLED(*event) && TAPIR_EVENT_ENABLED(Static))
			break;
		usleep(10000);
	}
	for (int i = 0; i < ROUND_CNT; i++) {
		/* Each is the first in half of the rounds: the second meets a tracer at work. */
		for (int k = 0; k < 2; k++) {
			int which = (i + k) % 2;

			ns[which][i] = ns_each(which ? event : NULL);
			usleep(20000); /* the ring is drained */
		}
	}
	printf("{\"is_on\": %d}\n", TAPIR_EVENT_ENABLED(*event) && TAPIR_EVENT_ENABLED(Static));
	report("event known at build time", ns[0]);
	report("the same, defined at run time", ns[1]);
	measure_probes(event);
	tapir_dynamic__free(d);
	tapir_provider__free(provider);
	return 0;
}
