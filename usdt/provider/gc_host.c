/* SPDX-License-Identifier: MIT */
/*
 * gc_host.c - the runtime's side of tapir/gc_event_sink.h: two providers, each of static events and
 * of those that a collector describes, and how the collector is notified of their enablement.
 *
 * NOTIFYING. Callbacks come from the library's thread, __attach and __free from any. The thread
 * that raises `pending` from 0 notifies it, until no other thread has raised it again: so one
 * thread at a time notifies the collector, of the newest state last, and no lock is held during
 * that.
 *
 * FIRING. The table of the collector's events is complete before the collector fires; it is found
 * by the address of the name, which is the same string each time, else by its text.
 */
#include <stdlib.h>

#include "provider_impl.h"
#include "tapir/dynamic.h"
#include "tapir/gc_event_sink.h"
#include "tapir/payload.h"

#define TABLE_SLOTS 256u /* a power of 2, more than EVENT_MAX */
#define EVENT_MAX   192u

struct gc_entry {
	const char *name;
	struct tapir_event *event;
};

/* The keywords and levels for which a provider's static events and its dynamic ones are wanted. */
struct gc_wanted {
	uint64_t keywords;
	int32_t level; /* TAPIR_GC_OFF: not at all */
};

enum { PART_STATIC, PART_DYNAMIC, PART_CNT };

struct gc_side {
	struct tapir_gc_host *host;
	struct tapir_provider *provider;
	struct tapir_dynamic *dynamic;
	struct gc_wanted parts[PART_CNT];
	struct gc_wanted last_notified;
};

struct tapir_gc_host {
	struct gc_side sides[TAPIR_GC_PROVIDER_CNT];
	const struct tapir_gc_collector *collector; /* release */
	uint32_t pending, is_leaving;
	uint32_t entry_cnt;
	struct tapir_event *unknown; /* GCDynamicEvent */
	struct gc_entry table[TABLE_SLOTS];
};

/* ---- enablement ------------------------------------------------------------------------------- */

static struct gc_wanted union_of(const struct gc_side *side)
{
	struct gc_wanted all = {0, TAPIR_GC_OFF};

	for (int i = 0; i < PART_CNT && !prov_load(&side->host->is_leaving); i++) {
		int32_t level = prov_load_acquire(&side->parts[i].level);

		if (level == TAPIR_GC_OFF)
			continue;
		all.keywords |= prov_load(&side->parts[i].keywords);
		all.level = level > all.level ? level : all.level;
	}
	return all;
}

static void notify_side(const struct tapir_gc_collector *collector, struct gc_side *side,
			int provider)
{
	struct gc_wanted now = union_of(side);

	if (now.keywords == side->last_notified.keywords && now.level == side->last_notified.level)
		return;
	side->last_notified = now;
	if (provider == TAPIR_GC_DEFAULT)
		collector->control_events(collector->ctx, now.keywords, now.level);
	else
		collector->control_private_events(collector->ctx, now.keywords, now.level);
}

static void notify_collector(struct tapir_gc_host *host)
{
	uint32_t pending = __atomic_add_fetch(&host->pending, 1, __ATOMIC_ACQ_REL);

	if (pending != 1)
		return; /* another thread does it, or a caller of this one */
	do {
		const struct tapir_gc_collector *collector = prov_load_acquire(&host->collector);

		pending = prov_load_acquire(&host->pending);
		for (int i = 0; collector && i < TAPIR_GC_PROVIDER_CNT; i++)
			notify_side(collector, &host->sides[i], i);
	} while (!__atomic_compare_exchange_n(&host->pending, &pending, 0, 0, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
}

static void changed(struct gc_side *side, int part, const struct tapir_enablement *change)
{
	struct gc_wanted *wanted = &side->parts[part];

	prov_store(&wanted->keywords, change->all_keywords);
	prov_store_release(&wanted->level,
			   change->all_is_on ? (int32_t)change->all_level : TAPIR_GC_OFF);
	notify_collector(side->host);
}

static void changed_static(struct tapir_provider *provider, const struct tapir_enablement *change,
			   void *side)
{
	(void)provider;
	changed(side, PART_STATIC, change);
}

static void changed_dynamic(struct tapir_provider *provider, const struct tapir_enablement *change,
			    void *side)
{
	(void)provider;
	changed(side, PART_DYNAMIC, change);
}

/* ---- the collector's events ------------------------------------------------------------------- */

static uint32_t slot_of(const char *name)
{
	uint64_t hash = (uint64_t)(uintptr_t)name * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(hash >> 32) & (TABLE_SLOTS - 1);
}

static void add_entry(struct tapir_gc_host *host, const char *name, struct tapir_event *event)
{
	uint32_t slot = slot_of(name);

	while (host->table[slot].name)
		slot = (slot + 1) & (TABLE_SLOTS - 1);
	host->table[slot] = (struct gc_entry){name, event};
	host->entry_cnt++;
}

static int define(struct tapir_gc_host *host, const struct tapir_gc_event *e)
{
	struct tapir_event_about about;
	struct tapir_event *event;
	int err;

	if (!e || e->provider >= TAPIR_GC_PROVIDER_CNT || host->entry_cnt == EVENT_MAX)
		return e && e->provider < TAPIR_GC_PROVIDER_CNT ? -ENOSPC : -EINVAL;
	about = (struct tapir_event_about){.name = e->name,
					   .fields = e->fields,
					   .keywords = e->keywords,
					   .level = e->level,
					   .field_cnt = e->field_cnt};
	err = tapir_event__define(host->sides[e->provider].dynamic, &about, &event);
	if (!err)
		add_entry(host, e->name, event);
	return err;
}

static struct tapir_event *find_gc_event(const struct tapir_gc_host *host, const char *name)
{
	for (uint32_t slot = slot_of(name); host->table[slot].name;
	     slot = (slot + 1) & (TABLE_SLOTS - 1))
		if (host->table[slot].name == name)
			return host->table[slot].event;
	for (uint32_t i = 0; i < TABLE_SLOTS; i++)
		if (host->table[i].name && !strcmp(host->table[i].name, name))
			return host->table[i].event;
	return NULL;
}

/* Name, DataSize, Data: in the session's own room, for there is no memory here. */
static void fire_unknown(struct tapir_event *event, const char *name, const void *payload,
			 uint32_t bytes)
{
	size_t name_bytes = tapir_payload__bytes8(name), all = name_bytes + sizeof(bytes) + bytes;
	struct tapir_event_write write;

	if (!TAPIR_EVENT_RECORDED(*event) || !tapir_event__begin(&write, event, all))
		return;
	struct tapir_payload p = {write.payload, write.payload + all};

	tapir_payload__put8(&p, name, name_bytes);
	tapir_payload__put(&p, &bytes, sizeof(bytes));
	tapir_payload__put(&p, payload, bytes);
	tapir_payload__end(&p);
	tapir_event__commit(&write);
}

void tapir_gc_host__fire_dynamic(struct tapir_gc_host *host, const char *name, const void *payload,
				 uint32_t bytes)
{
	struct tapir_event *event = find_gc_event(host, name);

	if (event)
		tapir_event__fire(event, payload, bytes);
	else if (host->unknown && TAPIR_EVENT_ENABLED(*host->unknown))
		fire_unknown(host->unknown, name, payload, bytes);
}

/* ---- hosts ------------------------------------------------------------------------------------ */

static int open_side(struct gc_side *side, const struct tapir_gc_host_opts *opts, int i)
{
	struct tapir_provider_opts with = {
		.size = sizeof(with), .changed = changed_dynamic, .ctx = side};
	int err = tapir_dynamic__new(opts->names[i], opts->guids[i], &with, &side->dynamic);

	with.changed = changed_static;
	if (!err)
		err = provider__make(opts->names[i], opts->guids[i], opts->events[i],
				     opts->event_cnts[i], &with, NULL, &side->provider);
	return err;
}

static int define_unknown(struct tapir_gc_host *host)
{
	static const struct tapir_event_field fields[] = {
		{"Name", NULL, 0, 0, TAPIR_TYPE_UTF8, TAPIR_REPEAT_NONE, {0, 0}},
		{"DataSize", NULL, 0, 0, TAPIR_TYPE_U32, TAPIR_REPEAT_NONE, {0, 0}},
		{"Data", NULL, 0, 1, TAPIR_TYPE_BINARY, TAPIR_REPEAT_COUNT_FIELD, {0, 0}},
	};
	const struct tapir_event_about about = {.name = "GCDynamicEvent",
						.fields = fields,
						.field_cnt = 3,
						.level = TAPIR_CRITICAL};

	return tapir_event__define(host->sides[TAPIR_GC_DEFAULT].dynamic, &about, &host->unknown);
}

int tapir_gc_host__new(const struct tapir_gc_host_opts *opts, struct tapir_gc_host **out)
{
	int saved = errno, err = 0;
	struct tapir_gc_host *host;

	if (!opts || opts->size < sizeof(*opts) || !out)
		return -EINVAL;
	host = calloc(1, sizeof(*host));
	errno = saved;
	if (!host)
		return -ENOMEM;
	for (int i = 0; i < TAPIR_GC_PROVIDER_CNT; i++) {
		host->sides[i].host = host;
		host->sides[i].last_notified.level = TAPIR_GC_OFF;
		for (int k = 0; k < PART_CNT; k++)
			host->sides[i].parts[k].level = TAPIR_GC_OFF;
	}
	for (int i = 0; i < TAPIR_GC_PROVIDER_CNT && !err; i++)
		err = open_side(&host->sides[i], opts, i);
	if (!err)
		err = define_unknown(host);
	if (err)
		tapir_gc_host__free(host);
	else
		*out = host;
	return err;
}

int tapir_gc_host__attach(struct tapir_gc_host *host, const struct tapir_gc_collector *collector)
{
	int err = 0;

	if (!collector || collector->size < sizeof(*collector) ||
	    collector->version != TAPIR_GC_SINK_VERSION || !collector->control_events ||
	    !collector->control_private_events || prov_load(&host->collector))
		return -EINVAL;
	for (uint64_t i = 0; i < collector->event_cnt && !err; i++)
		err = define(host, collector->events[i]);
	if (err)
		return err;
	prov_store_release(&host->collector, collector);
	notify_collector(host);
	return 0;
}

void tapir_gc_host__free(struct tapir_gc_host *host)
{
	if (!host)
		return;
	prov_store(&host->is_leaving, 1);
	notify_collector(host);
	for (int i = 0; i < TAPIR_GC_PROVIDER_CNT; i++) {
		tapir_provider__free(host->sides[i].provider);
		tapir_dynamic__free(host->sides[i].dynamic);
	}
	free(host);
}
