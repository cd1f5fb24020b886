/* SPDX-License-Identifier: MIT */
/*
 * eh_rows.h - the functions of a file that a frame-pointer walk cannot see through, by its
 * .eh_frame: hand-written ones that save the frame pointer without setting it, or have no frame
 * at all. For each of their instructions, how far above the stack pointer their frame ends: the
 * return address is 8 bytes below that end. For tapir, which reads another program's file, and
 * for code of ours in that program, which reads what is mapped.
 *
 * Where the return address is not there (thunks that are jumped to), there is no row.
 *
 * A function that has set its frame pointer somewhere is taken for the places only where it has
 * not and more than a return address and a saved frame pointer are on the stack: whoever it calls
 * from there hides its caller, too. Its first and last instructions are left out.
 *
 * The bytes may be hostile: every length is checked, work is bounded by the section's size, and no
 * row tells more than numbers. x86-64. Sources: DWARF 5, 6.4; LSB 5.0 Core, "Exception Frames";
 * System V ABI AMD64, figure 3.36 (register numbers).
 *
 * Calls nothing, keeps nothing, any thread, signal handlers too. C11 and C++11.
 */
#ifndef TAPIR_EH_ROWS_H
#define TAPIR_EH_ROWS_H

#include <stdint.h>

#define TAPIR_EH_RBP		6
#define TAPIR_EH_RSP		7
#define TAPIR_EH_RA		16
#define TAPIR_EH_DEEP		16	/* bytes: a return address and a saved frame pointer */
#define TAPIR_EH_MAX_CFA	0xfff8u /* real ones: 3,288 at most */
#define TAPIR_EH_MAX_REMEMBERED 16
#define TAPIR_EH_MAX_COMMON	256 /* bytes of program that functions share; real ones: 12 */

struct tapir_eh_row {
	uint64_t start_va; /* as the section's: linked or mapped */
	uint32_t size;
	uint32_t cfa_off; /* the frame ends that far above the stack pointer: 8 ... */
};

struct tapir_eh_section {
	const uint8_t *data;
	uint64_t bytes;
	uint64_t va; /* where its first byte is */
};

/* ---- reading: behind the end it gives 0 and sets bad ------------------------------------- */

struct tapir_eh_cursor {
	const struct tapir_eh_section *section;
	uint64_t at, end;
	uint32_t bad, pad0;
};

static inline uint64_t tapir_eh__take(struct tapir_eh_cursor *c, unsigned bytes)
{
	uint64_t value = 0;

	if (c->bad || c->end - c->at < bytes) {
		c->bad = 1;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)c->section->data[c->at + i] << (8 * i);
	c->at += bytes;
	return value;
}

static inline void tapir_eh__skip(struct tapir_eh_cursor *c, uint64_t bytes)
{
	if (c->bad || c->end - c->at < bytes)
		c->bad = 1;
	else
		c->at += bytes;
}

/* LEB128: seven bits a byte, the lowest first; is_signed: the last bit taken goes on upwards. */
static inline uint64_t tapir_eh__leb(struct tapir_eh_cursor *c, int is_signed)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = tapir_eh__take(c, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80 && shift >= 70)
			c->bad = 1;
	} while (byte & 0x80 && !c->bad);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= ~(uint64_t)0 << shift;
	return value;
}

static inline uint64_t tapir_eh__uleb(struct tapir_eh_cursor *c)
{
	return tapir_eh__leb(c, 0);
}

/* DW_EH_PE_*: the low 4 bits are the format, 0x70 what it is relative to, 0x80 indirect. */
static inline uint64_t tapir_eh__pointer(struct tapir_eh_cursor *c, unsigned encoding)
{
	uint64_t from_va = c->section->va + c->at, value;

	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = tapir_eh__take(c, 8);
		break;
	case 0x01:
	case 0x09:
		value = tapir_eh__leb(c, encoding & 8);
		break;
	case 0x02:
		value = tapir_eh__take(c, 2);
		break;
	case 0x0a:
		value = (uint64_t)(int16_t)tapir_eh__take(c, 2);
		break;
	case 0x03:
		value = tapir_eh__take(c, 4);
		break;
	case 0x0b:
		value = (uint64_t)(int32_t)tapir_eh__take(c, 4);
		break;
	default:
		c->bad = 1;
		return 0;
	}
	if ((encoding & 0xf0) == 0x10)
		return from_va + value;
	if (encoding & 0xf0)
		c->bad = 1;
	return value;
}

/* ---- entries ----------------------------------------------------------------------------- */

struct tapir_eh_common {
	uint64_t code_align;
	int64_t data_align;
	uint64_t code_off, code_end; /* its program, in the section */
	uint32_t encoding;
	uint32_t has_augmentation;
};

/* Enters the entry at off, behind its length and id. 0: there is none. */
static inline int tapir_eh__enter(const struct tapir_eh_section *section, uint64_t off,
				  struct tapir_eh_cursor *c, uint64_t *id_off, uint32_t *id)
{
	uint64_t len;

	c->section = section;
	c->at = off;
	c->end = section->bytes;
	c->bad = off > section->bytes;
	c->pad0 = 0;
	len = tapir_eh__take(c, 4);
	if (len == 0xffffffffu)
		len = tapir_eh__take(c, 8);
	if (c->bad || len < 4 || len > c->end - c->at)
		return 0;
	c->end = c->at + len;
	*id_off = c->at;
	*id = (uint32_t)tapir_eh__take(c, 4);
	return !c->bad;
}

/* What follows 'z': its length, then what each letter says. */
static inline void tapir_eh__augment(struct tapir_eh_cursor *c, const uint8_t *letters,
				     struct tapir_eh_common *out)
{
	uint64_t len = tapir_eh__uleb(c), end = c->at + len;

	if (c->bad || len > c->end - c->at) {
		c->bad = 1;
		return;
	}
	for (; *letters && !c->bad; letters++) {
		if (*letters == 'R')
			out->encoding = (uint32_t)tapir_eh__take(c, 1);
		else if (*letters == 'L')
			(void)tapir_eh__take(c, 1);
		else if (*letters == 'P')
			(void)tapir_eh__pointer(c, (unsigned)tapir_eh__take(c, 1) & 0x7f);
		else if (*letters != 'S' && *letters != 'B')
			break;
	}
	c->at = end;
}

static inline int tapir_eh__cie(const struct tapir_eh_section *section, uint64_t off,
				struct tapir_eh_common *out)
{
	struct tapir_eh_cursor c;
	uint64_t id_off, version;
	const uint8_t *letters;
	uint32_t id, letter_cnt = 0;

	if (!tapir_eh__enter(section, off, &c, &id_off, &id) || id)
		return 0;
	version = tapir_eh__take(&c, 1);
	letters = section->data + c.at;
	while (tapir_eh__take(&c, 1) && letter_cnt < 16)
		letter_cnt++;
	out->encoding = 0;
	out->has_augmentation = letter_cnt && *letters == 'z';
	if (c.bad || letter_cnt == 16 || (letter_cnt && *letters != 'z'))
		return 0;
	out->code_align = tapir_eh__uleb(&c);
	out->data_align = (int64_t)tapir_eh__leb(&c, 1);
	if (version == 1)
		(void)tapir_eh__take(&c, 1);
	else
		(void)tapir_eh__uleb(&c);
	if (out->has_augmentation)
		tapir_eh__augment(&c, letters + 1, out);
	out->code_off = c.at;
	out->code_end = c.end;
	return !c.bad && c.end - c.at <= TAPIR_EH_MAX_COMMON;
}

/* ---- the program of a function ----------------------------------------------------------- */

struct tapir_eh_state {
	uint64_t cfa_reg, cfa_off; /* cfa_reg: UINT64_MAX, an expression */
	int64_t ra_off;		   /* the return address is so far from the CFA; 0: elsewhere */
};

struct tapir_eh_machine {
	struct tapir_eh_cursor c;
	const struct tapir_eh_common *common;
	uint64_t va, end_va;
	struct tapir_eh_state now, initial, remembered[TAPIR_EH_MAX_REMEMBERED];
	struct tapir_eh_row *rows; /* of this function */
	uint32_t row_cap, row_cnt;
	uint32_t remembered_cnt;
	uint32_t has_frame; /* its frame pointer is set somewhere */
	uint32_t is_cut, pad0;
};

/* The state up to va: a row, or, where the frame pointer leads on, none. */
static inline void tapir_eh__advance(struct tapir_eh_machine *m, uint64_t va)
{
	struct tapir_eh_row *row = m->rows + m->row_cnt;

	if (va > m->end_va)
		va = m->end_va;
	if (va <= m->va)
		return;
	m->has_frame |= m->now.cfa_reg == TAPIR_EH_RBP;
	if (m->now.cfa_reg == TAPIR_EH_RSP && m->now.ra_off == -8 && m->now.cfa_off >= 8 &&
	    m->now.cfa_off <= TAPIR_EH_MAX_CFA && !(m->now.cfa_off & 7) &&
	    va - m->va <= 0xffffffffu) {
		if (m->row_cnt == m->row_cap) {
			m->is_cut = 1;
			m->c.bad = 1;
			return;
		}
		row->start_va = m->va;
		row->size = (uint32_t)(va - m->va);
		row->cfa_off = (uint32_t)m->now.cfa_off;
		m->row_cnt++;
	}
	m->va = va;
}

static inline uint64_t tapir_eh__scaled(const struct tapir_eh_machine *m, uint64_t factor)
{
	return factor * (uint64_t)m->common->data_align;
}

/* The rule of a register: where it was saved, from the CFA; 0: nowhere. */
static inline void tapir_eh__rule(struct tapir_eh_machine *m, uint64_t reg, uint64_t off)
{
	if (reg == TAPIR_EH_RA)
		m->now.ra_off = (int64_t)off;
}

/* How many LEB operands the other instructions have, and whether a block follows; -1: unknown. */
static inline int tapir_eh__operands(unsigned op, int *has_block)
{
	*has_block = op == 0x0f || op == 0x10 || op == 0x16;
	switch (op) {
	case 0x00: /* nop */
	case 0x0a: /* remember_state, restore_state: elsewhere */
	case 0x0b:
	case 0x0f: /* def_cfa_expression */
		return 0;
	case 0x07: /* undefined, same_value, args_size */
	case 0x08:
	case 0x2e:
	case 0x10: /* expression, val_expression */
	case 0x16:
		return 1;
	case 0x09: /* register, val_offset, val_offset_sf */
	case 0x14:
	case 0x15:
		return 2;
	default:
		return -1;
	}
}

static inline void tapir_eh__other(struct tapir_eh_machine *m, unsigned op)
{
	int has_block, operand_cnt = tapir_eh__operands(op, &has_block);

	if (operand_cnt < 0)
		m->c.bad = 1;
	if (operand_cnt > 0 && op != 0x2e)
		tapir_eh__rule(m, tapir_eh__uleb(&m->c), 0);
	if (operand_cnt == 2 || op == 0x2e)
		(void)tapir_eh__uleb(&m->c);
	if (has_block)
		tapir_eh__skip(&m->c, tapir_eh__uleb(&m->c));
	if (op == 0x0f)
		m->now.cfa_reg = UINT64_MAX;
	if (op == 0x0a && m->remembered_cnt == TAPIR_EH_MAX_REMEMBERED)
		m->c.bad = 1;
	else if (op == 0x0a)
		m->remembered[m->remembered_cnt++] = m->now;
	if (op == 0x0b && !m->remembered_cnt)
		m->c.bad = 1;
	else if (op == 0x0b)
		m->now = m->remembered[--m->remembered_cnt];
}

static inline void tapir_eh__step(struct tapir_eh_machine *m, unsigned op)
{
	struct tapir_eh_cursor *c = &m->c;
	uint64_t reg;

	switch (op) {
	case 0x01: /* set_loc */
		tapir_eh__advance(m, tapir_eh__pointer(c, m->common->encoding));
		break;
	case 0x02: /* advance_loc1, 2, 4 */
	case 0x03:
	case 0x04:
		tapir_eh__advance(m, m->va + tapir_eh__take(c, 1u << (op - 2)) *
						     m->common->code_align);
		break;
	case 0x05: /* offset_extended, offset_extended_sf */
	case 0x11:
		reg = tapir_eh__uleb(c);
		tapir_eh__rule(m, reg, tapir_eh__scaled(m, tapir_eh__leb(c, op == 0x11)));
		break;
	case 0x06: /* restore_extended */
		tapir_eh__rule(m, tapir_eh__uleb(c), (uint64_t)m->initial.ra_off);
		break;
	case 0x0c: /* def_cfa, def_cfa_sf */
		m->now.cfa_reg = tapir_eh__uleb(c);
		m->now.cfa_off = tapir_eh__uleb(c);
		break;
	case 0x12:
		m->now.cfa_reg = tapir_eh__uleb(c);
		m->now.cfa_off = tapir_eh__scaled(m, tapir_eh__leb(c, 1));
		break;
	case 0x0d: /* def_cfa_register */
		m->now.cfa_reg = tapir_eh__uleb(c);
		break;
	case 0x0e: /* def_cfa_offset, def_cfa_offset_sf */
		m->now.cfa_off = tapir_eh__uleb(c);
		break;
	case 0x13:
		m->now.cfa_off = tapir_eh__scaled(m, tapir_eh__leb(c, 1));
		break;
	default:
		tapir_eh__other(m, op);
	}
}

static inline void tapir_eh__run(struct tapir_eh_machine *m, uint64_t off, uint64_t end)
{
	m->c.at = off;
	m->c.end = end;
	while (m->c.at < m->c.end && !m->c.bad) {
		unsigned op = (unsigned)tapir_eh__take(&m->c, 1), low = op & 0x3f;

		if ((op & 0xc0) == 0x40) /* advance_loc */
			tapir_eh__advance(m, m->va + low * m->common->code_align);
		else if ((op & 0xc0) == 0x80) /* offset */
			tapir_eh__rule(m, low, tapir_eh__scaled(m, tapir_eh__uleb(&m->c)));
		else if (op & 0xc0) /* restore */
			tapir_eh__rule(m, low, (uint64_t)m->initial.ra_off);
		else
			tapir_eh__step(m, op);
	}
}

/* Of a function with a frame only what lies deep is kept: the number of rows left. */
static inline uint32_t tapir_eh__keep(const struct tapir_eh_machine *m, int with_all)
{
	uint32_t cnt = 0;

	if (m->c.bad)
		return 0;
	for (uint32_t i = 0; i < m->row_cnt; i++)
		if (with_all || !m->has_frame || m->rows[i].cfa_off > TAPIR_EH_DEEP)
			m->rows[cnt++] = m->rows[i];
	return cnt;
}

/* Functions that begin in a range: of them, all rows there are. */
struct tapir_eh_want {
	uint64_t from_va, until_va;
};

/* The rows of the function described at c, which is inside an FDE: their number. */
static inline uint32_t tapir_eh__function(struct tapir_eh_cursor *c,
					  const struct tapir_eh_common *common,
					  const struct tapir_eh_want *want,
					  struct tapir_eh_row *rows, uint32_t cap, uint32_t *is_cut)
{
	struct tapir_eh_machine m;

	m.va = tapir_eh__pointer(c, common->encoding);
	m.end_va = m.va + tapir_eh__pointer(c, common->encoding & 0x0f);
	if (common->has_augmentation)
		tapir_eh__skip(c, tapir_eh__uleb(c));
	m.c = *c;
	m.common = common;
	m.rows = rows;
	m.row_cap = cap;
	m.row_cnt = m.remembered_cnt = m.has_frame = m.is_cut = m.pad0 = 0;
	m.now.cfa_reg = UINT64_MAX;
	m.now.cfa_off = 0;
	m.now.ra_off = 0;
	m.initial = m.now;
	if (c->bad || m.end_va <= m.va ||
	    (want && (m.va < want->from_va || m.va >= want->until_va)))
		return 0;
	tapir_eh__run(&m, common->code_off, common->code_end);
	m.initial = m.now;
	tapir_eh__run(&m, c->at, c->end);
	tapir_eh__advance(&m, m.end_va);
	*is_cut |= m.is_cut;
	return tapir_eh__keep(&m, want != 0);
}

/*
 * want: NULL, or which functions. Fills rows, at most cap, in the order of the section, and returns
 * their number. *is_cut: not all had room, some functions are missing. Rows of a hostile section
 * may overlap.
 */
static inline uint32_t tapir_eh__rows(const struct tapir_eh_section *section,
				      const struct tapir_eh_want *want, struct tapir_eh_row *rows,
				      uint32_t cap, uint32_t *is_cut)
{
	struct tapir_eh_common common;
	struct tapir_eh_cursor c;
	uint64_t off = 0, id_off, cie_off, last_cie_off = UINT64_MAX;
	uint32_t id, cnt = 0, ok = 0;

	*is_cut = 0;
	for (; tapir_eh__enter(section, off, &c, &id_off, &id); off = c.end) {
		if (!id || id > id_off)
			continue; /* a CIE, or an FDE whose CIE lies nowhere */
		cie_off = id_off - id;
		if (cie_off != last_cie_off)
			ok = (uint32_t)tapir_eh__cie(section, cie_off, &common);
		last_cie_off = cie_off;
		if (ok)
			cnt += tapir_eh__function(&c, &common, want, rows + cnt, cap - cnt, is_cut);
	}
	return cnt;
}

#endif
