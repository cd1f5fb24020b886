/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * golden_v1.h - what golden-v1.tapir holds: one record of each type, descriptions first, in
 * the order in which a reader delivers them. make_golden_v1.c wrote the file with it once;
 * test_trace_golden.c builds the same records and compares. Never change it for version 1.
 */
#ifndef TAPIR_TEST_GOLDEN_V1_H
#define TAPIR_TEST_GOLDEN_V1_H

#include <string.h>

#include "trace/recbuf.h"

#define GOLDEN_CNT	      18
#define GOLDEN_CREATED_UTC_NS 1767225600000000000ull /* 2026-01-01T00:00:00Z */
#define GOLDEN_CREATED_NS     5000ull

#define SV(text)	      ((struct tapir_sv){text, sizeof(text) - 1})

/* Descriptions of where code lies. */
static inline const struct tapir_rec *golden_place(struct tapir_recbuf *b, int idx)
{
	struct tapir_rec_mapping mapping = {.h.time_ns = 1006,
					    .tgid = 100,
					    .flags = TAPIR_MAPPING_EXEC,
					    .start_va = 0x400000,
					    .end_va = 0x500000,
					    .file_off = 0x1000,
					    .file_id = 99,
					    .inode = 4242,
					    .dev = 8 << 20 | 1,
					    .build_id_bytes = 4,
					    .build_id = {0xde, 0xad, 0xbe, 0xef}};
	struct tapir_rec_stack stack = {
		.h.time_ns = 1007, .stack_id = 0xfeed, .flags = TAPIR_STACK_FAULT};
	struct tapir_rec_symbol symbol = {
		.h.time_ns = 1008, .file_id = 99, .start_off = 0x2000, .size = 0x100};
	struct tapir_rec_jit jit = {.h.time_ns = 1009,
				    .tgid = 100,
				    .source = TAPIR_JIT_PERF_MAP,
				    .start_va = 0x7f0000001000,
				    .size = 64,
				    .from_ns = 1005,
				    .until_ns = 2000};
	uint64_t frames_va[] = {0x401010, 0x7f0000001020};

	switch (idx) {
	case 6:
		return tapir_recbuf__mapping(b, &mapping, SV("/bin/pg"));
	case 7:
		return tapir_recbuf__stack(b, &stack, frames_va, 2);
	case 8:
		return tapir_recbuf__symbol(b, &symbol, SV("exec_simple_query"));
	default:
		return tapir_recbuf__jit(b, &jit, SV("java.lang.Thread.run()"));
	}
}

static inline const struct tapir_rec *golden_description(struct tapir_recbuf *b, int idx)
{
	static union {
		struct tapir_rec_clock clock;
		struct tapir_rec_thread thread;
	} r;
	struct tapir_rec_probe probe = {.h = {.cpu = TAPIR_CPU_UNKNOWN, .time_ns = 1002},
					.probe_id = 1,
					.event_id = 2,
					.version = 3,
					.level = 4,
					.keywords = 0x8000000000000001,
					.site_off = 0x1234,
					.semaphore_off = 0x5678};
	struct tapir_field fields[] = {{.type = TAPIR_FIELD_INT, .size = 4},
				       {.type = TAPIR_FIELD_STR},
				       {.reason = TAPIR_OPERAND_VECTOR_REG, .size = 8}};
	struct tapir_sv names[] = {SV("count"), SV("query"), SV("")};
	struct tapir_rec_metadata metadata = {.h.time_ns = 1003, .probe_id = 1, .format = 1};
	struct tapir_rec_process process = {.h = {.cpu = 1, .time_ns = 1004},
					    .tgid = 100,
					    .parent_tgid = 1,
					    .ns_tgid = 7,
					    .uid = 1000,
					    .start_ns = 900,
					    .cgroup_id = 55,
					    .kind = TAPIR_PROCESS_EXEC};

	switch (idx) {
	case 0:
		return tapir_recbuf__meta(b, 1000, SV("command"), SV("tapir record"));
	case 1:
		tapir_rec__init(&r.clock.h, TAPIR_REC_CLOCK, sizeof(r.clock), 1001);
		r.clock.utc_ns = GOLDEN_CREATED_UTC_NS;
		r.clock.boot_ns = 6000;
		return &r.clock.h;
	case 2:
		return tapir_recbuf__probe(b, &probe, SV("pg"), SV("query__start"), SV("/bin/pg"),
					   SV("\xab\xcd"), fields, names, 3);
	case 3:
		return tapir_recbuf__metadata(b, &metadata, SV("\1\2\3"));
	case 4:
		return tapir_recbuf__process(b, &process, SV("pg"), SV("/bin/pg"),
					     SV("pg\0-D\0data"), SV("/system.slice"));
	case 5:
		memset(&r.thread, 0, sizeof(r.thread));
		tapir_rec__init(&r.thread.h, TAPIR_REC_THREAD, sizeof(r.thread), 1005);
		r.thread.tgid = 100;
		r.thread.tid = 101;
		r.thread.ns_tgid = 7;
		r.thread.ns_tid = 8;
		memcpy(r.thread.comm, "worker", 6);
		memcpy(r.thread.leader_comm, "pg", 2);
		return &r.thread.h;
	default:
		return golden_place(b, idx);
	}
}

static inline const struct tapir_rec *golden_event(struct tapir_recbuf *b, uint16_t flags)
{
	static const struct {
		uint64_t count;
		struct tapir_slot_bytes query, none;
		char text[8];
	} payload = {0xffffffffffffffff, {8, TAPIR_SLOT_CUT}, {0, 0}, "SELECT 1"};
	struct tapir_rec_event ev = {.h = {.cpu = 2, .time_ns = 3000u + flags},
				     .probe_id = 1,
				     .tgid = 100,
				     .tid = 101,
				     .flags = flags,
				     .fault_mask = 4,
				     .stack_id = 0xfeed};
	struct tapir_event_view view = {.rec = &ev,
					.kstack_id = 0xbeef,
					.activity_id = (const uint8_t *)"activity-16bytes",
					.related_id = (const uint8_t *)"related--16bytes",
					.payload = (const uint8_t *)&payload,
					.payload_bytes = sizeof(payload)};

	return tapir_recbuf__event(b, &view);
}

/* Record idx of GOLDEN_CNT, borrowed until the next call. */
static inline const struct tapir_rec *golden_record(struct tapir_recbuf *b, int idx)
{
	static union {
		struct tapir_rec_sample sample;
		struct tapir_rec_switch sched;
		struct tapir_rec_loss loss;
	} r;
	struct tapir_rec_counter counter = {
		.h.time_ns = 4003, .tgid = 100, .kind = 1, .value = 2.5, .interval_ns = 1000};
	struct tapir_rec_gap gap = {.h.time_ns = 4005,
				    .tgid = 100,
				    .reason = TAPIR_GAP_ATTACH_LATE,
				    .from_ns = 4000,
				    .until_ns = 4005};

	memset(&r, 0, sizeof(r));
	switch (idx) {
	case 10:
		return golden_event(b, 0);
	case 11:
		return golden_event(b, TAPIR_EVENT_KSTACK | TAPIR_EVENT_ACTIVITY |
					       TAPIR_EVENT_RELATED | TAPIR_EVENT_CUT);
	case 12:
		tapir_rec__init(&r.sample.h, TAPIR_REC_SAMPLE, sizeof(r.sample), 4001);
		r.sample.tgid = 100;
		r.sample.tid = 101;
		r.sample.period = 1001001;
		r.sample.stack_id = 0xfeed;
		return &r.sample.h;
	case 13:
		tapir_rec__init(&r.sched.h, TAPIR_REC_SWITCH, sizeof(r.sched), 4002);
		r.sched.out_tgid = 100;
		r.sched.out_tid = 101;
		r.sched.in_wake_ns = 3999;
		r.sched.out_state = 1;
		return &r.sched.h;
	case 14:
		return tapir_recbuf__counter(b, &counter, SV("System.Runtime"), SV("alloc-rate"),
					     SV("B"), SV("gen=0"));
	case 15:
		tapir_rec__init(&r.loss.h, TAPIR_REC_LOSS, sizeof(r.loss), 4004);
		r.loss.cause = TAPIR_LOSS_RING_FULL;
		r.loss.probe_id = 1;
		r.loss.count = 17;
		r.loss.from_ns = 4000;
		r.loss.until_ns = 4004;
		return &r.loss.h;
	case 16:
		return tapir_recbuf__gap(b, &gap, SV("/lib/late.so"));
	case 17: /* a type of the future: passed on, not understood */
		tapir_rec__init(&r.loss.h, (enum tapir_rec_type)1000, 24, 4006);
		return &r.loss.h;
	default:
		return golden_description(b, idx);
	}
}

#endif
