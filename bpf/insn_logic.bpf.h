/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * insn_logic.bpf.h - how long an x86-64 instruction is, for those that compilers of managed
 * languages put into the body of a method and that leave the stack pointer alone. Pushes, pops,
 * jumps, returns, AVX-512 and whatever is rare have no length here: the caller stops there.
 * Compiled for BPF and for host tests.
 */
#ifndef TAPIR_BPF_INSN_LOGIC_H
#define TAPIR_BPF_INSN_LOGIC_H

#include "bpf/unwind.h"

#define TAPIR_INSN_INLINE static inline __attribute__((always_inline))

/* The bytes that follow an opcode, a letter for each shape. */
enum tapir_insn_shape {
	TAPIR_INSN_NONE = '-',	/* unknown */
	TAPIR_INSN_ALONE = 'a', /* nothing */
	TAPIR_INSN_MODRM = 'm',
	TAPIR_INSN_MODRM_8 = 'b', /* and a byte */
	TAPIR_INSN_MODRM_32 = 'd',
	TAPIR_INSN_8 = '1', /* a byte, no ModRM */
	TAPIR_INSN_32 = '4'
};

/* clang-format off */
static const uint8_t tapir_insn_shapes[256] =
	"mmmm14--mmmm14--" "mmmm14--mmmm14--" "mmmm14--mmmm14--" "mmmm14--mmmm14--"
	"----------------" "----------------" "---m-----d-b----" "1111111111111111"
	"bd-bmmmmmmmm-m--" "a-------aa------" "--------14aa----" "1111111144444444"
	"bb----bd--------" "mmmm------------" "--------4-------" "------mm------mm";
/* ... of 0f xx, which VEX shares. */
static const uint8_t tapir_insn_shapes_0f[256] =
	"-------------m--" "mmmmmmmmm------m" "--------mmmmmmmm" "----------------"
	"mmmmmmmmmmmmmmmm" "mmmmmmmmmmmmmmmm" "mmmmmmmmmmmmmmmm" "bbbbmmma----mmmm"
	"4444444444444444" "mmmmmmmmmmmmmmmm" "---mbm-----mbmmm" "mm-m--mmm-bmmmmm"
	"mmbmbbbmaaaaaaaa" "mmmmmmmmmmmmmmmm" "mmmmmmmmmmmmmmmm" "mmmmmmmmmmmmmmm-";
/* clang-format on */

struct tapir_insn {
	uint32_t at; /* of the opcode */
	uint32_t rex;
	uint32_t has_66, is_0f;
	uint32_t shape; /* enum tapir_insn_shape */
};

/* Reads bytes[0..15]: after an instruction of 15 bytes there is one more. */
TAPIR_INSN_INLINE uint32_t tapir_insn__byte(const uint8_t *bytes, uint32_t at)
{
	__asm__ volatile("" : "+r"(at)); /* else the clamp goes */
	return bytes[at & 15];
}

/* ModRM, SIB and displacement. */
TAPIR_INSN_INLINE uint32_t tapir_insn__modrm_bytes(const uint8_t *bytes, uint32_t at)
{
	uint32_t modrm = tapir_insn__byte(bytes, at), mod = modrm >> 6, rm = modrm & 7;
	uint32_t has_sib = mod != 3 && rm == 4;
	uint32_t base = has_sib ? tapir_insn__byte(bytes, at + 1) & 7 : rm;

	if (mod == 1)
		return 2 + has_sib;
	if (mod == 2 || (mod == 0 && base == 5))
		return 5 + has_sib;
	return 1 + has_sib;
}

TAPIR_INSN_INLINE void tapir_insn__take_prefixes(struct tapir_insn *insn, const uint8_t *bytes)
{
	uint32_t byte = tapir_insn__byte(bytes, 0);

	insn->has_66 = byte == 0x66;
	insn->at = insn->has_66 || byte == 0xf2 || byte == 0xf3 || byte == 0xf0;
	byte = tapir_insn__byte(bytes, insn->at);
	insn->rex = (byte & 0xf0) == 0x40 ? byte : 0;
	insn->at += insn->rex != 0;
}

TAPIR_INSN_INLINE void tapir_insn__take_vex(struct tapir_insn *insn, const uint8_t *bytes,
					    uint32_t op)
{
	uint32_t map = op == 0xc5 ? 1 : tapir_insn__byte(bytes, insn->at + 1) & 31;

	insn->is_0f = 1;
	insn->at += op == 0xc5 ? 2 : 3;
	insn->shape = map == 1	 ? tapir_insn_shapes_0f[tapir_insn__byte(bytes, insn->at)]
		      : map == 2 ? TAPIR_INSN_MODRM
		      : map == 3 ? TAPIR_INSN_MODRM_8
				 : TAPIR_INSN_NONE;
}

TAPIR_INSN_INLINE void tapir_insn__take_0f(struct tapir_insn *insn, const uint8_t *bytes)
{
	uint32_t op = tapir_insn__byte(bytes, ++insn->at);

	insn->is_0f = 1;
	insn->shape = tapir_insn_shapes_0f[op];
	if (op == 0x38 || op == 0x3a) {
		insn->at++;
		insn->shape = op == 0x38 ? TAPIR_INSN_MODRM : TAPIR_INSN_MODRM_8;
	}
}

/* The shape of test, not, neg, mul, inc, dec, call by their ModRM. */
TAPIR_INSN_INLINE uint32_t tapir_insn__group_shape(uint32_t op, uint32_t reg)
{
	if (op == 0xff) /* inc, dec, call; not jmp and push */
		return reg <= 2 ? TAPIR_INSN_MODRM : TAPIR_INSN_NONE;
	if (op == 0xfe || reg > 1)
		return TAPIR_INSN_MODRM;
	return op == 0xf6 ? TAPIR_INSN_MODRM_8 : TAPIR_INSN_MODRM_32;
}

/* Is one of its operands the stack pointer itself? (Not asked of vector instructions.) */
TAPIR_INSN_INLINE uint32_t tapir_insn__names_sp(uint32_t op, uint32_t rex, uint32_t modrm)
{
	uint32_t is_group = (op >= 0x80 && op <= 0x83) || op >= 0xc0;

	return (modrm >= 0xc0 && (modrm & 7) == 4 && !(rex & 1)) ||
	       (!is_group && (modrm >> 3 & 7) == 4 && !(rex & 4));
}

TAPIR_INSN_INLINE void tapir_insn__take_opcode(struct tapir_insn *insn, const uint8_t *bytes)
{
	uint32_t op = tapir_insn__byte(bytes, insn->at), modrm;

	if (op == 0xc4 || op == 0xc5) {
		tapir_insn__take_vex(insn, bytes, op);
		return;
	}
	if (op == 0x0f) {
		tapir_insn__take_0f(insn, bytes);
		return;
	}
	modrm = tapir_insn__byte(bytes, insn->at + 1);
	insn->shape = tapir_insn_shapes[op];
	if (op == 0xf6 || op == 0xf7 || op >= 0xfe)
		insn->shape = tapir_insn__group_shape(op, modrm >> 3 & 7);
	if (insn->shape >= 'b' && tapir_insn__names_sp(op, insn->rex, modrm))
		insn->shape = TAPIR_INSN_NONE;
	if (op >= 0xb8 && op <= 0xbf && insn->rex & 8)
		insn->at += 4; /* mov r64, imm64 */
}

/* The length of the instruction at bytes[0], of which 16 are there; 0: see above. */
TAPIR_INSN_INLINE uint32_t tapir_insn__bytes(const uint8_t *bytes)
{
	struct tapir_insn insn = {};
	uint32_t len;

	tapir_insn__take_prefixes(&insn, bytes);
	tapir_insn__take_opcode(&insn, bytes);
	len = insn.at + 1;
	switch (insn.shape) {
	case TAPIR_INSN_ALONE:
		return len;
	case TAPIR_INSN_8:
		return len + 1;
	case TAPIR_INSN_32:
		return insn.has_66 ? 0 : len + 4;
	case TAPIR_INSN_MODRM:
		return len + tapir_insn__modrm_bytes(bytes, len);
	case TAPIR_INSN_MODRM_8:
		return len + tapir_insn__modrm_bytes(bytes, len) + 1;
	case TAPIR_INSN_MODRM_32:
		return insn.has_66 ? 0 : len + tapir_insn__modrm_bytes(bytes, len) + 4;
	default:
		return 0;
	}
}

#endif
