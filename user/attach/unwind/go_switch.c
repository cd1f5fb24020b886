// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * runtime/asm_amd64.s: systemstack saves the goroutine's stack pointer in its g, makes the thread's
 * g0 the current g, calls, and goes back by m.curg:
 *
 *	call gosave_systemstack_switch
 *	mov %rdx, %fs:-8		<- from here on
 *	...
 *	call *%rdi
 *	mov %fs:-8, %rax
 *	mov M(%rax), %rbx
 *	mov CURG(%rbx), %rax
 *	mov %rax, %fs:-8
 *	mov SP(%rax), %rsp		<- up to the end of this one
 */
#include "attach/unwind/go_switch.h"

#include <string.h>

#include "base/vec.h"

static const uint8_t set_g0[] = {0x64, 0x48, 0x89, 0x14, 0x25, 0xf8, 0xff, 0xff, 0xff};
static const uint8_t get_g[] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff};
static const uint8_t set_g[] = {0x64, 0x48, 0x89, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff};

struct code {
	const uint8_t *at, *end;
};

static bool match_bytes(struct code *c, const uint8_t *bytes, size_t len)
{
	if ((size_t)(c->end - c->at) < len || memcmp(c->at, bytes, len) != 0)
		return false;
	c->at += len;
	return true;
}

/*
 * mov off(base), to: the offset in words. short_form, long_form: its ModRM byte with an offset of
 * one byte, of four.
 */
static bool take_load(struct code *c, uint8_t short_form, uint8_t long_form, uint32_t *words)
{
	const uint8_t *at = c->at;
	size_t len = (size_t)(c->end - at);
	uint32_t off;

	if (len < 4 || at[0] != 0x48 || at[1] != 0x8b)
		return false;
	if (at[2] == short_form) {
		off = at[3];
		c->at += 4;
		if (off > INT8_MAX)
			return false;
	} else if (at[2] == long_form && len >= 7) {
		memcpy(&off, at + 3, sizeof(off));
		c->at += 7;
	} else {
		return false;
	}
	*words = off / 8;
	return !(off % 8);
}

/* At the return from the callee. */
static bool take_return(struct code *c, struct tapir_unwind_row *row, uint32_t stack_words)
{
	uint32_t m, curg, sp;

	if (!match_bytes(c, get_g, sizeof(get_g)) || !take_load(c, 0x58, 0x98, &m) ||
	    !take_load(c, 0x43, 0x83, &curg) || !match_bytes(c, set_g, sizeof(set_g)) ||
	    !take_load(c, 0x60, 0xa0, &sp) || m > 31 || curg > 255 || sp > 255)
		return false;
	*row = (struct tapir_unwind_row){.rule = TAPIR_UNWIND_GO_STACK,
					 .cfa = TAPIR_UNWIND_GO_CFA(curg, sp),
					 .fp = TAPIR_UNWIND_GO_FP(m, stack_words)};
	return true;
}

bool tapir_go_switch__find(const uint8_t *code, size_t len, uint32_t pc,
			   const struct tapir_unwind_row *rows, size_t row_cnt,
			   struct tapir_go_switch *out)
{
	const uint8_t *from = memmem(code, len, set_g0, sizeof(set_g0));
	struct code c = {.at = from, .end = code + len};
	size_t after;

	if (!from)
		return false;
	out->from = pc + (uint32_t)(from - code);
	after = tapir_sorted__upper_bound(rows, row_cnt, pc, out->from);
	if (!after || rows[after - 1].rule != TAPIR_UNWIND_SP || rows[after - 1].cfa > 7)
		return false;
	while ((c.at = memmem(c.at, (size_t)(c.end - c.at), get_g, sizeof(get_g)))) {
		struct code there = c;

		if (take_return(&there, &out->row, rows[after - 1].cfa)) {
			out->until = pc + (uint32_t)(there.at - code);
			return true;
		}
		c.at++;
	}
	return false;
}
