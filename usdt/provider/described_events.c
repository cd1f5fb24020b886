/* SPDX-License-Identifier: MIT */
/*
 * described_events.c - events whose description comes with each occurrence. An event is found by
 * a hash of its description without a lock: entries are stored last and stay until the provider is
 * freed. A thread that finds none takes the lock, looks again, and defines it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dynamic_impl.h"

#define DEPTH_MAX 8u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void forked(void)
{
	static const pthread_mutex_t open = PTHREAD_MUTEX_INITIALIZER;

	memcpy(&lock, &open, sizeof(lock));
}

/* ---- descriptions ----------------------------------------------------------------------------- */

static uint64_t mix_fields(uint64_t hash, const struct tapir_event_field *fields, uint32_t cnt,
			   unsigned depth)
{
	for (uint32_t i = 0; fields && i < cnt && depth <= DEPTH_MAX; i++) {
		const struct tapir_event_field *f = &fields[i];

		hash = dynamic_mix_text(hash, f->name);
		hash = dynamic_mix(hash, (uint64_t)f->count << 32 | (uint64_t)f->member_cnt << 16 |
						 (uint64_t)f->type << 8 | f->repeat);
		hash = mix_fields(hash, f->members, f->member_cnt, depth + 1);
	}
	return hash;
}

static uint64_t described_event_hash(const struct tapir_event_about *a)
{
	uint64_t hash = dynamic_mix_text(0, a->name);

	hash = dynamic_mix(hash, a->keywords);
	hash = dynamic_mix(hash, (uint64_t)a->id << 48 | (uint64_t)a->version << 40 |
					 (uint64_t)a->level << 32 | (uint64_t)a->opcode << 16 |
					 a->task);
	return mix_fields(hash, a->fields, a->field_cnt, 0);
}

static int same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* b is a copy that has been accepted: it ends. */
static int same_fields(const struct tapir_event_field *a, const struct tapir_event_field *b,
		       uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		if (!same_text(a[i].name, b[i].name) || a[i].count != b[i].count ||
		    a[i].member_cnt != b[i].member_cnt || a[i].type != b[i].type ||
		    a[i].repeat != b[i].repeat ||
		    (a[i].member_cnt &&
		     (!a[i].members || !same_fields(a[i].members, b[i].members, b[i].member_cnt))))
			return 0;
	return 1;
}

static int is_same_event(const struct tapir_event_about *a, const struct tapir_event_about *b)
{
	return same_text(a->name, b->name) && a->keywords == b->keywords && a->id == b->id &&
	       a->version == b->version && a->level == b->level && a->task == b->task &&
	       a->opcode == b->opcode && a->field_cnt == b->field_cnt &&
	       (!a->field_cnt || (a->fields && same_fields(a->fields, b->fields, b->field_cnt)));
}

/* ---- events ----------------------------------------------------------------------------------- */

static struct tapir_event *find_described(struct described *const *bucket,
					  const struct tapir_event_about *about, uint64_t hash)
{
	const struct described *e = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);

	order_acquire(bucket);
	for (; e; e = e->next)
		if (e->hash == hash && is_same_event(about, e->event->about))
			return e->event;
	return NULL;
}

/* Under the lock. */
static int define(struct tapir_dynamic *dynamic, struct described **bucket,
		  const struct tapir_event_about *about, uint64_t hash, struct tapir_event **out)
{
	struct described *made;
	int err;

	*out = find_described(bucket, about, hash);
	if (*out)
		return 0;
	made = malloc(sizeof(*made));
	if (!made)
		return -ENOMEM;
	err = tapir_event__define(dynamic, about, out);
	if (err) {
		free(made);
		return err;
	}
	*made = (struct described){*bucket, *out, hash};
	order_release(bucket);
	__atomic_store_n(bucket, made, __ATOMIC_RELEASE);
	return 0;
}

int tapir_described__fire(struct tapir_dynamic *dynamic, const struct tapir_event_about *about,
			  const void *payload, size_t bytes)
{
	static int is_watched; /* under the lock */
	struct described **bucket;
	struct tapir_event *event;
	int saved = errno, err = 0;
	uint64_t hash;

	if (!dynamic || !about || !about->name)
		return -EINVAL;
	hash = described_event_hash(about);
	bucket = &dynamic__described(dynamic)->buckets[hash % DESCRIBED_BUCKETS];
	event = find_described(bucket, about, hash);
	if (!event) {
		pthread_mutex_lock(&lock);
		if (!is_watched)
			is_watched = !pthread_atfork(NULL, NULL, forked);
		err = define(dynamic, bucket, about, hash, &event);
		pthread_mutex_unlock(&lock);
	}
	if (!err)
		tapir_event__fire(event, payload, bytes);
	errno = saved;
	return err;
}
