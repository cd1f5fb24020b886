// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stack of a process is judged once while its names hold; then its number in the cache is its
 * row's, and counting a sample is a look-up.
 */
#include "symbol/stack_ends.h"

#include <stdlib.h>
#include <string.h>

#include "spec/runtime_db/lore.h"
#include "symbol/process_runtime.h"
#include "symbol/stack_end.h"

/*
 * The cached value of a stack: one of these, or ROWS + idx of its row. LOST: it has none. Above
 * that, in 14 bits each: idx + 1 of the gap that is a file's, and of the one that is a runtime's.
 */
enum { UNKNOWN, WHOLE, BY_FP, LOST, ROWS };
#define END_OF(fact)	  ((fact)&UINT32_MAX)
#define FILE_GAP_SHIFT	  32
#define RUNTIME_GAP_SHIFT 48
#define GAP_MASK	  0x3fffu
#define IS_SEARCHED	  (1ull << 46)
#define LACKS_METHODS	  (1ull << 63)

#define SEARCHED_MAX	  8192 /* different stacks: of more of them, the first are enough */

/* The runtime of the process, as the address of its lore. */
static const struct tapir_lore *runtime_of(struct tapir_stack_ends *ends,
					   const struct tapir_catalog *catalog,
					   const struct tapir_stack_ref *ref)
{
	bool is_new = false;
	uint64_t *lore = tapir_map__put(&ends->runtime_by_tgid, ref->tgid, &is_new);

	if (!lore) {
		ends->failed = true;
		return NULL;
	}
	if (is_new)
		*lore = (uint64_t)(uintptr_t)tapir_process_runtime__of(catalog, ref->tgid,
								       ref->time_ns);
	return (const struct tapir_lore *)(uintptr_t)*lore;
}

static uint64_t count_stack_end(struct tapir_stack_ends *ends, enum tapir_stack_end end,
				struct tapir_sv module, const struct tapir_lore *runtime)
{
	struct tapir_stack_end_row row = {.end = (uint8_t)end, .runtime = runtime};

	if (ends->rows.cnt < TAPIR_STACK_ENDS_MAX)
		row.module = strndup(module.data ? module.data : "", module.len);
	if (row.module && tapir_vec__push(&ends->rows, row))
		return ROWS + ends->rows.cnt - 1;
	ends->failed |= ends->rows.cnt < TAPIR_STACK_ENDS_MAX;
	free(row.module);
	return LOST;
}

static uint64_t end_fact(struct tapir_stack_ends *ends, const struct tapir_catalog *catalog,
			 const struct tapir_stack_ref *ref, const struct tapir_rec_stack *stack)
{
	enum tapir_stack_end end =
		stack ? tapir_stack_end__of(catalog, ref->tgid, ref->time_ns, stack)
		      : TAPIR_STACK_END_UNKNOWN;
	const struct tapir_lore *runtime;
	struct tapir_sv module;
	bool is_new = false;
	uint64_t *fact, key;

	if (!tapir_stack_end__lost_callers(end))
		return end == TAPIR_STACK_END_WHOLE	 ? WHOLE
		       : end == TAPIR_STACK_END_FP_START ? BY_FP
							 : UNKNOWN;
	module = tapir_stack_end__module(catalog, ref->tgid, ref->time_ns, stack);
	runtime = runtime_of(ends, catalog, ref);
	key = tapir_hash__bytes(tapir_hash__mix(end, (uint64_t)(uintptr_t)runtime), module.data,
				module.len);
	/*
	 * Rows that are there already still count; only new ones are added up as one that has no
	 * name.
	 */
	if (ends->row_by_name.cnt >= TAPIR_STACK_ENDS_MAX) {
		fact = tapir_map__get(&ends->row_by_name, key);
		return fact ? *fact : LOST;
	}
	fact = tapir_map__put(&ends->row_by_name, key, &is_new);
	ends->failed |= !fact;
	if (fact && is_new)
		*fact = count_stack_end(ends, end, module, runtime);
	return fact ? *fact : LOST;
}

/* The gap's idx + 1; 0: there is no room for it. path: or a runtime's, with runtime. */
static uint64_t gap_of(struct tapir_stack_ends *ends, struct tapir_sv path,
		       const struct tapir_lore *runtime)
{
	struct tapir_name_gap_row row = {.runtime = runtime};
	uint64_t key = tapir_hash__bytes((uint64_t)(uintptr_t)runtime, path.data, path.len);
	uint64_t *idx = tapir_map__get(&ends->gap_by_name, key);
	bool is_new;

	if (idx || ends->gaps.cnt >= TAPIR_STACK_ENDS_MAX)
		return idx ? *idx : 0;
	idx = tapir_map__put(&ends->gap_by_name, key, &is_new);
	row.path = idx && path.len ? strndup(path.data, path.len) : NULL;
	if (!idx || (path.len && !row.path) || !tapir_vec__push(&ends->gaps, row)) {
		free(row.path);
		ends->failed = true;
		return 0;
	}
	return *idx = ends->gaps.cnt;
}

static uint64_t gap_fact(struct tapir_stack_ends *ends, const struct tapir_catalog *catalog,
			 const struct tapir_stack_ref *ref, const struct tapir_rec_stack *stack)
{
	const struct tapir_lore *runtime;
	struct tapir_missing_names missing;
	uint64_t fact = IS_SEARCHED;

	if (!stack || ends->search_cnt >= SEARCHED_MAX)
		return 0;
	ends->search_cnt++;
	runtime = runtime_of(ends, catalog, ref);
	missing = tapir_missing_names__of(catalog, ref->tgid, ref->time_ns, stack, runtime);
	if (missing.path.len)
		fact |= gap_of(ends, missing.path, NULL) << FILE_GAP_SHIFT;
	if (missing.runs_methods)
		fact |= gap_of(ends, (struct tapir_sv){}, runtime) << RUNTIME_GAP_SHIFT;
	return fact | (missing.of_methods ? LACKS_METHODS : 0);
}

static uint64_t fact_of(struct tapir_stack_ends *ends, const struct tapir_catalog *catalog,
			const struct tapir_stack_ref *ref, bool *is_described)
{
	const struct tapir_rec_stack *stack = tapir_catalog__stack(catalog, ref->stack_id);

	*is_described = stack != NULL;
	return end_fact(ends, catalog, ref, stack) | gap_fact(ends, catalog, ref, stack);
}

static void count_gaps(struct tapir_stack_ends *ends, uint64_t fact, uint64_t cnt)
{
	uint64_t file = fact >> FILE_GAP_SHIFT & GAP_MASK;
	uint64_t runtime = fact >> RUNTIME_GAP_SHIFT & GAP_MASK;

	ends->searched += fact & IS_SEARCHED ? cnt : 0;
	if (file)
		ends->gaps.data[file - 1].cnt += cnt;
	if (runtime) {
		ends->gaps.data[runtime - 1].of += cnt;
		ends->gaps.data[runtime - 1].cnt += fact & LACKS_METHODS ? cnt : 0;
	}
}

/* Takes the fact from the memo, if it is there. */
static struct tapir_stack_end_fact find_fact(struct tapir_stack_ends *ends,
					     const struct tapir_catalog *catalog,
					     const struct tapir_stack_ref *ref)
{
	const struct tapir_stack_ref user = {
		.tgid = ref->tgid, .time_ns = ref->time_ns, .stack_id = ref->stack_id};
	const struct tapir_stack_cache_entry *known = tapir_stack_cache__find(&ends->memo, &user);
	bool is_described = false;
	uint64_t fact = known ? known->value : fact_of(ends, catalog, &user, &is_described);

	if (!known && is_described)
		ends->failed |=
			!tapir_stack_cache__add(&ends->memo, &user, TAPIR_NAME_SPAN_ALL, fact);
	return (struct tapir_stack_end_fact){fact, known || is_described ? ends->era : 0};
}

void tapir_stack_ends__look_up(struct tapir_stack_ends *ends, const struct tapir_catalog *catalog,
			       const struct tapir_stack_ref *ref,
			       struct tapir_stack_end_fact *known)
{
	if (tapir_stack_cache__renew(&ends->memo, catalog) || !ends->era) {
		tapir_map__clear(&ends->runtime_by_tgid);
		ends->era++;
	}
	if (known->era != ends->era)
		*known = find_fact(ends, catalog, ref);
}

void tapir_stack_ends__count(struct tapir_stack_ends *ends, enum tapir_family_id family,
			     const struct tapir_stack_end_fact *known, uint64_t cnt)
{
	uint64_t end = END_OF(known->fact);

	count_gaps(ends, known->fact, cnt);
	ends->known[family] += end != UNKNOWN ? cnt : 0;
	ends->whole[family] += end == WHOLE ? cnt : 0;
	ends->by_fp[family] += end == BY_FP ? cnt : 0;
	if (end >= ROWS)
		ends->rows.data[end - ROWS].cnt[family] += cnt;
}

void tapir_stack_ends__add(struct tapir_stack_ends *ends, const struct tapir_catalog *catalog,
			   const struct tapir_rec *rec, enum tapir_family_id family)
{
	const struct tapir_stack_ref ref = {.tgid = tapir_rec__tgid(rec, 0),
					    .time_ns = rec->time_ns,
					    .stack_id = tapir_rec__stack_id(rec)};
	struct tapir_stack_end_fact known = {};

	if (!ref.stack_id)
		return;
	tapir_stack_ends__look_up(ends, catalog, &ref, &known);
	tapir_stack_ends__count(ends, family, &known, 1);
}

uint64_t tapir_stack_ends__known(const struct tapir_stack_ends *ends)
{
	return tapir_captured__sum(ends->known);
}

uint64_t tapir_stack_ends__lost(const struct tapir_stack_ends *ends, enum tapir_family_id family)
{
	return ends->known[family] - ends->whole[family] - ends->by_fp[family];
}

double tapir_stack_ends__lost_percent(const struct tapir_stack_ends *ends,
				      enum tapir_family_id family)
{
	if (ends->known[family] < TAPIR_STACKS_MIN)
		return 0;
	return 100.0 * (double)tapir_stack_ends__lost(ends, family) / (double)ends->known[family];
}

static uint64_t sum(const struct tapir_stack_end_row *row)
{
	return tapir_captured__sum(row->cnt);
}

static int by_count(const void *a, const void *b)
{
	const struct tapir_stack_end_row *x = a, *y = b;

	return sum(x) != sum(y) ? (sum(x) < sum(y) ? 1 : -1) : strcmp(x->module, y->module);
}

static int by_gap(const void *a, const void *b)
{
	const struct tapir_name_gap_row *x = a, *y = b;

	return (x->cnt < y->cnt) - (x->cnt > y->cnt);
}

void tapir_stack_ends__sort(struct tapir_stack_ends *ends)
{
	if (ends->gaps.cnt)
		qsort(ends->gaps.data, ends->gaps.cnt, sizeof(*ends->gaps.data), by_gap);
	if (ends->rows.cnt)
		qsort(ends->rows.data, ends->rows.cnt, sizeof(*ends->rows.data), by_count);
}

void tapir_stack_ends__fini(struct tapir_stack_ends *ends)
{
	for (size_t i = 0; i < ends->rows.cnt; i++)
		free(ends->rows.data[i].module);
	for (size_t i = 0; i < ends->gaps.cnt; i++)
		free(ends->gaps.data[i].path);
	tapir_vec__fini(&ends->rows);
	tapir_vec__fini(&ends->gaps);
	tapir_map__fini(&ends->gap_by_name);
	tapir_map__fini(&ends->runtime_by_tgid);
	tapir_map__fini(&ends->row_by_name);
	tapir_stack_cache__fini(&ends->memo);
}
