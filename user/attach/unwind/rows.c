// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions come in the order of the section, rows are needed in the order of the file: those of
 * each function are made, all are sorted by function, gaps are put between functions, and equal
 * neighbors become one row.
 */
#include "attach/unwind/rows.h"
#include "base/order.h"

#include <errno.h>
#include <stdbool.h>

#include "elf/image.h"
#include "attach/unwind/eh_source.h"
#include "attach/unwind/file_code.h"
#include "attach/unwind/rule.h"

/* Code between functions that only aligns the next one: never more than that. */
#define MAX_PADDING 63u

struct function {
	uint32_t start, end; /* file offsets */
	size_t first_row, row_cnt;
};

struct collector {
	struct tapir_unwind_rows *out;
	const struct tapir_eh_section *section;
	struct tapir_file_code *code;
	const Elf64_Phdr *segment; /* of the current function */
	struct tapir_vec(struct function) functions;
	struct tapir_vec(struct tapir_unwind_row) rows; /* by function, each by pc */
	int err;
};

/* ---- functions ------------------------------------------------------------------------------ */

static uint64_t segment_end(const Elf64_Phdr *segment)
{
	return segment->p_offset + segment->p_filesz;
}

/* The executable segment with va; often the one of the function before. */
static bool find_segment(struct collector *c, struct tapir_elf *elf, uint64_t va)
{
	const Elf64_Phdr *segment = c->segment;

	if (segment && va >= segment->p_vaddr && va - segment->p_vaddr < segment->p_filesz)
		return true;
	segment = tapir_elf__load_at(elf, va);
	if (!segment || !(segment->p_flags & PF_X) || segment_end(segment) > UINT32_MAX)
		return false;
	c->segment = segment;
	return true;
}

static uint32_t pc_of(const struct collector *c, uint64_t va)
{
	uint64_t pc = va - c->segment->p_vaddr + c->segment->p_offset;
	uint64_t end = segment_end(c->segment);

	return (uint32_t)(pc < end ? pc : end);
}

static void on_row(void *ctx, uint64_t from_va, uint64_t until_va,
		   const struct tapir_eh_state *state)
{
	struct collector *c = ctx;
	struct tapir_unwind_row row = tapir_unwind_rule__row(c->section, state);

	(void)until_va;
	row.pc = pc_of(c, from_va);
	c->out->unsupported_cnt += row.rule == TAPIR_UNWIND_UNSUPPORTED;
	c->out->lost_fp_cnt += row.fp == TAPIR_UNWIND_FP_LOST;
	if (c->rows.cnt == TAPIR_UNWIND_MAX_ROWS)
		c->err = -EFBIG;
	else if (!tapir_vec__push(&c->rows, row))
		c->err = -ENOMEM;
}

static void add_eh_function(struct collector *c, struct tapir_elf *elf,
			    const struct tapir_eh_common *common,
			    const struct tapir_eh_function *described)
{
	struct function f = {.first_row = c->rows.cnt};

	if (!find_segment(c, elf, described->start_va)) {
		c->out->broken_cnt++;
		return;
	}
	f.start = pc_of(c, described->start_va);
	f.end = pc_of(c, described->end_va);
	if (!tapir_eh__each_row(c->section, common, described, on_row, c)) {
		c->rows.cnt = f.first_row;
		c->out->broken_cnt++;
		return;
	}
	f.row_cnt = c->rows.cnt - f.first_row;
	if (!c->err && !tapir_vec__push(&c->functions, f))
		c->err = -ENOMEM;
}

static void collect_rows(struct collector *c, struct tapir_elf *elf)
{
	struct tapir_eh_function described;
	struct tapir_eh_iter it;

	tapir_eh__begin(&it, c->section);
	while (!c->err && tapir_eh__next(&it, &described))
		add_eh_function(c, elf, &it.common, &described);
	c->out->broken_cnt += it.broken_cnt;
}

/* ---- one list ------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return tapir_order__up(x->start, y->start) ?: tapir_order__up(x->first_row, y->first_row);
}

static bool is_same_row(const struct tapir_unwind_row *a, const struct tapir_unwind_row *b)
{
	return a->cfa == b->cfa && a->rule == b->rule && a->fp == b->fp;
}

static bool add_unwind_row(struct tapir_unwind_rows *out, struct tapir_unwind_row row)
{
	struct tapir_unwind_row *last = out->vec.cnt ? &out->vec.data[out->vec.cnt - 1] : NULL;

	if (last && last->pc == row.pc) {
		*last = row;
		return true;
	}
	return (last && is_same_row(last, &row)) || tapir_vec__push(&out->vec, row);
}

/* No code, but what aligns the function at start: a row less. */
static bool is_padding(const struct collector *c, uint32_t end, uint32_t start)
{
	uint32_t align = start & -start;

	return start - end <= MAX_PADDING && start - end < align &&
	       tapir_file_code__is_padding(c->code, end, start);
}

/* Functions of an honest file do not overlap; of two that do, the later one holds from its start.
 */
static bool merge_rows(struct collector *c)
{
	uint32_t end = 0;

	for (size_t i = 0; i < c->functions.cnt; i++) {
		const struct function *f = &c->functions.data[i];
		uint32_t next = i + 1 < c->functions.cnt ? f[1].start : UINT32_MAX;
		uint32_t until = f->end < next ? f->end : next;

		if (f->start >= until)
			continue;
		if (i && f->start > end && !is_padding(c, end, f->start) &&
		    !add_unwind_row(c->out, (struct tapir_unwind_row){.pc = end}))
			return false;
		for (size_t j = 0; j < f->row_cnt; j++)
			if (c->rows.data[f->first_row + j].pc < until &&
			    !add_unwind_row(c->out, c->rows.data[f->first_row + j]))
				return false;
		c->out->function_cnt++;
		end = until;
	}
	return add_unwind_row(c->out, (struct tapir_unwind_row){.pc = end});
}

static int make_rows(struct collector *c, struct tapir_elf *elf)
{
	collect_rows(c, elf);
	if (c->err)
		return c->err;
	if (c->functions.cnt)
		qsort(c->functions.data, c->functions.cnt, sizeof(*c->functions.data), by_start);
	if (!add_unwind_row(c->out, (struct tapir_unwind_row){}) ||
	    (c->functions.cnt && !merge_rows(c)))
		return -ENOMEM;
	return 0;
}

int tapir_unwind_rows__describe(struct tapir_elf *elf, struct tapir_file_code *code,
				struct tapir_unwind_rows *out)
{
	struct tapir_eh_section section = {};
	struct collector c = {.out = out, .section = &section, .code = code};
	int err = tapir_eh_source__find(elf, &section);

	if (err && err != -ENOENT)
		return err;
	if (tapir_elf__machine(elf) != EM_X86_64)
		return -ENOENT;
	err = make_rows(&c, elf);
	tapir_vec__fini(&c.functions);
	tapir_vec__fini(&c.rows);
	return err;
}

void tapir_unwind_rows__fini(struct tapir_unwind_rows *rows)
{
	tapir_vec__fini(&rows->vec);
}

/* ---- later additions ------------------------------------------------------------------------ */

/* Adds the rows of `under` that lie in [from, until), which is a gap. */
static bool fill_gap(struct tapir_unwind_rows *out, const struct tapir_unwind_row *under,
		     size_t cnt, uint32_t from, uint64_t until)
{
	size_t at = tapir_sorted__upper_bound(under, cnt, pc, from);
	struct tapir_unwind_row row = {.pc = from};

	if (at) {
		row = under[at - 1];
		row.pc = from;
	}
	if (!add_unwind_row(out, row))
		return false;
	for (; at < cnt && under[at].pc < until; at++)
		if (!add_unwind_row(out, under[at]))
			return false;
	return true;
}

/* Replaces the rows by those that were made; not, if memory ran out. */
static int take_rows(struct tapir_unwind_rows *rows, struct tapir_unwind_rows *made, bool ok)
{
	if (!ok) {
		tapir_vec__fini(&made->vec);
		return -ENOMEM;
	}
	tapir_vec__fini(&rows->vec);
	rows->vec.data = made->vec.data;
	rows->vec.cnt = made->vec.cnt;
	rows->vec.cap = made->vec.cap;
	return 0;
}

int tapir_unwind_rows__underlay(struct tapir_unwind_rows *rows,
				const struct tapir_unwind_row *under, size_t cnt)
{
	struct tapir_unwind_rows merged = {};
	bool ok = true;

	for (size_t i = 0; ok && i < rows->vec.cnt; i++) {
		const struct tapir_unwind_row *row = &rows->vec.data[i];
		uint64_t until = i + 1 < rows->vec.cnt ? row[1].pc : UINT64_MAX;

		ok = row->rule == TAPIR_UNWIND_GAP ? fill_gap(&merged, under, cnt, row->pc, until)
						   : add_unwind_row(&merged, *row);
	}
	return take_rows(rows, &merged, ok);
}

int tapir_unwind_rows__fill(struct tapir_unwind_rows *rows, uint32_t from, uint32_t until,
			    struct tapir_unwind_row row)
{
	struct tapir_unwind_row under[] = {row, {.pc = until, .rule = TAPIR_UNWIND_GAP}};

	under[0].pc = from;
	return from < until ? tapir_unwind_rows__underlay(rows, under, 2) : 0;
}

int tapir_unwind_rows__replace(struct tapir_unwind_rows *rows, uint32_t from, uint32_t until,
			       struct tapir_unwind_row row)
{
	const struct tapir_unwind_row *old = rows->vec.data;
	size_t before = tapir_sorted__upper_bound(old, rows->vec.cnt, pc, from - 1);
	size_t after = tapir_sorted__upper_bound(old, rows->vec.cnt, pc, until);
	struct tapir_unwind_row next = {.pc = until};
	struct tapir_unwind_rows merged = {};
	bool ok = true;

	if (!from || from >= until)
		return 0;
	if (after)
		next = old[after - 1];
	next.pc = until;
	row.pc = from;
	for (size_t i = 0; ok && i < before; i++)
		ok = add_unwind_row(&merged, old[i]);
	ok = ok && add_unwind_row(&merged, row) && add_unwind_row(&merged, next);
	for (size_t i = after; ok && i < rows->vec.cnt; i++)
		ok = add_unwind_row(&merged, old[i]);
	return take_rows(rows, &merged, ok);
}
