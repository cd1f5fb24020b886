// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader's half of rings with one writer each. The heads are read first, then whatever is
 * needed to understand what is before them (new events, new rings, losses), then the records; the
 * tails are stored last, by which the writers see that there is room. So no record is met whose
 * event is unknown.
 */
#include "attach/rings/ring_drain_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "attach/rings/ring_select.h"

#define ROOM_BYTES	(2u * TAPIR_RING_RECORD_BYTES) /* in a block, before a piece is read */
#define ROUND_BYTES	(32u << 20) /* per process and drain: then the others have their turn */
#define ARENA_TRIES	50
#define ARENA_TRY_NS	(100 * TAPIR_NS_PER_MS)
#define LAST_DRAIN_NS	(5 * TAPIR_NS_PER_SEC) /* heads may go on for ever */
#define WRITING_WAIT_NS (200 * TAPIR_NS_PER_MS)
#define CLOCK_SLACK_NS	TAPIR_NS_PER_SEC /* an event may have begun before our session */

static uint32_t max_cnt(uint32_t value, uint32_t max)
{
	return value < max ? value : max;
}

bool tapir_ring_process__counters(const struct tapir_ring_process *p, unsigned arena,
				  struct ring_counters *out)
{
	struct tapir_ring_data h;

	if (pread(p->lane.data_fds[arena], &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return false;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	out->arena_cnt = max_cnt(h.arena_cnt, TAPIR_RING_ARENAS);
	out->event_cnt = max_cnt(h.event_cnt, TAPIR_RING_EVENTS);
	out->slots_used = max_cnt(h.slots_used, TAPIR_RING_ARENA_SLOTS);
	out->changes = h.changes;
	return true;
}

static bool read_slots(const struct tapir_ring_process *p, unsigned arena,
		       struct tapir_ring_slot *slots)
{
	size_t bytes = p->slots_used[arena] * sizeof(*slots);

	return pread(p->lane.data_fds[arena], slots, bytes, (off_t)p->lane.data[arena].slots_off) ==
	       (ssize_t)bytes;
}

/* ---- records ---------------------------------------------------------------------------- */

static void flush_sink(struct tapir_ring_sink *sink)
{
	if (sink->block)
		tapir_queue__give_full(sink->queue, sink->block);
	sink->block = NULL;
}

/* A block with room in it; NULL: there is no empty one. */
static struct tapir_block *block_with_room(struct tapir_ring_sink *sink)
{
	if (sink->block && sink->block->used_bytes + ROOM_BYTES > TAPIR_BLOCK_BYTES)
		flush_sink(sink);
	if (!sink->block)
		sink->block = tapir_queue__take_empty(sink->queue, 10);
	return sink->block;
}

/* One thread's ring, as it was when the drain began. */
struct piece {
	unsigned arena, slot; /* in the arena */
	uint64_t pos, head, cap;
};

/* false: the bytes there are not a sequence of records. */
static bool take_piece(struct tapir_ring_process *p, struct piece *at, struct tapir_block *block)
{
	const struct tapir_ring_data *h = &p->lane.data[at->arena];
	uint64_t off = at->pos % at->cap, room = TAPIR_BLOCK_BYTES - block->used_bytes;
	uint64_t to_wrap = at->cap - off, to_head = at->head - at->pos;
	uint64_t whole = to_head < to_wrap ? to_head : to_wrap;
	uint64_t bytes = whole < room ? whole : room, left;
	char *data = (char *)block->data + block->used_bytes;
	struct tapir_ring_taken taken;

	if (pread(p->lane.data_fds[at->arena], data, bytes,
		  (off_t)(h->rings_off + at->slot * h->ring_bytes + off)) != (ssize_t)bytes)
		return false;
	taken = tapir_ring_records__take(&p->scan, data, bytes);
	block->used_bytes += taken.kept_bytes;
	at->pos += taken.used_bytes;
	left = bytes - taken.used_bytes;
	if (taken.is_corrupt)
		return false;
	if (bytes < whole)
		return taken.used_bytes > 0;
	if (left && (whole < to_wrap || left >= sizeof(struct tapir_rec)))
		return false;
	at->pos += left; /* too little for a filler before the ring begins again */
	return true;
}

static bool is_sound(const struct tapir_ring_process *p, const struct piece *at)
{
	return at->head % 8 == 0 && at->head >= at->pos && at->cap &&
	       at->cap % TAPIR_RING_CHUNK_BYTES == 0 &&
	       at->cap <= p->lane.data[at->arena].ring_bytes && at->head - at->pos <= at->cap;
}

static void drain_slot(struct tapir_ring_process *p, struct piece *at,
		       struct tapir_ring_drained *drained)
{
	bool ok = is_sound(p, at);

	drained->any = true;
	drained->is_filling |= ok && (at->head - at->pos) * 4 > at->cap;
	while (ok && at->pos < at->head && p->round_bytes) {
		uint64_t from = at->pos;
		struct tapir_block *block = block_with_room(p->sink);

		drained->is_lagging |= !block;
		if (!block)
			break;
		ok = take_piece(p, at, block);
		p->round_bytes -= at->pos - from < p->round_bytes ? at->pos - from : p->round_bytes;
	}
	if (!ok) {
		p->scan.malformed_cnt++;
		at->pos = at->head & ~7ull;
	}
}

static void drain_arena(struct tapir_ring_process *p, unsigned arena, struct tapir_ring_slot *slots,
			struct tapir_ring_drained *drained)
{
	uint64_t caps[TAPIR_RING_ARENA_SLOTS];
	struct tapir_ring_slot again[TAPIR_RING_ARENA_SLOTS];

	/* A head is good with a cap_bytes that was loaded after it. */
	if (!read_slots(p, arena, again))
		return;
	for (unsigned i = 0; i < p->slots_used[arena]; i++)
		caps[i] = again[i].cap_bytes;
	for (unsigned i = p->cursor % TAPIR_RING_ARENA_SLOTS;
	     i < p->slots_used[arena] && !drained->is_lagging && p->round_bytes; i++) {
		unsigned slot = arena * TAPIR_RING_ARENA_SLOTS + i;
		struct piece at = {arena, i, p->tails[slot], slots[i].head, caps[i]};

		p->cursor = slot;
		if ((at.head & ~7ull) == at.pos)
			continue; /* nothing new, or a wrong head that was counted */
		drain_slot(p, &at, drained);
		p->tails[slot] = at.pos;
		tapir_ring_control__set_tail(&p->control, slot, at.pos);
	}
}

/* ---- what is recorded as long as it is little --------------------------------------------- */

static void post_budget(struct tapir_ring_process *p, const char *key_prefix, uint64_t value)
{
	uint64_t now_ns = tapir_clock__now_ns();
	struct tapir_str key = {}, text = {};
	const struct tapir_rec *rec = NULL;

	tapir_str__addf(&key, "%s%u", key_prefix, p->tgid);
	tapir_str__addf(&text, "%" PRIu64, value);
	if (!key.failed && !text.failed)
		rec = tapir_recbuf__meta(&p->sink->recbuf, now_ns, tapir_sv__of(key.data),
					 tapir_sv__of(text.data));
	if (rec)
		tapir_queue__post(p->sink->queue, rec, -1);
	tapir_str__fini(&key);
	tapir_str__fini(&text);
}

/*
 * The events that come after the end of the budget are not in the file: the note in META is about
 * the time before.
 */
static void end_budget(struct tapir_ring_process *p)
{
	tapir_ring_process__end_budget(p);
	post_budget(p, TAPIR_BUDGET_META_UNTIL, p->scan.max_ns);
}

/* ---- what grew -------------------------------------------------------------------------- */

static void find_new_arenas(struct tapir_ring_process *p, uint32_t arena_cnt)
{
	uint64_t now_ns = tapir_clock__now_ns();
	bool is_missing = false;

	for (uint32_t i = 0; i < arena_cnt; i++)
		is_missing |= p->lane.data_fds[i] < 0;
	if (!is_missing || p->arena_tries >= ARENA_TRIES || now_ns < p->next_arena_ns)
		return;
	if (tapir_ring_lane__find_arenas(p->tgid, &p->lane) > 0)
		p->arena_tries = 0;
	else
		p->arena_tries++;
	/* A process may have so many files that a scan takes long; others wait for it. */
	p->next_arena_ns = now_ns + ARENA_TRY_NS + 20 * (tapir_clock__now_ns() - now_ns);
}

static void read_all_slots(struct tapir_ring_process *p,
			   struct tapir_ring_slot slots[TAPIR_RING_ARENAS][TAPIR_RING_ARENA_SLOTS])
{
	for (unsigned i = 0; i < TAPIR_RING_ARENAS; i++) {
		struct ring_counters of = {};

		if (p->lane.data_fds[i] < 0 || !tapir_ring_process__counters(p, i, &of))
			continue;
		p->slots_used[i] = of.slots_used;
		if (!read_slots(p, i, slots[i]))
			p->slots_used[i] = 0;
	}
}

struct tapir_ring_drained tapir_ring_process__drain(struct tapir_ring_process *p)
{
	struct tapir_ring_slot slots[TAPIR_RING_ARENAS][TAPIR_RING_ARENA_SLOTS];
	struct tapir_ring_drained drained = {};
	struct ring_counters counters;
	bool is_complete = !p->cursor; /* of all slots */

	tapir_ring_control__beat(&p->control);
	drained.is_ended = tapir_ring_control__is_ended(&p->control);
	if (!tapir_ring_process__counters(p, 0, &counters))
		return drained;
	find_new_arenas(p, counters.arena_cnt);
	read_all_slots(p, slots);
	/* An event's entry is there before the event is: heads first, then entries. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (tapir_ring_process__counters(p, 0, &counters))
		tapir_ring_process__see_events(p, counters.event_cnt, counters.changes);
	p->scan.max_ns = tapir_clock__now_ns();
	p->round_bytes = ROUND_BYTES;
	p->ended_reads = TAPIR_RING_EVENTS;
	for (unsigned i = p->cursor / TAPIR_RING_ARENA_SLOTS;
	     i < TAPIR_RING_ARENAS && !drained.is_lagging && p->round_bytes; i++) {
		if (p->lane.data_fds[i] >= 0 && p->slots_used[i])
			drain_arena(p, i, slots[i], &drained);
		if (!drained.is_lagging && p->round_bytes)
			p->cursor = 0; /* of the next arena, and in the end of all */
	}
	if (tapir_event_budget__is_exceeded(&p->budget, p->scan.max_ns))
		end_budget(p);
	drained.has_more = !p->round_bytes;
	if (p->sink->block && p->sink->block->used_bytes)
		flush_sink(p->sink);
	if (is_complete && !p->cursor && !drained.is_lagging && !drained.has_more) {
		tapir_ring_control__drained(&p->control);
		p->round++;
	}
	return drained;
}

/* ---- beginning and end ------------------------------------------------------------------ */

/* Our tails are where the heads are. */
static void fill_tails(void *ctx)
{
	struct tapir_ring_process *p = ctx;
	struct tapir_ring_slot slots[TAPIR_RING_ARENA_SLOTS];

	for (unsigned i = 0; i < TAPIR_RING_ARENAS; i++) {
		struct ring_counters of;

		if (p->lane.data_fds[i] < 0 || !tapir_ring_process__counters(p, i, &of))
			continue;
		p->slots_used[i] = of.slots_used;
		if (!read_slots(p, i, slots))
			continue;
		for (unsigned s = 0; s < of.slots_used; s++) {
			unsigned slot = i * TAPIR_RING_ARENA_SLOTS + s;

			p->tails[slot] = slots[s].head & ~7ull;
			tapir_ring_control__set_tail(&p->control, slot, p->tails[slot]);
		}
	}
}

static uint32_t tid_of(void *ctx, uint32_t ns_tid, bool is_new)
{
	struct tapir_ring_process *p = ctx;

	return tapir_ring_tids__find(&p->tids, ns_tid, is_new);
}

static void init_scan(struct tapir_ring_process *p)
{
	int64_t offset_ns;

	p->scan = (struct tapir_ring_scan){
		.tgid = p->tgid,
		.ns_tgid = p->lane.data[0].owner_tgid,
		.clock_offset_ns = tapir_proc__clock_offset(p->tgid, &offset_ns) ? 0 : offset_ns,
		.min_ns = p->control.is_inherited ? 0 : tapir_clock__now_ns() - CLOCK_SLACK_NS,
		.session_bit = (uint8_t)(1u << p->control.session),
		.probe_of = tapir_ring_process__probe_of,
		.tid_of = tid_of,
		.ctx = p,
	};
}

/*
 * Events fired after the lane was created, but before it was open, were neither wanted nor counted;
 * probes have those that have some.
 */
static void post_gap(struct tapir_ring_process *p)
{
	uint64_t now_ns = tapir_clock__now_ns();
	uint64_t made_ns = p->lane.data[0].made_ns - (uint64_t)p->scan.clock_offset_ns;
	struct tapir_rec_gap fixed = {
		.tgid = p->tgid,
		.reason = TAPIR_GAP_ATTACH_LATE,
		.from_ns = made_ns,
		.until_ns = now_ns,
	};
	const struct tapir_rec *rec;

	if (p->control.is_inherited || p->lane.is_private || made_ns <= p->sink->start_ns ||
	    made_ns >= now_ns || tapir_ring_process__is_probed(p))
		return;
	tapir_rec__init(&fixed.h, TAPIR_REC_GAP, sizeof(fixed), now_ns);
	rec = tapir_recbuf__gap(&p->sink->recbuf, &fixed, tapir_sv__of("ring lane"));
	if (rec)
		tapir_queue__post(p->sink->queue, rec, -1);
}

static int open_session(struct tapir_ring_process *p)
{
	const struct tapir_ring_sink *sink = p->sink;
	bool is_own = p->lane.is_private && sink->private_request;
	struct tapir_ring_session_opts opts = {
		.sz = sizeof(opts),
		.request = is_own ? sink->private_request : sink->request,
		.session_id = sink->session_id,
		.rate_hz = sink->rate_hz,
		.with_stack = sink->with_stack,
		.with_probes = p->lane.is_private && sink->with_probes,
		.with_children = sink->with_children && !p->lane.is_private,
		.has_probes = sink->has_probes && !p->lane.is_private,
		.wait_ms = p->lane.is_private ? sink->wait_ms : 0,
	};
	struct ring_counters counters;
	int err;

	err = tapir_ring_control__take(&p->control, p->lane.ctl_fd, &opts);
	if (err)
		return err;
	/*
	 * The lane counts what children fire into their parent's sessions: only what comes after
	 * this value was lost in this recording.
	 */
	p->child_fired = tapir_ring_control__child_fired(&p->control);
	/*
	 * The tails have to be in place before the session is seen as open: threads measure by them
	 * how much room a ring has.
	 */
	tapir_ring_control__open(&p->control, fill_tails, p);
	init_scan(p);
	if (!tapir_ring_process__counters(p, 0, &counters))
		return -EIO;
	p->counted_cnt = p->control.is_inherited ? 0 : counters.event_cnt;
	tapir_ring_process__begin_losses(p);
	/* Events that are registered after this count change it, and are seen by the next drain. */
	err = tapir_ring_process__see_events(p, counters.event_cnt, counters.changes);
	tapir_ring_control__announce(&p->control);
	post_gap(p);
	if (is_own && sink->budget_spec)
		post_budget(p, TAPIR_BUDGET_META, 1);
	return err;
}

uint64_t tapir_ring_process__child_fired(const struct tapir_ring_process *p)
{
	return tapir_ring_control__child_fired(&p->control) - p->child_fired;
}

uint64_t tapir_ring_process__inherited(const struct tapir_ring_process *p)
{
	uint64_t cnt, off = offsetof(struct tapir_ring_data, inherited) +
			    p->control.session * sizeof(cnt);

	if (!p->control.is_inherited ||
	    pread(p->lane.data_fds[0], &cnt, sizeof(cnt), (off_t)off) != (ssize_t)sizeof(cnt))
		return 0;
	return cnt;
}

unsigned tapir_ring_process__children(struct tapir_ring_process *p, uint32_t *pids, unsigned max)
{
	/* In another pid namespace these are others: they are found in their turn. */
	return p->tids.is_same ? tapir_ring_control__children(&p->control, pids, max) : 0;
}

static void free_process(struct tapir_ring_process *p)
{
	tapir_ring_process__forget_events(p);
	tapir_ring_control__close(&p->control);
	tapir_ring_lane__close(&p->lane);
	tapir_ring_tids__fini(&p->tids);
	free(p->events);
	free(p->tails);
	free(p);
}

int tapir_ring_process__open(struct tapir_ring_sink *sink, uint32_t tgid,
			     struct tapir_ring_lane *lane, struct tapir_ring_process **out)
{
	struct tapir_ring_process *p = calloc(1, sizeof(*p));
	int err;

	if (!p) {
		tapir_ring_lane__close(lane);
		return -ENOMEM;
	}
	p->round = 1;
	p->sink = sink;
	p->tgid = tgid;
	p->lane = *lane;
	p->losses_ns = tapir_clock__now_ns();
	lane->ctl_fd = -1;
	for (unsigned i = 0; i < TAPIR_RING_ARENAS; i++)
		lane->data_fds[i] = -1;
	tapir_ring_tids__init(&p->tids, tgid);
	p->tails = calloc(TAPIR_RING_SLOTS, sizeof(*p->tails));
	err = p->tails ? open_session(p) : -ENOMEM;
	if (err)
		free_process(p);
	else
		*out = p;
	return err;
}

/* An odd number that has not changed since the first read. */
static bool is_still_writing(const struct tapir_ring_process *p, unsigned arena,
			     const struct tapir_ring_slot *first)
{
	struct tapir_ring_slot now[TAPIR_RING_ARENA_SLOTS];

	if (!read_slots(p, arena, now))
		return false;
	for (unsigned i = 0; i < p->slots_used[arena]; i++)
		if (first[i].writing % 2 && now[i].writing == first[i].writing)
			return true;
	return false;
}

static void wait_for_writers(struct tapir_ring_process *p)
{
	uint64_t end_ns = tapir_clock__now_ns() + WRITING_WAIT_NS;
	struct tapir_ring_slot first[TAPIR_RING_ARENA_SLOTS];

	usleep(1000);
	for (unsigned i = 0; i < TAPIR_RING_ARENAS; i++) {
		if (p->lane.data_fds[i] < 0 || !read_slots(p, i, first))
			continue;
		while (is_still_writing(p, i, first) && tapir_clock__now_ns() < end_ns)
			usleep(1000);
	}
}

void tapir_ring_process__finish(struct tapir_ring_process *p, bool is_alive)
{
	uint64_t end_ns = tapir_clock__now_ns() + LAST_DRAIN_NS;
	struct tapir_ring_drained drained;
	unsigned first;

	tapir_ring_process__want_nothing(p);
	if (is_alive)
		wait_for_writers(p);
	do {
		first = p->cursor;
		drained = tapir_ring_process__drain(p);
	} while (drained.is_lagging ||
		 ((drained.has_more || first) && tapir_clock__now_ns() < end_ns));
	tapir_ring_process__report_losses(p);
}

void tapir_ring_process__close(struct tapir_ring_process *p)
{
	if (p)
		free_process(p);
}

void tapir_ring_process__set_has_probes(struct tapir_ring_process *p, bool has)
{
	if (!p->lane.is_private)
		tapir_ring_control__set_has_probes(&p->control, has);
}

void tapir_ring_process__want_nothing(struct tapir_ring_process *p)
{
	tapir_ring_process__uncover(p);
	tapir_ring_control__want_nothing(&p->control);
}

bool tapir_ring_process__is_lagging(const struct tapir_ring_process *p)
{
	return tapir_ring_control__has_follower(&p->control) &&
	       !tapir_ring_control__is_applied(&p->control);
}

bool tapir_ring_process__is_applied(const struct tapir_ring_process *p)
{
	return tapir_ring_control__is_applied(&p->control);
}

void tapir_ring_process__published(const struct tapir_ring_process *p,
				   struct tapir_ring_published *out)
{
	tapir_ring_control__published(&p->control, out);
}

uint64_t tapir_ring_process__key(const struct tapir_ring_process *p)
{
	return p->lane.key;
}

size_t tapir_ring_process__wanted_cnt(const struct tapir_ring_process *p)
{
	return p->wanted_cnt;
}

uint64_t tapir_ring_process__event_cnt(const struct tapir_ring_process *p)
{
	return p->scan.event_cnt;
}

uint64_t tapir_ring_process__malformed_cnt(const struct tapir_ring_process *p)
{
	return p->scan.malformed_cnt;
}
