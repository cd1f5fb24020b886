/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stack_rows.bpf.h - the state of a stack walk, and the row of an address: in a table of the file
 * that is mapped there, or made of what is known of the code. What a row is: unwind.h.
 */
#ifndef TAPIR_BPF_STACK_ROWS_BPF_H
#define TAPIR_BPF_STACK_ROWS_BPF_H

#include "bpf/common.bpf.h"
#include "bpf/interp_logic.bpf.h"
#include "bpf/unwind_logic.bpf.h"
#include "bpf/unwind_maps.bpf.h"

#define PAGE_BYTES   4096
#define WINDOW_BYTES 2048
#define WINDOW_WORDS (WINDOW_BYTES / 8)
#define MEMO_WORDS                                                                                 \
	(2 * WINDOW_WORDS)   /* of a stack, from its pointer up: as far as a kept walk goes */
#define KEPT_ROWS	 128 /* powers of two */
#define KEPT_METHODS	 64

/* Rules that no table has. */
#define RULE_INTERPRETED 28 /* rbp leads to the frame record; the caller's rsp is in the frame */
#define RULE_PATCHPOINT	 29 /* where CoreCLR may have replaced a running method */
#define RULE_STOP	 30 /* the walk ends here; fp holds why */

/* The source of a row. */
enum row_source {
	ROW_OF_TABLE = 1,
	ROW_OF_CODE = 2,     /* generated code, whose frame pointer is set or which was decoded */
	ROW_OF_COMPILER = 4, /* a file without a table, compiled with frame pointers: Go */
	ROW_GUESSED = 8	     /* nothing: frame pointers may lead past callers */
};

struct found_row {
	__u64 tag;
	union {
		struct {
			__u16 cfa;
			__u8 rule; /* enum tapir_unwind_rule, or RULE_STOP */
			__u8 fp;
			__u32 source; /* enum row_source */
		};
		__u64 word; /* all of them, in one load */
	};
};

struct walk {
	__u64 hash;
	__u64 start;	      /* the first base */
	__u64 base;	      /* of the window */
	__u32 window_bytes;   /* a multiple of 8 */
	__u32 cnt;	      /* frames taken */
	__u32 known_limit;    /* ... without the deep ones */
	__u32 end;	      /* enum tapir_stack_end */
	__u32 limit;	      /* of cnt */
	__u32 has_space;      /* something is known of the process */
	__u32 sources;	      /* enum row_source of all rows followed */
	__u32 is_exact;	      /* ip is that of an instruction, not a return address */
	__u32 is_uncacheable; /* it depends on more than code and the words read */
	__u32 word_cnt;	      /* from start on: what it depends on; 0: it may not be kept */
};

/*
 * The last walk, if only code and words near its beginning led it: from the same registers, by the
 * same words, it would be the same. read_at[i]: the places, in words from the beginning on, of the
 * return address that is frame i + 1, and of the word that was read with it, which is fps[i].
 */
struct walk_memo {
	__u64 ip, sp, fp;
	__u64 seed; /* 0: none */
	__u32 frame_cnt;
	__u32 pad0;
	struct word_offsets {
		__u16 ip, fp;
	} read_at[TAPIR_FRAMES + 1];
	__u64 fps[TAPIR_FRAMES + 1];
};

/* The hash of a method, as it was then (interp_walk.bpf.h). */
struct kept_method {
	__u64 tag;
	__u64 hash;
	__u64 time_ns;
};

/* The user of a struct user_stack. */
enum stack_owner {
	STACK_OF_SAMPLE,
	STACK_OF_SWITCH,
	STACK_OF_TRACEPOINT,
	STACK_OF_CALL,
	STACK_OF_IO,
	STACK_OF_FAULT,
	STACK_OF_THREAD
};

struct user_stack {
	/*
	 * The registers at which the walk begins; then of the frame taken last, whose ip is that of
	 * its call.
	 */
	__u64 ip, sp, fp;
	struct found_row row; /* of that frame */
	struct walk walk;
	__u64 seed; /* of tags: the process and the state of its mappings; 0: none is known */
	__u64 mapping_seed;
	__u64 cfa;
	__u64 pair[2]; /* a frame record: the caller's frame pointer, the return address */
	struct tapir_unwind_space_key key;
	__u64 segment; /* in a code heap, counted from address 0 */
	__u32 file_idx, pc, at;
	__u32 owner;			     /* enum stack_owner */
	struct tapir_unwind_mapping mapping; /* the last one, good while seed is mapping_seed */
	struct tapir_unwind_code code;
	struct found_row kept[KEPT_ROWS];
	struct walk_memo memo;
	__u64 window[MEMO_WORDS];   /* the second half: what a kept walk reads beyond the first */
	struct tapir_rec_stack rec; /* filled but for its header; the frames follow it */
	__u64 frames[TAPIR_FRAMES + 2]; /* as far as differs_from may look */
	struct tapir_interp_list list;	/* the interpreter's, after them: a complete record */
	struct tapir_interp interp;	/* how those are found */
	__u64 interp_va, interp_hash;	/* the next frame; of the list */
	__u64 interp_end;		/* of an array of frames */
	__u64 env[TAPIR_INTERP_ENV_BYTES / 8];
	__u64 interp_words[TAPIR_INTERP_WORDS];
	struct kept_method methods[KEPT_METHODS];
};
TAPIR_STATIC_ASSERT(__builtin_offsetof(struct user_stack, list) -
				    __builtin_offsetof(struct user_stack, rec) ==
			    __builtin_offsetof(struct tapir_rec_interp_stack, list),
		    "tapir_rec_interp_stack");

/* ---- the stack's memory ------------------------------------------------------------------- */

/* Reads the stack from base on in one go; less than asked near the end of a stack. */
static __always_inline void read_window(struct user_stack *u)
{
	__u64 base = u->walk.base;
	__u32 to_page_end = PAGE_BYTES - (base & (PAGE_BYTES - 1));

	u->walk.window_bytes = 0;
	if (!bpf_probe_read_user(u->window, WINDOW_BYTES, (void *)base))
		u->walk.window_bytes = WINDOW_BYTES;
	else if (to_page_end < WINDOW_BYTES &&
		 !bpf_probe_read_user(u->window, to_page_end & (WINDOW_BYTES - 1), (void *)base))
		u->walk.window_bytes = to_page_end;
}

/*
 * 16 bytes of the stack at va: from the window, or outside it from the process. Below the stack
 * pointer, too: what was popped is still there, and .eh_frame may say so.
 */
static __always_inline long read_pair(struct user_stack *u, __u64 va)
{
	__u64 off = va - u->walk.base;

	if (off >= u->walk.window_bytes || off + 8 >= u->walk.window_bytes || off & 7)
		return bpf_probe_read_user(u->pair, sizeof(u->pair), (void *)va);
	u->pair[0] = u->window[(off >> 3) & (WINDOW_WORDS - 1)];
	u->pair[1] = u->window[((off >> 3) + 1) & (WINDOW_WORDS - 1)];
	return 0;
}

/* 8 bytes of the stack at va, as read_pair. Not 0: they cannot be read, and *out is undefined. */
static __always_inline long read_word(struct user_stack *u, __u64 va, __u64 *out)
{
	__u64 off = va - u->walk.base;

	if (off >= u->walk.window_bytes || off & 7)
		return bpf_probe_read_user(out, sizeof(*out), (void *)va);
	*out = u->window[(off >> 3) & (WINDOW_WORDS - 1)];
	return 0;
}

/*
 * The number of frames taken is kept in memory, where the verifier does not follow it: for a
 * register, it would check the rest of the walk again for each possible number.
 */
static __always_inline __u32 frame_cnt(const struct user_stack *u)
{
	return *(const volatile __u32 *)&u->walk.cnt;
}

/* ---- the rows of addresses ------------------------------------------------------------------ */

/*
 * Sets u->row by hand, for code that no table describes: the frame ends at rsp or rbp plus cfa
 * words, and the caller's rbp is fp words below that (unwind.h). Returns 0, as all that find rows.
 */
static __always_inline int set_row(struct user_stack *u, __u8 rule, __u16 cfa, __u8 fp,
				   enum row_source source)
{
	u->row.rule = rule;
	u->row.cfa = cfa;
	u->row.fp = fp;
	u->row.source = source;
	return 0;
}

/* The walk ends here, for this reason. */
static __always_inline int set_stop(struct user_stack *u, enum tapir_stack_end end)
{
	return set_row(u, RULE_STOP, 0, end, ROW_OF_TABLE);
}

/* The frame has a frame record: saved rbp, return address. */
static __always_inline int set_fp_row(struct user_stack *u, enum row_source source)
{
	return set_row(u, TAPIR_UNWIND_FP, 2, 2, source);
}

/* Not static: see find_row. */
__weak __noinline int decode_body(struct user_stack *u)
{
	if (u)
		tapir_unwind_code__body_step(&u->code);
	return 0;
}

/* The instructions at ip to u->code. */
static __always_inline int read_code_bytes(struct user_stack *u, __u64 ip)
{
	__u32 to_page_end = PAGE_BYTES - (ip & (PAGE_BYTES - 1));

	__builtin_memset(u->code.bytes, 0, sizeof(u->code.bytes));
	if (bpf_probe_read_user(u->code.bytes, TAPIR_UNWIND_CODE_BYTES, (void *)ip) &&
	    to_page_end < TAPIR_UNWIND_CODE_BYTES)
		bpf_probe_read_user(u->code.bytes, to_page_end & (TAPIR_UNWIND_CODE_BYTES - 1),
				    (void *)ip);
	return 0;
}

/* Not static: see find_row. */
__weak __noinline int follow_jump(struct user_stack *u)
{
	if (!u)
		return 0;
	read_code_bytes(u, u->code.va);
	tapir_unwind_code__land(&u->code);
	return 0;
}

static long decode_step(__u64 idx, void *ctx)
{
	struct user_stack *u = *(struct user_stack **)ctx;

	if (!tapir_unwind_code__frame_step(&u->code))
		decode_body(u);
	if (u->code.result == TAPIR_UNWIND_CODE_JUMPED)
		follow_jump(u);
	return u->code.result != TAPIR_UNWIND_CODE_CONTINUES;
}

/* u->code of the instructions at ip. */
static __noinline int read_code(struct user_stack *u, __u64 ip)
{
	__builtin_memset(&u->code, 0, sizeof(u->code));
	u->code.va = ip;
	return read_code_bytes(u, ip);
}

/* The row of generated code that continues at ip. Not static: see find_row. */
__weak __noinline int decode_row(struct user_stack *u, __u64 ip, enum row_source source)
{
	const struct tapir_unwind_code *c;

	if (!u)
		return 0;
	c = &u->code;
	read_code(u, ip);
	bpf_loop(TAPIR_UNWIND_CODE_STEPS, decode_step, &u, 0);
	if (!tapir_unwind_code__ok(c))
		return set_fp_row(u, source);
	return set_row(u, TAPIR_UNWIND_SP, c->cfa_off / 8u,
		       c->has_fp_off ? (__u32)(c->cfa_off - c->fp_off) / 8 : 0, source);
}

/* Code that frame pointers lead through. */
static __always_inline int set_code_row(struct user_stack *u, __u64 ip, enum row_source source)
{
	if (u->walk.is_exact)
		return decode_row(u, ip, source);
	return source == ROW_OF_CODE ? decode_row(u, ip + 1, source) : set_fp_row(u, source);
}

/* No row says so, but it may be what a signal handler returns to: musl's, Go's. */
static __always_inline int is_sigreturn(struct user_stack *u, __u64 ip)
{
	return !u->walk.is_exact && !read_code(u, ip + 1) &&
	       tapir_unwind__is_sigreturn(u->code.bytes);
}

/* ---- HotSpot's code: unwind.h ---------------------------------------------------------------- */

static long segment_step(__u64 idx, void *ctx)
{
	struct user_stack *u = *(struct user_stack **)ctx;
	__u8 back = TAPIR_UNWIND_SEGMENT_FREE;

	bpf_probe_read_user(&back, sizeof(back), (void *)(u->mapping.bias + u->segment));
	if (back == TAPIR_UNWIND_SEGMENT_FREE)
		u->segment = 0;
	u->segment -= u->segment ? back : 0;
	return !back || !u->segment;
}

/* The size of a frame of the code at ip, in words; 0: not known. Not static: see find_row. */
__weak __noinline int heap_frame_words(struct user_stack *u, __u64 ip)
{
	__u32 shift, words;

	if (!u)
		return 0;
	shift = u->mapping.segment_shift & 31;
	u->segment = ip >> shift;
	bpf_loop(TAPIR_UNWIND_SEGMENT_STEPS, segment_step, &u, 0);
	if (!u->segment ||
	    bpf_probe_read_user(&words, sizeof(words),
				(void *)((u->segment << shift) + 4 * u->mapping.frame_size_at)))
		return 0;
	return words >= 2 && words <= TAPIR_UNWIND_HEAP_WORDS ? words : 0;
}

/*
 * Sets the row of an interrupted method that has no frame at the moment. Not 0: it has one. Not
 * static: see find_row.
 */
__weak __noinline int set_edge_row(struct user_stack *u, __u64 ip)
{
	__u32 words;
	__u8 before = 0;

	if (!u)
		return -1;
	bpf_probe_read_user(&before, sizeof(before), (void *)(ip - 1));
	words = tapir_unwind__heap_edge_words(u->code.bytes, before);
	/* Two: the saved rbp is on top. */
	return words ? set_row(u, TAPIR_UNWIND_SP, words, words & 2, ROW_OF_CODE) : -1;
}

/*
 * Sets the row of an interpreter, or of compiled code as far as its frame's size is known. With a
 * frame pointer such a row depends on the address alone. Not static: see find_row.
 */
__weak __noinline int set_hotspot_row(struct user_stack *u, __u64 ip)
{
	__u32 is_heap, is_exact, words = 0;

	if (!u)
		return 0;
	is_heap = u->mapping.kind == TAPIR_UNWIND_KIND_CODE_HEAP;
	is_exact = u->walk.is_exact;
	if (is_heap)
		words = heap_frame_words(u, ip);
	if (is_exact || (is_heap && !words))
		decode_row(u, ip + !is_exact, ROW_OF_CODE);
	if (!is_exact && is_heap && !words && tapir_unwind__is_thaw(u->code.bytes))
		return set_stop(u, TAPIR_STACK_END_IN_HEAP);
	if (is_exact && (u->row.rule == TAPIR_UNWIND_SP || (words && !set_edge_row(u, ip))))
		return 0;
	if (!is_heap)
		return set_row(u, RULE_INTERPRETED, 2, 2, ROW_OF_CODE);
	if (words && u->fp + 16 != u->sp + 8 * (__u64)words)
		return set_row(u, TAPIR_UNWIND_SP, words, 2, ROW_OF_CODE);
	return words ? set_fp_row(u, ROW_OF_CODE) : 0;
}

/* May the return address ip + 1 be in code that was replaced while it ran? */
static __always_inline int is_patchpoint(struct user_stack *u, __u64 ip)
{
	return !u->walk.is_exact && u->mapping.kind == TAPIR_UNWIND_KIND_JIT &&
	       !read_code(u, ip + 1 - TAPIR_UNWIND_PATCHPOINT_BYTES) &&
	       tapir_unwind__is_patchpoint(u->code.bytes);
}

/*
 * Keys are copied to the stack: Linux 6.1 takes none from what a global function has as its
 * argument (R2 type=mem), which all of u is.
 */
static __always_inline void *find_by_idx(void *map, __u32 idx)
{
	return bpf_map_lookup_elem(map, &idx);
}

/* A block of the process's mappings, by u->key; NULL: user space has not described it (yet). */
static __always_inline const struct tapir_unwind_space *find_space(const struct user_stack *u)
{
	struct tapir_unwind_space_key key = u->key;

	return bpf_map_lookup_elem(&unwind_spaces, &key);
}

/* The mapping of ip to u->mapping. Not 0: there is none. Not static: see find_row. */
__weak __noinline int find_mapping(struct user_stack *u, __u64 ip)
{
	const struct tapir_unwind_space *space;
	__u32 idx;

	if (!u)
		return -1;
	u->key.block = 0;
	space = find_space(u);
	if (space && space->block_cnt > 1) {
		u->key.block = tapir_unwind__space_block(space, ip);
		if (u->key.block)
			space = find_space(u);
	}
	if (!space)
		return -1;
	idx = tapir_unwind__mapping_idx(space, ip);
	if (idx >= space->cnt)
		return -1;
	u->mapping = space->mappings[idx];
	return ip < u->mapping.start_va || ip >= u->mapping.end_va;
}

/* The row of u->pc in a table that is there. */
static __noinline int find_in_table(struct user_stack *u, const struct tapir_unwind_file *file)
{
	__u32 granule = (u->pc - file->first_pc) >> TAPIR_UNWIND_GRANULE_SHIFT, word;
	const struct tapir_unwind_block *block;
	const struct tapir_unwind_row *row;
	void *table = find_by_idx(&unwind_tables, u->file_idx);

	if (file->segments_end && u->pc >= file->segments_end)
		return set_row(u, TAPIR_UNWIND_FRAME, 0, 0, ROW_OF_CODE);
	if (u->pc < file->first_pc || granule >= file->granule_cnt || !table)
		return set_stop(u, TAPIR_STACK_END_NO_TABLE);
	u->at = granule / TAPIR_UNWIND_BLOCK_WORDS;
	block = find_by_idx(table, u->at);
	if (!block)
		return set_stop(u, TAPIR_STACK_END_NO_TABLE);
	word = block->words[granule & (TAPIR_UNWIND_BLOCK_WORDS - 1)];
	u->at = TAPIR_UNWIND_WORD_BLOCK(word);
	block = find_by_idx(table, u->at);
	if (!block)
		return set_stop(u, TAPIR_STACK_END_NO_TABLE);
	row = &block->rows[tapir_unwind__row_idx(block, u->pc)];
	if (row->pc > u->pc)
		return set_stop(u, TAPIR_STACK_END_NO_TABLE);
	return set_row(u, row->rule, row->cfa, row->fp, ROW_OF_TABLE);
}

/* The row at ip of the file of u->mapping, as its table says. */
static __noinline int find_file_row(struct user_stack *u, __u64 ip)
{
	struct tapir_unwind_file *file;

	u->file_idx = u->mapping.file_idx;
	u->pc = ip - u->mapping.bias;
	file = find_by_idx(&unwind_files, u->file_idx);
	if (!file)
		return set_stop(u, TAPIR_STACK_END_NO_TABLE);
	if (file->state == TAPIR_UNWIND_NO_TABLE)
		return set_stop(u, TAPIR_STACK_END_NO_TABLE);
	if (file->state == TAPIR_UNWIND_EVICTED && !file->wanted)
		file->wanted = 1;
	if (file->state != TAPIR_UNWIND_READY)
		return set_fp_row(u, ROW_GUESSED);
	if (!file->used)
		file->used = 1;
	return find_in_table(u, file);
}

/*
 * Code of a file with a table that leaves it out: functions in assembly. Those that call nothing
 * are where a thread is interrupted, and their instructions say where the return address is.
 */
static __always_inline int set_gap_row(struct user_stack *u, __u64 ip)
{
	if (u->walk.is_exact)
		decode_row(u, ip, ROW_OF_TABLE);
	return u->walk.is_exact && u->row.rule == TAPIR_UNWIND_SP
		       ? 0
		       : set_stop(u, TAPIR_STACK_END_NO_TABLE);
}

/* Rows that depend on more than the address, or refer to others. */
static __noinline int refine_row(struct user_stack *u, __u64 ip)
{
	__u8 rule = u->row.rule;
	int is_described = rule != TAPIR_UNWIND_GAP && rule != RULE_STOP;

	if ((!is_described || rule == TAPIR_UNWIND_FRAME) && is_sigreturn(u, ip))
		return set_row(u, TAPIR_UNWIND_SIGNAL, 0, 0, ROW_OF_TABLE);
	if (rule == TAPIR_UNWIND_FRAME)
		return set_code_row(u, ip,
				    u->row.source == ROW_OF_CODE ? ROW_OF_CODE : ROW_OF_COMPILER);
	if (rule == TAPIR_UNWIND_GAP)
		return set_gap_row(u, ip);
	if (rule == TAPIR_UNWIND_UNSUPPORTED)
		return set_stop(u, TAPIR_STACK_END_UNSUPPORTED);
	return 0;
}

/*
 * The row of a method that was compiled into an assembly. No row describes an epilogue: a method
 * that was interrupted there has the one of its instructions. What the table leaves out has frame
 * pointers. Not static: see find_row.
 */
__weak __noinline int set_assembly_row(struct user_stack *u, __u64 ip)
{
	if (!u)
		return 0;
	if (u->walk.is_exact)
		decode_row(u, ip, ROW_OF_CODE);
	if (u->walk.is_exact && u->row.rule == TAPIR_UNWIND_SP)
		return 0;
	find_file_row(u, ip);
	if (u->row.rule == TAPIR_UNWIND_UNSUPPORTED)
		return set_stop(u, TAPIR_STACK_END_UNSUPPORTED);
	return u->row.rule == TAPIR_UNWIND_GAP || u->row.rule == RULE_STOP
		       ? set_code_row(u, ip, ROW_OF_CODE)
		       : 0;
}

/* Nothing is known of the process. */
static __always_inline int set_guess(struct user_stack *u, __u64 ip)
{
	return tapir_walk__ip_ok(ip) ? set_fp_row(u, ROW_GUESSED)
				     : set_stop(u, TAPIR_STACK_END_NOT_CODE);
}

/*
 * A return address may lead to no code. But the process executes what is at its instruction
 * pointer: then the known mappings are older than its last execve or dlopen.
 */
static __always_inline int set_unmapped(struct user_stack *u, __u64 ip)
{
	if (u->walk.cnt)
		return set_stop(u, TAPIR_STACK_END_NOT_CODE);
	u->seed = 0;
	return set_guess(u, ip);
}

static __always_inline __u32 row_slot(__u64 ip)
{
	return (ip >> 1 ^ ip >> 9) & (KEPT_ROWS - 1);
}

/*
 * The order is from what is known of the process to the code: without its mappings a guess, then by
 * the kind of mapping, and the tables of its file last, whose search costs most.
 */
static __always_inline int find_any_row(struct user_stack *u, __u64 ip)
{
	if (!u->seed)
		return set_guess(u, ip);
	if ((ip < u->mapping.start_va || ip >= u->mapping.end_va) && find_mapping(u, ip))
		return set_unmapped(u, ip);
	if (u->mapping.kind == TAPIR_UNWIND_KIND_LEAF)
		return set_row(u, TAPIR_UNWIND_SP, 1, 0, ROW_OF_CODE);
	if (u->mapping.kind == TAPIR_UNWIND_KIND_JIT_NO_FP)
		return set_stop(u, TAPIR_STACK_END_JIT_NO_FP);
	if (u->mapping.kind >= TAPIR_UNWIND_KIND_INTERPRETER)
		return set_hotspot_row(u, ip);
	if (is_patchpoint(u, ip))
		return set_row(u, RULE_PATCHPOINT, 0, 0, ROW_OF_CODE);
	if (u->mapping.kind == TAPIR_UNWIND_KIND_IMAGE &&
	    u->mapping.file_idx != TAPIR_UNWIND_NO_FILE)
		return set_assembly_row(u, ip);
	if (u->mapping.kind != TAPIR_UNWIND_KIND_FILE)
		return set_code_row(u, ip, ROW_OF_CODE);
	find_file_row(u, ip);
	if (u->row.rule >= TAPIR_UNWIND_UNSUPPORTED || u->row.rule == TAPIR_UNWIND_GAP)
		return refine_row(u, ip);
	return 0;
}

/* Other code may be generated there before the process's mappings change. */
static __always_inline int depends_on_code(const struct user_stack *u)
{
	return u->row.source != ROW_OF_TABLE &&
	       (u->walk.is_exact || u->row.rule == TAPIR_UNWIND_SP);
}

/* ... but not other code in which the same call returns to the same place on a stack. */
static __always_inline int depends_on_call(const struct user_stack *u)
{
	return u->row.source == ROW_OF_CODE && u->row.rule == TAPIR_UNWIND_SP && !u->walk.is_exact;
}

/* May the frame whose row that is have a function (TAPIR_INTERP_SLOTS)? */
static __always_inline int has_slots(const struct user_stack *u)
{
	if (u->interp.root != TAPIR_INTERP_SLOTS)
		return 0;
	return u->interp.language == TAPIR_INTERP_HOTSPOT
		       ? u->row.rule == RULE_INTERPRETED
		       : u->row.source & (ROW_OF_CODE | ROW_OF_COMPILER);
}

/*
 * The row of the code at u->ip to u->row: RULE_STOP with NOT_CODE where there is none. Kept is what
 * depends on the address alone. Not static: the verifier then checks it once, not once for each
 * path to it.
 */
__weak __noinline int find_row(struct user_stack *u)
{
	if (!u)
		return 0;
	find_any_row(u, u->ip);
	if (u->row.source == ROW_GUESSED || u->row.rule >= RULE_PATCHPOINT || depends_on_code(u) ||
	    (has_slots(u) && u->row.rule != RULE_INTERPRETED)) {
		u->walk.is_uncacheable |= u->row.rule != RULE_STOP && !depends_on_call(u);
		return 0;
	}
	u->row.tag = u->ip ^ u->seed;
	u->kept[row_slot(u->ip)] = u->row;
	return 0;
}

/* Sets u->row for u->ip, from the rows of this CPU that were found before if it is among them. */
static __always_inline void take_row(struct user_stack *u)
{
	const struct found_row *kept = &u->kept[row_slot(u->ip)];

	if (kept->tag == (u->ip ^ u->seed))
		u->row = *kept;
	else if (u->seed || u->row.source != ROW_GUESSED || !tapir_walk__ip_ok(u->ip))
		find_row(u); /* else one guess is like the other */
}

/* ---- frames ----------------------------------------------------------------------------------- */

#endif /* TAPIR_BPF_STACK_ROWS_BPF_H */
