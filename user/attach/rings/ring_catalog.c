// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The catalog of a lane: which events there are, which of them were requested, and what each has
 * lost. Entries are read from memory that the process can write at any time: each is copied before
 * it is judged, and what is kept of it is charged to the process.
 */
#include "spec/runtime_db/lore.h"
#include "attach/rings/ring_drain_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/ring_entry.h"
#include "base/clock.h"
#include "base/log.h"
#include "decode/probe_name.h"
#include "attach/rings/ring_limits.h"
#include "attach/rings/ring_select.h"

/*
 * The memory limit for the descriptions of one process: one that rewrites its catalog while it is
 * read must not take the memory of others. Released with the entry, or when the lane is closed.
 */
#define ID_COST	 512u /* bytes that an id counts for */
#define COST_MAX (32u << 20)

static bool read_ring_data(const struct tapir_ring_process *p, void *out, size_t bytes,
			   uint64_t off)
{
	return pread(p->lane.data_fds[0], out, bytes, (off_t)off) == (ssize_t)bytes;
}

/* ---- losses ----------------------------------------------------------------------------- */

static bool read_losses(const struct tapir_ring_process *p, uint32_t row,
			uint64_t cnt[TAPIR_RING_CAUSE_CNT])
{
	uint64_t off = p->lane.data[0].losses_off + row * sizeof(struct tapir_ring_losses) +
		       p->control.session * sizeof(uint64_t) * TAPIR_RING_CAUSE_CNT;

	return read_ring_data(p, cnt, TAPIR_RING_CAUSE_CNT * sizeof(*cnt), off);
}

static void post_loss(struct tapir_ring_process *p, enum tapir_loss_cause cause, uint32_t probe_id,
		      uint64_t now, uint64_t *seen, uint64_t until_ns)
{
	struct tapir_rec_loss loss = {
		.cause = cause,
		.probe_id = probe_id,
		.count = now - *seen,
		.from_ns = p->losses_ns,
		.until_ns = until_ns,
	};

	if (now <= *seen)
		return;
	*seen = now;
	/* More than one a nanosecond: no count of anything, but what the process wrote there. */
	if (loss.count > until_ns - p->losses_ns) {
		p->scan.malformed_cnt += cause != TAPIR_LOSS_MALFORMED;
		return;
	}
	loss.h = (struct tapir_rec){TAPIR_REC_LOSS, TAPIR_CPU_UNKNOWN, sizeof(loss), until_ns};
	tapir_queue__post(p->sink->queue, &loss.h, -1);
}

static const enum tapir_loss_cause causes[RING_CAUSES] = {
	[TAPIR_RING_NO_SPACE] = TAPIR_LOSS_RING_LANE_DROP,
	[TAPIR_RING_NESTED] = TAPIR_LOSS_RING_LANE_NESTED,
	[TAPIR_RING_LIMITED] = TAPIR_LOSS_RING_LANE_LIMITED,
	[TAPIR_RING_TOO_LARGE] = TAPIR_LOSS_RING_LANE_TOO_LARGE,
	[TAPIR_RING_NO_SLOT] = TAPIR_LOSS_RING_LANE_NO_SLOT,
	[TAPIR_RING_NO_ENTRY] = TAPIR_LOSS_RING_LANE_NO_ENTRY,
	[TAPIR_RING_NO_PROVIDER] = TAPIR_LOSS_RING_LANE_NO_PROVIDER,
};

/* probe_id 0: of events that have none. */
static void report_row(struct tapir_ring_process *p, uint32_t row, uint32_t probe_id,
		       uint64_t seen[RING_CAUSES], uint64_t now_ns)
{
	uint64_t cnt[TAPIR_RING_CAUSE_CNT];

	if (!read_losses(p, row, cnt))
		return;
	for (unsigned cause = 0; cause < RING_CAUSES; cause++)
		post_loss(p, causes[cause], probe_id, cnt[cause], &seen[cause], now_ns);
}

/* Their events cannot be counted: the first of them begins a gap to the end of the recording. */
static void report_unserved(struct tapir_ring_process *p, uint64_t now_ns)
{
	uint32_t cnt = tapir_ring_control__unserved_cnt(&p->control);

	if (!cnt || !p->lane.is_private)
		return;
	if (!p->unserved_reported) {
		tapir_warn("process %u: events of up to %u providers are not recorded: more exist "
			   "or match the SPECs than a process accepts (name fewer)",
			   p->tgid, cnt);
		tapir_ring_limits__post_gap(p->sink->queue, p->tgid, TAPIR_GAP_ATTACH_FAILED,
					    p->losses_ns, "event providers beyond the limit");
	}
	post_loss(p, TAPIR_LOSS_PROVIDERS_LEFT, 0, cnt, &p->unserved_reported, now_ns);
}

void tapir_ring_process__report_losses(struct tapir_ring_process *p)
{
	uint64_t now_ns = tapir_clock__now_ns();

	for (uint32_t i = 0; i < p->event_cnt; i++)
		if (p->events[i].probe_id)
			report_row(p, i, p->events[i].probe_id, p->events[i].lost, now_ns);
	report_row(p, TAPIR_RING_EVENTS, 0, p->unlisted, now_ns);
	post_loss(p, TAPIR_LOSS_MALFORMED, 0, p->scan.malformed_cnt, &p->malformed_reported,
		  now_ns);
	post_loss(p, TAPIR_LOSS_RING_LANE_UNDESCRIBED, 0, p->refused_cnt, &p->refused_reported,
		  now_ns);
	report_unserved(p, now_ns);
	p->losses_ns = now_ns;
}

void tapir_ring_process__begin_losses(struct tapir_ring_process *p)
{
	uint64_t cnt[TAPIR_RING_CAUSE_CNT];

	if (!p->control.is_inherited && read_losses(p, TAPIR_RING_EVENTS, cnt))
		memcpy(p->unlisted, cnt, sizeof(p->unlisted));
}

/* ---- entries ---------------------------------------------------------------------------- */

static void post_probe(struct tapir_ring_process *p, uint32_t probe_id, struct tapir_rec *rec)
{
	((struct tapir_rec_probe *)rec)->probe_id = probe_id;
	rec->time_ns = tapir_clock__now_ns();
	tapir_queue__post(p->sink->queue, rec, -1);
}

/* The lane's numbers do not belong to the event's description. */
static void clear_ids(struct tapir_rec *entry, size_t bytes)
{
	struct tapir_rec_metadata *more = tapir_ring_entry__metadata(entry, bytes);

	if (more)
		more->probe_id = 0;
}

static void post_metadata(struct tapir_ring_process *p, uint32_t probe_id, struct tapir_rec *entry,
			  size_t bytes)
{
	struct tapir_rec_metadata *more = tapir_ring_entry__metadata(entry, bytes);

	if (!more)
		return;
	more->probe_id = probe_id;
	more->h.cpu = TAPIR_CPU_UNKNOWN;
	more->h.time_ns = tapir_clock__now_ns();
	tapir_queue__post(p->sink->queue, &more->h, -1);
}

static void drop_event(struct tapir_ring_process *p, uint32_t idx);

/* Events that were given back make room for those that are there. */
static void forget_gone(struct tapir_ring_process *p)
{
	for (uint32_t i = 0; i < p->event_cnt; i++)
		if (p->events[i].is_known && p->events[i].gone_round)
			drop_event(p, i);
}

static bool charge(struct tapir_ring_process *p, struct ring_event *ev, size_t bytes)
{
	uint32_t cost = (uint32_t)bytes + ID_COST;

	if (p->cost_bytes + cost > COST_MAX)
		forget_gone(p);
	if (p->cost_bytes + cost > COST_MAX)
		return false;
	p->cost_bytes += cost;
	ev->cost_bytes = cost;
	return true;
}

/* If there is no room for an event's description, its events are counted as not described. */
static void refuse_description(struct tapir_ring_process *p, struct ring_event *ev)
{
	p->cost_bytes -= ev->cost_bytes;
	ev->cost_bytes = 0;
	ev->is_refused = true;
	if (!p->has_refused)
		tapir_warn("process %u: its limit of event descriptions is reached: its other "
			   "events are lost (counted)",
			   p->tgid);
	p->has_refused = true;
}

/* rec: the PROBE record as it will be written; more: what follows it in the catalog. */
static void describe_event(struct tapir_ring_process *p, struct ring_event *ev,
			   struct tapir_rec *rec, struct tapir_rec *entry, size_t entry_bytes,
			   uint8_t flags)
{
	struct tapir_rec_probe *probe = (struct tapir_rec_probe *)rec;
	bool is_new;

	probe->lane = TAPIR_LANE_RING;
	probe->flags = flags;
	probe->h.cpu = TAPIR_CPU_UNKNOWN;
	clear_ids(entry, entry_bytes);
	if (charge(p, ev, entry_bytes))
		ev->probe_id =
			tapir_ring_kinds__use(&p->sink->kinds, probe, (char *)entry + entry->size,
					      entry_bytes - entry->size, &ev->kind, &is_new);
	if (!ev->probe_id) {
		refuse_description(p, ev);
		return;
	}
	p->wanted_cnt++;
	if (!is_new)
		return;
	post_probe(p, ev->probe_id, rec);
	post_metadata(p, ev->probe_id, entry, entry_bytes);
}

/* Lanes of the library for .NET are private: their events are EventPipe's. */
static enum tapir_spec_zero zero_of(const struct tapir_ring_process *p)
{
	return p->lane.is_private ? TAPIR_SPEC_ZERO_IS_NONE : TAPIR_SPEC_ZERO_IS_ALL;
}

static bool is_selected_by_spec(const struct tapir_spec *spec, const struct tapir_probe_view *view)
{
	struct tapir_spec *specs[] = {(struct tapir_spec *)spec};
	const struct tapir_spec_list one = {.data = specs, .cnt = 1, .cap = 1};

	return spec && tapir_ring_select__classify(&one, TAPIR_SPEC_ZERO_IS_ALL, view, NULL);
}

/* Selected by a SPEC, or only for names of code, which *flags then shows. */
static bool is_selected(struct tapir_ring_process *p, const struct tapir_probe_view *view,
			uint8_t *flags)
{
	struct tapir_ring_sink *sink = p->sink;

	*flags = 0;
	if (tapir_ring_select__classify(sink->specs, zero_of(p), view, sink->spec_matched))
		return true;
	if (!is_selected_by_spec(sink->name_spec, view))
		return false;
	*flags = TAPIR_PROBE_FOR_NAMES;
	return true;
}

/* rec: our copy of what the entry names, the record with its event's name completed. */
static void select_event(struct tapir_ring_process *p, uint32_t idx, struct tapir_rec *rec,
			 size_t bytes)
{
	struct tapir_rec *named =
		(struct tapir_rec *)tapir_probe_name__complete(&p->sink->recbuf, rec);
	struct ring_event *ev = &p->events[idx];
	struct tapir_probe_view view;
	uint8_t flags;
	bool is_requested;

	if (!named)
		return;
	if (tapir_ring_entry__is_counter(rec, bytes)) {
		tapir_ring_control__want(&p->control, idx, ev->generation, false, false);
		return;
	}
	tapir_probe_view__of(named, &view);
	tapir_seen_names__add(&p->sink->seen, view.provider, view.event);
	is_requested = is_selected(p, &view, &flags);
	ev->is_brief = !is_requested && p->lane.is_private &&
		       is_selected_by_spec(p->sink->budget_spec, &view);
	if (!is_requested && (!ev->is_brief || p->budget.has_ended)) {
		tapir_ring_control__want(&p->control, idx, ev->generation, false, false);
		return;
	}
	ev->cover_key = tapir_lane_coverage__key(view.provider, view.event);
	describe_event(p, ev, named, rec, bytes, flags);
	tapir_ring_control__want(
		&p->control, idx, ev->generation, true,
		p->sink->with_every_stack ||
			!tapir_lore__is_stackless(view.provider.data, view.provider.len,
						  view.event.data, view.event.len));
	if (ev->is_refused)
		ev->cover_key = 0; /* its probe, if it has one, serves */
	else
		tapir_lane_coverage__on(p->sink->cover, p->tgid, ev->cover_key);
}

static void uncover(struct tapir_ring_process *p, struct ring_event *ev)
{
	if (ev->cover_key)
		tapir_lane_coverage__off(p->sink->cover, p->tgid, ev->cover_key);
	ev->cover_key = 0;
}

bool tapir_ring_process__is_probed(const struct tapir_ring_process *p)
{
	bool any = false;

	for (uint32_t i = 0; i < p->event_cnt; i++) {
		uint64_t key = p->events[i].cover_key;

		if (key && !tapir_lane_coverage__is_probed(p->sink->cover, key))
			return false;
		any |= key != 0;
	}
	return any;
}

void tapir_ring_process__uncover(struct tapir_ring_process *p)
{
	for (uint32_t i = 0; i < p->event_cnt; i++)
		uncover(p, &p->events[i]);
}

void tapir_ring_process__end_budget(struct tapir_ring_process *p)
{
	for (uint32_t i = 0; i < p->event_cnt; i++) {
		struct ring_event *ev = &p->events[i];

		if (!ev->is_brief)
			continue;
		uncover(p, ev);
		tapir_ring_control__want(&p->control, i, ev->generation, false, false);
	}
	tapir_ring_control__drop(&p->control, p->sink->budget_spec->provider);
	tapir_ring_control__announce(&p->control);
}

/* Every record of it was drained. */
static void drop_event(struct tapir_ring_process *p, uint32_t idx)
{
	struct ring_event *ev = &p->events[idx];
	uint64_t cnt[TAPIR_RING_CAUSE_CNT];

	uncover(p, ev);
	if (ev->probe_id)
		report_row(p, idx, ev->probe_id, ev->lost, tapir_clock__now_ns());
	else if (read_losses(p, idx, cnt))
		memcpy(ev->lost, cnt, sizeof(ev->lost));
	if (ev->probe_id)
		tapir_ring_kinds__drop(&p->sink->kinds, ev->kind);
	p->cost_bytes -= ev->cost_bytes;
	ev->cost_bytes = ev->probe_id = ev->gone_round = 0;
	ev->is_known = ev->is_refused = false;
}

void tapir_ring_process__forget_events(struct tapir_ring_process *p)
{
	for (uint32_t i = 0; i < p->event_cnt; i++)
		if (p->events[i].probe_id)
			tapir_ring_kinds__drop(&p->sink->kinds, p->events[i].kind);
}

static void see_first(struct tapir_ring_process *p, uint32_t idx, uint32_t generation)
{
	struct ring_event *ev = &p->events[idx];
	uint64_t cnt[TAPIR_RING_CAUSE_CNT];

	ev->generation = generation;
	if (!ev->was_known && idx < p->counted_cnt && read_losses(p, idx, cnt))
		memcpy(ev->lost, cnt, sizeof(ev->lost));
	ev->was_known = true;
}

/* false: it cannot be read now. Else it is known, well-formed or not. */
static bool see_entry(struct tapir_ring_process *p, uint32_t idx, uint32_t generation)
{
	struct tapir_rec *rec;
	size_t bytes;
	int got = tapir_ring_entry__read(&p->lane, idx, &rec, &bytes);

	if (!got)
		return false;
	see_first(p, idx, generation);
	p->events[idx].is_known = true;
	if (got > 0) {
		/* An entry that has another generation by now is read again later. */
		if (TAPIR_RING_ID_GENERATION(((struct tapir_rec_probe *)rec)->probe_id) ==
		    generation)
			select_event(p, idx, rec, bytes);
		free(rec);
	}
	p->scan.malformed_cnt += got < 0;
	return true;
}

static int grow_catalog(struct tapir_ring_process *p, uint32_t cnt)
{
	uint32_t cap = p->event_cap ? p->event_cap : 64;
	struct ring_event *events;

	while (cap < cnt)
		cap *= 2;
	if (cap > p->event_cap) {
		events = reallocarray(p->events, cap, sizeof(*events));
		if (!events)
			return -ENOMEM;
		memset(events + p->event_cap, 0, (cap - p->event_cap) * sizeof(*events));
		p->events = events;
		p->event_cap = cap;
	}
	p->event_cnt = cnt;
	return 0;
}

/*
 * Given back: what it fired before may still be in the rings, since the process need not wait for
 * us. An entry of a later generation is proof that it was drained (ring.h, ENTRIES); else the next
 * drain of all slots that begins is.
 */
static bool has_ended(struct tapir_ring_process *p, struct ring_event *ev)
{
	uncover(p, ev);
	if (!ev->gone_round)
		ev->gone_round = p->round;
	if (p->round - ev->gone_round >= 2)
		return true;
	p->must_scan = true;
	return false;
}

/* An entry that was filled, returned, or both since it was last read. */
static void read_catalog_entry(struct tapir_ring_process *p, uint32_t idx,
			       const struct tapir_ring_entry *entry)
{
	struct ring_event *ev = &p->events[idx];
	uint32_t generation = entry->generation & 0xffffu;
	bool is_gone = entry->flags & TAPIR_RING_ENTRY_GONE;

	if (ev->is_known && entry->bytes &&
	    (ev->generation != generation || (is_gone && has_ended(p, ev))))
		drop_event(p, idx);
	if (ev->is_known || is_gone || !entry->bytes)
		return;
	if (!see_entry(p, idx, generation))
		p->must_scan = true;
}

/* A page of entries a read: a process may leave thousands empty, and we come often. */
static void see_entries(struct tapir_ring_process *p, uint32_t from, uint32_t cnt)
{
	struct tapir_ring_entry entries[256];

	if (!read_ring_data(p, entries, cnt * sizeof(*entries),
			    p->lane.data[0].entries_off + from * sizeof(*entries))) {
		p->must_scan = true; /* in the next round, before its events are read */
		return;
	}
	for (uint32_t i = 0; i < cnt; i++)
		read_catalog_entry(p, from + i, &entries[i]);
}

int tapir_ring_process__see_events(struct tapir_ring_process *p, uint32_t event_cnt,
				   uint64_t changes)
{
	int err = event_cnt > p->event_cnt ? grow_catalog(p, event_cnt) : 0;

	if (changes == p->changes && !p->must_scan && !err)
		return 0;
	p->changes = changes;
	p->must_scan = err != 0;
	for (uint32_t i = 0; i < p->event_cnt; i += 256)
		see_entries(p, i, p->event_cnt - i < 256 ? p->event_cnt - i : 256);
	return err;
}

/*
 * A short-lived event may give its entry back before a drain has read it; then only its records in
 * the rings say that it was there. Entries of other events that ended are not read. A process could
 * write records of any entry, so a drain reads no more of them than there are entries.
 */
static void see_ended(struct tapir_ring_process *p, uint32_t idx, uint32_t generation)
{
	struct tapir_rec *rec;
	size_t bytes;

	if (!p->ended_reads)
		return;
	p->ended_reads--;
	if (tapir_ring_entry__read(&p->lane, idx, &rec, &bytes) <= 0)
		return;
	if (((struct tapir_rec_probe *)rec)->probe_id == TAPIR_RING_ID(idx, generation)) {
		see_first(p, idx, generation);
		p->events[idx].is_known = true;
		select_event(p, idx, rec, bytes);
		p->must_scan = true; /* the next drains forget it */
	}
	free(rec);
}

uint32_t tapir_ring_process__probe_of(void *ctx, uint32_t event_id)
{
	struct tapir_ring_process *p = ctx;
	uint32_t idx = TAPIR_RING_ID_IDX(event_id);
	uint32_t generation = TAPIR_RING_ID_GENERATION(event_id);
	const struct ring_event *ev = idx < p->event_cnt ? &p->events[idx] : NULL;

	if (ev && !ev->is_known)
		see_ended(p, idx, generation);
	if (!ev || !ev->is_known || ev->generation != generation) {
		p->scan.malformed_cnt++; /* an event without an entry */
		return 0;
	}
	p->refused_cnt += ev->is_refused;
	p->budget.cnt += ev->is_brief;
	return ev->probe_id;
}
