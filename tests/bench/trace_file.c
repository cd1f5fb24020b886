// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the file costs: ns and bytes a record to write, plain and compressed, and ns a record
 * to read. Records are events with 4 ints and a 16-character string, put in spans of 64 as
 * the drain thread does. One JSON line a run.
 *
 *	trace_file [RECORDS] [FILE]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "trace/catalog.h"
#include "trace/reader.h"
#include "trace/record.h"
#include "trace/writer.h"

#define SPAN 64

struct bench_event {
	struct tapir_rec_event ev;
	uint64_t ints[4];
	struct tapir_slot_bytes text;
	char chars[24]; /* 16, NUL, padding */
};

/* Values as a database's counters: some constant, some counting, one like a pointer. */
static void fill(struct bench_event *e, uint64_t n, uint64_t time_ns)
{
	memset(e, 0, sizeof(*e));
	e->ev.h =
		(struct tapir_rec){TAPIR_REC_EVENT, (uint16_t)(n / 1000 % 2), sizeof(*e), time_ns};
	e->ev.probe_id = 1 + n % 3;
	e->ev.tgid = 4000;
	e->ev.tid = 4000 + (uint32_t)(n % 4);
	e->ev.payload_bytes = 8 * 5 + 17;
	e->ints[0] = n;
	e->ints[1] = n * 0x9e3779b97f4a7c15ull >> 44;
	e->ints[2] = 42;
	e->ints[3] = 0x7f0000000000 + (n * 0x9e3779b97f4a7c15ull >> 50 << 4);
	e->text.len_bytes = 17;
	snprintf(e->chars, sizeof(e->chars), "SELECT q%07u;", (unsigned)(n % 10000000));
}

static double write_ns(const char *path, uint64_t cnt, bool plain, double *bytes)
{
	struct tapir_writer_opts opts = {
		.sz = sizeof(opts), .path = path, .force = true, .plain = plain};
	struct bench_event *span = calloc(SPAN, sizeof(*span));
	struct tapir_writer *w;
	uint64_t in_writer = 0, time_ns = 1000, start;

	if (!span || tapir_writer__open(&opts, &w))
		exit(1);
	for (uint64_t n = 0; n < cnt; n += SPAN) {
		uint64_t first_ns = time_ns;

		for (unsigned i = 0; i < SPAN; i++)
			fill(&span[i], n + i, time_ns += 500 + (n * 7 + i * 13) % 97);
		start = tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID);
		tapir_writer__put_span(w, span, SPAN * sizeof(*span), SPAN, first_ns, time_ns);
		in_writer += tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID) - start;
	}
	start = tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID);
	tapir_writer__close(w);
	in_writer += tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID) - start;
	*bytes = (double)tapir_writer__bytes_written(w) / (double)cnt;
	tapir_writer__free(w);
	free(span);
	return (double)in_writer / (double)cnt;
}

static double read_ns(const char *path)
{
	uint64_t start = tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID), cnt = 0, sum = 0;
	const struct tapir_rec *rec;
	struct tapir_reader *r;

	if (tapir_reader__open(path, &r))
		exit(1);
	for (; tapir_reader__next(r, &rec) == 1; cnt++)
		sum += rec->time_ns;
	tapir_reader__close(r);
	return (double)(tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID) - start) / (double)(cnt + !sum);
}

int main(int argc, char **argv)
{
	uint64_t cnt = argc > 1 ? strtoull(argv[1], NULL, 10) / SPAN * SPAN : 2000000 / SPAN * SPAN;
	const char *path = argc > 2 ? argv[2] : "/tmp/tapir-bench.tapir";

	for (int plain = 0; plain < 2; plain++) {
		double bytes, put = write_ns(path, cnt, plain, &bytes), get = read_ns(path);

		printf("{\"bench\":\"trace_file\",\"compressed\":%s,\"records\":%llu,"
		       "\"write_ns\":%.1f,\"bytes\":%.1f,\"read_ns\":%.1f}\n",
		       plain ? "false" : "true", (unsigned long long)cnt, put, bytes, get);
	}
	unlink(path);
	return 0;
}
