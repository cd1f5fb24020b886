/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ring_seen.h - a ring reader and who takes its blocks: counts what came, and what is wrong with
 * it. */
#ifndef TAPIR_TEST_RING_SEEN_H
#define TAPIR_TEST_RING_SEEN_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/map.h"
#include "attach/rings/ring_reader.h"
#include "queue_drain.h"
#include "ring_maker.h"
#include "trace/record.h"

#define SLOTS 4

static struct ring_maker maker;
static struct tapir_queue *queue;
static struct tapir_ring_reader *reader;
static struct tapir_spec_list specs;
static pthread_t consumer;
static bool is_consuming;

/* What the consumer saw. */
static struct {
	_Atomic uint64_t event_cnt, lost_cnt, nested_cnt, malformed_cnt, stack_cnt, thread_cnt;
	_Atomic uint64_t disorder_cnt, wrong_cnt, probe_cnt, limited_cnt;
	_Atomic uint64_t undescribed_cnt, late_gap_cnt, failed_gap_cnt;
	uint64_t next[SLOTS]; /* of the sequence in each slot */
	uint32_t tgid, tids[SLOTS], probe_id, thread_tid;
} seen;

struct fired {
	struct tapir_rec_event ev;
	uint64_t slot, seq;
	uint8_t filler[512];
};

/* ---- the other end ---------------------------------------------------------------------- */

static inline void see_event(const struct tapir_rec_event *ev)
{
	const struct fired *f = (const void *)ev;

	seen.event_cnt++;
	if (ev->pad0 || ev->lane != TAPIR_LANE_RING || f->slot >= SLOTS ||
	    ev->probe_id != seen.probe_id || ev->h.time_ns > tapir_clock__now_ns()) {
		seen.wrong_cnt++;
		return;
	}
	seen.disorder_cnt += f->seq < seen.next[f->slot];
	seen.next[f->slot] = f->seq + 1;
	seen.tgid = ev->tgid;
	seen.tids[f->slot] = ev->tid;
}

static inline void see_loss(const struct tapir_rec_loss *loss)
{
	seen.lost_cnt += loss->cause == TAPIR_LOSS_RING_LANE_DROP ? loss->count : 0;
	seen.nested_cnt += loss->cause == TAPIR_LOSS_RING_LANE_NESTED ? loss->count : 0;
	seen.undescribed_cnt += loss->cause == TAPIR_LOSS_RING_LANE_UNDESCRIBED ? loss->count : 0;
	seen.limited_cnt += loss->cause == TAPIR_LOSS_RING_LANE_LIMITED ? loss->count : 0;
	seen.malformed_cnt += loss->cause == TAPIR_LOSS_MALFORMED ? loss->count : 0;
}

static inline void see_gap(const struct tapir_rec_gap *gap)
{
	seen.late_gap_cnt += gap->reason == TAPIR_GAP_ATTACH_LATE;
	seen.failed_gap_cnt += gap->reason == TAPIR_GAP_ATTACH_FAILED;
	seen.wrong_cnt += gap->from_ns > gap->until_ns;
}

static inline void see(const struct tapir_rec *rec)
{
	if (rec->type == TAPIR_REC_EVENT)
		see_event((const void *)rec);
	else if (rec->type == TAPIR_REC_LOSS)
		see_loss((const void *)rec);
	else if (rec->type == TAPIR_REC_GAP)
		see_gap((const void *)rec);
	else if (rec->type == TAPIR_REC_PROBE && !seen.probe_cnt++)
		seen.probe_id = ((const struct tapir_rec_probe *)rec)->probe_id;
	else if (rec->type == TAPIR_REC_THREAD)
		seen.thread_tid = ((const struct tapir_rec_thread *)rec)->tid;
	seen.stack_cnt += rec->type == TAPIR_REC_STACK;
	seen.thread_cnt += rec->type == TAPIR_REC_THREAD;
}

static inline bool see_well_formed(const struct tapir_rec *rec, size_t left_bytes)
{
	if (left_bytes && !tapir_record__ok(rec, left_bytes)) {
		seen.wrong_cnt++;
		return false;
	}
	see(rec);
	return true;
}

static inline void *consume(void *arg)
{
	(void)arg;
	queue_drain(queue, see_well_formed);
	return NULL;
}

static inline void start_reader(const char *spec_text)
{
	struct tapir_ring_reader_opts opts = {.sz = sizeof(opts), .specs = &specs};
	struct tapir_spec *spec;

	memset(&seen, 0, sizeof(seen));
	assert_int_equal(tapir_spec__parse(spec_text, &spec), 0);
	assert_true(tapir_vec__push(&specs, spec));
	assert_int_equal(tapir_queue__new(8, &queue), 0);
	opts.queue = queue;
	opts.with_stack = true;
	assert_int_equal(tapir_ring_reader__start(&opts, &reader), 0);
	assert_int_equal(pthread_create(&consumer, NULL, consume, NULL), 0);
	is_consuming = true;
}

static struct tapir_ring_reader_stats stop_reader(void)
{
	struct tapir_ring_reader_stats stats = {};

	if (reader) {
		tapir_ring_reader__stop(reader);
		tapir_ring_reader__stats(reader, &stats);
		tapir_ring_reader__free(reader);
		reader = NULL;
	}
	if (is_consuming) {
		tapir_queue__close(queue);
		pthread_join(consumer, NULL);
		is_consuming = false;
	}
	tapir_queue__free(queue);
	queue = NULL;
	for (size_t i = 0; i < specs.cnt; i++)
		tapir_spec__free(specs.data[i]);
	tapir_vec__fini(&specs);
	return stats;
}

/* An event for every session that wants it; false: lost, and counted so. */
static inline bool fire(struct ring_maker *m, unsigned slot, unsigned event, uint64_t seq)
{
	uint64_t word = __atomic_load_n(&m->ctl->words[event], __ATOMIC_SEQ_CST);
	struct fired f = {
		.ev = {.h = {.type = TAPIR_REC_EVENT,
			     .cpu = TAPIR_CPU_UNKNOWN,
			     .time_ns = tapir_clock__now_ns()},
		       .probe_id = TAPIR_RING_ID(event, 1),
		       .tgid = (uint32_t)getpid(),
		       .tid = (uint32_t)gettid(),
		       .lane = TAPIR_LANE_RING,
		       .pad0 = (uint8_t)(word >> TAPIR_RING_WANT_SHIFT)},
		.slot = slot,
		.seq = seq,
	};

	f.ev.h.size = (uint32_t)(sizeof(f.ev) + 16 + seq % 61 * 8);
	f.ev.payload_bytes = f.ev.h.size - (uint32_t)sizeof(f.ev);
	if (!f.ev.pad0)
		return false;
	if (maker_put(m, slot, &f))
		return true;
	for (unsigned s = 0; s < TAPIR_RING_SESSIONS; s++)
		if (f.ev.pad0 & 1u << s)
			__atomic_fetch_add(&maker_losses(m, event)->cnt[s][TAPIR_RING_NO_SPACE], 1,
					   __ATOMIC_RELAXED);
	return false;
}

/* A lane with two events, of which the reader wants the first. */
static inline void open_lane(void)
{
	assert_true(maker_open(&maker, 0x77));
	maker_event(&maker, "prov", "wanted", 4, 1);
	maker_event(&maker, "prov", "other", 4, 2);
	start_reader("prov:wanted");
	assert_int_equal(tapir_ring_reader__add(reader, (uint32_t)getpid()), 1);
	assert_int_equal(tapir_ring_reader__add(reader, (uint32_t)getpid()), 0);
}

static inline int teardown(void **state)
{
	(void)state;
	stop_reader();
	maker_close(&maker);
	return 0;
}

#endif
