// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks each record of a ring and turns it into one of the recording. This is the hot path of the
 * reader: per event two checks, look-ups in two small caches, five stores; nothing is allocated.
 */
#include "attach/rings/ring_records.h"

#include <string.h>

#include "tapir/stack_walk.h"
#include "trace/record.h"

static uint64_t host_time(const struct tapir_ring_scan *scan, uint64_t time_ns)
{
	uint64_t ns = time_ns - (uint64_t)scan->clock_offset_ns;

	if (ns > scan->max_ns)
		return scan->max_ns;
	return ns < scan->min_ns ? scan->min_ns : ns;
}

/* A kernel stack is nothing a process knows of; the rest of the flags are about itself. */
static bool is_event_sound(const struct tapir_ring_scan *scan, const struct tapir_rec_event *ev)
{
	return ev->tgid == scan->ns_tgid && ev->tid &&
	       TAPIR_RING_ID_IDX(ev->probe_id) < TAPIR_RING_EVENTS &&
	       !(ev->flags & TAPIR_EVENT_KSTACK);
}

/* 1: keep it, 0: it is not for us, -1: malformed. */
static int take_event(struct tapir_ring_scan *scan, struct tapir_rec_event *ev)
{
	uint32_t probe_id;

	if (!(ev->pad0 & scan->session_bit))
		return 0;
	if (!is_event_sound(scan, ev))
		return -1;
	probe_id = scan->probe_of(scan->ctx, ev->probe_id);
	if (!probe_id)
		return 0;
	ev->h.cpu = TAPIR_CPU_UNKNOWN;
	ev->h.time_ns = host_time(scan, ev->h.time_ns);
	ev->probe_id = probe_id;
	ev->tgid = scan->tgid;
	ev->tid = scan->tid_of(scan->ctx, ev->tid, false);
	ev->lane = TAPIR_LANE_RING;
	ev->pad0 = 0;
	ev->pad1 = 0;
	scan->event_cnt++;
	return 1;
}

/* A stack under another's id would give another process's events false frames. */
static int take_stack(struct tapir_ring_scan *scan, struct tapir_rec_stack *stack)
{
	uint64_t hash = 0;
	const uint64_t *frames = (const uint64_t *)(stack + 1);

	for (unsigned i = 0; i < stack->frame_cnt; i++)
		hash = tapir_walk__hash(hash, frames[i]);
	if (stack->stack_id != (hash ? hash : 1))
		return -1;
	stack->h.cpu = TAPIR_CPU_UNKNOWN;
	stack->h.time_ns = host_time(scan, stack->h.time_ns);
	stack->flags &= TAPIR_STACK_MORE | TAPIR_STACK_FAULT | TAPIR_STACK_UNWOUND;
	stack->flags |= TAPIR_STACK_CALLED;
	if (stack->end >= TAPIR_STACK_END_CNT)
		stack->end = TAPIR_STACK_END_UNKNOWN;
	memset(stack->pad0, 0, sizeof(stack->pad0));
	return 1;
}

static int take_thread(struct tapir_ring_scan *scan, struct tapir_rec_thread *thread)
{
	if (thread->tgid != scan->ns_tgid || !thread->tid)
		return -1;
	thread->h.cpu = TAPIR_CPU_UNKNOWN;
	thread->h.time_ns = host_time(scan, thread->h.time_ns);
	thread->ns_tgid = scan->ns_tgid;
	thread->ns_tid = thread->tid;
	thread->tgid = scan->tgid;
	thread->tid = scan->tid_of(scan->ctx, thread->tid, true);
	thread->start_ns = thread->leader_start_ns = 0;
	return 1;
}

static int take_record(struct tapir_ring_scan *scan, struct tapir_rec *rec)
{
	if (rec->type == TAPIR_REC_NONE)
		return 0;
	if (!tapir_record__ok(rec, rec->size))
		return -1;
	switch (rec->type) {
	case TAPIR_REC_EVENT:
		return take_event(scan, (struct tapir_rec_event *)rec);
	case TAPIR_REC_STACK:
		return take_stack(scan, (struct tapir_rec_stack *)rec);
	case TAPIR_REC_THREAD:
		return take_thread(scan, (struct tapir_rec_thread *)rec);
	default:
		return -1;
	}
}

struct tapir_ring_taken tapir_ring_records__take(struct tapir_ring_scan *scan, void *data,
						 size_t bytes)
{
	struct tapir_ring_taken t = {};

	while (bytes - t.used_bytes >= sizeof(struct tapir_rec)) {
		struct tapir_rec *rec = (void *)((char *)data + t.used_bytes);
		uint32_t size = rec->size;
		int keep;

		if (size < sizeof(*rec) || size % 8 || size > TAPIR_RING_RECORD_BYTES) {
			t.is_corrupt = true;
			break;
		}
		if (size > bytes - t.used_bytes)
			break;
		keep = take_record(scan, rec);
		scan->malformed_cnt += keep < 0;
		if (keep > 0 && t.kept_bytes != t.used_bytes)
			memmove((char *)data + t.kept_bytes, rec, size);
		t.kept_bytes += keep > 0 ? size : 0;
		t.used_bytes += size;
	}
	return t;
}
