/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_records.h - the records between two positions of a perf ring, without the ring: mappings are
 * delivered, losses added up, other records skipped. Pure; any thread.
 *
 * A ring of 2^n bytes is not mapped twice, so a record may wrap and is put together first. Layouts:
 * include/uapi/linux/perf_event.h, with sample_id_all and TID | TIME after each.
 */
#ifndef TAPIR_USER_PERF_RECORDS_H
#define TAPIR_USER_PERF_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "attach/sideband.h"

struct tapir_perf_records {
	const char *ring;
	size_t ring_bytes;
	uint64_t tail, head; /* positions only grow; those of one ring are at most a turn apart */
};

/* One record at a time: its size is a 16-bit number. */
struct tapir_perf_scratch {
	uint64_t words[(UINT16_MAX + 1) / 8];
};

struct perf_event_header;

/* Handles a record; returns the number of records that it reports as lost. */
typedef uint64_t (*tapir_perf_record_fn)(void *ctx, struct perf_event_header *record);

/* Calls fn for every record, whatever it is, each with its whole size; returns as below. */
uint64_t tapir_perf_records__each_record(const struct tapir_perf_records *span,
					 struct tapir_perf_scratch *scratch,
					 tapir_perf_record_fn fn, void *ctx);

/*
 * Calls fn for each mapping. Returns the number of lost records: those the kernel reports, and each
 * malformed one. After an impossible size nothing more can be found: that counts as one.
 */
uint64_t tapir_perf_records__each(const struct tapir_perf_records *span,
				  struct tapir_perf_scratch *scratch, tapir_sideband_fn fn,
				  void *ctx);

#endif
