/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * user_stack.bpf.h - a user stack, from the innermost frame to the thread's start, with everything
 * the walk needs in memory the caller owns.
 *
 * For each frame there is a row (unwind.h): where the frame ends, so where its return address is,
 * and where the caller's frame pointer is. The row of code in a file is found in the file's table;
 * generated code has frame pointers and always the same row, but for the interrupted function,
 * whose instructions are read (unwind_logic.bpf.h). A return address is taken only if it is in
 * executable code of the process. The walk ends at a row that ends it (a whole stack), or where
 * the caller cannot be found; the record's `end` has the reason (abi.h).
 *
 * A table that is not loaded yet, and a process of which nothing is known, are walked by frame
 * pointers alone: that may miss callers, which `end` also records.
 *
 * Rows found are kept by address: most walks repeat the addresses of the last ones.
 */
#ifndef TAPIR_BPF_USER_STACK_BPF_H
#define TAPIR_BPF_USER_STACK_BPF_H

#include "bpf/common.bpf.h"
#include "bpf/deep_stack.bpf.h"
#include "bpf/interp_walk.bpf.h"
#include "bpf/return_probe.bpf.h"
#include "bpf/walk_memo.bpf.h"

/* A return from a call costs 6 ns; the verifier checks each iteration of an inline loop. */
#define KNOWN_AT_ONCE	   8

#define MAX_ARGUMENT_BYTES 4096 /* 255 arguments, two words the largest */
#define MAX_REPLACED_WORDS 512	/* of the frame of a method that was replaced while it ran */

/* Adds an address to the frames and to the stack's id, which is a hash of all of them in order. */
static __always_inline void take_frame(struct user_stack *u, __u64 ip)
{
	__u32 cnt = frame_cnt(u);

	if (has_deep_stacks() && cnt >= TAPIR_FRAMES && take_deep_frame(u, ip)) {
		u->walk.limit = cnt;
		return;
	}
	if (!has_deep_stacks() || cnt < TAPIR_FRAMES)
		u->frames[cnt & 127] = ip;
	*(volatile __u32 *)&u->walk.cnt = cnt + 1;
	u->walk.hash = tapir_walk__hash(u->walk.hash, ip);
}

/* Adds the frame of the code at ip, whose row is u->row. */
static __always_inline void take_code(struct user_stack *u, __u64 ip)
{
	if (has_slots(u))
		take_function(u);
	take_frame(u, ip);
}

/* ---- steps ------------------------------------------------------------------------------------ */

/* Says how the walk ended. Not 0, which ends bpf_loop(). */
static __always_inline long end_walk(struct user_stack *u, enum tapir_stack_end end)
{
	u->walk.end = end;
	return 1;
}

/*
 * The caller of a frame could not be found: what that means for code of its kind. Go begins its
 * stacks with a frame pointer of 0.
 */
static __always_inline long lose_caller(struct user_stack *u, enum row_source source,
					enum tapir_stack_end end)
{
	if (source == ROW_OF_CODE)
		return end_walk(u, TAPIR_STACK_END_JIT_NO_FP);
	if (source == ROW_OF_COMPILER && !u->fp)
		return end_walk(u, TAPIR_STACK_END_WHOLE);
	if (source == ROW_GUESSED && end != TAPIR_STACK_END_FAULT)
		return end_walk(u, TAPIR_STACK_END_FP_END);
	return end_walk(u, end);
}

enum other_step { OTHER_CFA, OTHER_END, OTHER_SIGNAL, OTHER_CALLER };

/* A signal's frame: the interrupted function continues with the registers of the ucontext. */
static __always_inline int step_over_signal(struct user_stack *u)
{
	__u64 uc = u->sp;

	if (!read_word(u, uc + TAPIR_UNWIND_UC_RBP, &u->fp) &&
	    !read_word(u, uc + TAPIR_UNWIND_UC_RSP, &u->sp) &&
	    !read_word(u, uc + TAPIR_UNWIND_UC_RIP, &u->pair[1]))
		return OTHER_SIGNAL;
	end_walk(u, TAPIR_STACK_END_FAULT);
	return OTHER_END;
}

/* *(*va + 8 * words) to *va. */
static __always_inline long follow(struct user_stack *u, __u64 *va, __u32 words)
{
	return read_word(u, *va + 8 * (__u64)words, va);
}

/*
 * The caller is on a goroutine's stack (TAPIR_UNWIND_GO_STACK), which may be above or below. Not
 * static: see find_row.
 */
__weak __noinline int switch_to_goroutine(struct user_stack *u)
{
	__u32 words;

	if (!u)
		return OTHER_END;
	words = TAPIR_UNWIND_GO_WORDS(&u->row);
	u->cfa = tapir_task__thread_pointer(bpf_get_current_task_btf()) - 8;
	if (follow(u, &u->cfa, 0) || follow(u, &u->cfa, TAPIR_UNWIND_GO_M(&u->row)) ||
	    follow(u, &u->cfa, TAPIR_UNWIND_GO_CURG(&u->row)) ||
	    follow(u, &u->cfa, TAPIR_UNWIND_GO_SP(&u->row)) ||
	    read_word(u, u->cfa + 8 * (__u64)words - 8, &u->pair[1]) ||
	    (words > 1 && read_word(u, u->cfa + 8 * (__u64)words - 16, &u->fp))) {
		end_walk(u, TAPIR_STACK_END_FAULT);
		return OTHER_END;
	}
	u->sp = u->cfa + 8 * (__u64)words;
	return OTHER_CALLER;
}

/*
 * Steps from a method that is interpreted. Its caller may be compiled, with a frame that begins
 * where the stack pointer was: an adapter between both has moved it, and the frame says from where.
 * Not static: see find_row.
 */
__weak __noinline int step_from_interpreter(struct user_stack *u)
{
	if (!u)
		return OTHER_END;
	if (!tapir_walk__fp_ok(u->fp, u->sp - 8) || read_pair(u, u->fp) ||
	    read_word(u, u->fp - 8, &u->cfa)) {
		end_walk(u, TAPIR_STACK_END_JIT_NO_FP);
		return OTHER_END;
	}
	u->sp = u->fp + 16;
	if (u->cfa - u->sp < MAX_ARGUMENT_BYTES && !(u->cfa & 7))
		u->sp = u->cfa;
	u->fp = u->pair[0];
	return OTHER_CALLER;
}

/* Rules but SP and FP: enum other_step. Not static: see find_row. */
__weak __noinline int step_otherwise(struct user_stack *u)
{
	__u64 at;

	if (!u)
		return OTHER_END;
	switch (u->row.rule) {
	case TAPIR_UNWIND_END:
		end_walk(u, TAPIR_STACK_END_WHOLE);
		return OTHER_END;
	case TAPIR_UNWIND_SIGNAL:
		return step_over_signal(u);
	case TAPIR_UNWIND_GO_STACK:
		return switch_to_goroutine(u);
	case RULE_INTERPRETED:
		return step_from_interpreter(u);
	case TAPIR_UNWIND_FP_DEREF:
		at = u->fp + 8 * (__s64)(__s16)u->row.cfa;
		break;
	case TAPIR_UNWIND_SP_DEREF:
		at = u->sp + 8 * (__s64)(__s16)u->row.cfa;
		break;
	/* Entries of a PLT have 16 bytes. From byte row.cfa on, their push is on the stack, too. */
	case TAPIR_UNWIND_PLT:
		u->cfa = u->sp + 8 + ((u->ip & 15) >= u->row.cfa ? 8 : 0);
		return OTHER_CFA;
	/* RULE_STOP carries in fp why the walk ends (bpf/stack_rows.bpf.h). */
	default:
		end_walk(u, u->row.rule == RULE_STOP ? u->row.fp : TAPIR_STACK_END_UNSUPPORTED);
		return OTHER_END;
	}
	if (!read_word(u, at, &u->cfa)) {
		u->cfa += u->row.rule == TAPIR_UNWIND_SP_DEREF ? 8 : 0;
		return OTHER_CFA;
	}
	end_walk(u, TAPIR_STACK_END_FAULT);
	return OTHER_END;
}

/* May the frame end there? That of code with frame pointers is not larger than any real one. */
static __always_inline int cfa_ok(const struct user_stack *u, __u64 cfa)
{
	if (u->row.source == ROW_OF_TABLE)
		return (__s64)(cfa - u->sp) > 0 && !(cfa & 7);
	return tapir_walk__fp_ok(cfa - 16, u->sp - 8);
}

/* Reads the caller's frame pointer, if it is not in the frame record. */
static __always_inline long read_fp(struct user_stack *u, __u64 cfa, __u8 fp)
{
	if (fp == TAPIR_UNWIND_FP_SAME)
		return 0;
	if (fp == TAPIR_UNWIND_FP_LOST) {
		u->fp = 1; /* no frame pointer: a frame that needs it ends the walk */
		return 0;
	}
	return read_word(u, fp == TAPIR_UNWIND_FP_AT_FP ? u->fp : cfa - 8 * (__u64)fp, &u->fp);
}

static __always_inline int is_code(struct user_stack *u, __u64 ip)
{
	return tapir_walk__ip_ok(ip) &&
	       ((ip >= u->mapping.start_va && ip < u->mapping.end_va) || !find_mapping(u, ip));
}

/*
 * Variables that were not written yet hold what earlier calls left there, a saved frame pointer
 * too: only a return address after it makes it a frame record.
 */
static long find_record(__u64 idx, void *ctx)
{
	struct user_stack *u = *(struct user_stack **)ctx;

	u->cfa = u->sp + 8 * idx;
	return read_pair(u, u->cfa) || (u->pair[0] == u->fp && is_code(u, u->pair[1] - 1));
}

/*
 * CoreCLR replaces the code of a method while its loop runs (on-stack replacement). The new code's
 * frame is on top of the old one's, and its frame record has the frame pointer of the method's
 * caller, but the return address of the old code's call to the runtime, which nothing returns to.
 * The caller is in the old frame's record, which has the same frame pointer. Returns 1 if there is
 * one: u->row leads to it. Else the old code runs, and called what it seems to have called. Not
 * static: see find_row.
 */
__weak __noinline int skip_replaced(struct user_stack *u)
{
	if (!u)
		return 0;
	u->pair[0] = u->fp + 1;
	bpf_loop(MAX_REPLACED_WORDS, find_record, &u, 0);
	if (u->pair[0] != u->fp || u->cfa >= u->fp || !is_code(u, u->pair[1] - 1)) {
		set_fp_row(u, ROW_OF_CODE);
		return 0;
	}
	set_row(u, TAPIR_UNWIND_SP, (u->cfa + 16 - u->sp) / 8, TAPIR_UNWIND_FP_SAME, ROW_OF_CODE);
	return 1;
}

/* A return address may be what a probe of the return left there. No table knows that code. */
static __always_inline int may_be_probed(const struct user_stack *u)
{
	return (u->row.rule == RULE_STOP && u->row.fp == TAPIR_STACK_END_NOT_CODE) ||
	       u->row.source == ROW_GUESSED;
}

/*
 * Goes to the caller that a probe of the return hides. The words of such a stack are the same for
 * all callers, so the walk is not kept.
 */
static __always_inline __u64 skip_return_probe(struct user_stack *u, __u64 ip)
{
	__u64 original = tapir_original_return(ip, u->sp - 8);

	if (original == ip)
		return ip;
	u->walk.is_uncacheable = 1;
	u->ip = original - 1;
	find_row(u);
	return original;
}

/*
 * Takes the caller that ip returns to, if there is code. A return address of 0 is what the creator
 * of a coroutine's stack puts before its first frame.
 */
static __always_inline long take_caller(struct user_stack *u, enum row_source source, __u64 ip)
{
	if (!ip && (source == ROW_OF_TABLE || source == ROW_OF_COMPILER)) {
		u->walk.is_uncacheable = 1;
		return end_walk(u, TAPIR_STACK_END_WHOLE);
	}
	u->ip = ip - 1; /* the call is before it */
	take_row(u);
	if (may_be_probed(u))
		ip = skip_return_probe(u, ip);
	if (u->row.rule == RULE_STOP && u->row.fp == TAPIR_STACK_END_NOT_CODE)
		return lose_caller(u, source, TAPIR_STACK_END_NOT_CODE);
	/* Code that fetches the caller was called by none: it is no frame. */
	if (u->row.rule == RULE_STOP && u->row.fp == TAPIR_STACK_END_IN_HEAP)
		return end_walk(u, TAPIR_STACK_END_IN_HEAP);
	if (u->row.rule == RULE_PATCHPOINT && skip_replaced(u))
		return 0;
	take_code(u, ip);
	return 0;
}

/* The interrupted function's address is given as a return address: names are looked up before. */
static __always_inline long take_interrupted(struct user_stack *u)
{
	long ret;

	if (frame_cnt(u) >= u->walk.limit)
		return end_walk(u, TAPIR_STACK_END_MORE);
	u->walk.is_exact = 1;
	ret = take_caller(u, ROW_OF_TABLE, u->pair[1] + 1);
	u->walk.is_exact = 0;
	return ret;
}

static __always_inline long take_switched(struct user_stack *u, enum row_source source)
{
	u->walk.sources |= source;
	if (frame_cnt(u) >= u->walk.limit)
		return end_walk(u, TAPIR_STACK_END_MORE);
	return take_caller(u, source, u->pair[1]);
}

/* Steps from the frame taken last to its caller. Not 0: the walk ended. */
static __always_inline long walk_step(struct user_stack *u)
{
	__u8 rule = u->row.rule, fp = u->row.fp;
	enum row_source source = u->row.source;
	__u64 cfa;
	long ret;

	if (rule == TAPIR_UNWIND_SP) {
		cfa = u->sp + 8 * (__u64)u->row.cfa;
	} else if (rule == TAPIR_UNWIND_FP) {
		cfa = u->fp + 8 * (__s64)(__s16)u->row.cfa;
	} else {
		if (rule != TAPIR_UNWIND_END)
			u->walk.is_uncacheable = 1;
		ret = step_otherwise(u);
		if (ret != OTHER_CFA)
			return ret == OTHER_SIGNAL   ? take_interrupted(u)
			       : ret == OTHER_CALLER ? take_switched(u, source)
						     : 1;
		cfa = u->cfa;
	}
	u->walk.sources |= source;
	if (frame_cnt(u) >= u->walk.limit)
		return end_walk(u, TAPIR_STACK_END_MORE);
	if (!cfa_ok(u, cfa))
		return lose_caller(u, source, TAPIR_STACK_END_NO_PROGRESS);
	/*
	 * fp == 2: rbp was saved just below the return address, as a frame record. One read has
	 * both.
	 */
	if (fp == 2 ? read_pair(u, cfa - 16)
		    : read_word(u, cfa - 8, &u->pair[1]) || read_fp(u, cfa, fp))
		return lose_caller(u, source, TAPIR_STACK_END_FAULT);
	if (fp == 2)
		u->fp = u->pair[0];
	u->sp = cfa;
	note_words(u, cfa, fp);
	return take_caller(u, source, u->pair[1]);
}

/* Are the words of the frame that ends at base + off + 8 in the window? */
static __always_inline int is_in_window(const struct user_stack *u, __u64 off, __u64 fp_off,
					__u32 fp_rule)
{
	__u32 bytes = u->walk.window_bytes;

	return off < bytes && !(off & 7) && fp_off < bytes && fp_rule < TAPIR_UNWIND_FP_AT_FP;
}

/*
 * walk_step, for frames whose rows are kept and whose words are in the window: most of them. No
 * call, and the state of the walk in registers; stops before the first other frame. Returns how
 * many frames it took. Not static: see find_row.
 */
__weak __noinline int walk_known(struct user_stack *u)
{
	__u64 sp, fp, row;
	__u32 i;

	if (!u)
		return 0;
	sp = u->sp;
	fp = u->fp;
	row = u->row.word;
#pragma clang loop unroll(disable) /* the copies would take more stack than a probe may */
	for (i = 0; i < KNOWN_AT_ONCE; i++) {
		__u64 rule = row >> 16 & 0xff, fp_rule = row >> 24 & 0xff, ip, off, fp_off;
		__u64 cfa = 8 * (__s64)(__s16)row;
		const struct found_row *kept;

		if (rule - TAPIR_UNWIND_SP > TAPIR_UNWIND_FP - TAPIR_UNWIND_SP)
			break;
		cfa += rule == TAPIR_UNWIND_SP ? sp : fp;
		off = cfa - 8 - u->walk.base;
		/* A frame pointer that was not saved: the return address is read instead. */
		fp_off = off - 8 * (fp_rule - (fp_rule > 0));
		if ((__s64)(cfa - sp) <= 0 || !is_in_window(u, off, fp_off, fp_rule))
			break;
		ip = window_word(u, off);
		kept = &u->kept[row_slot(ip - 1)];
		if (kept->tag != ((ip - 1) ^ u->seed) || frame_cnt(u) >= u->walk.known_limit ||
		    kept->rule == RULE_INTERPRETED)
			break;
		u->walk.sources |= row >> 32;
		row = kept->word;
		u->frames[frame_cnt(u) & 127] = ip;
		keep_words(u, off, fp_off);
		*(volatile __u32 *)&u->walk.cnt = frame_cnt(u) + 1;
		u->walk.hash = tapir_walk__hash(u->walk.hash, ip);
		u->ip = ip - 1;
		sp = cfa;
		fp = fp_rule ? window_word(u, fp_off) : fp;
	}
	u->sp = sp;
	u->fp = fp;
	u->row.word = row;
	return i;
}

/*
 * Once the walk has left the first half of the window, the words from here on take its place: one
 * read instead of one for each frame of a deep stack. Not static: see find_row.
 */
__weak __noinline int move_window(struct user_stack *u)
{
	if (!u || u->sp - u->walk.base < WINDOW_BYTES / 2 || (__s64)(u->sp - u->walk.base) < 0)
		return 0;
	u->walk.base = u->sp & ~7ull;
	read_window(u);
	return 0;
}

static long walk_next(__u64 idx, void *ctx)
{
	struct user_stack *u = *(struct user_stack **)ctx;

	if (walk_known(u) == KNOWN_AT_ONCE)
		return 0;
	move_window(u);
	return walk_step(u) != 0;
}

/* ---- a walk ----------------------------------------------------------------------------------- */

/* The state of the process's mappings to u->seed. */
static __noinline int begin_space(struct user_stack *u)
{
	const struct tapir_unwind_space *space;

	u->key.tgid = bpf_get_current_pid_tgid() >> 32;
	u->key.block = 0;
	space = find_space(u);
	u->seed = space ? tapir_walk__hash(u->key.tgid, space->generation) | 1 : 0;
	u->walk.has_space = space != NULL;
	u->interp.root = TAPIR_INTERP_NONE;
	if (space && space->interp.root)
		u->interp = space->interp;
	if (u->seed != u->mapping_seed)
		u->mapping.start_va = u->mapping.end_va = 0;
	u->mapping_seed = u->seed;
	return 0;
}

/* All but the words of the stack. Not static: see find_row. */
__weak __noinline int begin_walk(struct user_stack *u)
{
	if (!u)
		return 0;
	__builtin_memset(&u->walk, 0, sizeof(u->walk));
	u->walk.limit = frame_limit;
	u->walk.known_limit = frame_limit < TAPIR_FRAMES ? frame_limit : TAPIR_FRAMES;
	u->walk.start = u->walk.base = u->sp & ~7ull;
	begin_space(u);
	walk_interp(u);
	return 0;
}

/* Adds the frame where the thread is. site: says where its caller is if no table does; or NULL. */
static __always_inline void take_first(struct user_stack *u, const struct tapir_site *site)
{
	u->walk.is_exact = 1;
	take_row(u);
	u->walk.is_exact = 0;
	take_code(u, u->ip);
	if (u->row.source != ROW_GUESSED)
		return;
	if (site && site->caller.rule)
		set_row(u, site->caller.rule, site->caller.cfa, site->caller.fp, ROW_OF_TABLE);
}

/*
 * Fills the record. How the walk ended is a part of its id: a stack that is whole is another one
 * than the same frames cut off. 0 stands for no stack.
 */
static __always_inline void end_record(struct user_stack *u)
{
	__u32 end = u->walk.end, flags = 0;

	if (end == TAPIR_STACK_END_MORE)
		flags |= TAPIR_STACK_MORE;
	else if (end == TAPIR_STACK_END_FAULT)
		flags |= TAPIR_STACK_FAULT;
	else if (u->walk.sources & ROW_GUESSED && u->walk.has_space)
		end = TAPIR_STACK_END_NOT_YET;
	if (u->walk.sources & ROW_OF_TABLE)
		flags |= TAPIR_STACK_UNWOUND;
	u->rec.frame_cnt = u->walk.cnt;
	u->rec.flags = flags;
	u->rec.end = end;
	u->walk.hash = tapir_walk__hash(u->walk.hash, end);
	u->rec.stack_id = u->walk.hash ? u->walk.hash : 1;
}

/*
 * Fills frames and record of a walk that was started. site: has a row for the first frame of a
 * process without tables; or NULL. Not static: see find_row.
 */
__weak __noinline int walk_on(struct user_stack *u, const struct tapir_site *site)
{
	if (!u)
		return 0;
	take_first(u, site);
	bpf_loop(frame_limit + 2, walk_next, &u, 0);
	end_record(u);
	if (u->interp.root == TAPIR_INTERP_SLOTS)
		u->interp_hash = u->list.stack_id;
	keep_walk(u);
	return 0;
}

/*
 * Walks from the registers in u, or finds that the last walk of this owner holds. site: as above.
 */
static __always_inline void walk(struct user_stack *u, const struct tapir_site *site)
{
	begin_walk(u);
	if (!is_last_walk(u))
		walk_on(u, site);
}

#endif /* TAPIR_BPF_USER_STACK_BPF_H */
