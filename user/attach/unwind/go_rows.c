// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table is elf/go_table.h's. A function's record has the offset of its pcsp: pairs of (change
 * of depth, bytes of code), both LEB128 (runtime/symtab.go, runtime/runtime2.go).
 */
#include "attach/unwind/go_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "elf/go_table.h"
#include "elf/image.h"
#include "tapir/eh_frame.h"
#include "attach/unwind/file_code.h"
#include "attach/unwind/go_switch.h"
#include "attach/unwind/rows.h"

/* _func.flag */
#define FLAG_TOP_FRAME 1u
#define FLAG_SP_WRITE  2u

/* In struct _func. */
#define PCSP_OFF       16u
#define FLAG_OFF_118   37u
#define FLAG_OFF_120   41u

struct table {
	struct tapir_go_table go;
	struct tapir_eh_section section; /* its bytes: reads are checked as those of .eh_frame */
	struct tapir_file_code *code;
	const Elf64_Phdr *segment;	  /* of the code */
	struct tapir_go_switch go_switch; /* in systemstack */
	struct tapir_vec(struct tapir_unwind_row) rows;
};

struct function {
	uint64_t start_va, end_va;
	uint32_t steps_off, flags;
	const char *name;
};

static uint64_t read_go_word(const struct table *t, uint64_t off, unsigned bytes, bool *bad)
{
	struct tapir_eh_cursor c = {.section = &t->section, .at = off, .end = t->section.bytes};
	uint64_t value;

	c.bad = off > t->section.bytes;
	value = tapir_eh__take(&c, bytes);
	*bad |= c.bad;
	return value;
}

static bool read_function(const struct table *t, uint32_t i, struct function *out)
{
	unsigned flag_off = t->go.version == 118 ? FLAG_OFF_118 : FLAG_OFF_120;
	struct tapir_go_function go;
	bool bad = false;

	if (!tapir_go_table__function(&t->go, i, &go))
		return false;
	out->name = go.name;
	out->start_va = go.start_va;
	out->end_va = go.start_va + go.size;
	out->steps_off = (uint32_t)read_go_word(t, go.record_off + PCSP_OFF, 4, &bad);
	out->flags = (uint32_t)read_go_word(t, go.record_off + flag_off, 1, &bad);
	return !bad && out->start_va >= t->segment->p_vaddr &&
	       out->end_va - t->segment->p_vaddr <= t->segment->p_filesz;
}

static uint32_t pc_of(const struct table *t, uint64_t va)
{
	return (uint32_t)(va - t->segment->p_vaddr + t->segment->p_offset);
}

static bool add_unwind_row(struct table *t, uint64_t va, struct tapir_unwind_row row)
{
	row.pc = pc_of(t, va);
	if (t->rows.cnt && t->rows.data[t->rows.cnt - 1].pc >= row.pc) {
		if (t->rows.data[t->rows.cnt - 1].pc > row.pc)
			return true; /* out of order: hostile */
		t->rows.cnt--;
	}
	return t->rows.cnt < TAPIR_UNWIND_MAX_ROWS && tapir_vec__push(&t->rows, row);
}

/* depth: from the stack pointer to the return address. What has a frame saves rbp next to that. */
static struct tapir_unwind_row unwind_row_of_depth(int64_t depth)
{
	int64_t cfa = depth / 8 + 1;

	if (depth < 0 || depth % 8 || cfa > UINT16_MAX)
		return (struct tapir_unwind_row){.rule = TAPIR_UNWIND_UNSUPPORTED};
	return (struct tapir_unwind_row){
		.rule = TAPIR_UNWIND_SP, .cfa = (uint16_t)cfa, .fp = cfa > 1 ? 2 : 0};
}

static bool add_steps(struct table *t, const struct function *f)
{
	struct tapir_eh_cursor c = {.section = &t->section,
				    .at = t->go.steps_off + f->steps_off,
				    .end = t->section.bytes};
	uint64_t va = f->start_va;
	int64_t depth = -1;

	c.bad = t->go.steps_off > c.end || c.at > c.end;
	while (va < f->end_va && !c.bad) {
		uint64_t change = tapir_eh__uleb(&c), bytes;

		if (!change && va != f->start_va)
			break;
		depth += (int64_t)(change >> 1) ^ -(int64_t)(change & 1);
		bytes = tapir_eh__uleb(&c) * t->go.quantum;
		if (!bytes || bytes > f->end_va - va || depth > INT32_MAX || depth < INT32_MIN)
			break;
		if (!add_unwind_row(t, va, unwind_row_of_depth(depth)))
			return false;
		va += bytes;
	}
	return true;
}

/*
 * Returns true for functions at which a thread's own stack begins, as in Go's own traces: what
 * mcall and morestack call does not return to the goroutine, and most times continues without it.
 */
static bool is_root(const struct function *f)
{
	return f->flags & FLAG_TOP_FRAME || !strcmp(f->name, "runtime.mcall") ||
	       !strcmp(f->name, "runtime.morestack");
}

static bool add_systemstack(struct table *t, const struct function *f)
{
	size_t len = 0, first = t->rows.cnt;
	const uint8_t *code = tapir_file_code__at(t->code, pc_of(t, f->start_va),
						  (size_t)(f->end_va - f->start_va), &len);
	struct tapir_go_switch found;

	len = len < f->end_va - f->start_va ? len : (size_t)(f->end_va - f->start_va);
	if (code && f->steps_off && !add_steps(t, f))
		return false;
	if (t->rows.cnt > first &&
	    tapir_go_switch__find(code, len, pc_of(t, f->start_va), t->rows.data + first,
				  t->rows.cnt - first, &found)) {
		t->go_switch = found;
		return true;
	}
	t->rows.cnt = t->rows.cnt < first ? t->rows.cnt : first;
	return add_unwind_row(t, f->start_va,
			      (struct tapir_unwind_row){.rule = TAPIR_UNWIND_UNSUPPORTED});
}

/* The kernel calls it, with the trampoline that restores all registers as its caller. */
static bool add_sigtramp(struct table *t, const struct function *f)
{
	size_t first = t->rows.cnt;

	if (!add_steps(t, f))
		return false;
	for (size_t i = first; i < t->rows.cnt; i++)
		t->rows.data[i].fp = TAPIR_UNWIND_FP_LOST;
	return true;
}

/*
 * A function that writes rsp calls its callee on another stack. Its rbp is still that of a frame
 * beyond its caller.
 */
static bool add_go_function(struct table *t, const struct function *f)
{
	if (f->steps_off && !strcmp(f->name, "runtime.sigtramp"))
		return add_sigtramp(t, f);
	if (is_root(f))
		return add_unwind_row(t, f->start_va,
				      (struct tapir_unwind_row){.rule = TAPIR_UNWIND_END});
	if (f->flags & FLAG_SP_WRITE && !strcmp(f->name, "runtime.systemstack"))
		return add_systemstack(t, f);
	if (f->flags & FLAG_SP_WRITE)
		return add_unwind_row(t, f->start_va,
				      (struct tapir_unwind_row){.rule = TAPIR_UNWIND_UNSUPPORTED});
	if (!f->steps_off)
		return add_unwind_row(t, f->start_va,
				      (struct tapir_unwind_row){.rule = TAPIR_UNWIND_FRAME});
	return add_steps(t, f);
}

static bool add_go_functions(struct table *t)
{
	struct function f = {};
	bool ok = true;

	for (uint32_t i = 0; ok && i < t->go.function_cnt; i++)
		if (read_function(t, i, &f))
			ok = add_go_function(t, &f);
	return ok && (!f.end_va || add_unwind_row(t, f.end_va, (struct tapir_unwind_row){}));
}

/* Before Go 1.18 records are others. */
static bool open_table(struct tapir_elf *elf, struct table *t)
{
	if (!tapir_go_table__open(elf, &t->go) || t->go.version < 118)
		return false;
	t->section = (struct tapir_eh_section){.data = t->go.data, .bytes = t->go.bytes};
	t->segment = tapir_elf__load_at(elf, t->go.text_va);
	return t->segment && t->segment->p_flags & PF_X &&
	       t->segment->p_offset + t->segment->p_filesz <= UINT32_MAX;
}

int tapir_go_rows__add(struct tapir_elf *elf, struct tapir_file_code *code,
		       struct tapir_unwind_rows *rows)
{
	struct table t = {.code = code};
	int err = 0;

	if (!open_table(elf, &t))
		return 0;
	if (!add_go_functions(&t))
		err = -ENOMEM;
	else if (t.rows.cnt)
		err = tapir_unwind_rows__underlay(rows, t.rows.data, t.rows.cnt);
	if (!err)
		err = tapir_unwind_rows__replace(rows, t.go_switch.from, t.go_switch.until,
						 t.go_switch.row);
	tapir_vec__fini(&t.rows);
	return err;
}
