// SPDX-License-Identifier: GPL-2.0-or-later
/* The time is part of the key as the number of changes before it. */
#include "symbol/stack_memo.h"

static void forget(struct tapir_stack_memo *memo)
{
	struct tapir_catalog_times *times;

	tapir_vec_for_each (times, &memo->times)
		tapir_vec__fini(times);
	memo->times.cnt = 0;
	tapir_map__clear(&memo->times_by_tgid);
	tapir_map__clear(&memo->numbers);
	memo->last.is_set = false;
}

bool tapir_stack_memo__renew(struct tapir_stack_memo *memo, const struct tapir_catalog *catalog)
{
	uint64_t version = tapir_catalog__version(catalog);

	if (memo->version == version && memo->numbers.cnt < TAPIR_STACK_MEMO_MAX &&
	    memo->times.cnt < TAPIR_STACK_MEMO_MAX)
		return false;
	forget(memo);
	memo->version = version;
	return true;
}

/* When the names of this process change. NULL: out of memory. */
static const struct tapir_catalog_times *
times_of(struct tapir_stack_memo *memo, const struct tapir_catalog *catalog, uint32_t tgid)
{
	bool is_new = false;
	uint64_t *idx = tapir_map__put(&memo->times_by_tgid, tgid, &is_new);
	struct tapir_catalog_times *times;

	if (!idx || !is_new)
		return idx ? &memo->times.data[*idx] : NULL;
	times = tapir_vec__add(&memo->times);
	if (!times || tapir_catalog__name_changes(catalog, tgid, times)) {
		tapir_map__del(&memo->times_by_tgid, tgid);
		if (times) {
			tapir_vec__fini(times);
			memo->times.cnt--;
		}
		return NULL;
	}
	*idx = memo->times.cnt - 1;
	return times;
}

static bool find_epoch(struct tapir_stack_memo *memo, const struct tapir_catalog *catalog,
		       uint32_t tgid, uint64_t time_ns)
{
	const struct tapir_catalog_times *times = times_of(memo, catalog, tgid);
	size_t behind;

	if (!times)
		return false;
	behind = tapir_sorted__behind(times->data, times->cnt, ns, time_ns);
	memo->last.tgid = tgid;
	memo->last.is_set = true;
	memo->last.epoch = behind;
	memo->last.from_ns = behind ? times->data[behind - 1].ns : 0;
	memo->last.until_ns = behind < times->cnt ? times->data[behind].ns : UINT64_MAX;
	return true;
}

uint64_t *tapir_stack_memo__at(struct tapir_stack_memo *memo, const struct tapir_catalog *catalog,
			       const struct tapir_stack_ref *ref, bool *is_new)
{
	bool is_last = memo->last.is_set && memo->last.tgid == ref->tgid &&
		       ref->time_ns >= memo->last.from_ns && ref->time_ns < memo->last.until_ns;
	uint64_t key;

	*is_new = false;
	if (!is_last && !find_epoch(memo, catalog, ref->tgid, ref->time_ns))
		return NULL;
	/* Small numbers first, each mixed before the next: 0xabc ^ 1 and 0xabd ^ 0 are one key. */
	key = tapir_hash__mix(tapir_hash__mix(5, ref->salt), ref->tgid);
	key = tapir_hash__mix(tapir_hash__mix(key, memo->last.epoch), ref->stack_id);
	return tapir_map__put(&memo->numbers, tapir_hash__mix(key, ref->kstack_id), is_new);
}

void tapir_stack_memo__fini(struct tapir_stack_memo *memo)
{
	forget(memo);
	tapir_vec__fini(&memo->times);
	tapir_map__fini(&memo->times_by_tgid);
	tapir_map__fini(&memo->numbers);
}
