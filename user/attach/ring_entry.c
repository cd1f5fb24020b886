// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Offsets are checked before they are followed, and records after they were copied: between the two
 * the process may have written others. The entry is read again after the copy; if it has changed,
 * the copy may be of two events and is dropped.
 */
#include "attach/ring_entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "trace/record.h"

static bool read_ring_lane(const struct tapir_ring_lane *lane, void *out, size_t bytes,
			   uint64_t off)
{
	return pread(lane->data_fds[0], out, bytes, (off_t)off) == (ssize_t)bytes;
}

/* Returns false if the entry is still empty. */
static bool read_entry(const struct tapir_ring_lane *lane, uint32_t idx,
		       struct tapir_ring_entry *entry)
{
	uint64_t off = lane->data[0].entries_off + idx * sizeof(*entry);

	if (!read_ring_lane(lane, entry, sizeof(*entry), off) || !entry->bytes)
		return false;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/* catalog_off was stored before bytes: only a second read is sure to see it */
	return read_ring_lane(lane, entry, sizeof(*entry), off);
}

static bool is_probe_of(const struct tapir_rec *rec, size_t bytes, uint32_t id)
{
	return rec->type == TAPIR_REC_PROBE && tapir_record__ok(rec, bytes) &&
	       ((const struct tapir_rec_probe *)rec)->probe_id == id;
}

/* The entry may have been given to another event while its bytes were copied. */
static bool is_same_entry(const struct tapir_ring_lane *lane, uint32_t idx,
			  const struct tapir_ring_entry *entry)
{
	struct tapir_ring_entry now;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return read_entry(lane, idx, &now) && !memcmp(&now, entry, sizeof(now));
}

int tapir_ring_entry__read(const struct tapir_ring_lane *lane, uint32_t idx, struct tapir_rec **out,
			   size_t *bytes)
{
	const struct tapir_ring_data *h = &lane->data[0];
	struct tapir_ring_entry entry;
	tapir_autofree void *copy = NULL;

	if (!read_entry(lane, idx, &entry))
		return 0;
	if (entry.bytes < sizeof(struct tapir_rec_probe) || entry.bytes % 8 ||
	    entry.bytes > 2 * TAPIR_MAX_RECORD_BYTES ||
	    (uint64_t)entry.catalog_off + entry.bytes > h->catalog_bytes)
		return -EBADMSG;
	copy = malloc(entry.bytes);
	if (!copy || !read_ring_lane(lane, copy, entry.bytes, h->catalog_off + entry.catalog_off))
		return 0;
	if (!is_same_entry(lane, idx, &entry))
		return 0;
	if (!is_probe_of(copy, entry.bytes, TAPIR_RING_ID(idx, entry.generation)))
		return -EBADMSG;
	*out = copy;
	*bytes = entry.bytes;
	copy = NULL;
	return 1;
}

/* Entries begun so far, in bounds. */
static uint32_t entry_cnt(const struct tapir_ring_lane *lane)
{
	uint32_t cnt = 0;

	if (!read_ring_lane(lane, &cnt, sizeof(cnt), offsetof(struct tapir_ring_data, event_cnt)))
		return 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return cnt < TAPIR_RING_EVENTS ? cnt : TAPIR_RING_EVENTS;
}

struct tapir_rec_metadata *tapir_ring_entry__metadata(struct tapir_rec *probe, size_t bytes)
{
	struct tapir_rec_metadata *more = (void *)((char *)probe + probe->size);

	bytes -= probe->size;
	return bytes >= sizeof(*more) && more->h.type == TAPIR_REC_METADATA &&
			       tapir_record__ok(&more->h, bytes)
		       ? more
		       : NULL;
}

bool tapir_ring_entry__is_counter(struct tapir_rec *probe, size_t bytes)
{
	const struct tapir_rec_metadata *more = tapir_ring_entry__metadata(probe, bytes);

	return more && more->format == TAPIR_METADATA_COUNTER;
}

/* ---- all of a process --------------------------------------------------------------------- */

struct lists {
	struct tapir_ring_event_list *events;
	struct tapir_ring_counter_list *counters;
};

static bool push(const struct lists *to, uint32_t tgid, bool is_private, struct tapir_rec *probe,
		 size_t bytes)
{
	const struct tapir_rec_metadata *metadata = tapir_ring_entry__metadata(probe, bytes);
	const struct tapir_ring_event_info event = {tgid, is_private, probe, metadata};
	const struct tapir_ring_counter_info counter = {tgid, probe, metadata};

	if (!tapir_ring_entry__is_counter(probe, bytes))
		return tapir_vec__push(to->events, event);
	return tapir_vec__push(to->counters, counter);
}

/* Some of its events cannot be found as probes: this is why. */
static void report_not_a_probe(uint32_t tgid, const struct tapir_ring_lane *lane)
{
	struct tapir_ring_published now = tapir_ring_lane__published(lane);

	if (!lane->is_private && now.left_cnt)
		tapir_info("process %u: %u events defined at run time have no USDT probe of their "
			   "own (%s); other tools see them as JSON, by tapir_event:LEVEL",
			   tgid, now.left_cnt, strerror((int)(now.err & 0xfff)));
}

/* Returns true if the event of an entry has ended: lists no longer have it. */
static bool was_given_back(const struct tapir_ring_lane *lane, uint32_t idx)
{
	struct tapir_ring_entry entry;

	return read_entry(lane, idx, &entry) && (entry.flags & TAPIR_RING_ENTRY_GONE);
}

static int add_lane(uint32_t tgid, const struct tapir_ring_lane *lane, const struct lists *to)
{
	uint32_t cnt = entry_cnt(lane);

	report_not_a_probe(tgid, lane);
	for (uint32_t i = 0; i < cnt; i++) {
		struct tapir_rec *probe;
		size_t bytes;

		if (was_given_back(lane, i) || tapir_ring_entry__read(lane, i, &probe, &bytes) <= 0)
			continue;
		if (!push(to, tgid, lane->is_private, probe, bytes)) {
			free(probe);
			return -ENOMEM;
		}
	}
	return 0;
}

int tapir_ring_events__add(uint32_t tgid, struct tapir_ring_event_list *list,
			   struct tapir_ring_counter_list *counters)
{
	const struct lists to = {list, counters};
	struct tapir_ring_lanes lanes;
	const struct tapir_ring_lane *lane;
	int err = tapir_ring_lanes__find(tgid, &lanes);

	if (err)
		return err;
	tapir_vec_for_each (lane, &lanes.all)
		if (!err && !tapir_ring_lane__is_abandoned(lane))
			err = add_lane(tgid, lane, &to);
	tapir_ring_lanes__fini(&lanes);
	return err;
}

void tapir_ring_events__fini(struct tapir_ring_event_list *list)
{
	for (size_t i = 0; i < list->cnt; i++)
		free(list->data[i].probe);
	tapir_vec__fini(list);
}

void tapir_ring_counters__fini(struct tapir_ring_counter_list *counters)
{
	for (size_t i = 0; i < counters->cnt; i++)
		free(counters->data[i].probe);
	tapir_vec__fini(counters);
}
