// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The operands of USDT arguments, x86-64 in AT&T syntax, as gcc and clang print them:
 *
 *  argument := size '@' operand		size   := ['-'] digits ['f']
 *  operand  := '$' sum | '%' register | ['%fs:'] memory
 *  memory   := sum [address] | address
 *  address  := '(' ['%' base] [',' '%' index [',' 1|2|4|8]] ')'
 *  sum      := ['-'|'+'] term { ('-'|'+') term }
 *  term     := number | symbol ['@' relocation]
 *
 * The linker never sees this text, so a symbol in it has to be found again in the finished file: as
 * a distance from the site, which survives the load address. Relocations found in real code:
 * @GOTPCREL (the operand is the GOT's slot), @tpoff (a thread-local variable's distance from the
 * thread pointer; with %fs or with a register that holds it).
 */
#include "elf/operand.h"

#include "elf/asm_text.h"
#include "elf/resolve.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

/* ---- from parts to meaning ------------------------------------------------------------- */

static bool has_reloc(const struct tapir_asm_sum *s, const char *name)
{
	return s->reloc_len == strlen(name) && strncasecmp(s->reloc, name, s->reloc_len) == 0;
}

static bool is_tls_reloc(const struct tapir_asm_sum *s)
{
	static const char *const names[] = {"tpoff", "gottpoff", "dtpoff", "tlsgd", "tlsld"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (has_reloc(s, names[i]))
			return true;
	return false;
}

static bool is_local_label(const struct tapir_asm_sum *s)
{
	return s->symbol_len > 2 && memcmp(s->symbol, ".L", 2) == 0;
}

/* The note's text has a constant as $5; it becomes a value of the argument's type. */
static int64_t fit_constant(uint64_t value, const struct tapir_operand *op)
{
	unsigned unused_bits = op->size < 8 ? 64 - 8u * op->size : 0;

	if (op->is_signed)
		return (int64_t)(value << unused_bits) >> unused_bits;
	return (int64_t)(value << unused_bits >> unused_bits);
}

static enum tapir_operand_reason
read_constant(struct tapir_asm *c, const struct tapir_operand_ctx *ctx, struct tapir_operand *op)
{
	enum tapir_operand_reason reason = TAPIR_OPERAND_OK;
	struct tapir_asm_sum s;
	uint64_t va = 0;

	if (!tapir_asm__take_sum(c, &s) || !s.present || !tapir_asm__at_end(c) || s.reloc)
		return TAPIR_OPERAND_SYNTAX;
	if (s.symbol && is_local_label(&s))
		return TAPIR_OPERAND_LOCAL_LABEL;
	if (s.symbol && (!ctx->resolver || !tapir_resolver__is_fixed(ctx->resolver)))
		return TAPIR_OPERAND_NO_SYMBOL; /* its address is known at run time only */
	if (s.symbol)
		reason = tapir_resolver__variable(ctx->resolver, s.symbol, s.symbol_len, &va);
	if (reason)
		return reason;
	op->kind = TAPIR_OPERAND_CONST;
	op->value = fit_constant(va + s.number, op);
	return TAPIR_OPERAND_OK;
}

static enum tapir_operand_reason read_register(struct tapir_asm *c, struct tapir_operand *op)
{
	struct tapir_asm_register found;

	if (tapir_asm__is_vector_register(*c))
		return TAPIR_OPERAND_VECTOR_REG;
	if (!tapir_asm__take_register(c, &found) || !tapir_asm__at_end(c))
		return TAPIR_OPERAND_SYNTAX;
	if (op->size == 16)
		return TAPIR_OPERAND_WIDE_REG;
	op->kind = TAPIR_OPERAND_REG;
	op->reg = found.reg;
	op->reg_shift = found.shift;
	if (op->size > found.bytes)
		op->size = found.bytes; /* the bytes above belong to something else */
	return TAPIR_OPERAND_OK;
}

static void set_memory(struct tapir_operand *op, const struct tapir_asm_address *a, uint64_t value)
{
	op->kind = TAPIR_OPERAND_MEM;
	op->reg = a->base;
	op->index_reg = a->index;
	op->scale_shift = a->scale_shift;
	op->value = (int64_t)value;
}

/* %fs:40, %fs:x@tpoff, %fs:x@tpoff(,%rax,4); without fs: x@tpoff(%rax). */
static enum tapir_operand_reason read_thread_local(const struct tapir_asm_sum *s,
						   const struct tapir_asm_address *a, bool fs,
						   const struct tapir_operand_ctx *ctx,
						   struct tapir_operand *op)
{
	int64_t offset = 0;

	if (s->symbol && !is_tls_reloc(s))
		return TAPIR_OPERAND_SYNTAX;
	if (s->symbol && !has_reloc(s, "tpoff"))
		return TAPIR_OPERAND_TLS_MODEL;
	if (a->base == TAPIR_REG_IP)
		return TAPIR_OPERAND_SYNTAX;
	if (s->symbol) {
		enum tapir_operand_reason reason =
			ctx->resolver ? tapir_resolver__tls(ctx->resolver, s->symbol, s->symbol_len,
							    &offset)
				      : TAPIR_OPERAND_NO_SYMBOL;
		if (reason)
			return reason;
	}
	set_memory(op, a, (uint64_t)offset + s->number);
	if (fs)
		op->kind = TAPIR_OPERAND_TLS;
	return TAPIR_OPERAND_OK;
}

static enum tapir_operand_reason read_got_slot(const struct tapir_asm_sum *s,
					       const struct tapir_asm_address *a,
					       const struct tapir_operand_ctx *ctx,
					       struct tapir_operand *op)
{
	enum tapir_operand_reason reason;
	uint64_t slot_va;

	if (a->base != TAPIR_REG_IP)
		return TAPIR_OPERAND_SYNTAX;
	reason = tapir_resolver__got_slot(ctx->resolver, s->symbol, s->symbol_len, &slot_va);
	if (!reason)
		set_memory(op, a, slot_va + s->number - ctx->site_va);
	return reason;
}

static enum tapir_operand_reason read_variable(const struct tapir_asm_sum *s,
					       struct tapir_asm_address *a,
					       const struct tapir_operand_ctx *ctx,
					       struct tapir_operand *op)
{
	enum tapir_operand_reason reason;
	uint64_t va;

	reason = tapir_resolver__variable(ctx->resolver, s->symbol, s->symbol_len, &va);
	if (reason)
		return reason;
	va += s->number;
	if (a->base != TAPIR_REG_IP && a->base != TAPIR_REG_NONE) {
		/* x(%rax) is code that is not position-independent. */
		if (!tapir_resolver__is_fixed(ctx->resolver))
			return TAPIR_OPERAND_SYNTAX;
		set_memory(op, a, va);
		return TAPIR_OPERAND_OK;
	}
	a->base = TAPIR_REG_IP;
	set_memory(op, a, va - ctx->site_va);
	return TAPIR_OPERAND_OK;
}

static enum tapir_operand_reason read_memory(struct tapir_asm *c, bool fs,
					     const struct tapir_operand_ctx *ctx,
					     struct tapir_operand *op)
{
	struct tapir_asm_address a;
	struct tapir_asm_sum s;

	if (!tapir_asm__take_sum(c, &s) || !tapir_asm__take_address(c, &a) ||
	    !tapir_asm__at_end(c) || (!s.present && !a.present))
		return TAPIR_OPERAND_SYNTAX;
	if (s.symbol && is_local_label(&s))
		return TAPIR_OPERAND_LOCAL_LABEL;
	if (fs || is_tls_reloc(&s))
		return read_thread_local(&s, &a, fs, ctx, op);
	if (s.symbol && !ctx->resolver)
		return TAPIR_OPERAND_NO_SYMBOL;
	if (has_reloc(&s, "gotpcrel"))
		return read_got_slot(&s, &a, ctx, op);
	if (s.reloc)
		return TAPIR_OPERAND_SYNTAX;
	if (s.symbol)
		return read_variable(&s, &a, ctx, op);
	set_memory(op, &a, s.number);
	return TAPIR_OPERAND_OK;
}

static bool take_size(struct tapir_asm *c, struct tapir_operand *op, bool *supported)
{
	bool is_signed = tapir_asm__peek(c) == '-';
	uint64_t size;

	if (is_signed)
		c->pos++;
	if (!isdigit((unsigned char)tapir_asm__peek(c)) || !tapir_asm__take_number(c, &size))
		return false;
	op->is_float = tapir_asm__take_word(c, "f");
	op->is_signed = is_signed && !op->is_float; /* a slot holds its bits */
	if (op->is_float)
		*supported = size == 4 || size == 8;
	else
		*supported = size && size <= 16 && __builtin_popcountll(size) == 1;
	op->size = *supported ? (uint8_t)size : 0;
	return tapir_asm__take(c, '@');
}

static enum tapir_operand_reason
read_argument(struct tapir_asm *c, const struct tapir_operand_ctx *ctx, struct tapir_operand *op)
{
	bool supported;

	if (!take_size(c, op, &supported))
		return TAPIR_OPERAND_SYNTAX;
	if (!supported)
		return TAPIR_OPERAND_SIZE;
	if (tapir_asm__take(c, '$'))
		return read_constant(c, ctx, op);
	if (tapir_asm__take_word(c, "%fs:"))
		return read_memory(c, true, ctx, op);
	if (tapir_asm__take(c, '%'))
		return read_register(c, op);
	return read_memory(c, false, ctx, op);
}

int tapir_operand__parse(const char *text, size_t len, const struct tapir_operand_ctx *ctx,
			 struct tapir_operand *out, enum tapir_operand_reason *reason)
{
	struct tapir_asm c = {.pos = text, .end = text + len};
	struct tapir_operand op = {.reg = TAPIR_REG_NONE, .index_reg = TAPIR_REG_NONE};

	*reason = read_argument(&c, ctx, &op);
	*out = op;
	return *reason ? -ENOTSUP : 0;
}

/* ---- splitting and words --------------------------------------------------------------- */

static bool starts_argument(const char *text)
{
	text += *text == '-';
	if (!isdigit((unsigned char)*text))
		return false;
	while (isdigit((unsigned char)*text))
		text++;
	text += *text == 'f';
	return *text == '@';
}

bool tapir_operand__split(const char **pos, const char **arg, size_t *len)
{
	const char *start = *pos + strspn(*pos, " \t"), *end = start;

	if (!*start)
		return false;
	while (*end) {
		size_t word = strcspn(end, " \t"), gap = strspn(end + word, " \t");

		*len = (size_t)(end + word - start);
		end += word + gap;
		if (starts_argument(end))
			break;
	}
	*arg = start;
	*pos = end;
	return true;
}

const char *tapir_operand_reason__text(enum tapir_operand_reason reason)
{
	static const char *const texts[] = {
#define TAPIR_X(name, text) text,
		TAPIR_OPERAND_REASONS(TAPIR_X)
#undef TAPIR_X
	};

	return (unsigned)reason < TAPIR_OPERAND_REASON_CNT ? texts[reason] : "unknown reason";
}
