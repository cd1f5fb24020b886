// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A runtime's stacks are its managed frames alone, addresses in it as they are: they get ids as
 * every walker's do. What was dropped is known by thread only, so losses name no event.
 */
#include "runtime/dotnet/lanes/stream_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "tapir/stack_walk.h"
#include "attach/rings/ring_select.h"
#include "decode/event_blob.h"
#include "decode/probe_name.h"

#define ROOM_BYTES     (TAPIR_MAX_RECORD_BYTES + sizeof(struct tapir_rec_event) + 64)
#define PAYLOAD_MAX    (TAPIR_MAX_RECORD_BYTES - 256u)
#define CLOCK_SLACK_NS TAPIR_NS_PER_SEC
#define WAIT_MS	       100
#define TRIES	       50
#define ID_COST	       512u	  /* bytes that a description counts for in addition to its own */
#define UNDESCRIBED    UINT64_MAX /* instead of a probe id */
#define STACKS_MAX     (1u << 17) /* that are remembered: of one sequence point, and as sent */
#define THREADS_MAX    65536u
#define SESSION_BITS   0xf00000000000ull /* EventSource sets them in all its keywords */

/* ---- shared ------------------------------------------------------------------------------ */

int tapir_stream_sink__init(struct tapir_stream_sink *sink, struct tapir_queue *queue,
			    const struct tapir_spec_list *specs, const struct tapir_spec *name_spec)
{
	*sink = (struct tapir_stream_sink){
		.queue = queue,
		.specs = specs,
		.name_spec = name_spec,
		.spec_matched = calloc(specs->cnt + 1, sizeof(bool)),
	};
	tapir_ring_kinds__init(&sink->kinds, TAPIR_STREAM_PROBE_ID_MIN, TAPIR_STREAM_PROBE_ID_MAX);
	pthread_mutex_init(&sink->lock, NULL);
	return sink->spec_matched ? 0 : -ENOMEM;
}

void tapir_stream_sink__fini(struct tapir_stream_sink *sink)
{
	tapir_seen_names__fini(&sink->seen);
	tapir_ring_kinds__fini(&sink->kinds);
	free(sink->spec_matched);
	sink->spec_matched = NULL;
	pthread_mutex_destroy(&sink->lock);
}

/* ---- blocks ------------------------------------------------------------------------------ */

static void flush_records(struct tapir_stream_records *r)
{
	if (r->block)
		tapir_queue__give_full(r->sink->queue, r->block);
	r->block = NULL;
}

/*
 * Until the session thread returns a block, nothing is read, and the runtime buffers what follows,
 * or counts it. false: there is no block.
 */
static bool post_stream_record(struct tapir_stream_records *r, const struct tapir_rec *rec)
{
	if (!rec)
		return false;
	if (r->block && r->block->used_bytes + ROOM_BYTES > TAPIR_BLOCK_BYTES)
		flush_records(r);
	for (unsigned i = 0; !r->block && i < TRIES; i++)
		r->block = tapir_queue__take_empty(r->sink->queue, WAIT_MS);
	if (!r->block)
		return false;
	memcpy((char *)r->block->data + r->block->used_bytes, rec, rec->size);
	r->block->used_bytes += rec->size;
	return true;
}

/* ---- time -------------------------------------------------------------------------------- */

static uint64_t host_time(const struct tapir_stream_records *r, uint64_t ticks)
{
	unsigned __int128 scaled = (unsigned __int128)ticks * TAPIR_NS_PER_SEC;
	uint64_t ns = r->ticks_per_sec == TAPIR_NS_PER_SEC ? ticks
							   : (uint64_t)(scaled / r->ticks_per_sec);

	ns -= (uint64_t)r->clock_offset_ns;
	if (ns > r->max_ns)
		return r->max_ns;
	return ns < r->min_ns ? r->min_ns : ns;
}

/* The stream's clock is CLOCK_MONOTONIC of the process's time namespace, in ticks of any length. */
static void on_start(void *ctx, const struct tapir_nettrace_start *start)
{
	struct tapir_stream_records *r = ctx;

	r->ticks_per_sec = start->ticks_per_sec;
}

/* ---- descriptions ------------------------------------------------------------------------ */

/* Selected by a SPEC, or only for names of code, which *flags then shows. */
static bool is_wanted_probe(struct tapir_stream_records *r, const struct tapir_rec *probe,
			    uint8_t *flags)
{
	struct tapir_stream_sink *sink = r->sink;
	struct tapir_spec *names[] = {(struct tapir_spec *)sink->name_spec};
	const struct tapir_spec_list for_names = {.data = names, .cnt = 1, .cap = 1};
	struct tapir_probe_view view;
	bool wanted;

	tapir_probe_view__of(probe, &view);
	pthread_mutex_lock(&sink->lock);
	tapir_seen_names__add(&sink->seen, view.provider, view.event);
	wanted = tapir_ring_select__classify(sink->specs, TAPIR_SPEC_ZERO_IS_NONE, &view,
					     sink->spec_matched);
	pthread_mutex_unlock(&sink->lock);
	if (wanted || !sink->name_spec ||
	    !tapir_ring_select__classify(&for_names, TAPIR_SPEC_ZERO_IS_NONE, &view, NULL))
		return wanted;
	*flags = TAPIR_PROBE_FOR_NAMES;
	return true;
}

/* Their events are counted as not described. */
static uint64_t note_undescribed(struct tapir_stream_records *r)
{
	if (!r->has_undescribed)
		tapir_warn("process %u: no room for more descriptions of events in its stream: "
			   "those of its other events are lost (counted)",
			   r->tgid);
	r->has_undescribed = true;
	return UNDESCRIBED;
}

static void post_metadata(struct tapir_stream_records *r, uint32_t probe_id,
			  const struct tapir_nettrace_metadata *m)
{
	struct tapir_rec_metadata fixed = {.probe_id = probe_id, .format = 1};
	const struct tapir_rec *rec;

	tapir_rec__init(&fixed.h, TAPIR_REC_METADATA, sizeof(fixed), tapir_clock__now_ns());
	rec = tapir_recbuf__metadata(&r->recbuf, &fixed,
				     (struct tapir_sv){(const char *)m->blob, m->blob_bytes});
	if (rec)
		tapir_queue__post(r->sink->queue, rec, -1);
}

/* This stream uses the kind now, for which it pays once. false: it has no room. */
static bool take_kind(struct tapir_stream_records *r, uint64_t hash, uint32_t cost)
{
	bool is_new = false;

	if (tapir_map__get(&r->kinds, hash)) {
		tapir_ring_kinds__drop(&r->sink->kinds, hash); /* one use is enough */
		return true;
	}
	if (r->cost_bytes + cost > TAPIR_STREAM_DESCRIBED_MAX ||
	    !tapir_map__put(&r->kinds, hash, &is_new)) {
		tapir_ring_kinds__drop(&r->sink->kinds, hash);
		return false;
	}
	r->cost_bytes += cost;
	return true;
}

/*
 * The id under which the recording knows what is described so; rec is our copy. Its PROBE is posted
 * before another stream can send an event with that id: under the sink's lock.
 */
static uint64_t share_probe(struct tapir_stream_records *r, struct tapir_rec_probe *probe,
			    const struct tapir_nettrace_metadata *m)
{
	struct tapir_stream_sink *sink = r->sink;
	uint64_t hash;
	bool is_new, is_taken;
	uint32_t id;

	pthread_mutex_lock(&sink->lock);
	id = tapir_ring_kinds__use(&sink->kinds, probe, m->blob, m->blob_bytes, &hash, &is_new);
	is_taken = id && take_kind(r, hash, (uint32_t)m->blob_bytes + ID_COST);
	if (id && is_new) { /* also where this stream has no room: the next one finds it */
		probe->probe_id = id;
		tapir_queue__post(sink->queue, &probe->h, -1);
		post_metadata(r, id, m);
	}
	pthread_mutex_unlock(&sink->lock);
	return is_taken ? id : note_undescribed(r);
}

/* The event's probe id, if it was requested; else 0. */
static uint64_t describe_event(struct tapir_stream_records *r,
			       const struct tapir_nettrace_metadata *m,
			       const struct tapir_event_blob *blob)
{
	struct tapir_rec_probe fixed = {
		.event_id = (uint16_t)blob->id,
		.version = (uint8_t)blob->version,
		.level = (uint8_t)blob->level,
		.keywords = blob->keywords & ~SESSION_BITS,
		.encoding = TAPIR_ENCODING_PACKED,
		.lane = TAPIR_LANE_STREAM,
	};
	const struct tapir_sv none = {};
	struct tapir_recbuf named_buf = {};
	const struct tapir_rec *rec;
	uint64_t id = 0;
	uint8_t flags = 0;

	tapir_rec__init(&fixed.h, TAPIR_REC_PROBE, sizeof(fixed), tapir_clock__now_ns());
	rec = tapir_recbuf__probe(&r->recbuf, &fixed, tapir_sv__of(m->provider),
				  tapir_sv__of(blob->name), none, none, NULL, NULL, 0);
	rec = rec ? tapir_probe_name__complete(&named_buf, rec) : NULL;
	if (rec && is_wanted_probe(r, rec, &flags)) {
		((struct tapir_rec_probe *)rec)->flags = flags; /* built a moment ago */
		id = share_probe(r, (struct tapir_rec_probe *)rec, m);
	}
	tapir_recbuf__fini(&named_buf);
	return id;
}

static void on_metadata(void *ctx, const struct tapir_nettrace_metadata *m)
{
	struct tapir_stream_records *r = ctx;
	struct tapir_event_blob *blob;
	uint64_t *known;
	uint64_t id;

	if (r->probes.cnt >= TAPIR_STREAM_METADATA_MAX) {
		note_undescribed(r);
		return;
	}
	if (tapir_event_blob__parse(m->blob, m->blob_bytes, &blob)) {
		r->malformed_cnt++;
		return;
	}
	id = describe_event(r, m, blob);
	tapir_event_blob__free(blob);
	known = tapir_map__put(&r->probes, m->metadata_id, NULL);
	if (known)
		*known = id;
}

/* The probe id of an event to record; 0: of one that is not wanted, or is counted here. */
static uint32_t probe_of(struct tapir_stream_records *r, uint32_t metadata_id)
{
	const uint64_t *id = tapir_map__get(&r->probes, metadata_id);

	if (id && *id != UNDESCRIBED)
		return (uint32_t)*id;
	if (id || r->probes.cnt >= TAPIR_STREAM_METADATA_MAX)
		r->undescribed_cnt++;
	else
		r->malformed_cnt++;
	return 0;
}

/* ---- stacks, threads --------------------------------------------------------------------- */

static uint64_t nettrace_stack_hash(const struct tapir_nettrace_stack *stack)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < stack->frame_cnt; i++)
		hash = tapir_walk__hash(hash, stack->frames_va[i]);
	return hash ? hash : 1;
}

static void on_stack(void *ctx, const struct tapir_nettrace_stack *stack)
{
	struct tapir_stream_records *r = ctx;
	struct tapir_rec_stack fixed = {.flags = stack->is_truncated ? TAPIR_STACK_MORE : 0};
	bool is_new = false;
	uint64_t *ours;

	if (!stack->frame_cnt || r->stacks.cnt >= STACKS_MAX)
		return;
	ours = tapir_map__put(&r->stacks, stack->stack_id, NULL);
	if (!ours)
		return;
	*ours = fixed.stack_id = nettrace_stack_hash(stack);
	if (r->sent_stacks.cnt >= STACKS_MAX)
		tapir_map__clear(&r->sent_stacks);
	if (!tapir_map__put(&r->sent_stacks, fixed.stack_id, &is_new) || !is_new)
		return;
	tapir_rec__init(&fixed.h, TAPIR_REC_STACK, sizeof(fixed), r->max_ns);
	post_stream_record(
		r, tapir_recbuf__stack(&r->recbuf, &fixed, stack->frames_va, stack->frame_cnt));
}

static void on_forget(void *ctx)
{
	struct tapir_stream_records *r = ctx;

	tapir_map__clear(&r->stacks);
}

/* A thread that has ended since has no name. */
static void see_thread(struct tapir_stream_records *r, uint32_t tid)
{
	struct tapir_rec_thread rec = {.tgid = r->tgid, .tid = tid};
	struct tapir_thread thread;
	bool is_new = false;
	int mark;

	if (r->sent_threads.cnt >= THREADS_MAX || !tapir_map__put(&r->sent_threads, tid, &is_new) ||
	    !is_new)
		return;
	mark = tapir_diag__cnt();
	if (!tapir_thread__read(r->tgid, tid, &thread)) {
		rec.ns_tid = thread.ns_tid;
		rec.start_ns = thread.start_ns;
		memcpy(rec.comm, thread.comm, sizeof(rec.comm));
		if (!tapir_thread__read(r->tgid, r->tgid, &thread)) {
			rec.ns_tgid = thread.ns_tid;
			rec.leader_start_ns = thread.start_ns;
			memcpy(rec.leader_comm, thread.comm, sizeof(rec.leader_comm));
		}
		tapir_rec__init(&rec.h, TAPIR_REC_THREAD, sizeof(rec), r->max_ns);
		post_stream_record(r, &rec.h);
	}
	tapir_diag__rewind(mark);
}

/* ---- events ------------------------------------------------------------------------------ */

static void stream_on_event(void *ctx, const struct tapir_nettrace_event *event)
{
	struct tapir_stream_records *r = ctx;
	uint32_t probe_id = probe_of(r, event->metadata_id);
	const uint64_t *stack_id;
	size_t bytes = event->payload_bytes;
	struct tapir_rec_event fixed = {.tgid = r->tgid, .lane = TAPIR_LANE_STREAM};
	struct tapir_event_view view = {.rec = &fixed,
					.activity_id = event->activity_id,
					.related_id = event->related_id,
					.payload = event->payload};

	if (!probe_id)
		return;
	if (event->tid > INT32_MAX || !event->tid) {
		r->malformed_cnt++;
		return;
	}
	fixed.probe_id = probe_id;
	/*
	 * The runtime says its own number of the thread, which in a container is not the kernel's.
	 */
	fixed.tid = tapir_ring_tids__find(&r->tids, (uint32_t)event->tid, false);
	if (!(fixed.tid & TAPIR_RING_TID_GONE))
		see_thread(r, fixed.tid);
	stack_id = event->stack_id ? tapir_map__get(&r->stacks, event->stack_id) : NULL;
	fixed.stack_id = stack_id ? *stack_id : 0;
	fixed.flags = (uint16_t)((event->activity_id ? TAPIR_EVENT_ACTIVITY : 0) |
				 (event->related_id ? TAPIR_EVENT_RELATED : 0) |
				 (bytes > PAYLOAD_MAX ? TAPIR_EVENT_CUT : 0));
	view.payload_bytes = bytes > PAYLOAD_MAX ? PAYLOAD_MAX : bytes;
	tapir_rec__init(&fixed.h, TAPIR_REC_EVENT, sizeof(fixed), host_time(r, event->ticks));
	if (post_stream_record(r, tapir_recbuf__event(&r->recbuf, &view)))
		r->event_cnt++;
	else
		r->lost_cnt++;
}

/* ---- losses ------------------------------------------------------------------------------ */

static void post_loss(struct tapir_stream_records *r, enum tapir_loss_cause cause, uint64_t cnt)
{
	struct tapir_rec_loss loss = {
		.cause = cause, .count = cnt, .from_ns = r->losses_ns, .until_ns = r->max_ns};

	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), r->max_ns);
	tapir_queue__post(r->sink->queue, &loss.h, -1);
}

static void on_lost(void *ctx, uint64_t cnt, uint64_t ticks)
{
	struct tapir_stream_records *r = ctx;

	(void)ticks;
	r->lost_cnt += cnt;
}

static void report_losses(struct tapir_stream_records *r)
{
	bool has_new_losses =
		r->lost_cnt || r->undescribed_cnt || r->malformed_cnt > r->malformed_reported;

	/*
	 * More than one a nanosecond since it began: no count of anything, but what the process
	 * wrote there.
	 */
	if (r->lost_cnt > r->max_ns - r->min_ns - r->lost_reported) {
		r->malformed_cnt++;
		r->lost_cnt = 0;
	}
	r->lost_reported += r->lost_cnt;
	if (r->lost_cnt)
		post_loss(r, TAPIR_LOSS_STREAM_DROP, r->lost_cnt);
	if (r->undescribed_cnt)
		post_loss(r, TAPIR_LOSS_RING_LANE_UNDESCRIBED, r->undescribed_cnt);
	if (r->malformed_cnt > r->malformed_reported)
		post_loss(r, TAPIR_LOSS_MALFORMED, r->malformed_cnt - r->malformed_reported);
	pthread_mutex_lock(&r->sink->lock);
	r->sink->event_cnt += r->event_cnt;
	r->sink->lost_cnt += r->lost_cnt;
	r->sink->malformed_cnt += r->malformed_cnt - r->malformed_reported;
	pthread_mutex_unlock(&r->sink->lock);
	r->event_cnt = r->lost_cnt = r->undescribed_cnt = 0;
	r->malformed_reported = r->malformed_cnt;
	r->losses_ns = has_new_losses ? r->max_ns : r->losses_ns;
}

/* ---- its callers ------------------------------------------------------------------------- */

void tapir_stream_records__init(struct tapir_stream_records *r, struct tapir_stream_sink *sink,
				uint32_t tgid)
{
	int64_t offset_ns;

	*r = (struct tapir_stream_records){.sink = sink, .tgid = tgid};
	r->max_ns = r->losses_ns = tapir_clock__now_ns();
	r->min_ns = r->max_ns - CLOCK_SLACK_NS;
	r->ticks_per_sec = TAPIR_NS_PER_SEC;
	r->clock_offset_ns = tapir_proc__clock_offset(tgid, &offset_ns) ? 0 : offset_ns;
	tapir_ring_tids__init(&r->tids, tgid);
}

static void drop_kinds(struct tapir_stream_records *r)
{
	pthread_mutex_lock(&r->sink->lock);
	for (size_t i = 0; i < r->kinds.cap; i++)
		if (r->kinds.slots[i].used)
			tapir_ring_kinds__drop(&r->sink->kinds, r->kinds.slots[i].key);
	pthread_mutex_unlock(&r->sink->lock);
	tapir_map__fini(&r->kinds);
}

void tapir_stream_records__fini(struct tapir_stream_records *r)
{
	flush_records(r);
	drop_kinds(r);
	tapir_ring_tids__fini(&r->tids);
	tapir_recbuf__fini(&r->recbuf);
	tapir_map__fini(&r->probes);
	tapir_map__fini(&r->stacks);
	tapir_map__fini(&r->sent_stacks);
	tapir_map__fini(&r->sent_threads);
}

struct tapir_nettrace_sink tapir_stream_records__sink(struct tapir_stream_records *r)
{
	return (struct tapir_nettrace_sink){
		.ctx = r,
		.on_start = on_start,
		.on_metadata = on_metadata,
		.on_stack = on_stack,
		.on_event = stream_on_event,
		.on_forget = on_forget,
		.on_lost = on_lost,
	};
}

void tapir_stream_records__begin(struct tapir_stream_records *r)
{
	r->max_ns = tapir_clock__now_ns();
}

void tapir_stream_records__end(struct tapir_stream_records *r, uint64_t malformed_cnt)
{
	flush_records(r);
	r->malformed_cnt += malformed_cnt - r->malformed_read;
	r->malformed_read = malformed_cnt;
	report_losses(r);
}
