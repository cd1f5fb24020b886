// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the parts of an x86-64 operand as gcc and clang print them. This file knows how the parts
 * are written; operand.c knows what they mean.
 */
#include "elf/asm_text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "bpf/control.h"

/* ---- text ------------------------------------------------------------------------------ */

char tapir_asm__peek(const struct tapir_asm *c)
{
	return c->pos < c->end ? *c->pos : '\0';
}

static void skip_spaces(struct tapir_asm *c)
{
	while (tapir_asm__peek(c) == ' ' || tapir_asm__peek(c) == '\t')
		c->pos++;
}

bool tapir_asm__take(struct tapir_asm *c, char want)
{
	skip_spaces(c);
	if (c->pos == c->end || *c->pos != want)
		return false;
	c->pos++;
	return true;
}

bool tapir_asm__take_word(struct tapir_asm *c, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(c->end - c->pos) < len || strncasecmp(c->pos, word, len) != 0)
		return false;
	c->pos += len;
	return true;
}

bool tapir_asm__at_end(struct tapir_asm *c)
{
	skip_spaces(c);
	return c->pos == c->end;
}

static bool is_symbol_char(char ch, bool first)
{
	if (isalpha((unsigned char)ch) || ch == '_' || ch == '.' || (unsigned char)ch >= 0x80)
		return true;
	return !first && (isdigit((unsigned char)ch) || ch == '$');
}

static int digit_value(char ch)
{
	if (isdigit((unsigned char)ch))
		return ch - '0';
	ch = (char)tolower((unsigned char)ch);
	return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : 16;
}

bool tapir_asm__take_number(struct tapir_asm *c, uint64_t *out)
{
	const char *start;
	uint64_t value = 0, base = 10;

	if (tapir_asm__take_word(c, "0x"))
		base = 16;
	else if (tapir_asm__peek(c) == '0')
		base = 8;
	for (start = c->pos; c->pos < c->end; c->pos++) {
		unsigned digit = (unsigned)digit_value(*c->pos);

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return false;
	}
	*out = value;
	return c->pos != start;
}

/* ---- registers ------------------------------------------------------------------------- */

/* 64, 32, 16 and 8 bits, and bits 8 to 15, by their place in pt_regs. */
static const char *const register_names[TAPIR_REG_CNT][5] = {
	[TAPIR_REG_AX] = {"rax", "eax", "ax", "al", "ah"},
	[TAPIR_REG_BX] = {"rbx", "ebx", "bx", "bl", "bh"},
	[TAPIR_REG_CX] = {"rcx", "ecx", "cx", "cl", "ch"},
	[TAPIR_REG_DX] = {"rdx", "edx", "dx", "dl", "dh"},
	[TAPIR_REG_SI] = {"rsi", "esi", "si", "sil"},
	[TAPIR_REG_DI] = {"rdi", "edi", "di", "dil"},
	[TAPIR_REG_BP] = {"rbp", "ebp", "bp", "bpl"},
	[TAPIR_REG_SP] = {"rsp", "esp", "sp", "spl"},
	[TAPIR_REG_R8] = {"r8", "r8d", "r8w", "r8b"},
	[TAPIR_REG_R9] = {"r9", "r9d", "r9w", "r9b"},
	[TAPIR_REG_R10] = {"r10", "r10d", "r10w", "r10b"},
	[TAPIR_REG_R11] = {"r11", "r11d", "r11w", "r11b"},
	[TAPIR_REG_R12] = {"r12", "r12d", "r12w", "r12b"},
	[TAPIR_REG_R13] = {"r13", "r13d", "r13w", "r13b"},
	[TAPIR_REG_R14] = {"r14", "r14d", "r14w", "r14b"},
	[TAPIR_REG_R15] = {"r15", "r15d", "r15w", "r15b"},
	[TAPIR_REG_IP] = {"rip", "eip"},
};

static const uint8_t register_bytes[5] = {8, 4, 2, 1, 1};

static bool find_register(const char *name, size_t len, struct tapir_asm_register *out)
{
	for (uint8_t reg = 0; reg < TAPIR_REG_CNT; reg++)
		for (uint8_t form = 0; form < 5; form++) {
			const char *known = register_names[reg][form];

			if (!known || strlen(known) != len || strncasecmp(known, name, len) != 0)
				continue;
			*out = (struct tapir_asm_register){.reg = reg,
							   .bytes = register_bytes[form],
							   .shift = form == 4 ? 8 : 0};
			return true;
		}
	return false;
}

/* After the '%'. An unknown name is not consumed. */
bool tapir_asm__take_register(struct tapir_asm *c, struct tapir_asm_register *out)
{
	const char *end = c->pos;

	while (end < c->end && isalnum((unsigned char)*end))
		end++;
	if (!find_register(c->pos, (size_t)(end - c->pos), out))
		return false;
	c->pos = end;
	return true;
}

bool tapir_asm__is_vector_register(struct tapir_asm c)
{
	return tapir_asm__take_word(&c, "xmm") || tapir_asm__take_word(&c, "ymm") ||
	       tapir_asm__take_word(&c, "zmm") || tapir_asm__take_word(&c, "mm") ||
	       tapir_asm__take_word(&c, "st");
}

static bool take_wide_register(struct tapir_asm *c, uint8_t *reg)
{
	struct tapir_asm_register found;

	if (!tapir_asm__take(c, '%') || !tapir_asm__take_register(c, &found) || found.bytes != 8)
		return false;
	*reg = found.reg;
	return true;
}

/* ---- the parts of an operand ----------------------------------------------------------- */

static bool take_scale(struct tapir_asm *c, uint8_t *shift)
{
	uint64_t scale;

	skip_spaces(c);
	if (!tapir_asm__take_number(c, &scale) || scale > 8 || __builtin_popcountll(scale) != 1)
		return false;
	*shift = (uint8_t)__builtin_ctzll(scale);
	return true;
}

bool tapir_asm__take_address(struct tapir_asm *c, struct tapir_asm_address *a)
{
	*a = (struct tapir_asm_address){.base = TAPIR_REG_NONE, .index = TAPIR_REG_NONE};
	if (!tapir_asm__take(c, '('))
		return true;
	a->present = true;
	skip_spaces(c);
	if (tapir_asm__peek(c) == '%' && !take_wide_register(c, &a->base))
		return false;
	if (tapir_asm__take(c, ',')) {
		skip_spaces(c);
		if (!take_wide_register(c, &a->index) || a->index == TAPIR_REG_SP ||
		    a->index == TAPIR_REG_IP || a->base == TAPIR_REG_IP)
			return false;
		if (tapir_asm__take(c, ',') && !take_scale(c, &a->scale_shift))
			return false;
	}
	return (a->base != TAPIR_REG_NONE || a->index != TAPIR_REG_NONE) && tapir_asm__take(c, ')');
}

static bool take_symbol(struct tapir_asm *c, struct tapir_asm_sum *s)
{
	s->symbol = c->pos;
	while (c->pos < c->end && is_symbol_char(*c->pos, c->pos == s->symbol))
		c->pos++;
	s->symbol_len = (size_t)(c->pos - s->symbol);
	if (!s->symbol_len)
		return false;
	if (tapir_asm__peek(c) != '@')
		return true;
	s->reloc = ++c->pos;
	while (c->pos < c->end && isalnum((unsigned char)*c->pos))
		c->pos++;
	s->reloc_len = (size_t)(c->pos - s->reloc);
	return s->reloc_len != 0;
}

static bool take_term(struct tapir_asm *c, bool negative, struct tapir_asm_sum *s)
{
	uint64_t number;

	skip_spaces(c);
	if (isdigit((unsigned char)tapir_asm__peek(c))) {
		if (!tapir_asm__take_number(c, &number))
			return false;
		s->number += negative ? -number : number;
		return true;
	}
	return !s->symbol && !negative && take_symbol(c, s);
}

bool tapir_asm__take_sum(struct tapir_asm *c, struct tapir_asm_sum *s)
{
	bool negative;

	*s = (struct tapir_asm_sum){};
	skip_spaces(c);
	if (c->pos == c->end || tapir_asm__peek(c) == '(')
		return true;
	s->present = true;
	negative = tapir_asm__take(c, '-');
	if (!negative)
		tapir_asm__take(c, '+');
	do {
		if (!take_term(c, negative, s))
			return false;
		negative = tapir_asm__take(c, '-');
	} while (negative || tapir_asm__take(c, '+'));
	return true;
}
