// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * .gopclntab as the runtime reads it (runtime/symtab.go, runtime/runtime2.go): a header, a table of
 * functions by address, for each a record whose pcsp leads to pairs of (change of depth, bytes of
 * code), both LEB128.
 */
#include "unwind/go_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/diag.h"
#include "elf/image.h"
#include "tapir/eh_frame.h"
#include "unwind/rows.h"

#define MAGIC_118      0xfffffff0u
#define MAGIC_120      0xfffffff1u
#define HEADER_BYTES   72u /* magic, sizes, and eight words */
#define MAX_FUNCTIONS  (1u << 20)

/* _func.flag */
#define FLAG_TOP_FRAME 1u
#define FLAG_SP_WRITE  2u

struct table {
	struct tapir_eh_section section; /* its bytes: reads are checked as those of .eh_frame */
	uint64_t text_va, functions_off, steps_off;
	uint32_t function_cnt, flag_off, quantum;
	const Elf64_Phdr *segment; /* of text_va */
	struct tapir_vec(struct tapir_unwind_row) rows;
};

struct function {
	uint64_t start_va, end_va;
	uint32_t steps_off, flags;
};

static uint64_t read_at(const struct table *t, uint64_t off, unsigned bytes, bool *bad)
{
	struct tapir_eh_cursor c = {.section = &t->section, .at = off, .end = t->section.bytes};
	uint64_t value;

	c.bad = off > t->section.bytes;
	value = tapir_eh__take(&c, bytes);
	*bad |= c.bad;
	return value;
}

static bool read_header(struct table *t, struct tapir_elf *elf)
{
	const Elf64_Shdr *text = tapir_elf__section(elf, ".text");
	bool bad = false;
	uint64_t magic, cnt;

	if (t->section.bytes < HEADER_BYTES)
		return false;
	magic = read_at(t, 0, 4, &bad);
	if ((magic != MAGIC_118 && magic != MAGIC_120) || read_at(t, 7, 1, &bad) != 8)
		return false;
	t->quantum = (uint32_t)read_at(t, 6, 1, &bad);
	cnt = read_at(t, 8, 8, &bad);
	t->text_va = read_at(t, 24, 8, &bad);
	if (!t->text_va && text)
		t->text_va = text->sh_addr; /* relocated at start: position independent programs */
	t->steps_off = read_at(t, 56, 8, &bad);
	t->functions_off = read_at(t, 64, 8, &bad);
	t->flag_off = magic == MAGIC_118 ? 37 : 41;
	t->function_cnt = (uint32_t)cnt;
	t->segment = tapir_elf__load_at(elf, t->text_va);
	return !bad && cnt && cnt <= MAX_FUNCTIONS && t->segment && t->segment->p_flags & PF_X &&
	       t->segment->p_offset + t->segment->p_filesz <= UINT32_MAX;
}

static bool read_function(const struct table *t, uint32_t i, struct function *out)
{
	uint64_t at = t->functions_off + 8ull * i, record;
	bool bad = t->functions_off > t->section.bytes;

	out->start_va = t->text_va + read_at(t, at, 4, &bad);
	record = t->functions_off + read_at(t, at + 4, 4, &bad);
	out->end_va = t->text_va + read_at(t, at + 8, 4, &bad);
	out->steps_off = (uint32_t)read_at(t, record + 16, 4, &bad);
	out->flags = (uint32_t)read_at(t, record + t->flag_off, 1, &bad);
	return !bad && out->start_va < out->end_va && out->start_va >= t->segment->p_vaddr &&
	       out->end_va - t->segment->p_vaddr <= t->segment->p_filesz;
}

static bool add(struct table *t, uint64_t va, struct tapir_unwind_row row)
{
	row.pc = (uint32_t)(va - t->segment->p_vaddr + t->segment->p_offset);
	if (t->rows.cnt && t->rows.data[t->rows.cnt - 1].pc >= row.pc) {
		if (t->rows.data[t->rows.cnt - 1].pc > row.pc)
			return true; /* out of order: hostile */
		t->rows.cnt--;
	}
	return t->rows.cnt < TAPIR_UNWIND_MAX_ROWS && tapir_vec__push(&t->rows, row);
}

/* depth: from the stack pointer to the return address. What has a frame saves rbp next to that. */
static struct tapir_unwind_row row_of(int64_t depth)
{
	int64_t cfa = depth / 8 + 1;

	if (depth < 0 || depth % 8 || cfa > UINT16_MAX)
		return (struct tapir_unwind_row){.rule = TAPIR_UNWIND_UNSUPPORTED};
	return (struct tapir_unwind_row){
		.rule = TAPIR_UNWIND_SP, .cfa = (uint16_t)cfa, .fp = cfa > 1 ? 2 : 0};
}

static bool add_steps(struct table *t, const struct function *f)
{
	struct tapir_eh_cursor c = {
		.section = &t->section, .at = t->steps_off + f->steps_off, .end = t->section.bytes};
	uint64_t va = f->start_va;
	int64_t depth = -1;

	c.bad = t->steps_off > c.end || c.at > c.end;
	while (va < f->end_va && !c.bad) {
		uint64_t change = tapir_eh__uleb(&c), bytes;

		if (!change && va != f->start_va)
			break;
		depth += (int64_t)(change >> 1) ^ -(int64_t)(change & 1);
		bytes = tapir_eh__uleb(&c) * t->quantum;
		if (!bytes || bytes > f->end_va - va || depth > INT32_MAX || depth < INT32_MIN)
			break;
		if (!add(t, va, row_of(depth)))
			return false;
		va += bytes;
	}
	return true;
}

static bool add_function(struct table *t, const struct function *f)
{
	/* What writes rsp calls its callee on a stack of its own (systemstack, mcall, asmcgocall):
	 * that one begins there. Its rbp is still that of a frame beyond its caller. */
	if (f->flags & (FLAG_TOP_FRAME | FLAG_SP_WRITE))
		return add(t, f->start_va, (struct tapir_unwind_row){.rule = TAPIR_UNWIND_END});
	if (!f->steps_off)
		return add(t, f->start_va, (struct tapir_unwind_row){.rule = TAPIR_UNWIND_FRAME});
	return add_steps(t, f);
}

static bool add_functions(struct table *t)
{
	struct function f = {};
	bool ok = true;

	for (uint32_t i = 0; ok && i < t->function_cnt; i++)
		if (read_function(t, i, &f))
			ok = add_function(t, &f);
	return ok && (!f.end_va || add(t, f.end_va, (struct tapir_unwind_row){}));
}

static const Elf64_Shdr *find_section(struct tapir_elf *elf)
{
	const Elf64_Shdr *shdr = tapir_elf__section(elf, ".gopclntab");

	return shdr ? shdr : tapir_elf__section(elf, ".data.rel.ro.gopclntab");
}

int tapir_go_rows__add(struct tapir_elf *elf, struct tapir_unwind_rows *rows)
{
	const Elf64_Shdr *shdr = find_section(elf);
	int mark = tapir_diag__cnt(), err;
	struct table t = {};
	const void *data;
	size_t len;

	if (!shdr)
		return 0;
	err = tapir_elf__data(elf, shdr, &data, &len);
	tapir_diag__rewind(mark);
	if (err)
		return 0;
	t.section = (struct tapir_eh_section){.data = data, .bytes = len};
	if (read_header(&t, elf)) {
		err = add_functions(&t) ? 0 : -ENOMEM;
		if (!err && t.rows.cnt)
			err = tapir_unwind_rows__underlay(rows, t.rows.data, t.rows.cnt);
	}
	tapir_vec__fini(&t.rows);
	return err;
}
