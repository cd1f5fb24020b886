// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes in a perf ring, from any position on: nothing outside a record is read. */
#include <stdlib.h>
#include <string.h>

#include "attach/perf_records.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

#define RING_BYTES (128u << 10)

static volatile unsigned sum;

static void touch(void *ctx, const struct tapir_sideband_mmap *mmap)
{
	(void)ctx;
	for (const char *at = mmap->path; *at; at++)
		sum += (unsigned char)*at;
	sum += (unsigned)mmap->start_va + (unsigned)mmap->time_ns;
}

/* 4 bytes: where in the ring it begins; then what is in it. */
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_perf_scratch *scratch;
	struct tapir_perf_records span = {.ring_bytes = RING_BYTES};
	uint32_t start;
	char *ring;

	if (len < sizeof(start) || len - sizeof(start) > RING_BYTES)
		return 0;
	memcpy(&start, input, sizeof(start));
	scratch = malloc(sizeof(*scratch));
	ring = calloc(1, RING_BYTES);
	for (size_t i = sizeof(start); i < len; i++)
		ring[(start + i - sizeof(start)) % RING_BYTES] = (char)input[i];
	span.ring = ring;
	span.tail = start;
	span.head = span.tail + len - sizeof(start);
	sum += (unsigned)tapir_perf_records__each(&span, scratch, touch, NULL);
	free(ring);
	free(scratch);
	return 0;
}
