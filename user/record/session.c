// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The session thread: all records of a recording pass through it, one at a time, on their way from
 * capture to the file or the live output. Per event: a check, a lookup in the catalog, a copy into
 * the writer.
 *
 * The threads around it (user/README.md has all of them):
 *
 *   drain, ring reader, streams  --- blocks --->  +---------+ ---> catalog, namer, losses
 *   (copies of captured records)                  |         |
 *                                  attach/flow/queue.c   | session | ---> trace/writer.c (a file)
 *   main: targets, mappings,                      |         |
 *   GAPs, notes of .NET lanes    --- notes  --->  +---------+ ---> on_record (live output)
 *
 * Capture must not wait: a ring that is not drained loses events. So the capturing threads only
 * copy records into blocks from a fixed pool. If this thread falls behind, they find no empty
 * block, records stay in the rings, and the writer of the ring counts what no longer fits. Writing
 * and naming, which may be slow, happen here and block no ring. For the same reason this thread
 * raises its priority above the traced programs, and sources that can take seconds (a JVM, a debug
 * file on a dead file system) are queried by other threads or processes.
 *
 * Only this thread touches the catalog, the namer, the unwinding, the counters and the writer: none
 * of them has a lock. Other threads see the numbers in the atomic members only, and the first error
 * of the sink by shared_err and the eventfd of note_error().
 *
 * Order. Within one source, records arrive in the order in which they were written; between sources
 * they do not, and the file keeps them as they come. Readers sort by time (trace/reorder.h). What
 * must hold here is that a description precedes its use:
 *
 *   - notes are handled before the block that was taken with them, so that the process and the
 *     mappings of an event are known before the event;
 *   - handle_event() and handle_captured() let the catalog write what the record refers to, then
 *     put the record itself;
 *   - a live sink sees a record after its stack was named (name_new_stacks), since it prints at
 *     once; a file gets the names within a second, as records of their own.
 *
 * Once per second (tick): names of new stacks, losses by cause, the clock pair that maps monotonic
 * time to UTC, and a flush, so that a killed recorder loses at most that second. When the writer's
 * segment is full, start_segment() makes the BPF programs send stacks and threads again
 * (tapir_programs__next_epoch), because the catalog forgets what two segments did not use.
 *
 * Losses that user space causes are counted here as well (poll_own_losses): a malformed record, a
 * full table, memory, a full disk. Each has its own cause, and none is only logged.
 *
 * The end. The queue is closed after the last capturing thread has stopped; tapir_queue__wait()
 * then returns false when it is empty. The last tick writes what is left, with losses of the final
 * second.
 */
#include "record/session.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "record/async_stacks/await_code.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "record/call_counts.h"
#include "record/counter_maker.h"
#include "record/condition_filter.h"
#include "record/io_paths.h"
#include "record/kernel_rows.h"
#include "record/lane_dedup.h"
#include "record/runtime_watches.h"
#include "record/loss_poll.h"
#include "record/names/interp_stacks.h"
#include "record/names/namer.h"
#include "record/unwinding.h"
#include "record/wait_records.h"
#include "trace/recbuf.h"

#define SINK_POLL_NS (20 * TAPIR_NS_PER_MS)
#define TRIM_NS	     (10 * TAPIR_NS_PER_SEC)

struct tapir_session {
	struct tapir_session_opts opts;
	struct tapir_catalog *catalog;
	struct tapir_namer *namer;
	struct tapir_interp_stacks *interp_stacks; /* NULL: names are not wanted */
	struct tapir_unwinding *unwinding;	   /* NULL: no programs walk stacks */
	struct tapir_await_code await_code;
	struct tapir_counter_maker *counters;
	struct tapir_runtime_watches watches; /* none: no file, and not requested */
	struct tapir_loss_poll loss_poll;
	struct tapir_lane_dedup twice;
	struct tapir_condition_filter *filter; /* NULL: nothing is left out */
	struct tapir_io_paths io_paths;
	struct tapir_call_counts *calls;  /* NULL: none are counted */
	struct tapir_wait_records *waits; /* NULL: none are summed */
	struct tapir_kernel_rows *kernel; /* NULL: nothing of the kernel's is counted */
	uint64_t ended_ns;		  /* when capture ended; 0: it has not */
	pthread_t thread;
	bool is_running;
	int err;	       /* of the sink, the first one */
	bool sink_has_pending; /* something that it prints soon */
	bool has_warned;       /* of a segment that could not be written */
	uint64_t malformed_cnt, refused_cnt, probe_hit_cnt;
	uint64_t trimmed_ns;	 /* when free memory was given back last */
	struct tapir_diag *diag; /* the lines that belong to err */
	atomic_uint_least64_t captured[TAPIR_FAMILY_CNT];
	atomic_uint_least64_t lost_cnt, gap_cnt, unseen_cnt, unwritten_cnt, file_bytes, skipped_cnt,
		shared_probe_hit_cnt;
	atomic_int shared_err;
	atomic_bool has_reached_mark; /* and what was posted before is in the kernel */
};

/* Keeps the first error of the sink, with its lines, and notifies the control thread. */
static void note_error(struct tapir_session *s, int err)
{
	uint64_t one = 1;

	if (!err || s->err)
		return;
	s->err = err;
	s->diag = tapir_diag__take();
	atomic_store(&s->shared_err, err);
	if (s->opts.wake_fd >= 0 && write(s->opts.wake_fd, &one, sizeof(one)) < 0)
		return; /* the counter is full: the other side is awake already */
}

/* A segment on a full disk is no reason to end: what it lost is counted, and the next one begins.
 */
static void note_write(struct tapir_session *s, int err)
{
	if (!err || !s->opts.flight) {
		note_error(s, err);
		return;
	}
	if (!s->has_warned && tapir_diag__cnt())
		tapir_warn("%s", tapir_diag__line(tapir_diag__cnt() - 1));
	s->has_warned = true;
	tapir_diag__clear();
}

static void deliver_to_outputs(struct tapir_session *s, const struct tapir_rec *rec)
{
	if (s->opts.writer)
		note_write(s, tapir_writer__put(s->opts.writer, rec));
	if (s->opts.on_record && !s->err)
		note_error(s, s->opts.on_record(s->opts.ctx, s->catalog, rec));
	if (s->opts.flight)
		s->opts.flight->on_record(s->opts.flight->ctx, s->catalog, rec);
}

/* ---- records ---------------------------------------------------------------------------- */

static void name_new_stacks(struct tapir_session *s)
{
	note_write(s, tapir_namer__name_new_stacks(s->namer));
}

/* False: it is no event that was requested. */
static bool handle_event(struct tapir_session *s, const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const void *)rec;

	s->probe_hit_cnt += ev->lane == TAPIR_LANE_PROBE;
	if (tapir_namer__on_event(s->namer, ev) || tapir_lane_dedup__filter(&s->twice, ev))
		return false;
	if (!tapir_condition_filter__has(s->filter, ev)) {
		tapir_counter_maker__add(s->counters, s->catalog, ev);
		return false;
	}
	note_write(s, tapir_catalog__use_event(s->catalog, ev));
	note_write(s, tapir_await_code__on_event(&s->await_code, s->catalog, ev));
	if (s->opts.on_record && ev->stack_id)
		name_new_stacks(s); /* printed in a moment */
	deliver_to_outputs(s, rec);
	tapir_counter_maker__add(s->counters, s->catalog, ev);
	tapir_runtime_watches__add(&s->watches, s->catalog, ev);
	return true;
}

static void put_counter(void *ctx, const struct tapir_rec *rec)
{
	deliver_to_outputs(ctx, rec);
}

/* Each thread that the record names needs a name. */
static void handle_captured(struct tapir_session *s, const struct tapir_rec *rec)
{
	note_write(s, tapir_catalog__use_record(s->catalog, rec));
	deliver_to_outputs(
		s, rec->type == TAPIR_REC_IO ? tapir_io_paths__complete(&s->io_paths, rec) : rec);
}

/* Numbers of system calls are read, not captured: they are in no block. */
static void put_calls(void *ctx, const struct tapir_rec *rec)
{
	struct tapir_session *s = ctx;

	handle_captured(s, rec);
	atomic_fetch_add(&s->captured[TAPIR_FAMILY_CALLS], tapir_rec__weight(rec));
}

static bool handle_record(struct tapir_session *s, const struct tapir_rec *rec, int fd);

/* They are read, too, with the stacks that they name. */
static void put_kernel(void *ctx, const struct tapir_rec *rec)
{
	struct tapir_session *s = ctx;

	if (rec->type != TAPIR_REC_THREAD ||
	    !tapir_catalog__thread(s->catalog, ((const struct tapir_rec_thread *)rec)->tid,
				   rec->time_ns))
		handle_record(s, rec, -1);
	if (rec->type == TAPIR_REC_KERNEL)
		atomic_fetch_add(&s->captured[TAPIR_FAMILY_KERNEL], tapir_rec__weight(rec));
}

static void put_waits(void *ctx, const struct tapir_rec *rec)
{
	handle_captured(ctx, rec);
}

static uint64_t last_ns(const struct tapir_session *s)
{
	return s->ended_ns ? s->ended_ns : tapir_clock__now_ns();
}

static bool is_exit(const struct tapir_rec *rec)
{
	return rec->type == TAPIR_REC_PROCESS &&
	       ((const struct tapir_rec_process *)rec)->kind == TAPIR_PROCESS_EXIT;
}

/* -ENOSPC is the catalog's own memory bound, unless the writer lost something: a full disk. */
static void describe_name(void *ctx, const struct tapir_rec *rec)
{
	struct tapir_session *s = ctx;
	int mark = tapir_diag__cnt(), err = tapir_catalog__describe(s->catalog, rec);

	if (err == -ENOSPC && !(s->opts.writer && tapir_writer__lost_records(s->opts.writer))) {
		tapir_diag__rewind(mark);
		s->refused_cnt++;
	} else if (err < 0) {
		note_write(s, err);
	}
	if (s->opts.flight)
		s->opts.flight->on_record(s->opts.flight->ctx, s->catalog, rec);
	if (s->opts.on_exit && is_exit(rec))
		s->opts.on_exit(s->opts.ctx, ((const struct tapir_rec_process *)rec)->tgid);
}

/* A runtime adds descriptions of its processes, and records of moments. */
static void put_of_runtime(void *ctx, const struct tapir_rec *rec)
{
	if (tapir_rec_type__describes(rec->type))
		describe_name(ctx, rec);
	else
		deliver_to_outputs(ctx, rec);
}

static void put_loss(void *ctx, const struct tapir_rec_loss *loss)
{
	struct tapir_session *s = ctx;
	bool is_complete = tapir_loss__is_complete(loss->cause);

	tapir_namer__on_loss(s->namer, loss);
	if (tapir_namer__is_for_names(s->namer, loss->probe_id)) {
		s->refused_cnt += is_complete ? loss->count : 0; /* a name is missing, no event */
		return;
	}
	if (is_complete)
		atomic_fetch_add(&s->lost_cnt, loss->count);
	if (loss->cause == TAPIR_LOSS_RING_FULL)
		s->probe_hit_cnt += loss->count;
	if (loss->cause == TAPIR_LOSS_NOT_WHERE)
		atomic_fetch_add(&s->skipped_cnt, loss->count);
	if (tapir_loss__hides_events(loss->cause))
		atomic_fetch_add(&s->unseen_cnt, loss->count);
	deliver_to_outputs(s, &loss->h);
}

static void note_end(struct tapir_session *s, const struct tapir_rec *rec)
{
	struct tapir_meta_view meta;

	if (rec->type != TAPIR_REC_META)
		return;
	tapir_meta_view__of(rec, &meta);
	if (tapir_sv__is(meta.key, TAPIR_META_ENDED))
		s->ended_ns = rec->time_ns;
}

static bool is_for_names(const struct tapir_rec *rec)
{
	return rec->type == TAPIR_REC_PROBE &&
	       ((const struct tapir_rec_probe *)rec)->flags & TAPIR_PROBE_FOR_NAMES;
}

/* fd: of a MAPPING's file, else -1; borrowed. True: it was an event that was requested. */
static bool handle_record(struct tapir_session *s, const struct tapir_rec *rec, int fd)
{
	if (rec->type == TAPIR_REC_EVENT)
		return handle_event(s, rec);
	if (tapir_family__of(rec->type) >= 0) {
		handle_captured(s, rec);
	} else if (tapir_rec_type__describes(rec->type)) {
		if (!is_for_names(rec))
			describe_name(s, rec);
		/*
		 * All of these learn from a description in the order of the queue, so that the
		 * events behind it find what it says.
		 */
		note_end(s, rec);
		if (rec->type == TAPIR_REC_PROBE) {
			tapir_lane_dedup__learn(&s->twice, rec);
			tapir_counter_maker__learn(s->counters, rec);
			tapir_await_code__learn(&s->await_code, rec);
		}
		if (!s->opts.no_names)
			tapir_namer__on_record(s->namer, rec, fd);
		if (s->interp_stacks && rec->type == TAPIR_REC_PROCESS)
			tapir_interp_stacks__on_process(s->interp_stacks, (const void *)rec);
		tapir_unwinding__on_record(s->unwinding, rec, fd);
		tapir_runtime_watches__learn(&s->watches, rec);
	} else if (rec->type == TAPIR_REC_CALL_TOTAL) {
		s->malformed_cnt += !tapir_call_counts__end(s->calls, rec);
	} else if (rec->type == TAPIR_REC_WAIT_TOTAL) {
		s->malformed_cnt += !tapir_wait_records__end(s->waits, rec);
	} else if (rec->type == TAPIR_REC_INTERP_STACK) {
		s->malformed_cnt +=
			!s->interp_stacks || !tapir_interp_stacks__on_stack(s->interp_stacks, rec);
	} else if (rec->type == TAPIR_REC_LOSS) {
		put_loss(s, (const struct tapir_rec_loss *)rec);
	} else {
		if (rec->type == TAPIR_REC_GAP)
			atomic_fetch_add(&s->gap_cnt, 1);
		deliver_to_outputs(s, rec);
	}
	return false;
}

/* Our own BPF programs wrote these, but a check costs little and a wild pointer much. */
static void handle_block(struct tapir_session *s, const struct tapir_block *block)
{
	size_t at = 0;
	uint64_t captured[TAPIR_FAMILY_CNT] = {};

	while (at < block->used_bytes) {
		const struct tapir_rec *rec = (const void *)((const char *)block->data + at);
		int family = tapir_family__of(rec->type);
		bool is_requested;

		if (!tapir_record__ok(rec, block->used_bytes - at)) {
			s->malformed_cnt++;
			break;
		}
		is_requested = handle_record(s, rec, -1);
		if (family >= 0)
			captured[family] += is_requested || family != TAPIR_FAMILY_EVENT
						    ? tapir_rec__weight(rec)
						    : 0;
		at += rec->size;
	}
	for (int family = 0; family < TAPIR_FAMILY_CNT; family++)
		atomic_fetch_add(&s->captured[family], captured[family]);
	atomic_store(&s->shared_probe_hit_cnt, s->probe_hit_cnt);
}

static void handle_notes(struct tapir_session *s, struct tapir_note *note)
{
	bool has_mark = false;

	while (note) {
		struct tapir_note *next = note->next;

		const struct tapir_rec *rec = (const void *)note->rec;

		if (rec->type == TAPIR_NOTE_METHODS)
			tapir_namer__reports_methods(s->namer, (const void *)rec);
		else if (rec->type == TAPIR_NOTE_MARK)
			has_mark = true;
		else
			handle_record(s, rec, note->fd);
		tapir_note__free(note);
		note = next;
	}
	tapir_unwinding__flush(s->unwinding);
	if (has_mark)
		atomic_store(&s->has_reached_mark, true);
}

/* ---- once a second ---------------------------------------------------------------------- */

/* Losses that user space counts itself. */
static void poll_own_losses(struct tapir_session *s)
{
	const struct tapir_queue_refused refused = tapir_queue__refused(s->opts.queue);
	uint64_t unwritten_cnt = 0;

	tapir_loss_poll__one(&s->loss_poll, TAPIR_LOSS_MALFORMED, s->malformed_cnt, put_loss, s);
	tapir_loss_poll__one(&s->loss_poll, TAPIR_LOSS_NAME_QUEUE_FULL, s->refused_cnt, put_loss,
			     s);
	tapir_loss_poll__one(&s->loss_poll, TAPIR_LOSS_NO_MEMORY, refused.event_cnt, put_loss, s);
	tapir_loss_poll__one(&s->loss_poll, TAPIR_LOSS_NOTE_NO_MEMORY, refused.other_cnt, put_loss,
			     s);
	tapir_loss_poll__one(&s->loss_poll, TAPIR_LOSS_UNWIND_FILES_FULL,
			     tapir_unwinding__left_cnt(s->unwinding), put_loss, s);
	tapir_loss_poll__one(&s->loss_poll, TAPIR_LOSS_UNWIND_FILE_CHANGED,
			     tapir_unwinding__changed_cnt(s->unwinding), put_loss, s);
	tapir_loss_poll__one(&s->loss_poll, TAPIR_LOSS_FILES_FULL, tapir_namer__missed(s->namer),
			     put_loss, s);
	if (!s->opts.writer)
		return;
	/* Records that the disk did not take are known by the writer alone, per type. */
	for (const struct tapir_family *f = tapir_families; f < tapir_families + TAPIR_FAMILY_CNT;
	     f++) {
		uint64_t cnt = tapir_writer__lost(s->opts.writer, f->type);

		tapir_loss_poll__one(&s->loss_poll, f->disk_cause, cnt, put_loss, s);
		unwritten_cnt += cnt;
	}
	atomic_store(&s->unwritten_cnt, unwritten_cnt);
}

/* At the end: a request that another one did not follow in its place is still there. */
static void count_unfinished(struct tapir_session *s)
{
	uint64_t counted_cnt =
		tapir_programs__losses(s->opts.programs, 0)[TAPIR_LOSS_IO_UNFINISHED];

	tapir_loss_poll__one(&s->loss_poll, TAPIR_LOSS_IO_UNFINISHED,
			     counted_cnt + tapir_programs__unfinished(s->opts.programs), put_loss,
			     s);
}

static void put_clock(struct tapir_session *s)
{
	struct tapir_rec_clock clock;

	tapir_rec_clock__now(&clock);
	describe_name(s, &clock.h);
}

/* The segment that is written is complete; the next one is another file. */
static int start_file(struct tapir_session *s)
{
	struct tapir_segments *segments = s->opts.flight->segments;
	uint64_t now_ns = tapir_clock__now_ns();
	const char *name;
	int fd, err;

	note_write(s, tapir_writer__end_file(s->opts.writer));
	tapir_segments__end(segments, tapir_writer__bytes_written(s->opts.writer), now_ns);
	err = tapir_segments__begin(segments, now_ns, &fd, &name);
	return err ? err : tapir_writer__continue_in(s->opts.writer, fd, name);
}

/*
 * glibc keeps what is freed. Of large allocations it would keep more with each one, if the size
 * from which they are mappings were not set (45 MB of a JVM's unwind tables). Of small ones it
 * keeps the pages between those in use, and a recorder of many short processes touches new ones all
 * day.
 */
static void give_back_freed_memory(struct tapir_session *s)
{
	uint64_t now_ns = tapir_clock__now_ns();

	if (now_ns - s->trimmed_ns < TRIM_NS)
		return;
	s->trimmed_ns = now_ns;
	malloc_trim(0);
}

static void start_segment(struct tapir_session *s)
{
	tapir_call_counts__poll(s->calls, last_ns(s), true);
	tapir_wait_records__poll(s->waits, last_ns(s), true);
	tapir_kernel_rows__poll(s->kernel, last_ns(s), true);
	tapir_programs__next_epoch(s->opts.programs);
	note_write(s, s->opts.flight ? start_file(s) : tapir_writer__begin_segment(s->opts.writer));
	note_write(s, tapir_catalog__new_segment(s->catalog));
	put_clock(s);
	give_back_freed_memory(s);
}

static bool is_segment_due(const struct tapir_session *s, uint64_t now_ns)
{
	return tapir_writer__segment_due(s->opts.writer, now_ns) ||
	       (s->opts.flight &&
		tapir_segments__is_due(s->opts.flight->segments,
				       tapir_writer__bytes_written(s->opts.writer), now_ns));
}

static void note_bytes(struct tapir_session *s)
{
	struct tapir_segments_stats kept = {};

	if (s->opts.flight)
		tapir_segments__stats(s->opts.flight->segments, &kept);
	atomic_store(&s->file_bytes, kept.kept_bytes + tapir_writer__bytes_written(s->opts.writer));
}

static void tick(struct tapir_session *s)
{
	tapir_unwinding__poll(s->unwinding);
	name_new_stacks(s);
	tapir_loss_poll__run(&s->loss_poll, s->opts.programs, put_loss, s);
	poll_own_losses(s);
	tapir_lane_dedup__report(&s->twice, put_loss, s);
	tapir_condition_filter__report(s->filter, put_loss, s);
	tapir_call_counts__poll(s->calls, last_ns(s), false);
	tapir_wait_records__poll(s->waits, last_ns(s), false);
	tapir_kernel_rows__poll(s->kernel, last_ns(s), false);
	put_clock(s);
	if (!s->opts.writer)
		return;
	note_write(s, tapir_writer__flush(s->opts.writer));
	if (is_segment_due(s, tapir_clock__now_ns()))
		start_segment(s);
	note_bytes(s);
}

/* Between ticks: its room may be used up in less, and what is frozen has all until now. */
static void watch_ring(struct tapir_session *s)
{
	const struct tapir_flight_sink *flight = s->opts.flight;
	bool is_frozen = flight->due_ns(flight->ctx) <= tapir_clock__now_ns();

	if (is_frozen)
		note_write(s, tapir_namer__finish(s->namer));
	else if (!tapir_segments__is_full(flight->segments,
					  tapir_writer__bytes_written(s->opts.writer)))
		return;
	name_new_stacks(s);
	if (is_frozen) {
		tapir_loss_poll__run(&s->loss_poll, s->opts.programs, put_loss, s);
		poll_own_losses(s);
		tapir_condition_filter__report(s->filter, put_loss, s);
	}
	start_segment(s);
	note_bytes(s);
	if (is_frozen)
		flight->freeze(flight->ctx);
}

static void flush_live(struct tapir_session *s, bool is_last)
{
	enum tapir_session_flush when = is_last ? TAPIR_FLUSH_LAST : TAPIR_FLUSH_BATCH;
	int err;

	if (!s->opts.on_flush || s->err)
		return;
	if (tapir_namer__have_pending(s->namer))
		name_new_stacks(s);
	if (!is_last && tapir_namer__have_pending(s->namer))
		when = TAPIR_FLUSH_NAMES_TO_COME;
	err = s->opts.on_flush(s->opts.ctx, when);
	s->sink_has_pending = err > 0;
	note_error(s, err < 0 ? err : 0);
}

/* Names are read more often than ticks occur, as long as a process writes them. */
static uint64_t next_wake_ns(const struct tapir_session *s, uint64_t now_ns, uint64_t next_tick_ns)
{
	uint64_t poll_ns = now_ns + TAPIR_NAMER_POLL_NS;

	if (s->sink_has_pending && now_ns + SINK_POLL_NS < next_tick_ns)
		return now_ns + SINK_POLL_NS;
	if (s->watches.next_ns < next_tick_ns)
		next_tick_ns = s->watches.next_ns;
	if (tapir_namer__has_files(s->namer) && poll_ns < next_tick_ns)
		next_tick_ns = poll_ns;
	if (s->opts.flight && s->opts.flight->due_ns(s->opts.flight->ctx) < next_tick_ns)
		next_tick_ns = s->opts.flight->due_ns(s->opts.flight->ctx);
	return next_tick_ns;
}

static void *run_session_thread(void *arg)
{
	struct tapir_session *s = arg;
	uint64_t now_ns = tapir_clock__now_ns(), next_tick_ns = now_ns + TAPIR_NS_PER_SEC;
	struct tapir_note *notes;
	struct tapir_block *block;

	/* Behind a busy target it would fall back until the drain thread finds no empty block. */
	setpriority(PRIO_PROCESS, (id_t)gettid(), -10);
	put_clock(s);
	while (tapir_queue__wait(s->opts.queue, next_wake_ns(s, now_ns, next_tick_ns), &notes,
				 &block)) {
		handle_notes(s, notes);
		if (block) {
			handle_block(s, block);
			tapir_queue__give_empty(s->opts.queue, block);
		}
		flush_live(s, false);
		now_ns = tapir_clock__now_ns();
		note_write(s, tapir_namer__poll(s->namer, now_ns));
		tapir_runtime_watches__poll(&s->watches, now_ns, false);
		if (now_ns >= next_tick_ns) {
			tick(s);
			flush_live(s, false);
			next_tick_ns = now_ns + TAPIR_NS_PER_SEC;
		}
		if (s->opts.flight)
			watch_ring(s);
	}
	note_write(s, tapir_namer__finish(s->namer));
	tapir_runtime_watches__poll(&s->watches, tapir_clock__now_ns(), true);
	tapir_call_counts__finish(s->calls, last_ns(s));
	tapir_wait_records__poll(s->waits, last_ns(s), true);
	tapir_kernel_rows__poll(s->kernel, last_ns(s), true);
	tapir_unwinding__report(s->unwinding);
	count_unfinished(s);
	tick(s);
	note_error(s, tapir_condition_filter__check(s->filter));
	flush_live(s, true);
	return NULL;
}

/* ---- lifecycle -------------------------------------------------------------------------- */

static int make_names(struct tapir_session *s)
{
	int err;

	s->catalog = tapir_catalog__new(TAPIR_CATALOG_LIVE, s->opts.writer);
	err = s->catalog ? tapir_namer__new(s->catalog, s->opts.dotnet_reports_methods, &s->namer)
			 : -ENOMEM;
	if (!err)
		err = tapir_condition_filter__new(s->opts.where, s->catalog, s->opts.programs,
						  &s->filter);
	if (!err && s->opts.with_unwinding && !s->opts.no_names) {
		s->interp_stacks = tapir_interp_stacks__new(s->catalog, describe_name, s);
		err = s->interp_stacks ? 0 : -ENOMEM;
	}
	if (!err && s->opts.with_unwinding)
		err = tapir_unwinding__new(s->opts.programs, s->opts.unwind_bytes, s->interp_stacks,
					   &s->unwinding);
	return err;
}

/* Makes the parts that turn sums and counters into records. */
static int make_makers(struct tapir_session *s)
{
	int waits_fd = tapir_programs__wait_sums_fd(s->opts.programs), err = 0;
	struct tapir_kernel_row *rows;
	size_t row_cnt;

	if (tapir_programs__call_counts_fd(s->opts.programs) >= 0) {
		s->calls = tapir_call_counts__new(s->opts.programs, put_calls, s);
		err = s->calls ? 0 : -ENOMEM;
	}
	if (!err && waits_fd >= 0) {
		s->waits = tapir_wait_records__new(waits_fd, put_waits, s);
		err = s->waits ? 0 : -ENOMEM;
	}
	rows = tapir_programs__kernel_rows(s->opts.programs, &row_cnt);
	if (!err && rows) {
		s->kernel = tapir_kernel_rows__new(rows, row_cnt, put_kernel, s);
		err = s->kernel ? 0 : -ENOMEM;
	}
	if (!err)
		err = tapir_counter_maker__new(s->opts.counters, put_counter, s, &s->counters);
	if (!err && (s->opts.writer || s->opts.jvm_counters)) {
		err = tapir_runtime_watches__init(&s->watches, put_of_runtime, s);
	}
	return err;
}

static int start_thread(struct tapir_session *s)
{
	int err = make_names(s);

	if (!err)
		err = make_makers(s);
	if (!err)
		err = tapir_loss_poll__init(&s->loss_poll,
					    tapir_programs__site_cap(s->opts.programs));
	if (!err)
		/*
		 * All of this is the thread's own from now on; only counters that are atomic are
		 * read elsewhere.
		 */
		err = -pthread_create(&s->thread, NULL, run_session_thread, s);
	s->is_running = !err;
	return err;
}

int tapir_session__start(const struct tapir_session_opts *opts, struct tapir_session **out)
{
	struct tapir_session *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	mallopt(M_MMAP_THRESHOLD, 256 << 10); /* give_back_freed_memory */
	s->opts = *opts;
	tapir_lane_dedup__init(&s->twice, opts->cover);
	err = start_thread(s);
	if (err) {
		tapir_session__free(s);
		return err;
	}
	*out = s;
	return 0;
}

int tapir_session__mark(struct tapir_session *s)
{
	const struct tapir_rec mark = {TAPIR_NOTE_MARK, TAPIR_CPU_UNKNOWN, sizeof(mark),
				       tapir_clock__now_ns()};

	atomic_store(&s->has_reached_mark, false);
	return tapir_queue__post(s->opts.queue, &mark, -1);
}

bool tapir_session__can_unwind(struct tapir_session *s, bool with_tables)
{
	if (!s->unwinding)
		return true;
	return atomic_load(&s->has_reached_mark) &&
	       (!with_tables || tapir_unwinding__is_complete(s->unwinding));
}

void tapir_session__stats(const struct tapir_session *s, struct tapir_session_stats *out)
{
	*out = (struct tapir_session_stats){
		.lost_cnt = atomic_load(&s->lost_cnt),
		.gap_cnt = atomic_load(&s->gap_cnt),
		.unseen_cnt = atomic_load(&s->unseen_cnt),
		.unwritten_cnt = atomic_load(&s->unwritten_cnt),
		.file_bytes = atomic_load(&s->file_bytes),
		.skipped_cnt = atomic_load(&s->skipped_cnt),
		.probe_hit_cnt = atomic_load(&s->shared_probe_hit_cnt),
		.err = atomic_load(&s->shared_err),
	};
	for (int family = 0; family < TAPIR_FAMILY_CNT; family++)
		out->captured[family] = atomic_load(&s->captured[family]);
}

int tapir_session__stop(struct tapir_session *s, bool has_started)
{
	if (s->is_running)
		pthread_join(s->thread, NULL);
	s->is_running = false;
	if (has_started)
		tapir_counter_maker__finish(s->counters);
	tapir_diag__give(s->diag);
	s->diag = NULL;
	return s->err;
}

void tapir_session__free(struct tapir_session *s)
{
	if (!s)
		return;
	tapir_loss_poll__fini(&s->loss_poll);
	tapir_lane_dedup__fini(&s->twice);
	tapir_condition_filter__free(s->filter);
	tapir_namer__free(s->namer);
	tapir_await_code__fini(&s->await_code);
	tapir_unwinding__free(s->unwinding);
	tapir_interp_stacks__free(s->interp_stacks);
	tapir_counter_maker__free(s->counters);
	tapir_runtime_watches__fini(&s->watches);
	tapir_io_paths__fini(&s->io_paths);
	tapir_call_counts__free(s->calls);
	tapir_wait_records__free(s->waits);
	tapir_kernel_rows__free(s->kernel);
	tapir_catalog__free(s->catalog);
	free(s);
}
