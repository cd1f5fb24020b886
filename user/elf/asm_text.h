/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * asm_text.h - the parts of an x86-64 operand in AT&T syntax: registers, sums, addresses.
 *
 * The lower half of operand.c. Each function consumes its part at the front of the text and returns
 * false if it is not there; what was consumed until then stays consumed. The text need not end with
 * a NUL. No state; any thread.
 */
#ifndef TAPIR_USER_ASM_TEXT_H
#define TAPIR_USER_ASM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_asm {
	const char *pos, *end;
};

/* A register, or a part of one, by its place in pt_regs (enum tapir_reg). */
struct tapir_asm_register {
	uint8_t reg, bytes, shift;
};

/* A sum of numbers and at most one symbol. */
struct tapir_asm_sum {
	uint64_t number;    /* modulo 2^64, as the assembler computes */
	const char *symbol; /* NULL: none. Borrowed from the text, like reloc */
	size_t symbol_len;
	const char *reloc; /* the part after its '@' */
	size_t reloc_len;
	bool present;
};

struct tapir_asm_address {
	uint8_t base, index; /* TAPIR_REG_NONE: absent */
	uint8_t scale_shift;
	bool present;
};

char tapir_asm__peek(const struct tapir_asm *c); /* NUL at the end */
/* Returns true if only spaces are left. */
bool tapir_asm__at_end(struct tapir_asm *c);
/* Consumes the character, and spaces before it. */
bool tapir_asm__take(struct tapir_asm *c, char want);
bool tapir_asm__take_word(struct tapir_asm *c, const char *word); /* in any case */
/*
 * Reads a number as gas does: 0x is hexadecimal, a leading 0 octal. A number of more than 64 bits
 * is refused.
 */
bool tapir_asm__take_number(struct tapir_asm *c, uint64_t *out);
/* Consumes the name of a register, behind the '%'. */
bool tapir_asm__take_register(struct tapir_asm *c, struct tapir_asm_register *out);
/*
 * Returns true if a vector register follows (x87, MMX, SSE, AVX): the kernel does not hand these to
 * a probe. Consumes nothing.
 */
bool tapir_asm__is_vector_register(struct tapir_asm c);
/* Both return true, and consume nothing, when the part is absent; present says which. */
bool tapir_asm__take_sum(struct tapir_asm *c, struct tapir_asm_sum *s);
bool tapir_asm__take_address(struct tapir_asm *c, struct tapir_asm_address *a);

#endif
