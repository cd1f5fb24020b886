// SPDX-License-Identifier: GPL-2.0-or-later
/* Offsets that are checked before they are followed, and records after they were copied. */
#include "attach/ring_entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "trace/record.h"

static bool read_at(const struct tapir_ring_lane *lane, void *out, size_t bytes, uint64_t off)
{
	return pread(lane->data_fds[0], out, bytes, (off_t)off) == (ssize_t)bytes;
}

/* false: empty, or gone. */
static bool read_entry(const struct tapir_ring_lane *lane, uint32_t idx,
		       struct tapir_ring_entry *entry)
{
	uint64_t off = lane->data[0].entries_off + idx * sizeof(*entry);

	if (!read_at(lane, entry, sizeof(*entry), off) || !entry->bytes)
		return false;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/* catalog_off was stored before bytes: only a second read is sure to see it */
	return read_at(lane, entry, sizeof(*entry), off);
}

static bool is_probe_of(const struct tapir_rec *rec, size_t bytes, uint32_t id)
{
	return rec->type == TAPIR_REC_PROBE && tapir_record__ok(rec, bytes) &&
	       ((const struct tapir_rec_probe *)rec)->probe_id == id;
}

/* The entry may have been given to another event while its bytes were copied. */
static bool is_same(const struct tapir_ring_lane *lane, uint32_t idx,
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

	if (!read_entry(lane, idx, &entry) || (entry.flags & TAPIR_RING_ENTRY_GONE))
		return 0;
	if (entry.bytes < sizeof(struct tapir_rec_probe) || entry.bytes % 8 ||
	    entry.bytes > 2 * TAPIR_MAX_RECORD_BYTES ||
	    (uint64_t)entry.catalog_off + entry.bytes > h->catalog_bytes)
		return -EBADMSG;
	copy = malloc(entry.bytes);
	if (!copy || !read_at(lane, copy, entry.bytes, h->catalog_off + entry.catalog_off))
		return 0;
	if (!is_same(lane, idx, &entry))
		return 0;
	if (!is_probe_of(copy, entry.bytes, TAPIR_RING_ID(idx, entry.generation)))
		return -EBADMSG;
	*out = copy;
	*bytes = entry.bytes;
	copy = NULL;
	return 1;
}

uint32_t tapir_ring_entry__cnt(const struct tapir_ring_lane *lane)
{
	uint32_t cnt = 0;

	if (!read_at(lane, &cnt, sizeof(cnt), offsetof(struct tapir_ring_data, event_cnt)))
		return 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return cnt < TAPIR_RING_EVENTS ? cnt : TAPIR_RING_EVENTS;
}

/* ---- all of a process --------------------------------------------------------------------- */

static int add_lane(uint32_t tgid, const struct tapir_ring_lane *lane,
		    struct tapir_ring_event_list *list)
{
	uint32_t cnt = tapir_ring_entry__cnt(lane);

	for (uint32_t i = 0; i < cnt; i++) {
		struct tapir_ring_event_info info = {.tgid = tgid, .is_private = lane->is_private};
		size_t bytes;

		if (tapir_ring_entry__read(lane, i, &info.probe, &bytes) <= 0)
			continue;
		if (!tapir_vec__push(list, info)) {
			free(info.probe);
			return -ENOMEM;
		}
	}
	return 0;
}

int tapir_ring_events__add(uint32_t tgid, struct tapir_ring_event_list *list)
{
	struct tapir_ring_lanes lanes;
	const struct tapir_ring_lane *lane;
	int err = tapir_ring_lanes__find(tgid, &lanes);

	if (err)
		return err;
	tapir_vec_for_each (lane, &lanes.all)
		if (!err)
			err = add_lane(tgid, lane, list);
	tapir_ring_lanes__fini(&lanes);
	return err;
}

void tapir_ring_events__fini(struct tapir_ring_event_list *list)
{
	for (size_t i = 0; i < list->cnt; i++)
		free(list->data[i].probe);
	tapir_vec__fini(list);
}
