/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind.h - unwind tables: where the caller of a function is, for each of its instructions, and
 * which process has which code where. Written by user/attach/unwind (tables) and user/record
 * (processes), read by the BPF stack walker. Not part of a recording.
 *
 * A table describes one file. Positions in it are file offsets ("pc"), so that a mapping needs no
 * knowledge of the file's segments: pc = va - mapping->bias. x86-64.
 *
 * To look up an address of a process:
 *   1. its mappings: unwind_spaces[{tgid, 0}]; when there is more than one block, first_va[] of
 * block 0 names the one to take; then a binary search in mappings[];
 *   2. the file: unwind_files[mapping->file_idx]; kind and state say how the walk continues without
 * a table;
 *   3. the table: unwind_tables[file_idx], an array of blocks. granule = (pc - file->first_pc) >>
 *      TAPIR_UNWIND_GRANULE_SHIFT, its index word is word granule of the table's first blocks;
 *   4. the row: the last one with row.pc <= pc, by at most `steps` halvings from `slot` in `block`.
 * A caller's address is looked up by its return address - 1, except that of a signal frame.
 */
#ifndef TAPIR_BPF_UNWIND_H
#define TAPIR_BPF_UNWIND_H

#include "bpf/interp.h"
#include "tapir/abi.h"

/* ---- rows ----------------------------------------------------------------------------------- */

/*
 * The rule for the end of a function's frame (its CFA). The return address is in the 8 bytes below
 * it.
 */
enum tapir_unwind_rule {
	TAPIR_UNWIND_GAP = 0,	      /* not described */
	TAPIR_UNWIND_SP = 1,	      /* rsp + 8 * cfa */
	TAPIR_UNWIND_FP = 2,	      /* rbp + 8 * (int16_t)cfa */
	TAPIR_UNWIND_FP_DEREF = 3,    /* *(rbp + 8 * (int16_t)cfa): realigned stacks */
	TAPIR_UNWIND_SP_DEREF = 4,    /* *(rsp + 8 * (int16_t)cfa) + 8: OpenSSL, in assembly */
	TAPIR_UNWIND_PLT = 5,	      /* rsp + 8 + ((pc & 15) >= cfa ? 8 : 0) */
	TAPIR_UNWIND_SIGNAL = 6,      /* rsp is the signal's ucontext: all registers are in it */
	TAPIR_UNWIND_END = 7,	      /* no caller: the thread starts here */
	TAPIR_UNWIND_UNSUPPORTED = 8, /* described by what a row cannot hold */
	TAPIR_UNWIND_FRAME = 9,	      /* not described, but compiled with frame pointers (Go) */
	TAPIR_UNWIND_GO_STACK = 10,   /* on another stack than its caller: see below */
	TAPIR_UNWIND_RULE_CNT
};

/* fp: the caller's rbp. Any other value n: it is at CFA - 8 * n. */
#define TAPIR_UNWIND_FP_SAME  0u   /* unchanged */
#define TAPIR_UNWIND_FP_AT_FP 254u /* at *rbp: realigned stacks */
#define TAPIR_UNWIND_FP_LOST  255u /* not recoverable */

/* Sorted by pc; holds up to the next row. */
struct tapir_unwind_row {
	uint32_t pc;
	uint16_t cfa;
	uint8_t rule; /* enum tapir_unwind_rule */
	uint8_t fp;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_unwind_row) == 8, "tapir_unwind_row");

/*
 * GO_STACK: runtime.systemstack runs on its thread's own stack; where it left the goroutine's is in
 * memory: g = *(thread pointer - 8), g = *(*(g + m) + curg), rsp = *(g + sp), CFA = rsp + 8 *
 * words, and with more than one word the caller's rbp is at CFA - 16. cfa and fp hold the four
 * numbers, the offsets in words, as Go's versions differ. The code that switches back is where they
 * are found.
 */
#define TAPIR_UNWIND_GO_CFA(curg, sp) ((uint16_t)((curg) | (sp) << 8)) /* < 256 each */
#define TAPIR_UNWIND_GO_FP(m, words)  ((uint8_t)((m) | (words) << 5))  /* < 32, < 8 */
#define TAPIR_UNWIND_GO_CURG(row)     ((row)->cfa & 255u)
#define TAPIR_UNWIND_GO_SP(row)	      ((row)->cfa >> 8)
#define TAPIR_UNWIND_GO_M(row)	      ((row)->fp & 31u)
#define TAPIR_UNWIND_GO_WORDS(row)    ((row)->fp >> 5)

/* In the ucontext of a signal frame (arch/x86/include/uapi/asm/sigcontext.h). */
#define TAPIR_UNWIND_UC_RBP	      120u
#define TAPIR_UNWIND_UC_RSP	      160u
#define TAPIR_UNWIND_UC_RIP	      168u

/* ---- tables --------------------------------------------------------------------------------- */

/*
 * The value of a table's map (an inner array of unwind_tables): first the index blocks, then the
 * blocks of rows. A block of rows is sorted; its unused rows are at its end and have pc UINT32_MAX.
 * All rows that hold in one granule of code are in one block.
 */
#define TAPIR_UNWIND_BLOCK_ROWS	      512u
#define TAPIR_UNWIND_BLOCK_WORDS      1024u
#define TAPIR_UNWIND_GRANULE_SHIFT    8 /* at most 257 rows hold in a granule */

struct tapir_unwind_block {
	union {
		struct tapir_unwind_row rows[TAPIR_UNWIND_BLOCK_ROWS];
		uint32_t words[TAPIR_UNWIND_BLOCK_WORDS];
	};
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_unwind_block) == 4096, "tapir_unwind_block");

/*
 * An index word: the block (an element of the inner array) and slot of the row that holds at the
 * granule's first byte, and how many halvings find the last row of the granule: starting at i =
 * slot, for each of step = 2^(steps-1) ... 1: i += step if i + step < 512 and rows[i + step].pc <=
 * pc. All rows of a block are sorted: a fixed number of halvings from slot 0 finds the same row.
 */
#define TAPIR_UNWIND_WORD(block, slot, steps)                                                      \
	((uint32_t)(block) << 13 | (uint32_t)(steps) << 9 | (uint32_t)(slot))
#define TAPIR_UNWIND_WORD_SLOT(word)  ((word)&511u)
#define TAPIR_UNWIND_WORD_STEPS(word) ((word) >> 9 & 15u)
#define TAPIR_UNWIND_WORD_BLOCK(word) ((word) >> 13)
#define TAPIR_UNWIND_MAX_BLOCKS	      (1u << 19)

/* The state of a file's table. */
enum tapir_unwind_state {
	TAPIR_UNWIND_NONE = 0,	  /* file_idx is not in use */
	TAPIR_UNWIND_NOT_YET = 1, /* it is being built */
	TAPIR_UNWIND_READY = 2,
	TAPIR_UNWIND_NO_TABLE = 3, /* the file has no unwind data, or cannot be read */
	TAPIR_UNWIND_EVICTED =
		4, /* it had to make room; the loader builds it again when `wanted` is set */
};

/* An element of the map unwind_files, mapped by the loader. */
struct tapir_unwind_file {
	uint32_t first_pc;    /* of granule 0 */
	uint32_t granule_cnt; /* code beyond is a GAP */
	uint32_t state;	      /* enum tapir_unwind_state */
	uint32_t used; /* BPF sets it to 1 when it is 0 and looks in the table; the loader clears it
			*/
	uint32_t wanted; /* BPF sets it to 1 when it is 0 and the table is EVICTED */
	/*
	 * The end of the file's segments; what is mapped of the rest is other code with frame
	 * pointers: the assemblies of a .NET single-file app. 0: not known.
	 */
	uint32_t segments_end;
	uint32_t pad0[2];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_unwind_file) == 32, "tapir_unwind_file");

#define TAPIR_UNWIND_FILES   4096u
#define TAPIR_UNWIND_NO_FILE (~0u)

/* ---- processes ------------------------------------------------------------------------------ */

enum tapir_unwind_kind {
	TAPIR_UNWIND_KIND_FILE = 1, /* of file_idx; an ELF file or the vdso */
	/*
	 * A file that is not ELF: a .NET assembly. What its table leaves out has frame pointers;
	 * without a file_idx, all of it.
	 */
	TAPIR_UNWIND_KIND_IMAGE = 2,
	TAPIR_UNWIND_KIND_JIT = 3,  /* memory of no file: generated code, with frame pointers */
	TAPIR_UNWIND_KIND_LEAF = 4, /* code without frames: the return address is at rsp */
	TAPIR_UNWIND_KIND_JIT_NO_FP = 5,   /* generated by who is known to use rbp otherwise */
	TAPIR_UNWIND_KIND_INTERPRETER = 6, /* HotSpot's: TAPIR_UNWIND_METHOD_BELOW_FP */
	TAPIR_UNWIND_KIND_CODE_HEAP = 7	   /* HotSpot's compiled code: see below */
};

/*
 * HotSpot's compiled code has no frame pointers (without -XX:+PreserveFramePointer), but the size
 * of a frame is in the header of the block that the code is in. A code heap consists of segments.
 * Its segment map has a byte for each: how many segments before this one the block begins, or a
 * part of that way; 0: here; TAPIR_UNWIND_SEGMENT_FREE: there is no block. The byte of the segment
 * of va is at bias + (va >> segment_shift); the block's frame size, an int32_t in words, which
 * counts the return address and below it the saved rbp, is frame_size_at * 4 bytes behind the
 * block's start. 0: stubs, which have frame pointers.
 */
#define TAPIR_UNWIND_SEGMENT_FREE    0xffu
#define TAPIR_UNWIND_SEGMENT_STEPS   64u   /* of 254 segments, of 128 bytes: 2 MB */
#define TAPIR_UNWIND_HEAP_WORDS	     4096u /* of a frame */

/*
 * The code of HotSpot's interpreter is the same for all that it runs. What it runs is the word so
 * many bytes below its frame pointer: the address of the method's description (interp.h).
 */
#define TAPIR_UNWIND_METHOD_BELOW_FP 24u /* frame::interpreter_frame_method_offset, in words -3 */

/* Executable memory [start_va, end_va). */
struct tapir_unwind_mapping {
	uint64_t start_va, end_va;
	uint64_t bias;	   /* pc = va - bias */
	uint32_t file_idx; /* TAPIR_UNWIND_NO_FILE: of no file, or one too many */
	uint8_t kind;	   /* enum tapir_unwind_kind */
	uint8_t segment_shift, frame_size_at; /* CODE_HEAP */
	uint8_t pad0;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_unwind_mapping) == 32, "tapir_unwind_mapping");

/*
 * An element of the hash map unwind_spaces: a part of the mappings of one process, sorted, without
 * overlap. Block 0 says how many blocks there are and where each begins. An element is replaced as
 * a whole. With what the kernel adds it takes 2 KB.
 */
#define TAPIR_UNWIND_SPACE_MAPPINGS 52u
#define TAPIR_UNWIND_SPACE_BLOCKS   32u /* most have 1; more mappings than fit are counted */

struct tapir_unwind_space_key {
	uint32_t tgid;
	uint32_t block;
};

struct tapir_unwind_space {
	uint32_t cnt;	     /* of mappings */
	uint32_t block_cnt;  /* in block 0: of all */
	uint64_t generation; /* grows with each change: what was kept of an older one is void */
	uint64_t first_va[TAPIR_UNWIND_SPACE_BLOCKS]; /* in block 0; unused: UINT64_MAX */
	struct tapir_interp interp;		      /* in block 0 */
	struct tapir_unwind_mapping mappings[TAPIR_UNWIND_SPACE_MAPPINGS];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_unwind_space) == 1968, "tapir_unwind_space");

#define TAPIR_UNWIND_SPACES 8192u /* elements of the map */

#endif
