// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_decode: what it costs to decode a payload of a .NET event, and to make text and JSON of
 * its fields. The payloads are those of tests/data/dotnet/recorded.tsv. Best of rounds, in ns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "decode/dotnet_tables.h"
#include "decode/event_blob.h"
#include "decode/packed.h"
#include "decode/value.h"

#define RECORDED "tests/data/dotnet/recorded.tsv"
#define ROUNDS	 7
#define EVENTS	 100000
#define VALUES	 64

enum work { DECODE, TEXT, JSON, WORK_CNT };

struct event {
	struct tapir_packed_layout layout;
	const char *name;
	uint8_t blob[4096], payload[4096];
	size_t blob_bytes, payload_bytes;
};

static size_t read_hex(const char *hex, uint8_t *out, size_t max)
{
	size_t len = 0;
	unsigned byte;

	for (; len < max && sscanf(hex, "%2x", &byte) == 1; hex += 2)
		out[len++] = (uint8_t)byte;
	return len;
}

static void work_once(const struct event *ev, enum work work, struct tapir_str *out)
{
	struct tapir_value values[VALUES];
	unsigned faults, cnt;

	cnt = tapir_packed__decode(&ev->layout, ev->payload, ev->payload_bytes, values, VALUES,
				   &faults);
	tapir_str__clear(out);
	for (unsigned i = 0; i < cnt && work == TEXT; i++)
		tapir_value__add_text(out, &values[i]);
	for (unsigned i = 0; i < cnt && work == JSON; i++)
		tapir_value__add_json(out, &values[i]);
}

static double best_ns(const struct event *ev, enum work work)
{
	struct tapir_str out = {};
	double best = 1e12;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t from = tapir_clock__now_ns();
		double ns;

		for (int i = 0; i < EVENTS; i++)
			work_once(ev, work, &out);
		ns = (double)(tapir_clock__now_ns() - from) / EVENTS;
		best = ns < best ? ns : best;
	}
	tapir_str__fini(&out);
	return best;
}

static void measure(const struct event *ev)
{
	printf("%-20s %4zu B %2u fields: decoded in %5.0f ns, as text %5.0f, as JSON %5.0f\n",
	       ev->name, ev->payload_bytes, ev->layout.field_cnt, best_ns(ev, DECODE),
	       best_ns(ev, TEXT), best_ns(ev, JSON));
}

/* A row: provider, id, version, blob, payload. */
static void measure_row(char *row)
{
	static const char *const names[] = {"GCStart",	   "ExceptionThrown",	"ContentionStop",
					    "OrderPlaced", "AllocationSampled", "TaskScheduled"};
	struct tapir_event_blob *blob = NULL;
	const struct tapir_layout_event *known;
	const char *provider = strsep(&row, "\t");
	uint16_t id = (uint16_t)atoi(strsep(&row, "\t"));
	uint8_t version = (uint8_t)atoi(strsep(&row, "\t"));
	struct event ev = {};

	ev.blob_bytes = read_hex(strsep(&row, "\t"), ev.blob, sizeof(ev.blob));
	ev.payload_bytes = read_hex(row, ev.payload, sizeof(ev.payload));
	if (tapir_event_blob__parse(ev.blob, ev.blob_bytes, &blob))
		return;
	known = tapir_dotnet_event__find(tapir_sv__of(provider), id, version);
	ev.name = known ? known->name : blob->name;
	ev.layout = blob->layout;
	if (!blob->layout.field_cnt && known)
		ev.layout = (struct tapir_packed_layout){.fields = known->fields,
							 .field_cnt = known->field_cnt};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], ev.name))
			measure(&ev);
	tapir_event_blob__free(blob);
}

int main(void)
{
	tapir_autofree char *text = NULL;
	char *rest, *row;
	size_t len;

	if (tapir_file__read(RECORDED, 1 << 20, &text, &len)) {
		fprintf(stderr, "no %s: run it at the root of the tree\n", RECORDED);
		return 1;
	}
	for (rest = text; (row = strsep(&rest, "\n"));)
		if (*row && *row != '#')
			measure_row(row);
	return 0;
}
