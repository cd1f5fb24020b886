// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Slots: written by one process, read by another, without a lock. A slot's version is odd while its
 * process changes; the reader copies words and compares versions before and after. The writer may
 * be taken over, so copies are checked as any input.
 */
#include "agent/watch/watch_shm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "tapir/abi.h"

#define COPY_TRIES 3

static const double bounds[TAPIR_WATCH_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025,
						   0.05,  0.1,	  0.5,	 1,    INFINITY};

double tapir_watch_bucket__seconds(size_t i)
{
	return bounds[i];
}

struct tapir_watch_shm *tapir_watch_shm__new(void)
{
	struct tapir_watch_shm *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return page == MAP_FAILED ? NULL : page;
}

void tapir_watch_shm__free(struct tapir_watch_shm *page)
{
	if (page)
		munmap(page, sizeof(*page));
}

void tapir_watch_shm__clear(struct tapir_watch_shm *page)
{
	for (size_t i = 0; i < TAPIR_WATCH_MAX_PROCESSES; i++) {
		page->slots[i].head.pid = 0;
		page->slots[i].version = (page->slots[i].version | 1) + 1;
	}
}

/* ---- whole words ---------------------------------------------------------------------------- */

static void store(uint64_t *to, uint64_t value)
{
	__atomic_store_n(to, value, __ATOMIC_RELEASE);
}

static uint64_t load_u64(const uint64_t *from)
{
	return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

static void store_f64(double *to, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	store((uint64_t *)(void *)to, bits);
}

/* Not while another process writes half of a word. */
static void copy_words(void *to, const void *from, size_t bytes)
{
	uint64_t *out = to;
	const uint64_t *in = from;

	for (size_t i = 0; i < bytes / sizeof(*in); i++)
		out[i] = __atomic_load_n(&in[i], __ATOMIC_RELAXED);
}

/* ---- the writer ----------------------------------------------------------------------------- */

struct tapir_watch_slot *tapir_watch_shm__find(struct tapir_watch_shm *page, uint32_t pid)
{
	for (size_t i = 0; i < TAPIR_WATCH_MAX_PROCESSES; i++)
		if (page->slots[i].head.pid == pid)
			return &page->slots[i];
	return NULL;
}

struct tapir_watch_slot *tapir_watch_shm__add(struct tapir_watch_shm *page, uint32_t pid,
					      uint64_t started_ms, const char *name)
{
	struct tapir_watch_slot *slot = tapir_watch_shm__find(page, 0);

	if (!slot) {
		store(&page->more_processes, page->more_processes + 1);
		return NULL;
	}
	store(&slot->version, slot->version + 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	slot->head = (struct tapir_watch_head){.pid = pid, .started_ms = started_ms};
	snprintf(slot->head.name, sizeof(slot->head.name), "%s", name);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	store(&slot->version, slot->version + 1);
	return slot;
}

void tapir_watch_slot__release(struct tapir_watch_slot *slot)
{
	if (!slot->head.pid)
		return;
	store(&slot->version, slot->version + 2);
	store(&slot->head.pid, 0);
}

static bool is_shared_text(const char *have, struct tapir_sv text, size_t room)
{
	size_t len = text.len < room ? text.len : room - 1;

	return strlen(have) == len && !memcmp(have, text.len ? text.data : "", len);
}

static bool is_counter(const struct tapir_watch_counter *c, const struct tapir_watch_value *v)
{
	return c->kind == v->kind && is_shared_text(c->name, v->name, sizeof(c->name)) &&
	       is_shared_text(c->provider, v->provider, sizeof(c->provider)) &&
	       is_shared_text(c->tags, v->tags, sizeof(c->tags));
}

/* NULL: there is no room for another one. */
static struct tapir_watch_counter *counter_of(struct tapir_watch_head *head,
					      const struct tapir_watch_value *v)
{
	struct tapir_watch_counter *c = head->counters;

	while (c < head->counters + head->counter_cnt && !is_counter(c, v))
		c++;
	if (c < head->counters + head->counter_cnt)
		return c;
	if (head->counter_cnt == TAPIR_WATCH_MAX_COUNTERS) {
		store(&head->more_counters, head->more_counters + 1);
		return NULL;
	}
	*c = (struct tapir_watch_counter){.kind = v->kind};
	tapir_sv__copy(v->provider, c->provider, sizeof(c->provider));
	tapir_sv__copy(v->name, c->name, sizeof(c->name));
	tapir_sv__copy(v->unit, c->unit, sizeof(c->unit));
	tapir_sv__copy(v->tags, c->tags, sizeof(c->tags));
	store(&head->counter_cnt, head->counter_cnt + 1);
	return c;
}

static void put_point(struct tapir_watch_point *at, uint64_t utc_ms, double value)
{
	store(&at->utc_ms, utc_ms);
	store_f64(&at->value, value);
}

void tapir_watch_slot__put(struct tapir_watch_slot *slot, const struct tapir_watch_value *v)
{
	struct tapir_watch_counter *c = isfinite(v->value) ? counter_of(&slot->head, v) : NULL;

	if (!c)
		return;
	put_point(&slot->points[c - slot->head.counters][c->point_cnt % TAPIR_WATCH_MAX_POINTS],
		  v->utc_ms, v->value);
	put_point(&c->last, v->utc_ms, v->value);
	if (v->kind == TAPIR_COUNTER_RATE)
		store_f64(&c->total, c->total + v->added);
	store(&c->point_cnt, c->point_cnt + 1);
}

void tapir_watch_slot__put_pause(struct tapir_watch_slot *slot, uint64_t utc_ms, uint64_t ns)
{
	struct tapir_watch_head *head = &slot->head;
	size_t i = 0;

	while (i + 1 < TAPIR_WATCH_BUCKETS && (double)ns / 1e9 > bounds[i])
		i++;
	put_point(&slot->pauses[head->pause_cnt % TAPIR_WATCH_MAX_PAUSES], utc_ms,
		  (double)ns / 1e6);
	store(&head->pause_buckets[i], head->pause_buckets[i] + 1);
	store(&head->pause_ns, head->pause_ns + ns);
	store(&head->pause_cnt, head->pause_cnt + 1);
}

/* ---- the reader ----------------------------------------------------------------------------- */

/* A slot whose process changes at this moment is odd. */
static bool is_settled(const struct tapir_watch_slot *slot, uint64_t *version)
{
	*version = load_u64(&slot->version);
	return !(*version & 1);
}

static bool is_same_version(const struct tapir_watch_slot *slot, uint64_t version)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return load_u64(&slot->version) == version;
}

static void end_text(char *text, size_t size)
{
	text[size - 1] = '\0';
}

#define END(text) end_text(text, sizeof(text))

static void check_head(struct tapir_watch_head *head)
{
	END(head->name);
	for (size_t i = 0; i < head->counter_cnt; i++) {
		END(head->counters[i].provider);
		END(head->counters[i].name);
		END(head->counters[i].unit);
		END(head->counters[i].tags);
	}
}

static bool copy_head(const struct tapir_watch_slot *slot, struct tapir_watch_head *out)
{
	const struct tapir_watch_head *head = &slot->head;
	uint64_t cnt = load_u64(&head->counter_cnt), version;

	if (!is_settled(slot, &version))
		return false;
	cnt = cnt < TAPIR_WATCH_MAX_COUNTERS ? cnt : TAPIR_WATCH_MAX_COUNTERS;
	copy_words(out, head, offsetof(struct tapir_watch_head, counters));
	copy_words(out->counters, head->counters, cnt * sizeof(*out->counters));
	out->counter_cnt = cnt;
	check_head(out);
	return is_same_version(slot, version) && out->pid;
}

bool tapir_watch_shm__copy(const struct tapir_watch_shm *page, size_t i,
			   struct tapir_watch_head *out)
{
	for (int try = 0; load_u64(&page->slots[i].head.pid) && try < COPY_TRIES; try++)
		if (copy_head(&page->slots[i], out))
			return true;
	return false;
}

/* Copies a ring of size points, of which cnt were ever written. */
static size_t copy_ring(const struct tapir_watch_point *ring, size_t size, uint64_t cnt,
			uint64_t since_ms, struct tapir_watch_point *out)
{
	size_t len = cnt < size ? (size_t)cnt : size, kept = 0;

	for (uint64_t i = cnt - len; i < cnt; i++) {
		copy_words(&out[kept], &ring[i % size], sizeof(*out));
		kept += out[kept].utc_ms >= since_ms;
	}
	return kept;
}

static bool is_slot_of_process(const struct tapir_watch_slot *slot,
			       const struct tapir_watch_head *head)
{
	return load_u64(&slot->head.pid) == head->pid && slot->head.started_ms == head->started_ms;
}

size_t tapir_watch_shm__points(const struct tapir_watch_shm *page, size_t i,
			       const struct tapir_watch_head *head, size_t c, uint64_t since_ms,
			       struct tapir_watch_point *out)
{
	const struct tapir_watch_slot *slot = &page->slots[i];
	size_t cnt = copy_ring(slot->points[c], TAPIR_WATCH_MAX_POINTS, head->counters[c].point_cnt,
			       since_ms, out);

	return is_slot_of_process(slot, head) ? cnt : 0;
}

size_t tapir_watch_shm__pauses(const struct tapir_watch_shm *page, size_t i,
			       const struct tapir_watch_head *head, uint64_t since_ms,
			       struct tapir_watch_point *out)
{
	const struct tapir_watch_slot *slot = &page->slots[i];
	size_t cnt =
		copy_ring(slot->pauses, TAPIR_WATCH_MAX_PAUSES, head->pause_cnt, since_ms, out);

	return is_slot_of_process(slot, head) ? cnt : 0;
}
