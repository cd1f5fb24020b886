/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * golden_v1_hosts.h - what golden-v1-hosts.tapir holds: the records that only a merged recording of
 * version 1 has, in the order in which a reader delivers them (OF_HOST is for copies alone). Never
 * change it.
 */
#ifndef TAPIR_TEST_GOLDEN_V1_HOSTS_H
#define TAPIR_TEST_GOLDEN_V1_HOSTS_H

#include <string.h>

#include "trace/recbuf.h"

#define GOLDEN_HOSTS_CNT 4

static inline const struct tapir_rec *golden_host_record(int idx)
{
	static union {
		struct tapir_rec h;
		struct {
			struct tapir_rec_host host;
			char name[8];
		} host;
		struct {
			struct tapir_rec_of_host of;
			struct tapir_rec_clock clock;
		} of_host;
		struct tapir_rec_sample sample;
		struct {
			struct tapir_rec_loss loss;
			struct tapir_loss_host of;
		} loss;
	} r;

	memset(&r, 0, sizeof(r));
	switch (idx) {
	case 0:
		r.host.host = (struct tapir_rec_host){.host = 1,
						      .name_len = 4,
						      .clock = TAPIR_HOST_CLOCK_SYNCED,
						      .shift_ns = 500,
						      .error_ns = 2000,
						      .set_ns = 9,
						      .created_utc_ns = 1767225600000000000ull,
						      .created_ns = 5000,
						      .last_ns = 9000};
		memcpy(r.host.name, "web1", 4);
		tapir_rec__init(&r.h, TAPIR_REC_HOST, sizeof(r.host), 5600);
		break;
	case 1:
		tapir_rec__init(&r.of_host.clock.h, TAPIR_REC_CLOCK, sizeof(r.of_host.clock), 5200);
		r.of_host.clock.utc_ns = 1767225600000000200ull;
		r.of_host.of.host = 1;
		r.of_host.of.record_bytes = sizeof(r.of_host.clock);
		tapir_rec__init(&r.h, TAPIR_REC_OF_HOST, sizeof(r.of_host), 5700);
		break;
	case 2:
		r.sample.tgid = 10000100;
		r.sample.tid = 10000101;
		r.sample.period = 1001001;
		tapir_rec__init(&r.h, TAPIR_REC_SAMPLE, sizeof(r.sample), 6000);
		r.h.cpu = 1003;
		break;
	default:
		r.loss.loss.cause = TAPIR_LOSS_DISK;
		r.loss.loss.count = 12;
		r.loss.loss.from_ns = 6000;
		r.loss.loss.until_ns = 6500;
		r.loss.of.host = 1;
		tapir_rec__init(&r.h, TAPIR_REC_LOSS, sizeof(r.loss), 6500);
		break;
	}
	return &r.h;
}

#endif
