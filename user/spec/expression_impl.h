/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expression_impl.h - the tree of an expression; for expression*.c only. A node names its children
 * by their index in nodes, so that the vector may move while it grows. One thread while it is
 * parsed; then constant.
 */
#ifndef TAPIR_USER_EXPRESSION_IMPL_H
#define TAPIR_USER_EXPRESSION_IMPL_H

#include "base/vec.h"
#include "spec/expression.h"

#define TAPIR_NO_FUNCTION "no function '%.*s': there are str(X, N) and bucket(X, STEP)"

/* Comparisons are between EQ and IN. */
enum tapir_node_op {
	TAPIR_NODE_NONE,
	TAPIR_NODE_OR,
	TAPIR_NODE_AND,
	TAPIR_NODE_NOT,
	TAPIR_NODE_EQ,
	TAPIR_NODE_NE,
	TAPIR_NODE_LT,
	TAPIR_NODE_LE,
	TAPIR_NODE_GT,
	TAPIR_NODE_GE,
	TAPIR_NODE_GLOB,
	TAPIR_NODE_NO_GLOB,
	TAPIR_NODE_IN, /* left; right and what its next lead to */
	TAPIR_NODE_ADD,
	TAPIR_NODE_SUB,
	TAPIR_NODE_MUL,
	TAPIR_NODE_DIV,
	TAPIR_NODE_MOD,
	TAPIR_NODE_AND_BITS,
	TAPIR_NODE_OR_BITS,
	TAPIR_NODE_XOR_BITS,
	TAPIR_NODE_SHL,
	TAPIR_NODE_SHR,
	TAPIR_NODE_NEGATE,
	TAPIR_NODE_STR,	   /* left; right: a NUMBER, or 0 */
	TAPIR_NODE_BUCKET, /* left; right: a NUMBER */
	TAPIR_NODE_FIGURE, /* text: its name; left: the TEXT of which it is */
	TAPIR_NODE_NAME,   /* text */
	TAPIR_NODE_FIELD,  /* text: a field, whatever else has the name */
	TAPIR_NODE_NUMBER,
	TAPIR_NODE_REAL,
	TAPIR_NODE_TEXT,
};

struct tapir_span {
	uint32_t at, len; /* in the expression's text */
};

struct tapir_node {
	uint8_t op;
	bool is_time;		    /* NUMBER: nanoseconds */
	bool is_ratio;		    /* NUMBER, REAL: with the unit x */
	bool is_grouped;	    /* in parentheses */
	uint16_t left, right, next; /* 0: none */
	struct tapir_span where;
	uint32_t text_len;
	uint64_t number;
	double real;
	const char *text; /* TEXT: NUL-terminated */
};

struct tapir_expression {
	const char *option;
	char *text;
	char *texts; /* of TEXT nodes, one after the other */
	size_t texts_len;
	struct tapir_vec(struct tapir_node) nodes; /* [0] is none */
	uint16_t root;
};

/*
 * Adds the message, the expression and a caret below where to the diagnostic list. Returns -EINVAL.
 */
int tapir_expression__fail(const struct tapir_expression *e, struct tapir_span where,
			   const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
