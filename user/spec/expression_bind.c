// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tree of an expression as a program, for the fields of one kind of event. Arithmetic becomes
 * steps, which are done before the terms; && || ! become the places to which terms lead. A place is
 * a label until all terms are there.
 */
#define TAPIR_QUESTION_TEXT(ctx, term, slot) holds_text(ctx, term, slot)

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tapir_question_term;
struct tapir_question_slot;
static int holds_text(void *ctx, const struct tapir_question_term *t,
		      const struct tapir_question_slot *slot);

#include "base/diag.h"
#include "spec/expression_impl.h"

#define MAX_LABELS    256
#define LABEL_ACCEPT  0
#define LABEL_REJECT  1
#define MAX_GLOB      31  /* elements, as in the kernel */
#define COUNTED_TERMS 512 /* of a condition that is too long, to say how long it is */

enum value_kind { VALUE_CONSTANT, VALUE_SLOT, VALUE_REGISTER };

/* The value of a node: a constant, or where a program has it. */
struct value {
	uint8_t kind;
	uint8_t class; /* of a constant: UINT, or INT if it is negative, FLOAT, TEXT, NONE: a state
			*/
	bool wants_unit;
	bool is_shared;	   /* several comparisons read its register, and none may write to it */
	uint64_t unit_ns;  /* of a constant: 1 if it is a time */
	uint64_t constant; /* CONSTANT; of a FLOAT: its bits as they compare */
	double real;
	unsigned which; /* SLOT, REGISTER */
	const struct tapir_node *node;
};

struct label_term {
	uint16_t yes, no;
};

struct binder {
	const struct tapir_expression *e;
	const struct tapir_scope *scope;
	struct tapir_program *out;
	unsigned register_cnt;
	unsigned term_cnt; /* also of those that found no room */
	struct label_term labels[TAPIR_QUESTION_TERMS];
	unsigned label_at[MAX_LABELS];
	unsigned label_cnt;
	bool is_ratio; /* the comparison that is bound is with a number that has the unit x */
	int err;       /* the first one; reported */
};

static const struct tapir_node *node_of(const struct binder *b, uint16_t idx)
{
	return &b->e->nodes.data[idx];
}

#define fail(b, node, ...)                                                                         \
	((b)->err =                                                                                \
		 (b)->err ? (b)->err : tapir_expression__fail((b)->e, (node)->where, __VA_ARGS__))

/* ---- names ---------------------------------------------------------------------------------- */

static void list_fields(const struct binder *b)
{
	struct tapir_str names = {};

	b->scope->list(b->scope->ctx, &names);
	tapir_diag__add("  it has %s", names.len ? names.data : "no fields");
	tapir_str__fini(&names);
}

static void fail_unknown(struct binder *b, const struct tapir_node *n)
{
	if (b->err)
		return;
	fail(b, n, "%s has no field '%.*s'", b->scope->subject,
	     (int)(n->text_len < 80 ? n->text_len : 80), n->text);
	list_fields(b);
}

static bool is_word(const struct tapir_node *n, const char *word)
{
	return n->op == TAPIR_NODE_NAME && n->text_len == strlen(word) &&
	       !memcmp(n->text, word, n->text_len);
}

/* The number of an errno or signal of that name, of any word that begins so. */
static bool find_known(const struct tapir_node *n, uint64_t *out)
{
	char name[24];

	if (n->op != TAPIR_NODE_NAME || n->text_len >= sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)n->text_len, n->text);
	for (int i = 1; *name == 'E' && i < 134; i++)
		if (!strcmp(tapir_errno__name(i), name)) {
			*out = (uint64_t)i;
			return true;
		}
	for (int i = 1; !strncmp(name, "SIG", 3) && i < 32; i++)
		if (sigabbrev_np(i) && !strcmp(sigabbrev_np(i), name + 3)) {
			*out = (uint64_t)i;
			return true;
		}
	*out = is_word(n, "true");
	return *out || is_word(n, "false");
}

/* Finds the state that a name means at the right of a comparison. */
static bool find_state(const struct tapir_node *n, uint64_t *out)
{
	static const struct {
		const char *word;
		enum tapir_slot_state state;
	} states[] = {{"NULL", TAPIR_STATE_NULL},
		      {"CUT", TAPIR_STATE_TRUNCATED},
		      {"UNREADABLE", TAPIR_STATE_ABSENT}};

	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		if (is_word(n, states[i].word)) {
			*out = states[i].state;
			return true;
		}
	return false;
}

/* ---- values --------------------------------------------------------------------------------- */

static struct value constant(const struct tapir_node *n, uint8_t class, uint64_t k)
{
	return (struct value){.kind = VALUE_CONSTANT, .class = class, .constant = k, .node = n};
}

static struct value none(const struct tapir_node *n)
{
	return constant(n, TAPIR_CLASS_UINT, 0);
}

/* Returns the operand's slot: equal operands share one. */
static struct value slot_of(struct binder *b, const struct tapir_node *n,
			    const struct tapir_question_operand *operand)
{
	struct tapir_program *p = b->out;
	unsigned i = 0;

	while (i < p->slot_cnt &&
	       (p->slots[i].id != operand->id || p->slots[i].max_bytes != operand->max_bytes))
		i++;
	if (i == TAPIR_QUESTION_SLOTS) {
		fail(b, n, "more than %d different fields", TAPIR_QUESTION_SLOTS);
		return none(n);
	}
	if (i == p->slot_cnt)
		p->slots[p->slot_cnt++] = *operand;
	return (struct value){.kind = VALUE_SLOT,
			      .class = operand->class,
			      .wants_unit = operand->wants_unit,
			      .unit_ns = operand->unit_ns,
			      .which = i,
			      .node = n};
}

static bool find_operand(const struct binder *b, const struct tapir_node *n,
			 struct tapir_question_operand *out)
{
	*out = (struct tapir_question_operand){};
	return b->scope->find(b->scope->ctx, n->text, n->text_len, n->op == TAPIR_NODE_FIELD, out);
}

static struct value name_value(struct binder *b, const struct tapir_node *n)
{
	struct tapir_question_operand operand;
	uint64_t k;

	if (find_operand(b, n, &operand)) {
		if (operand.class == TAPIR_CLASS_NONE)
			fail(b, n, "%.*s cannot be compared or computed", (int)n->text_len,
			     n->text);
		return slot_of(b, n, &operand);
	}
	if (find_known(n, &k))
		return constant(n, TAPIR_CLASS_UINT, k);
	fail_unknown(b, n);
	return none(n);
}

static struct value bound_value(struct binder *b, uint16_t idx);

static bool is_number(struct binder *b, struct value v)
{
	if (v.class == TAPIR_CLASS_UINT || v.class == TAPIR_CLASS_INT)
		return true;
	fail(b, v.node,
	     v.class == TAPIR_CLASS_FLOAT ? "arithmetic with floating-point numbers is not possible"
					  : "a text is not a number");
	return false;
}

static uint8_t step_operand(struct value v)
{
	if (v.kind == VALUE_CONSTANT)
		return TAPIR_STEP_CONSTANT;
	return (uint8_t)(v.kind == VALUE_SLOT ? TAPIR_STEP_OF_SLOT + v.which : v.which);
}

/* Returns where the result goes: the register of an operand that no other step or term reads. */
static unsigned take_register(struct binder *b, struct value x, struct value y,
			      const struct tapir_node *n)
{
	if (x.kind == VALUE_REGISTER && !x.is_shared)
		return x.which;
	if (y.kind == VALUE_REGISTER && !y.is_shared)
		return y.which;
	if (b->register_cnt == TAPIR_QUESTION_REGISTERS) {
		fail(b, n, "more than %d results of arithmetic", TAPIR_QUESTION_REGISTERS);
		return 0;
	}
	return b->register_cnt++;
}

static uint8_t signs_of(struct value x, struct value y)
{
	return (uint8_t)((x.class == TAPIR_CLASS_INT ? TAPIR_STEP_SIGNED_A : 0) |
			 (y.class == TAPIR_CLASS_INT ? TAPIR_STEP_SIGNED_B : 0));
}

static struct value add_step(struct binder *b, uint8_t op, struct value x, struct value y,
			     const struct tapir_node *n)
{
	bool is_signed =
		x.class == TAPIR_CLASS_INT || y.class == TAPIR_CLASS_INT || op == TAPIR_STEP_SUB;
	struct value result = {.kind = VALUE_REGISTER,
			       .class = is_signed ? TAPIR_CLASS_INT : TAPIR_CLASS_UINT,
			       .node = n};
	struct tapir_question_step *s;

	if (b->err)
		return none(n);
	if (b->out->step_cnt == TAPIR_QUESTION_STEPS) {
		fail(b, n, "more than %d steps of arithmetic", TAPIR_QUESTION_STEPS);
		return none(n);
	}
	result.which = take_register(b, x, y, n);
	s = &b->out->steps[b->out->step_cnt++];
	*s = (struct tapir_question_step){
		.op = op,
		.dst = (uint8_t)result.which,
		.a = step_operand(x),
		.b = step_operand(y),
		.is_signed = signs_of(x, y),
		.constant = x.kind == VALUE_CONSTANT ? x.constant : y.constant,
	};
	return result;
}

/* Computes an operation of two constants, which is no division by zero. */
static struct value fold_constants(uint8_t op, struct value x, struct value y,
				   const struct tapir_node *n)
{
	const struct tapir_question_step s = {.op = op, .is_signed = signs_of(x, y)};
	struct value result =
		constant(n, TAPIR_CLASS_UINT, tapir_step__compute(&s, x.constant, y.constant));
	bool is_signed = s.is_signed;

	if ((is_signed && (int64_t)result.constant < 0) ||
	    (op == TAPIR_STEP_SUB && !is_signed && x.constant < y.constant))
		result.class = TAPIR_CLASS_INT;
	result.unit_ns = x.unit_ns || y.unit_ns;
	return result;
}

/* Converts a time with a unit to the unit of the other side: to ns if that does not divide it. */
static void agree_on_unit(struct binder *b, struct value *time, struct value *k)
{
	if (!k->unit_ns || k->kind != VALUE_CONSTANT || time->kind == VALUE_CONSTANT)
		return;
	if (!time->unit_ns) {
		fail(b, k->node, "'%.*s' has no unit: write a plain number",
		     (int)time->node->where.len, b->e->text + time->node->where.at);
		return;
	}
	if (k->constant % time->unit_ns == 0) {
		k->constant = (uint64_t)((int64_t)k->constant / (int64_t)time->unit_ns);
	} else if (is_number(b, *time)) {
		*time = add_step(b, TAPIR_STEP_MUL, *time,
				 constant(time->node, TAPIR_CLASS_UINT, time->unit_ns), time->node);
		time->unit_ns = 1;
	}
}

static uint64_t unit_of(uint8_t op, struct value x, struct value y)
{
	bool is_scale = op == TAPIR_STEP_MUL || op == TAPIR_STEP_DIV;

	if (is_scale)
		return y.unit_ns ? (op == TAPIR_STEP_MUL && !x.unit_ns ? y.unit_ns : 0) : x.unit_ns;
	return x.unit_ns ? x.unit_ns : y.unit_ns;
}

static struct value binary_value(struct binder *b, const struct tapir_node *n)
{
	static const uint8_t ops[] = {
		[TAPIR_NODE_ADD] = TAPIR_STEP_ADD,    [TAPIR_NODE_SUB] = TAPIR_STEP_SUB,
		[TAPIR_NODE_MUL] = TAPIR_STEP_MUL,    [TAPIR_NODE_DIV] = TAPIR_STEP_DIV,
		[TAPIR_NODE_MOD] = TAPIR_STEP_MOD,    [TAPIR_NODE_AND_BITS] = TAPIR_STEP_AND,
		[TAPIR_NODE_OR_BITS] = TAPIR_STEP_OR, [TAPIR_NODE_XOR_BITS] = TAPIR_STEP_XOR,
		[TAPIR_NODE_SHL] = TAPIR_STEP_SHL,    [TAPIR_NODE_SHR] = TAPIR_STEP_SHR,
	};
	struct value x = bound_value(b, n->left), y = bound_value(b, n->right), result;
	bool is_sum = n->op == TAPIR_NODE_ADD || n->op == TAPIR_NODE_SUB;
	uint64_t unit_ns;

	if (b->err || !is_number(b, x) || !is_number(b, y))
		return none(n);
	/*
	 * Only sums need one unit on both sides; a product scales, and the unit of a quotient of
	 * two times is gone (unit_of).
	 */
	if (is_sum) {
		agree_on_unit(b, &x, &y);
		agree_on_unit(b, &y, &x);
	}
	if (is_sum && x.unit_ns && y.unit_ns && x.unit_ns != y.unit_ns &&
	    x.kind != VALUE_CONSTANT && y.kind != VALUE_CONSTANT) {
		fail(b, n, "the two times have different units");
		return none(n);
	}
	if (y.kind == VALUE_CONSTANT && !y.constant &&
	    (n->op == TAPIR_NODE_DIV || n->op == TAPIR_NODE_MOD)) {
		fail(b, y.node, "this divides by zero");
		return none(n);
	}
	if (x.kind == VALUE_CONSTANT && y.kind == VALUE_CONSTANT)
		return fold_constants(ops[n->op], x, y, n);
	unit_ns = unit_of(ops[n->op], x, y);
	result = add_step(b, ops[n->op], x, y, n);
	result.unit_ns = unit_ns;
	return result;
}

static struct value negated(struct binder *b, const struct tapir_node *n)
{
	struct value x = bound_value(b, n->left);

	if (x.class == TAPIR_CLASS_FLOAT && x.kind == VALUE_CONSTANT) {
		x.real = -x.real;
		x.constant = tapir_program__float_bits(x.real);
		return x;
	}
	if (b->err || !is_number(b, x))
		return none(n);
	if (x.kind != VALUE_CONSTANT)
		return add_step(b, TAPIR_STEP_SUB, constant(n, TAPIR_CLASS_UINT, 0), x, n);
	if (x.class == TAPIR_CLASS_UINT && x.constant > (uint64_t)INT64_MAX + 1)
		fail(b, n, "the number is too small");
	x.class = (int64_t)-x.constant < 0 ? TAPIR_CLASS_INT : TAPIR_CLASS_UINT;
	x.constant = -x.constant;
	return x;
}

/* X / STEP * STEP, towards zero. */
static struct value bucket(struct binder *b, const struct tapir_node *n)
{
	struct value x = bound_value(b, n->left), step;
	uint64_t unit_ns;

	step = constant(node_of(b, n->right), TAPIR_CLASS_UINT, node_of(b, n->right)->number);
	step.unit_ns = node_of(b, n->right)->is_time;
	if (b->err || !is_number(b, x))
		return none(n);
	agree_on_unit(b, &x, &step);
	if (b->err)
		return none(n);
	if (x.kind == VALUE_CONSTANT || !step.constant) {
		fail(b, n, "bucket(X, STEP) requires a field and a step of at least its unit");
		return none(n);
	}
	unit_ns = x.unit_ns;
	x = add_step(b, TAPIR_STEP_DIV, x, step, n);
	x = add_step(b, TAPIR_STEP_MUL, x, step, n);
	x.unit_ns = unit_ns;
	return x;
}

static struct value truncate_text(struct binder *b, const struct tapir_node *n)
{
	const struct tapir_node *of = node_of(b, n->left);
	struct tapir_question_operand operand;
	uint64_t bytes = n->right ? node_of(b, n->right)->number : 0;

	if (of->op != TAPIR_NODE_NAME && of->op != TAPIR_NODE_FIELD && of->op != TAPIR_NODE_TEXT) {
		fail(b, of, "str(X, N) requires a field");
		return none(n);
	}
	if (!find_operand(b, of, &operand)) {
		fail_unknown(b, of);
		return none(n);
	}
	if (operand.class != TAPIR_CLASS_TEXT) {
		fail(b, of,
		     "%.*s was not recorded as a text: write 'ARG=str' in the SPEC ('tapir help spec')",
		     (int)of->text_len, of->text);
		return none(n);
	}
	if (bytes > TAPIR_EXPRESSION_MAX_BYTES) {
		fail(b, n, "str(X, N) takes at most %d bytes", TAPIR_EXPRESSION_MAX_BYTES);
		return none(n);
	}
	operand.max_bytes = (uint32_t)bytes;
	return slot_of(b, n, &operand);
}

static struct value figure_value(struct binder *b, const struct tapir_node *n)
{
	struct tapir_question_operand operand = {};
	const char *why;

	if (!b->scope->figure) {
		fail(b, n, TAPIR_NO_FUNCTION, (int)(n->text_len < 60 ? n->text_len : 60), n->text);
		return none(n);
	}
	why = b->scope->figure(b->scope->ctx, n->text, n->text_len, node_of(b, n->left)->text,
			       b->is_ratio, &operand);
	if (why) {
		fail(b, n, "%s", why);
		return none(n);
	}
	return slot_of(b, n, &operand);
}

static struct value bound_value(struct binder *b, uint16_t idx)
{
	const struct tapir_node *n = node_of(b, idx);
	struct value v;

	switch (n->op) {
	case TAPIR_NODE_NUMBER:
		v = constant(n, TAPIR_CLASS_UINT, n->number);
		v.unit_ns = n->is_time;
		return v;
	case TAPIR_NODE_REAL:
		v = constant(n, TAPIR_CLASS_FLOAT, tapir_program__float_bits(n->real));
		v.real = n->real;
		return v;
	case TAPIR_NODE_TEXT:
		return constant(n, TAPIR_CLASS_TEXT, 0);
	case TAPIR_NODE_NAME:
	case TAPIR_NODE_FIELD:
		return name_value(b, n);
	case TAPIR_NODE_NEGATE:
		return negated(b, n);
	case TAPIR_NODE_STR:
		return truncate_text(b, n);
	case TAPIR_NODE_BUCKET:
		return bucket(b, n);
	case TAPIR_NODE_FIGURE:
		return figure_value(b, n);
	default:
		if (n->op >= TAPIR_NODE_ADD && n->op <= TAPIR_NODE_SHR)
			return binary_value(b, n);
		fail(b, n, "a condition is not a number");
		return none(n);
	}
}

/* ---- terms ---------------------------------------------------------------------------------- */

static uint16_t new_label(struct binder *b, const struct tapir_node *n)
{
	if (b->label_cnt == MAX_LABELS) {
		fail(b, n, "more than %d terms", TAPIR_QUESTION_TERMS);
		return LABEL_REJECT;
	}
	return (uint16_t)b->label_cnt++;
}

static void add_term(struct binder *b, struct tapir_question_term t, uint16_t yes, uint16_t no)
{
	if (b->term_cnt < TAPIR_QUESTION_TERMS) {
		b->out->terms[b->term_cnt] = t;
		b->labels[b->term_cnt] = (struct label_term){yes, no};
	}
	b->term_cnt += b->term_cnt < COUNTED_TERMS;
}

static void add_text_term(struct binder *b, struct value v, const struct tapir_node *text,
			  uint8_t compare, uint16_t yes, uint16_t no)
{
	struct tapir_program *p = b->out;
	unsigned i = 0;

	while (i < p->text_cnt && p->texts[i].data != text->text)
		i++;
	if (i == TAPIR_EXPRESSION_TEXTS) {
		fail(b, text, "more than %d texts to compare with", TAPIR_EXPRESSION_TEXTS);
		return;
	}
	if (i == p->text_cnt)
		p->texts[p->text_cnt++] = (struct tapir_constant){text->text, text->text_len};
	add_term(b,
		 (struct tapir_question_term){.source = TAPIR_TERM_TEXT,
					      .compare = compare,
					      .which = v.which,
					      .constant = i},
		 yes, no);
}

/* v: a slot or a register. */
static void add_number_term(struct binder *b, struct value v, uint8_t compare, uint64_t k,
			    uint16_t yes, uint16_t no)
{
	add_term(b,
		 (struct tapir_question_term){
			 .source = v.kind == VALUE_REGISTER ? TAPIR_TERM_REGISTER : TAPIR_TERM_SLOT,
			 .compare = compare,
			 .which = v.which,
			 .constant = k},
		 yes, no);
}

/* The number does not matter, but one that cannot be read is undefined: value & 0 is never true. */
static void add_fixed(struct binder *b, struct value v, bool holds, uint16_t yes, uint16_t no)
{
	add_number_term(b, v, TAPIR_COMPARE_ANY_BIT, 0, holds ? no : yes, holds ? yes : no);
}

struct comparison {
	uint8_t compare;
	bool is_swapped; /* yes and no */
};

static struct comparison comparison_of(uint8_t op, bool is_signed)
{
	uint8_t lt = is_signed ? TAPIR_COMPARE_LT_SIGNED : TAPIR_COMPARE_LT;
	uint8_t le = is_signed ? TAPIR_COMPARE_LE_SIGNED : TAPIR_COMPARE_LE;

	switch (op) {
	case TAPIR_NODE_EQ:
		return (struct comparison){TAPIR_COMPARE_EQ, false};
	case TAPIR_NODE_NE:
		return (struct comparison){TAPIR_COMPARE_EQ, true};
	case TAPIR_NODE_LT:
		return (struct comparison){lt, false};
	case TAPIR_NODE_LE:
		return (struct comparison){le, false};
	case TAPIR_NODE_GT:
		return (struct comparison){le, true};
	default:
		return (struct comparison){lt, true};
	}
}

/* Returns the operator with the sides exchanged. */
static uint8_t mirrored(uint8_t op)
{
	static const uint8_t others[] = {[TAPIR_NODE_LT] = TAPIR_NODE_GT,
					 [TAPIR_NODE_GT] = TAPIR_NODE_LT,
					 [TAPIR_NODE_LE] = TAPIR_NODE_GE,
					 [TAPIR_NODE_GE] = TAPIR_NODE_LE};

	return op >= TAPIR_NODE_LT && op <= TAPIR_NODE_GE ? others[op] : op;
}

/* A constant below, or above, all numbers of the class decides without the number. */
static void compare_with_constant(struct binder *b, uint8_t op, struct value v, struct value k,
				  uint16_t yes, uint16_t no)
{
	bool is_signed = v.class == TAPIR_CLASS_INT;
	bool is_below = !is_signed && k.class == TAPIR_CLASS_INT;
	bool is_above = is_signed && k.class == TAPIR_CLASS_UINT && k.constant > INT64_MAX;
	struct comparison c = comparison_of(op, is_signed);

	if (v.class == TAPIR_CLASS_FLOAT && k.class != TAPIR_CLASS_FLOAT)
		k.constant = tapir_program__float_bits(k.class == TAPIR_CLASS_INT
							       ? (double)(int64_t)k.constant
							       : (double)k.constant);
	if (v.class == TAPIR_CLASS_FLOAT) {
		is_below = is_above = false;
	} else if (k.class == TAPIR_CLASS_FLOAT) {
		fail(b, k.node, "'%.*s' is a whole number: compare with one",
		     (int)v.node->where.len, b->e->text + v.node->where.at);
		return;
	}
	if (is_below || is_above) {
		bool holds = op == TAPIR_NODE_NE ||
			     (is_below ? op == TAPIR_NODE_GT || op == TAPIR_NODE_GE
				       : op == TAPIR_NODE_LT || op == TAPIR_NODE_LE);

		add_fixed(b, v, holds, yes, no);
		return;
	}
	add_number_term(b, v, c.compare, k.constant, c.is_swapped ? no : yes,
			c.is_swapped ? yes : no);
}

static void compare_values(struct binder *b, const struct tapir_node *n, struct value x,
			   struct value y, uint16_t yes, uint16_t no)
{
	bool swaps = n->op == TAPIR_NODE_GT || n->op == TAPIR_NODE_GE;
	uint8_t op = n->op == TAPIR_NODE_EQ || n->op == TAPIR_NODE_NE	? TAPIR_STEP_EQ
		     : n->op == TAPIR_NODE_LT || n->op == TAPIR_NODE_GT ? TAPIR_STEP_LT
									: TAPIR_STEP_LE;
	struct value result;

	if (!is_number(b, x) || !is_number(b, y))
		return;
	if (x.unit_ns && y.unit_ns && x.unit_ns != y.unit_ns) {
		fail(b, n, "the two times have different units");
		return;
	}
	result = add_step(b, op, swaps ? y : x, swaps ? x : y, n);
	add_number_term(b, result, TAPIR_COMPARE_EQ, n->op != TAPIR_NODE_NE, yes, no);
}

/* A quoted text at the left of a comparison is a field's name. */
static struct value left_value(struct binder *b, uint16_t idx)
{
	const struct tapir_node *n = node_of(b, idx);

	return n->op == TAPIR_NODE_TEXT ? name_value(b, n) : bound_value(b, idx);
}

/* The right side, by the names of the left one's values if it is a plain name. */
static struct value right_value(struct binder *b, struct value left, uint16_t idx)
{
	const struct tapir_node *n = node_of(b, idx);
	struct tapir_question_operand operand;
	uint64_t k;

	if (n->op == TAPIR_NODE_NAME && left.kind == VALUE_SLOT &&
	    b->scope->enumerator(b->scope->ctx, &b->out->slots[left.which], n->text, n->text_len,
				 &k))
		return constant(n, TAPIR_CLASS_UINT, k);
	if (n->op == TAPIR_NODE_NAME && find_state(n, &k) && !find_operand(b, n, &operand))
		return constant(n, TAPIR_CLASS_NONE, k);
	return bound_value(b, idx);
}

static void compare_state(struct binder *b, const struct tapir_node *n, uint8_t op, struct value x,
			  struct value state, uint16_t yes, uint16_t no)
{
	bool is_not = op == TAPIR_NODE_NE;

	if ((op != TAPIR_NODE_EQ && !is_not) || x.kind != VALUE_SLOT) {
		fail(b, n, "only a field is == or != %.*s", (int)state.node->text_len,
		     state.node->text);
		return;
	}
	if (x.class != TAPIR_CLASS_TEXT && state.constant != TAPIR_STATE_ABSENT) {
		fail(b, n, "only a text can be %.*s", (int)state.node->text_len, state.node->text);
		return;
	}
	add_number_term(b, x, TAPIR_COMPARE_STATE, state.constant, is_not ? no : yes,
			is_not ? yes : no);
}

static void compare_text(struct binder *b, const struct tapir_node *n, uint8_t op, struct value x,
			 struct value y, uint16_t yes, uint16_t no)
{
	bool is_not = op == TAPIR_NODE_NE;

	if (x.class != TAPIR_CLASS_TEXT) {
		fail(b, n, "'%.*s' is a number, and compared with a text", (int)x.node->where.len,
		     b->e->text + x.node->where.at);
	} else if (y.class != TAPIR_CLASS_TEXT) {
		fail(b, n, "'%.*s' is a text: compare it with a \"text\"", (int)x.node->where.len,
		     b->e->text + x.node->where.at);
	} else if (y.kind != VALUE_CONSTANT || x.kind != VALUE_SLOT) {
		fail(b, n, "two texts of an event cannot be compared");
	} else if (op != TAPIR_NODE_EQ && !is_not) {
		fail(b, n, "texts compare by ==, !=, ~ and !~");
	} else {
		add_text_term(b, x, y.node, TAPIR_COMPARE_TEXT, is_not ? no : yes,
			      is_not ? yes : no);
	}
}

static void bind_comparison(struct binder *b, const struct tapir_node *n, uint8_t op,
			    struct value x, uint16_t right, uint16_t yes, uint16_t no)
{
	struct value y = right_value(b, x, right);

	if (b->err)
		return;
	if (y.class == TAPIR_CLASS_NONE) {
		compare_state(b, n, op, x, y, yes, no);
		return;
	}
	if (x.class == TAPIR_CLASS_TEXT || y.class == TAPIR_CLASS_TEXT) {
		compare_text(b, n, op, x, y, yes, no);
		return;
	}
	agree_on_unit(b, &x, &y);
	agree_on_unit(b, &y, &x);
	if (b->err)
		return;
	if (x.kind == VALUE_CONSTANT && y.kind == VALUE_CONSTANT) {
		fail(b, n, "both sides are constants");
	} else if (x.kind == VALUE_CONSTANT || y.kind == VALUE_CONSTANT) {
		/*
		 * The constant goes to the right, with the comparison turned around: terms have it
		 * only there.
		 */
		struct value k = x.kind == VALUE_CONSTANT ? x : y;
		struct value v = x.kind == VALUE_CONSTANT ? y : x;

		if (v.wants_unit && !k.unit_ns && k.constant && k.node->op == TAPIR_NODE_NUMBER)
			fail(b, k.node, "'%.*s' is a time: write it with a unit, such as %llums",
			     (int)v.node->where.len, b->e->text + v.node->where.at,
			     (unsigned long long)k.constant);
		else
			compare_with_constant(b, x.kind == VALUE_CONSTANT ? mirrored(op) : op, v, k,
					      yes, no);
	} else {
		compare_values(b, n, x, y, yes, no);
	}
}

static void match_glob(struct binder *b, const struct tapir_node *n, uint16_t yes, uint16_t no)
{
	struct value x = left_value(b, n->left);
	const struct tapir_node *glob = node_of(b, n->right);
	bool is_not = n->op == TAPIR_NODE_NO_GLOB;
	unsigned cnt = 0;

	if (b->err)
		return;
	if (x.class != TAPIR_CLASS_TEXT || x.kind != VALUE_SLOT) {
		fail(b, n, "'%.*s' is not a text, which a GLOB matches", (int)x.node->where.len,
		     b->e->text + x.node->where.at);
		return;
	}
	for (const char *at = glob->text; *at; cnt++)
		at += tapir_glob__element_len(at);
	if (cnt > MAX_GLOB)
		fail(b, glob, "this GLOB has %u elements; the limit is %d", cnt, MAX_GLOB);
	else
		add_text_term(b, x, glob, TAPIR_COMPARE_GLOB, is_not ? no : yes, is_not ? yes : no);
}

static void match_any(struct binder *b, const struct tapir_node *n, uint16_t yes, uint16_t no)
{
	struct value x = left_value(b, n->left);

	x.is_shared = true;
	for (uint16_t item = n->right; item && !b->err; item = node_of(b, item)->next) {
		bool is_last = !node_of(b, item)->next;
		uint16_t next = is_last ? no : new_label(b, n);

		bind_comparison(b, n, TAPIR_NODE_EQ, x, item, yes, next);
		if (!is_last)
			b->label_at[next] = b->term_cnt;
	}
}

static void is_true(struct binder *b, uint16_t idx, uint16_t yes, uint16_t no)
{
	const struct tapir_node *n = node_of(b, idx);
	struct value v;

	/* X & CONSTANT needs no arithmetic. */
	if (n->op == TAPIR_NODE_AND_BITS && node_of(b, n->right)->op == TAPIR_NODE_NUMBER) {
		v = bound_value(b, n->left);
		if (!b->err && is_number(b, v) && v.kind != VALUE_CONSTANT) {
			add_number_term(b, v, TAPIR_COMPARE_ANY_BIT, node_of(b, n->right)->number,
					yes, no);
			return;
		}
	}
	v = bound_value(b, idx);
	if (b->err || !is_number(b, v))
		return;
	if (v.kind == VALUE_CONSTANT)
		fail(b, n, "a constant is not a condition");
	else
		compare_with_constant(b, TAPIR_NODE_NE, v, constant(n, TAPIR_CLASS_UINT, 0), yes,
				      no);
}

/* A number with the unit x says how much of another figure, so it compares with a figure alone. */
static bool is_ratio(struct binder *b, const struct tapir_node *n)
{
	const struct tapir_node *left = node_of(b, n->left), *right = node_of(b, n->right);
	const struct tapir_node *other = left->is_ratio ? right : left;

	if (!left->is_ratio && !right->is_ratio)
		return false;
	if (other->op != TAPIR_NODE_FIGURE)
		fail(b, n,
		     "a number with the unit x is compared with a figure of 'tapir diff', "
		     "such as p99(\"GET /\")");
	return true;
}

static void bind_condition(struct binder *b, uint16_t idx, uint16_t yes, uint16_t no)
{
	const struct tapir_node *n = node_of(b, idx);
	uint16_t next;

	if (b->err)
		return;
	switch (n->op) {
	case TAPIR_NODE_AND:
	case TAPIR_NODE_OR:
		/*
		 * The left side decides alone where it can: AND continues with the right side if it
		 * holds, OR if it does not. The label gets its place once the terms of the left
		 * side are there.
		 */
		next = new_label(b, n);
		bind_condition(b, n->left, n->op == TAPIR_NODE_AND ? next : yes,
			       n->op == TAPIR_NODE_AND ? no : next);
		b->label_at[next] = b->term_cnt;
		bind_condition(b, n->right, yes, no);
		return;
	case TAPIR_NODE_NOT:
		bind_condition(b, n->left, no, yes);
		return;
	case TAPIR_NODE_GLOB:
	case TAPIR_NODE_NO_GLOB:
		match_glob(b, n, yes, no);
		return;
	case TAPIR_NODE_IN:
		match_any(b, n, yes, no);
		return;
	case TAPIR_NODE_EQ:
	case TAPIR_NODE_NE:
	case TAPIR_NODE_LT:
	case TAPIR_NODE_LE:
	case TAPIR_NODE_GT:
	case TAPIR_NODE_GE:
		b->is_ratio = is_ratio(b, n);
		bind_comparison(b, n, n->op, left_value(b, n->left), n->right, yes, no);
		b->is_ratio = false;
		return;
	default:
		is_true(b, idx, yes, no);
	}
}

static uint8_t label_target(const struct binder *b, uint16_t label)
{
	if (label == LABEL_ACCEPT)
		return TAPIR_TERM_ACCEPT;
	return label == LABEL_REJECT ? TAPIR_TERM_REJECT : (uint8_t)b->label_at[label];
}

int tapir_expression__condition(const struct tapir_expression *e, const struct tapir_scope *scope,
				struct tapir_program *out)
{
	struct tapir_program made = {};
	struct binder b = {.e = e, .scope = scope, .out = &made, .label_cnt = LABEL_REJECT + 1};

	bind_condition(&b, e->root, LABEL_ACCEPT, LABEL_REJECT);
	if (!b.err && b.term_cnt > TAPIR_QUESTION_TERMS)
		fail(&b, node_of(&b, e->root), "more than %d terms: this takes %u of %d",
		     TAPIR_QUESTION_TERMS, b.term_cnt, TAPIR_QUESTION_TERMS);
	if (b.err)
		return b.err;
	for (unsigned i = 0; i < b.term_cnt; i++) {
		made.terms[i].yes = label_target(&b, b.labels[i].yes);
		made.terms[i].no = label_target(&b, b.labels[i].no);
	}
	made.term_cnt = b.term_cnt;
	*out = made;
	return 0;
}

int tapir_expression__value(const struct tapir_expression *e, const struct tapir_scope *scope,
			    struct tapir_program *out)
{
	struct tapir_program made = {};
	struct binder b = {.e = e, .scope = scope, .out = &made};
	struct value v = left_value(&b, e->root);

	if (!b.err && v.kind == VALUE_CONSTANT)
		fail(&b, node_of(&b, e->root), "a constant is not a value of an event");
	if (b.err)
		return b.err;
	made.class = v.class;
	made.unit_ns = v.unit_ns;
	made.is_register = v.kind == VALUE_REGISTER;
	made.which = v.which;
	*out = made;
	return 0;
}

/* ---- deciding ------------------------------------------------------------------------------- */

/* The end of a text that was cut is not known: it is equal or not only where that is no matter. */
static int holds_equal(const struct tapir_constant *text, const char *data,
		       const struct tapir_question_slot *slot)
{
	size_t len = slot->len < text->len ? slot->len : text->len;
	bool is_prefix = !len || !memcmp(data, text->data, len);

	if (slot->state != TAPIR_STATE_TRUNCATED)
		return is_prefix && slot->len == text->len;
	return is_prefix && text->len > slot->len ? TAPIR_QUESTION_UNDEFINED : 0;
}

#define SHORT_TEXT 256

static int holds_glob(const struct tapir_constant *glob, const char *data, size_t len)
{
	char buf[SHORT_TEXT], *text = buf;
	int holds;

	if (len >= sizeof(buf))
		text = malloc(len + 1);
	if (!text)
		return TAPIR_QUESTION_UNDEFINED;
	if (len)
		memcpy(text, data, len);
	text[len] = '\0';
	holds = tapir_glob__match(glob->data, text);
	if (text != buf)
		free(text);
	return holds;
}

static int holds_text(void *ctx, const struct tapir_question_term *t,
		      const struct tapir_question_slot *slot)
{
	const struct tapir_program *p = ctx;
	const struct tapir_constant *text = &p->texts[t->constant % TAPIR_EXPRESSION_TEXTS];
	const char *data = (const char *)(uintptr_t)slot->number;

	if (t->compare == TAPIR_COMPARE_GLOB)
		return holds_glob(text, data, slot->len);
	return holds_equal(text, data, slot);
}

int tapir_program__decide(const struct tapir_program *p, const struct tapir_question_slot *slots)
{
	struct tapir_question_registers r = {};

	tapir_question__compute(p->steps, p->step_cnt, slots, &r);
	return tapir_question__decide(p->terms, slots, &r, (void *)p);
}

bool tapir_program__number(const struct tapir_program *p, const struct tapir_question_slot *slots,
			   uint64_t *out)
{
	struct tapir_question_registers r = {};

	if (!p->is_register) {
		*out = slots[p->which].number;
		return slots[p->which].state == TAPIR_STATE_OK;
	}
	tapir_question__compute(p->steps, p->step_cnt, slots, &r);
	*out = r.values[p->which];
	return !(r.undefined >> p->which & 1);
}

#define SIGN_BIT (1ull << 63)

uint64_t tapir_program__float_bits(double value)
{
	uint64_t bits;

	value += 0.0; /* -0 */
	memcpy(&bits, &value, sizeof(bits));
	return bits & SIGN_BIT ? ~bits : bits | SIGN_BIT;
}

double tapir_program__float_of(uint64_t bits)
{
	double value;

	bits = bits & SIGN_BIT ? bits & ~SIGN_BIT : ~bits;
	memcpy(&value, &bits, sizeof(value));
	return value;
}
