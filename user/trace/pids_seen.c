// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A count of records for each process and thread. If one that was asked for has none, the busiest
 * are named in the error: most often a wrong number was typed.
 */
#include "trace/pids_seen.h"

#include <errno.h>
#include <stdlib.h>

#include "base/diag.h"
#include "base/order.h"
#include "base/str.h"
#include "trace/family.h"

#define NAMED_MAX 8

struct busy {
	uint32_t tgid;
	uint64_t cnt;
};

static void count_id(struct tapir_map *cnt_by_id, uint32_t id)
{
	uint64_t *cnt = id ? tapir_map__put(cnt_by_id, id, NULL) : NULL;

	if (cnt)
		++*cnt;
}

static bool are_requested(const struct tapir_pids *ids)
{
	return ids && ids->cnt;
}

void tapir_pids_seen__add(struct tapir_pids_seen *seen, const struct tapir_rec *rec)
{
	for (int which = 0; which < 2; which++) {
		if (are_requested(seen->requested))
			count_id(&seen->cnt_by_tgid, tapir_rec__tgid(rec, which));
		if (are_requested(seen->requested_tids))
			count_id(&seen->cnt_by_tid, tapir_rec__tid(rec, which));
	}
}

static int by_cnt(const void *left, const void *right)
{
	const struct busy *l = left, *r = right;

	return tapir_order__down(l->cnt, r->cnt) ?: tapir_order__up(l->tgid, r->tgid);
}

static size_t list_busy(const struct tapir_pids_seen *seen, struct busy **out)
{
	struct busy *all = calloc(seen->cnt_by_tgid.cnt + 1, sizeof(*all));
	size_t cnt = 0;

	*out = all;
	for (size_t i = 0; all && i < seen->cnt_by_tgid.cap; i++) {
		const struct tapir_map_slot *slot = &seen->cnt_by_tgid.slots[i];

		if (slot->used)
			all[cnt++] = (struct busy){(uint32_t)slot->key, slot->value};
	}
	if (cnt)
		qsort(all, cnt, sizeof(*all), by_cnt);
	return cnt;
}

/* "22187 (Shop), 22190 (java) and 4 more" */
static void add_others(const struct tapir_pids_seen *seen, const struct tapir_catalog *catalog,
		       struct tapir_str *out)
{
	struct busy *all;
	size_t cnt = list_busy(seen, &all), named_cnt = cnt < NAMED_MAX ? cnt : NAMED_MAX;

	for (size_t i = 0; i < named_cnt; i++) {
		const struct tapir_rec_process *rec =
			tapir_catalog__process(catalog, all[i].tgid, UINT64_MAX);
		struct tapir_process_view view;

		tapir_str__addf(out, "%s%u", i ? ", " : "", all[i].tgid);
		if (!rec)
			continue;
		tapir_process_view__of(&rec->h, &view);
		tapir_str__adds(out, " (");
		tapir_str__add_printable(out, view.comm.data, view.comm.len);
		tapir_str__addc(out, ')');
	}
	if (cnt > named_cnt)
		tapir_str__addf(out, " and %zu more", cnt - named_cnt);
	if (!cnt)
		tapir_str__adds(out, "no process");
	free(all);
}

static int check_threads(const struct tapir_pids_seen *seen, const char *path)
{
	const uint32_t *tid;

	if (are_requested(seen->requested_tids))
		tapir_vec_for_each (tid, seen->requested_tids)
			if (!tapir_map__get(&seen->cnt_by_tid, *tid))
				return tapir_diag__fail(
					-ESRCH,
					"thread %u is not in %s: 'tapir report --all' lists its threads",
					*tid, path);
	return 0;
}

int tapir_pids_seen__check(const struct tapir_pids_seen *seen, const struct tapir_catalog *catalog,
			   const char *path)
{
	struct tapir_str others = {};
	const uint32_t *pid;
	int err = 0;

	tapir_vec_for_each (pid, seen->requested) {
		if (tapir_map__get(&seen->cnt_by_tgid, *pid))
			continue;
		add_others(seen, catalog, &others);
		err = tapir_diag__fail(-ESRCH, "process %u is not in %s, which has %s", *pid, path,
				       others.data ? others.data : "");
		break;
	}
	tapir_str__fini(&others);
	return err ? err : check_threads(seen, path);
}

void tapir_pids_seen__fini(struct tapir_pids_seen *seen)
{
	tapir_map__fini(&seen->cnt_by_tgid);
	tapir_map__fini(&seen->cnt_by_tid);
}
