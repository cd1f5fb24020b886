/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * golden_v1_waits.h - what golden-v1-waits.tapir holds: the records that only a recording of
 * version 1 has which sums short waits, in the order in which a reader delivers them. Never change
 * it.
 */
#ifndef TAPIR_TEST_GOLDEN_V1_WAITS_H
#define TAPIR_TEST_GOLDEN_V1_WAITS_H

#include <string.h>

#include "trace/recbuf.h"

#define GOLDEN_WAITS_CNT 2

static inline const struct tapir_rec *golden_waits_record(int idx)
{
	static union {
		struct tapir_rec h;
		struct {
			struct tapir_rec_switch rec;
			struct tapir_switch_wait wait;
			struct tapir_trace_ids ids;
		} whole;
		struct {
			struct tapir_rec_waits rec;
			struct tapir_wait_step steps[2];
		} waits;
	} r;

	memset(&r, 0, sizeof(r));
	if (!idx) {
		r.whole.rec = (struct tapir_rec_switch){.out_tgid = 100,
							.out_tid = 101,
							.in_tgid = 100,
							.in_tid = 101,
							.out_stack_id = 11,
							.out_kstack_id = 12,
							.in_wake_ns = 2006000,
							.in_waker_tid = 102,
							.out_state = TAPIR_STATE_SLEEPING,
							.flags = TAPIR_SWITCH_WAITED};
		r.whole.wait =
			(struct tapir_switch_wait){.futex_va = 0x7f0000001000, .since_ns = 6000};
		memset(r.whole.ids.trace_id, 0xa1, sizeof(r.whole.ids.trace_id));
		memset(r.whole.ids.span_id, 0xb2, sizeof(r.whole.ids.span_id));
		tapir_rec__init(&r.h, TAPIR_REC_SWITCH, sizeof(r.whole), 2007000);
		r.h.cpu = 3;
		return &r.h;
	}
	r.waits.rec = (struct tapir_rec_waits){
		.tgid = 100,
		.tid = 101,
		.since_ns = 5500,
		.run_ns = 40000,
		.cnt = {[TAPIR_WAIT_SLEEPING] = 3, [TAPIR_WAIT_WOKEN] = 2},
		.ns = {[TAPIR_WAIT_SLEEPING] = 30000, [TAPIR_WAIT_WOKEN] = 5000},
		.left_ns = 2008000,
		.step_cnt = 2,
		.out_state = TAPIR_STATE_UNINTERRUPTIBLE};
	r.waits.steps[0] = (struct tapir_wait_step){TAPIR_WAIT_SLEEPING, 13, 3};
	r.waits.steps[1] = (struct tapir_wait_step){TAPIR_WAIT_WOKEN, 11, 2};
	tapir_rec__init(&r.h, TAPIR_REC_WAITS, sizeof(r.waits), 4008000);
	return &r.h;
}

#endif
