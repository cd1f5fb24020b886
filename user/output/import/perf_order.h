/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_order.h - the records of a perf.data file one after the other, and in the order of their
 * times: perf writes what each CPU's buffer held, buffer by buffer, and marks the end of a round.
 * What is older than the newest record of the round before can be followed by nothing older.
 *
 * Memory is bounded, whatever the file claims: a round that is too large is delivered without
 * waiting for its end. One thread.
 */
#ifndef TAPIR_USER_PERF_ORDER_H
#define TAPIR_USER_PERF_ORDER_H

#include "decode/perf_record.h"

/* Bytes of a record, and of what follows it in the file (more_bytes at more_off). */
struct tapir_perf_bytes {
	const uint8_t *data;
	size_t len;
	uint64_t more_off, more_bytes;
};

/*
 * Calls each for every record of d, in the order of the file, until it returns an error. Returns
 * that, or the input's. *rest: bytes at the end that are no whole record.
 */
int tapir_perf_order__walk(const struct tapir_perf_data *d,
			   int (*each)(void *ctx, const struct tapir_perf_bytes *bytes), void *ctx,
			   uint64_t *rest);

/*
 * The same for the kernel's records, in the order of time. check is called now and then; an error
 * of it ends the call. *bad_cnt: malformed records, which are skipped.
 */
struct tapir_perf_ordered {
	int (*each)(void *ctx, const struct tapir_perf_record *record);
	int (*check)(void *ctx);
	void *ctx;
};
int tapir_perf_order__by_time(const struct tapir_perf_data *d, const struct tapir_perf_ordered *out,
			      uint64_t *bad_cnt);

#endif
