// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A key has a few entries, one for each time its names were others; the one used last comes
 * first. More than CHAIN_MAX of them are not kept: a hostile file must not make it a long list.
 */
#include "symbol/stack_cache.h"

#include "symbol/frame.h"
#include "trace/rehost.h"

#define CHAIN_MAX 8

#define MIN_SLOTS 64

bool tapir_stack_cache__renew(struct tapir_stack_cache *cache, const struct tapir_catalog *catalog)
{
	uint64_t version = tapir_catalog__version(catalog);

	if (cache->version == version && cache->entries.cnt < TAPIR_STACK_CACHE_MAX)
		return false;
	if (cache->forget)
		cache->forget(cache->forget_ctx);
	if (cache->key_cnt)
		memset(cache->slots, 0, cache->slot_cnt * sizeof(*cache->slots));
	cache->key_cnt = 0;
	cache->entries.cnt = 0;
	cache->version = version;
	cache->era++;
	return true;
}

/* Small numbers first, each mixed before the next: 0xabc ^ 1 and 0xabd ^ 0 are one key. */
static uint64_t stack_ref_key(const struct tapir_stack_ref *ref)
{
	uint64_t key = tapir_hash__mix(tapir_hash__mix(5, ref->salt), ref->tgid);

	return tapir_hash__mix(tapir_hash__mix(key, ref->stack_id), ref->kstack_id);
}

/* The key's slot, or the free one where it belongs. slot_cnt > 0. */
static struct tapir_stack_cache_slot *find_slot(const struct tapir_stack_cache *cache, uint64_t key)
{
	size_t i = (size_t)key & (cache->slot_cnt - 1);

	while (cache->slots[i].entry && (cache->slots[i].tag != key >> 32 ||
					 cache->entries.data[cache->slots[i].entry - 1].key != key))
		i = (i + 1) & (cache->slot_cnt - 1);
	return &cache->slots[i];
}

/* At most three of four are taken: 8 bytes each, of which most stay in a CPU's cache. */
static bool grow_slots(struct tapir_stack_cache *cache)
{
	struct tapir_stack_cache_slot *old = cache->slots;
	size_t old_cnt = cache->slot_cnt;

	if ((cache->key_cnt + 1) * 4 <= old_cnt * 3)
		return true;
	cache->slot_cnt = old_cnt ? old_cnt * 2 : MIN_SLOTS;
	cache->slots = calloc(cache->slot_cnt, sizeof(*cache->slots));
	if (!cache->slots) {
		cache->slots = old;
		cache->slot_cnt = old_cnt;
		return false;
	}
	for (size_t i = 0; i < old_cnt; i++)
		if (old[i].entry)
			*find_slot(cache, cache->entries.data[old[i].entry - 1].key) = old[i];
	free(old);
	return true;
}

/* idx + 1 of the newest entry of ref; 0: none. */
static uint32_t newest_of(const struct tapir_stack_cache *cache, const struct tapir_stack_ref *ref)
{
	return cache->slot_cnt ? find_slot(cache, stack_ref_key(ref))->entry : 0;
}

void tapir_stack_cache__expect_slot(const struct tapir_stack_cache *cache,
				    const struct tapir_stack_ref *ref)
{
	if (cache->slot_cnt)
		__builtin_prefetch(&cache->slots[stack_ref_key(ref) & (cache->slot_cnt - 1)]);
}

void tapir_stack_cache__expect_entry(const struct tapir_stack_cache *cache,
				     const struct tapir_stack_ref *ref)
{
	uint32_t at = cache->slot_cnt
			      ? cache->slots[stack_ref_key(ref) & (cache->slot_cnt - 1)].entry
			      : 0;
	const struct tapir_stack_cache_entry *e = at ? &cache->entries.data[at - 1] : NULL;

	if (!e)
		return;
	__builtin_prefetch(e); /* which may lie in two lines */
	__builtin_prefetch(&e->is_row_final);
}

const struct tapir_stack_cache_entry *tapir_stack_cache__peek(const struct tapir_stack_cache *cache,
							      const struct tapir_stack_ref *ref)
{
	uint32_t at = newest_of(cache, ref);

	return at ? &cache->entries.data[at - 1] : NULL;
}

struct tapir_stack_cache_entry *tapir_stack_cache__find(struct tapir_stack_cache *cache,
							const struct tapir_stack_ref *ref)
{
	uint32_t at = newest_of(cache, ref);

	while (at) {
		struct tapir_stack_cache_entry *e = &cache->entries.data[at - 1];

		if (ref->time_ns >= e->span.from_ns && ref->time_ns < e->span.until_ns)
			return e;
		at = e->next;
	}
	return NULL;
}

struct tapir_stack_cache_entry *tapir_stack_cache__add(struct tapir_stack_cache *cache,
						       const struct tapir_stack_ref *ref,
						       struct tapir_name_span span, uint64_t value)
{
	struct tapir_stack_cache_entry e = {
		.key = stack_ref_key(ref), .span = span, .value = value};
	struct tapir_stack_cache_slot *slot;
	uint32_t first;

	if (!grow_slots(cache))
		return NULL;
	slot = find_slot(cache, e.key);
	first = slot->entry;
	if (first && cache->entries.data[first - 1].depth + 1 < CHAIN_MAX) {
		e.next = first;
		e.depth = (uint8_t)(cache->entries.data[first - 1].depth + 1);
	}
	if (!tapir_vec__push(&cache->entries, e))
		return NULL;
	cache->key_cnt += !first;
	slot->entry = (uint32_t)cache->entries.cnt;
	slot->tag = (uint32_t)(e.key >> 32);
	return &cache->entries.data[cache->entries.cnt - 1];
}

struct tapir_stack_cache_entry *tapir_stack_cache__at(struct tapir_stack_cache *cache,
						      const struct tapir_stack_ref *ref)
{
	struct tapir_stack_cache_entry *known = tapir_stack_cache__find(cache, ref);

	return known ? known
		     : tapir_stack_cache__add(cache, ref, TAPIR_NAME_SPAN_ALL,
					      TAPIR_STACK_CACHE_NONE);
}

void tapir_stack_cache__fini(struct tapir_stack_cache *cache)
{
	free(cache->slots);
	cache->slots = NULL;
	cache->slot_cnt = cache->key_cnt = 0;
	tapir_vec__fini(&cache->entries);
}

/* ---- frames ------------------------------------------------------------------------------- */

#define LINE_BYTES sizeof(struct tapir_frame_cache_entry[2])

static bool make_lines(struct tapir_frame_cache *cache)
{
	uintptr_t start;

	cache->lines = calloc(TAPIR_FRAME_CACHE_LINES + 1, LINE_BYTES);
	start = ((uintptr_t)cache->lines + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
	cache->pairs = cache->lines ? (void *)start : NULL;
	return cache->lines;
}

/* Entries from before the catalog changed have other keys. */
static uint64_t frame_key(const struct tapir_frame_cache *cache, const struct tapir_stack_ref *ref,
			  const struct tapir_stack_view *view, unsigned idx)
{
	bool is_kernel = view->rec->flags & TAPIR_STACK_KERNEL;
	uint64_t key = tapir_hash__mix(cache->version,
				       is_kernel ? tapir_host__kernel_of(ref->tgid) : ref->tgid);

	return tapir_hash__mix(tapir_hash__mix(key, (uint64_t)(idx > 0) << 1 | is_kernel),
			       view->frames_va[idx]);
}

static struct tapir_frame_cache_entry *line_of(const struct tapir_frame_cache *cache, uint64_t key)
{
	return cache->pairs[key % TAPIR_FRAME_CACHE_LINES];
}

static const struct tapir_frame_cache_entry *find_frame(const struct tapir_frame_cache *cache,
							uint64_t key, uint64_t time_ns)
{
	const struct tapir_frame_cache_entry *e = line_of(cache, key);

	for (unsigned i = 0; i < 2; i++, e++)
		if (e->key == key && time_ns >= e->from_ns && time_ns < e->until_ns)
			return e;
	return NULL;
}

static void forget_changes(struct tapir_frame_cache *cache)
{
	struct tapir_catalog_changes *changes;

	tapir_vec_for_each (changes, &cache->changes)
		tapir_vec__fini(changes);
	cache->changes.cnt = 0;
	tapir_map__clear(&cache->changes_by_tgid);
}

/* NULL: out of memory. */
static const struct tapir_catalog_changes *
changes_of(struct tapir_frame_cache *cache, const struct tapir_catalog *catalog, uint32_t tgid)
{
	bool is_new = false;
	uint64_t *idx = tapir_map__put(&cache->changes_by_tgid, tgid, &is_new);
	struct tapir_catalog_changes *changes;

	if (!idx || !is_new)
		return idx ? &cache->changes.data[*idx] : NULL;
	changes = tapir_vec__add(&cache->changes);
	if (changes && !tapir_catalog__name_changes(catalog, tgid, changes)) {
		*idx = cache->changes.cnt - 1;
		return changes;
	}
	tapir_map__del(&cache->changes_by_tgid, tgid);
	if (changes) {
		tapir_vec__fini(changes);
		cache->changes.cnt--;
	}
	return NULL;
}

/* Returns the number of changes before (page, time_ns] in the order of pages and times. */
static size_t changes_until(const struct tapir_catalog_changes *changes, uint64_t page,
			    uint64_t time_ns)
{
	size_t low = 0, high = changes->cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct tapir_catalog_change *c = &changes->data[mid];

		if (c->page < page || (c->page == page && c->ns <= time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct tapir_name_span between_changes(const struct tapir_catalog_changes *changes,
					      uint64_t page, uint64_t time_ns)
{
	struct tapir_name_span span = TAPIR_NAME_SPAN_ALL;
	size_t upper = changes_until(changes, page, time_ns);

	if (upper && changes->data[upper - 1].page == page)
		span.from_ns = changes->data[upper - 1].ns;
	if (upper < changes->cnt && changes->data[upper].page == page)
		span.until_ns = changes->data[upper].ns;
	return span;
}

/* Out of memory: for this very moment, so that nothing wrong is remembered. */
static struct tapir_name_span span_of(struct tapir_frame_cache *cache,
				      const struct tapir_catalog *catalog, uint32_t tgid,
				      uint64_t va, uint64_t time_ns)
{
	const struct tapir_catalog_changes *changes = changes_of(cache, catalog, tgid);

	if (!changes)
		return (struct tapir_name_span){time_ns, time_ns + 1};
	return tapir_name_span__both(
		between_changes(changes, va / TAPIR_CHANGE_PAGE_BYTES, time_ns),
		between_changes(changes, TAPIR_CHANGE_ANYWHERE, time_ns));
}

/* False: out of memory. */
static bool renew_frames(struct tapir_frame_cache *cache, const struct tapir_catalog *catalog)
{
	uint64_t version = tapir_catalog__version(catalog);

	if (cache->version != version)
		forget_changes(cache);
	cache->version = version;
	return cache->lines || make_lines(cache);
}

void tapir_frame_cache__expect(struct tapir_frame_cache *cache, const struct tapir_catalog *catalog,
			       const struct tapir_stack_ref *ref,
			       const struct tapir_stack_view *view)
{
	if (!renew_frames(cache, catalog))
		return;
	for (unsigned i = 0; i < view->rec->frame_cnt; i++)
		__builtin_prefetch(line_of(cache, frame_key(cache, ref, view, i)));
}

uint64_t
tapir_frame_cache__number(struct tapir_frame_cache *cache, const struct tapir_catalog *catalog,
			  const struct tapir_stack_ref *ref, const struct tapir_stack_view *view,
			  unsigned idx,
			  uint64_t (*number_of)(void *ctx, const struct tapir_frame *frame),
			  void *ctx, struct tapir_name_span *span)
{
	uint32_t tgid = view->rec->flags & TAPIR_STACK_KERNEL ? tapir_host__kernel_of(ref->tgid)
							      : ref->tgid;
	uint64_t va = view->frames_va[idx], key;
	const struct tapir_frame_cache_entry *known;
	struct tapir_frame_cache_entry *line;
	struct tapir_name_span own;
	struct tapir_frame frame;
	uint64_t number;

	if (!renew_frames(cache, catalog)) { /* nothing is remembered */
		*span = (struct tapir_name_span){ref->time_ns, ref->time_ns + 1};
		frame = tapir_frame__of(catalog, ref->tgid, ref->time_ns, view, idx);
		return number_of(ctx, &frame);
	}
	key = frame_key(cache, ref, view, idx);
	known = find_frame(cache, key, ref->time_ns);
	if (known) {
		*span = tapir_name_span__both(
			*span, (struct tapir_name_span){known->from_ns, known->until_ns});
		return known->number;
	}
	frame = tapir_frame__of(catalog, ref->tgid, ref->time_ns, view, idx);
	number = number_of(ctx, &frame);
	/* The call of a return address is before it, maybe on another page. */
	va &= ~(frame.awaits ? TAPIR_VA_AWAITS : 0);
	own = tapir_name_span__both(span_of(cache, catalog, tgid, va, ref->time_ns),
				    span_of(cache, catalog, tgid, va - (idx > 0), ref->time_ns));
	line = line_of(cache, key);
	line[1] = line[0];
	line[0] = (struct tapir_frame_cache_entry){key, own.from_ns, own.until_ns, number};
	*span = tapir_name_span__both(*span, own);
	return number;
}

void tapir_frame_cache__fini(struct tapir_frame_cache *cache)
{
	forget_changes(cache);
	tapir_vec__fini(&cache->changes);
	tapir_map__fini(&cache->changes_by_tgid);
	free(cache->lines);
	cache->lines = NULL;
	cache->pairs = NULL;
}
