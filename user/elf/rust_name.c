// SPDX-License-Identifier: GPL-2.0-or-later
/* The grammar of RFC 2603, as of libiberty 12. References back are not followed: what they refer to
 * is printed, which the limit of the text ends. */
#include "elf/rust_name.h"

#include <stdint.h>
#include <string.h>

#define MAX_DEPTH     300
#define MAX_LIFETIMES 1000 /* of all binders of a name */

struct parser {
	const char *at, *end;
	uint32_t depth;
	uint64_t lifetimes;
	bool is_bad;
};

static void path(struct parser *p);
static void type(struct parser *p);

static char peek(const struct parser *p)
{
	return p->at < p->end ? *p->at : '\0';
}

static char next_char(struct parser *p)
{
	if (p->at < p->end)
		return *p->at++;
	p->is_bad = true;
	return '\0';
}

static bool eat(struct parser *p, char c)
{
	if (peek(p) != c || p->at == p->end)
		return false;
	p->at++;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool enter_nesting(struct parser *p)
{
	p->is_bad |= ++p->depth > MAX_DEPTH;
	return !p->is_bad;
}

/* Digits up to '_'; more than 2^32 is 2^32. */
static uint64_t number_62(struct parser *p)
{
	uint64_t value = 0;

	if (eat(p, '_'))
		return 0;
	while (!p->is_bad && !eat(p, '_')) {
		char c = next_char(p);

		if (is_digit(c))
			value = value * 62 + (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'z')
			value = value * 62 + (uint64_t)(c - 'a' + 10);
		else if (c >= 'A' && c <= 'Z')
			value = value * 62 + (uint64_t)(c - 'A' + 36);
		else
			p->is_bad = true;
		value = value > UINT32_MAX ? 1ull << 32 : value;
	}
	return value + 1;
}

static void disambiguator(struct parser *p)
{
	if (eat(p, 's'))
		(void)number_62(p);
}

/* "3foo", "u9_..." */
static void ident(struct parser *p)
{
	size_t len;
	char c;

	(void)eat(p, 'u');
	c = next_char(p);
	p->is_bad |= !is_digit(c);
	len = (size_t)(c - '0');
	while (!p->is_bad && c != '0' && is_digit(peek(p))) {
		len = len * 10 + (size_t)(next_char(p) - '0');
		p->is_bad |= len > (size_t)(p->end - p->at);
	}
	(void)eat(p, '_');
	p->is_bad |= len > (size_t)(p->end - p->at);
	if (!p->is_bad)
		p->at += len;
}

static void binder(struct parser *p)
{
	if (!eat(p, 'G'))
		return;
	p->lifetimes += number_62(p) + 1;
	p->is_bad |= p->lifetimes > MAX_LIFETIMES;
}

static void constant(struct parser *p)
{
	char c;

	if (eat(p, 'B')) {
		(void)number_62(p);
		return;
	}
	c = next_char(p);
	if (c == 'p')
		return;
	p->is_bad |= !strchr("htmyojaslxnibc", c) || !c;
	if (strchr("aslxni", c))
		(void)eat(p, 'n');
	while (!p->is_bad && !eat(p, '_')) {
		c = next_char(p);
		p->is_bad |= !is_digit(c) && !(c >= 'a' && c <= 'f');
	}
}

static void generic_args(struct parser *p)
{
	while (!p->is_bad && !eat(p, 'E')) {
		if (eat(p, 'L'))
			(void)number_62(p);
		else if (eat(p, 'K'))
			constant(p);
		else
			type(p);
	}
}

static void types(struct parser *p)
{
	while (!p->is_bad && !eat(p, 'E'))
		type(p);
}

static void function(struct parser *p)
{
	binder(p);
	(void)eat(p, 'U');
	if (eat(p, 'K') && !eat(p, 'C'))
		ident(p);
	types(p);
	type(p);
}

static void dyn_traits(struct parser *p)
{
	binder(p);
	while (!p->is_bad && !eat(p, 'E')) {
		path(p);
		while (!p->is_bad && eat(p, 'p')) {
			ident(p);
			type(p);
		}
	}
	p->is_bad |= !eat(p, 'L');
	(void)number_62(p);
}

static void type(struct parser *p)
{
	char c = next_char(p);

	if (!enter_nesting(p))
		return;
	if (strchr("RQ", c)) {
		if (eat(p, 'L'))
			(void)number_62(p);
		type(p);
	} else if (strchr("POS", c)) {
		type(p);
	} else if (c == 'A') {
		type(p);
		constant(p);
	} else if (c == 'T') {
		types(p);
	} else if (c == 'F') {
		function(p);
	} else if (c == 'D') {
		dyn_traits(p);
	} else if (!(c >= 'a' && c <= 'z')) { /* not a basic type */
		p->at--;
		path(p);
	}
	p->depth--;
}

/* "<type as trait>", after 'M' (an impl without a trait), 'X' or 'Y'. */
static void qualified(struct parser *p, char kind)
{
	if (kind != 'Y') {
		disambiguator(p);
		path(p);
	}
	type(p);
	if (kind != 'M')
		path(p);
}

static void path(struct parser *p)
{
	char c = next_char(p);

	if (!enter_nesting(p))
		return;
	if (c == 'C') {
		disambiguator(p);
		ident(p);
	} else if (c == 'N') {
		(void)next_char(p); /* its namespace */
		path(p);
		disambiguator(p);
		ident(p);
	} else if (strchr("MXY", c)) {
		qualified(p, c);
	} else if (c == 'I') {
		path(p);
		generic_args(p);
	} else if (c == 'B') {
		(void)number_62(p);
	} else {
		p->is_bad = true;
	}
	p->depth--;
}

bool tapir_rust_name__is_cheap(const char *name)
{
	struct parser p = {.at = name + 2, .end = name + 2 + strcspn(name + 2, ".$")};

	path(&p);
	if (!p.is_bad && p.at < p.end) /* the crate that instantiated it */
		path(&p);
	return !p.is_bad && p.at == p.end;
}
