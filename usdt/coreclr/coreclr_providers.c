/* SPDX-License-Identifier: MIT */
/*
 * coreclr_providers.c - providers by the runtime's pointers. A table of open addressing without a
 * lock: an entry, once put, is only ever replaced, when a new provider appears at the place of one
 * that was unloaded.
 */
#include <string.h>

#include "coreclr_impl.h"

#define TABLE_CNT  4096u /* power of two */
#define NAME_UNITS 256u

static struct coreclr_provider **table;

int coreclr_providers__init(void)
{
	table = coreclr_memory__take(TABLE_CNT * sizeof(table[0]));
	return table ? 0 : -1;
}

static uint32_t place_of(uint64_t va)
{
	return (uint32_t)((va * 0x9e3779b97f4a7c15ull) >> 32) & (TABLE_CNT - 1);
}

/* 0: the runtime does not say. */
static int ask(uint64_t va, char out[CORECLR_NAME_BYTES])
{
	uint16_t name[NAME_UNITS];
	uint32_t cnt = 0;

	if (coreclr_load(&coreclr.is_shut) ||
	    coreclr_info__provider_name(coreclr.info, va, NAME_UNITS, &cnt, name) < 0)
		return 0;
	coreclr_text__narrow(out, CORECLR_NAME_BYTES, (const uint8_t *)name,
			     cnt < NAME_UNITS ? cnt : NAME_UNITS);
	return 1;
}

static struct coreclr_provider *new_provider(uint64_t va, const char *name)
{
	struct coreclr_provider *p = coreclr_memory__take(sizeof(*p));

	if (!p)
		return NULL;
	p->va = va;
	memcpy(p->name, name, strlen(name) + 1);
	return p;
}

/* Its entry, or the free one where it belongs; NULL: the table is full. */
static struct coreclr_provider **entry_of(uint64_t va)
{
	for (uint32_t i = 0; i < TABLE_CNT; i++) {
		struct coreclr_provider **entry = &table[(place_of(va) + i) & (TABLE_CNT - 1)];
		const struct coreclr_provider *p = coreclr_load_acquire(entry);

		if (!p || p->va == va)
			return entry;
	}
	return NULL;
}

const struct coreclr_provider *coreclr_providers__find(uint64_t va)
{
	struct coreclr_provider **entry = entry_of(va), *p, *none = NULL;
	char name[CORECLR_NAME_BYTES];

	if (!entry)
		return NULL;
	p = coreclr_load_acquire(entry);
	if (p)
		return p;
	p = ask(va, name) ? new_provider(va, name) : NULL;
	if (!p ||
	    __atomic_compare_exchange_n(entry, &none, p, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return p;
	/* Another thread was quicker, with this provider or one of the same place. */
	return none->va == va ? none : p;
}

/* Puts a provider where another was, or none. NULL: no room, or there was none. */
static struct coreclr_provider *replace(uint64_t va, struct coreclr_provider *p)
{
	struct coreclr_provider **entry, *old;

	do {
		entry = entry_of(va);
		if (!entry)
			return NULL;
		old = coreclr_load_acquire(entry);
	} while ((old && old->va != va) ||
		 !__atomic_compare_exchange_n(entry, &old, p, 0, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return old;
}

/* Assemblies that come and go bring the same names again and again: these take no more memory. */
void coreclr_providers__created(uint64_t va)
{
	struct coreclr_provider **entry = entry_of(va), *old, *p;
	char name[CORECLR_NAME_BYTES];

	if (!entry || !ask(va, name))
		return;
	old = coreclr_load_acquire(entry);
	if (!old || old->va != va || strcmp(old->name, name)) {
		p = new_provider(va, name);
		old = p ? replace(va, p) : NULL;
	}
	if (old)
		coreclr_events__forget(va);
	coreclr_control__poke();
}

uint32_t coreclr_providers__limit(void)
{
	return TABLE_CNT;
}

const struct coreclr_provider *coreclr_providers__at(uint32_t idx)
{
	return coreclr_load_acquire(&table[idx]);
}
