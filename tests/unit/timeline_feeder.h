/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timeline_feeder.h - made-up recordings for the tests of the timeline and its views: probes by
 * name, events with numbers or a text, switches, samples.
 */
#ifndef TAPIR_TEST_TIMELINE_FEEDER_H
#define TAPIR_TEST_TIMELINE_FEEDER_H

#include <string.h>

#include "analyze/timeline.h"
#include "trace/recbuf.h"

#define MS 1000000ull

struct feeder {
	struct tapir_catalog *catalog;
	struct tapir_recbuf buf;
	struct tapir_pairs pairs;
	struct tapir_timeline *tl;
};

static inline struct tapir_sv feeder_sv(const char *text)
{
	return (struct tapir_sv){text, strlen(text)};
}

static inline int feeder_init(struct feeder *f, const struct tapir_timeline_opts *opts)
{
	static const struct tapir_timeline_opts none;

	memset(f, 0, sizeof(*f));
	f->catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	f->tl = tapir_timeline__new(f->catalog, &f->pairs, opts ? opts : &none);
	return f->catalog && f->tl ? 0 : -1;
}

static inline void feeder_fini(struct feeder *f)
{
	tapir_timeline__free(f->tl);
	tapir_pairs__fini(&f->pairs);
	tapir_catalog__free(f->catalog);
	tapir_recbuf__fini(&f->buf);
}

static inline int feeder_add(struct feeder *f, const struct tapir_rec *rec)
{
	int err = tapir_catalog__describe(f->catalog, rec);

	return err < 0 ? err : tapir_timeline__add(f->tl, rec);
}

/* With up to two fields: a number called `number`, a text called `text`; NULL: not there. */
static inline void feeder_probe(struct feeder *f, uint32_t id, const char *provider,
				const char *event, const char *number, const char *text)
{
	struct tapir_rec_probe probe = {.probe_id = id};
	struct tapir_field fields[2] = {};
	struct tapir_sv names[2] = {};
	unsigned cnt = 0;

	if (number) {
		fields[cnt] = (struct tapir_field){.type = TAPIR_FIELD_UINT, .size = 8};
		names[cnt++] = feeder_sv(number);
	}
	if (text) {
		fields[cnt] = (struct tapir_field){.type = TAPIR_FIELD_STR};
		names[cnt++] = feeder_sv(text);
	}
	feeder_add(f, tapir_recbuf__probe(&f->buf, &probe, feeder_sv(provider), feeder_sv(event),
					  feeder_sv("/bin/x"), feeder_sv(""), fields, names, cnt));
}

struct feeder_event {
	uint32_t probe_id, tgid, tid;
	uint64_t time_ns, stack_id;
	uint64_t number; /* has_number: it is the first field */
	const char *text;
	const uint8_t *activity, *related;
	bool has_number;
};

static inline int feeder_event(struct feeder *f, struct feeder_event e)
{
	struct tapir_rec_event fixed = {.h = {.cpu = 0, .time_ns = e.time_ns},
					.probe_id = e.probe_id,
					.tgid = e.tgid,
					.tid = e.tid,
					.flags = (e.activity ? TAPIR_EVENT_ACTIVITY : 0) |
						 (e.related ? TAPIR_EVENT_RELATED : 0),
					.stack_id = e.stack_id};
	uint8_t payload[128] = {};
	size_t at = 0;
	struct tapir_event_view view = {.rec = &fixed,
					.activity_id = e.activity,
					.related_id = e.related,
					.payload = payload};

	if (e.has_number) {
		memcpy(payload, &e.number, 8);
		at = 8;
	}
	if (e.text) {
		struct tapir_slot_bytes slot = {.len_bytes = (uint32_t)strlen(e.text)};

		memcpy(payload + at, &slot, 8);
		memcpy(payload + at + 8, e.text, slot.len_bytes);
		at += 8 + slot.len_bytes;
	}
	view.payload_bytes = at;
	return feeder_add(f, tapir_recbuf__event(&f->buf, &view));
}

static inline int feeder_switch(struct feeder *f, uint64_t time_ns, struct tapir_rec_switch rec)
{
	tapir_rec__init(&rec.h, TAPIR_REC_SWITCH, sizeof(rec), time_ns);
	rec.h.cpu = TAPIR_CPU_UNKNOWN; /* threads that are fed do not share one */
	return feeder_add(f, &rec.h);
}

/* Of a CPU: threads of process 100, 0: of no recorded process. */
static inline int feeder_swap(struct feeder *f, uint16_t cpu, uint32_t out_tid, uint32_t in_tid,
			      uint64_t time_ns)
{
	struct tapir_rec_switch rec = {.out_tgid = out_tid ? 100 : 0,
				       .out_tid = out_tid,
				       .out_state = TAPIR_STATE_SLEEPING,
				       .in_tgid = in_tid ? 100 : 0,
				       .in_tid = in_tid};

	tapir_rec__init(&rec.h, TAPIR_REC_SWITCH, sizeof(rec), time_ns);
	rec.h.cpu = cpu;
	return feeder_add(f, &rec.h);
}

static inline int feeder_leave(struct feeder *f, uint32_t tid, uint64_t time_ns, uint16_t state)
{
	return feeder_switch(
		f, time_ns,
		(struct tapir_rec_switch){.out_tgid = 100, .out_tid = tid, .out_state = state});
}

static inline int feeder_come(struct feeder *f, uint32_t tid, uint64_t time_ns, uint64_t wake_ns,
			      uint32_t waker)
{
	return feeder_switch(f, time_ns,
			     (struct tapir_rec_switch){.in_tgid = 100,
						       .in_tid = tid,
						       .in_wake_ns = wake_ns,
						       .in_waker_tid = waker});
}

/* What a thread of process 100 is called. */
static inline int feeder_thread(struct feeder *f, uint32_t tid, const char *comm)
{
	struct tapir_rec_thread thread = {.h.time_ns = 1, .tgid = 100, .tid = tid, .start_ns = 1};

	memcpy(thread.comm, comm, strnlen(comm, sizeof(thread.comm) - 1));
	tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), 1);
	return feeder_add(f, &thread.h);
}

static inline int feeder_sample(struct feeder *f, uint32_t tgid, uint32_t tid, uint64_t time_ns,
				uint64_t stack_id)
{
	struct tapir_rec_sample sample = {
		.tgid = tgid, .tid = tid, .period = 1, .stack_id = stack_id};

	tapir_rec__init(&sample.h, TAPIR_REC_SAMPLE, sizeof(sample), time_ns);
	return feeder_add(f, &sample.h);
}

/* A file of process 100 at start_va, 4 KB of it. */
static inline int feeder_mapping(struct feeder *f, uint64_t start_va, const char *path)
{
	struct tapir_rec_mapping mapping = {.tgid = 100,
					    .flags = TAPIR_MAPPING_EXEC,
					    .start_va = start_va,
					    .end_va = start_va + 0x1000,
					    .file_id = start_va};

	return feeder_add(f, tapir_recbuf__mapping(&f->buf, &mapping, feeder_sv(path)));
}

static inline int feeder_stack(struct feeder *f, uint64_t id, const uint64_t *frames_va,
			       unsigned cnt)
{
	struct tapir_rec_stack stack = {.stack_id = id};

	return feeder_add(f, tapir_recbuf__stack(&f->buf, &stack, frames_va, cnt));
}

/* A kernel's stack of one function, whose id is below 256. */
static inline void feeder_kernel_function(struct feeder *f, uint64_t id, const char *name)
{
	const uint64_t va = 0xffffffff81000000ull, frame_va = va + 0x1000 * id + 8;
	struct tapir_rec_mapping mapping = {.flags = TAPIR_MAPPING_EXEC,
					    .start_va = va,
					    .end_va = va + 0x100000,
					    .file_id = 99};
	struct tapir_rec_symbol symbol = {.file_id = 99, .start_off = 0x1000 * id, .size = 0x1000};
	struct tapir_rec_stack stack = {.stack_id = id, .flags = TAPIR_STACK_KERNEL};

	feeder_add(f, tapir_recbuf__mapping(&f->buf, &mapping, feeder_sv("[kernel.kallsyms]")));
	feeder_add(f, tapir_recbuf__symbol(&f->buf, &symbol, feeder_sv(name)));
	feeder_add(f, tapir_recbuf__stack(&f->buf, &stack, &frame_va, 1));
}

/* kind: an enum tapir_process_kind. */
static inline int feeder_process(struct feeder *f, uint32_t tgid, uint64_t time_ns, uint8_t kind)
{
	struct tapir_rec_process process = {.h.time_ns = time_ns, .tgid = tgid, .kind = kind};

	return feeder_add(f, tapir_recbuf__process(&f->buf, &process, feeder_sv("x"), feeder_sv(""),
						   feeder_sv(""), feeder_sv("")));
}

static inline int feeder_exit(struct feeder *f, uint32_t tgid, uint64_t time_ns)
{
	return feeder_process(f, tgid, time_ns, TAPIR_PROCESS_EXIT);
}

#endif
