/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * golden_v1_call_files.h - what golden-v1-call-files.tapir holds: the records that only a recording
 * of version 1 has which counts system calls by file, in the order in which a reader delivers them.
 * Never change it.
 */
#ifndef TAPIR_TEST_GOLDEN_V1_CALL_FILES_H
#define TAPIR_TEST_GOLDEN_V1_CALL_FILES_H

#include <string.h>

#include "trace/recbuf.h"

#define GOLDEN_CALL_FILES_CNT 2

static inline const struct tapir_rec *golden_call_files_record(int idx)
{
	static const char *const names[GOLDEN_CALL_FILES_CNT] = {
		"/srv/db/t1.dat", "tcp 10.0.0.1:40000 to 10.0.0.2:5432"};
	static const struct tapir_rec_calls all[GOLDEN_CALL_FILES_CNT] = {
		{.tgid = 100,
		 .nr = 74,
		 .kind = TAPIR_CALLS_OF_FILE,
		 .text_len = 14,
		 .since_ns = 5500,
		 .cnt = 3,
		 .sum_ns = 900000,
		 .max_ns = 400000,
		 .inode = 4711,
		 .dev = 254 << 20 | 1,
		 .step_cnt = 1},
		{.tgid = 100,
		 .nr = 45,
		 .err = 11,
		 .kind = TAPIR_CALLS_OF_FILE,
		 .text_len = 35,
		 .since_ns = 5500,
		 .cnt = 1,
		 .sum_ns = 700,
		 .max_ns = 700,
		 .inode = 515092,
		 .dev = 9,
		 .step_cnt = 1}};
	static union {
		struct tapir_rec_calls rec;
		char room[sizeof(struct tapir_rec_calls) + sizeof(struct tapir_call_step) + 40];
	} r;
	struct tapir_call_step step = {tapir_call_step__of(all[idx].max_ns),
				       (uint32_t)all[idx].cnt};
	size_t bytes = sizeof(r.rec) + sizeof(step) + all[idx].text_len;

	memset(&r, 0, sizeof(r));
	r.rec = all[idx];
	memcpy(&r.rec + 1, &step, sizeof(step));
	memcpy(r.room + sizeof(r.rec) + sizeof(step), names[idx], r.rec.text_len);
	tapir_rec__init(&r.rec.h, TAPIR_REC_CALLS, (uint32_t)((bytes + 7) & ~(size_t)7),
			2008000 + (uint64_t)idx);
	return &r.rec.h;
}

#endif
