// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One step per frame, by the row of the table of the file that the address is in, else by the
 * code's heap, its instructions or the frame pointer. The order, and when a walk ends, are as in
 * bpf/user_stack.bpf.h: a stack has to be the same, whichever of the two walked it.
 */
#include "attach/unwind/walk.h"

#include <string.h>

#include "base/vec.h"
#include "attach/unwind/unwind_table.h"
#include "attach/unwind/walk_code.h"

#define MAX_ARGUMENT_BYTES 4096 /* 255 arguments, two words the largest */
#define MAX_REPLACED_WORDS 512	/* of the frame of a method that was replaced while it ran */

/* The state of the walk at one frame. */
struct frame {
	uint64_t ip, sp, fp;
	bool is_interrupted; /* ip is where it was, not a return address */
	bool is_patchpoint;  /* of a method that runs on as it was: its frame pointer is right */
};

static bool read_word(const struct tapir_walk *w, uint64_t va, uint64_t *out)
{
	uint64_t off = va - w->stack_va;

	if (w->stack_bytes < 8 || off > w->stack_bytes - 8)
		return false;
	memcpy(out, w->stack + off, 8);
	return true;
}

static const struct tapir_walk_code *code_at(const struct tapir_walk *w, uint64_t va)
{
	size_t after = tapir_sorted__upper_bound(w->codes, w->code_cnt, start_va, va);
	const struct tapir_walk_code *code = after ? &w->codes[after - 1] : NULL;

	return code && va < code->end_va ? code : NULL;
}

/* The caller by its frame record; what is below it is the function's own. */
static int step_by_fp(const struct tapir_walk *w, struct frame *f)
{
	uint64_t fp, ip;

	if (f->fp < f->sp)
		return TAPIR_STACK_END_FP_END;
	if (!read_word(w, f->fp, &fp) || !read_word(w, f->fp + 8, &ip))
		return TAPIR_STACK_END_FAULT;
	*f = (struct frame){.ip = ip, .sp = f->fp + 16, .fp = fp};
	return 0;
}

static bool is_interpreted(const struct tapir_walk *w, uint64_t ip)
{
	return ip >= w->interpreter_va && ip < w->interpreter_end_va;
}

/*
 * The caller of an interpreted method may be compiled, with a frame that begins where the stack
 * pointer was: an adapter between both has moved it, and the frame says from where.
 */
static int step_from_interpreter(const struct tapir_walk *w, struct frame *f)
{
	uint64_t sender_sp = 0, own_fp = f->fp;
	int end = step_by_fp(w, f);

	if (!end && read_word(w, own_fp - 8, &sender_sp) && !(sender_sp & 7) &&
	    sender_sp - f->sp < MAX_ARGUMENT_BYTES)
		f->sp = sender_sp;
	return end;
}

/* The heap of the code at va; NULL: it is in none. */
static const struct tapir_walk_heap *heap_at(const struct tapir_walk *w, uint64_t va)
{
	for (size_t i = 0; i < w->heap_cnt; i++)
		if (va >= w->heaps[i].start_va && va < w->heaps[i].end_va)
			return &w->heaps[i];
	return NULL;
}

static bool heap_frame_at(const struct tapir_walk *w, const struct frame *f,
			  struct tapir_walk_code_frame *frame)
{
	const struct tapir_walk_heap *heap = heap_at(w, f->ip);

	return heap && tapir_walk_code__heap_frame_at(w, heap, f->ip, f->is_interrupted, frame);
}

/* Is the caller in the JVM's heap, and not on the stack? */
static bool is_in_heap(const struct tapir_walk *w, const struct frame *f)
{
	return !f->is_interrupted && heap_at(w, f->ip) && tapir_walk_code__is_thaw(w, f->ip);
}

/* Steps by the code's heap or its instructions; where they say nothing, by the frame record. */
static int step_from_code(const struct tapir_walk *w, struct frame *f)
{
	struct tapir_walk_code_frame frame;
	struct frame up;

	if (is_interpreted(w, f->ip) &&
	    (!f->is_interrupted || !tapir_walk_code__frame_at(w, f->ip, &frame)))
		return step_from_interpreter(w, f);
	if (f->is_patchpoint ||
	    (!heap_frame_at(w, f, &frame) && !tapir_walk_code__frame_at(w, f->ip, &frame)))
		return step_by_fp(w, f);
	up = (struct frame){.sp = f->sp + (uint64_t)(int64_t)frame.cfa_off, .fp = f->fp};
	if ((frame.has_fp_off && !read_word(w, f->sp + (uint64_t)(int64_t)frame.fp_off, &up.fp)) ||
	    !read_word(w, up.sp - 8, &up.ip))
		return TAPIR_STACK_END_FAULT;
	*f = up;
	return 0;
}

/* A generated function whose caller cannot be found has no frame record. */
static int step_from_generated(const struct tapir_walk *w, struct frame *f)
{
	return step_from_code(w, f) ? TAPIR_STACK_END_JIT_NO_FP : 0;
}

/* Go, which begins its stacks with a frame pointer of 0. */
static int step_from_compiled(const struct tapir_walk *w, struct frame *f)
{
	if (f->is_interrupted)
		return step_from_code(w, f);
	return f->fp ? step_by_fp(w, f) : TAPIR_STACK_END_WHOLE;
}

/* Code without a frame: the return address is on top of the stack. */
static int step_from_leaf(const struct tapir_walk *w, struct frame *f)
{
	uint64_t ip;

	if (!read_word(w, f->sp, &ip))
		return TAPIR_STACK_END_FAULT;
	*f = (struct frame){.ip = ip, .sp = f->sp + 8, .fp = f->fp};
	return 0;
}

static int step_over_signal(const struct tapir_walk *w, struct frame *f)
{
	struct frame up = {.is_interrupted = true};

	if (!read_word(w, f->sp + TAPIR_UNWIND_UC_RIP, &up.ip) ||
	    !read_word(w, f->sp + TAPIR_UNWIND_UC_RSP, &up.sp) ||
	    !read_word(w, f->sp + TAPIR_UNWIND_UC_RBP, &up.fp))
		return TAPIR_STACK_END_FAULT;
	*f = up;
	return 0;
}

/* The address at which the function's frame ends; false: the memory that says so cannot be read. */
static bool cfa_of(const struct tapir_walk *w, const struct frame *f,
		   const struct tapir_unwind_row *row, uint32_t pc, uint64_t *cfa)
{
	uint64_t off = 8ull * row->cfa, signed_off = (uint64_t)(8ll * (int16_t)row->cfa);

	switch (row->rule) {
	case TAPIR_UNWIND_SP:
		*cfa = f->sp + off;
		return true;
	case TAPIR_UNWIND_FP:
		*cfa = f->fp + signed_off;
		return true;
	case TAPIR_UNWIND_FP_DEREF:
		return read_word(w, f->fp + signed_off, cfa);
	case TAPIR_UNWIND_SP_DEREF:
		if (!read_word(w, f->sp + signed_off, cfa))
			return false;
		*cfa += 8;
		return true;
	default: /* PLT */
		*cfa = f->sp + 8 + ((pc & 15) >= row->cfa ? 8 : 0);
		return true;
	}
}

static bool fp_of(const struct tapir_walk *w, const struct frame *f,
		  const struct tapir_unwind_row *row, uint64_t cfa, uint64_t *fp)
{
	switch (row->fp) {
	case TAPIR_UNWIND_FP_SAME:
		*fp = f->fp;
		return true;
	case TAPIR_UNWIND_FP_AT_FP:
		return read_word(w, f->fp, fp);
	case TAPIR_UNWIND_FP_LOST:
		*fp = 0; /* a caller that needs it ends the walk */
		return true;
	default:
		return read_word(w, cfa - 8ull * row->fp, fp);
	}
}

static int step_by_row(const struct tapir_walk *w, struct frame *f,
		       const struct tapir_unwind_row *row, uint32_t pc)
{
	struct frame up = {};

	switch (row->rule) {
	case TAPIR_UNWIND_END:
		return TAPIR_STACK_END_WHOLE;
	case TAPIR_UNWIND_UNSUPPORTED:
	case TAPIR_UNWIND_GO_STACK: /* not the stack that was copied */
		return TAPIR_STACK_END_UNSUPPORTED;
	case TAPIR_UNWIND_SIGNAL:
		return step_over_signal(w, f);
	case TAPIR_UNWIND_GAP:
		return TAPIR_STACK_END_NO_TABLE;
	case TAPIR_UNWIND_FRAME:
		return step_from_compiled(w, f);
	}
	if (!cfa_of(w, f, row, pc, &up.sp) || !fp_of(w, f, row, up.sp, &up.fp) ||
	    !read_word(w, up.sp - 8, &up.ip))
		return TAPIR_STACK_END_FAULT;
	*f = up;
	return 0;
}

/*
 * A method that was compiled into an assembly: its row, unless it was interrupted in its epilogue,
 * which no row describes and its instructions do. What has no row has frame pointers.
 */
static int step_from_assembly(struct tapir_walk *w, struct frame *f,
			      const struct tapir_walk_code *code)
{
	uint32_t pc = (uint32_t)(f->ip - !f->is_interrupted - code->bias);
	const struct tapir_unwind_row *row =
		code->table ? tapir_unwind_table__find(code->table, pc) : NULL;
	struct tapir_walk_code_frame frame;

	if (!row || row->rule == TAPIR_UNWIND_GAP ||
	    (f->is_interrupted && tapir_walk_code__frame_at(w, f->ip, &frame)))
		return step_from_generated(w, f);
	w->used_table = true;
	return step_by_row(w, f, row, pc);
}

static int step_frame(struct tapir_walk *w, struct frame *f)
{
	uint64_t va = f->ip - !f->is_interrupted; /* the call is before its return address */
	const struct tapir_walk_code *code = code_at(w, va);
	const struct tapir_unwind_row *row;
	uint32_t pc;

	if (!code)
		return TAPIR_STACK_END_NOT_CODE;
	if (code->kind == TAPIR_UNWIND_KIND_LEAF)
		return step_from_leaf(w, f);
	if (code->kind == TAPIR_UNWIND_KIND_JIT_NO_FP)
		return TAPIR_STACK_END_JIT_NO_FP;
	if (code->kind == TAPIR_UNWIND_KIND_IMAGE)
		return step_from_assembly(w, f, code);
	if (code->kind != TAPIR_UNWIND_KIND_FILE)
		return step_from_generated(w, f);
	if (!code->table)
		return TAPIR_STACK_END_NO_TABLE;
	pc = (uint32_t)(va - code->bias);
	if (tapir_unwind_table__is_past_segments(code->table, pc))
		return step_from_generated(w, f);
	row = tapir_unwind_table__find(code->table, pc);
	w->used_table = true;
	return row ? step_by_row(w, f, row, pc) : TAPIR_STACK_END_NO_TABLE;
}

/*
 * CoreCLR replaces the code of a method while its loop runs. Where the new code's frame returns to
 * is then the old code's call to the runtime, which nothing returns to; the caller is in the old
 * frame's record, which has the same frame pointer: bpf/user_stack.bpf.h, skip_replaced.
 */
static void skip_replaced(const struct tapir_walk *w, struct frame *f)
{
	const struct tapir_walk_code *code = code_at(w, f->ip - 1);
	uint64_t fp, ip, va = f->sp;

	if (f->is_interrupted || !code || code->kind != TAPIR_UNWIND_KIND_JIT ||
	    !tapir_walk_code__is_patchpoint(w, f->ip))
		return;
	f->is_patchpoint = true;
	for (unsigned i = 0; i < MAX_REPLACED_WORDS && va < f->fp; i++, va += 8) {
		if (!read_word(w, va, &fp) || (fp == f->fp && !read_word(w, va + 8, &ip)))
			return;
		if (fp != f->fp || !code_at(w, ip - 1))
			continue; /* what an earlier call left in a variable is no record */
		*f = (struct frame){.ip = ip, .sp = va + 16, .fp = fp};
		return;
	}
}

/* An interrupted function that is about to set its frame pointer has its caller's. */
static bool has_own_fp(const struct tapir_walk *w, const struct frame *f)
{
	struct tapir_walk_code_frame frame;

	return !f->is_interrupted || !tapir_walk_code__frame_at(w, f->ip, &frame);
}

/* An interrupted address as the others: names are looked up before it. */
static uint64_t address_of(const struct tapir_walk *w, const struct frame *f, bool is_first)
{
	uint64_t method;

	if (is_interpreted(w, f->ip) && has_own_fp(w, f) &&
	    read_word(w, f->fp - w->method_below, &method) && w->is_method(w->code_ctx, method))
		return method + 1;
	return f->ip + (f->is_interrupted && !is_first);
}

void tapir_walk__run(struct tapir_walk *w)
{
	struct frame f = {.ip = w->ip, .sp = w->sp, .fp = w->fp, .is_interrupted = true};
	int end = 0;

	w->frames[0] = address_of(w, &f, true);
	w->frame_cnt = 1;
	w->used_table = false;
	while (!end) {
		uint64_t sp = f.sp;

		end = step_frame(w, &f);
		if (end)
			break;
		skip_replaced(w, &f);
		if (f.sp <= sp && !f.is_interrupted)
			end = TAPIR_STACK_END_NO_PROGRESS;
		else if (!code_at(w, f.ip - !f.is_interrupted))
			end = TAPIR_STACK_END_NOT_CODE;
		else if (is_in_heap(w, &f))
			end = TAPIR_STACK_END_IN_HEAP;
		else if (w->frame_cnt == TAPIR_MAX_FRAMES)
			end = TAPIR_STACK_END_MORE;
		else
			w->frames[w->frame_cnt++] = address_of(w, &f, false);
	}
	w->end = (uint8_t)end;
}
