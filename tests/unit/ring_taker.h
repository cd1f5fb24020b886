/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_taker.h - the smallest tracer that keeps to tapir/ring.h, for tests of the process side:
 * a session, its event's bits, and records counted by pread. It trusts its target.
 */
#ifndef TAPIR_TEST_RING_TAKER_H
#define TAPIR_TEST_RING_TAKER_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tapir/ring.h"

/*
 * Of the lane of a program that takes its own events (tapir_ring__init_private): a recorder of the
 * whole machine would open a session there, as it does in each lane that has no tracer's key.
 */
#define TAKER_KEY    0x72656b6174ull
#define TAKER_EVENTS 8
#define TAKER_STACKS 65536u

struct taker {
	int pid, ctl_fd, data_fd[TAPIR_RING_ARENAS];
	unsigned s;
	uint64_t key; /* 0: any */
	struct tapir_ring_ctl *ctl;
	struct tapir_ring_data data[TAPIR_RING_ARENAS];
	uint64_t read[TAKER_EVENTS], stacks, threads, bad, unnamed, lost_stacks;
	uint64_t before[TAKER_EVENTS][TAPIR_RING_CAUSE_CNT];
	uint64_t after[TAKER_EVENTS][TAPIR_RING_CAUSE_CNT]; /* when it was closed */
	uint64_t seen[TAKER_STACKS];			    /* stack ids, near their low bits */
	void (*on_event)(const struct tapir_rec_event *event, const uint8_t *payload);
	void (*on_stack)(const struct tapir_rec_stack *stack, const uint64_t *frames);
};

static inline uint64_t taker_key(int fd)
{
	uint64_t key = 0;

	return pread(fd, &key, sizeof(key), offsetof(struct tapir_ring_data, key)) == sizeof(key)
		       ? key
		       : 0;
}
_Static_assert(offsetof(struct tapir_ring_data, key) == offsetof(struct tapir_ring_ctl, key),
	       "taker_key");

/* Of several lanes the one with this key; 0: the first. */
static inline int taker_find_key(int pid, const char *name, int flags, uint64_t key)
{
	char dir[64], path[400], link[128];
	struct dirent *entry;
	DIR *fds;
	int fd = -1;

	snprintf(dir, sizeof(dir), "/proc/%d/fd", pid);
	fds = opendir(dir);
	while (fds && fd < 0 && (entry = readdir(fds))) {
		ssize_t len;

		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		len = readlink(path, link, sizeof(link) - 1);
		link[len > 0 ? len : 0] = 0;
		if (!strncmp(link, "/memfd:", 7) && !strncmp(link + 7, name, strlen(name)) &&
		    link[7 + strlen(name)] == ' ')
			fd = open(path, flags | O_CLOEXEC);
		if (fd >= 0 && key && taker_key(fd) != key) {
			close(fd);
			fd = -1;
		}
	}
	if (fds)
		closedir(fds);
	return fd;
}

static inline int taker_find(int pid, const char *name, int flags)
{
	return taker_find_key(pid, name, flags, 0);
}

static inline const struct tapir_ring_data *taker_arena(struct taker *t, unsigned a)
{
	char name[32];

	if (t->data_fd[a] < 0) {
		snprintf(name, sizeof(name), TAPIR_RING_DATA_NAME "%u", a);
		t->data_fd[a] = taker_find_key(t->pid, name, O_RDONLY, t->key);
	}
	if (pread(t->data_fd[a], &t->data[a], sizeof(t->data[a]), 0) != sizeof(t->data[a]))
		return NULL;
	return &t->data[a];
}

/* -1: the process has no lane (of that key). */
static inline int taker_init_key(struct taker *t, int pid, unsigned s, uint64_t key)
{
	memset(t, 0, sizeof(*t));
	memset(t->data_fd, -1, sizeof(t->data_fd));
	t->pid = pid;
	t->s = s;
	t->key = key;
	t->ctl_fd = taker_find_key(pid, TAPIR_RING_CTL_NAME, O_RDWR, key);
	if (t->ctl_fd < 0 || !taker_arena(t, 0))
		return -1;
	t->ctl = mmap(NULL, sizeof(*t->ctl), PROT_READ | PROT_WRITE, MAP_SHARED, t->ctl_fd, 0);
	return t->ctl == MAP_FAILED ? -1 : 0;
}

static inline int taker_init(struct taker *t, int pid, unsigned s)
{
	return taker_init_key(t, pid, s, 0);
}

static inline unsigned taker_arenas(struct taker *t)
{
	return taker_arena(t, 0)->arena_cnt;
}

static inline struct tapir_ring_slot taker_slot(struct taker *t, unsigned a, unsigned i)
{
	struct tapir_ring_slot slot = {0};
	const off_t at = (off_t)(t->data[a].slots_off + i * sizeof(slot));

	uint64_t head = 0;

	/* head before cap_bytes, as ring.h says */
	if (pread(t->data_fd[a], &head, sizeof(head), at) != sizeof(head) ||
	    pread(t->data_fd[a], &slot, sizeof(slot), at) != sizeof(slot))
		t->bad++;
	slot.head = head;
	return slot;
}

static inline void taker_skip_all(struct taker *t)
{
	for (unsigned a = 0; a < taker_arenas(t); a++)
		for (unsigned i = 0; i < taker_arena(t, a)->slots_used; i++)
			__atomic_store_n(&t->ctl->tails[a * TAPIR_RING_ARENA_SLOTS + i][t->s],
					 taker_slot(t, a, i).head, __ATOMIC_RELEASE);
}

static inline void taker_losses(struct taker *t, uint64_t now[][TAPIR_RING_CAUSE_CNT])
{
	for (unsigned e = 0; e < TAKER_EVENTS; e++) {
		struct tapir_ring_losses losses;

		if (pread(t->data_fd[0], &losses, sizeof(losses),
			  (off_t)(t->data[0].losses_off + e * sizeof(losses))) < 0)
			t->bad++;
		memcpy(now[e], losses.cnt[t->s], sizeof(losses.cnt[t->s]));
	}
}

/* Since it was opened, until it was closed. */
static inline uint64_t taker_lost(const struct taker *t, unsigned e, int cause)
{
	return t->after[e][cause] - t->before[e][cause];
}

static inline uint64_t taker_missed(const struct taker *t, unsigned e)
{
	uint64_t missed = 0;

	for (int cause = 0; cause < TAPIR_RING_CAUSE_CNT; cause++)
		missed += taker_lost(t, e, cause);
	return missed;
}

static inline struct tapir_ring_session *taker_session(struct taker *t)
{
	return &t->ctl->sessions[t->s];
}

/* Events first..last - 1 of those that are registered. */
static inline int taker_open(struct taker *t, unsigned first, unsigned last, int stacks)
{
	struct tapir_ring_session *session = taker_session(t);
	struct flock lock = {.l_type = F_WRLCK, .l_start = (off_t)t->s, .l_len = 1};

	if (fcntl(t->ctl_fd, F_OFD_SETLK, &lock))
		return -errno;
	session->flags = stacks ? TAPIR_RING_WANTS_STACKS : 0;
	taker_skip_all(t);
	taker_losses(t, t->before);
	__atomic_store_n(&session->state, TAPIR_RING_OPEN, __ATOMIC_SEQ_CST);
	taker_skip_all(t);
	__atomic_fetch_add(&t->ctl->epoch, 1, __ATOMIC_SEQ_CST);
	for (unsigned e = first; e < last; e++)
		__atomic_fetch_or(&t->ctl->words[e],
				  1ull << (TAPIR_RING_WANT_SHIFT + t->s) |
					  (uint64_t)stacks << (TAPIR_RING_STACK_SHIFT + t->s) |
					  (uint64_t)(session->rate_hz != 0)
						  << (TAPIR_RING_RATE_SHIFT + t->s),
				  __ATOMIC_SEQ_CST);
	return 0;
}

static inline void taker_stop(struct taker *t)
{
	for (unsigned e = 0; e < TAPIR_RING_EVENTS; e++)
		if (t->ctl->words[e])
			__atomic_fetch_and(&t->ctl->words[e], ~TAPIR_RING_SESSION_BITS(t->s),
					   __ATOMIC_SEQ_CST);
}

/* The place of the id, or of none. */
static inline uint64_t *taker_stack(struct taker *t, uint64_t id)
{
	uint32_t at = id % TAKER_STACKS;

	for (uint32_t i = 0; i < TAKER_STACKS && t->seen[at] && t->seen[at] != id; i++)
		at = (at + 1) % TAKER_STACKS;
	return &t->seen[at];
}

static inline void taker_record(struct taker *t, const uint8_t *at)
{
	const struct tapir_rec *h = (const void *)at;
	const struct tapir_rec_event *event = (const void *)at;
	const struct tapir_rec_stack *stack = (const void *)at;

	if (h->type == TAPIR_REC_STACK) {
		t->stacks++;
		*taker_stack(t, stack->stack_id) = stack->stack_id;
		if (t->on_stack)
			t->on_stack(stack, (const void *)(at + sizeof(*stack)));
	} else if (h->type == TAPIR_REC_THREAD) {
		t->threads++;
	} else if (h->type == TAPIR_REC_EVENT &&
		   TAPIR_RING_ID_IDX(event->probe_id) < TAKER_EVENTS) {
		if (!(event->pad0 & (1u << t->s)))
			return;
		t->read[TAPIR_RING_ID_IDX(event->probe_id)]++;
		t->lost_stacks += !!(event->flags & TAPIR_EVENT_STACK_LOST);
		if (event->stack_id && *taker_stack(t, event->stack_id) != event->stack_id)
			t->unnamed++;
		if (t->on_event)
			t->on_event(event, at + sizeof(*event));
	} else if (h->type != TAPIR_REC_NONE) {
		t->bad++;
	}
}

static inline void taker_take_slot(struct taker *t, unsigned a, unsigned i, uint8_t *bytes)
{
	uint64_t *tail = &t->ctl->tails[a * TAPIR_RING_ARENA_SLOTS + i][t->s], at = *tail;
	struct tapir_ring_slot slot = taker_slot(t, a, i);
	const uint64_t base = t->data[a].rings_off + i * t->data[a].ring_bytes;

	if (slot.head < at || slot.head - at > slot.cap_bytes) {
		t->bad++;
		return;
	}
	while (at < slot.head) {
		uint64_t off = at % slot.cap_bytes, left = slot.cap_bytes - off, step = 0;

		left = left < slot.head - at ? left : slot.head - at;
		if (pread(t->data_fd[a], bytes, left, (off_t)(base + off)) != (ssize_t)left)
			t->bad++;
		while (left - step >= sizeof(struct tapir_rec)) {
			const struct tapir_rec *h = (const void *)(bytes + step);

			if (h->size < sizeof(*h) || (h->size & 7) || h->size > left - step) {
				t->bad++;
				break;
			}
			taker_record(t, bytes + step);
			step += h->size;
		}
		at += left;
	}
	__atomic_store_n(tail, at, __ATOMIC_RELEASE);
}

static inline void taker_take(struct taker *t)
{
	uint8_t *bytes = malloc(TAPIR_RING_MAX_BYTES);

	for (unsigned a = 0; a < taker_arenas(t); a++)
		for (unsigned i = 0; i < taker_arena(t, a)->slots_used; i++)
			taker_take_slot(t, a, i, bytes);
	free(bytes);
	__atomic_fetch_add(&taker_session(t)->beat, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&taker_session(t)->drains, 1, __ATOMIC_RELEASE);
}

/* The last drain after the last event that fired. */
static inline void taker_close(struct taker *t)
{
	taker_stop(t);
	usleep(1000);
	for (unsigned a = 0; a < taker_arenas(t); a++)
		for (unsigned i = 0; i < taker_arena(t, a)->slots_used; i++)
			for (unsigned n = 0; n < 200 && taker_slot(t, a, i).writing; n++)
				usleep(1000);
	taker_take(t);
	taker_losses(t, t->after);
	__atomic_store_n(&taker_session(t)->state, TAPIR_RING_FREE, __ATOMIC_RELEASE);
}

/* A child that takes everything from process pid, from a byte to ready until one comes by done. */
static inline void taker_drain(struct taker *t, int pid, int stacks, int ready, int done)
{
	char byte = 1;

	if (taker_init(t, pid, 0) || taker_open(t, 0, 1, stacks) || write(ready, &byte, 1) != 1)
		_exit(1);
	fcntl(done, F_SETFL, O_NONBLOCK);
	while (read(done, &byte, 1) < 0) {
		usleep(10000);
		taker_take(t);
	}
	taker_close(t);
}

static inline void taker_fini(struct taker *t)
{
	munmap(t->ctl, sizeof(*t->ctl));
	close(t->ctl_fd);
	for (unsigned a = 0; a < TAPIR_RING_ARENAS; a++)
		if (t->data_fd[a] >= 0)
			close(t->data_fd[a]);
}

#endif
