/* SPDX-License-Identifier: MIT */
/*
 * ring_events.c - events registered: their PROBE and METADATA records written into the catalog,
 * their interest words found, and open sessions asked whether they want them.
 */
#include "ring_impl.h"

#define CATALOG_LEAST 128u /* of an entry, power of two */
#define TAKE_TRIES    4u

static const uint64_t never_selected; /* the word of an event without a lane */

struct blob {
	uint8_t *at;
};

static void append_blob_bytes(struct blob *blob, const void *bytes, size_t len)
{
	if (len)
		memcpy(blob->at, bytes, len);
	blob->at += len;
}

static uint16_t text_len(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	return (uint16_t)(len < 4096 ? len : 4096);
}

static uint64_t probe_bytes(const struct tapir_ring_about *about)
{
	uint64_t bytes = sizeof(struct tapir_rec_probe) + text_len(about->provider) +
			 text_len(about->event) + about->field_cnt * sizeof(struct tapir_field);

	for (uint16_t i = 0; i < about->field_cnt; i++)
		bytes += text_len(about->field_names ? about->field_names[i] : NULL);
	return ring_round8(bytes);
}

static uint64_t metadata_bytes(const struct tapir_ring_about *about)
{
	return about->metadata
		       ? ring_round8(sizeof(struct tapir_rec_metadata) + about->metadata_bytes)
		       : 0;
}

static void write_probe(struct blob *blob, const struct tapir_ring_about *about, uint32_t id,
			uint64_t bytes)
{
	struct tapir_rec_probe rec = {
		/*
		 * No time: a description holds from the lane's birth on, and the tracer sets when
		 * it was read.
		 */
		.h = {.type = TAPIR_REC_PROBE, .cpu = TAPIR_CPU_UNKNOWN, .size = (uint32_t)bytes},
		.probe_id = id,
		.event_id = about->event_id,
		.version = about->version,
		.level = about->level,
		.keywords = about->keywords,
		.encoding = about->encoding,
		.lane = TAPIR_LANE_RING,
		.field_cnt = about->field_cnt,
		.provider_len = text_len(about->provider),
		.event_len = text_len(about->event),
	};

	append_blob_bytes(blob, &rec, sizeof(rec));
	for (uint16_t i = 0; i < about->field_cnt; i++) {
		struct tapir_field field = about->fields[i];

		field.name_len = text_len(about->field_names ? about->field_names[i] : NULL);
		append_blob_bytes(blob, &field, sizeof(field));
	}
	append_blob_bytes(blob, about->provider, rec.provider_len);
	append_blob_bytes(blob, about->event, rec.event_len);
	for (uint16_t i = 0; about->field_names && i < about->field_cnt; i++)
		append_blob_bytes(blob, about->field_names[i], text_len(about->field_names[i]));
}

static void write_metadata(struct blob *blob, const struct tapir_ring_about *about, uint32_t id,
			   uint64_t bytes)
{
	struct tapir_rec_metadata rec = {
		.h = {.type = TAPIR_REC_METADATA,
		      .cpu = TAPIR_CPU_UNKNOWN,
		      .size = (uint32_t)bytes},
		.probe_id = id,
		.format = about->metadata_format,
		.blob_bytes = about->metadata_bytes,
	};

	append_blob_bytes(blob, &rec, sizeof(rec));
	append_blob_bytes(blob, about->metadata, about->metadata_bytes);
}

/* Present: the event's word, its entry, its counters of losses and its place in the catalog. */
static int make_present(struct tapir_ring_data *data, uint32_t idx, uint64_t at, uint64_t bytes)
{
	const size_t entry = sizeof(struct tapir_ring_entry),
		     row = sizeof(struct tapir_ring_losses);
	uint8_t *base = (uint8_t *)data;

	if (ring_populate(&ring_process.ctl->words[idx], 8) ||
	    ring_populate(base + data->entries_off + idx * entry, entry) ||
	    ring_populate(base + data->losses_off + idx * row, row) ||
	    ring_populate(base + data->catalog_off + at, bytes))
		return -ENOMEM;
	return 0;
}

/* The bytes of the catalog that the entry keeps permanently, if it is to hold that many. */
static int find_room(struct ring_event_slot *slot, uint64_t bytes, uint64_t catalog_bytes)
{
	uint64_t cap = CATALOG_LEAST, at;

	if (bytes <= slot->catalog_cap)
		return 0;
	while (cap < bytes)
		cap *= 2;
	at = __atomic_fetch_add(&ring_process.catalog_used, cap, __ATOMIC_RELAXED);
	if (at + cap > catalog_bytes) {
		__atomic_fetch_sub(&ring_process.catalog_used, cap, __ATOMIC_RELAXED);
		return -ENOSPC;
	}
	slot->catalog_off = (uint32_t)at;
	slot->catalog_cap = (uint32_t)cap;
	return 0;
}

static void store_entry(struct tapir_ring_data *data, const struct ring_event_slot *slot,
			uint32_t idx, uint64_t bytes)
{
	struct tapir_ring_entry *entry =
		(struct tapir_ring_entry *)((uint8_t *)data + data->entries_off) + idx;

	ring_store(&entry->catalog_off, slot->catalog_off);
	ring_store(&entry->flags, 0);
	ring_store(&entry->generation, slot->generation);
	ring_store_release(&entry->bytes, (uint32_t)bytes);
	__atomic_store_n(&data->event_cnt, ring_load(&ring_process.event_cnt), __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&data->changes, 1, __ATOMIC_SEQ_CST);
}

/* The catalog's bytes may change from here on: a reader that has copied them sees it. */
static void empty_entry(struct tapir_ring_data *data, uint32_t idx)
{
	struct tapir_ring_entry *entry =
		(struct tapir_ring_entry *)((uint8_t *)data + data->entries_off) + idx;

	__atomic_store_n(&entry->bytes, 0, __ATOMIC_SEQ_CST);
}

/* The event's descriptions, as number idx. */
int ring_event__publish(struct tapir_ring_event *event, uint32_t idx)
{
	struct ring_process *p = &ring_process;
	struct tapir_ring_data *data = p->arenas[0].data;
	const struct tapir_ring_about *about = event->about;
	uint64_t probe = probe_bytes(about), bytes = probe + metadata_bytes(about);
	struct ring_event_slot *slot = &p->event_slots->all[idx];
	struct blob blob;
	int ret;

	if (bytes > TAPIR_MAX_RECORD_BYTES)
		return -EINVAL;
	ret = find_room(slot, bytes, data->catalog_bytes);
	if (ret)
		return ret;
	if (make_present(data, idx, slot->catalog_off, bytes))
		return -ENOMEM;
	event->id = TAPIR_RING_ID(idx, slot->generation);
	empty_entry(data, idx);
	blob.at = (uint8_t *)data + data->catalog_off + slot->catalog_off;
	memset(blob.at, 0, bytes); /* padding of what was there before */
	write_probe(&blob, about, event->id, probe);
	blob.at = (uint8_t *)data + data->catalog_off + slot->catalog_off + probe;
	if (about->metadata)
		write_metadata(&blob, about, event->id, bytes - probe);
	ring_store(&p->ctl->words[idx], (uint64_t)slot->generation << TAPIR_RING_GENERATION_SHIFT);
	store_entry(data, slot, idx, bytes);
	return 0;
}

static void publish_again(void)
{
	struct ring_process *p = &ring_process;

	for (uint32_t i = 0; i < p->event_cnt; i++) {
		struct tapir_ring_event *event = ring_load(&p->event_slots->all[i].event);

		if (event && !ring_event__publish(event, i))
			tracer_liveness__update(event->about, &p->ctl->words[i]);
	}
}

/*
 * A lane for this child. 1 when there is one. may_free: the calling thread's event is at its
 * beginning, so if it is the one that forked no other one of it is under way.
 */
int ring_events__adopt(int may_free)
{
	struct ring_process *p = &ring_process;
	struct tapir_ring_ctl *parent = NULL;
	uint32_t forked = RING_FORKED;

	if (!__atomic_compare_exchange_n(p->gate, &forked, RING_ADOPTING, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return forked >= RING_FIRST_LIFE;
	if (ring_fork__make_anew(may_free, &parent)) {
		ring_store_release(p->gate, RING_FORKED);
		return 0;
	}
	ring_event_slots__forked();
	publish_again();
	ring_process__announce();
	ring_fork__announce_child(parent); /* a tracer looks once */
	return 1;
}

static int take_event_slot(void)
{
	int idx = -ENOSPC;

	if (ring_event_slots__lock()) {
		idx = ring_event_slot__take();
		ring_event_slots__unlock();
	}
	return idx;
}

static void return_event_slot(uint32_t idx)
{
	if (!ring_event_slots__lock())
		return; /* its holder was stopped in there: the place is not used again */
	ring_event_slot__return(idx);
	ring_event_slots__unlock();
}

/*
 * Takes an entry: its index, or -errno. Where the catalog is full another entry may have the bytes.
 */
static int take_entry(struct tapir_ring_event *event)
{
	int ret = -ENOSPC;

	for (unsigned i = 0; i < TAKE_TRIES && ret == -ENOSPC; i++) {
		int idx = take_event_slot();

		if (idx < 0)
			return idx;
		ret = ring_event__publish(event, (uint32_t)idx);
		if (!ret)
			return idx;
		return_event_slot((uint32_t)idx);
	}
	return ret;
}

int tapir_ring__register(struct tapir_ring_event *event, const struct tapir_ring_about *about)
{
	struct ring_process *p = &ring_process;
	int idx;

	event->word = &never_selected;
	event->about = about;
	if (!about->provider || !about->event)
		return -EINVAL;
	if (ring_load_acquire(&p->state) != RING_READY)
		return -ENODEV;
	if (!ring_is_alive() && !ring_events__adopt(0))
		return -ENODEV;
	idx = take_entry(event);
	if (idx < 0)
		return idx;
	ring_store_release(&p->event_slots->all[idx].event, event);
	tracer_liveness__update(about, &p->ctl->words[idx]);
	ring_store_release(&event->word, &p->ctl->words[idx]);
	return 0;
}

static void give_back(struct tapir_ring_data *data, uint32_t idx)
{
	struct tapir_ring_entry *entry =
		(struct tapir_ring_entry *)((uint8_t *)data + data->entries_off) + idx;

	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++)
		__atomic_fetch_and(&ring_process.ctl->words[idx], ~TAPIR_RING_SESSION_BITS(s),
				   __ATOMIC_SEQ_CST);
	ring_store(&entry->flags, TAPIR_RING_ENTRY_GONE);
	__atomic_fetch_add(&data->changes, 1, __ATOMIC_SEQ_CST);
	return_event_slot(idx);
}

void tapir_ring__unregister(struct tapir_ring_event *event)
{
	struct ring_process *p = &ring_process;

	uint32_t idx = TAPIR_RING_ID_IDX(event->id);
	const uint64_t *word = event->word;

	ring_store_release(&event->word, &never_selected);
	if (!word || word == &never_selected || ring_load_acquire(&p->state) != RING_READY)
		return;
	ring_store_release(&p->event_slots->all[idx].event, NULL);
	if (!ring_is_alive())
		return; /* a child without a lane: its own will not have the event */
	give_back(p->arenas[0].data, idx);
}

/* The lane ends: threads that still check see that no session wants the event. */
void ring_events__switch_off(void)
{
	struct ring_process *p = &ring_process;

	for (uint32_t i = 0; i < p->event_cnt; i++) {
		struct tapir_ring_event *event = ring_load(&p->event_slots->all[i].event);

		if (event)
			ring_store_release(&event->word, &never_selected);
	}
}
