// SPDX-License-Identifier: GPL-2.0-or-later
/* The catalog of a lane: which events there are, which were asked for, what each has lost. */
#include "collect/ring_drain_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/ring_entry.h"
#include "base/clock.h"
#include "decode/probe_name.h"
#include "collect/ring_select.h"

#define PROBE_ID_MAX 0x40000u /* of all lanes of a recording */

/*
 * What descriptions may cost, of a process and of all: one that makes lanes anew, or rewrites its
 * catalog while we read it, must not take the others' ids and memory.
 */
#define ID_COST	     512u /* bytes that an id counts for */
#define COST_MAX     (16u << 20)
#define COST_ALL_MAX (128u << 20)

static bool read_at(const struct tapir_ring_process *p, void *out, size_t bytes, uint64_t off)
{
	return pread(p->lane.data_fds[0], out, bytes, (off_t)off) == (ssize_t)bytes;
}

/* ---- losses ----------------------------------------------------------------------------- */

static bool read_losses(const struct tapir_ring_process *p, uint32_t idx,
			uint64_t cnt[TAPIR_RING_CAUSE_CNT])
{
	uint64_t off = p->lane.data[0].losses_off + idx * sizeof(struct tapir_ring_losses) +
		       p->control.session * sizeof(uint64_t) * TAPIR_RING_CAUSE_CNT;

	return read_at(p, cnt, TAPIR_RING_CAUSE_CNT * sizeof(*cnt), off);
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

void tapir_ring_process__report_losses(struct tapir_ring_process *p)
{
	static const enum tapir_loss_cause causes[RING_CAUSES] = {
		[TAPIR_RING_NO_SPACE] = TAPIR_LOSS_RING_LANE_DROP,
		[TAPIR_RING_NESTED] = TAPIR_LOSS_RING_LANE_NESTED,
		[TAPIR_RING_LIMITED] = TAPIR_LOSS_RING_LANE_LIMITED};
	uint64_t now_ns = tapir_clock__now_ns(), cnt[TAPIR_RING_CAUSE_CNT];

	for (uint32_t i = 0; i < p->event_cnt; i++) {
		struct ring_event *ev = &p->events[i];

		if (!ev->probe_id || !read_losses(p, i, cnt))
			continue;
		for (unsigned cause = 0; cause < RING_CAUSES; cause++)
			post_loss(p, causes[cause], ev->probe_id, cnt[cause], &ev->lost[cause],
				  now_ns);
	}
	post_loss(p, TAPIR_LOSS_MALFORMED, 0, p->scan.malformed_cnt, &p->malformed_reported,
		  now_ns);
	p->losses_ns = now_ns;
}

/* ---- entries ---------------------------------------------------------------------------- */

static void post_probe(struct tapir_ring_process *p, uint32_t probe_id, struct tapir_rec *rec,
		       uint8_t flags)
{
	struct tapir_rec_probe *probe = (struct tapir_rec_probe *)rec;

	probe->probe_id = probe_id;
	probe->lane = TAPIR_LANE_RING;
	probe->flags = flags;
	probe->h.cpu = TAPIR_CPU_UNKNOWN;
	probe->h.time_ns = tapir_clock__now_ns();
	tapir_queue__post(p->sink->queue, rec, -1);
}

/* Behind the PROBE record, if there is one. */
static void post_metadata(struct tapir_ring_process *p, uint32_t probe_id, struct tapir_rec *probe,
			  size_t bytes)
{
	struct tapir_rec_metadata *more = (void *)((char *)probe + probe->size);

	bytes -= probe->size;
	if (bytes < sizeof(*more) || more->h.type != TAPIR_REC_METADATA ||
	    !tapir_record__ok(&more->h, bytes))
		return;
	more->probe_id = probe_id;
	more->h.cpu = TAPIR_CPU_UNKNOWN;
	more->h.time_ns = tapir_clock__now_ns();
	tapir_queue__post(p->sink->queue, &more->h, -1);
}

static bool charge(struct tapir_ring_process *p, size_t bytes)
{
	struct tapir_ring_sink *sink = p->sink;
	uint64_t *of_process = tapir_map__put(&sink->charged, p->tgid, NULL),
		 cost = bytes + ID_COST;

	if (!of_process || *of_process + cost > COST_MAX ||
	    sink->charged_all + cost > COST_ALL_MAX || sink->next_probe_id >= PROBE_ID_MAX)
		return false;
	*of_process += cost;
	sink->charged_all += cost;
	return true;
}

/* true: it may be on. bytes: of its description. */
static bool want(struct tapir_ring_process *p, uint32_t idx, size_t bytes)
{
	struct ring_event *ev = &p->events[idx];
	uint64_t cnt[TAPIR_RING_CAUSE_CNT];

	if (!charge(p, bytes))
		return false;
	ev->probe_id = p->sink->next_probe_id++;
	if (idx < p->counted_cnt && read_losses(p, idx, cnt))
		memcpy(ev->lost, cnt, sizeof(ev->lost));
	p->wanted_cnt++;
	return true;
}

/* By a SPEC; or for names of code alone, as *flags says then. */
static bool is_asked_for(struct tapir_ring_sink *sink, const struct tapir_probe_view *view,
			 uint8_t *flags)
{
	struct tapir_spec *names[] = {(struct tapir_spec *)sink->name_spec};
	const struct tapir_spec_list for_names = {.data = names, .cnt = 1, .cap = 1};

	*flags = 0;
	if (tapir_ring_select__judge(sink->specs, view, sink->spec_matched))
		return true;
	if (!sink->name_spec || !tapir_ring_select__judge(&for_names, view, NULL))
		return false;
	*flags = TAPIR_PROBE_FOR_NAMES;
	return true;
}

/* rec: our copy of what the entry names, the record with its event's name completed. */
static void judge(struct tapir_ring_process *p, uint32_t idx, struct tapir_rec *rec, size_t bytes)
{
	struct tapir_rec *named =
		(struct tapir_rec *)tapir_probe_name__complete(&p->sink->recbuf, rec);
	struct tapir_probe_view view;
	uint8_t flags;

	if (!named)
		return;
	tapir_probe_view__of(named, &view);
	tapir_seen_names__add(&p->sink->seen, view.provider, view.event);
	if (!is_asked_for(p->sink, &view, &flags) || !want(p, idx, bytes)) {
		tapir_ring_control__want(&p->control, idx, false);
		return;
	}
	post_probe(p, p->events[idx].probe_id, named, flags);
	post_metadata(p, p->events[idx].probe_id, rec, bytes);
	tapir_ring_control__want(&p->control, idx, true);
	p->events[idx].cover_key = tapir_lane_cover__key(view.provider, view.event);
	tapir_lane_cover__on(p->sink->cover, p->tgid, p->events[idx].cover_key);
}

void tapir_ring_process__uncover(struct tapir_ring_process *p)
{
	for (uint32_t i = 0; i < p->event_cnt; i++) {
		if (p->events[i].cover_key)
			tapir_lane_cover__off(p->sink->cover, p->tgid, p->events[i].cover_key);
		p->events[i].cover_key = 0;
	}
}

/* true: it is known now, well-formed or not. */
static bool see_entry(struct tapir_ring_process *p, uint32_t idx)
{
	struct tapir_rec *rec;
	size_t bytes;
	int got = tapir_ring_entry__read(&p->lane, idx, &rec, &bytes);

	if (got > 0) {
		judge(p, idx, rec, bytes);
		free(rec);
	}
	p->scan.malformed_cnt += got < 0;
	return got != 0;
}

static int grow(struct tapir_ring_process *p, uint32_t cnt)
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

/* A page of entries a read: a process may leave thousands empty, and we come often. */
static void see_entries(struct tapir_ring_process *p, uint32_t from, uint32_t cnt)
{
	struct tapir_ring_entry entries[256];

	if (!read_at(p, entries, cnt * sizeof(*entries),
		     p->lane.data[0].entries_off + from * sizeof(*entries)))
		return;
	for (uint32_t i = 0; i < cnt; i++) {
		struct ring_event *ev = &p->events[from + i];

		if (!ev->is_known && entries[i].bytes)
			ev->is_known = see_entry(p, from + i);
		p->first_unknown += ev->is_known && p->first_unknown == from + i;
	}
}

int tapir_ring_process__see_events(struct tapir_ring_process *p, uint32_t event_cnt)
{
	int err = event_cnt > p->event_cnt ? grow(p, event_cnt) : 0;

	for (uint32_t i = p->first_unknown; i < p->event_cnt; i += 256)
		see_entries(p, i, p->event_cnt - i < 256 ? p->event_cnt - i : 256);
	return err;
}

uint32_t tapir_ring_process__probe_of(void *ctx, uint32_t event_idx)
{
	struct tapir_ring_process *p = ctx;

	if (event_idx < p->event_cnt && p->events[event_idx].is_known)
		return p->events[event_idx].probe_id;
	p->scan.malformed_cnt++; /* an event without an entry */
	return 0;
}
