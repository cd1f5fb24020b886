// SPDX-License-Identifier: GPL-2.0-or-later
/* .eh_frame: an index of its entries, and the little machine that runs one of them. */
#include "unwind/cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "elf/image.h"

enum { DWARF_RBP = 6, DWARF_RSP = 7, DWARF_RA = 16 };

/* Pointer encodings, DW_EH_PE_*. */
#define PE_FORMAT	  0x0f
#define PE_PCREL	  0x10
#define PE_APPLY	  0x70
#define PE_INDIRECT	  0x80

/* What real files stay far below; it bounds the work a hostile one can make. */
#define SECTION_MAX_BYTES (64u << 20)
#define CODE_MAX_BYTES	  65536
#define AUGMENTATION_MAX  16
#define LEB_MAX_BITS	  70
#define REMEMBERED_MAX	  16

struct entry {
	uint64_t start_va, end_va;
	size_t cie_off, code_off, code_end; /* in the section */
};

struct tapir_cfi {
	const uint8_t *data; /* the section's, borrowed */
	size_t len;
	uint64_t section_va;
	struct tapir_vec(struct entry) entries; /* by start_va */
};

/* ---- reading ---------------------------------------------------------------------------- */

/* Reads behind the end give 0 and set bad. */
struct cursor {
	const uint8_t *data;
	size_t at, end;
	bool bad;
};

static uint64_t take(struct cursor *c, unsigned bytes)
{
	uint64_t value = 0;

	if (c->bad || c->end - c->at < bytes) {
		c->bad = true;
		return 0;
	}
	memcpy(&value, c->data + c->at, bytes);
	c->at += bytes;
	return value;
}

/* LEB128: seven bits a byte, the lowest first; is_signed: the last bit taken goes on upwards. */
static uint64_t take_leb(struct cursor *c, bool is_signed)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = take(c, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
		c->bad |= byte & 0x80 && shift >= LEB_MAX_BITS;
	} while (byte & 0x80 && !c->bad);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= ~0ull << shift;
	return value;
}

static uint64_t take_uleb(struct cursor *c)
{
	return take_leb(c, false);
}

static int64_t take_sleb(struct cursor *c)
{
	return (int64_t)take_leb(c, true);
}

static void skip(struct cursor *c, uint64_t bytes)
{
	if (c->bad || c->end - c->at < bytes)
		c->bad = true;
	else
		c->at += bytes;
}

static uint64_t take_pointer(struct cursor *c, uint8_t encoding, uint64_t section_va)
{
	uint64_t from_va = section_va + c->at, value;

	switch (encoding & PE_FORMAT) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = take(c, 8);
		break;
	case 0x01:
		value = take_uleb(c);
		break;
	case 0x02:
		value = take(c, 2);
		break;
	case 0x03:
		value = take(c, 4);
		break;
	case 0x09:
		value = (uint64_t)take_sleb(c);
		break;
	case 0x0a:
		value = (uint64_t)(int16_t)take(c, 2);
		break;
	case 0x0b:
		value = (uint64_t)(int32_t)take(c, 4);
		break;
	default:
		c->bad = true;
		return 0;
	}
	if (encoding & PE_INDIRECT)
		c->bad = true;
	if ((encoding & PE_APPLY) == PE_PCREL)
		return from_va + value;
	if (encoding & PE_APPLY)
		c->bad = true;
	return value;
}

/* ---- entries ---------------------------------------------------------------------------- */

/* What a CIE says for its FDEs. */
struct common {
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointer_encoding;
	bool has_augmentation; /* FDEs have augmentation data, too */
	size_t code_off, code_end;
};

/* Enters the entry at off: its cursor, behind the length and id fields. false: there is none. */
static bool enter(const struct tapir_cfi *cfi, size_t off, struct cursor *c, size_t *id_off,
		  uint32_t *id)
{
	uint64_t len;

	*c = (struct cursor){.data = cfi->data, .at = off, .end = cfi->len};
	len = take(c, 4);
	if (len == UINT32_MAX)
		len = take(c, 8);
	if (c->bad || len < 4 || len > c->end - c->at)
		return false;
	c->end = c->at + (size_t)len;
	*id_off = c->at;
	*id = (uint32_t)take(c, 4);
	return !c->bad;
}

static void take_augmentation(struct cursor *c, const char *text, uint64_t section_va,
			      struct common *out)
{
	uint64_t len = take_uleb(c);
	size_t end = c->at;

	skip(c, len);
	if (c->bad)
		return;
	c->at = end;
	end += len;
	for (text++; *text && !c->bad; text++) {
		if (*text == 'R')
			out->pointer_encoding = (uint8_t)take(c, 1);
		else if (*text == 'L')
			take(c, 1);
		else if (*text == 'P')
			take_pointer(c, (uint8_t)take(c, 1) & (PE_FORMAT | PE_APPLY), section_va);
		else if (*text != 'S' && *text != 'B')
			break; /* later letters may need data we do not know the size of */
	}
	c->at = end;
}

static bool read_cie(const struct tapir_cfi *cfi, size_t off, struct common *out)
{
	struct common common = {.pointer_encoding = 0};
	const char *augmentation;
	struct cursor c;
	uint32_t id;
	size_t id_off, left;
	uint64_t version;

	if (!enter(cfi, off, &c, &id_off, &id) || id)
		return false;
	version = take(&c, 1);
	augmentation = (const char *)c.data + c.at;
	left = c.end - c.at;
	if (c.bad || !memchr(augmentation, '\0', left < AUGMENTATION_MAX ? left : AUGMENTATION_MAX))
		return false;
	skip(&c, strlen(augmentation) + 1);
	common.code_align = take_uleb(&c);
	common.data_align = take_sleb(&c);
	if ((version == 1 ? take(&c, 1) : take_uleb(&c)) != DWARF_RA)
		return false;
	common.has_augmentation = *augmentation == 'z';
	if (common.has_augmentation)
		take_augmentation(&c, augmentation, cfi->section_va, &common);
	else if (*augmentation)
		return false;
	common.code_off = c.at;
	common.code_end = c.end;
	if (c.bad || c.end - c.at > CODE_MAX_BYTES)
		return false;
	*out = common;
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->start_va < y->start_va ? -1 : x->start_va > y->start_va;
}

static bool read_fde(const struct tapir_cfi *cfi, struct cursor *c, size_t cie_off,
		     const struct common *common, struct entry *out)
{
	struct entry entry = {.cie_off = cie_off};

	entry.start_va = take_pointer(c, common->pointer_encoding, cfi->section_va);
	entry.end_va = entry.start_va +
		       take_pointer(c, common->pointer_encoding & PE_FORMAT, cfi->section_va);
	if (common->has_augmentation)
		skip(c, take_uleb(c));
	entry.code_off = c->at;
	entry.code_end = c->end;
	*out = entry;
	return !c->bad && entry.end_va > entry.start_va && c->end - c->at <= CODE_MAX_BYTES;
}

static int build_index(struct tapir_cfi *cfi)
{
	struct common common = {.code_align = 0};
	size_t off = 0, id_off, cie_off, last_cie_off = SIZE_MAX;
	struct cursor c;
	uint32_t id;

	for (; enter(cfi, off, &c, &id_off, &id); off = c.end) {
		struct entry entry;

		if (!id || id > id_off)
			continue; /* a CIE, or an FDE whose CIE lies nowhere */
		cie_off = id_off - id;
		if (cie_off != last_cie_off && !read_cie(cfi, cie_off, &common))
			continue;
		last_cie_off = cie_off;
		if (read_fde(cfi, &c, cie_off, &common, &entry) &&
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
	cfi->data = data;
	cfi->len = len;
	cfi->section_va = section->sh_addr;
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
	struct cursor c;
	const struct tapir_cfi *cfi;
	const struct common *common;
	uint64_t va, until_va;
	struct state now, initial, remembered[REMEMBERED_MAX];
	unsigned remembered_cnt;
};

static void set_rule(struct machine *m, uint64_t reg, enum rule rule, int64_t off)
{
	if (reg == DWARF_RBP) {
		m->now.fp = rule;
		m->now.fp_off = off;
	} else if (reg == DWARF_RA) {
		m->now.ra = rule;
		m->now.ra_off = off;
	}
}

static void restore(struct machine *m, uint64_t reg)
{
	if (reg == DWARF_RBP)
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
		m->c.bad = true;
	else
		m->remembered[m->remembered_cnt++] = m->now;
}

static void recall(struct machine *m)
{
	if (m->remembered_cnt)
		m->now = m->remembered[--m->remembered_cnt];
	else
		m->c.bad = true;
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
	struct cursor *c = &m->c;
	uint64_t reg;

	switch (op) {
	case 0x00: /* nop */
		return true;
	case 0x01: /* set_loc */
		m->va = take_pointer(c, m->common->pointer_encoding, m->cfi->section_va);
		return true;
	case 0x02: /* advance_loc1, 2, 4 */
	case 0x03:
	case 0x04:
		advance(m, take(c, 1u << (op - 2)));
		return true;
	case 0x05: /* offset_extended, offset_extended_sf */
	case 0x11:
		reg = take_uleb(c);
		set_rule(m, reg, RULE_SAVED,
			 scaled(m, op == 0x05 ? (int64_t)take_uleb(c) : take_sleb(c)));
		return true;
	case 0x06: /* restore_extended */
		restore(m, take_uleb(c));
		return true;
	case 0x07: /* undefined */
		set_rule(m, take_uleb(c), RULE_OTHER, 0);
		return true;
	case 0x08: /* same_value */
		set_rule(m, take_uleb(c), RULE_SAME, 0);
		return true;
	case 0x0a:
		remember(m);
		return true;
	case 0x0b:
		recall(m);
		return true;
	case 0x0c: /* def_cfa, def_cfa_sf */
	case 0x12:
		reg = take_uleb(c);
		set_cfa(m, reg, op == 0x0c ? (int64_t)take_uleb(c) : scaled(m, take_sleb(c)));
		return true;
	case 0x0d: /* def_cfa_register */
		set_cfa(m, take_uleb(c), m->now.cfa_off);
		return true;
	case 0x0e: /* def_cfa_offset, def_cfa_offset_sf */
	case 0x13:
		set_cfa(m, m->now.cfa_reg,
			op == 0x0e ? (int64_t)take_uleb(c) : scaled(m, take_sleb(c)));
		return true;
	case 0x0f: /* def_cfa_expression */
		m->now.cfa_is_expression = true;
		skip(c, take_uleb(c));
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
		reg = take_uleb(&m->c);
		take_uleb(&m->c);
		break;
	case 0x10: /* expression */
	case 0x16: /* val_expression */
		reg = take_uleb(&m->c);
		skip(&m->c, take_uleb(&m->c));
		break;
	case 0x2e: /* GNU_args_size */
		take_uleb(&m->c);
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
		uint8_t op = (uint8_t)take(&m->c, 1), low = op & 0x3f;

		switch (op & 0xc0) {
		case 0x40:
			advance(m, low);
			break;
		case 0x80:
			set_rule(m, low, RULE_SAVED, scaled(m, (int64_t)take_uleb(&m->c)));
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
	if (s->cfa_is_expression || (s->cfa_reg != DWARF_RSP && s->cfa_reg != DWARF_RBP) ||
	    s->ra != RULE_SAVED || s->ra_off != -8 || s->fp == RULE_OTHER || !fits(s->cfa_off) ||
	    (s->fp == RULE_SAVED && !fits(s->fp_off)))
		return false;
	*out = (struct tapir_cfi_row){.cfa_is_from_fp = s->cfa_reg == DWARF_RBP,
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
	struct common common;
	struct machine m = {.c = {.data = cfi->data}, .cfi = cfi, .common = &common};

	if (!entry || !read_cie(cfi, entry->cie_off, &common))
		return false;
	m.va = m.until_va = va; /* a CIE's instructions do not advance */
	if (!run(&m, common.code_off, common.code_end))
		return false;
	m.initial = m.now;
	m.remembered_cnt = 0;
	m.va = entry->start_va;
	return run(&m, entry->code_off, entry->code_end) && as_row(&m.now, out);
}
