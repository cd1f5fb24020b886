/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * question_logic.bpf.h - decides whether an event meets a condition, and computes the numbers that
 * a question adds up: compiled for BPF and for the host, so that kernel and user space agree.
 *
 * A condition is a table of terms. Each compares one operand with a constant and names the next
 * term for yes and for no, always a later one: && || ! need no stack, and a loop over the table
 * ends. Arithmetic is done before, by steps over registers. Operands are slots, which the caller
 * fills per event; what a text compares with is the caller's business, since only it can reach the
 * bytes: define TAPIR_QUESTION_TEXT(ctx, term, slot) before including this, as an expression that
 * is 1, 0 or TAPIR_QUESTION_UNDEFINED.
 */
#ifndef TAPIR_BPF_QUESTION_LOGIC_H
#define TAPIR_BPF_QUESTION_LOGIC_H

#include "bpf/sums_logic.bpf.h"
#include "tapir/abi.h"

#define TAPIR_QUESTION_TERMS	 32 /* a power of two */
#define TAPIR_QUESTION_STEPS	 16
#define TAPIR_QUESTION_REGISTERS 8  /* a power of two */
#define TAPIR_QUESTION_SLOTS	 16 /* a power of two */

#define TAPIR_QUESTION_REJECT	 0
#define TAPIR_QUESTION_ACCEPT	 1
#define TAPIR_QUESTION_UNDEFINED (-1) /* divided by zero, or an operand could not be read */

/* Instead of a term's index. */
#define TAPIR_TERM_ACCEPT	 0xfe
#define TAPIR_TERM_REJECT	 0xff

enum tapir_slot_state {
	TAPIR_STATE_OK,
	TAPIR_STATE_TRUNCATED, /* a text: the beginning of more */
	TAPIR_STATE_NULL,      /* a text whose pointer was NULL */
	TAPIR_STATE_ABSENT,    /* unreadable, or not there */
};

/* The value of an operand in this event. */
struct tapir_question_slot {
	uint64_t number; /* of a text: where it is, as the caller knows it */
	uint32_t state;	 /* enum tapir_slot_state */
	uint32_t len;	 /* of a text, bytes */
};

enum tapir_term_source { TAPIR_TERM_SLOT, TAPIR_TERM_REGISTER, TAPIR_TERM_TEXT };

/* GT and GE are LE and LT with yes and no exchanged. */
enum tapir_term_compare {
	TAPIR_COMPARE_EQ,
	TAPIR_COMPARE_LT_SIGNED,
	TAPIR_COMPARE_LE_SIGNED,
	TAPIR_COMPARE_LT,
	TAPIR_COMPARE_LE,
	TAPIR_COMPARE_ANY_BIT,
	TAPIR_COMPARE_STATE, /* is the state of the slot the constant? */
	TAPIR_COMPARE_TEXT,  /* constant: index of the text */
	TAPIR_COMPARE_GLOB,  /* constant: index of the glob */
};

struct tapir_question_term {
	uint8_t source;	 /* enum tapir_term_source */
	uint8_t compare; /* enum tapir_term_compare */
	uint8_t yes, no; /* index of a later term, or TAPIR_TERM_* */
	uint32_t which;	 /* slot or register */
	uint64_t constant;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_question_term) == 16, "tapir_question_term");

/* A value that is added up: the number in a slot. */
struct tapir_hit_value {
	uint8_t slot;
	uint8_t is_signed;
	uint8_t has_steps; /* of a histogram */
	uint8_t pad0[5];
};

enum tapir_hit_key_source {
	TAPIR_HIT_SLOT,	    /* the number in it */
	TAPIR_HIT_CONSTANT, /* the same for all events of the probe */
	TAPIR_HIT_PID,
	TAPIR_HIT_TID,
	TAPIR_HIT_CPU,
	TAPIR_HIT_COMM,	  /* the name of the process */
	TAPIR_HIT_THREAD, /* of the thread */
	TAPIR_HIT_TEXT,	  /* the slot points to it, in the process */
	TAPIR_HIT_STACK,  /* slot: which part, enum tapir_sums_stack_part */
};

struct tapir_hit_key {
	uint8_t source; /* enum tapir_hit_key_source */
	uint8_t slot;
	uint8_t is_signed;
	uint8_t max_bytes; /* TEXT: at most TAPIR_SUMS_TEXT */
	uint8_t pad0[4];
	uint64_t constant;
};

/*
 * A probe's role in a question about intervals. A question is about the event that begins an
 * interval, and how long it took: the slots are the arguments of the begin, and one more. So a
 * BEGIN has the keys, and an END the condition and the values.
 */
enum tapir_hit_role { TAPIR_HIT_ALONE, TAPIR_HIT_BEGIN, TAPIR_HIT_END };

#define TAPIR_HIT_TOOK TAPIR_MAX_ARGS /* the slot of an interval's length, in ns */

/* An END finds its BEGIN by the thread, or by the number in a slot. */
enum tapir_hit_scope_kind {
	TAPIR_HIT_OF_THREAD,
	TAPIR_HIT_OF_LAST, /* the same, and whatever began before has ended */
	TAPIR_HIT_OF_KEY,
};

/*
 * A question to the hits of a probe, whose arguments are the slots; one element of the map
 * `questions`, by probe id. How many values and keys there are is the same for all probes, and set
 * before load.
 */
struct tapir_hit_question {
	uint32_t term_cnt; /* 0: it is about every hit */
	uint8_t adds_up;   /* what is accepted is added to a row; else it is recorded */
	uint8_t needs_slots;
	uint8_t needs_stack; /* a key is one */
	uint8_t role;	     /* enum tapir_hit_role */
	uint16_t namer;	     /* the probe id, if numbers in keys have names; else 0 */
	uint8_t scope;	     /* of a pair: enum tapir_hit_scope_kind */
	uint8_t key_slot;    /* of a pair OF_KEY */
	uint8_t is_there;    /* set last: the kernel copies the rest while hits read it */
	/* The loader sets these. */
	uint8_t is_plain; /* no condition; at most one value and one key, which are numbers */
	uint8_t slot_cnt; /* that terms, values and keys are about */
	uint8_t pad1;
	uint8_t slots[TAPIR_QUESTION_SLOTS]; /* which these are */
	uint64_t value_slots;		     /* a bit for each that a value is in */
	struct tapir_question_term terms[TAPIR_QUESTION_TERMS];
	struct tapir_hit_value values[TAPIR_SUMS_COLUMNS];
	struct tapir_hit_key keys[TAPIR_SUMS_KEYS];
};

enum tapir_step_op {
	TAPIR_STEP_ADD,
	TAPIR_STEP_SUB,
	TAPIR_STEP_MUL,
	TAPIR_STEP_DIV,
	TAPIR_STEP_MOD,
	TAPIR_STEP_AND,
	TAPIR_STEP_OR,
	TAPIR_STEP_XOR,
	TAPIR_STEP_SHL,
	TAPIR_STEP_SHR,
	TAPIR_STEP_EQ, /* 1 or 0, as the two below */
	TAPIR_STEP_LT,
	TAPIR_STEP_LE,
};

#define TAPIR_STEP_CONSTANT 0xff /* instead of an operand: the constant */
#define TAPIR_STEP_OF_SLOT  0x10 /* + index of a slot; below: a register */
#define TAPIR_STEP_SIGNED_A 1
#define TAPIR_STEP_SIGNED_B 2

struct tapir_question_step {
	uint8_t op; /* enum tapir_step_op */
	uint8_t dst;
	uint8_t a, b;	   /* operands */
	uint8_t is_signed; /* TAPIR_STEP_SIGNED_* */
	uint8_t pad[3];
	uint64_t constant;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_question_step) == 16, "tapir_question_step");

#define TAPIR_QUESTION_INLINE static inline __attribute__((always_inline))

/* Compares the numbers, whatever their signs: -1 is less than 18446744073709551615. */
TAPIR_QUESTION_INLINE int tapir_step__less(uint64_t a, uint64_t b, unsigned is_signed)
{
	int a_negative = is_signed & TAPIR_STEP_SIGNED_A && (int64_t)a < 0;
	int b_negative = is_signed & TAPIR_STEP_SIGNED_B && (int64_t)b < 0;

	return a_negative != b_negative ? a_negative : a < b;
}

TAPIR_QUESTION_INLINE int tapir_step__equal(uint64_t a, uint64_t b, unsigned is_signed)
{
	int a_negative = is_signed & TAPIR_STEP_SIGNED_A && (int64_t)a < 0;
	int b_negative = is_signed & TAPIR_STEP_SIGNED_B && (int64_t)b < 0;

	return a == b && a_negative == b_negative;
}

/* Towards zero, as in C. b is not 0. BPF before v4 divides unsigned numbers only. */
TAPIR_QUESTION_INLINE uint64_t tapir_step__divide(uint64_t a, uint64_t b, unsigned is_signed,
						  int wants_rest)
{
	int a_negative = is_signed & TAPIR_STEP_SIGNED_A && (int64_t)a < 0;
	int b_negative = is_signed & TAPIR_STEP_SIGNED_B && (int64_t)b < 0;
	uint64_t x = a_negative ? -a : a, y = b_negative ? -b : b;
	uint64_t result = wants_rest ? x % y : x / y;

	return (wants_rest ? a_negative : a_negative != b_negative) ? -result : result;
}

TAPIR_QUESTION_INLINE uint64_t tapir_step__shift_right(uint64_t a, uint64_t b, unsigned is_signed)
{
	return is_signed & TAPIR_STEP_SIGNED_A ? (uint64_t)((int64_t)a >> (b & 63)) : a >> (b & 63);
}

TAPIR_QUESTION_INLINE uint64_t tapir_step__compute(const struct tapir_question_step *s, uint64_t a,
						   uint64_t b)
{
	switch (s->op) {
	case TAPIR_STEP_ADD:
		return a + b;
	case TAPIR_STEP_SUB:
		return a - b;
	case TAPIR_STEP_MUL:
		return a * b;
	case TAPIR_STEP_DIV:
		return tapir_step__divide(a, b, s->is_signed, 0);
	case TAPIR_STEP_MOD:
		return tapir_step__divide(a, b, s->is_signed, 1);
	case TAPIR_STEP_AND:
		return a & b;
	case TAPIR_STEP_OR:
		return a | b;
	case TAPIR_STEP_XOR:
		return a ^ b;
	/* The low six bits count, as in the machine's own shifts: C does not define more. */
	case TAPIR_STEP_SHL:
		return a << (b & 63);
	case TAPIR_STEP_SHR:
		return tapir_step__shift_right(a, b, s->is_signed);
	case TAPIR_STEP_EQ:
		return (uint64_t)tapir_step__equal(a, b, s->is_signed);
	case TAPIR_STEP_LT:
		return (uint64_t)tapir_step__less(a, b, s->is_signed);
	case TAPIR_STEP_LE:
		return tapir_step__less(a, b, s->is_signed) ||
		       tapir_step__equal(a, b, s->is_signed);
	}
	return 0;
}

struct tapir_question_registers {
	uint64_t values[TAPIR_QUESTION_REGISTERS];
	uint32_t undefined; /* a bit for each */
};

/* False: the operand is undefined. */
TAPIR_QUESTION_INLINE int tapir_step__operand(const struct tapir_question_step *s, uint8_t operand,
					      const struct tapir_question_slot *slots,
					      const struct tapir_question_registers *r,
					      uint64_t *value)
{
	const struct tapir_question_slot *slot = &slots[operand & (TAPIR_QUESTION_SLOTS - 1)];

	if (operand == TAPIR_STEP_CONSTANT) {
		*value = s->constant;
		return 1;
	}
	if (operand & TAPIR_STEP_OF_SLOT) {
		*value = slot->number;
		return slot->state == TAPIR_STATE_OK;
	}
	*value = r->values[operand & (TAPIR_QUESTION_REGISTERS - 1)];
	return !(r->undefined >> (operand & (TAPIR_QUESTION_REGISTERS - 1)) & 1);
}

/* r: zeros. */
TAPIR_QUESTION_INLINE void tapir_question__compute(const struct tapir_question_step *steps,
						   uint32_t cnt,
						   const struct tapir_question_slot *slots,
						   struct tapir_question_registers *r)
{
	for (uint32_t i = 0; i < TAPIR_QUESTION_STEPS && i < cnt; i++) {
		const struct tapir_question_step *s = &steps[i];
		uint32_t dst = s->dst & (TAPIR_QUESTION_REGISTERS - 1);
		int divides = s->op == TAPIR_STEP_DIV || s->op == TAPIR_STEP_MOD;
		uint64_t a = 0, b = 0;
		int is_defined = tapir_step__operand(s, s->a, slots, r, &a) &&
				 tapir_step__operand(s, s->b, slots, r, &b) && !(divides && !b);

		r->values[dst] = is_defined ? tapir_step__compute(s, a, b) : 0;
		r->undefined = (r->undefined & ~(1u << dst)) | (uint32_t)!is_defined << dst;
	}
}

TAPIR_QUESTION_INLINE int tapir_term__holds_number(const struct tapir_question_term *t,
						   uint64_t value)
{
	switch (t->compare) {
	case TAPIR_COMPARE_EQ:
		return value == t->constant;
	case TAPIR_COMPARE_LT_SIGNED:
		return (int64_t)value < (int64_t)t->constant;
	case TAPIR_COMPARE_LE_SIGNED:
		return (int64_t)value <= (int64_t)t->constant;
	case TAPIR_COMPARE_LT:
		return value < t->constant;
	case TAPIR_COMPARE_LE:
		return value <= t->constant;
	case TAPIR_COMPARE_ANY_BIT:
		return !!(value & t->constant);
	}
	return 0;
}

#ifdef TAPIR_QUESTION_TEXT

/* Decides a condition with at least one term. ctx: for TAPIR_QUESTION_TEXT. */
TAPIR_QUESTION_INLINE int tapir_question__decide(const struct tapir_question_term *terms,
						 const struct tapir_question_slot *slots,
						 const struct tapir_question_registers *r,
						 void *ctx)
{
	uint32_t at = 0;

	(void)ctx;
	for (int i = 0; i < TAPIR_QUESTION_TERMS; i++) {
		const struct tapir_question_term *t = &terms[at & (TAPIR_QUESTION_TERMS - 1)];
		const struct tapir_question_slot *slot =
			&slots[t->which & (TAPIR_QUESTION_SLOTS - 1)];
		uint32_t reg = t->which & (TAPIR_QUESTION_REGISTERS - 1);
		int holds;

		if (t->compare == TAPIR_COMPARE_STATE)
			holds = slot->state == (uint32_t)t->constant;
		else if (t->source == TAPIR_TERM_REGISTER)
			holds = r->undefined >> reg & 1
					? TAPIR_QUESTION_UNDEFINED
					: tapir_term__holds_number(t, r->values[reg]);
		else if (slot->state == TAPIR_STATE_ABSENT)
			holds = TAPIR_QUESTION_UNDEFINED;
		else if (slot->state == TAPIR_STATE_NULL)
			holds = 0; /* it equals no text */
		else if (t->source == TAPIR_TERM_TEXT)
			holds = TAPIR_QUESTION_TEXT(ctx, t, slot);
		else
			holds = tapir_term__holds_number(t, slot->number);
		if (holds == TAPIR_QUESTION_UNDEFINED)
			return TAPIR_QUESTION_UNDEFINED;
		at = holds ? t->yes : t->no;
		if (at >= TAPIR_TERM_ACCEPT)
			return at == TAPIR_TERM_ACCEPT;
	}
	return TAPIR_QUESTION_UNDEFINED;
}

#endif /* TAPIR_QUESTION_TEXT */

#endif
