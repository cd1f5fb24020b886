/* SPDX-License-Identifier: MIT */
/*
 * eh_frame.h - reads .eh_frame and .debug_frame: CIEs, FDEs, and the state machine that gives each
 * instruction of a function its rules: where its frame ends (the CFA), and where the caller's frame
 * pointer and the return address are.
 *
 * The bytes may be hostile: every length is checked and work is bounded by the section's size.
 * x86-64. Sources: DWARF 5, 6.4; LSB 5.0 Core, "Exception Frames"; System V ABI AMD64, figure 3.36
 * (register numbers).
 *
 * Allocates nothing, keeps no state; any thread, signal handlers too. C11 and C++11.
 */
#ifndef TAPIR_EH_FRAME_H
#define TAPIR_EH_FRAME_H

#include <stdint.h>

#define TAPIR_EH_RBP		6
#define TAPIR_EH_RSP		7
#define TAPIR_EH_RA		16
#define TAPIR_EH_NO_REG		UINT64_MAX
#define TAPIR_EH_CIE		UINT64_MAX /* the id of an entry that is a CIE */
#define TAPIR_EH_MAX_REMEMBERED 16
#define TAPIR_EH_MAX_COMMON	256 /* bytes of program that functions share; real ones: 12 */

struct tapir_eh_section {
	const uint8_t *data;
	uint64_t bytes;
	uint64_t va;	   /* where its first byte is */
	uint32_t is_debug; /* .debug_frame */
	uint32_t pad0;
};

/* ---- reading: past the end it returns 0 and sets bad -------------------------------------- */

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

/* LEB128: seven bits per byte, the lowest first; is_signed: the last bit is extended upwards. */
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
	uint32_t is_signal; /* its functions return from signal handlers */
	uint32_t pad0;
};

/* Enters the entry at off, after its length and id. 0: there is none. */
static inline int tapir_eh__enter(const struct tapir_eh_section *section, uint64_t off,
				  struct tapir_eh_cursor *c, uint64_t *id_off, uint64_t *id)
{
	unsigned id_bytes = 4;
	uint64_t len;

	c->section = section;
	c->at = off;
	c->end = section->bytes;
	c->bad = off > section->bytes;
	c->pad0 = 0;
	len = tapir_eh__take(c, 4);
	if (len == 0xffffffffu) {
		len = tapir_eh__take(c, 8);
		id_bytes = section->is_debug ? 8 : 4;
	}
	if (c->bad || len < 4 || len > c->end - c->at)
		return 0;
	c->end = c->at + len;
	*id_off = c->at;
	*id = tapir_eh__take(c, id_bytes);
	if (section->is_debug && *id == (id_bytes == 8 ? UINT64_MAX : UINT32_MAX))
		*id = TAPIR_EH_CIE;
	else if (!section->is_debug && !*id)
		*id = TAPIR_EH_CIE;
	return !c->bad;
}

/* The offset of the CIE of the FDE with that id; UINT64_MAX: not in the section. */
static inline uint64_t tapir_eh__cie_off(const struct tapir_eh_section *section, uint64_t id_off,
					 uint64_t id)
{
	if (section->is_debug)
		return id < section->bytes ? id : UINT64_MAX;
	return id <= id_off ? id_off - id : UINT64_MAX;
}

/* The data that 'z' announces: its length, then the data of each letter. */
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
		else if (*letters == 'S')
			out->is_signal = 1;
		else if (*letters != 'B')
			break;
	}
	c->at = end;
}

/*
 * Reads the CIE at off, which functions share (DWARF 5, 6.4.1). 0: it is malformed, of a kind that
 * compilers for x86-64 do not write, or its program is too long; out is undefined then.
 */
static inline int tapir_eh__cie(const struct tapir_eh_section *section, uint64_t off,
				struct tapir_eh_common *out)
{
	struct tapir_eh_cursor c;
	uint64_t id_off, version;
	const uint8_t *letters;
	uint64_t id;
	uint32_t letter_cnt = 0;

	if (!tapir_eh__enter(section, off, &c, &id_off, &id) || id != TAPIR_EH_CIE)
		return 0;
	version = tapir_eh__take(&c, 1);
	letters = section->data + c.at;
	while (tapir_eh__take(&c, 1) && letter_cnt < 16)
		letter_cnt++;
	out->encoding = 0;
	out->is_signal = out->pad0 = 0;
	out->has_augmentation = letter_cnt && *letters == 'z';
	if (c.bad || letter_cnt == 16 || (letter_cnt && *letters != 'z'))
		return 0;
	if (section->is_debug && version >= 4 && tapir_eh__take(&c, 2) != 8)
		return 0; /* size of an address, size of a segment selector */
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

enum tapir_eh_kind {
	TAPIR_EH_SAME = 0,	 /* no rule: as it was */
	TAPIR_EH_SAVED = 1,	 /* at CFA + off */
	TAPIR_EH_UNDEFINED = 2,	 /* for a return address: there is no caller */
	TAPIR_EH_EXPRESSION = 3, /* at the address that `bytes` of the section at `off` compute */
	TAPIR_EH_OTHER = 4	 /* in another register, or a value */
};

struct tapir_eh_rule {
	int64_t off;
	uint32_t bytes;
	uint32_t kind; /* enum tapir_eh_kind */
};

struct tapir_eh_state {
	uint64_t
		cfa_reg; /* TAPIR_EH_NO_REG: the expression cfa_bytes long at cfa_off, or nothing */
	int64_t cfa_off;
	uint32_t cfa_bytes;
	uint32_t pad0;
	struct tapir_eh_rule fp, ra;
};

/* Receives each row of a function: state holds in [from_va, until_va). */
typedef void (*tapir_eh_row_fn)(void *ctx, uint64_t from_va, uint64_t until_va,
				const struct tapir_eh_state *state);

struct tapir_eh_machine {
	struct tapir_eh_cursor c;
	const struct tapir_eh_common *common;
	tapir_eh_row_fn fn;
	void *ctx;
	uint64_t va, end_va;
	struct tapir_eh_state now, initial, remembered[TAPIR_EH_MAX_REMEMBERED];
	uint32_t remembered_cnt;
	uint32_t pad0;
};

/* The state holds up to va: reports it, and continues there. Going back is ignored. */
static inline void tapir_eh__advance(struct tapir_eh_machine *m, uint64_t va)
{
	if (va > m->end_va)
		va = m->end_va;
	if (va <= m->va)
		return;
	m->fn(m->ctx, m->va, va, &m->now);
	m->va = va;
}

/* Factored offsets may be anything: no signed overflow. */
static inline int64_t tapir_eh__scaled(const struct tapir_eh_machine *m, uint64_t factor)
{
	return (int64_t)(factor * (uint64_t)m->common->data_align);
}

/* NULL for all registers but the frame pointer and the return address: nothing else is followed. */
static inline struct tapir_eh_rule *tapir_eh__rule_of(struct tapir_eh_state *state, uint64_t reg)
{
	if (reg == TAPIR_EH_RBP)
		return &state->fp;
	return reg == TAPIR_EH_RA ? &state->ra : 0;
}

static inline void tapir_eh__set(struct tapir_eh_machine *m, uint64_t reg, uint32_t kind,
				 int64_t off, uint32_t bytes)
{
	struct tapir_eh_rule *rule = tapir_eh__rule_of(&m->now, reg);

	if (!rule)
		return;
	rule->kind = kind;
	rule->off = off;
	rule->bytes = bytes;
}

static inline void tapir_eh__restore(struct tapir_eh_machine *m, uint64_t reg)
{
	struct tapir_eh_rule *rule = tapir_eh__rule_of(&m->now, reg);

	if (rule)
		*rule = *tapir_eh__rule_of(&m->initial, reg);
}

/* An expression: its place in the section and its length. */
static inline int64_t tapir_eh__block(struct tapir_eh_cursor *c, uint32_t *bytes)
{
	uint64_t len = tapir_eh__uleb(c), at = c->at;

	tapir_eh__skip(c, len);
	if (len > UINT32_MAX)
		c->bad = 1;
	*bytes = c->bad ? 0 : (uint32_t)len;
	return (int64_t)at;
}

static inline void tapir_eh__set_cfa(struct tapir_eh_machine *m, uint64_t reg, int64_t off)
{
	m->now.cfa_reg = reg;
	m->now.cfa_off = off;
	m->now.cfa_bytes = 0;
}

static inline void tapir_eh__remember(struct tapir_eh_machine *m)
{
	if (m->remembered_cnt == TAPIR_EH_MAX_REMEMBERED)
		m->c.bad = 1;
	else
		m->remembered[m->remembered_cnt++] = m->now;
}

static inline void tapir_eh__recall(struct tapir_eh_machine *m)
{
	if (m->remembered_cnt)
		m->now = m->remembered[--m->remembered_cnt];
	else
		m->c.bad = 1;
}

/* Rules of registers. 0: the instruction is another one. */
static inline int tapir_eh__step_rule(struct tapir_eh_machine *m, unsigned op)
{
	struct tapir_eh_cursor *c = &m->c;
	uint64_t reg;
	int64_t off = 0;
	uint32_t bytes = 0;

	switch (op) {
	case 0x05: /* offset_extended, offset_extended_sf */
	case 0x11:
		reg = tapir_eh__uleb(c);
		off = tapir_eh__scaled(m, tapir_eh__leb(c, op == 0x11));
		tapir_eh__set(m, reg, TAPIR_EH_SAVED, off, 0);
		return 1;
	case 0x06: /* restore_extended */
		tapir_eh__restore(m, tapir_eh__uleb(c));
		return 1;
	case 0x07: /* undefined */
		tapir_eh__set(m, tapir_eh__uleb(c), TAPIR_EH_UNDEFINED, 0, 0);
		return 1;
	case 0x08: /* same_value */
		tapir_eh__set(m, tapir_eh__uleb(c), TAPIR_EH_SAME, 0, 0);
		return 1;
	case 0x09: /* register, val_offset, val_offset_sf */
	case 0x14:
	case 0x15:
		reg = tapir_eh__uleb(c);
		(void)tapir_eh__uleb(c);
		tapir_eh__set(m, reg, TAPIR_EH_OTHER, 0, 0);
		return 1;
	case 0x10: /* expression, val_expression */
	case 0x16:
		reg = tapir_eh__uleb(c);
		off = tapir_eh__block(c, &bytes);
		tapir_eh__set(m, reg, op == 0x10 ? TAPIR_EH_EXPRESSION : TAPIR_EH_OTHER, off,
			      bytes);
		return 1;
	default:
		return 0;
	}
}

/* Steps over an instruction that says where the frame ends. 0: the instruction is another one. */
static inline int tapir_eh__step_cfa(struct tapir_eh_machine *m, unsigned op)
{
	struct tapir_eh_cursor *c = &m->c;
	uint64_t reg;
	uint32_t bytes;
	int64_t off;

	switch (op) {
	case 0x0c: /* def_cfa, def_cfa_sf */
		reg = tapir_eh__uleb(c);
		tapir_eh__set_cfa(m, reg, (int64_t)tapir_eh__uleb(c));
		return 1;
	case 0x12:
		reg = tapir_eh__uleb(c);
		tapir_eh__set_cfa(m, reg, tapir_eh__scaled(m, tapir_eh__leb(c, 1)));
		return 1;
	case 0x0d: /* def_cfa_register */
		tapir_eh__set_cfa(m, tapir_eh__uleb(c), m->now.cfa_off);
		return 1;
	case 0x0e: /* def_cfa_offset, def_cfa_offset_sf */
		tapir_eh__set_cfa(m, m->now.cfa_reg, (int64_t)tapir_eh__uleb(c));
		return 1;
	case 0x13:
		tapir_eh__set_cfa(m, m->now.cfa_reg, tapir_eh__scaled(m, tapir_eh__leb(c, 1)));
		return 1;
	case 0x0f: /* def_cfa_expression */
		off = tapir_eh__block(c, &bytes);
		tapir_eh__set_cfa(m, TAPIR_EH_NO_REG, off);
		m->now.cfa_bytes = bytes;
		return 1;
	default:
		return 0;
	}
}

/*
 * One instruction without an operand in its opcode (DWARF 5, 6.4.2). An unknown one ends the
 * program: where the next begins is not known.
 */
static inline void tapir_eh__step(struct tapir_eh_machine *m, unsigned op)
{
	struct tapir_eh_cursor *c = &m->c;

	switch (op) {
	case 0x00: /* nop */
		break;
	case 0x01: /* set_loc */
		tapir_eh__advance(m, tapir_eh__pointer(c, m->common->encoding));
		break;
	case 0x02: /* advance_loc1, 2, 4 */
	case 0x03:
	case 0x04:
		tapir_eh__advance(m, m->va + tapir_eh__take(c, 1u << (op - 2)) *
						     m->common->code_align);
		break;
	case 0x0a:
		tapir_eh__remember(m);
		break;
	case 0x0b:
		tapir_eh__recall(m);
		break;
	case 0x2e: /* GNU_args_size */
		(void)tapir_eh__uleb(c);
		break;
	default:
		if (!tapir_eh__step_rule(m, op) && !tapir_eh__step_cfa(m, op))
			c->bad = 1;
	}
}

/* Runs the program in [off, end) of the section; m->c.bad says if it ended early. */
static inline void tapir_eh__run(struct tapir_eh_machine *m, uint64_t off, uint64_t end)
{
	m->c.at = off;
	m->c.end = end;
	while (m->c.at < m->c.end && !m->c.bad) {
		unsigned op = (unsigned)tapir_eh__take(&m->c, 1), low = op & 0x3f;

		if ((op & 0xc0) == 0x40) /* advance_loc */
			tapir_eh__advance(m, m->va + low * m->common->code_align);
		else if ((op & 0xc0) == 0x80) /* offset */
			tapir_eh__set(m, low, TAPIR_EH_SAVED,
				      tapir_eh__scaled(m, tapir_eh__uleb(&m->c)), 0);
		else if (op & 0xc0) /* restore */
			tapir_eh__restore(m, low);
		else
			tapir_eh__step(m, op);
	}
}

/* ---- functions --------------------------------------------------------------------------- */

struct tapir_eh_function {
	uint64_t start_va, end_va;
	uint64_t code_off, code_end; /* its program, in the section */
};

/* The function that an FDE describes; c is after its id. 0: none, or malformed. */
static inline int tapir_eh__function(struct tapir_eh_cursor *c,
				     const struct tapir_eh_common *common,
				     struct tapir_eh_function *out)
{
	out->start_va = tapir_eh__pointer(c, common->encoding);
	out->end_va = out->start_va + tapir_eh__pointer(c, common->encoding & 0x0f);
	if (common->has_augmentation)
		tapir_eh__skip(c, tapir_eh__uleb(c));
	out->code_off = c->at;
	out->code_end = c->end;
	return !c->bad && out->end_va > out->start_va;
}

/* Calls fn for each row of a function. 0: it ended at an instruction that is broken or unknown. */
static inline int tapir_eh__each_row(const struct tapir_eh_section *section,
				     const struct tapir_eh_common *common,
				     const struct tapir_eh_function *function, tapir_eh_row_fn fn,
				     void *ctx)
{
	struct tapir_eh_machine m;

	m.c.section = section;
	m.c.bad = m.c.pad0 = 0;
	m.common = common;
	m.fn = fn;
	m.ctx = ctx;
	m.va = function->start_va;
	m.end_va = function->end_va;
	m.remembered_cnt = m.pad0 = 0;
	m.now.fp.kind = m.now.ra.kind = TAPIR_EH_SAME;
	m.now.fp.off = m.now.ra.off = 0;
	m.now.fp.bytes = m.now.ra.bytes = m.now.pad0 = 0;
	tapir_eh__set_cfa(&m, TAPIR_EH_NO_REG, 0);
	m.initial = m.now;
	tapir_eh__run(&m, common->code_off, common->code_end);
	m.initial = m.now;
	m.remembered_cnt = 0;
	tapir_eh__run(&m, function->code_off, function->code_end);
	if (m.c.bad)
		return 0;
	tapir_eh__advance(&m, m.end_va);
	return 1;
}

/* ---- one function after the other --------------------------------------------------------- */

struct tapir_eh_iter {
	const struct tapir_eh_section *section;
	uint64_t off;
	uint64_t cie_off; /* of the CIE in common, and 1; 0: none was read */
	struct tapir_eh_common common;
	uint32_t is_cie_ok;
	uint32_t broken_cnt; /* entries that make no sense */
};

/* Starts with the first entry; section is borrowed for as long as the iterator is used. */
static inline void tapir_eh__begin(struct tapir_eh_iter *it, const struct tapir_eh_section *section)
{
	it->section = section;
	it->off = it->cie_off = 0;
	it->is_cie_ok = it->broken_cnt = 0;
	it->common.encoding = it->common.has_augmentation = 0;
	it->common.is_signal = it->common.pad0 = 0;
}

/* The next function that the section describes, by it->common. 0: there are no more. */
static inline int tapir_eh__next(struct tapir_eh_iter *it, struct tapir_eh_function *out)
{
	struct tapir_eh_cursor c;
	uint64_t id_off, id, cie_off;

	while (tapir_eh__enter(it->section, it->off, &c, &id_off, &id)) {
		it->off = c.end;
		if (id == TAPIR_EH_CIE)
			continue;
		cie_off = tapir_eh__cie_off(it->section, id_off, id);
		if (cie_off != UINT64_MAX && cie_off + 1 != it->cie_off) {
			it->is_cie_ok = (uint32_t)tapir_eh__cie(it->section, cie_off, &it->common);
			it->cie_off = cie_off + 1;
		}
		if (cie_off != UINT64_MAX && it->is_cie_ok &&
		    tapir_eh__function(&c, &it->common, out))
			return 1;
		it->broken_cnt++;
	}
	return 0;
}

#endif
