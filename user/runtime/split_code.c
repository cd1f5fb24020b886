// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See split_code.h. Bytes are taken for jumps without disassembling what precedes them, so that
 * some are none: a part counts if several lead into it. Functions call others at their beginning.
 */
#include "runtime/split_code.h"

#include <string.h>

#include "attach/unwind/functions.h"
#include "elf/image.h"
#include "runtime/function_code.h"

#define MAX_BYTES  (256u << 10) /* of the part that is known */
#define PIECE	   4096u
#define JUMP_BYTES 6u /* of the longest one */
#define MAX_PARTS  16u
#define MIN_JUMPS  2u

struct part {
	struct tapir_function_range range;
	unsigned jump_cnt;
};

struct search {
	const struct tapir_functions *functions;
	const struct tapir_mapping_line *m;
	const struct tapir_interp_loop *loop;
	struct part parts[MAX_PARTS];
	size_t cnt;
};

static void add_jump(struct search *s, uint64_t va)
{
	uint64_t off = va - s->m->start_va + s->m->file_off;
	struct tapir_function_range range;
	size_t i = 0;

	if ((va >= s->loop->va && va < s->loop->end_va) || va < s->m->start_va ||
	    va >= s->m->end_va || !tapir_functions__find(s->functions, off, &range) ||
	    range.start_off == off)
		return;
	while (i < s->cnt && s->parts[i].range.start_off != range.start_off)
		i++;
	if (i == MAX_PARTS)
		return;
	if (i == s->cnt)
		s->parts[s->cnt++] = (struct part){.range = range};
	s->parts[i].jump_cnt++;
}

/* jmp disp32; jcc disp32 */
static void add_jumps(struct search *s, uint64_t va, const uint8_t *code, size_t bytes)
{
	for (size_t i = 0; i + JUMP_BYTES <= bytes; i++) {
		if (code[i] == 0xe9)
			add_jump(s, tapir_function_code__relative(va, code, i + 1));
		else if (code[i] == 0x0f && (code[i + 1] & 0xf0) == 0x80)
			add_jump(s, tapir_function_code__relative(va, code, i + 2));
	}
}

static void read_jumps(struct search *s, const struct tapir_process_memory *memory)
{
	uint64_t bytes = s->loop->end_va - s->loop->va;
	uint8_t code[PIECE + JUMP_BYTES - 1];

	bytes = bytes < MAX_BYTES ? bytes : MAX_BYTES;
	for (uint64_t at = 0; at < bytes; at += PIECE) {
		size_t cnt = bytes - at < sizeof(code) ? bytes - at : sizeof(code);

		if (!tapir_process_memory__get(memory, s->loop->va + at, code, cnt))
			return;
		add_jumps(s, s->loop->va + at, code, cnt);
	}
}

void tapir_split_code__find(struct tapir_elf *elf, const struct tapir_mapping_line *m,
			    const struct tapir_process_memory *memory,
			    struct tapir_interp_loop *loop)
{
	struct search s = {.m = m, .loop = loop};
	const struct part *top = NULL;
	struct tapir_functions *functions;

	if (loop->end_va <= loop->va || tapir_functions__load(elf, &functions))
		return;
	s.functions = functions;
	read_jumps(&s, memory);
	for (size_t i = 0; i < s.cnt; i++)
		if (s.parts[i].jump_cnt >= MIN_JUMPS &&
		    (!top || s.parts[i].jump_cnt > top->jump_cnt))
			top = &s.parts[i];
	if (top) {
		loop->cold_va = top->range.start_off - m->file_off + m->start_va;
		loop->cold_end_va = loop->cold_va + top->range.size;
	}
	tapir_functions__free(functions);
}
