// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The parts of a name, then each in its readable form. Types come in two spellings: the method's
 * own as reflection has it (Box`1+Inner`1[System.Int32]), those of its parameters as IL has it
 * (class [System.Runtime]System.Func`2<!0,int32>).
 */
#include "symbol/dotnet_name.h"

#include <ctype.h>
#include <string.h>

#define DEPTH_MAX 8 /* types within types; deeper ones stay as they are */
#define ARGS_MAX  16
#define NESTS_MAX 16

struct args {
	struct tapir_sv at[ARGS_MAX];
	unsigned cnt;
};

struct parts {
	struct tapir_sv type, method, params, tier;
	bool gives_bool; /* what it returns */
};

/* ---- slices -------------------------------------------------------------------------------- */

static struct tapir_sv part_of_name(struct tapir_sv sv, size_t from, size_t until)
{
	return (struct tapir_sv){sv.data + from, until - from};
}

static size_t find_char(struct tapir_sv sv, char c, size_t from)
{
	const char *at = from < sv.len ? memchr(sv.data + from, c, sv.len - from) : NULL;

	return at ? (size_t)(at - sv.data) : sv.len;
}

static size_t find_last(struct tapir_sv sv, char c)
{
	const char *at = sv.len ? memrchr(sv.data, c, sv.len) : NULL;

	return at ? (size_t)(at - sv.data) : sv.len;
}

/* The offset at which the bracket at `from` closes; sv.len: it does not. */
static size_t closing(struct tapir_sv sv, size_t from, char open, char close)
{
	size_t depth = 0;

	for (size_t i = from; i < sv.len; i++) {
		if (sv.data[i] == open)
			depth++;
		else if (sv.data[i] == close && !--depth)
			return i;
	}
	return sv.len;
}

static void add_sv(struct tapir_str *out, struct tapir_sv sv)
{
	tapir_str__add(out, sv.data, sv.len);
}

/* ---- the parts of a name ------------------------------------------------------------------- */

static bool find_tier(struct tapir_sv raw, struct tapir_sv *tier)
{
	size_t open = find_last(raw, '[');

	if (raw.len < 4 || open == raw.len || !open || raw.data[raw.len - 1] != ']' ||
	    raw.data[open - 1] != ')' || open + 2 >= raw.len)
		return false;
	for (size_t i = open + 1; i < raw.len - 1; i++)
		if (!isalnum((unsigned char)raw.data[i]))
			return false;
	*tier = part_of_name(raw, open + 1, raw.len - 1);
	return true;
}

/*
 * The offset of the parenthesis that opens the parameters; 0: there is none. The last byte closes
 * it.
 */
static size_t opening(struct tapir_sv sv)
{
	size_t depth = 0;

	for (size_t i = sv.len; i-- > 0;) {
		if (sv.data[i] == ')')
			depth++;
		else if (sv.data[i] == '(' && !--depth)
			return i;
	}
	return 0;
}

/* The type begins after its module, "[Module] ", or after a blank. */
static size_t type_start(struct tapir_sv head)
{
	for (size_t i = head.len; i-- > 1;)
		if (head.data[i] == ' ' && head.data[i - 1] == ']')
			return i + 1;
	return find_last(head, ' ') == head.len ? 0 : find_last(head, ' ') + 1;
}

static bool split_name(struct tapir_sv raw, struct parts *p)
{
	static const char bools[] = "instance bool ";
	struct tapir_sv text;
	const char *colons;
	size_t at, open;

	if (!find_tier(raw, &p->tier))
		return false;
	text = part_of_name(raw, 0, raw.len - p->tier.len - 2);
	colons = memmem(text.data, text.len, "::", 2);
	open = opening(text);
	if (!colons || !open || text.data + open < colons + 2)
		return false;
	at = (size_t)(colons - text.data);
	p->gives_bool = tapir_sv__starts_with(raw, bools);
	p->type = part_of_name(text, 0, at);
	p->type = part_of_name(p->type, type_start(p->type), p->type.len);
	p->method = part_of_name(text, at + 2, open);
	p->params = part_of_name(text, open + 1, text.len - 1);
	return p->type.len && p->method.len;
}

/* ---- types ----------------------------------------------------------------------------------- */

static const char *keyword_of(struct tapir_sv name)
{
	static const char *const words[][3] = {
		{"Int32", "int32", "int"},	{"Int64", "int64", "long"},
		{"Int16", "int16", "short"},	{"SByte", "int8", "sbyte"},
		{"UInt32", "uint32", "uint"},	{"UInt64", "uint64", "ulong"},
		{"UInt16", "uint16", "ushort"}, {"Byte", "uint8", "byte"},
		{"Single", "float32", "float"}, {"Double", "float64", "double"},
		{"Boolean", "bool", "bool"},	{"Char", "char", "char"},
		{"String", "string", "string"}, {"Object", "object", "object"},
	};
	bool is_systems = tapir_sv__starts_with(name, "System.");
	struct tapir_sv last = is_systems ? part_of_name(name, 7, name.len) : name;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (tapir_sv__is(last, words[i][is_systems ? 0 : 1]))
			return words[i][2];
	return NULL;
}

/* "int32", "0...,0...": the contents of an array's brackets, or nothing. */
static bool is_rank(struct tapir_sv inside)
{
	for (size_t i = 0; i < inside.len; i++)
		if (!strchr(",.*", inside.data[i]) && !isdigit((unsigned char)inside.data[i]))
			return false;
	return true;
}

static void add_rank(struct tapir_str *out, struct tapir_sv inside)
{
	tapir_str__addc(out, '[');
	for (size_t i = 0; i < inside.len; i++)
		if (inside.data[i] == ',')
			tapir_str__addc(out, ',');
	tapir_str__addc(out, ']');
}

/* Behind the last dot of what is before the first nested type. */
static struct tapir_sv without_namespace(struct tapir_sv name)
{
	size_t end = find_char(name, '+', 0), angle = find_char(name, '<', 0), dot;

	end = angle < end ? angle : end;
	dot = find_last(part_of_name(name, 0, end), '.');
	return dot < end && dot + 1 < name.len ? part_of_name(name, dot + 1, name.len) : name;
}

/* Splits "a,b[c,d]" at its own commas. */
static void split_args(struct tapir_sv inside, struct args *args)
{
	size_t from = 0, depth = 0;

	args->cnt = 0;
	for (size_t i = 0; i <= inside.len; i++) {
		char c = i < inside.len ? inside.data[i] : ',';

		depth += c == '[';
		depth -= c == ']' && depth;
		if (c != ',' || (depth && i < inside.len))
			continue;
		if (args->cnt < ARGS_MAX)
			args->at[args->cnt++] = part_of_name(inside, from, i);
		from = i + 1;
	}
}

/* Type arguments follow all nested names: the first bracket that is not an array's. */
static struct tapir_sv take_args(struct tapir_sv type, struct args *args, struct tapir_sv *suffix)
{
	size_t open = find_char(type, '[', 0), close = closing(type, open, '[', ']');

	args->cnt = 0;
	*suffix = part_of_name(type, open, type.len);
	if (close == type.len || is_rank(part_of_name(type, open + 1, close)))
		return part_of_name(type, 0, open);
	split_args(part_of_name(type, open + 1, close), args);
	*suffix = part_of_name(type, close + 1, type.len);
	return part_of_name(type, 0, open);
}

static void add_type(struct tapir_str *out, struct tapir_sv type, unsigned depth);

static void add_args(struct tapir_str *out, const struct args *args, unsigned from, unsigned until,
		     unsigned depth)
{
	if (from >= until || from >= args->cnt)
		return;
	tapir_str__addc(out, '<');
	for (unsigned i = from; i < until && i < args->cnt; i++) {
		tapir_str__adds(out, i > from ? ", " : "");
		add_type(out, args->at[i], depth + 1);
	}
	tapir_str__addc(out, '>');
}

/* "Inner`1" without its `1; *from: the arguments consumed by the names before it. */
static void add_nest(struct tapir_str *out, struct tapir_sv nest, const struct args *args,
		     unsigned *from, unsigned depth)
{
	size_t tick = find_last(nest, '`');
	unsigned arity = 0;

	for (size_t i = tick + 1; i < nest.len && isdigit((unsigned char)nest.data[i]); i++)
		arity = arity < 100 ? arity * 10 + (unsigned)(nest.data[i] - '0') : arity;
	add_sv(out, part_of_name(nest, 0, tick));
	add_args(out, args, *from, *from + arity, depth);
	*from += arity;
}

/* Adds a type as reflection spells it, without its namespace. */
static void add_type(struct tapir_str *out, struct tapir_sv type, unsigned depth)
{
	const char *keyword;
	struct tapir_sv suffix, base;
	struct args args;
	unsigned taken = 0;

	if (depth > DEPTH_MAX) {
		add_sv(out, type);
		return;
	}
	base = take_args(type, &args, &suffix);
	keyword = keyword_of(base);
	if (keyword) {
		tapir_str__adds(out, keyword);
	} else {
		base = without_namespace(base);
		for (size_t at = 0, end; at <= base.len; at = end + 1) {
			end = find_char(base, '+', at);
			tapir_str__adds(out, at ? "." : "");
			add_nest(out, part_of_name(base, at, end), &args, &taken, depth);
		}
	}
	add_sv(out, suffix);
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* "!1": the type's second argument, if that is known. True: it was one, and was added. */
static bool add_type_parameter(struct tapir_str *out, struct tapir_sv word, const struct args *args)
{
	unsigned idx = 0;

	if (word.len < 2 || word.data[0] != '!' || word.data[1] == '!')
		return false;
	for (size_t i = 1; i < word.len; i++) {
		if (!isdigit((unsigned char)word.data[i]) || idx > ARGS_MAX)
			return false;
		idx = idx * 10 + (unsigned)(word.data[i] - '0');
	}
	if (idx >= args->cnt)
		return false;
	add_type(out, args->at[idx], 1);
	return true;
}

static void add_word(struct tapir_str *out, struct tapir_sv word, const struct args *args)
{
	const char *keyword = keyword_of(word);
	size_t dot, tick;

	if (keyword) {
		tapir_str__adds(out, keyword);
		return;
	}
	if (add_type_parameter(out, word, args))
		return;
	dot = find_last(word, '.');
	word = dot + 1 < word.len ? part_of_name(word, dot + 1, word.len) : word;
	for (size_t at = 0, end; at <= word.len; at = end + 1) {
		end = find_char(word, '/', at);
		tick = find_char(part_of_name(word, 0, end), '`', at);
		tapir_str__adds(out, at ? "." : "");
		add_sv(out, part_of_name(word, at, tick));
	}
}

static bool is_word(char c)
{
	return !strchr(",()<>[]&* \t", c) && c;
}

static bool follows(struct tapir_sv text, size_t at, const char *word)
{
	return at <= text.len && tapir_sv__starts_with(part_of_name(text, at, text.len), word);
}

/* Bytes at `at` that mean nothing to a reader; 0: none. */
static size_t noise(struct tapir_sv text, size_t at, bool is_start)
{
	static const char *const words[] = {"class ", "valuetype ", "value class ", NULL};
	const char *end;

	for (size_t i = 0; words[i] && is_start; i++)
		if (follows(text, at, words[i]))
			return strlen(words[i]);
	if (follows(text, at, " /*")) {
		end = memmem(text.data + at, text.len - at, "*/", 2);
		return end ? (size_t)(end + 2 - text.data) - at : 0;
	}
	if (is_start && text.data[at] == '[' && closing(text, at, '[', ']') < text.len)
		return closing(text, at, '[', ']') + 1 - at; /* a module */
	return 0;
}

/*
 * "native int" -> "nint": which words alone do not show. The runtime has two dialects: its events
 * write "unsigned int8", "wchar", "int" and "unsigned int" where its maps and dumps write "uint8",
 * "char", "native int" and "native uint".
 */
static size_t add_number(struct tapir_str *out, struct tapir_sv text, size_t at)
{
	static const char *const forms[][2] = {
		{"native int", "nint"},
		{"native uint", "nuint"},
		{"int", "nint"},
		{"unsigned int", "nuint"},
		{"unsigned int8", "byte"},
		{"wchar", "char"},
		{"unsigned int16", "ushort"},
		{"unsigned int32", "uint"},
		{"unsigned int64", "ulong"},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t len = strlen(forms[i][0]);

		if (!follows(text, at, forms[i][0]) ||
		    (at + len < text.len && is_word(text.data[at + len])))
			continue;
		tapir_str__adds(out, forms[i][1]);
		return len;
	}
	return 0;
}

/* A bracket after a type is an array's. */
static size_t add_array(struct tapir_str *out, struct tapir_sv text, size_t at)
{
	size_t close = text.data[at] == '[' ? closing(text, at, '[', ']') : text.len;

	if (close == text.len)
		return 0;
	add_rank(out, part_of_name(text, at + 1, close));
	return close + 1 - at;
}

static void add_params(struct tapir_str *out, struct tapir_sv text, const struct args *args)
{
	bool is_start = true; /* of a type */

	for (size_t at = 0, len; at < text.len; at += len) {
		size_t end = at;

		len = noise(text, at, is_start);
		if (len)
			continue;
		len = is_start ? add_number(out, text, at) : add_array(out, text, at);
		while (!len && end < text.len && is_word(text.data[end]))
			end++;
		if (!len && end > at) {
			add_word(out, part_of_name(text, at, end), args);
			len = end - at;
		}
		if (len) {
			is_start = false;
			continue;
		}
		len = 1;
		is_start = strchr(",(<", text.data[at]);
		tapir_str__addc(out, text.data[at]);
		if (text.data[at] == ',')
			tapir_str__addc(out, ' ');
	}
}

/* ---- what compilers make ----------------------------------------------------------------------- */

/* "<X>rest": what is made for X. False: it is not. */
static bool open_made(struct tapir_sv name, struct tapir_sv *made_for, struct tapir_sv *rest)
{
	size_t close = name.len && name.data[0] == '<' ? closing(name, 0, '<', '>') : name.len;

	if (close == name.len)
		return false;
	*made_for = part_of_name(name, 1, close);
	*rest = part_of_name(name, close + 1, name.len);
	return true;
}

/* A method's name: of a lambda or local function as said above. scope: "8_0" of its closure. */
static void add_method(struct tapir_str *out, struct tapir_sv name, struct tapir_sv scope)
{
	struct tapir_sv made_for, rest;
	size_t bar;

	if (!open_made(name, &made_for, &rest) || !made_for.len) {
		add_sv(out, name);
		return;
	}
	/*
	 * The compiler of C# names what it makes <MADE_FOR>KIND__NUMBER (Roslyn,
	 * GeneratedNameKind): b__ is a lambda, g__NAME|NUMBER a local function, and <Main>$ the
	 * main method of top-level statements.
	 */
	if (tapir_sv__is(rest, "$")) {
		add_sv(out, made_for);
	} else if (tapir_sv__starts_with(rest, "b__")) {
		add_sv(out, made_for);
		tapir_str__adds(out, " (lambda ");
		add_sv(out, scope);
		tapir_str__adds(out, scope.len ? "." : "");
		add_sv(out, part_of_name(rest, 3, rest.len));
		tapir_str__addc(out, ')');
	} else if (tapir_sv__starts_with(rest, "g__")) {
		bar = find_char(rest, '|', 0);
		add_sv(out, made_for);
		tapir_str__addc(out, '.');
		add_sv(out, part_of_name(rest, 3, bar));
		tapir_str__adds(out, " (local)");
	} else {
		add_sv(out, name);
	}
}

/* The class of a closure, which means nothing to a reader; *scope: "8_0", or nothing. */
static bool is_closure(struct tapir_sv nest, struct tapir_sv *scope)
{
	static const char display[] = "<>c__DisplayClass";
	size_t tick = find_char(nest, '`', 0);

	nest = part_of_name(nest, 0, tick);
	*scope = tapir_sv__starts_with(nest, display)
			 ? part_of_name(nest, sizeof(display) - 1, nest.len)
			 : part_of_name(nest, 0, 0);
	return scope->len || tapir_sv__is(nest, "<>c");
}

struct nests {
	struct tapir_sv at[NESTS_MAX];
	unsigned cnt;
};

static bool split_nests(struct tapir_sv base, struct nests *nests)
{
	nests->cnt = 0;
	for (size_t at = 0, end; at <= base.len; at = end + 1) {
		end = find_char(base, '+', at);
		if (nests->cnt == NESTS_MAX)
			return false;
		nests->at[nests->cnt++] = part_of_name(base, at, end);
	}
	return true;
}

/* A state machine's step: *name becomes that of the method it was compiled from. */
static bool is_step(const struct tapir_sv *last, struct tapir_sv *name)
{
	struct tapir_sv made_for, rest;

	if (!tapir_sv__is(*name, "MoveNext") || !open_made(*last, &made_for, &rest) ||
	    !made_for.len || !tapir_sv__starts_with(rest, "d"))
		return false;
	*name = made_for;
	return true;
}

static unsigned arity_of(struct tapir_sv nest)
{
	size_t tick = find_last(nest, '`');

	return tick + 1 < nest.len && isdigit((unsigned char)nest.data[tick + 1])
		       ? (unsigned)(nest.data[tick + 1] - '0')
		       : 0;
}

bool tapir_dotnet_name__add(struct tapir_str *out, struct tapir_sv raw, struct tapir_sv *tier)
{
	struct parts p;
	struct args args;
	struct nests nests;
	struct tapir_sv suffix, name, scope = {};
	unsigned taken = 0, own_arity = 0;
	bool steps;

	if (!split_name(raw, &p) || !split_nests(take_args(p.type, &args, &suffix), &nests))
		return false;
	name = p.method;
	/*
	 * An async method or an iterator runs as MoveNext() of a class that the compiler nests in
	 * the method's own: what is shown is the method that was written. Such a class stands
	 * inside that of a closure, so it goes first.
	 */
	steps = nests.cnt > 1 && is_step(&nests.at[nests.cnt - 1], &name);
	if (steps)
		own_arity = arity_of(nests.at[--nests.cnt]);
	if (nests.cnt > 1 && is_closure(nests.at[nests.cnt - 1], &scope))
		nests.cnt--;
	for (unsigned i = 0; i < nests.cnt; i++) {
		add_nest(out, nests.at[i], &args, &taken, 0);
		tapir_str__addc(out, '.');
	}
	add_method(out, name, scope);
	if (steps) {
		add_args(out, &args, taken, taken + own_arity, 0);
		tapir_str__adds(out, p.gives_bool ? " (iterator)" : " (async)");
	} else {
		tapir_str__addc(out, '(');
		add_params(out, p.params, &args);
		tapir_str__addc(out, ')');
	}
	*tier = p.tier;
	return true;
}

bool tapir_dotnet_name__are_one(struct tapir_sv raw, struct tapir_sv other)
{
	struct tapir_str a = {}, b = {};
	struct tapir_sv a_tier = {}, b_tier = {};
	bool are = tapir_dotnet_name__add(&a, raw, &a_tier) &&
		   tapir_dotnet_name__add(&b, other, &b_tier) && !a.failed && !b.failed &&
		   !tapir_sv__compare(a_tier, b_tier) && a.len == b.len &&
		   !memcmp(a.data, b.data, a.len);

	tapir_str__fini(&a);
	tapir_str__fini(&b);
	return are;
}
