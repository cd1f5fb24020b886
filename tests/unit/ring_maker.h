/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_maker.h - the process side of the ring lane made by hand from tapir/ring.h, in the test
 * program itself, so that the tracer's side is tested against the page and not the library.
 */
#ifndef TAPIR_TEST_RING_MAKER_H
#define TAPIR_TEST_RING_MAKER_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tapir/ring.h"

#define MAKER_RING_BYTES  (8u * TAPIR_RING_CHUNK_BYTES)
#define MAKER_CATALOG_MAX (40u << 20) /* takes memory as it is written */

struct ring_maker {
	int ctl_fd, data_fds[TAPIR_RING_ARENAS];
	struct tapir_ring_ctl *ctl;
	struct tapir_ring_data *data[TAPIR_RING_ARENAS];
	uint64_t key, file_bytes;
};

static inline int maker_memfd(const char *name, uint64_t bytes, void **map)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return -1;
	*map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return *map == MAP_FAILED ? -1 : fd;
}

static inline bool maker_add_arena(struct ring_maker *m, uint32_t idx)
{
	struct tapir_ring_data h = {
		.version = TAPIR_RING_VERSION,
		.header_bytes = sizeof(h),
		.key = m->key,
		.owner_tgid = (uint32_t)getpid(),
		.arena_idx = idx,
		.slot_cnt = TAPIR_RING_ARENA_SLOTS,
		.slot_bytes = sizeof(struct tapir_ring_slot),
		.ring_bytes = MAKER_RING_BYTES,
		.event_max = TAPIR_RING_EVENTS,
		.slots_off = 4096,
	};
	uint64_t end = h.slots_off + h.slot_cnt * sizeof(struct tapir_ring_slot);
	char name[32];
	void *map;

	if (!idx) {
		h.entries_off = end;
		h.losses_off = h.entries_off + TAPIR_RING_EVENTS * sizeof(struct tapir_ring_entry);
		h.catalog_off =
			h.losses_off + (TAPIR_RING_EVENTS + 1) * sizeof(struct tapir_ring_losses);
		h.catalog_bytes = MAKER_CATALOG_MAX;
		end = h.catalog_off + h.catalog_bytes;
	}
	h.rings_off = end;
	h.file_bytes = m->file_bytes = end + (uint64_t)h.slot_cnt * h.ring_bytes;
	snprintf(name, sizeof(name), TAPIR_RING_DATA_NAME "%u", idx);
	m->data_fds[idx] = maker_memfd(name, h.file_bytes, &map);
	if (m->data_fds[idx] < 0)
		return false;
	m->data[idx] = map;
	memcpy(map, &h, sizeof(h));
	__atomic_store_n(&m->data[idx]->magic, TAPIR_RING_DATA_MAGIC, __ATOMIC_RELEASE);
	return !fcntl(m->data_fds[idx], F_ADD_SEALS, TAPIR_RING_DATA_SEALS);
}

static inline bool maker_open(struct ring_maker *m, uint64_t key)
{
	void *map;

	*m = (struct ring_maker){.key = key};
	memset(m->data_fds, 0xff, sizeof(m->data_fds));
	m->ctl_fd = maker_memfd(TAPIR_RING_CTL_NAME, sizeof(*m->ctl), &map);
	if (m->ctl_fd < 0)
		return false;
	m->ctl = map;
	m->ctl->version = TAPIR_RING_VERSION;
	m->ctl->header_bytes = offsetof(struct tapir_ring_ctl, sessions);
	m->ctl->key = key;
	m->ctl->file_bytes = sizeof(*m->ctl);
	m->ctl->owner_tgid = (uint32_t)getpid();
	m->ctl->slot_cnt = TAPIR_RING_SLOTS;
	m->ctl->session_cnt = TAPIR_RING_SESSIONS;
	m->ctl->event_max = TAPIR_RING_EVENTS;
	__atomic_store_n(&m->ctl->magic, TAPIR_RING_CTL_MAGIC, __ATOMIC_RELEASE);
	if (fcntl(m->ctl_fd, F_ADD_SEALS, TAPIR_RING_CTL_SEALS) || !maker_add_arena(m, 0))
		return false;
	m->data[0]->arena_cnt = 1;
	return true;
}

static inline void maker_close_fds(struct ring_maker *m)
{
	close(m->ctl_fd);
	m->ctl_fd = -1;
	for (unsigned i = 0; i < TAPIR_RING_ARENAS; i++) {
		if (m->data_fds[i] >= 0)
			close(m->data_fds[i]);
		m->data_fds[i] = -1;
	}
}

static inline void maker_close(struct ring_maker *m)
{
	if (!m->ctl)
		return;
	maker_close_fds(m);
	munmap(m->ctl, sizeof(*m->ctl));
	for (unsigned i = 0; i < TAPIR_RING_ARENAS; i++)
		if (m->data[i])
			munmap(m->data[i], m->data[i]->file_bytes);
	m->ctl = NULL;
}

static inline struct tapir_ring_slot *maker_slot(struct ring_maker *m, unsigned slot)
{
	struct tapir_ring_data *h = m->data[slot / TAPIR_RING_ARENA_SLOTS];

	return (struct tapir_ring_slot *)((char *)h + h->slots_off) + slot % TAPIR_RING_ARENA_SLOTS;
}

static inline char *maker_ring(struct ring_maker *m, unsigned slot)
{
	struct tapir_ring_data *h = m->data[slot / TAPIR_RING_ARENA_SLOTS];

	return (char *)h + h->rings_off + (slot % TAPIR_RING_ARENA_SLOTS) * h->ring_bytes;
}

static inline struct tapir_ring_losses *maker_losses(struct ring_maker *m, unsigned event)
{
	return (struct tapir_ring_losses *)((char *)m->data[0] + m->data[0]->losses_off) + event;
}

/* The page's growth rule: while head <= cap. */
static inline uint64_t maker_cap(struct tapir_ring_slot *s, uint64_t head, uint64_t bytes)
{
	uint64_t cap = s->cap_bytes;

	while (head <= cap && cap < MAKER_RING_BYTES && head + bytes > cap)
		cap += TAPIR_RING_CHUNK_BYTES;
	__atomic_store_n(&s->cap_bytes, cap, __ATOMIC_RELEASE);
	return cap;
}

/* Writes a record where there is room for every open session; false: there was none. */
static inline bool maker_put(struct ring_maker *m, unsigned slot, const void *record)
{
	const struct tapir_rec *rec = record;
	struct tapir_ring_slot *s = maker_slot(m, slot);
	uint64_t head = s->head, cap = maker_cap(s, head, rec->size), left, pad, tail = UINT64_MAX;
	char *ring = maker_ring(m, slot);

	left = cap - head % cap;
	pad = left < rec->size ? left : 0;
	for (unsigned i = 0; i < TAPIR_RING_SESSIONS; i++) {
		uint64_t t = __atomic_load_n(&m->ctl->tails[slot][i], __ATOMIC_ACQUIRE);
		uint32_t state = __atomic_load_n(&m->ctl->sessions[i].state, __ATOMIC_SEQ_CST);

		if (state == TAPIR_RING_OPEN && t < tail)
			tail = t;
	}
	if (tail != UINT64_MAX && head + pad + rec->size - tail > cap)
		return false;
	if (pad >= sizeof(*rec)) {
		struct tapir_rec none = {.type = TAPIR_REC_NONE, .size = (uint32_t)pad};

		memcpy(ring + head % cap, &none, sizeof(none));
	}
	head += pad;
	memcpy(ring + head % cap, rec, rec->size);
	__atomic_store_n(&s->head, head + rec->size, __ATOMIC_RELEASE);
	if (m->data[slot / TAPIR_RING_ARENA_SLOTS]->slots_used <= slot % TAPIR_RING_ARENA_SLOTS)
		__atomic_store_n(&m->data[slot / TAPIR_RING_ARENA_SLOTS]->slots_used,
				 slot % TAPIR_RING_ARENA_SLOTS + 1, __ATOMIC_RELEASE);
	return true;
}

/* Registers an event that is also described by that many bytes of METADATA; its index. */
static inline unsigned maker_event_with(struct ring_maker *m, const char *provider,
					const char *event, uint8_t level, uint64_t keywords,
					uint32_t blob_bytes)
{
	struct tapir_ring_data *h = m->data[0];
	unsigned idx = h->event_cnt;
	struct tapir_ring_entry *entries = (void *)((char *)h + h->entries_off);
	uint32_t off = idx ? entries[idx - 1].catalog_off + entries[idx - 1].bytes : 0;
	struct tapir_rec_probe probe = {
		.h = {.type = TAPIR_REC_PROBE, .cpu = TAPIR_CPU_UNKNOWN},
		.probe_id = TAPIR_RING_ID(idx, 1),
		.level = level,
		.keywords = keywords,
		.lane = TAPIR_LANE_RING,
		.encoding = TAPIR_ENCODING_PACKED,
		.provider_len = (uint16_t)strlen(provider),
		.event_len = (uint16_t)strlen(event),
	};
	char *at = (char *)h + h->catalog_off + off;

	probe.h.size = (uint32_t)(sizeof(probe) + strlen(provider) + strlen(event) + 7) & ~7u;
	memcpy(at, &probe, sizeof(probe));
	memcpy(at + sizeof(probe), provider, strlen(provider));
	memcpy(at + sizeof(probe) + strlen(provider), event, strlen(event));
	if (blob_bytes) {
		struct tapir_rec_metadata more = {
			.h = {.type = TAPIR_REC_METADATA,
			      .cpu = TAPIR_CPU_UNKNOWN,
			      .size = (uint32_t)(sizeof(more) + blob_bytes + 7) & ~7u},
			.probe_id = probe.probe_id,
			.format = 1,
			.blob_bytes = blob_bytes,
		};

		memcpy(at + probe.h.size, &more, sizeof(more));
		probe.h.size += more.h.size; /* of both, from here on */
	}
	m->ctl->words[idx] |= 1ull << TAPIR_RING_GENERATION_SHIFT;
	entries[idx].catalog_off = off;
	entries[idx].generation = 1;
	__atomic_store_n(&entries[idx].bytes, probe.h.size, __ATOMIC_RELEASE);
	__atomic_store_n(&h->event_cnt, idx + 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&h->changes, 1, __ATOMIC_RELEASE);
	return idx;
}

static inline unsigned maker_event(struct ring_maker *m, const char *provider, const char *event,
				   uint8_t level, uint64_t keywords)
{
	return maker_event_with(m, provider, event, level, keywords, 0);
}

#endif
