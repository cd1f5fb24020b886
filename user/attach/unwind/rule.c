// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rules that a row of 8 bytes can hold: a register and an offset. Of DWARF's expressions those
 * are understood that compilers, linkers and libcs write, such as the one for entries of a PLT;
 * others make a row that says so.
 */
#include "attach/unwind/rule.h"

#include <stdbool.h>
#include <string.h>

enum {
	OP_DEREF = 0x06,
	OP_PLUS_UCONST = 0x23,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
};

/* "register + off", and whether what is at that address is meant, plus a number. */
struct cfi_location {
	unsigned reg;
	int64_t off;
	bool is_deref;
	uint64_t plus;
};

static const struct tapir_unwind_row unsupported = {.rule = TAPIR_UNWIND_UNSUPPORTED};

/* bregN off, maybe deref, maybe plus_uconst: nothing else. */
static bool read_cfi_location(const struct tapir_eh_section *section, int64_t at, uint32_t bytes,
			      struct cfi_location *out)
{
	struct tapir_eh_cursor c = {
		.section = section, .at = (uint64_t)at, .end = (uint64_t)at + bytes};
	uint64_t op = tapir_eh__take(&c, 1);

	if (c.bad || op < OP_BREG0 || op > OP_BREG31)
		return false;
	out->reg = (unsigned)op - OP_BREG0;
	out->off = (int64_t)tapir_eh__leb(&c, 1);
	out->is_deref = false;
	out->plus = 0;
	if (c.bad || c.at == c.end)
		return !c.bad;
	out->is_deref = tapir_eh__take(&c, 1) == OP_DEREF;
	if (out->is_deref && c.at < c.end && tapir_eh__take(&c, 1) == OP_PLUS_UCONST)
		out->plus = tapir_eh__uleb(&c);
	return out->is_deref && !c.bad && c.at == c.end;
}

/* An entry of a PLT pushes once: at that instruction and after it, there are 8 bytes more. */
static bool read_plt(const struct tapir_eh_section *section, const struct tapir_eh_state *s,
		     uint16_t *from)
{
	/* breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus */
	static const uint8_t before[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a};
	static const uint8_t after[] = {0x2a, 0x33, 0x24, 0x22};
	const uint8_t *op = section->data + s->cfa_off;

	if (s->cfa_bytes != sizeof(before) + 1 + sizeof(after) ||
	    memcmp(op, before, sizeof(before)) ||
	    memcmp(op + sizeof(before) + 1, after, sizeof(after)) || op[sizeof(before)] < OP_LIT0 ||
	    op[sizeof(before)] > OP_LIT31)
		return false;
	*from = op[sizeof(before)] - OP_LIT0;
	return true;
}

static bool is_signal_frame(const struct tapir_eh_section *section, const struct tapir_eh_state *s,
			    const struct cfi_location *cfa)
{
	struct cfi_location ra;

	return cfa->is_deref && !cfa->plus && cfa->reg == TAPIR_EH_RSP &&
	       cfa->off == TAPIR_UNWIND_UC_RSP && s->ra.kind == TAPIR_EH_EXPRESSION &&
	       read_cfi_location(section, s->ra.off, s->ra.bytes, &ra) && !ra.is_deref &&
	       ra.reg == TAPIR_EH_RSP && ra.off == TAPIR_UNWIND_UC_RIP;
}

/* Words that fit the 16 bits of a row. */
static bool fits_row_word(int64_t off, int64_t min, int64_t max)
{
	return !(off & 7) && off / 8 >= min && off / 8 <= max;
}

static bool set_cfa(struct tapir_unwind_row *row, const struct cfi_location *cfa)
{
	bool is_fp = cfa->reg == TAPIR_EH_RBP, is_plain_sp = !is_fp && !cfa->is_deref;

	if (!is_fp && cfa->reg != TAPIR_EH_RSP)
		return false;
	if (cfa->is_deref && cfa->plus != (is_fp ? 0 : 8))
		return false;
	if (is_plain_sp ? !fits_row_word(cfa->off, 1, UINT16_MAX)
			: !fits_row_word(cfa->off, INT16_MIN, INT16_MAX))
		return false;
	if (is_fp)
		row->rule = cfa->is_deref ? TAPIR_UNWIND_FP_DEREF : TAPIR_UNWIND_FP;
	else
		row->rule = cfa->is_deref ? TAPIR_UNWIND_SP_DEREF : TAPIR_UNWIND_SP;
	row->cfa = (uint16_t)(cfa->off / 8);
	return true;
}

static uint8_t fp_of(const struct tapir_eh_section *section, const struct tapir_eh_rule *fp)
{
	struct cfi_location at;

	if (fp->kind == TAPIR_EH_SAME)
		return TAPIR_UNWIND_FP_SAME;
	if (fp->kind == TAPIR_EH_SAVED && fp->off < 0 && fits_row_word(fp->off, -253, -1))
		return (uint8_t)(-fp->off / 8);
	if (fp->kind == TAPIR_EH_EXPRESSION &&
	    read_cfi_location(section, fp->off, fp->bytes, &at) && !at.is_deref &&
	    at.reg == TAPIR_EH_RBP && !at.off)
		return TAPIR_UNWIND_FP_AT_FP;
	return TAPIR_UNWIND_FP_LOST;
}

struct tapir_unwind_row tapir_unwind_rule__row(const struct tapir_eh_section *section,
					       const struct tapir_eh_state *s)
{
	struct cfi_location cfa = {.reg = (unsigned)s->cfa_reg, .off = s->cfa_off};
	struct tapir_unwind_row row = {};
	bool is_plt = false;

	if (s->ra.kind == TAPIR_EH_UNDEFINED)
		return (struct tapir_unwind_row){.rule = TAPIR_UNWIND_END};
	if (s->cfa_reg == TAPIR_EH_NO_REG)
		is_plt = read_plt(section, s, &row.cfa);
	else if (s->cfa_reg > TAPIR_EH_RA)
		return unsupported;
	if (is_plt)
		row.rule = TAPIR_UNWIND_PLT;
	else if (s->cfa_reg == TAPIR_EH_NO_REG &&
		 !read_cfi_location(section, s->cfa_off, s->cfa_bytes, &cfa))
		return unsupported;
	if (!is_plt && is_signal_frame(section, s, &cfa))
		return (struct tapir_unwind_row){.rule = TAPIR_UNWIND_SIGNAL};
	if (s->ra.kind != TAPIR_EH_SAVED || s->ra.off != -8)
		return unsupported;
	/* An expression without deref is the sum itself: as a register and an offset. */
	if (!is_plt && !set_cfa(&row, &cfa))
		return unsupported;
	row.fp = fp_of(section, &s->fp);
	return row;
}
