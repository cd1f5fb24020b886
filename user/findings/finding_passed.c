// SPDX-License-Identifier: GPL-2.0-or-later
/* Who waits where is known once all have been seen: then it is decided what the waits were for. */
#include "findings/finding_passed.h"

#include <inttypes.h>

#include "analyze/view.h"
#include "findings/finding_impl.h"
#include "lore/lore.h"

#define MAX_ROWS 65536u

static uint64_t key_of(uint32_t tgid, uint32_t name, uint32_t tid)
{
	return tapir_hash__mix(tapir_hash__mix(tapir_hash__mix(13, tgid), name), tid);
}

static struct tapir_passed_row *row_of(struct tapir_passed *p, const struct tapir_passed_row *like)
{
	uint64_t key = key_of(like->tgid, like->name, like->waker_tid);
	uint64_t *idx = tapir_map__get(&p->by_key, key);

	if (idx)
		return &p->rows.data[*idx];
	if (p->rows.cnt == MAX_ROWS || !tapir_vec__push(&p->rows, *like))
		return NULL;
	idx = tapir_map__put(&p->by_key, key, NULL);
	if (idx)
		*idx = p->rows.cnt - 1;
	return &p->rows.data[p->rows.cnt - 1];
}

bool tapir_finding_passed__wait(struct tapir_finding *f, const struct tapir_wait *w, bool is_open)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	const struct tapir_lore_wait *wait =
		w->state ? tapir_wait_reasons__find(&f->reasons, tree, w->node) : NULL;
	struct tapir_passed_row like = {.tgid = w->thread->tgid, .waker_tid = w->waker_tid};
	struct tapir_passed_row *row;

	if (!wait || !wait->is_passed)
		return false;
	like.reason = wait->reason;
	like.name = tapir_own_code__of(&f->own, tree, w->node);
	if (like.name == TAPIR_OWN_CODE_NONE)
		return false;
	if (f->passed.waiters.cnt < MAX_ROWS)
		tapir_map__put(&f->passed.waiters, key_of(like.tgid, like.name, w->thread->tid),
			       NULL);
	row = is_open || !w->waker_tid ? NULL : row_of(&f->passed, &like);
	if (row) {
		row->ns += w->wake_ns - w->from_ns;
		row->cnt++;
	}
	return true;
}

void tapir_finding_passed__list(struct tapir_finding *f, struct tapir_found_list *list)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl), cnt = 0;
	struct tapir_weights where = {};
	const struct tapir_passed_row *row;
	const char *reason = NULL;
	struct tapir_str text = {}, evidence = {};
	char waited[TAPIR_NS_TEXT_BYTES];
	double threads;

	tapir_vec_for_each (row, &f->passed.rows) {
		if (!tapir_map__get(&f->passed.waiters,
				    key_of(row->tgid, row->name, row->waker_tid)))
			continue;
		tapir_weights__add(&where, row->name, row->ns);
		cnt += row->cnt;
		reason = row->reason;
	}
	threads = span_ns ? (double)where.sum / (double)span_ns : 0;
	if (reason && tapir_found__counts(TAPIR_FOUND_LOCKS, threads)) {
		tapir_str__addf(&text, "threads waited %s for a %s that they pass to each other",
				tapir_ns__text(where.sum, waited), reason);
		tapir_finding__add_most(f, &where, " in ", &text);
		tapir_str__addf(&evidence, "%" PRIu64 " waits", cnt);
		tapir_found_list__add(list, TAPIR_FOUND_LOCKS, threads, reason, &text, &evidence,
				      "offcpu");
	}
	tapir_weights__fini(&where);
}

void tapir_finding_passed__fini(struct tapir_finding *f)
{
	tapir_vec__fini(&f->passed.rows);
	tapir_map__fini(&f->passed.by_key);
	tapir_map__fini(&f->passed.waiters);
}
