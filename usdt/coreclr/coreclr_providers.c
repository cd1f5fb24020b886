/* SPDX-License-Identifier: MIT */
/*
 * coreclr_providers.c - providers by the runtime's pointers. Names are kept once and never freed,
 * in a table of open addressing without a lock. Places of pointers are in a second one, which
 * control replaces by one without the idle ones when it fills: a pointer that is met again is asked
 * for again.
 */
#include <string.h>

#include "coreclr_impl.h"

#define NAME_CNT   4096u  /* power of two, the limit of NO_PROVIDER */
#define ENTRY_CNT  16384u /* power of two */
#define NAME_UNITS 256u

struct provider_entry {
	uint64_t va; /* 0: free */
	const struct coreclr_provider *provider;
};

static struct coreclr_provider **names;
static struct provider_entry *entries, *spare; /* PLACE_CNT each */
static uint32_t name_cnt, entry_cnt, unnamed_cnt;

int coreclr_providers__init(void)
{
	names = coreclr_memory__take(NAME_CNT * sizeof(names[0]));
	entries = coreclr_memory__take(ENTRY_CNT * sizeof(entries[0]));
	spare = coreclr_memory__take(ENTRY_CNT * sizeof(entries[0]));
	name_cnt = entry_cnt = unnamed_cnt = 0;
	return names && entries && spare ? 0 : -1;
}

/* 0: unknown to the runtime. */
static int query_runtime_name(uint64_t va, char out[CORECLR_NAME_BYTES])
{
	uint16_t name[NAME_UNITS];
	uint32_t cnt = 0;

	out[0] = 0;
	if (coreclr_load(&coreclr.is_shut_down) ||
	    coreclr_info__provider_name(coreclr.info, va, NAME_UNITS, &cnt, name) < 0)
		return 0;
	coreclr_text__narrow(out, CORECLR_NAME_BYTES, (const uint8_t *)name,
			     cnt < NAME_UNITS ? cnt : NAME_UNITS);
	return 1;
}

void coreclr_providers__ask(uint64_t va, char out[CORECLR_NAME_BYTES])
{
	query_runtime_name(va, out);
}

/* ---- names ---------------------------------------------------------------------------------- */

static uint32_t provider_name_hash(const char *name)
{
	uint32_t hash = 0x811c9dc5u;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 0x01000193u;
	return hash;
}

static struct coreclr_provider *new_name(const char *name)
{
	struct coreclr_provider *p = coreclr_memory__take(sizeof(*p));

	if (p)
		memcpy(p->name, name, strlen(name) + 1);
	return p;
}

/* The one of this name; *is_new: it was not known. NULL: no room. */
static const struct coreclr_provider *intern(const char *name, int *is_new)
{
	uint32_t hash = provider_name_hash(name);
	struct coreclr_provider *mine = NULL;

	*is_new = 0;
	for (uint32_t i = 0; i < NAME_CNT; i++) {
		struct coreclr_provider **entry = &names[(hash + i) & (NAME_CNT - 1)];
		struct coreclr_provider *p = coreclr_load_acquire(entry);

		/*
		 * Made before the place is taken, so that a reader never sees a name that is half
		 * there.
		 */
		if (!p && !mine)
			mine = new_name(name);
		if (!p && !mine)
			return NULL;
		if (!p && __atomic_compare_exchange_n(entry, &p, mine, 0, __ATOMIC_ACQ_REL,
						      __ATOMIC_ACQUIRE)) {
			__atomic_fetch_add(&name_cnt, 1, __ATOMIC_RELAXED);
			*is_new = 1;
			return mine;
		}
		/*
		 * Either it was there, or another thread has put one there since: then p is that
		 * one's.
		 */
		if (!strcmp(p->name, name)) {
			coreclr_memory__give(mine, sizeof(*mine));
			return p;
		}
	}
	coreclr_memory__give(mine, sizeof(*mine));
	return NULL;
}

uint32_t coreclr_providers__limit(void)
{
	return NAME_CNT;
}

const struct coreclr_provider *coreclr_providers__at(uint32_t idx)
{
	return coreclr_load_acquire(&names[idx]);
}

uint32_t coreclr_providers__unnamed_cnt(void)
{
	return coreclr_load(&unnamed_cnt);
}

/* ---- places --------------------------------------------------------------------------------- */

static uint32_t provider_slot(uint64_t va)
{
	return (uint32_t)((va * 0x9e3779b97f4a7c15ull) >> 32) & (ENTRY_CNT - 1);
}

/* The provider's slot, or the free one that it would get; NULL: the table is full. */
static struct provider_entry *find_provider_entry(struct provider_entry *table, uint64_t va)
{
	for (uint32_t i = 0; i < ENTRY_CNT; i++) {
		struct provider_entry *provider_entry =
			&table[(provider_slot(va) + i) & (ENTRY_CNT - 1)];
		uint64_t seen = coreclr_load_acquire(&provider_entry->va);

		if (!seen || seen == va)
			return provider_entry;
	}
	return NULL;
}

/*
 * Puts a provider over what was there before; a full table keeps nothing: the next one is queried
 * again.
 */
static const struct coreclr_provider *claim_provider_entry(uint64_t va,
							   const struct coreclr_provider *p)
{
	struct provider_entry *table = coreclr_load_acquire(&entries), *provider_entry;
	uint64_t none;

	do {
		none = 0;
		provider_entry = find_provider_entry(table, va);
		if (!provider_entry)
			return NULL;
		if (coreclr_load(&provider_entry->va) == va)
			return __atomic_exchange_n(&provider_entry->provider, p, __ATOMIC_ACQ_REL);
	} while (!__atomic_compare_exchange_n(&provider_entry->va, &none, va, 0, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	coreclr_store_release(&provider_entry->provider, p);
	__atomic_fetch_add(&entry_cnt, 1, __ATOMIC_RELAXED);
	return NULL;
}

const struct coreclr_provider *coreclr_providers__find(uint64_t va)
{
	const struct provider_entry *provider_entry =
		find_provider_entry(coreclr_load_acquire(&entries), va);
	const struct coreclr_provider *p = NULL;
	char name[CORECLR_NAME_BYTES];
	int is_new;

	if (provider_entry && coreclr_load_acquire(&provider_entry->va) == va)
		p = coreclr_load_acquire(&provider_entry->provider);
	if (p || !query_runtime_name(va, name))
		return p;
	p = intern(name, &is_new); /* NULL: each of its events is counted (NO_PROVIDER) */
	if (p)
		claim_provider_entry(va, p);
	return p;
}

int coreclr_providers__created(uint64_t va, int *is_new)
{
	const struct coreclr_provider *p;
	char name[CORECLR_NAME_BYTES];

	*is_new = 0;
	if (!query_runtime_name(va, name))
		return 0;
	p = intern(name, is_new);
	if (!p)
		__atomic_fetch_add(&unnamed_cnt, 1, __ATOMIC_RELAXED);
	return p && claim_provider_entry(va, p);
}

int coreclr_providers__are_many(void)
{
	return coreclr_load(&entry_cnt) > ENTRY_CNT / 2;
}

void coreclr_providers__begin_sweep(void)
{
	memset(spare, 0, ENTRY_CNT * sizeof(spare[0]));
}

void coreclr_providers__keep(uint64_t va)
{
	const struct provider_entry *from = find_provider_entry(entries, va);
	struct provider_entry *to = find_provider_entry(spare, va);

	if (from && to && coreclr_load_acquire(&from->va) == va)
		*to = (struct provider_entry){va, coreclr_load_acquire(&from->provider)};
}

/* A pointer that arrived in the meantime is resolved once more. */
void coreclr_providers__end_sweep(void)
{
	struct provider_entry *old = entries;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < ENTRY_CNT; i++)
		kept += spare[i].va != 0;
	coreclr_store(&entry_cnt, kept);
	coreclr_store_release(&entries, spare);
	spare = old; /* a thread that still reads it finds less than there is, at worst */
}
