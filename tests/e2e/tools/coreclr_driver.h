/* SPDX-License-Identifier: GPL-2.0-or-later */
/* coreclr_driver.h - what coreclr_driver.c was asked for, and what it has seen. */
#ifndef TAPIR_TESTS_CORECLR_DRIVER_H
#define TAPIR_TESTS_CORECLR_DRIVER_H

#include <signal.h>
#include <stdint.h>

#include "attach/rings/ring_session.h"

#define STACK_CNT 65536u
#define TID_CNT	  4096u
#define MAX_SPECS 8

struct event {
	char name[200];
	uint64_t cnt;
};

struct number {
	uint32_t tid, event;
	int64_t last;
};

static struct {
	int pid;
	int cycles, ms, change, with_stack, rate, no_detach, quiet, probes, is_given;
	struct tapir_ring_request ask;
	unsigned selection_cnt, start_cnt, raised;
	volatile sig_atomic_t has_ended;
	char so[200]; /* as the process maps it */
	uint64_t key; /* 0: a new one each cycle */
	char event[96];
	struct tapir_ring_lane lane;
	struct tapir_ring_control control;
	uint64_t tails[TAPIR_RING_SLOTS];
	struct event events[TAPIR_RING_EVENTS];
	uint32_t event_cnt;
	uint64_t losses_before[TAPIR_RING_EVENTS][TAPIR_RING_CAUSE_CNT];
	uint64_t stacks[STACK_CNT]; /* id << 1 | reaches the start */
	struct number numbers[TID_CNT];
	uint8_t bytes[TAPIR_RING_MAX_BYTES];
	uint64_t start_lo[64], start_hi[64]; /* code where threads begin */
	/* sums */
	uint64_t total, lost, nested, bad, repeated, gaps, with_whole_stack, wanted_stack, late_ms;
	uint64_t first_us, attach_us, attach_max_us, detach_ms;
	struct event sums[256];
} d;

#endif
