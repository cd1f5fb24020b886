// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A perf.data, whole: its head, its records in the order of the file and of time. Every byte that a
 * record points to is read.
 */
#include <stdlib.h>
#include <string.h>

#include "output/import/perf_order.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static volatile uint8_t sum;

struct bytes {
	const uint8_t *data;
	size_t len;
};

static void read_bytes(const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum = (uint8_t)(sum + ((const uint8_t *)bytes)[i]);
}

static int64_t read_at(void *ctx, void *buf, size_t len, uint64_t off)
{
	const struct bytes *all = ctx;

	if (off >= all->len)
		return 0;
	if (len > all->len - off)
		len = all->len - off;
	memcpy(buf, all->data + off, len);
	return (int64_t)len;
}

static int on_bytes(void *ctx, const struct tapir_perf_bytes *bytes)
{
	struct tapir_perf_data *d = ctx;

	read_bytes(bytes->data, bytes->len);
	if (bytes->more_off + bytes->more_bytes > d->input.bytes)
		abort();
	return tapir_perf_data__take_record(d, bytes->data, bytes->len);
}

static int on_record(void *ctx, const struct tapir_perf_record *record)
{
	struct tapir_perf_mmap mmap;

	(void)ctx;
	read_bytes(record->chain, 8 * record->chain_cnt);
	read_bytes(record->raw, record->raw_bytes);
	read_bytes(record->body, record->body_bytes);
	if (tapir_perf_mmap__of(record, &mmap))
		read_bytes(mmap.path, mmap.path_len);
	return 0;
}

static int check(void *ctx)
{
	(void)ctx;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct bytes all = {input, len};
	const struct tapir_perf_input in = {read_at, &all, len};
	const struct tapir_perf_ordered ordered = {on_record, check, NULL};
	struct tapir_perf_data d;
	uint64_t rest, bad;

	if (!tapir_perf_data__init(&d, &in) && !tapir_perf_order__walk(&d, on_bytes, &d, &rest))
		(void)tapir_perf_order__by_time(&d, &ordered, &bad);
	tapir_perf_data__fini(&d);
	return 0;
}
