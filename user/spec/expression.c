// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The text of an expression as a tree: one pass, precedence as in C. Nodes are numbered in the
 * order in which they are made; 0 is none. What a name means is decided later, for each kind of
 * event (expression_bind.c).
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/reader_words.h"
#include "spec/expression_impl.h"

#define MAX_NODES 512
#define MAX_DEPTH 64

struct parser {
	struct tapir_expression *e;
	const char *at;
	unsigned depth;
};

/* ---- messages ------------------------------------------------------------------------------- */

/* Characters of the expression that are shown before the mistake, and in all. */
#define SHOWN_BEFORE 50
#define SHOWN	     110

int tapir_expression__fail(const struct tapir_expression *e, struct tapir_span where,
			   const char *fmt, ...)
{
	size_t from = where.at > SHOWN_BEFORE ? where.at - SHOWN_BEFORE : 0, len;
	struct tapir_str caret = {};
	char line[700];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	tapir_diag__add("%s: %s", e->option, line);
	len = strlen(e->text) - from;
	tapir_diag__add("  %s%.*s", from ? "..." : "", (int)(len < SHOWN ? len : SHOWN),
			e->text + from);
	tapir_str__adds(&caret, from ? "     " : "  ");
	tapir_str__pad(&caret, caret.len, where.at - from);
	tapir_str__addc(&caret, '^');
	for (size_t i = 1; i < where.len && where.at - from + i < SHOWN; i++)
		tapir_str__addc(&caret, '~');
	if (caret.data)
		tapir_diag__add("%s", caret.data);
	tapir_str__fini(&caret);
	return -EINVAL;
}

#define fail(p, from, to, ...)                                                                     \
	tapir_expression__fail(                                                                    \
		(p)->e,                                                                            \
		(struct tapir_span){(uint32_t)((from) - (p)->e->text), (uint32_t)((to) - (from))}, \
		__VA_ARGS__)

/* ---- nodes ---------------------------------------------------------------------------------- */

/* 0: a mistake was reported, or there is no memory. */
static uint16_t add_node(struct parser *p, uint8_t op, const char *from)
{
	struct tapir_node *n;

	if (p->e->nodes.cnt == MAX_NODES) {
		fail(p, from, p->at, "the expression has more than %d parts", MAX_NODES - 1);
		return 0;
	}
	n = tapir_vec__add(&p->e->nodes);
	if (!n)
		return 0;
	n->op = op;
	n->where = (struct tapir_span){(uint32_t)(from - p->e->text), (uint32_t)(p->at - from)};
	return (uint16_t)(p->e->nodes.cnt - 1);
}

static struct tapir_node *node(struct parser *p, uint16_t idx)
{
	return &p->e->nodes.data[idx];
}

static uint16_t add_binary(struct parser *p, uint8_t op, uint16_t left, uint16_t right)
{
	const char *from = left ? p->e->text + node(p, left)->where.at : p->at;
	uint16_t made = left && right ? add_node(p, op, from) : 0;

	if (!made)
		return 0;
	node(p, made)->left = left;
	node(p, made)->right = right;
	/* Up to where the right operand ends, which the blanks after it do not belong to. */
	node(p, made)->where.len =
		node(p, right)->where.at + node(p, right)->where.len - node(p, made)->where.at;
	return made;
}

/* ---- words ---------------------------------------------------------------------------------- */

static void skip_blanks(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static bool takes_symbol(struct parser *p, const char *symbol)
{
	size_t len = strlen(symbol);

	skip_blanks(p);
	if (strncmp(p->at, symbol, len))
		return false;
	p->at += len;
	return true;
}

static bool is_name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static size_t name_len(const char *text)
{
	size_t len = 0;

	if (!is_name_start(*text))
		return 0;
	while (is_name_char(text[len]) || (text[len] == '.' && is_name_start(text[len + 1])))
		len++;
	return len;
}

static const struct {
	const char *name;
	uint64_t factor;
	bool is_time;
} units[] = {
	{"ns", 1, true},
	{"us", 1000, true},
	{"ms", 1000000, true},
	{"s", 1000000000ull, true},
	{"m", 60000000000ull, true},
	{"h", 3600000000000ull, true},
	{"x", 1, false}, /* of another figure */
	{"B", 1, false},
	{"k", 1000, false},
	{"kB", 1000, false},
	{"M", 1000000, false},
	{"MB", 1000000, false},
	{"G", 1000000000ull, false},
	{"GB", 1000000000ull, false},
	{"Ki", 1ull << 10, false},
	{"KiB", 1ull << 10, false},
	{"Mi", 1ull << 20, false},
	{"MiB", 1ull << 20, false},
	{"Gi", 1ull << 30, false},
	{"GiB", 1ull << 30, false},
};

static int apply_unit(struct parser *p, struct tapir_node *n, const char *from)
{
	size_t len = 0;

	while (is_name_char(p->at[len]))
		len++;
	if (!len)
		return 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strlen(units[i].name) != len || memcmp(units[i].name, p->at, len))
			continue;
		p->at += len;
		n->is_time = units[i].is_time;
		n->is_ratio = !strcmp(units[i].name, "x");
		if (n->op == TAPIR_NODE_REAL) {
			n->real *= (double)units[i].factor;
			if (n->real < 0 || n->real >= 0x1p63)
				return fail(p, from, p->at, "the number is too large");
			/*
			 * Half a nanosecond is none: times are whole, and 1.5k is as whole as 1500.
			 * What has a fraction stays real.
			 */
			n->op = n->is_time || n->real == floor(n->real) ? TAPIR_NODE_NUMBER
									: TAPIR_NODE_REAL;
			n->number = (uint64_t)llround(n->real);
		} else if (__builtin_mul_overflow(n->number, units[i].factor, &n->number)) {
			return fail(p, from, p->at, "the number is too large");
		}
		return 0;
	}
	return fail(p, p->at, p->at + len,
		    "'%.*s' is no unit: ns us ms s m h for times; k M G Ki Mi Gi, also with B",
		    (int)len, p->at);
}

static uint16_t parse_number(struct parser *p)
{
	const char *from = p->at;
	char *end;
	struct tapir_node made = {.op = TAPIR_NODE_NUMBER};
	uint16_t idx;

	errno = 0;
	made.number = strtoull(p->at, &end, *p->at == '0' && (p->at[1] | 32) == 'x' ? 16 : 10);
	if (errno) {
		fail(p, from, end, "the number is too large");
		return 0;
	}
	if (*end == '.' && isdigit((unsigned char)end[1])) {
		made.op = TAPIR_NODE_REAL;
		made.real = strtod(p->at, &end);
	}
	p->at = end;
	if (apply_unit(p, &made, from))
		return 0;
	idx = add_node(p, made.op, from);
	if (!idx)
		return 0;
	made.where = node(p, idx)->where;
	*node(p, idx) = made;
	return idx;
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : (tolower((unsigned char)c) - 'a') + 10;
}

/* The character after a backslash; *at stands on it, and afterwards on its last character. */
static char unescape(const char **at)
{
	const char *p = *at;

	if (*p == 'n')
		return '\n';
	if (*p == 't')
		return '\t';
	if (*p != 'x' || !isxdigit((unsigned char)p[1]) || !isxdigit((unsigned char)p[2]))
		return *p;
	*at = p + 2;
	return (char)(hex_digit(p[1]) << 4 | hex_digit(p[2]));
}

/* keeps_escapes: for a glob, in which a backslash means the next character itself. */
static uint16_t parse_text(struct parser *p, bool keeps_escapes)
{
	const char *from = p->at++, *end = p->at;
	struct tapir_node *n;
	uint16_t idx;
	char *o;

	while (*end && *end != '"')
		end += end[0] == '\\' && end[1] ? 2 : 1;
	if (!*end) {
		fail(p, from, from + 1, "a closing '\"' is required");
		return 0;
	}
	/*
	 * Nothing is checked for room: this memory has twice the length of the expression, and an
	 * escape becomes one byte.
	 */
	o = p->e->texts + p->e->texts_len;
	p->at = end + 1;
	idx = add_node(p, TAPIR_NODE_TEXT, from);
	if (!idx)
		return 0;
	n = node(p, idx);
	n->text = o;
	for (const char *at = from + 1; at < end; at++) {
		if (*at == '\\' && keeps_escapes) {
			if (at[1] != '"')
				*o++ = '\\';
			*o++ = *++at;
		} else if (*at == '\\') {
			at++;
			*o++ = unescape(&at);
		} else {
			*o++ = *at;
		}
	}
	n->text_len = (uint32_t)(o - n->text);
	*o++ = '\0';
	p->e->texts_len = (size_t)(o - p->e->texts);
	return idx;
}

/* ---- the grammar, from the tightest to the loosest -------------------------------------------- */

static uint16_t parse_or(struct parser *p);
static uint16_t parse_unary(struct parser *p);

static uint16_t expected(struct parser *p, const char *expected_text)
{
	skip_blanks(p);
	fail(p, p->at, p->at + (*p->at ? 1 : 0), "%s is required here", expected_text);
	return 0;
}

/* "p99("GET /x")": which figures there are is the scope's business. */
static uint16_t parse_figure(struct parser *p, const char *from, size_t len)
{
	uint16_t of = parse_text(p, false), made;

	if (!of)
		return 0;
	if (!takes_symbol(p, ")"))
		return expected(p, "')'");
	made = add_node(p, TAPIR_NODE_FIGURE, from);
	if (made) {
		node(p, made)->left = of;
		node(p, made)->text = from;
		node(p, made)->text_len = (uint32_t)len;
	}
	return made;
}

/* "str(X, N)", "bucket(X, STEP)": the second is optional for str. */
static uint16_t parse_call(struct parser *p, const char *from, size_t len)
{
	uint8_t op = len == 3 && !memcmp(from, "str", 3)      ? TAPIR_NODE_STR
		     : len == 6 && !memcmp(from, "bucket", 6) ? TAPIR_NODE_BUCKET
							      : 0;
	uint16_t value, size = 0, made;

	skip_blanks(p);
	/* A quoted argument makes it a figure, whose names the scope knows, not the grammar. */
	if (!op && *p->at == '"')
		return parse_figure(p, from, len);
	if (!op) {
		fail(p, from, from + len, TAPIR_NO_FUNCTION, (int)(len < 60 ? len : 60), from);
		return 0;
	}
	value = parse_or(p);
	if (!value)
		return 0;
	if (takes_symbol(p, ",")) {
		skip_blanks(p);
		if (!isdigit((unsigned char)*p->at))
			return expected(p, "a number");
		size = parse_number(p);
		if (!size)
			return 0;
	} else if (op == TAPIR_NODE_BUCKET) {
		return expected(p, "', STEP'");
	}
	if (size && !node(p, size)->number) {
		fail(p, p->at - 1, p->at, "a number above 0 is required");
		return 0;
	}
	if (!takes_symbol(p, ")"))
		return expected(p, "')'");
	made = add_node(p, op, from);
	if (made) {
		node(p, made)->left = value;
		node(p, made)->right = size;
	}
	return made;
}

static uint16_t parse_name(struct parser *p)
{
	const char *from = p->at;
	bool is_field = *from == '.';
	const char *name = from + is_field;
	size_t len = name_len(name);
	uint16_t idx;

	/* A field whose name is no word is written ."...": the field, and not a text. */
	if (is_field && *name == '"') {
		p->at = name;
		idx = parse_text(p, false);
		if (idx)
			node(p, idx)->op = TAPIR_NODE_FIELD;
		return idx;
	}
	if (!len)
		return expected(p, "a field, a number or a \"text\"");
	p->at = name + len;
	if (!is_field && *p->at == '(') {
		p->at++;
		return parse_call(p, from, len);
	}
	idx = add_node(p, is_field ? TAPIR_NODE_FIELD : TAPIR_NODE_NAME, from);
	if (idx) {
		node(p, idx)->text = name;
		node(p, idx)->text_len = (uint32_t)len;
	}
	return idx;
}

static uint16_t parse_primary(struct parser *p)
{
	uint16_t inner;

	skip_blanks(p);
	if (isdigit((unsigned char)*p->at))
		return parse_number(p);
	if (*p->at == '"')
		return parse_text(p, false);
	if (*p->at != '(')
		return parse_name(p);
	p->at++;
	inner = parse_or(p);
	if (inner && !takes_symbol(p, ")"))
		return expected(p, "')'");
	if (inner)
		node(p, inner)->is_grouped = true;
	return inner;
}

static uint16_t parse_prefixed(struct parser *p, uint8_t op)
{
	const char *from = p->at++;
	uint16_t value = parse_unary(p), made = value ? add_node(p, op, from) : 0;

	if (made)
		node(p, made)->left = value;
	return made;
}

static uint16_t parse_unary(struct parser *p)
{
	uint16_t made;

	skip_blanks(p);
	if (++p->depth > MAX_DEPTH) {
		fail(p, p->at, p->at + 1, "the expression is nested more than %d deep", MAX_DEPTH);
		return 0;
	}
	if (*p->at == '!' && p->at[1] != '=' && p->at[1] != '~')
		made = parse_prefixed(p, TAPIR_NODE_NOT);
	else if (*p->at == '-')
		made = parse_prefixed(p, TAPIR_NODE_NEGATE);
	else
		made = parse_primary(p);
	p->depth--;
	return made;
}

struct operator
{
	const char *symbol;
	const char *not_before; /* characters that make it another operator */
	uint8_t op;
};

/* Operators of one precedence, from the tightest; a level ends with NULL. */
static const struct operator levels[][5] = {
	{{"*", "", TAPIR_NODE_MUL}, {"/", "", TAPIR_NODE_DIV}, {"%", "", TAPIR_NODE_MOD}, {}},
	{{"+", "", TAPIR_NODE_ADD}, {"-", "", TAPIR_NODE_SUB}, {}},
	{{"<<", "", TAPIR_NODE_SHL}, {">>", "", TAPIR_NODE_SHR}, {}},
	{{"<=", "", TAPIR_NODE_LE},
	 {">=", "", TAPIR_NODE_GE},
	 {"<", "<", TAPIR_NODE_LT},
	 {">", ">", TAPIR_NODE_GT},
	 {}},
	{}, /* == != ~ !~ in: parse_equality */
	{{"&", "&", TAPIR_NODE_AND_BITS}, {}},
	{{"^", "", TAPIR_NODE_XOR_BITS}, {}},
	{{"|", "|", TAPIR_NODE_OR_BITS}, {}},
	{{"&&", "", TAPIR_NODE_AND}, {}},
	{{"||", "", TAPIR_NODE_OR}, {}},
};

#define EQUALITY_LEVEL 4
#define TOP_LEVEL      9

static uint8_t take_operator(struct parser *p, const struct operator* level)
{
	skip_blanks(p);
	for (; level->symbol; level++) {
		size_t len = strlen(level->symbol);

		if (strncmp(p->at, level->symbol, len) ||
		    (p->at[len] && strchr(level->not_before, p->at[len])))
			continue;
		p->at += len;
		return level->op;
	}
	return 0;
}

static bool is_comparison(uint8_t op)
{
	return op >= TAPIR_NODE_EQ && op <= TAPIR_NODE_IN;
}

/* In C a & b == c is a & (b == c), which is never meant. */
static bool lacks_parentheses(struct parser *p, uint8_t op, uint16_t left, uint16_t right)
{
	uint16_t sides[] = {left, right};

	if (op != TAPIR_NODE_AND_BITS && op != TAPIR_NODE_OR_BITS && op != TAPIR_NODE_XOR_BITS)
		return false;
	for (int i = 0; i < 2; i++) {
		struct tapir_node *n = node(p, sides[i]);

		if (!is_comparison(n->op) || n->is_grouped)
			continue;
		tapir_expression__fail(p->e, n->where,
				       "parentheses are required: (A & B) == C compares the bits");
		return true;
	}
	return false;
}

/*
 * Nodes are named by their index, never by a pointer that is kept: the array moves when one is
 * added.
 */
static uint16_t parse_in(struct parser *p, uint16_t left)
{
	uint16_t made, last = 0, item;

	if (!takes_symbol(p, "("))
		return expected(p, "'(' and values separated by ','");
	made = add_node(p, TAPIR_NODE_IN, p->e->text + node(p, left)->where.at);
	if (!made)
		return 0;
	node(p, made)->left = left;
	do {
		item = parse_unary(p);
		if (!item)
			return 0;
		if (last)
			node(p, last)->next = item;
		else
			node(p, made)->right = item;
		last = item;
	} while (takes_symbol(p, ","));
	if (!takes_symbol(p, ")"))
		return expected(p, "',' or ')'");
	node(p, made)->where.len = (uint32_t)(p->at - p->e->text) - node(p, made)->where.at;
	return made;
}

static uint16_t parse_level(struct parser *p, int level);

static uint16_t parse_glob(struct parser *p, uint8_t op, uint16_t left)
{
	skip_blanks(p);
	if (*p->at != '"')
		return expected(p, "a \"GLOB\"");
	return add_binary(p, op, left, parse_text(p, true));
}

static uint16_t parse_equality(struct parser *p)
{
	uint16_t left = parse_level(p, EQUALITY_LEVEL - 1);

	while (left) {
		skip_blanks(p);
		/* People write it: a sentence helps more than "expected an operator". */
		if (p->at[0] == '=' && p->at[1] != '=') {
			fail(p, p->at, p->at + 1,
			     "'=' does not compare: write == for exactly that, or ~ \"GLOB\"");
			return 0;
		}
		if ((p->at[0] == '=' || p->at[0] == '!') && p->at[1] == '=') {
			bool is_not = p->at[0] == '!';

			p->at += 2;
			left = add_binary(p, is_not ? TAPIR_NODE_NE : TAPIR_NODE_EQ, left,
					  parse_level(p, EQUALITY_LEVEL - 1));
		} else if (takes_symbol(p, "!~")) {
			left = parse_glob(p, TAPIR_NODE_NO_GLOB, left);
		} else if (takes_symbol(p, "~")) {
			left = parse_glob(p, TAPIR_NODE_GLOB, left);
		} else if (!strncmp(p->at, "in", 2) && !is_name_char(p->at[2])) {
			p->at += 2;
			left = parse_in(p, left);
		} else {
			return left;
		}
	}
	return 0;
}

static uint16_t parse_level(struct parser *p, int level)
{
	uint16_t left, right;
	uint8_t op;

	if (level < 0)
		return parse_unary(p);
	if (level == EQUALITY_LEVEL)
		return parse_equality(p);
	left = parse_level(p, level - 1);
	while (left && (op = take_operator(p, levels[level]))) {
		right = parse_level(p, level - 1);
		if (!right || lacks_parentheses(p, op, left, right))
			return 0;
		left = add_binary(p, op, left, right);
	}
	return left;
}

static uint16_t parse_or(struct parser *p)
{
	return parse_level(p, TOP_LEVEL);
}

/* ---- the expression ------------------------------------------------------------------------- */

static int parse_whole(struct tapir_expression *e)
{
	struct parser p = {.e = e, .at = e->text};

	skip_blanks(&p);
	if (!*p.at)
		return fail(&p, p.at, p.at, "an expression is required, such as 'took > 5ms'");
	e->root = parse_or(&p);
	if (!e->root)
		return -EINVAL;
	skip_blanks(&p);
	if (*p.at)
		return fail(&p, p.at, p.at + 1, "an operator is required here, such as && or ==");
	return 0;
}

int tapir_expression__parse(const char *option, const char *text, struct tapir_expression **out)
{
	size_t len = strnlen(text, TAPIR_EXPRESSION_MAX_BYTES + 1);
	int cnt = tapir_diag__cnt(), err;
	struct tapir_expression *e;

	if (len > TAPIR_EXPRESSION_MAX_BYTES)
		return tapir_diag__fail(-EINVAL, "%s: the expression is longer than %d characters",
					option, TAPIR_EXPRESSION_MAX_BYTES);
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->option = tapir_reader_words__of_option(option);
	e->text = strdup(text);
	e->texts = malloc(2 * len + 2); /* a text and its NUL take no more than it and its quotes */
	err = e->text && e->texts && tapir_vec__add(&e->nodes) ? parse_whole(e) : -ENOMEM;
	if (err == -EINVAL && tapir_diag__cnt() == cnt)
		err = -ENOMEM;
	if (err) {
		tapir_expression__free(e);
		return err;
	}
	*out = e;
	return 0;
}

void tapir_expression__free(struct tapir_expression *e)
{
	if (!e)
		return;
	tapir_vec__fini(&e->nodes);
	free(e->text);
	free(e->texts);
	free(e);
}

const char *tapir_expression__text(const struct tapir_expression *e)
{
	return e->text;
}

size_t tapir_expression__part_len(const char *text, char end)
{
	bool is_quoted = false;
	int depth = 0;
	size_t i;

	for (i = 0; text[i] && (is_quoted || depth > 0 || text[i] != end); i++) {
		if (text[i] == '\\' && text[i + 1])
			i++;
		else if (text[i] == '"')
			is_quoted = !is_quoted;
		else if (!is_quoted)
			depth += (text[i] == '(') - (text[i] == ')');
	}
	return i;
}

bool tapir_expression__constant(const char *text, int64_t *out, bool *is_time)
{
	struct tapir_expression *e = NULL;
	int cnt = tapir_diag__cnt();
	const struct tapir_node *n;
	bool is_negative, is_one;

	if (tapir_expression__parse("", text, &e)) {
		tapir_diag__rewind(cnt);
		return false;
	}
	n = &e->nodes.data[e->root];
	is_negative = n->op == TAPIR_NODE_NEGATE;
	if (is_negative)
		n = &e->nodes.data[n->left];
	is_one = n->op == TAPIR_NODE_NUMBER && n->number <= INT64_MAX;
	if (is_one) {
		*out = is_negative ? -(int64_t)n->number : (int64_t)n->number;
		*is_time = n->is_time;
	}
	tapir_expression__free(e);
	return is_one;
}
