/* SPDX-License-Identifier: MIT */
/*
 * ring_events.c - events registered: their PROBE and METADATA records written into the catalog,
 * their interest words found, and open sessions asked whether they want them.
 */
#include "ring_impl.h"

static const uint64_t nobody; /* the word of an event without a lane */

struct blob {
	uint8_t *at;
};

static void put(struct blob *blob, const void *bytes, size_t len)
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

static void write_probe(struct blob *blob, const struct tapir_ring_about *about, uint32_t idx,
			uint64_t bytes)
{
	struct tapir_rec_probe rec = {
		.h = {.type = TAPIR_REC_PROBE, .cpu = TAPIR_CPU_UNKNOWN, .size = (uint32_t)bytes},
		.probe_id = idx + 1,
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

	put(blob, &rec, sizeof(rec));
	for (uint16_t i = 0; i < about->field_cnt; i++) {
		struct tapir_field field = about->fields[i];

		field.name_len = text_len(about->field_names ? about->field_names[i] : NULL);
		put(blob, &field, sizeof(field));
	}
	put(blob, about->provider, rec.provider_len);
	put(blob, about->event, rec.event_len);
	for (uint16_t i = 0; about->field_names && i < about->field_cnt; i++)
		put(blob, about->field_names[i], text_len(about->field_names[i]));
}

static void write_metadata(struct blob *blob, const struct tapir_ring_about *about, uint32_t idx,
			   uint64_t bytes)
{
	struct tapir_rec_metadata rec = {
		.h = {.type = TAPIR_REC_METADATA,
		      .cpu = TAPIR_CPU_UNKNOWN,
		      .size = (uint32_t)bytes},
		.probe_id = idx + 1,
		.format = about->metadata_format,
		.blob_bytes = about->metadata_bytes,
	};

	put(blob, &rec, sizeof(rec));
	put(blob, about->metadata, about->metadata_bytes);
}

/* Present: the event's word, its entry, its counters of losses and its place in the catalog. */
static int make_present(struct tapir_ring_data *data, uint32_t idx, uint64_t at, uint64_t bytes)
{
	uint8_t *base = (uint8_t *)data;

	if (ring_populate(&ring_process.ctl->words[idx], 8) ||
	    ring_populate(base + data->entries_off + idx * sizeof(struct tapir_ring_entry), 16) ||
	    ring_populate(base + data->losses_off + idx * sizeof(struct tapir_ring_losses), 256) ||
	    ring_populate(base + data->catalog_off + at, bytes))
		return -ENOMEM;
	return 0;
}

/* The event's descriptions, as number idx. */
int ring_event__publish(struct tapir_ring_event *event, uint32_t idx)
{
	struct ring_process *p = &ring_process;
	struct tapir_ring_data *data = p->arenas[0].data;
	const struct tapir_ring_about *about = event->about;
	uint64_t probe = probe_bytes(about), bytes = probe + metadata_bytes(about), at;
	struct tapir_ring_entry *entry =
		(struct tapir_ring_entry *)((uint8_t *)data + data->entries_off) + idx;
	struct blob blob;

	if (bytes > TAPIR_MAX_RECORD_BYTES)
		return -EINVAL;
	at = __atomic_fetch_add(&p->catalog_used, bytes, __ATOMIC_RELAXED);
	if (at + bytes > data->catalog_bytes)
		return -ENOSPC;
	if (make_present(data, idx, at, bytes))
		return -ENOMEM;
	blob.at = (uint8_t *)data + data->catalog_off + at;
	write_probe(&blob, about, idx, probe);
	blob.at = (uint8_t *)data + data->catalog_off + at + probe;
	if (about->metadata)
		write_metadata(&blob, about, idx, bytes - probe);
	entry->catalog_off = (uint32_t)at;
	ring_store_release(&entry->bytes, (uint32_t)bytes);
	__atomic_store_n(&data->event_cnt, p->event_cnt, __ATOMIC_SEQ_CST);
	return 0;
}

int tapir_ring__register(struct tapir_ring_event *event, const struct tapir_ring_about *about)
{
	struct ring_process *p = &ring_process;
	uint32_t idx;
	int ret;

	event->word = &nobody;
	event->about = about;
	if (!about->provider || !about->event)
		return -EINVAL;
	if (ring_load_acquire(&p->state) != RING_READY)
		return -ENODEV;
	if (ring_load_acquire(&p->arenas[0].writers->alive) != RING_ALIVE && !ring_process__adopt())
		return -ENODEV;
	idx = ring_load(&p->event_cnt);
	do {
		if (idx >= TAPIR_RING_EVENTS)
			return -ENOSPC;
	} while (!__atomic_compare_exchange_n(&p->event_cnt, &idx, idx + 1, 0, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	event->idx = idx;
	ret = ring_event__publish(event, idx);
	if (ret)
		return ret;
	ring_store_release(&p->events[idx], event);
	ring_life__judge(about, &p->ctl->words[idx]);
	ring_store_release(&event->word, &p->ctl->words[idx]);
	return 0;
}

void tapir_ring__unregister(struct tapir_ring_event *event)
{
	struct ring_process *p = &ring_process;

	if (event->word && event->word != &nobody && ring_load_acquire(&p->state) == RING_READY &&
	    ring_load_acquire(&p->arenas[0].writers->alive) == RING_ALIVE) {
		struct tapir_ring_data *data = p->arenas[0].data;
		struct tapir_ring_entry *entry =
			(struct tapir_ring_entry *)((uint8_t *)data + data->entries_off);

		ring_store(&entry[event->idx].flags, TAPIR_RING_ENTRY_GONE);
		ring_store_release(&p->events[event->idx], NULL);
	}
	ring_store_release(&event->word, &nobody);
}

/* The lane goes: whoever still asks is told that nobody wants it. */
void ring_events__switch_off(void)
{
	struct ring_process *p = &ring_process;

	for (uint32_t i = 0; i < p->event_cnt && i < TAPIR_RING_EVENTS; i++) {
		struct tapir_ring_event *event = ring_load(&p->events[i]);

		if (event)
			ring_store_release(&event->word, &nobody);
	}
}
