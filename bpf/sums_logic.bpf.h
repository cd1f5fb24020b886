/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sums_logic.bpf.h - what a question adds up, by keys: compiled for BPF, where the hits of probes
 * are added, and for the host, which reads the rows and adds up what other lanes bring.
 *
 * A row is a CPU's. Nothing is ever cleared: numbers grow, and the reader takes differences. The
 * least and the most of an interval are kept with its number; the first hit of another interval
 * takes the place over, of two that the reader does not read at that time.
 */
#ifndef TAPIR_BPF_SUMS_LOGIC_H
#define TAPIR_BPF_SUMS_LOGIC_H

#include "tapir/abi.h"
#include "tapir/stack_walk.h"

#define TAPIR_SUMS_INLINE  static inline __attribute__((always_inline, unused))

#define TAPIR_SUMS_COLUMNS 8
#define TAPIR_SUMS_KEYS	   4
#define TAPIR_SUMS_TEXT	   64u /* bytes of a text in a key */

/* ---- histograms -------------------------------------------------------------------------- */

/* Steps are 1/32 of an octave. */
#define TAPIR_OCTAVE_STEPS 32u
#define TAPIR_USED_STEPS   (60u * TAPIR_OCTAVE_STEPS)
#define TAPIR_STEP_CNT	   2048u /* a power of two that has room for them */

/*
 * The number of the highest bit of value, which is not 0. BPF has no instruction for it, and a
 * search would be a path for the verifier at each branch: each value with all bits below its
 * highest one set, times this constant, has another number in its six highest bits.
 */
TAPIR_SUMS_INLINE uint32_t tapir_highest_bit(uint64_t value)
{
	static const uint8_t bits[64] = {0,  47, 1,  56, 48, 27, 2,  60, 57, 49, 41, 37, 28,
					 16, 3,	 61, 54, 58, 35, 52, 50, 42, 21, 44, 38, 32,
					 29, 23, 17, 11, 4,  62, 46, 55, 26, 59, 40, 36, 15,
					 53, 34, 51, 20, 43, 31, 22, 10, 45, 25, 39, 14, 33,
					 19, 30, 9,  24, 13, 18, 8,  12, 7,  6,	 5,  63};

	value |= value >> 1;
	value |= value >> 2;
	value |= value >> 4;
	value |= value >> 8;
	value |= value >> 16;
	value |= value >> 32;
	return bits[value * 0x03f79d71b4cb0a89u >> 58];
}

TAPIR_SUMS_INLINE uint32_t tapir_octave_step(uint64_t value)
{
	uint32_t octave;

	if (value < TAPIR_OCTAVE_STEPS)
		return (uint32_t)value;
	octave = tapir_highest_bit(value) & 63; /* 5 at least */
	return (octave - 4) * TAPIR_OCTAVE_STEPS +
	       (uint32_t)(value >> ((octave - 5) & 63)) % TAPIR_OCTAVE_STEPS;
}

/* ---- keys -------------------------------------------------------------------------------- */

/* The kinds of enum tapir_fold_kind (user/base/fold.h): each differs from all others. */
enum tapir_sums_kind {
	TAPIR_SUMS_UINT,
	TAPIR_SUMS_INT, /* below 0 */
	TAPIR_SUMS_FLOAT,
	TAPIR_SUMS_TEXT_ID, /* of a struct tapir_sums_text, whatever it is */
	TAPIR_SUMS_ABSENT = 6,
	TAPIR_SUMS_STACK_ID, /* tapir_sums__stack_id */
};

/*
 * A map's key: as many parts as the question has keys. Of a step of a histogram: 1 + the step, of
 * the column above TAPIR_STEP_CNT. probe_id: of the probe whose names the numbers have; 0: none.
 */
struct tapir_sums_key {
	uint8_t kinds[TAPIR_SUMS_KEYS]; /* enum tapir_sums_kind */
	uint16_t step;
	uint16_t probe_id;
	uint64_t parts[TAPIR_SUMS_KEYS];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_sums_key) == 40, "tapir_sums_key");

#define TAPIR_SUMS_KEY_BYTES(key_cnt) (8 + 8 * (key_cnt))

/* A text in keys, which has a number instead. */
struct tapir_sums_text {
	uint32_t len;
	uint32_t state; /* enum tapir_slot_state */
	char text[TAPIR_SUMS_TEXT + 8];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_sums_text) == 80, "tapir_sums_text");

/* The stack of a hit, by the ids of its records. */
struct tapir_sums_stack {
	uint64_t user, kernel; /* 0: none */
	uint32_t tgid;
	uint32_t is_lost; /* a record of it is */
};

enum tapir_sums_stack_part { TAPIR_SUMS_STACK, TAPIR_SUMS_STACK_USER, TAPIR_SUMS_STACK_KERNEL };

/*
 * The number in keys of a stack or its part. Processes differ, since the same addresses are other
 * functions in each; the kernel is the same to all. 0: there is none.
 */
TAPIR_SUMS_INLINE uint64_t tapir_sums__stack_id(const struct tapir_sums_stack *stack, uint32_t part)
{
	uint64_t user = part == TAPIR_SUMS_STACK_KERNEL ? 0 : stack->user;
	uint64_t kernel = part == TAPIR_SUMS_STACK_USER ? 0 : stack->kernel;
	uint64_t hash = 1 + part;

	if (!user && !kernel)
		return 0;
	if (user)
		hash = tapir_walk__hash(tapir_walk__hash(hash, stack->tgid), user);
	hash = tapir_walk__hash(hash, kernel);
	return hash ? hash : 1;
}

/* ---- rows -------------------------------------------------------------------------------- */

/*
 * Numbers as they compare without a sign: with is_signed, the sign bit is inverted. 0 is the place
 * of nothing: `least` holds the complement.
 */
struct tapir_sums_column {
	uint64_t low, high; /* sums of the low and the (signed) high 32 bits: exact for 2^31 hits */
	uint64_t max_ever, least_ever;
	uint64_t max[2], least[2]; /* of the interval whose number is even; odd */
	uint64_t below;		   /* values under 0, which have no step */
	uint64_t unbinned;	   /* values whose step found no room */
};

#define TAPIR_SUMS_BUSY 1u

struct tapir_sums_row {
	uint64_t cnt;
	uint64_t intervals[2]; /* twice the number; TAPIR_SUMS_BUSY: it is being taken over */
	struct tapir_sums_column columns[TAPIR_SUMS_COLUMNS];
};

#define TAPIR_SUMS_ROW_BYTES(column_cnt) (24 + (column_cnt) * sizeof(struct tapir_sums_column))

/* The state of all rows together. */
struct tapir_sums_state {
	uint64_t unkeyed;   /* hits whose key found no room */
	uint64_t text_cnt;  /* the last number of a text in keys; some may be of none */
	uint64_t undefined; /* intervals of which a value could not be read, or added up */
};

TAPIR_SUMS_INLINE uint64_t tapir_sums__biased(uint64_t value, int is_signed)
{
	return is_signed ? value ^ 1ull << 63 : value;
}

/*
 * Makes the place of an interval's least and most this interval's. 0: another thread of this CPU,
 * which was preempted by this one, is about to.
 */
TAPIR_SUMS_INLINE int tapir_sums__claim_interval(struct tapir_sums_row *row, uint32_t column_cnt,
						 uint64_t interval)
{
	uint32_t slot = interval & 1;
	uint64_t was = row->intervals[slot], is = 2 * interval;

	if (was == is)
		return 1;
	if (was & TAPIR_SUMS_BUSY ||
	    __sync_val_compare_and_swap(&row->intervals[slot], was, is | TAPIR_SUMS_BUSY) != was)
		return 0;
	for (uint32_t i = 0; i < TAPIR_SUMS_COLUMNS && i < column_cnt; i++)
		row->columns[i].max[slot] = row->columns[i].least[slot] = 0;
	row->intervals[slot] = is;
	return 1;
}

/* A thread that preempts this one may widen it, too: some tries are enough for any number of them
 * that ever do. */
TAPIR_SUMS_INLINE void tapir_sums__widen(uint64_t *max, uint64_t value)
{
	uint64_t was = *max, is;

	for (int i = 0; i < 8 && value > was; i++) {
		is = __sync_val_compare_and_swap(max, was, value);
		if (is == was)
			return;
		was = is;
	}
}

/* After __take_place. */
TAPIR_SUMS_INLINE void tapir_sums__add(struct tapir_sums_column *c, uint64_t value, int is_signed,
				       uint64_t interval)
{
	uint64_t biased = tapir_sums__biased(value, is_signed);
	uint64_t high = is_signed ? (uint64_t)((int64_t)value >> 32) : value >> 32;

	__sync_fetch_and_add(&c->low, value & 0xffffffff);
	if (high)
		__sync_fetch_and_add(&c->high, high);
	tapir_sums__widen(&c->max_ever, biased);
	tapir_sums__widen(&c->least_ever, ~biased);
	tapir_sums__widen(&c->max[interval & 1], biased);
	tapir_sums__widen(&c->least[interval & 1], ~biased);
}

#endif
