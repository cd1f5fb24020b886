// SPDX-License-Identifier: GPL-2.0-or-later
/* Bytes of a thread's ring: whatever is kept must be a row of well-formed records. */
#include <stdlib.h>
#include <string.h>

#include "attach/rings/ring_records.h"
#include "trace/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static uint32_t probe_of(void *ctx, uint32_t event_id)
{
	uint32_t idx = TAPIR_RING_ID_IDX(event_id);

	(void)ctx;
	if (idx >= TAPIR_RING_EVENTS)
		abort();
	return idx % 3 ? 0x10000 + idx : 0;
}

static uint32_t tid_of(void *ctx, uint32_t ns_tid, bool is_new)
{
	(void)ctx;
	(void)is_new;
	return ns_tid + 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tapir_ring_scan scan = {.tgid = 7,
				       .ns_tgid = 1,
				       .max_ns = 1000,
				       .session_bit = 1,
				       .probe_of = probe_of,
				       .tid_of = tid_of};
	size_t room = bytes & ~(size_t)7;
	uint64_t *copy = malloc(room ? room : 8);
	struct tapir_ring_taken taken;

	memcpy(copy, data, room);
	taken = tapir_ring_records__take(&scan, copy, room);
	if (taken.used_bytes > room || taken.kept_bytes > taken.used_bytes)
		abort();
	for (size_t at = 0; at < taken.kept_bytes;) {
		const struct tapir_rec *rec = (const void *)((const char *)copy + at);

		if (!tapir_record__ok(rec, taken.kept_bytes - at) || rec->time_ns > scan.max_ns)
			abort();
		at += rec->size;
	}
	free(copy);
	return 0;
}
