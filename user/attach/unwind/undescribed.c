// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each kind of code that .eh_frame leaves out, with the row that holds in all of it. Where such
 * code is, is known by sections, symbols or its instructions; a guess that is wrong gives a wrong
 * caller, so each kind asks for more than one sign.
 */
#include "attach/unwind/undescribed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/diag.h"
#include "elf/image.h"
#include "attach/unwind/file_code.h"
#include "attach/unwind/go_rows.h"
#include "attach/unwind/rows.h"

#define MAX_ENTRY_BYTES	 64u /* of an entry point: it calls at once */
#define MAX_TRAMPOLINES	 16u
#define MIN_V8_BYTES	 (512u << 10) /* of its built-in functions: about 1.6 MB */
#define FUNCTION_ALIGN	 16u	      /* what compilers align functions to when they optimize */
#define MIN_PADDING	 6u	      /* bytes: fewer zeros are a part of instructions, too */
#define OTHERS_PER_FRAME 4u	      /* what follows padding may be a loop as well as a function */

/* ---- stubs ---------------------------------------------------------------------------------- */

/*
 * A lazy entry is 16 bytes: jmp, push, jmp. The others only jump. The psABI fixes their form, so
 * that every linker's are alike.
 */
static const struct {
	const char *section;
	struct tapir_unwind_row row;
} stubs[] = {
	{".plt", {.rule = TAPIR_UNWIND_PLT, .cfa = 11}},
	{".plt.sec", {.rule = TAPIR_UNWIND_SP, .cfa = 1}},
	{".plt.got", {.rule = TAPIR_UNWIND_SP, .cfa = 1}},
	{".iplt", {.rule = TAPIR_UNWIND_SP, .cfa = 1}},
};

static int add_stubs(struct tapir_elf *elf, struct tapir_unwind_rows *rows)
{
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(stubs) / sizeof(stubs[0]); i++) {
		const Elf64_Shdr *s = tapir_elf__section(elf, stubs[i].section);

		if (s && s->sh_flags & SHF_EXECINSTR && s->sh_offset < UINT32_MAX &&
		    s->sh_size < UINT32_MAX - s->sh_offset)
			err = tapir_unwind_rows__fill(rows, (uint32_t)s->sh_offset,
						      (uint32_t)(s->sh_offset + s->sh_size),
						      stubs[i].row);
	}
	return err;
}

/* ---- the entry point ------------------------------------------------------------------------ */

static int add_entry(struct tapir_elf *elf, struct tapir_file_code *code,
		     struct tapir_unwind_rows *rows)
{
	const struct tapir_unwind_row end = {.rule = TAPIR_UNWIND_END};
	uint64_t va = tapir_elf__entry_va(elf), off;
	const Elf64_Phdr *load = va ? tapir_elf__load_at(elf, va) : NULL;
	uint32_t len;

	if (!load || !(load->p_flags & PF_X) || !tapir_elf__va_to_off(elf, va, &off) ||
	    off > UINT32_MAX - MAX_ENTRY_BYTES)
		return 0;
	len = tapir_file_code__entry_bytes(code, (uint32_t)off, MAX_ENTRY_BYTES);
	return tapir_unwind_rows__fill(rows, (uint32_t)off, (uint32_t)off + len, end);
}

/* ---- trampolines of signals and contexts ------------------------------------------------------------------ */

/* mov $15, %rax; syscall: rt_sigreturn, which never returns. */
static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};

/*
 * mov %rbx, %rsp; mov (%rsp), %rdi; test %rdi, %rdi: glibc's __start_context, to which the first
 * function of a context made by makecontext(3) returns. What is below it on the stack is no frame.
 */
static const uint8_t start_context[] = {0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff};

/*
 * The instructions that follow there, to its hlt: it calls setcontext(3) and exit(3). 0: any byte.
 */
static const uint8_t start_context_rest[] = {0x74, 0x08, 0xe8, 0, 0, 0, 0, 0x48,
					     0x89, 0xc7, 0xe8, 0, 0, 0, 0, 0xf4};

static bool has_rest(const uint8_t *at, size_t len)
{
	if (len < sizeof(start_context_rest))
		return false;
	for (size_t i = 0; i < sizeof(start_context_rest); i++)
		if (start_context_rest[i] && at[i] != start_context_rest[i])
			return false;
	return true;
}

/* Described as if it had been called: what is where its return address would be is no code. */
static int end_in_context(struct tapir_file_code *code, size_t segment_idx,
			  struct tapir_unwind_rows *rows)
{
	const struct tapir_unwind_row row = {.rule = TAPIR_UNWIND_END};
	const size_t bytes = sizeof(start_context) + sizeof(start_context_rest);
	const uint8_t *at = NULL;
	uint64_t off = 0;
	size_t len = 0;

	if (tapir_file_code__search(code, segment_idx, start_context, sizeof(start_context), &off))
		at = tapir_file_code__at(code, off, bytes, &len);
	if (len < bytes || !has_rest(at + sizeof(start_context), len - sizeof(start_context)))
		return 0;
	return tapir_unwind_rows__replace(rows, (uint32_t)off, (uint32_t)(off + bytes), row);
}

static bool has_sigreturn(const struct tapir_unwind_rows *rows)
{
	for (size_t i = 0; i < rows->vec.cnt; i++)
		if (rows->vec.data[i].rule == TAPIR_UNWIND_SIGNAL)
			return true;
	return false;
}

/*
 * Their addresses are where functions return to, but callers are looked up one byte before: that
 * byte has the row, whatever else is there. The code itself has it where nothing describes it.
 */
static int scan_segment(struct tapir_file_code *code, size_t segment_idx, const uint8_t *wanted,
			size_t wanted_len, unsigned rule, struct tapir_unwind_rows *rows)
{
	const struct tapir_unwind_row row = {.rule = (uint8_t)rule};
	uint64_t off = 0;
	int err = 0;

	for (unsigned i = 0; !err && i < MAX_TRAMPOLINES; i++) {
		uint32_t pc;

		if (!tapir_file_code__search(code, segment_idx, wanted, wanted_len, &off))
			break;
		pc = (uint32_t)off;
		/* A thread in a system call is at the next instruction. */
		err = tapir_unwind_rows__fill(rows, pc, pc + (uint32_t)wanted_len + 1, row);
		if (!err)
			err = tapir_unwind_rows__replace(rows, pc - (pc > 0), pc, row);
		off += wanted_len;
	}
	return err;
}

static int scan(struct tapir_file_code *code, const uint8_t *wanted, size_t wanted_len,
		unsigned rule, struct tapir_unwind_rows *rows)
{
	int err = 0;

	for (size_t i = 0; !err && i < code->cnt; i++)
		err = scan_segment(code, i, wanted, wanted_len, rule, rows);
	return err;
}

static int add_trampolines(struct tapir_file_code *code, struct tapir_unwind_rows *rows)
{
	int err = scan(code, start_context, sizeof(start_context), TAPIR_UNWIND_END, rows);

	for (size_t i = 0; !err && i < code->cnt; i++)
		err = end_in_context(code, i, rows);
	if (err || has_sigreturn(rows))
		return err;
	return scan(code, sigreturn, sizeof(sigreturn), TAPIR_UNWIND_SIGNAL, rows);
}

/* ---- built-in functions of V8 ------------------------------------------------------------------ */

/* A program that exports what debuggers need to know of V8: Node, and others that have it in them.
 */
static bool has_v8(struct tapir_elf *elf)
{
	int mark = tapir_diag__cnt();
	struct tapir_elf_syms syms;
	bool found = false;

	if (!tapir_elf__syms(elf, SHT_DYNSYM, &syms))
		for (size_t i = 0; i < syms.cnt && !found; i++)
			found = !strncmp(tapir_elf_syms__name(&syms, i), "v8dbg_", 6);
	tapir_diag__rewind(mark);
	return found;
}

/* They are compiled by V8 itself, as its generated code is: with frame pointers, not described. */
static int add_v8(struct tapir_elf *elf, struct tapir_unwind_rows *rows)
{
	const struct tapir_unwind_row frame = {.rule = TAPIR_UNWIND_FRAME};
	const struct tapir_unwind_row *row, *largest = NULL;
	uint32_t bytes, max_bytes = MIN_V8_BYTES;

	for (size_t i = 1; i + 1 < rows->vec.cnt; i++) {
		row = &rows->vec.data[i];
		bytes = row[1].pc - row->pc;
		if (row->rule != TAPIR_UNWIND_GAP || bytes < max_bytes)
			continue;
		largest = row;
		max_bytes = bytes;
	}
	if (!largest || !has_v8(elf))
		return 0;
	return tapir_unwind_rows__fill(rows, largest->pc, largest->pc + max_bytes, frame);
}

/* ---- functions with frame pointers ------------------------------------------------------------ */

/*
 * A program that does not unwind may have no .eh_frame for its own functions and keep frame
 * pointers: Rust with panic=abort, C with -fno-asynchronous-unwind-tables. Such functions begin
 * with push %rbp; mov %rsp, %rbp, perhaps after endbr64.
 */
static bool makes_frame(struct tapir_file_code *code, uint32_t off)
{
	static const uint8_t frame[] = {0x55, 0x48, 0x89, 0xe5}, endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t len = 0, skip = 0;
	const uint8_t *at = tapir_file_code__at(code, off, sizeof(endbr) + sizeof(frame), &len);

	if (at && len >= sizeof(endbr) && !memcmp(at, endbr, sizeof(endbr)))
		skip = sizeof(endbr);
	return at && len >= skip + sizeof(frame) && !memcmp(at + skip, frame, sizeof(frame));
}

/*
 * Returns where in undescribed code the functions with frame pointers begin; until: nowhere, or
 * others prevail. Assembly has neither tables nor frames, and would be given wrong callers. Where
 * it does have a frame, it may begin at once behind a described function: V8's
 * PushAllRegistersAndIterateStack, which calls the collector.
 */
static uint32_t find_framed(struct tapir_file_code *code, uint32_t from, uint32_t until)
{
	bool begins_at_once = from % FUNCTION_ALIGN && makes_frame(code, from);
	uint32_t first = begins_at_once ? from : until, framed_cnt = begins_at_once, other_cnt = 0;

	for (uint64_t at = (from + FUNCTION_ALIGN - 1ull) & -FUNCTION_ALIGN; at < until;
	     at += FUNCTION_ALIGN) {
		uint32_t off = (uint32_t)at;

		if (makes_frame(code, off)) {
			first = first < off ? first : off;
			framed_cnt++;
		} else if (first < off && until - off > MIN_PADDING &&
			   tapir_file_code__is_padding(code, off - MIN_PADDING, off) &&
			   !tapir_file_code__is_padding(code, off, off + MIN_PADDING)) {
			other_cnt++;
		}
	}
	return framed_cnt * OTHERS_PER_FRAME >= other_cnt ? first : until;
}

struct tapir_row_list tapir_vec(struct tapir_unwind_row);

static bool add_span(struct tapir_row_list *rows, uint32_t from, uint32_t until)
{
	const struct tapir_unwind_row frame = {.pc = from, .rule = TAPIR_UNWIND_FRAME};
	const struct tapir_unwind_row gap = {.pc = until, .rule = TAPIR_UNWIND_GAP};

	return from >= until || (tapir_vec__push(rows, frame) && tapir_vec__push(rows, gap));
}

static int find_all_framed(struct tapir_file_code *code, const struct tapir_unwind_rows *rows,
			   struct tapir_row_list *out)
{
	for (size_t s = 0; s < code->cnt; s++) {
		uint32_t from = code->segments[s].off, end = from + code->segments[s].len;

		for (size_t i = 0; i < rows->vec.cnt; i++) {
			const struct tapir_unwind_row *row = &rows->vec.data[i];
			uint32_t until = i + 1 < rows->vec.cnt && row[1].pc < end ? row[1].pc : end;
			uint32_t begin = row->pc > from ? row->pc : from;

			if (row->rule == TAPIR_UNWIND_GAP && begin < until &&
			    !add_span(out, find_framed(code, begin, until), until))
				return -ENOMEM;
		}
	}
	return 0;
}

static int add_framed(struct tapir_file_code *code, struct tapir_unwind_rows *rows)
{
	struct tapir_row_list framed = {};
	int err = find_all_framed(code, rows, &framed);

	if (!err && framed.cnt)
		err = tapir_unwind_rows__underlay(rows, framed.data, framed.cnt);
	tapir_vec__fini(&framed);
	return err;
}

/* code: the file's. Fills gaps only. */
static int add_undescribed(struct tapir_elf *elf, struct tapir_file_code *code,
			   struct tapir_unwind_rows *rows)
{
	int err = add_stubs(elf, rows);

	if (!err)
		err = add_entry(elf, code, rows);
	if (!err)
		err = add_trampolines(code, rows);
	if (!err)
		err = add_v8(elf, rows);
	if (!err)
		err = tapir_go_rows__add(elf, code, rows);
	return err ? err : add_framed(code, rows);
}

int tapir_unwind_rows__make(struct tapir_elf *elf, struct tapir_unwind_rows *out)
{
	struct tapir_file_code code;
	int err;

	tapir_file_code__init(&code, elf);
	err = tapir_unwind_rows__describe(elf, &code, out);
	if (!err)
		err = add_undescribed(elf, &code, out);
	tapir_file_code__fini(&code);
	return !err && out->vec.cnt < 2 ? -ENOENT : err;
}
