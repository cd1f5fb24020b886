/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * golden_v1_kernel.h - what golden-v1-kernel.tapir holds: the records that only a recording of
 * version 1 has which counts the kernel's work, in the order in which a reader delivers them. Never
 * change it.
 */
#ifndef TAPIR_TEST_GOLDEN_V1_KERNEL_H
#define TAPIR_TEST_GOLDEN_V1_KERNEL_H

#include <string.h>

#include "trace/recbuf.h"

#define GOLDEN_KERNEL_CNT 3

static inline const struct tapir_rec *golden_kernel_record(int idx)
{
	static const struct tapir_rec_kernel all[GOLDEN_KERNEL_CNT] = {
		{.tgid = 100,
		 .since_ns = 5500,
		 .cnt = 40,
		 .part_cnt = 2,
		 .stack_id = 11,
		 .kind = TAPIR_KERNEL_FAULT},
		{.tgid = 100,
		 .number = 36,
		 .since_ns = 5500,
		 .cnt = 3,
		 .sum_ns = 9000,
		 .max_ns = 4000,
		 .kind = TAPIR_KERNEL_IRQ,
		 .name_len = 8},
		{.tgid = 100,
		 .number = 4,
		 .since_ns = 5500,
		 .cnt = 1,
		 .part_cnt = 1,
		 .sum_ns = 2000000,
		 .max_ns = 2000000,
		 .kernel_stack_id = 12,
		 .lock_va = 0xffff888100000000,
		 .kind = TAPIR_KERNEL_LOCK}};
	static union {
		struct tapir_rec_kernel rec;
		char room[sizeof(struct tapir_rec_kernel) + 8];
	} r;

	r.rec = all[idx];
	memcpy(&r.rec + 1, "virtio1!", r.rec.name_len);
	tapir_rec__init(&r.rec.h, TAPIR_REC_KERNEL, sizeof(r.rec) + r.rec.name_len,
			2007000 + (uint64_t)idx);
	return &r.rec.h;
}

#endif
