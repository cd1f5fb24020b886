/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * interp_logic.bpf.h - what a frame of an interpreter says (interp.h), without any way to read
 * memory, so that it runs in BPF and in host tests alike. words: TAPIR_INTERP_FRAME_BYTES of the
 * frame, of which any value may come from the process.
 */
#ifndef TAPIR_BPF_INTERP_LOGIC_H
#define TAPIR_BPF_INTERP_LOGIC_H

#include "bpf/interp.h"
#include "tapir/stack_walk.h"

#define TAPIR_INTERP_WORDS 16u /* a power of two, of which what is read fills a part */

static inline __attribute__((always_inline)) uint64_t
tapir_interp__word(const uint64_t words[TAPIR_INTERP_WORDS], uint16_t off)
{
	return words[off / 8 & (TAPIR_INTERP_WORDS - 1)];
}

static inline __attribute__((always_inline)) int
tapir_interp__is_last(const struct tapir_interp *how, const uint64_t words[TAPIR_INTERP_WORDS])
{
	uint64_t byte = tapir_interp__word(words, how->last) >> (how->last % 8 * 8);

	return (byte & how->last_mask) == how->last_value;
}

/* Returns the address of the function's description; 0: the frame has none. */
static inline __attribute__((always_inline)) uint64_t
tapir_interp__code(const struct tapir_interp *how, const uint64_t words[TAPIR_INTERP_WORDS],
		   int is_last)
{
	uint64_t va = tapir_interp__word(words, how->code) & ~7ull;

	if (is_last && how->flags & TAPIR_INTERP_LAST_IS_BARE)
		return 0;
	return tapir_walk__ip_ok(va) ? va : 0;
}

/*
 * Adds a frame to the list, whose stack_id is a hash of what is in it so far. va 0: it only ends
 * those before it. The list has room.
 */
static inline __attribute__((always_inline)) void
tapir_interp__add(struct tapir_interp_list *list, uint64_t va, uint64_t cookie, int is_last)
{
	uint32_t cnt = *(volatile uint16_t *)&list->cnt;
	struct tapir_interp_frame *frame =
		&list->frames[(va ? cnt : cnt - 1) & (TAPIR_INTERP_FRAMES - 1)];
	uint64_t last = is_last ? TAPIR_INTERP_FRAME_LAST : 0;

	if (!va && (!cnt || frame->cookie & TAPIR_INTERP_FRAME_LAST))
		return;
	if (va) {
		frame->owner = 0;
		frame->va = va;
		frame->cookie = cookie & ~(uint64_t)TAPIR_INTERP_FRAME_LAST;
		list->stack_id = tapir_walk__hash(list->stack_id, va);
		*(volatile uint16_t *)&list->cnt = (uint16_t)(cnt + 1);
	}
	frame->cookie |= last;
	list->stack_id = tapir_walk__hash(list->stack_id, frame->cookie);
}

/* Returns the cookie of a function with this hash, which native frame idx runs. */
static inline __attribute__((always_inline)) uint64_t tapir_interp__indexed(uint64_t hash,
									    uint32_t idx)
{
	return hash << TAPIR_INTERP_IDX_BITS | (uint64_t)idx << TAPIR_INTERP_IDX_SHIFT;
}

/* Returns the cookie of a description with these words, whose code native frame idx runs (V8). */
static inline __attribute__((always_inline)) uint64_t
tapir_interp__slot_cookie(const struct tapir_interp *how, const uint64_t words[TAPIR_INTERP_WORDS],
			  uint32_t idx)
{
	uint64_t hash = tapir_walk__hash(0, words[0]);

	hash = tapir_walk__hash(hash, tapir_interp__word(words, how->cookie));
	hash = tapir_walk__hash(hash, tapir_interp__word(words, how->previous));
	return tapir_interp__indexed(hash, idx);
}

static inline __attribute__((always_inline)) int tapir_interp__is_object(uint64_t word)
{
	return (word & TAPIR_INTERP_OBJECT_MASK) == TAPIR_INTERP_OBJECT && tapir_walk__ip_ok(word);
}

/* ---- HotSpot ------------------------------------------------------------------------------- */

/* Returns 0 where no structure of a JVM can be. */
static inline __attribute__((always_inline)) int tapir_interp__is_metadata(uint64_t va)
{
	return !(va & 7) && tapir_walk__ip_ok(va);
}

/*
 * Returns the hash of a method: of where its ConstMethod is, what this has of the method's names,
 * and the name of its class. name_id: 0 where that name's memory is not resident.
 */
static inline __attribute__((always_inline)) uint64_t
tapir_interp__method_hash(uint64_t const_method_va, uint64_t name_indexes, uint64_t class_name_va,
			  uint64_t name_id)
{
	uint64_t hash = tapir_walk__hash(0, const_method_va);

	hash = tapir_walk__hash(hash, name_indexes);
	hash = tapir_walk__hash(hash, class_name_va);
	return tapir_walk__hash(hash, name_id);
}

/* ---- Ruby ---------------------------------------------------------------------------------- */

enum tapir_interp_env {
	TAPIR_INTERP_ENV_UNKNOWN, /* it is none */
	TAPIR_INTERP_ENV_METHOD,  /* instructions */
	TAPIR_INTERP_ENV_C,
	TAPIR_INTERP_ENV_BARE, /* no function */
	TAPIR_INTERP_ENV_OUTERMOST
};

/* Returns what flags say of the frame (vm_core.h, VM_FRAME_MAGIC_*). */
static inline __attribute__((always_inline)) enum tapir_interp_env tapir_interp__env(uint64_t flags)
{
	switch (flags & 0x7fff0001) {
	case 0x11110001: /* a method */
	case 0x22220001: /* a block */
	case 0x33330001: /* the body of a class */
	case 0x44440001: /* a file */
	case 0x77770001: /* eval */
	case 0x78880001: /* rescue */
		return TAPIR_INTERP_ENV_METHOD;
	case 0x55550001:
		return TAPIR_INTERP_ENV_C;
	case 0x66660001: /* a block that is C */
		return TAPIR_INTERP_ENV_BARE;
	case 0x79990001:
		return TAPIR_INTERP_ENV_OUTERMOST;
	default:
		return TAPIR_INTERP_ENV_UNKNOWN;
	}
}

/* The end of the memory of a state with these words, if the innermost frame is in it; else 0. */
static inline __attribute__((always_inline)) uint64_t
tapir_interp__array_end(const uint64_t words[TAPIR_INTERP_WORDS])
{
	uint64_t end = words[0] + 8 * words[1];

	if (words[1] > TAPIR_INTERP_ARRAY_WORDS || words[2] & 7 || words[2] < words[0] ||
	    words[2] >= end || !tapir_walk__ip_ok(words[0]))
		return 0;
	return end;
}

/* The frame that was added last is a method of that entry. */
static inline __attribute__((always_inline)) void
tapir_interp__set_owner(struct tapir_interp_list *list, uint64_t owner)
{
	uint32_t cnt = *(volatile uint16_t *)&list->cnt;

	list->frames[(cnt - 1) & (TAPIR_INTERP_FRAMES - 1)].owner = owner;
}

/* The id of a stack of these addresses and the frames of the list whose hash that is. */
static inline __attribute__((always_inline)) uint64_t tapir_interp__stack_id(uint64_t list_hash,
									     uint64_t native_id)
{
	uint64_t id = tapir_walk__hash(list_hash, native_id);

	return id ? id : 1;
}

#endif
