/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind_logic.bpf.h - the decisions of a table walk, without any way to read memory: which row of
 * a block, which mapping of a process, and where the return address of interrupted generated code
 * is. Compiled for BPF and for host tests. The data is described in unwind.h.
 *
 * Searches are free of branches: the verifier would follow each of their paths.
 */
#ifndef TAPIR_BPF_UNWIND_LOGIC_H
#define TAPIR_BPF_UNWIND_LOGIC_H

#include "bpf/insn_logic.bpf.h"
#include "bpf/unwind.h"

#define TAPIR_UNWIND_INLINE    static inline __attribute__((always_inline))
/* Keeps the compiler from making a branch of arithmetic. */
#define TAPIR_UNWIND_OPAQUE(x) __asm__ volatile("" : "+r"(x))

/* All ones when a < b; both below 2^63. */
TAPIR_UNWIND_INLINE uint64_t tapir_unwind__is_below(uint64_t a, uint64_t b)
{
	uint64_t diff = a - b;

	TAPIR_UNWIND_OPAQUE(diff);
	diff = (uint64_t)((int64_t)diff >> 63);
	TAPIR_UNWIND_OPAQUE(diff);
	return diff;
}

/* The last row with row.pc <= pc, 0 if there is none. */
TAPIR_UNWIND_INLINE uint32_t tapir_unwind__row_idx(const struct tapir_unwind_block *block,
						   uint32_t pc)
{
	uint64_t at = 0;

	for (uint32_t half = TAPIR_UNWIND_BLOCK_ROWS / 2; half; half /= 2) {
		uint64_t next = at + half;

		TAPIR_UNWIND_OPAQUE(next); /* else the clamp goes, and Linux 6.1 sees no bound */
		next &= TAPIR_UNWIND_BLOCK_ROWS - 1;
		at += half & ~tapir_unwind__is_below(pc, block->rows[next].pc);
	}
	return (uint32_t)at & (TAPIR_UNWIND_BLOCK_ROWS - 1);
}

/* The block of a process's mappings in which va would be. */
TAPIR_UNWIND_INLINE uint32_t tapir_unwind__space_block(const struct tapir_unwind_space *first,
						       uint64_t va)
{
	uint64_t at = 0;

	for (uint32_t half = TAPIR_UNWIND_SPACE_BLOCKS / 2; half; half /= 2) {
		uint64_t next = at + half;

		TAPIR_UNWIND_OPAQUE(next);
		next &= TAPIR_UNWIND_SPACE_BLOCKS - 1;
		at += half & ~tapir_unwind__is_below(va, first->first_va[next] & (~0ull >> 1));
	}
	return (uint32_t)at;
}

/*
 * The last mapping with start_va <= va; its end is for the caller to check. Steps add up to the
 * last mapping, so that the verifier sees that none is beyond.
 */
TAPIR_UNWIND_INLINE uint64_t tapir_unwind__mapping_step(const struct tapir_unwind_space *space,
							uint64_t va, uint64_t at, uint64_t step)
{
	uint64_t next = at + step;

	return at + (step & tapir_unwind__is_below(next, space->cnt) &
		     ~tapir_unwind__is_below(va, space->mappings[next].start_va));
}

TAPIR_UNWIND_INLINE uint32_t tapir_unwind__mapping_idx(const struct tapir_unwind_space *space,
						       uint64_t va)
{
	uint64_t at = 0;

	at = tapir_unwind__mapping_step(space, va, at, 26);
	at = tapir_unwind__mapping_step(space, va, at, 13);
	at = tapir_unwind__mapping_step(space, va, at, 6);
	at = tapir_unwind__mapping_step(space, va, at, 3);
	at = tapir_unwind__mapping_step(space, va, at, 2);
	return (uint32_t)tapir_unwind__mapping_step(space, va, at, 1);
}
TAPIR_STATIC_ASSERT(TAPIR_UNWIND_SPACE_MAPPINGS == 26 + 13 + 6 + 3 + 2 + 1 + 1, "mapping_idx");

/* ---- interrupted generated code --------------------------------------------------------------- */

/*
 * Generated code with frame pointers that was interrupted may be about to set up its frame, or have
 * removed it. Its next instructions say so: a prologue saves rbp and sets it, an epilogue pops
 * registers and returns. What they do to rsp up to there shows where the frame ends.
 *
 * Anything else is the body of a function. Its rbp is set, unless the function is so small that its
 * compiler gave it no frame record: CoreCLR omits it where there is one call at most and no loop.
 * Such a body is followed to its end: it returns without a pop of rbp. What is seldom executed is
 * behind that end and jumps back: jumps are followed as well.
 */
#define TAPIR_UNWIND_CODE_BYTES 128u
#define TAPIR_UNWIND_CODE_JUMPS 2u
#define TAPIR_UNWIND_CODE_STEPS 32u

enum tapir_unwind_code_result {
	TAPIR_UNWIND_CODE_CONTINUES = 0,
	TAPIR_UNWIND_CODE_BODY,	    /* rbp leads to the frame record */
	TAPIR_UNWIND_CODE_SP_FRAME, /* the frame ends at rsp + cfa_off */
	TAPIR_UNWIND_CODE_JUMPED    /* the bytes at va are next: tapir_unwind_code__land */
};

struct tapir_unwind_code {
	uint8_t bytes[TAPIR_UNWIND_CODE_BYTES + 16]; /* from va on; zeros after the end */
	uint64_t va;
	uint32_t at;	 /* the next instruction */
	uint32_t sp_off; /* rsp there, less rsp now; signed */
	uint32_t result; /* enum tapir_unwind_code_result */
	int32_t cfa_off;
	int32_t fp_off;	     /* where the caller's rbp is, from rsp now; if has_fp_off */
	uint32_t has_fp_off; /* else it is in rbp */
	uint32_t has_pushed; /* rbp, by the instructions seen */
	uint32_t is_body;    /* instructions were seen that no prologue or epilogue has */
	uint32_t jump_cnt, pad0;
};

TAPIR_UNWIND_INLINE uint32_t tapir_unwind_code__u32(const struct tapir_unwind_code *c, uint32_t at)
{
	return (uint32_t)c->bytes[at] | (uint32_t)c->bytes[at + 1] << 8 |
	       (uint32_t)c->bytes[at + 2] << 16 | (uint32_t)c->bytes[at + 3] << 24;
}

/* The function sets rbp to rsp + off here, where it has saved rbp: the return address is next. */
TAPIR_UNWIND_INLINE void tapir_unwind_code__sets_fp(struct tapir_unwind_code *c, uint32_t off)
{
	c->result = TAPIR_UNWIND_CODE_BODY;
	if (c->is_body)
		return;
	c->cfa_off = (int32_t)(c->sp_off + off + 16);
	c->fp_off = (int32_t)(c->sp_off + off);
	c->has_fp_off = !c->has_pushed;
	c->result = TAPIR_UNWIND_CODE_SP_FRAME;
}

/* 48 ...: changes of rsp and rbp. Its length, 0: something else. */
TAPIR_UNWIND_INLINE uint32_t tapir_unwind_code__rex_w(struct tapir_unwind_code *c, uint32_t at)
{
	uint32_t op = c->bytes[at + 1], modrm = c->bytes[at + 2];
	uint32_t imm8 = (uint32_t)(int8_t)c->bytes[at + 3];
	uint32_t imm32 = tapir_unwind_code__u32(c, at + 3);

	if ((op == 0x89 && modrm == 0xe5) || (op == 0x8b && modrm == 0xec)) { /* mov rbp, rsp */
		tapir_unwind_code__sets_fp(c, 0);
		return 3;
	}
	if (op == 0x8d && modrm == 0x6c && c->bytes[at + 3] == 0x24) { /* lea rbp, [rsp + 8] */
		tapir_unwind_code__sets_fp(c, (uint32_t)(int8_t)c->bytes[at + 4]);
		return 5;
	}
	if (op == 0x8d && modrm == 0xac && c->bytes[at + 3] == 0x24) { /* lea rbp, [rsp + 32] */
		tapir_unwind_code__sets_fp(c, tapir_unwind_code__u32(c, at + 4));
		return 8;
	}
	if (op == 0x83 && (modrm == 0xec || modrm == 0xc4)) { /* sub, add rsp, imm8 */
		c->sp_off += modrm == 0xec ? -imm8 : imm8;
		return 4;
	}
	if (op == 0x81 && (modrm == 0xec || modrm == 0xc4)) {
		c->sp_off += modrm == 0xec ? -imm32 : imm32;
		return 7;
	}
	return 0;
}

TAPIR_UNWIND_INLINE uint32_t tapir_unwind_code__push(struct tapir_unwind_code *c, uint32_t is_rbp)
{
	c->has_pushed |= is_rbp;
	c->sp_off -= 8;
	return 1;
}

TAPIR_UNWIND_INLINE uint32_t tapir_unwind_code__pop(struct tapir_unwind_code *c, uint32_t is_rbp)
{
	if (is_rbp) {
		c->has_fp_off = 1;
		c->fp_off = (int32_t)c->sp_off;
	}
	c->sp_off += 8;
	return 1;
}

/* Instructions that change neither rsp nor rbp, and that occur in prologues and epilogues. */
TAPIR_UNWIND_INLINE uint32_t tapir_unwind_code__neutral(const struct tapir_unwind_code *c,
							uint32_t at)
{
	uint32_t four = tapir_unwind_code__u32(c, at);

	if (c->bytes[at] == 0x90)
		return 1;
	if (four == 0xfa1e0ff3) /* endbr64 */
		return 4;
	if ((four & 0xffffff) == 0x77f8c5) /* vzeroupper */
		return 3;
	if ((four & 0xffffff) == 0x248489) /* mov [rsp - n], eax: HotSpot touches the stack */
		return 7;
	if ((four & 0xffffff) == 0xa73b49) /* cmp rsp, [r15 + n]; ja: its safepoint poll */
		return 7;
	if ((four & 0xffff) == 0x870f)
		return 6;
	return 0;
}

TAPIR_UNWIND_INLINE void tapir_unwind_code__go_on(struct tapir_unwind_code *c, uint32_t len)
{
	c->at += len;
	if (!c->result && (!len || c->at >= TAPIR_UNWIND_CODE_BYTES))
		c->result = TAPIR_UNWIND_CODE_BODY;
}

/* Is that what only a function with a frame record does, when its body was seen? */
TAPIR_UNWIND_INLINE uint32_t tapir_unwind_code__has_record(const struct tapir_unwind_code *c,
							   uint32_t op, uint32_t is_extended)
{
	return c->is_body && ((op >= 0x50 && op <= 0x57) || (op == 0x5d && !is_extended));
}

/* One instruction further, if it is one of prologues and epilogues; 0: of the body. */
TAPIR_UNWIND_INLINE uint32_t tapir_unwind_code__frame_step(struct tapir_unwind_code *c)
{
	uint32_t at = c->at, len, op, is_extended;

	/*
	 * The verifier has to see the bound here, on this copy: bytes[] has 16 more than the mask
	 * allows.
	 */
	TAPIR_UNWIND_OPAQUE(at);
	at &= TAPIR_UNWIND_CODE_BYTES - 1;
	op = c->bytes[at];
	/* 0x41 is REX.B, which a push or pop of r8 to r15 begins with (Intel SDM 2A, 2.2.1). */
	is_extended = op == 0x41;
	if (is_extended)
		op = c->bytes[at + 1];
	if (tapir_unwind_code__has_record(c, op, is_extended)) {
		c->result = TAPIR_UNWIND_CODE_BODY;
		return 1;
	}
	/*
	 * 0x50 to 0x57 push a register, 0x58 to 0x5f pop one, and number 5 is rbp. 0x48 is REX.W,
	 * which begins what sets rbp and adds to rsp. 0xc3 and 0xc2 return.
	 */
	if (op >= 0x50 && op <= 0x57)
		len = is_extended + tapir_unwind_code__push(c, op == 0x55 && !is_extended);
	else if (op >= 0x58 && op <= 0x5f)
		len = is_extended + tapir_unwind_code__pop(c, op == 0x5d && !is_extended);
	else if (op == 0x48)
		len = tapir_unwind_code__rex_w(c, at);
	else if (op == 0xc3 || op == 0xc2) {
		c->cfa_off = (int32_t)(c->sp_off + 8);
		c->result = TAPIR_UNWIND_CODE_SP_FRAME;
		return 1;
	} else
		len = tapir_unwind_code__neutral(c, at);
	if (len)
		tapir_unwind_code__go_on(c, len);
	return len;
}

/* A jump to elsewhere: eb rel8 or e9 rel32. */
TAPIR_UNWIND_INLINE void tapir_unwind_code__jump(struct tapir_unwind_code *c, uint32_t at,
						 uint32_t is_near)
{
	uint64_t rel8 = (uint64_t)(int64_t)(int8_t)c->bytes[at + 1];
	uint64_t rel32 = (uint64_t)(int64_t)(int32_t)tapir_unwind_code__u32(c, at + 1);

	c->jump_cnt++;
	c->va += at + (is_near ? 2 + rel8 : 5 + rel32);
	c->result = TAPIR_UNWIND_CODE_JUMPED;
}

/* After the bytes at va, where it jumped to, were read. */
TAPIR_UNWIND_INLINE void tapir_unwind_code__land(struct tapir_unwind_code *c)
{
	c->at = 0;
	c->result = TAPIR_UNWIND_CODE_CONTINUES;
}

/* Any other instruction; one that may change rsp, or after which code continues elsewhere, ends it.
 */
TAPIR_UNWIND_INLINE void tapir_unwind_code__body_step(struct tapir_unwind_code *c)
{
	uint32_t at = c->at, op;

	TAPIR_UNWIND_OPAQUE(at);
	at &= TAPIR_UNWIND_CODE_BYTES - 1;
	op = c->bytes[at];
	if (op == 0x41)
		op = c->bytes[at + 1];
	c->is_body = 1;
	if ((op == 0xeb || op == 0xe9) && op == c->bytes[at] &&
	    c->jump_cnt < TAPIR_UNWIND_CODE_JUMPS) {
		tapir_unwind_code__jump(c, at, op == 0xeb);
		return;
	}
	/* V8's functions remove their arguments from the stack: a call ends what is known of it. */
	if (c->sp_off && (op == 0xe8 || op == 0xff))
		tapir_unwind_code__go_on(c, 0);
	else
		tapir_unwind_code__go_on(c, tapir_insn__bytes(c->bytes + at));
}

TAPIR_UNWIND_INLINE void tapir_unwind_code__step(struct tapir_unwind_code *c)
{
	if (!tapir_unwind_code__frame_step(c))
		tapir_unwind_code__body_step(c);
}

/* Is the frame one that a row can hold? Else the code is not what it looked like. */
TAPIR_UNWIND_INLINE uint32_t tapir_unwind_code__ok(const struct tapir_unwind_code *c)
{
	return c->result == TAPIR_UNWIND_CODE_SP_FRAME && c->cfa_off >= 8 &&
	       c->cfa_off <= 8 * 250 && !(c->cfa_off & 7) &&
	       (!c->has_fp_off || (c->fp_off >= 0 && c->fp_off < c->cfa_off));
}

/* mov $15, %rax; syscall: rt_sigreturn, to which a signal handler returns. */
TAPIR_UNWIND_INLINE uint32_t tapir_unwind__is_sigreturn(const uint8_t *bytes)
{
	return bytes[0] == 0x48 && bytes[1] == 0xc7 && bytes[2] == 0xc0 && bytes[3] == 0x0f &&
	       !bytes[4] && !bytes[5] && !bytes[6] && bytes[7] == 0x0f && bytes[8] == 0x05;
}

/*
 * lea rdi, [rbp + n]; mov esi, imm32; call rel32: with this CoreCLR's first code of a method calls
 * the runtime from a loop, and may not be returned to (RULE_PATCHPOINT). bytes: those before the
 * return address.
 */
#define TAPIR_UNWIND_PATCHPOINT_BYTES 17u

TAPIR_UNWIND_INLINE uint32_t tapir_unwind__is_patchpoint(const uint8_t *bytes)
{
	uint32_t is_near = bytes[3] == 0x48 && bytes[4] == 0x8d && bytes[5] == 0x7d;
	uint32_t is_far = bytes[0] == 0x48 && bytes[1] == 0x8d && bytes[2] == 0xbd;

	return bytes[7] == 0xbe && bytes[12] == 0xe8 && (is_near || is_far);
}

TAPIR_UNWIND_INLINE uint32_t tapir_unwind__three_bytes(const uint8_t *bytes)
{
	return bytes[0] | bytes[1] << 8 | (uint32_t)bytes[2] << 16;
}

/*
 * HotSpot keeps callers of a virtual thread in its heap. The lowest frame on the stack returns to
 * code that fetches the next one, and begins with mov rsp, [r15 + disp32]. That and the code that
 * lets a thread go on call the runtime twice and continue with mov rbx, rax; then, after what they
 * saved is restored (10 bytes) or xor rax, rax, test rbx, rbx or mov rsp, rbx. Of each call there
 * are two, for both alignments of the stack, and add rsp, 8; jmp leads over the second one.
 * (generate_cont_thaw in stubGenerator_x86_64.cpp.) bytes: those at the return address.
 */
#define TAPIR_UNWIND_THAW_BYTES 33u

TAPIR_UNWIND_INLINE uint32_t tapir_unwind__is_thaw(const uint8_t *bytes)
{
	uint32_t first = tapir_unwind__three_bytes(bytes), last;

	if (first == 0xa78b49)
		return 1;
	if (first == 0xc48348)
		bytes += 14;
	if (tapir_unwind__three_bytes(bytes) != 0xd88b48)
		return 0;
	bytes += bytes[3] == 0x48 ? 3 : 13;
	if (tapir_unwind__three_bytes(bytes) == 0xc03348)
		bytes += 3;
	last = tapir_unwind__three_bytes(bytes);
	return last == 0xdb8548 || last == 0xe38b48;
}

/*
 * Code of HotSpot's compilers that has not made its frame yet, or left it: it begins with mov [rsp
 * - n], eax; push rbp; sub rsp, n and ends with pop rbp; cmp rsp, [r15 + n]; ja; ret. bytes: the
 * instruction that is next; before: the byte in front of it. How many words there are between the
 * stack pointer and the end of the frame, the return address included; 0: it is in its body.
 */
TAPIR_UNWIND_INLINE uint32_t tapir_unwind__heap_edge_words(const uint8_t *bytes, uint8_t before)
{
	uint32_t first = tapir_unwind__three_bytes(bytes);
	uint32_t is_probe = first == 0x248489, is_poll = first == 0xa73b49;
	uint32_t is_sub = (first & ~0x000200u) == 0xec8148; /* with an imm32 or an imm8 */
	uint32_t has_pushed = (bytes[0] == 0x5d) | (is_sub & (before == 0x55));
	uint32_t is_edge = (bytes[0] == 0x55) | is_probe | is_poll | is_sub | has_pushed;

	return is_edge + has_pushed;
}

#endif
