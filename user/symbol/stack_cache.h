/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_cache.h - remembers one number for a stack, or for an address, of a process while its
 * names hold, so that a file of ten million samples names each stack a few times only.
 *
 * Names have a time: each number holds from one change near the stack's addresses (a mapping, a
 * JIT name, an exec) to the next, and no longer than the catalog learns nothing new. Bounded.
 * One thread.
 */
#ifndef TAPIR_USER_STACK_CACHE_H
#define TAPIR_USER_STACK_CACHE_H

#include "base/map.h"
#include "base/vec.h"
#include "trace/catalog.h"

#define TAPIR_STACK_CACHE_MAX (1u << 17) /* numbers remembered */

/* The time in which something holds: from from_ns on, before until_ns. */
struct tapir_name_span {
	uint64_t from_ns, until_ns;
};

struct tapir_stack_cache_slot {
	uint32_t entry; /* idx + 1 of the key's newest entry; 0: free */
	uint32_t tag;	/* of the key: most others are skipped without reading theirs */
};

struct tapir_stack_cache {
	/* for the memo alone */
	struct tapir_stack_cache_slot *slots;
	size_t slot_cnt, key_cnt; /* slot_cnt: 0 or a power of two */
	struct tapir_vec(struct tapir_stack_cache_entry) entries;
	uint64_t version;
	uint32_t era; /* grows when everything is forgotten */
	/* Called before everything is forgotten: what `row` stands for is taken. NULL: by no one */
	void (*forget)(void *ctx);
	void *forget_ctx;
};

#define TAPIR_STACK_CACHE_NONE UINT64_MAX /* as a value: it is not known yet */

struct tapir_stack_cache_entry {
	uint64_t key;
	struct tapir_name_span span;
	uint64_t value;
	/* of another user of the cache: a number, 0: none; a count, and what it says of the row */
	uint32_t row, row_cnt;
	uint32_t next; /* idx + 1 of an entry for another time; 0: none */
	uint8_t depth;
	bool is_row_final;
};

/* The key of a number: ids may be 0; an address is its own id. salt: what else matters. */
struct tapir_stack_ref {
	uint32_t tgid;
	uint64_t time_ns, stack_id, kstack_id, salt;
};

/*
 * Call before __find: true when everything was forgotten, because the catalog has changed or
 * there is too much.
 */
bool tapir_stack_cache__renew(struct tapir_stack_cache *cache, const struct tapir_catalog *catalog);
/*
 * A look-up costs two cache lines of some megabytes: a caller that knows the next references
 * prefetches the slot, a few records later the entry. __peek: some entry of ref, of any time; NULL:
 * none.
 */
void tapir_stack_cache__expect_slot(const struct tapir_stack_cache *cache,
				    const struct tapir_stack_ref *ref);
void tapir_stack_cache__expect_entry(const struct tapir_stack_cache *cache,
				     const struct tapir_stack_ref *ref);
const struct tapir_stack_cache_entry *tapir_stack_cache__peek(const struct tapir_stack_cache *cache,
							      const struct tapir_stack_ref *ref);
/* Returns the entry for ref at its time; borrowed until __add. NULL: none. */
struct tapir_stack_cache_entry *tapir_stack_cache__find(struct tapir_stack_cache *cache,
							const struct tapir_stack_ref *ref);
/*
 * Adds an entry for a stack that is described (another may be described later). NULL: out of
 * memory.
 */
struct tapir_stack_cache_entry *tapir_stack_cache__add(struct tapir_stack_cache *cache,
						       const struct tapir_stack_ref *ref,
						       struct tapir_name_span span, uint64_t value);
/* Finds the entry, or adds one for all times, of which no value is known. NULL: out of memory. */
struct tapir_stack_cache_entry *tapir_stack_cache__at(struct tapir_stack_cache *cache,
						      const struct tapir_stack_ref *ref);
/* Frees everything; a cache of zeros is empty. */
void tapir_stack_cache__fini(struct tapir_stack_cache *cache);

#define TAPIR_STACK_HINT_VALUE (1u << 31)

/*
 * A number by which an entry is found again without a look-up, or its value without the entry, if
 * that is small; never 0.
 */
static inline uint64_t tapir_stack_cache__hint(const struct tapir_stack_cache *cache,
					       const struct tapir_stack_cache_entry *e)
{
	uint32_t bits = e->value < TAPIR_STACK_HINT_VALUE
				? TAPIR_STACK_HINT_VALUE | (uint32_t)e->value
				: (uint32_t)(e - cache->entries.data + 1);

	return (uint64_t)cache->era << 32 | bits;
}

/* Returns true if the hint has the value of its entry, which holds. hint: 0, or of this cache. */
static inline bool tapir_stack_cache__hinted_value(const struct tapir_stack_cache *cache,
						   uint64_t hint, uint32_t *value)
{
	*value = (uint32_t)hint & ~TAPIR_STACK_HINT_VALUE;
	return hint & TAPIR_STACK_HINT_VALUE && hint >> 32 == cache->era;
}

/* NULL: it was forgotten, or the hint is a value. hint: 0, or of this cache. */
static inline struct tapir_stack_cache_entry *
tapir_stack_cache__of_hint(const struct tapir_stack_cache *cache, uint64_t hint)
{
	return (uint32_t)hint && !(hint & TAPIR_STACK_HINT_VALUE) && hint >> 32 == cache->era
		       ? &cache->entries.data[(uint32_t)hint - 1]
		       : NULL;
}

static inline struct tapir_name_span tapir_name_span__both(struct tapir_name_span a,
							   struct tapir_name_span b)
{
	return (struct tapir_name_span){a.from_ns > b.from_ns ? a.from_ns : b.from_ns,
					a.until_ns < b.until_ns ? a.until_ns : b.until_ns};
}

#define TAPIR_NAME_SPAN_ALL ((struct tapir_name_span){0, UINT64_MAX})

/* ---- frames ------------------------------------------------------------------------------- */

struct tapir_stack_view;
struct tapir_frame;

#define TAPIR_FRAME_CACHE_LINES (1u << 15) /* of a cache line and two numbers each */

/* until_ns 0: free. */
struct tapir_frame_cache_entry {
	uint64_t key, from_ns, until_ns, number;
};

/*
 * Caches a number for each frame, which stacks share. A new one takes the place of an old one: a
 * look-up costs one cache line, and there are thirty for a stack.
 */
struct tapir_frame_cache {
	void *lines; /* as allocated */
	struct tapir_frame_cache_entry (*pairs)[2];
	uint64_t version;
	struct tapir_map changes_by_tgid;
	struct tapir_vec(struct tapir_catalog_changes) changes;
};

/* Prefetches what is remembered of all frames: their numbers will be requested. */
void tapir_frame_cache__expect(struct tapir_frame_cache *cache, const struct tapir_catalog *catalog,
			       const struct tapir_stack_ref *ref,
			       const struct tapir_stack_view *view);
/*
 * The number of a stack's frame at a time; *span is narrowed to the time in which it is valid.
 * number_of(ctx, frame) computes it, once while names are valid.
 */
uint64_t
tapir_frame_cache__number(struct tapir_frame_cache *cache, const struct tapir_catalog *catalog,
			  const struct tapir_stack_ref *ref, const struct tapir_stack_view *view,
			  unsigned idx,
			  uint64_t (*number_of)(void *ctx, const struct tapir_frame *frame),
			  void *ctx, struct tapir_name_span *span);
/* Frees everything; a cache of zeros is empty. */
void tapir_frame_cache__fini(struct tapir_frame_cache *cache);

#endif
