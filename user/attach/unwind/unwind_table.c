// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packs rows into blocks so that all rows of a granule of code are in one block: the BPF walker
 * then reads the index and one block. The second half is the way back: a table that comes from the
 * cache is judged before it is used, and rows are looked up in it as the kernel does.
 */
#include "attach/unwind/unwind_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/image.h"
#include "attach/unwind/r2r_rows.h"
#include "attach/unwind/rows.h"
#include "attach/unwind/undescribed.h"

#define GRANULE_BYTES (1u << TAPIR_UNWIND_GRANULE_SHIFT)
#define PAGE_BYTES    4096ull

static uint32_t index_blocks(uint32_t granule_cnt)
{
	return (granule_cnt + TAPIR_UNWIND_BLOCK_WORDS - 1) / TAPIR_UNWIND_BLOCK_WORDS;
}

/* ---- packing -------------------------------------------------------------------------------- */

struct packer {
	const struct tapir_unwind_row *rows;
	size_t row_cnt;
	size_t from;			   /* the first row of the current block */
	size_t until;			   /* after its last one */
	struct tapir_unwind_block *blocks; /* NULL: they are only counted */
	uint32_t index_cnt, block_cnt;
};

static void end_block(struct packer *p)
{
	struct tapir_unwind_row *rows;
	size_t cnt = p->until - p->from;

	if (p->blocks) {
		rows = p->blocks[p->block_cnt].rows;
		memset(rows, 0, sizeof(p->blocks->rows));
		memcpy(rows, p->rows + p->from, cnt * sizeof(*rows));
		for (size_t i = cnt; i < TAPIR_UNWIND_BLOCK_ROWS; i++)
			rows[i].pc = UINT32_MAX;
	}
	p->block_cnt++;
}

static uint32_t halvings(size_t cnt)
{
	uint32_t steps = 0;

	while ((size_t)1 << steps < cnt)
		steps++;
	return steps;
}

/* Rows [first, last] hold in granule g. */
static void add_granule(struct packer *p, uint32_t g, size_t first, size_t last)
{
	uint32_t *word;

	if (last - p->from >= TAPIR_UNWIND_BLOCK_ROWS) {
		end_block(p);
		p->from = first;
	}
	p->until = last + 1;
	if (!p->blocks)
		return;
	word = &p->blocks[g / TAPIR_UNWIND_BLOCK_WORDS].words[g % TAPIR_UNWIND_BLOCK_WORDS];
	*word = TAPIR_UNWIND_WORD(p->block_cnt, first - p->from, halvings(last - first + 1));
}

static void deal(struct packer *p, uint32_t first_pc, uint32_t granule_cnt)
{
	size_t first = 0, last;

	p->from = p->until = 0;
	p->block_cnt = p->index_cnt;
	for (uint32_t g = 0; g < granule_cnt; g++) {
		uint64_t start = first_pc + (uint64_t)g * GRANULE_BYTES;

		while (first + 1 < p->row_cnt && p->rows[first + 1].pc <= start)
			first++;
		for (last = first;
		     last + 1 < p->row_cnt && p->rows[last + 1].pc < start + GRANULE_BYTES;)
			last++;
		add_granule(p, g, first, last);
	}
	end_block(p);
}

int tapir_unwind_table__pack(const struct tapir_unwind_rows *rows, struct tapir_unwind_table **out)
{
	struct packer p = {.rows = rows->vec.data, .row_cnt = rows->vec.cnt};
	struct tapir_unwind_table *t;
	uint32_t first_pc, granule_cnt;

	if (p.row_cnt < 2)
		return -ENOENT;
	/* Row 0 is the gap before all code: it holds for what precedes row 1 in its granule. */
	first_pc = p.rows[1].pc & -GRANULE_BYTES;
	granule_cnt =
		(uint32_t)(((uint64_t)p.rows[p.row_cnt - 1].pc - first_pc) / GRANULE_BYTES + 1);
	if (granule_cnt > TAPIR_UNWIND_MAX_GRANULES)
		return -EFBIG;
	p.index_cnt = index_blocks(granule_cnt);
	deal(&p, first_pc, granule_cnt);
	t = calloc(1, sizeof(*t));
	p.blocks = t ? calloc(p.block_cnt, sizeof(*p.blocks)) : NULL;
	if (!p.blocks) {
		free(t);
		return -ENOMEM;
	}
	deal(&p, first_pc, granule_cnt);
	t->blocks = p.blocks;
	t->shape = (struct tapir_unwind_shape){.first_pc = first_pc,
					       .granule_cnt = granule_cnt,
					       .block_cnt = p.block_cnt,
					       .row_cnt = (uint32_t)p.row_cnt,
					       .unsupported_cnt = rows->unsupported_cnt,
					       .lost_fp_cnt = rows->lost_fp_cnt,
					       .broken_cnt = rows->broken_cnt};
	*out = t;
	return 0;
}

/* The kernel maps whole pages. */
static uint32_t segments_end(const struct tapir_elf *elf)
{
	uint64_t end = 0;
	const Elf64_Phdr *ph;

	for (size_t i = 0; (ph = tapir_elf__phdr_at_idx(elf, i)); i++)
		if (ph->p_type == PT_LOAD && ph->p_offset < UINT32_MAX &&
		    ph->p_filesz < UINT32_MAX && ph->p_offset + ph->p_filesz > end)
			end = ph->p_offset + ph->p_filesz;
	end = (end + PAGE_BYTES - 1) & -PAGE_BYTES;
	return end < UINT32_MAX ? (uint32_t)end : 0;
}

int tapir_unwind_table__build(struct tapir_elf *elf, struct tapir_unwind_table **out)
{
	struct tapir_unwind_rows rows = {};
	int err = tapir_unwind_rows__make(elf, &rows);

	if (!err)
		err = tapir_unwind_table__pack(&rows, out);
	if (!err)
		(*out)->shape.segments_end = segments_end(elf);
	tapir_unwind_rows__fini(&rows);
	return err;
}

int tapir_unwind_table__build_assembly(int fd, struct tapir_unwind_table **out)
{
	struct tapir_unwind_rows rows = {};
	int err = tapir_r2r_rows__make(fd, &rows);

	if (!err)
		err = tapir_unwind_table__pack(&rows, out);
	if (!err)
		(*out)->shape.is_assembly = 1;
	tapir_unwind_rows__fini(&rows);
	return err;
}

void tapir_unwind_table__free(struct tapir_unwind_table *t)
{
	if (!t)
		return;
	free(t->blocks);
	free(t);
}

/* ---- the way back --------------------------------------------------------------------------- */

static uint32_t word_of(const struct tapir_unwind_table *t, uint32_t g)
{
	return t->blocks[g / TAPIR_UNWIND_BLOCK_WORDS].words[g % TAPIR_UNWIND_BLOCK_WORDS];
}

static bool is_sorted(const struct tapir_unwind_block *block)
{
	for (uint32_t i = 0; i < TAPIR_UNWIND_BLOCK_ROWS; i++) {
		if (block->rows[i].rule >= TAPIR_UNWIND_RULE_CNT)
			return false;
		if (i && block->rows[i].pc <= block->rows[i - 1].pc &&
		    block->rows[i].pc != UINT32_MAX)
			return false;
	}
	return true;
}

bool tapir_unwind_table__is_sound(const struct tapir_unwind_table *t)
{
	const struct tapir_unwind_shape *s = &t->shape;
	uint32_t index_cnt = index_blocks(s->granule_cnt);

	if (!s->granule_cnt || s->granule_cnt > TAPIR_UNWIND_MAX_GRANULES ||
	    s->block_cnt <= index_cnt || s->block_cnt > TAPIR_UNWIND_MAX_BLOCKS)
		return false;
	for (uint32_t g = 0; g < s->granule_cnt; g++) {
		uint32_t word = word_of(t, g), block = TAPIR_UNWIND_WORD_BLOCK(word);

		if (block < index_cnt || block >= s->block_cnt)
			return false;
	}
	for (uint32_t i = index_cnt; i < s->block_cnt; i++)
		if (!is_sorted(&t->blocks[i]))
			return false;
	return true;
}

const struct tapir_unwind_row *tapir_unwind_table__find(const struct tapir_unwind_table *t,
							uint32_t pc)
{
	uint32_t g = (pc - t->shape.first_pc) >> TAPIR_UNWIND_GRANULE_SHIFT, word, i;
	const struct tapir_unwind_row *rows;

	if (pc < t->shape.first_pc || g >= t->shape.granule_cnt)
		return NULL;
	word = word_of(t, g);
	rows = t->blocks[TAPIR_UNWIND_WORD_BLOCK(word)].rows;
	i = TAPIR_UNWIND_WORD_SLOT(word);
	for (uint32_t step = 1u << TAPIR_UNWIND_WORD_STEPS(word) >> 1; step; step >>= 1)
		if (i + step < TAPIR_UNWIND_BLOCK_ROWS && rows[i + step].pc <= pc)
			i += step;
	return rows[i].pc <= pc ? &rows[i] : NULL;
}
