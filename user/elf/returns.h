/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * returns.h - the instructions by which a function of a file returns, found by going through its
 * code. x86-64 only. Code belongs to traced processes: reads are bounded, and what is not known is
 * refused.
 */
#ifndef TAPIR_USER_RETURNS_H
#define TAPIR_USER_RETURNS_H

#include <stdbool.h>
#include <stdint.h>

struct tapir_elf;

/* The instruction after this one may be another than the next in memory. */
enum tapir_x86_flow {
	TAPIR_X86_NEXT,
	TAPIR_X86_RETURN,
	TAPIR_X86_JUMP,	    /* or the next one: to `jump`, counted from its end */
	TAPIR_X86_ANYWHERE, /* a jump to where a register or memory says */
};

struct tapir_x86_insn {
	uint32_t bytes;
	enum tapir_x86_flow flow;
	int64_t jump;
};

#define TAPIR_X86_READ_BYTES 16

/* bytes[TAPIR_X86_READ_BYTES]; false: no instruction that is known. */
bool tapir_x86_insn__decode(const uint8_t *bytes, struct tapir_x86_insn *out);

#define TAPIR_MAX_RETURNS 64u

struct tapir_returns {
	uint64_t offs[TAPIR_MAX_RETURNS]; /* in the file */
	unsigned cnt;
};

/*
 * Finds each return of the function whose first instruction is at this offset. NULL, or why they
 * are not known: a phrase whose subject is the function.
 */
const char *tapir_returns__find(struct tapir_elf *elf, uint64_t off, struct tapir_returns *out);

/* Returns true if the file has code that throws exceptions or lets them pass: C++, Rust. */
bool tapir_returns__may_throw(struct tapir_elf *elf);

#endif
