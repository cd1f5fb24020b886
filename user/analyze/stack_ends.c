// SPDX-License-Identifier: GPL-2.0-or-later
/* A stack of a process is looked up once while its names hold: its number is its row's. */
#include "analyze/stack_ends.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/stack_end.h"

/* What is remembered of a stack: one of these, or ROWS + idx of its row. LOST: it has none. */
enum { UNKNOWN, WHOLE, LOST, ROWS };

static uint64_t add_row(struct tapir_stack_ends *ends, enum tapir_stack_end end,
			struct tapir_sv module)
{
	struct tapir_stack_end_row row = {.end = (uint8_t)end};

	if (ends->rows.cnt < TAPIR_STACK_ENDS_MAX)
		row.module = strndup(module.data ? module.data : "", module.len);
	if (row.module && tapir_vec__push(&ends->rows, row))
		return ROWS + ends->rows.cnt - 1;
	ends->failed |= ends->rows.cnt < TAPIR_STACK_ENDS_MAX;
	free(row.module);
	return LOST;
}

static uint64_t fact_of(struct tapir_stack_ends *ends, const struct tapir_catalog *catalog,
			const struct tapir_stack_ref *ref)
{
	const struct tapir_rec_stack *stack = tapir_catalog__stack(catalog, ref->stack_id);
	enum tapir_stack_end end =
		stack ? tapir_stack_end__of(catalog, ref->tgid, ref->time_ns, stack)
		      : TAPIR_STACK_END_UNKNOWN;
	struct tapir_sv module;
	bool is_new = false;
	uint64_t *fact, key;

	if (!tapir_stack_end__lost_callers(end))
		return end == TAPIR_STACK_END_WHOLE ? WHOLE : UNKNOWN;
	module = tapir_stack_end__module(catalog, ref->tgid, ref->time_ns, stack);
	key = tapir_hash__bytes(end, module.data, module.len);
	if (ends->row_by_name.cnt >= TAPIR_STACK_ENDS_MAX) {
		fact = tapir_map__get(&ends->row_by_name, key);
		return fact ? *fact : LOST;
	}
	fact = tapir_map__put(&ends->row_by_name, key, &is_new);
	ends->failed |= !fact;
	if (fact && is_new)
		*fact = add_row(ends, end, module);
	return fact ? *fact : LOST;
}

void tapir_stack_ends__add(struct tapir_stack_ends *ends, const struct tapir_catalog *catalog,
			   const struct tapir_rec *rec, enum tapir_family_id family)
{
	const struct tapir_stack_ref ref = {.tgid = tapir_rec__tgid(rec, 0),
					    .time_ns = rec->time_ns,
					    .stack_id = tapir_rec__stack_id(rec)};
	const struct tapir_stack_memo_entry *known;
	uint64_t fact;

	if (!ref.stack_id)
		return;
	(void)tapir_stack_memo__renew(&ends->memo, catalog);
	known = tapir_stack_memo__find(&ends->memo, &ref);
	fact = known ? known->value : fact_of(ends, catalog, &ref);
	if (!known && fact != UNKNOWN)
		ends->failed |=
			!tapir_stack_memo__add(&ends->memo, &ref, TAPIR_NAME_SPAN_ALL, fact);
	ends->known[family] += fact != UNKNOWN;
	ends->whole[family] += fact == WHOLE;
	if (fact >= ROWS)
		ends->rows.data[fact - ROWS].cnt[family]++;
}

uint64_t tapir_stack_ends__known(const struct tapir_stack_ends *ends)
{
	return tapir_captured__sum(ends->known);
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

void tapir_stack_ends__sort(struct tapir_stack_ends *ends)
{
	if (ends->rows.cnt)
		qsort(ends->rows.data, ends->rows.cnt, sizeof(*ends->rows.data), by_count);
}

void tapir_stack_ends__fini(struct tapir_stack_ends *ends)
{
	for (size_t i = 0; i < ends->rows.cnt; i++)
		free(ends->rows.data[i].module);
	tapir_vec__fini(&ends->rows);
	tapir_map__fini(&ends->row_by_name);
	tapir_stack_memo__fini(&ends->memo);
}
