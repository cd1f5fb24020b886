/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * io_logic.bpf.h - what is decided about a block request from numbers alone: how many of them a CPU
 * records in a second, and whose memory a page is; and what is kept of one.
 */
#ifndef TAPIR_BPF_IO_LOGIC_H
#define TAPIR_BPF_IO_LOGIC_H

#include "tapir/abi.h"

/* A request that its device has. */
struct tapir_io_request {
	struct tapir_rec_io rec;
	char path[TAPIR_IO_PATH_BYTES];
	uint64_t padding; /* behind a path of any length are zeros */
	uint64_t bio;
	uint64_t issue_ns;
};

/*
 * Returns true if a request that its device gets is the one that is known at its address: a device
 * that had no room gets it again, and it is queued no more than it was. Where its bio has been made
 * since, is another, or is for another place, the request before had an end that the kernel did not
 * report: Linux 6.18 with two busy CPUs skips block_rq_complete for one request of some hundreds.
 * What is known of that one would be sent at the end of another.
 */
static inline int tapir_io_request__is_again(const struct tapir_io_request *known, uint64_t bio,
					     uint64_t sector, int is_made_since)
{
	return bio && known->bio == bio && known->rec.sector == sector && !is_made_since;
}

/* A CPU has one: it counts what it recorded in the second that it is in. */
struct tapir_io_rate {
	uint64_t second;
	uint64_t cnt;
};

/* Returns true if one more is within the limit of this second, and counts it. */
static inline int tapir_io_rate__take(struct tapir_io_rate *rate, uint64_t time_ns, uint64_t limit)
{
	uint64_t second = time_ns / 1000000000ull;

	if (rate->second != second) {
		rate->second = second;
		rate->cnt = 0;
	}
	if (rate->cnt >= limit)
		return 0;
	rate->cnt++;
	return 1;
}

/* The low bits of a page's mapping: anonymous memory, and what a driver moves. */
#define TAPIR_MAPPING_BITS	    3ull
#define TAPIR_MAPPING_BIT_ANONYMOUS 1ull

/* enum tapir_io_op of the kernel's REQ_OP_*, which are what drivers are programmed to. */
static inline uint8_t tapir_io__op(uint32_t cmd_flags)
{
	switch (cmd_flags & 0xff) {
	case 0:
		return TAPIR_IO_READ;
	case 1:
		return TAPIR_IO_WRITE;
	case 2:
		return TAPIR_IO_FLUSH;
	case 3:
	case 5: /* secure erase */
		return TAPIR_IO_DISCARD;
	case 9:
		return TAPIR_IO_ZERO;
	default:
		return TAPIR_IO_OTHER;
	}
}

#endif /* TAPIR_BPF_IO_LOGIC_H */
