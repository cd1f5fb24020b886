/* SPDX-License-Identifier: MIT */
/*
 * coreclr_kinds.c - the table of kinds of events, without a lock: a thread that loses the race to
 * put one drops its own.
 *
 * A process may create kinds without limit: EventSources that are created and disposed, events that
 * are named at run time. The runtime does not report which of them are gone. So when half of the
 * table is in use, the least recently used ones are removed until a quarter is left, by replacing
 * the table. When coreclr_quiescence.c has proof that no thread still uses one that was removed,
 * its ring entry and memory are freed. A kind that occurs again is registered again.
 */
#include "coreclr_kinds.h"

#include <string.h>
#include <time.h>

#include "../ring/ring_sys.h"

#define NAME_BYTES     256u /* of an event's name */
#define GONE_PROVIDER  1u   /* no pointer */
#define MANY_CNT       (TAPIR_RING_EVENTS / 2)
#define LEFT_CNT       (TAPIR_RING_EVENTS / 4)
#define AGES	       16u
#define LOOK_NS	       10000000ull /* in which what is in use is met again */
#define BACKOFF_NS     100000000ull
#define BACKOFF_MAX_NS 10000000000ull
#define QUIET_STEP_NS  2000000ull
#define QUIET_STEPS    500u

struct coreclr_kind **coreclr_kind_table;
uint32_t coreclr_kind_turn;

static struct coreclr_kind **spare;	  /* the previous table, or one that no thread reads */
static uint8_t stays[CORECLR_KIND_TABLE]; /* of the table before: those that are in the new one */
static int is_pending;			  /* the others have not been returned */
static uint32_t kind_cnt;
static uint64_t next_ns, backoff_ns;

int coreclr_kinds__init(void)
{
	coreclr_kind_table = coreclr_memory__take(CORECLR_KIND_TABLE * sizeof(spare[0]));
	spare = coreclr_memory__take(CORECLR_KIND_TABLE * sizeof(spare[0]));
	kind_cnt = 0;
	is_pending = 0;
	next_ns = 0;
	backoff_ns = BACKOFF_NS;
	return coreclr_kind_table && spare ? 0 : -1;
}

/* ---- first sight ---------------------------------------------------------------------------- */

/*
 * The provider has gone, and another one is at that address. A thread that has just found it writes
 * one more event of the old name, as it should.
 */
static void drop_provider(uint64_t provider_va)
{
	struct coreclr_kind **table = coreclr_load_acquire(&coreclr_kind_table);

	for (uint32_t i = 0; i < CORECLR_KIND_TABLE; i++) {
		struct coreclr_kind *k = coreclr_load_acquire(&table[i]);

		if (k && coreclr_load(&k->provider) == provider_va)
			coreclr_store(&k->provider, GONE_PROVIDER);
	}
}

void coreclr_kinds__provider_created(uint64_t va)
{
	int is_new;

	if (coreclr_providers__created(va, &is_new))
		drop_provider(va);
	if (is_new)
		coreclr_wakeup();
}

__attribute__((noinline)) int coreclr_kind__has_meta(struct coreclr_kind *k, const uint8_t *meta)
{
	if (k->meta_hash != coreclr_hash(meta, k->meta_bytes))
		return 0;
	coreclr_store(&k->meta, meta);
	return 1;
}

/* The same event of a provider that was unloaded, and has come again to the same place. */
static struct coreclr_kind *find_again(uint64_t provider, uint32_t id, uint32_t version,
				       const uint8_t *meta, uint32_t meta_bytes)
{
	const struct coreclr_provider *from = coreclr_providers__find(provider);
	struct coreclr_kind **table = coreclr_load_acquire(&coreclr_kind_table);
	uint32_t slot = coreclr_kind__slot(provider, id, version);

	for (uint32_t i = 0; from && i < CORECLR_KIND_TABLE; i++) {
		struct coreclr_kind *k =
			coreclr_load_acquire(&table[(slot + i) & (CORECLR_KIND_TABLE - 1)]);

		if (!k)
			return NULL;
		if (!coreclr_kind__is(k, GONE_PROVIDER, id, version, meta_bytes) ||
		    k->meta_hash != coreclr_hash(meta, meta_bytes) ||
		    strcmp(k->provider_name, from->name))
			continue;
		coreclr_store(&k->provider, provider);
		return k;
	}
	return NULL;
}

/* Describes the kind as far as that is possible without memory. */
static void describe_kind(struct tapir_ring_about *about, const char *provider, const char *name,
			  const struct coreclr_blob *blob, uint32_t id, uint32_t version)
{
	*about = (struct tapir_ring_about){
		.provider = provider,
		.event = name,
		.keywords = blob->keywords,
		.event_id = id <= UINT16_MAX ? (uint16_t)id : 0,
		.version = version <= UINT8_MAX ? (uint8_t)version : UINT8_MAX,
		.level = blob->level <= UINT8_MAX ? (uint8_t)blob->level : UINT8_MAX,
		.encoding = TAPIR_ENCODING_PACKED,
	};
}

/*
 * Copies the event's name, which is the caller's. The metadata stays the runtime's:
 * coreclr_kind__has_meta notes where it is now.
 */
static struct coreclr_kind *new_kind(uint64_t provider, uint32_t id, uint32_t version,
				     const uint8_t *meta, uint32_t meta_bytes,
				     const struct tapir_ring_about *about)
{
	uint32_t len = (uint32_t)strlen(about->event);
	uint32_t bytes = (uint32_t)sizeof(struct coreclr_kind) + len + 1;
	struct coreclr_kind *k = coreclr_memory__take(bytes);

	if (!k)
		return NULL;
	memcpy(k->name, about->event, len + 1);
	k->bytes = bytes;
	k->provider = provider;
	k->id = id;
	k->version = version;
	k->turn = coreclr_load(&coreclr_kind_turn);
	k->meta_bytes = meta_bytes;
	k->meta_hash = coreclr_hash(meta, meta_bytes);
	k->meta = meta;
	k->provider_name = about->provider;
	k->about = *about;
	k->about.event = k->name;
	k->about.metadata = meta_bytes ? meta : NULL;
	k->about.metadata_bytes = meta_bytes;
	k->about.metadata_format = 1;
	return k;
}

/* 1: it has an entry. */
static int register_it(struct coreclr_kind *k)
{
	int ret = tapir_ring__register(&k->ring, &k->about);

	if (ret && k->about.metadata) {
		/* Too long for a record, perhaps: then without. */
		k->about.metadata = NULL;
		ret = tapir_ring__register(&k->ring, &k->about);
	}
	k->about.metadata = NULL; /* the runtime's; copied by now */
	return !ret;
}

/* The one that is in the table: this, or what another thread has put there. NULL: it is full. */
static struct coreclr_kind *claim_kind_slot(struct coreclr_kind **table, struct coreclr_kind *k)
{
	uint32_t slot = coreclr_kind__slot(k->provider, k->id, k->version);

	for (uint32_t i = 0; i < CORECLR_KIND_TABLE; i++) {
		struct coreclr_kind **entry = &table[(slot + i) & (CORECLR_KIND_TABLE - 1)];
		struct coreclr_kind *seen = coreclr_load_acquire(entry);

		if (!seen && __atomic_compare_exchange_n(entry, &seen, k, 0, __ATOMIC_ACQ_REL,
							 __ATOMIC_ACQUIRE))
			return k;
		if (coreclr_kind__is(seen, k->provider, k->id, k->version, k->meta_bytes) &&
		    seen->meta_hash == k->meta_hash)
			return seen;
	}
	return NULL;
}

/* No other thread has seen it. */
static void drop_kind(struct coreclr_kind *k)
{
	tapir_ring__unregister(&k->ring);
	coreclr_memory__give(k, k->bytes);
}

/* Half of the places are taken: control is to sweep. */
static void count_up(void)
{
	if (__atomic_add_fetch(&kind_cnt, 1, __ATOMIC_RELAXED) == MANY_CNT)
		coreclr_wakeup();
}

__attribute__((noinline, cold)) struct coreclr_kind *
coreclr_kinds__on_first_event(uint64_t provider, uint32_t id, uint32_t version, const uint8_t *meta,
			      uint32_t meta_bytes)
{
	struct coreclr_kind *k = find_again(provider, id, version, meta, meta_bytes), *there;
	const struct coreclr_provider *from;
	char name[NAME_BYTES], unknown[CORECLR_NAME_BYTES];
	struct tapir_ring_about about;
	struct coreclr_blob blob;

	if (k)
		return k;
	coreclr_blob__parse(meta, meta_bytes, &blob);
	coreclr_text__narrow(name, sizeof(name), blob.name, blob.name_units);
	/*
	 * Without a place for its provider the event cannot be described. It is lost, and counted
	 * under the name that the runtime gives now.
	 */
	from = coreclr_providers__find(provider);
	if (!from)
		coreclr_providers__ask(provider, unknown);
	describe_kind(&about, from ? from->name : unknown, name, &blob, id, version);
	k = from ? new_kind(provider, id, version, meta, meta_bytes, &about) : NULL;
	if (!k || !register_it(k)) {
		tapir_ring__miss(&about, from ? TAPIR_RING_NO_ENTRY : TAPIR_RING_NO_PROVIDER);
		if (k)
			coreclr_memory__give(k, k->bytes);
		return NULL;
	}
	/* Two threads may meet a kind at once: the second one uses what the first has put. */
	there = claim_kind_slot(coreclr_load_acquire(&coreclr_kind_table), k);
	if (there == k)
		count_up();
	else
		drop_kind(k);
	return there;
}

/* ---- places run short ------------------------------------------------------------------------ */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static void nap(uint64_t ns)
{
	const struct timespec time = {.tv_nsec = (long)ns};

	ring_sys3(SYS_nanosleep, &time, 0, 0);
}

static uint32_t age_of(const struct coreclr_kind *k)
{
	uint32_t age = coreclr_load(&coreclr_kind_turn) - coreclr_load(&k->turn);

	if (coreclr_load(&k->published))
		return 0; /* its probes stay where tools found them */
	if (coreclr_load(&k->provider) == GONE_PROVIDER)
		return AGES - 1;
	return age < AGES ? age : AGES - 1;
}

/* The minimum age of those removed: at least 1, so that the current one stays. */
static uint32_t choose_age(struct coreclr_kind *const *table)
{
	uint32_t of_age[AGES] = {0}, left = 0, age = 0;

	for (uint32_t i = 0; i < CORECLR_KIND_TABLE; i++)
		if (table[i])
			of_age[age_of(table[i])]++;
	do
		left += of_age[age++];
	while (age < AGES - 1 && left + of_age[age] <= LEFT_CNT);
	return age;
}

/*
 * Copies the kinds that stay to the spare table, with the turn as their mark; returns their number.
 */
static uint32_t copy_young(struct coreclr_kind *const *table, uint32_t age)
{
	uint32_t cnt = 0;

	memset(spare, 0, CORECLR_KIND_TABLE * sizeof(spare[0]));
	for (uint32_t i = 0; i < CORECLR_KIND_TABLE; i++) {
		struct coreclr_kind *k = coreclr_load_acquire(&table[i]);

		stays[i] = k && age_of(k) < age && claim_kind_slot(spare, k) == k;
		cnt += stays[i];
	}
	return cnt;
}

static void sweep_providers(void)
{
	if (!coreclr_providers__are_many())
		return;
	coreclr_providers__begin_sweep();
	for (uint32_t i = 0; i < CORECLR_KIND_TABLE; i++)
		if (spare[i])
			coreclr_providers__keep(coreclr_load(&spare[i]->provider));
	coreclr_providers__end_sweep();
}

/* 1: no thread has one of the old table. */
static int await_quiet(void)
{
	struct coreclr_quiescence *quiet = coreclr_quiescence__note();
	int is_proven = 0;

	for (uint32_t i = 0; quiet && !is_proven && i < QUIET_STEPS; i++) {
		nap(QUIET_STEP_NS);
		is_proven = coreclr_quiescence__is_proven(quiet);
	}
	coreclr_quiescence__free(quiet);
	return is_proven;
}

/* Kinds that were put into the old table since it was copied go as well: they are met again. */
static void give_back(void)
{
	for (uint32_t i = 0; i < CORECLR_KIND_TABLE; i++)
		if (spare[i] && !stays[i])
			drop_kind(spare[i]);
	is_pending = 0;
}

static void replace(uint32_t age)
{
	struct coreclr_kind **old = coreclr_kind_table;
	uint32_t cnt = copy_young(old, age);

	sweep_providers();
	coreclr_store(&kind_cnt, cnt);
	coreclr_store_release(&coreclr_kind_table, spare);
	spare = old;
	is_pending = 1;
}

static int are_short(void)
{
	return coreclr_load(&kind_cnt) >= MANY_CNT || coreclr_providers__are_many() ||
	       coreclr_memory__is_scarce();
}

void coreclr_kinds__sweep(void)
{
	uint32_t before = coreclr_load(&kind_cnt);

	if (is_pending && await_quiet())
		give_back();
	if (is_pending || !are_short() || now_ns() < next_ns)
		return;
	coreclr_store(&coreclr_kind_turn, coreclr_kind_turn + 1);
	nap(LOOK_NS);
	replace(choose_age(coreclr_kind_table));
	if (await_quiet())
		give_back();
	/* All of them are in use: then each sweep is work for nothing. */
	backoff_ns = coreclr_load(&kind_cnt) > before - before / 8 ? backoff_ns * 2 : BACKOFF_NS;
	backoff_ns = backoff_ns < BACKOFF_MAX_NS ? backoff_ns : BACKOFF_MAX_NS;
	next_ns = now_ns() + backoff_ns;
}
