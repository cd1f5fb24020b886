// SPDX-License-Identifier: GPL-2.0-or-later
/* The catalog of a lane: which events there are, which were asked for, what each has lost. */
#include "collect/ring_drain_impl.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "collect/ring_select.h"

#define PROBE_ID_MAX 0x40000u /* of all lanes of a recording */

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
	loss.h = (struct tapir_rec){TAPIR_REC_LOSS, TAPIR_CPU_UNKNOWN, sizeof(loss), until_ns};
	tapir_queue__post(p->sink->queue, &loss.h, -1);
}

void tapir_ring_process__report_losses(struct tapir_ring_process *p)
{
	uint64_t now_ns = tapir_clock__now_ns(), cnt[TAPIR_RING_CAUSE_CNT];

	for (uint32_t i = 0; i < p->event_cnt; i++) {
		struct ring_event *ev = &p->events[i];

		if (!ev->probe_id || !read_losses(p, i, cnt))
			continue;
		post_loss(p, TAPIR_LOSS_RING_LANE_DROP, ev->probe_id, cnt[TAPIR_RING_NO_SPACE],
			  &ev->lost[0], now_ns);
		post_loss(p, TAPIR_LOSS_RING_LANE_NESTED, ev->probe_id, cnt[TAPIR_RING_NESTED],
			  &ev->lost[1], now_ns);
	}
	post_loss(p, TAPIR_LOSS_MALFORMED, 0, p->scan.malformed_cnt, &p->malformed_reported,
		  now_ns);
	p->losses_ns = now_ns;
}

/* ---- entries ---------------------------------------------------------------------------- */

static void post_probe(struct tapir_ring_process *p, uint32_t probe_id, struct tapir_rec *rec,
		       size_t bytes)
{
	struct tapir_rec_probe *probe = (struct tapir_rec_probe *)rec;
	struct tapir_rec_metadata *more = (void *)((char *)rec + rec->size);

	probe->probe_id = probe_id;
	probe->lane = TAPIR_LANE_RING;
	probe->flags = 0;
	probe->h.cpu = TAPIR_CPU_UNKNOWN;
	probe->h.time_ns = tapir_clock__now_ns();
	tapir_queue__post(p->sink->queue, rec, -1);
	bytes -= rec->size;
	if (bytes < sizeof(*more) || more->h.type != TAPIR_REC_METADATA ||
	    !tapir_record__ok(&more->h, bytes))
		return;
	more->probe_id = probe_id;
	more->h.cpu = TAPIR_CPU_UNKNOWN;
	more->h.time_ns = probe->h.time_ns;
	tapir_queue__post(p->sink->queue, &more->h, -1);
}

static void want(struct tapir_ring_process *p, uint32_t idx, struct tapir_rec *rec, size_t bytes)
{
	struct ring_event *ev = &p->events[idx];
	uint64_t cnt[TAPIR_RING_CAUSE_CNT];

	if (p->sink->next_probe_id >= PROBE_ID_MAX)
		return;
	ev->probe_id = p->sink->next_probe_id++;
	if (idx < p->counted_cnt && read_losses(p, idx, cnt)) {
		ev->lost[0] = cnt[TAPIR_RING_NO_SPACE];
		ev->lost[1] = cnt[TAPIR_RING_NESTED];
	}
	post_probe(p, ev->probe_id, rec, bytes);
	tapir_ring_control__want(&p->control, idx, true);
	p->wanted_cnt++;
}

/* rec: our copy of what the entry names. */
static void judge(struct tapir_ring_process *p, uint32_t idx, struct tapir_rec *rec, size_t bytes)
{
	struct tapir_probe_view view;

	if (rec->type != TAPIR_REC_PROBE || !tapir_record__ok(rec, bytes) ||
	    ((struct tapir_rec_probe *)rec)->probe_id != idx + 1) {
		p->scan.malformed_cnt++;
		return;
	}
	tapir_probe_view__of(rec, &view);
	if (tapir_ring_select__judge(p->sink->specs, &view, p->sink->spec_matched))
		want(p, idx, rec, bytes);
	else
		tapir_ring_control__want(&p->control, idx, false);
}

/* true: it is known now, well-formed or not. */
static bool see_entry(struct tapir_ring_process *p, uint32_t idx)
{
	const struct tapir_ring_data *h = &p->lane.data[0];
	struct tapir_ring_entry entry;
	tapir_autofree void *copy = NULL;

	if (!read_at(p, &entry, sizeof(entry), h->entries_off + idx * sizeof(entry)) ||
	    !entry.bytes)
		return false;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/* catalog_off was stored before bytes: only a second read is sure to see it */
	if (!read_at(p, &entry, sizeof(entry), h->entries_off + idx * sizeof(entry)))
		return false;
	if (entry.bytes < sizeof(struct tapir_rec_probe) || entry.bytes % 8 ||
	    entry.bytes > 2 * TAPIR_MAX_RECORD_BYTES ||
	    (uint64_t)entry.catalog_off + entry.bytes > h->catalog_bytes) {
		p->scan.malformed_cnt++;
		return true;
	}
	copy = malloc(entry.bytes);
	if (!copy || !read_at(p, copy, entry.bytes, h->catalog_off + entry.catalog_off))
		return false;
	judge(p, idx, copy, entry.bytes);
	return true;
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
