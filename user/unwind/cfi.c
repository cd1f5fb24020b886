// SPDX-License-Identifier: GPL-2.0-or-later
/* .eh_frame: an index of its entries, and the little machine that runs one of them. */
#include "unwind/cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "elf/image.h"
#include "tapir/eh_rows.h"

/* What real files stay far below; it bounds the work a hostile one can make. */
#define SECTION_MAX_BYTES (64u << 20)
#define CODE_MAX_BYTES	  65536
#define REMEMBERED_MAX	  16

struct entry {
	uint64_t start_va, end_va;
	size_t cie_off, code_off, code_end; /* in the section */
};

struct tapir_cfi {
	struct tapir_eh_section section;	/* its data borrowed */
	struct tapir_vec(struct entry) entries; /* by start_va */
};

static int64_t take_sleb(struct tapir_eh_cursor *c)
{
	return (int64_t)tapir_eh__leb(c, 1);
}

/* ---- entries ---------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->start_va < y->start_va ? -1 : x->start_va > y->start_va;
}

static bool read_fde(struct tapir_eh_cursor *c, size_t cie_off,
		     const struct tapir_eh_common *common, struct entry *out)
{
	struct entry entry = {.cie_off = cie_off};

	entry.start_va = tapir_eh__pointer(c, common->encoding);
	entry.end_va = entry.start_va + tapir_eh__pointer(c, common->encoding & 0x0f);
	if (common->has_augmentation)
		tapir_eh__skip(c, tapir_eh__uleb(c));
	entry.code_off = c->at;
	entry.code_end = c->end;
	*out = entry;
	return !c->bad && entry.end_va > entry.start_va && c->end - c->at <= CODE_MAX_BYTES;
}

static int build_index(struct tapir_cfi *cfi)
{
	struct tapir_eh_common common = {.code_align = 0};
	size_t off = 0, id_off, cie_off, last_cie_off = SIZE_MAX;
	struct tapir_eh_cursor c;
	uint32_t id;

	for (; tapir_eh__enter(&cfi->section, off, &c, &id_off, &id); off = c.end) {
		struct entry entry;

		if (!id || id > id_off)
			continue; /* a CIE, or an FDE whose CIE lies nowhere */
		cie_off = id_off - id;
		if (cie_off != last_cie_off && !tapir_eh__cie(&cfi->section, cie_off, &common)) {
			last_cie_off = SIZE_MAX;
			continue;
		}
		last_cie_off = cie_off;
		if (read_fde(&c, cie_off, &common, &entry) &&
		    !tapir_vec__push(&cfi->entries, entry))
			return -ENOMEM;
	}
	if (cfi->entries.cnt)
		qsort(cfi->entries.data, cfi->entries.cnt, sizeof(*cfi->entries.data), by_start);
	return 0;
}

int tapir_cfi__load(struct tapir_elf *elf, struct tapir_cfi **out)
{
	const Elf64_Shdr *section = tapir_elf__section(elf, ".eh_frame");
	struct tapir_cfi *cfi;
	const void *data;
	size_t len;
	int err;

	if (!section || tapir_elf__machine(elf) != EM_X86_64)
		return -ENOENT;
	if (section->sh_size > SECTION_MAX_BYTES)
		return -EFBIG;
	err = tapir_elf__data(elf, section, &data, &len);
	if (err)
		return err;
	cfi = calloc(1, sizeof(*cfi));
	if (!cfi)
		return -ENOMEM;
	cfi->section = (struct tapir_eh_section){data, len, section->sh_addr};
	err = build_index(cfi);
	if (err) {
		tapir_cfi__free(cfi);
		return err;
	}
	*out = cfi;
	return 0;
}

void tapir_cfi__free(struct tapir_cfi *cfi)
{
	if (!cfi)
		return;
	tapir_vec__fini(&cfi->entries);
	free(cfi);
}

/* ---- running an entry's instructions ----------------------------------------------------- */

enum rule { RULE_SAME, RULE_SAVED, RULE_OTHER };

struct state {
	uint64_t cfa_reg;
	int64_t cfa_off;
	bool cfa_is_expression;
	enum rule fp, ra;
	int64_t fp_off, ra_off;
};

struct machine {
	struct tapir_eh_cursor c;
	const struct tapir_eh_common *common;
	uint64_t va, until_va;
	struct state now, initial, remembered[REMEMBERED_MAX];
	unsigned remembered_cnt;
};

static void set_rule(struct machine *m, uint64_t reg, enum rule rule, int64_t off)
{
	if (reg == TAPIR_EH_RBP) {
		m->now.fp = rule;
		m->now.fp_off = off;
	} else if (reg == TAPIR_EH_RA) {
		m->now.ra = rule;
		m->now.ra_off = off;
	}
}

static void restore(struct machine *m, uint64_t reg)
{
	if (reg == TAPIR_EH_RBP)
		set_rule(m, reg, m->initial.fp, m->initial.fp_off);
	else
		set_rule(m, reg, m->initial.ra, m->initial.ra_off);
}

static void set_cfa(struct machine *m, uint64_t reg, int64_t off)
{
	m->now.cfa_reg = reg;
	m->now.cfa_off = off;
	m->now.cfa_is_expression = false;
}

static void remember(struct machine *m)
{
	if (m->remembered_cnt == REMEMBERED_MAX)
		m->c.bad = 1;
	else
		m->remembered[m->remembered_cnt++] = m->now;
}

static void recall(struct machine *m)
{
	if (m->remembered_cnt)
		m->now = m->remembered[--m->remembered_cnt];
	else
		m->c.bad = 1;
}

/* Factored offsets may be anything: no signed overflow. */
static int64_t scaled(const struct machine *m, int64_t factor)
{
	return (int64_t)((uint64_t)factor * (uint64_t)m->common->data_align);
}

static void advance(struct machine *m, uint64_t delta)
{
	m->va += delta * m->common->code_align;
}

/* The instructions of one operand-less or rare form; false: the form is not known. */
static bool run_extended(struct machine *m, uint8_t op)
{
	struct tapir_eh_cursor *c = &m->c;
	uint64_t reg;

	switch (op) {
	case 0x00: /* nop */
		return true;
	case 0x01: /* set_loc */
		m->va = tapir_eh__pointer(c, m->common->encoding);
		return true;
	case 0x02: /* advance_loc1, 2, 4 */
	case 0x03:
	case 0x04:
		advance(m, tapir_eh__take(c, 1u << (op - 2)));
		return true;
	case 0x05: /* offset_extended, offset_extended_sf */
	case 0x11:
		reg = tapir_eh__uleb(c);
		set_rule(m, reg, RULE_SAVED,
			 scaled(m, op == 0x05 ? (int64_t)tapir_eh__uleb(c) : take_sleb(c)));
		return true;
	case 0x06: /* restore_extended */
		restore(m, tapir_eh__uleb(c));
		return true;
	case 0x07: /* undefined */
		set_rule(m, tapir_eh__uleb(c), RULE_OTHER, 0);
		return true;
	case 0x08: /* same_value */
		set_rule(m, tapir_eh__uleb(c), RULE_SAME, 0);
		return true;
	case 0x0a:
		remember(m);
		return true;
	case 0x0b:
		recall(m);
		return true;
	case 0x0c: /* def_cfa, def_cfa_sf */
	case 0x12:
		reg = tapir_eh__uleb(c);
		set_cfa(m, reg, op == 0x0c ? (int64_t)tapir_eh__uleb(c) : scaled(m, take_sleb(c)));
		return true;
	case 0x0d: /* def_cfa_register */
		set_cfa(m, tapir_eh__uleb(c), m->now.cfa_off);
		return true;
	case 0x0e: /* def_cfa_offset, def_cfa_offset_sf */
	case 0x13:
		set_cfa(m, m->now.cfa_reg,
			op == 0x0e ? (int64_t)tapir_eh__uleb(c) : scaled(m, take_sleb(c)));
		return true;
	case 0x0f: /* def_cfa_expression */
		m->now.cfa_is_expression = true;
		tapir_eh__skip(c, tapir_eh__uleb(c));
		return true;
	default:
		return false;
	}
}

/* Rules that no row can hold: their operands are passed over, the register is marked. */
static bool run_unheld(struct machine *m, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case 0x09: /* register */
	case 0x14: /* val_offset */
	case 0x15: /* val_offset_sf */
		reg = tapir_eh__uleb(&m->c);
		tapir_eh__uleb(&m->c);
		break;
	case 0x10: /* expression */
	case 0x16: /* val_expression */
		reg = tapir_eh__uleb(&m->c);
		tapir_eh__skip(&m->c, tapir_eh__uleb(&m->c));
		break;
	case 0x2e: /* GNU_args_size */
		tapir_eh__uleb(&m->c);
		return true;
	default:
		return false;
	}
	set_rule(m, reg, RULE_OTHER, 0);
	return true;
}

/* Runs the bytes [off, end) until the row of until_va is reached. */
static bool run(struct machine *m, size_t off, size_t end)
{
	m->c.at = off;
	m->c.end = end;
	while (m->c.at < m->c.end && m->va <= m->until_va && !m->c.bad) {
		uint8_t op = (uint8_t)tapir_eh__take(&m->c, 1), low = op & 0x3f;

		switch (op & 0xc0) {
		case 0x40:
			advance(m, low);
			break;
		case 0x80:
			set_rule(m, low, RULE_SAVED, scaled(m, (int64_t)tapir_eh__uleb(&m->c)));
			break;
		case 0xc0:
			restore(m, low);
			break;
		default:
			if (!run_extended(m, op) && !run_unheld(m, op))
				return false;
		}
	}
	return !m->c.bad;
}

static bool fits(int64_t off)
{
	return off >= -(1 << 20) && off <= 1 << 20;
}

static bool as_row(const struct state *s, struct tapir_cfi_row *out)
{
	if (s->cfa_is_expression || (s->cfa_reg != TAPIR_EH_RSP && s->cfa_reg != TAPIR_EH_RBP) ||
	    s->ra != RULE_SAVED || s->ra_off != -8 || s->fp == RULE_OTHER || !fits(s->cfa_off) ||
	    (s->fp == RULE_SAVED && !fits(s->fp_off)))
		return false;
	*out = (struct tapir_cfi_row){.cfa_is_from_fp = s->cfa_reg == TAPIR_EH_RBP,
				      .fp_is_saved = s->fp == RULE_SAVED,
				      .cfa_off = (int32_t)s->cfa_off,
				      .fp_off = s->fp == RULE_SAVED ? (int32_t)s->fp_off : 0};
	return true;
}

static const struct entry *find(const struct tapir_cfi *cfi, uint64_t va)
{
	size_t behind = tapir_sorted__behind(cfi->entries.data, cfi->entries.cnt, start_va, va);
	const struct entry *entry = behind ? &cfi->entries.data[behind - 1] : NULL;

	return entry && va < entry->end_va ? entry : NULL;
}

bool tapir_cfi__row_at(const struct tapir_cfi *cfi, uint64_t va, struct tapir_cfi_row *out)
{
	const struct entry *entry = find(cfi, va);
	struct tapir_eh_common common;
	struct machine m = {.c.section = &cfi->section, .common = &common};

	if (!entry || !tapir_eh__cie(&cfi->section, entry->cie_off, &common))
		return false;
	m.va = m.until_va = va; /* a CIE's instructions do not advance */
	if (!run(&m, common.code_off, common.code_end))
		return false;
	m.initial = m.now;
	m.remembered_cnt = 0;
	m.va = entry->start_va;
	return run(&m, entry->code_off, entry->code_end) && as_row(&m.now, out);
}
