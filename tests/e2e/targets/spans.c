/* SPDX-License-Identifier: MIT */
/*
 * spans [--wait] LOG SPANS THREADS [LIB] - threads that work in spans, one after the other: 2 ms of
 * CPU and a short sleep within the span, then a little outside any; the probe spans:work fires
 * within each, and where libtapir publishes its event Spans-Ring:Work, too. Each span is a line of
 * LOG: thread, times (CLOCK_MONOTONIC) before and after it was published, and before and after it
 * was withdrawn, trace id, span id. The publisher is a library that was loaded with the program
 * (LD_PRELOAD), or LIB, by dlopen; spansle.c and spanslib.c have it in the program.
 */
// build: -ldl
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "target.h"

#define MAX_THREADS 8
#define MAX_SPANS   4096

typedef void (*span_fn)(const uint8_t *trace, const uint8_t *span);

#ifdef SPAN_BY_LIBTAPIR
#include "tapir/activity.h"
static void span_by_libtapir(const uint8_t *trace, const uint8_t *span)
{
	tapir_trace__set(trace, span, 1);
}

static const struct tapir_event_about ring_about = {
	"Spans-Ring", "Work", NULL, 0, 1, 0, 4, 0, 0, TAPIR_OPCODE_INFO, {0}};
static struct tapir_event ring_event = {.about = &ring_about};
static struct tapir_event *const ring_events[] = {&ring_event};
#elif defined(SPAN_HERE)
#include "span.h"
#endif

/* A thread has ids from begin to end and none outside of before to after. */
struct span_line {
	uint64_t before_ns, begin_ns, end_ns, after_ns;
	uint8_t trace[16], span[8];
};

static struct worker {
	pthread_t thread;
	long tid, number;
	unsigned cnt;
	struct span_line lines[MAX_SPANS];
} workers[MAX_THREADS];

static span_fn set_span;
static unsigned span_cnt;
static volatile uint64_t sink;

static __attribute__((noipa)) void burn(uint64_t ns)
{
	uint64_t until = target__cpu_ns() + ns;

	while (target__cpu_ns() < until)
		for (int i = 0; i < 2000; i++)
			sink += (uint64_t)i;
}

static void work_in_span(struct worker *w)
{
	struct span_line *line = &w->lines[w->cnt++];
	uint64_t number = ((uint64_t)getpid() << 32 | (uint64_t)w->number << 24) + w->cnt;

	memset(line->trace, 0xa5, sizeof(line->trace));
	memcpy(line->trace + 8, &number, 8);
	memcpy(line->span, &number, 8);
	line->before_ns = target__now_ns();
	set_span(line->trace, line->span);
	line->begin_ns = target__now_ns();
	/* Payloads of every remainder by 8. */
	TAPIR_PROBE(spans, work, w->cnt, "12345678" + w->cnt % 8);
#ifdef SPAN_BY_LIBTAPIR
	tapir_event__write(&ring_event, "12345678", w->cnt % 8);
#endif
	burn(2000000);
	target__sleep_ns(100000);
	line->end_ns = target__now_ns();
	set_span(NULL, NULL);
	line->after_ns = target__now_ns();
}

static void *work(void *argument)
{
	struct worker *w = argument;

	w->tid = syscall(SYS_gettid);
	while (w->cnt < span_cnt) {
		work_in_span(w);
		burn(300000);
	}
	return NULL;
}

static void print_hex(FILE *out, const uint8_t *bytes, int cnt)
{
	for (int i = 0; i < cnt; i++)
		fprintf(out, "%02x", bytes[i]);
}

static void write_log(const char *path, long thread_cnt)
{
	FILE *out = fopen(path, "w");

	if (!out)
		target__die(path);
	for (long t = 0; t < thread_cnt; t++)
		for (unsigned i = 0; i < workers[t].cnt; i++) {
			const struct span_line *line = &workers[t].lines[i];

			fprintf(out, "%ld %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " ",
				workers[t].tid, line->before_ns, line->begin_ns, line->end_ns,
				line->after_ns);
			print_hex(out, line->trace, 16);
			fputc(' ', out);
			print_hex(out, line->span, 8);
			fputc('\n', out);
		}
	fclose(out);
}

static span_fn find_publisher(const char *lib)
{
#ifdef SPAN_BY_LIBTAPIR
	(void)lib;
	return span_by_libtapir;
#elif defined(SPAN_HERE)
	(void)lib;
	return span_set;
#else
	void *from = lib ? dlopen(lib, RTLD_NOW | RTLD_LOCAL) : RTLD_DEFAULT;
	span_fn found = from || !lib ? (span_fn)dlsym(from, "span_set") : NULL;

	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return found;
#endif
}

int main(int argc, char **argv)
{
	long thread_cnt;

#ifdef SPAN_BY_LIBTAPIR
	struct tapir_provider *p;

	if (tapir_provider__new("Spans-Ring", NULL, ring_events, 1, NULL, &p))
		target__die("provider");
#endif
	target__start(&argc, argv);
	span_cnt = (unsigned)target__number(argc, argv, 2, 100);
	thread_cnt = target__number(argc, argv, 3, 1);
	if (argc < 3 || span_cnt > MAX_SPANS || thread_cnt < 1 || thread_cnt > MAX_THREADS)
		return 2;
	set_span = find_publisher(argc > 4 ? argv[4] : NULL);
	for (long t = 0; t < thread_cnt; t++) {
		workers[t].number = t;
		if (pthread_create(&workers[t].thread, NULL, work, &workers[t]))
			target__die("pthread_create");
	}
	for (long t = 0; t < thread_cnt; t++)
		pthread_join(workers[t].thread, NULL);
	write_log(argv[1], thread_cnt);
	printf("{\"spans\": %u}\n", workers[0].cnt);
	return 0;
}
