/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expression.h - conditions and values over the fields of an event, as a person writes them:
 *
 *  EXPR  := C's || && ! == != < <= > >= + - * / % & | ^ << >> ( ), X ~ "GLOB", X !~ "GLOB",
 *	     X in (A, B), X == NULL, X == CUT, X == UNREADABLE
 *  X	  := name | .name | begin.name | end.name | "odd name" | str(X, N) | bucket(X, STEP)
 *	     | FIGURE("ROW"), of scopes that have figures
 *  VALUE := 5 0x1f 10k 16Ki 4MB 5ms 1.2x "text" ENOENT SIGTERM, enumerators of the field
 *
 * A text is parsed once, and then bound to each kind of event, whose scope knows the fields: the
 * result is a program for bpf/question_logic.bpf.h. Each mistake is three or four lines in the
 * diagnostic list: what is wrong, the expression, a caret, and what exists. Pure; any thread.
 */
#ifndef TAPIR_USER_EXPRESSION_H
#define TAPIR_USER_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "bpf/question_logic.bpf.h"

#define TAPIR_EXPRESSION_MAX_BYTES 4096
#define TAPIR_EXPRESSION_TEXTS	   8 /* constants of a condition that are texts */

struct tapir_expression;

enum tapir_class {
	TAPIR_CLASS_NONE, /* it cannot be compared */
	TAPIR_CLASS_UINT,
	TAPIR_CLASS_INT,
	TAPIR_CLASS_FLOAT, /* in a slot: tapir_program__float_bits */
	TAPIR_CLASS_TEXT,
};

/* A value that is read from an event. The scope fills it; id is its own. */
struct tapir_question_operand {
	uint8_t class;	  /* enum tapir_class */
	bool wants_unit;  /* a plain number but 0 is not compared with it */
	uint64_t unit_ns; /* of a time: 1, 1000, ...; 0: it has no unit */
	uint32_t id;
	uint32_t max_bytes; /* of a text, of str(X, N); 0: the default */
};

/* The fields of one kind of event. */
struct tapir_scope {
	const char *subject; /* "postgresql:query__start", for messages */
	/* is_field: written ".name", so that no name means anything else. */
	bool (*find)(void *ctx, const char *name, size_t len, bool is_field,
		     struct tapir_question_operand *out);
	/* Names of a field's values; false: it has no such value. */
	bool (*enumerator)(void *ctx, const struct tapir_question_operand *of, const char *name,
			   size_t len, uint64_t *out);
	void (*list)(void *ctx, struct tapir_str *out); /* "id, customer (text)" */
	/*
	 * FIGURE("ROW"); is_ratio: it is compared with a number that has the unit x. Returns why it
	 * has none, or NULL. The member is NULL where there are no figures.
	 */
	const char *(*figure)(void *ctx, const char *figure, size_t len, const char *row,
			      bool is_ratio, struct tapir_question_operand *out);
	void *ctx;
};

struct tapir_constant {
	const char *data; /* NUL-terminated; the expression's */
	size_t len;
};

struct tapir_program {
	struct tapir_question_operand slots[TAPIR_QUESTION_SLOTS];
	unsigned slot_cnt;
	struct tapir_question_step steps[TAPIR_QUESTION_STEPS];
	unsigned step_cnt;
	struct tapir_question_term terms[TAPIR_QUESTION_TERMS];
	unsigned term_cnt; /* 0: a value */
	struct tapir_constant texts[TAPIR_EXPRESSION_TEXTS];
	unsigned text_cnt;
	/* of a value: the slot, or a register */
	uint8_t class;
	uint64_t unit_ns;
	bool is_register;
	unsigned which;
};

/*
 * option: what messages begin with, such as "--where"; borrowed, as text is. *out is yours. -EINVAL
 * with lines, -ENOMEM.
 */
int tapir_expression__parse(const char *option, const char *text, struct tapir_expression **out);
/* Frees the expression; programs that were bound from it are invalid from then on. Accepts NULL. */
void tapir_expression__free(struct tapir_expression *e);
/* Returns the text that was parsed, borrowed. */
const char *tapir_expression__text(const struct tapir_expression *e);

/* Returns the length of text up to the first `end` outside quotes and parentheses, or of all. */
size_t tapir_expression__part_len(const char *text, char end);

/*
 * Reads a number with its unit, alone: "-5", "10k", "5ms" in nanoseconds. False: text is not one.
 */
bool tapir_expression__constant(const char *text, int64_t *out, bool *is_time);

/*
 * Bind the expression as a condition, or as a value, to the events of a scope; it must outlive the
 * program. 0, -EINVAL with lines (a name that the scope lacks, classes that do not compare),
 * -ENOMEM.
 */
int tapir_expression__condition(const struct tapir_expression *e, const struct tapir_scope *scope,
				struct tapir_program *out);
int tapir_expression__value(const struct tapir_expression *e, const struct tapir_scope *scope,
			    struct tapir_program *out);

/*
 * Returns TAPIR_QUESTION_ACCEPT, REJECT or UNDEFINED. slots: slot_cnt of them; a text's number is
 * its address. Constant time in the length of the program; nothing is allocated.
 */
int tapir_program__decide(const struct tapir_program *p, const struct tapir_question_slot *slots);
/* Computes a value whose class is a number. False: it is undefined. */
bool tapir_program__number(const struct tapir_program *p, const struct tapir_question_slot *slots,
			   uint64_t *out);

/*
 * Turn a floating-point number into an integer that compares as it does, and back: the kernel has
 * no floating point.
 */
uint64_t tapir_program__float_bits(double value);
double tapir_program__float_of(uint64_t bits);

#endif
