/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * golden_v1_types.h - what golden-v1-types.tapir holds: a record of each type that came after
 * golden-v1.tapir and has no file of its own, in the order in which a reader delivers them. Never
 * change it.
 */
#ifndef TAPIR_TEST_GOLDEN_V1_TYPES_H
#define TAPIR_TEST_GOLDEN_V1_TYPES_H

#include "trace/recbuf.h"

#define GOLDEN_TYPES_CNT 9

#define TYPES_SV(text)	 ((struct tapir_sv){text, sizeof(text) - 1})

/* Those with texts, which a buffer holds until the next one. */
static inline const struct tapir_rec *golden_named_record(int idx)
{
	static struct tapir_recbuf b;
	struct tapir_rec_resource resource = {.h.time_ns = 3000, .tgid = 100};
	struct tapir_rec_jit inlined = {.h.time_ns = 3001,
					.tgid = 100,
					.source = TAPIR_JIT_PERF_MAP,
					.start_va = 0x7f0000001000,
					.size = 64};
	struct tapir_rec_wait wait = {.h.time_ns = 5600,
				      .tgid = 100,
				      .tid = 101,
				      .owner_tid = 102,
				      .syscall = 202,
				      .object_va = 0x7f0000002000};
	struct tapir_wait_view view = {.rec = &wait, .text = TYPES_SV("futex")};
	struct tapir_rec_io io = {.h.time_ns = 5602,
				  .tgid = 100,
				  .tid = 101,
				  .queue_ns = 1000,
				  .device_ns = 90000,
				  .sector = 2048,
				  .inode = 4242,
				  .file_dev = 8 << 20 | 1,
				  .dev = 8 << 20,
				  .bytes = 4096,
				  .op = TAPIR_IO_READ,
				  .object = TAPIR_IO_OF_FILE,
				  .disk = "sda"};

	switch (idx) {
	case 0:
		return tapir_recbuf__resource(&b, &resource, TYPES_SV("\x0a\x00"));
	case 1:
		return tapir_recbuf__inlined(&b, &inlined, TYPES_SV("outer\0inner"));
	case 2:
		return tapir_recbuf__wait(&b, &view);
	default:
		return tapir_recbuf__io(&b, &io, TYPES_SV("/data"), TYPES_SV("/table"));
	}
}

static inline const struct tapir_rec *golden_types_record(int idx)
{
	static struct {
		struct tapir_rec_calls rec;
		struct tapir_call_step step;
	} calls = {.rec = {.tgid = 100,
			   .tid = 101,
			   .nr = 1,
			   .kind = TAPIR_CALLS_OF_THREAD,
			   .since_ns = 5500,
			   .cnt = 7,
			   .sum_ns = 7000,
			   .max_ns = 1500,
			   .step_cnt = 1},
		   .step = {40, 7}};
	static struct tapir_rec_interp_sample sample = {.tgid = 100, .tid = 101, .stack_id = 11};
	static struct tapir_rec_exchange exchange = {.tgid = 100,
						     .tid = 101,
						     .connection = 77,
						     .begin_ns = 5500,
						     .nr = 1,
						     .sent_bytes = 20,
						     .received_bytes = 300,
						     .local_port = 40000,
						     .peer_port = 5432,
						     .kind = TAPIR_EXCHANGE_ANSWERED};
	static struct tapir_rec_signal sent = {
		.tgid = 100, .tid = 101, .to_tgid = 200, .to_tid = 200, .number = 15};
	static struct tapir_rec_native native = {.tgid = 100,
						 .tid = 101,
						 .va = 0x7f0000003000,
						 .bytes = 4096,
						 .mean_bytes = 524288,
						 .stack_id = 11,
						 .kind = TAPIR_NATIVE_ALLOC};
	const struct {
		struct tapir_rec *rec;
		enum tapir_rec_type type;
		size_t bytes;
	} plain[] = {{&sample.h, TAPIR_REC_INTERP_SAMPLE, sizeof(sample)},
		     {NULL, TAPIR_REC_NONE, 0}, /* IO, which has a text */
		     {&exchange.h, TAPIR_REC_EXCHANGE, sizeof(exchange)},
		     {&calls.rec.h, TAPIR_REC_CALLS, sizeof(calls)},
		     {&sent.h, TAPIR_REC_SIGNAL, sizeof(sent)},
		     {&native.h, TAPIR_REC_NATIVE, sizeof(native)}};

	if (idx < 3 || idx == 4)
		return golden_named_record(idx);
	tapir_rec__init(plain[idx - 3].rec, plain[idx - 3].type, plain[idx - 3].bytes,
			5598 + (uint64_t)idx);
	return plain[idx - 3].rec;
}

#endif
