/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * interp.h - the functions that an interpreter runs, in addition to the addresses of its own code:
 * what the loader writes for the BPF programs of an interpreter, and what they send. Not part of a
 * recording.
 *
 * A process whose interpreter is known has a struct tapir_interp in its unwind_spaces (unwind.h):
 * where a thread's innermost frame is and what a frame looks like. At each stack the programs walk
 * that list, too. A stack with such frames is sent as TAPIR_REC_INTERP_STACK: the addresses, as a
 * STACK has them, then the functions. The session merges both into one STACK, in which a function
 * has the address of its description plus 1, as if a call at its start returned there, and names
 * that with JIT records (record/names/interp_stacks.h). So a file has neither this record nor these
 * structs.
 *
 * A function enters a stack's id by its address and a cookie, a word of its description that
 * differs when other code takes its place; where in the function a frame is does not.
 */
#ifndef TAPIR_BPF_INTERP_H
#define TAPIR_BPF_INTERP_H

#include "tapir/abi.h"

/* The kinds of addresses that the walk begins at. */
enum tapir_interp_root {
	TAPIR_INTERP_NONE = 0,
	TAPIR_INTERP_TSS = 1,	/* root_va: of a pthread_key_t; the thread's value of it (glibc) */
	TAPIR_INTERP_TLS = 2,	/* root_va: a distance from the thread pointer */
	TAPIR_INTERP_VA = 3,	/* root_va: an address */
	TAPIR_INTERP_SLOTS = 4, /* nowhere: native frames have them; see below, V8 and HotSpot */
	/* root_va: of a library's tls_index, the number of its thread-local data and where in it */
	TAPIR_INTERP_INDEX = 5
};

/* The language of the functions selects what merges and names them. */
enum tapir_interp_language {
	TAPIR_INTERP_CPYTHON = 1,
	TAPIR_INTERP_PHP = 2,
	TAPIR_INTERP_V8 = 3,
	TAPIR_INTERP_RUBY = 4,
	TAPIR_INTERP_HOTSPOT = 5
};

#define TAPIR_INTERP_FRAME_BYTES  80u /* are read of a frame */
#define TAPIR_INTERP_STEPS	  2u
#define TAPIR_INTERP_FRAMES	  256u /* a power of two; more are left out */
/*
 * V8: each frame of generated code, and of what is built in, has in the words below its frame
 * pointer a context, or a small number where it runs no function; then the function; then how many
 * arguments it has. A word of the function (at code) leads to its description. Objects are at
 * addresses that end in 01, and the collector moves them: the cookie is a hash of words that are
 * there (at 0, cookie and previous), with the number of the native frame in its low bits.
 */
#define TAPIR_INTERP_SLOT_BYTES	  24u
#define TAPIR_INTERP_OBJECT_MASK  3u
#define TAPIR_INTERP_OBJECT	  1u
#define TAPIR_INTERP_SMALL_MASK	  1u  /* 0 in small numbers */
#define TAPIR_INTERP_IDX_SHIFT	  1u  /* above TAPIR_INTERP_FRAME_LAST */
#define TAPIR_INTERP_IDX_BITS	  16u /* both */

/*
 * Ruby: the frames of a thread, or of a fiber, are an array, in which `previous` is how far apart
 * they are; the state has where its memory begins, how many words it has, then the innermost frame.
 * A frame has the address of its environment (at last), which says what kind of frame it is, and of
 * what runs for a call from outside: a block's leads to that of its method. The function is an
 * instruction sequence (at code), whose body (at cookie) distinguishes one from another; that of C
 * is the definition that its method entry has (at cookie).
 */
#define TAPIR_INTERP_ENV_BYTES	  24u /* the method entry, the outer one's address, the flags */
#define TAPIR_INTERP_ENVS	  4u  /* blocks in blocks; of deeper ones the method is not known */
#define TAPIR_INTERP_ENV_TAGS	  3u  /* of an outer one's address */
#define TAPIR_INTERP_ENV_IS_OWN	  2u  /* there is no outer one */
#define TAPIR_INTERP_ARRAY_WORDS  (1u << 24)
#define TAPIR_INTERP_C_FUNCTION	  8u /* in a definition: a word that differs between functions */

/*
 * HotSpot: a word in each frame of its interpreter is the method (unwind.h). It leads to its
 * ConstMethod (at code), which has where the method's names are (the word at cookie), and the pool
 * (at previous); this to its class, and that to its name (steps), of which 2 bytes differ between
 * names (at last). All of these are hashed to the cookie, with the number of the native frame as in
 * V8's: where classes are unloaded, a method of another one may be at the same address soon.
 */
#define TAPIR_INTERP_METHOD_BYTES 48u /* are read of a ConstMethod */

/* The frame that ends those of one call of the loop runs no function. */
#define TAPIR_INTERP_LAST_IS_BARE (1u << 0)
/* The interpreter has no threads of its own: only the process's first one runs functions. */
#define TAPIR_INTERP_FIRST_THREAD (1u << 1)

/*
 * The way to a process's frames: state = *root; frame = *(state + steps[0]), *(that + steps[1])
 * ...; the function of a frame, and the frame before it, are words in it. Offsets in bytes, those
 * in a frame below TAPIR_INTERP_FRAME_BYTES.
 */
struct tapir_interp {
	uint64_t root_va;
	uint8_t root;	  /* enum tapir_interp_root */
	uint8_t language; /* enum tapir_interp_language */
	uint8_t flags;
	uint8_t step_cnt;
	uint16_t steps[TAPIR_INTERP_STEPS];
	/* In the state: the thread's number in its namespace, 8 bytes; 0: it is not checked. */
	uint16_t tid;
	uint16_t code, previous;
	uint16_t last; /* a byte: & last_mask is last_value in the last frame of a call */
	uint8_t last_mask, last_value;
	uint16_t cookie; /* in the description of a function; a word */
	uint32_t pad0;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_interp) == 32, "tapir_interp");

#define TAPIR_INTERP_FRAME_LAST (1u << 0) /* of one call of the loop */

struct tapir_interp_frame {
	uint64_t va;	 /* of the function's description; low bits that are tags are 0 */
	uint64_t cookie; /* its low bit: TAPIR_INTERP_FRAME_LAST */
	uint64_t owner;	 /* Ruby: the method entry, which is not a part of the stack's id; else 0 */
};

#define TAPIR_INTERP_IS_TRUNCATED (1u << 0) /* there are more, or one could not be read */

/* Innermost first. */
struct tapir_interp_list {
	uint64_t stack_id; /* of the addresses and these */
	uint32_t tgid;
	uint16_t cnt;
	uint8_t flags;
	uint8_t language;
	struct tapir_interp_frame frames[TAPIR_INTERP_FRAMES];
};

/*
 * A record from a program to the session: a STACK, whose id is that of the addresses alone, with
 * room for TAPIR_FRAMES + 2 frames (TAPIR_MAX_FRAMES, if it has more than TAPIR_FRAMES); then the
 * list, as far as it is filled.
 */
#define TAPIR_REC_INTERP_STACK 0x8002

struct tapir_rec_interp_stack {
	struct tapir_rec_stack stack;
	uint64_t frames[TAPIR_FRAMES + 2];
	struct tapir_interp_list list;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_interp_stack) ==
			    32 + 8 * (TAPIR_FRAMES + 2) + 16 + 24 * TAPIR_INTERP_FRAMES,
		    "tapir_rec_interp_stack");

static inline uint32_t tapir_interp__room(const struct tapir_rec_stack *stack)
{
	return stack->frame_cnt > TAPIR_FRAMES ? TAPIR_MAX_FRAMES : TAPIR_FRAMES + 2;
}

static inline uint32_t tapir_interp__record_bytes(uint32_t room, uint32_t cnt)
{
	return (uint32_t)(sizeof(struct tapir_rec_stack) + 8 * room +
			  sizeof(struct tapir_interp_list) -
			  (TAPIR_INTERP_FRAMES - cnt) * sizeof(struct tapir_interp_frame));
}

#endif
