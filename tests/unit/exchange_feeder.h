/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exchange_feeder.h - made-up requests on connections of IPv4, for a feeder's timeline. */
#ifndef TAPIR_TEST_EXCHANGE_FEEDER_H
#define TAPIR_TEST_EXCHANGE_FEEDER_H

#include <string.h>

#include "timeline_feeder.h"

#define EXCHANGE_HOST 1u /* the last byte of 127.0.0.1 */

static inline void exchange_address(uint8_t out[16], uint8_t last)
{
	const uint8_t address[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = last};

	memcpy(out, address, sizeof(address));
}

/* An answer that took so long, of 10 bytes each way. */
static inline struct tapir_rec_exchange exchange_of(uint32_t tid, uint64_t begin_ns,
						    uint64_t until_ns)
{
	struct tapir_rec_exchange rec = {.tgid = 100,
					 .tid = tid,
					 .ask_tid = tid,
					 .begin_ns = begin_ns,
					 .sent_bytes = 10,
					 .received_bytes = 10,
					 .kind = TAPIR_EXCHANGE_ANSWERED};

	tapir_rec__init(&rec.h, TAPIR_REC_EXCHANGE, sizeof(rec), until_ns);
	exchange_address(rec.local, EXCHANGE_HOST);
	exchange_address(rec.peer, EXCHANGE_HOST);
	return rec;
}

static inline void exchange_call(struct feeder *to, uint32_t tid, uint16_t port, uint64_t begin_ns,
				 uint64_t until_ns)
{
	struct tapir_rec_exchange rec = exchange_of(tid, begin_ns, until_ns);

	rec.flags = TAPIR_EXCHANGE_OPENED;
	rec.peer_port = port;
	rec.local_port = 40000;
	feeder_add(to, &rec.h);
}

static inline void exchange_serve(struct feeder *to, uint32_t tid, uint16_t port, uint64_t begin_ns,
				  uint64_t until_ns)
{
	struct tapir_rec_exchange rec = exchange_of(tid, begin_ns, until_ns);

	rec.local_port = port;
	rec.peer_port = 40000;
	feeder_add(to, &rec.h);
}

#endif
