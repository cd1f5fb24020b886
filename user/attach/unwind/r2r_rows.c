// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions are sorted by address. The codes of one describe its prologue from its end backwards;
 * what they say of the stack pointer's distance to the frame's end holds from each instruction on,
 * and that of the last one for the rest of the function. Epilogues are not described: where a
 * method was interrupted in one, its instructions say so (bpf/unwind_logic.bpf.h).
 */
#include "attach/unwind/r2r_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "attach/unwind/rows.h"
#include "base/file.h"
#include "base/foreign/foreign_file.h"
#include "elf/pe_image.h"

#define MAX_FUNCTIONS	(1u << 20)
#define MAX_BYTES	(64u << 20) /* of all sections that are read */
#define MAX_PADDING	63u	    /* between two functions: only to align the next one */
#define RBP		5u
#define CHAINED		4u /* a flag: it continues the description of another function */
#define MAX_FRAME_WORDS 32767u
#define MAX_FP_WORDS	253u /* of a row */

enum unwind_code {
	PUSH_NONVOL = 0,
	ALLOC_LARGE = 1,
	ALLOC_SMALL = 2,
	SET_FPREG = 3,
	SAVE_NONVOL = 4,
	SAVE_NONVOL_FAR = 5,
	EPILOG = 6,
	SAVE_XMM128 = 8,
	SAVE_XMM128_FAR = 9,
	SET_FPREG_LARGE = 11
};

struct function { /* RUNTIME_FUNCTION */
	uint32_t start_va, end_va, unwind_va;
};

struct assembly {
	struct tapir_pe pe;
	uint8_t *sections[TAPIR_PE_SECTIONS]; /* those that were needed so far */
	size_t bytes;			      /* of these */
	struct tapir_vec(struct tapir_unwind_row) rows;
	struct tapir_unwind_rows *out;
	int err;
};

/* A frame at some instruction of its prologue. */
struct frame {
	uint32_t words; /* from the stack pointer to the frame's end, the return address included */
	uint32_t fp_words; /* where the caller's rbp is, below that end; 0: in rbp */
	bool has_fp;	   /* rbp leads to the frame's end */
	int32_t fp_off;	   /* how far, in words */
	bool is_unknown;
};

/* ---- bytes ------------------------------------------------------------------------------------ */

/* Returns the bytes at an address and how many there are; NULL: none, or no memory. */
static const uint8_t *bytes_at(struct assembly *a, uint32_t va, size_t *len)
{
	for (uint16_t i = 0; i < a->pe.section_cnt; i++) {
		const struct tapir_pe_section *s = &a->pe.sections[i];

		if (va < s->va || va - s->va >= s->bytes)
			continue;
		if (!a->sections[i] && s->bytes <= MAX_BYTES - a->bytes) {
			a->sections[i] = malloc(s->bytes);
			a->bytes += s->bytes;
			a->err = a->sections[i] ? a->err : -ENOMEM;
			if (a->sections[i] &&
			    !tapir_pe__read(&a->pe, s->off, a->sections[i], s->bytes))
				memset(a->sections[i], 0, s->bytes);
		}
		*len = s->bytes - (va - s->va);
		return a->sections[i] ? a->sections[i] + (va - s->va) : NULL;
	}
	return NULL;
}

/* ---- a prologue ------------------------------------------------------------------------------- */

/* Slots of two bytes that a code takes; 0: it is not known. */
static uint32_t slots_of(uint32_t code, uint32_t info)
{
	switch (code) {
	case PUSH_NONVOL:
	case ALLOC_SMALL:
	case SET_FPREG:
		return 1;
	case ALLOC_LARGE:
		return info ? 3 : 2;
	case SAVE_NONVOL:
	case EPILOG:
	case SAVE_XMM128:
		return 2;
	case SAVE_NONVOL_FAR:
	case SAVE_XMM128_FAR:
	case SET_FPREG_LARGE:
		return 3;
	default:
		return 0;
	}
}

/* The number in the slots after a code's first one. */
static uint32_t operand_of(const uint8_t *code, uint32_t slots)
{
	uint32_t low = slots > 1 ? (uint32_t)(code[2] | code[3] << 8) : 0;

	return slots > 2 ? low | (uint32_t)(code[4] | code[5] << 8) << 16 : low;
}

static void save_fp(struct frame *f, uint32_t below_end)
{
	if (f->fp_words)
		return;
	f->fp_words = below_end;
	f->is_unknown |= below_end > MAX_FP_WORDS || below_end < 2;
}

static void set_fp(struct frame *f, uint32_t bytes)
{
	f->has_fp = true;
	f->fp_off = (int32_t)(f->words - bytes / 8);
	f->is_unknown |= bytes / 8 > f->words || bytes % 8;
}

/* frame_off: of UNWIND_INFO, in units of 16 bytes. */
static void apply(struct frame *f, const uint8_t *code, uint32_t slots, uint32_t frame_off)
{
	uint32_t info = code[1] >> 4, operand = operand_of(code, slots);

	switch (code[1] & 15) {
	case PUSH_NONVOL:
		f->words++;
		if (info == RBP)
			save_fp(f, f->words);
		break;
	case ALLOC_SMALL:
		f->words += info + 1;
		break;
	case ALLOC_LARGE:
		f->is_unknown |= info > 1 || operand / 8 > MAX_FRAME_WORDS;
		f->words += info ? operand / 8 % (MAX_FRAME_WORDS + 1) : operand;
		break;
	case SET_FPREG:
		set_fp(f, 16 * frame_off);
		break;
	case SET_FPREG_LARGE:
		set_fp(f, operand < MAX_FRAME_WORDS ? 16 * operand : 1);
		break;
	case SAVE_NONVOL:
	case SAVE_NONVOL_FAR:
		operand = slots > 2 ? operand / 8 : operand;
		if (info == RBP)
			save_fp(f, operand < f->words ? f->words - operand : 0);
		break;
	default:
		break;
	}
	f->is_unknown |= f->words > MAX_FRAME_WORDS;
}

static struct tapir_unwind_row unwind_row_of_frame(const struct frame *f, uint32_t pc)
{
	struct tapir_unwind_row row = {.pc = pc, .rule = TAPIR_UNWIND_UNSUPPORTED};

	if (f->is_unknown)
		return row;
	row.rule = f->has_fp ? TAPIR_UNWIND_FP : TAPIR_UNWIND_SP;
	row.cfa = (uint16_t)(f->has_fp ? f->fp_off : (int32_t)f->words);
	row.fp = (uint8_t)f->fp_words;
	return row;
}

/* ---- functions -------------------------------------------------------------------------------- */

static void push_row(struct assembly *a, struct tapir_unwind_row row)
{
	struct tapir_unwind_row *last = a->rows.cnt ? &a->rows.data[a->rows.cnt - 1] : NULL;

	a->out->unsupported_cnt += row.rule == TAPIR_UNWIND_UNSUPPORTED;
	if (last && last->pc == row.pc)
		*last = row;
	else if (a->rows.cnt == TAPIR_UNWIND_MAX_ROWS)
		a->err = -EFBIG;
	else if (!tapir_vec__push(&a->rows, row))
		a->err = -ENOMEM;
}

/* The first slots of the codes, from the end of the prologue to its beginning; -1: malformed. */
static int list_codes(const uint8_t *info, uint8_t at[255])
{
	uint32_t cnt = info[2];
	int found = 0;

	for (uint32_t slot = 0; slot < cnt; found++) {
		const uint8_t *code = info + 4 + 2 * slot;
		uint32_t slots = slots_of(code[1] & 15, code[1] >> 4);

		if (!slots || slots > cnt - slot)
			return -1;
		at[found] = (uint8_t)slot;
		slot += slots;
	}
	return found;
}

/* info: UNWIND_INFO, all of it. */
static void add_prologue(struct assembly *a, const uint8_t *info, uint32_t pc, uint32_t end)
{
	struct frame f = {.words = 1};
	uint8_t at[255], last = 0; /* last: where the previous instruction ends */
	int cnt = list_codes(info, at);

	f.is_unknown = cnt < 0 || (info[0] >> 3) & CHAINED || (info[0] & 7) != 1 ||
		       ((info[3] & 15) && (info[3] & 15) != RBP);
	push_row(a, unwind_row_of_frame(&f, pc));
	for (int i = cnt - 1; i >= 0 && !f.is_unknown; i--) {
		const uint8_t *code = info + 4 + 2 * at[i];

		apply(&f, code, slots_of(code[1] & 15, code[1] >> 4), info[3] >> 4);
		f.is_unknown |= code[0] < last;
		last = code[0] < last ? last : code[0];
		if (last < end - pc)
			push_row(a, unwind_row_of_frame(&f, pc + last));
	}
}

/* Adds a function's rows, and a gap at its end. Returns where it ends; until: it is none. */
static uint32_t add_r2r_function(struct assembly *a, const struct function *f, uint32_t until)
{
	size_t len = 0;
	const uint8_t *info;
	uint64_t off, last_off;
	uint32_t pc, end;

	if (f->end_va <= f->start_va || tapir_pe__off(&a->pe, f->start_va, &off) ||
	    tapir_pe__off(&a->pe, f->end_va - 1, &last_off) || last_off >= UINT32_MAX ||
	    last_off - off != f->end_va - 1 - f->start_va || off < until ||
	    !(info = bytes_at(a, f->unwind_va, &len)) || len < 4 || (len - 4) / 2 < info[2]) {
		a->out->broken_cnt++;
		return until;
	}
	pc = (uint32_t)off;
	end = (uint32_t)last_off + 1;
	/* No gap, if what is there only aligns this one: a row less. */
	if (a->rows.cnt && pc - until <= MAX_PADDING && pc - until < (pc & -pc))
		a->rows.cnt--;
	add_prologue(a, info, pc, end);
	push_row(a, (struct tapir_unwind_row){.pc = end});
	a->out->function_cnt++;
	return end;
}

static int add_r2r_functions(struct assembly *a)
{
	struct function f;
	uint32_t until = 0;
	size_t len = 0;
	const uint8_t *functions = bytes_at(a, a->pe.exceptions_va, &len);

	if (!functions)
		return a->err ? a->err : -ENOEXEC;
	len = len < a->pe.exceptions_bytes ? len : a->pe.exceptions_bytes;
	if (len / sizeof(f) > MAX_FUNCTIONS)
		return -EFBIG;
	for (size_t i = 0; i < len / sizeof(f) && !a->err; i++) {
		memcpy(&f, functions + i * sizeof(f), sizeof(f));
		until = add_r2r_function(a, &f, until);
	}
	return a->err ? a->err : a->out->function_cnt ? 0 : -ENOEXEC;
}

int tapir_r2r_rows__make(int fd, struct tapir_unwind_rows *out)
{
	tapir_autofd int content_fd = tapir_foreign__content(fd);
	struct assembly a = {.out = out};
	int err = content_fd < 0 ? content_fd : tapir_pe__open(content_fd, &a.pe);

	if (!err && (!tapir_pe__is_x86_64(&a.pe) || !a.pe.exceptions_bytes))
		err = -ENOEXEC;
	if (!err)
		err = add_r2r_functions(&a);
	if (!err && !tapir_vec__push(&out->vec, (struct tapir_unwind_row){}))
		err = -ENOMEM;
	if (!err)
		err = tapir_unwind_rows__underlay(out, a.rows.data, a.rows.cnt);
	for (uint16_t i = 0; i < a.pe.section_cnt; i++)
		free(a.sections[i]);
	tapir_vec__fini(&a.rows);
	return err;
}
