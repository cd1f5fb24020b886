// SPDX-License-Identifier: GPL-2.0-or-later
/* Expressions: what they decide of an event whose fields are known, and what is said of mistakes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "spec/expression.h"

#define CNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct field {
	const char *name;
	uint8_t class;
	uint64_t unit_ns;
	uint64_t number;
	const char *text;
	uint32_t state;
	double real;
} fields[] = {
	{"id", TAPIR_CLASS_UINT, 0, 7, NULL, 0, 0},
	{"zero", TAPIR_CLASS_UINT, 0, 0, NULL, 0, 0},
	{"huge", TAPIR_CLASS_UINT, 0, UINT64_MAX, NULL, 0, 0},
	{"temp", TAPIR_CLASS_INT, 0, (uint64_t)-5, NULL, 0, 0},
	{"flags", TAPIR_CLASS_UINT, 0, 0x14, NULL, 0, 0},
	{"took", TAPIR_CLASS_UINT, 1, 6000000, NULL, 0, 0},
	{"wait_ms", TAPIR_CLASS_UINT, 1000000, 3, NULL, 0, 0},
	{"price", TAPIR_CLASS_FLOAT, 0, 0, NULL, 0, 2.5},
	{"debt", TAPIR_CLASS_FLOAT, 0, 0, NULL, 0, -0.5},
	{"path", TAPIR_CLASS_TEXT, 0, 0, "/cart/42", 0, 0},
	{"empty", TAPIR_CLASS_TEXT, 0, 0, "", 0, 0},
	{"null", TAPIR_CLASS_TEXT, 0, 0, NULL, TAPIR_STATE_NULL, 0},
	{"lost", TAPIR_CLASS_TEXT, 0, 0, NULL, TAPIR_STATE_ABSENT, 0},
	{"gone", TAPIR_CLASS_INT, 0, 0, NULL, TAPIR_STATE_ABSENT, 0},
	{"longish", TAPIR_CLASS_TEXT, 0, 0, "abcdef", TAPIR_STATE_TRUNCATED, 0},
	{"odd name", TAPIR_CLASS_UINT, 0, 3, NULL, 0, 0},
	{"err", TAPIR_CLASS_INT, 0, 2, NULL, 0, 0},
	{"reason", TAPIR_CLASS_UINT, 0, 1, NULL, 0, 0},
	{"stack", TAPIR_CLASS_NONE, 0, 0, NULL, 0, 0},
	{"begin.id", TAPIR_CLASS_UINT, 0, 9, NULL, 0, 0},
};

static bool find(void *ctx, const char *name, size_t len, bool is_field,
		 struct tapir_question_operand *out)
{
	(void)ctx;
	(void)is_field;
	for (uint32_t i = 0; i < CNT(fields); i++)
		if (strlen(fields[i].name) == len && !memcmp(fields[i].name, name, len)) {
			out->class = fields[i].class;
			out->unit_ns = fields[i].unit_ns;
			out->wants_unit = !strcmp(fields[i].name, "took");
			out->id = i;
			return true;
		}
	return false;
}

static bool enumerator(void *ctx, const struct tapir_question_operand *of, const char *name,
		       size_t len, uint64_t *out)
{
	(void)ctx;
	if (strcmp(fields[of->id].name, "reason") || len != 7 || memcmp(name, "Induced", 7))
		return false;
	*out = 1;
	return true;
}

static void list(void *ctx, struct tapir_str *out)
{
	(void)ctx;
	tapir_str__adds(out, "id, path (text)");
}

static const struct tapir_scope scope = {
	.subject = "shop:order", .find = find, .enumerator = enumerator, .list = list};

static void fill(const struct tapir_program *p, struct tapir_question_slot *slots)
{
	for (unsigned i = 0; i < p->slot_cnt; i++) {
		const struct field *f = &fields[p->slots[i].id];

		slots[i] = (struct tapir_question_slot){.number = f->number, .state = f->state};
		if (f->class == TAPIR_CLASS_FLOAT)
			slots[i].number = tapir_program__float_bits(f->real);
		if (f->text) {
			slots[i].number = (uintptr_t)f->text;
			slots[i].len = (uint32_t)strlen(f->text);
		}
	}
}

static int decide(const char *text)
{
	struct tapir_question_slot slots[TAPIR_QUESTION_SLOTS] = {};
	struct tapir_expression *e = NULL;
	struct tapir_program p;
	int result;

	tapir_diag__clear();
	result = tapir_expression__parse("--where", text, &e);
	if (!result)
		result = tapir_expression__condition(e, &scope, &p);
	if (result)
		fail_msg("'%s': %s", text, tapir_diag__line(0));
	fill(&p, slots);
	result = tapir_program__decide(&p, slots);
	tapir_expression__free(e);
	return result;
}

static const struct {
	const char *text;
	int result;
} decisions[] = {
	{"id == 7", 1},
	{"id==7", 1},
	{"temp!=-6", 1},
	{"id != 7", 0},
	{"id", 1},
	{"zero", 0},
	{"!zero", 1},
	{"!id", 0},
	{"!(id == 7)", 0},
	{"id > 6 && id >= 7 && id < 8 && id <= 7", 1},
	{"7 < id || 7 > id", 0},
	{"6 < id", 1},
	{"7 == id && 0x7 == id", 1},
	{"id == 1 || id == 7 && zero", 0},
	{"(id == 7 || id == 1) && !zero", 1},
	{"id == 7 || id == 1 && zero", 1},
	{"!(id == 1 || zero == 1) && !(id == 7 && zero)", 1},
	{"id in (1, 2, 7)", 1},
	{"id in (1, 2, 3)", 0},
	{"!(id in (1, 7))", 0},
	{"id + 1 in (reason, 8)", 1},
	{"id + 1 in (zero, id, 8)", 1},
	{"id + 1 in (id, zero, 1)", 0},
	{"took + 1ms in (7000001ns, 7ms)", 1},
	{"wait_ms + 1 in (1500us, 2500us, 4ms)", 1},
	{"path in (\"/a\", \"/cart/42\")", 1},
	{"flags & 4", 1},
	{"flags & 3", 0},
	{"(flags & 0x14) == 0x14", 1},
	{"(flags & 3) == 0", 1},
	{"(flags | 1) == 0x15 && (flags ^ 0x14) == 0", 1},
	{"flags >> 2 == 5 && flags << 1 == 40", 1},
	{"id * 2 + 1 == 15", 1},
	{"id - 8 == -1", 1},
	{"id - 8 < 0", 1},
	{"temp < 0 && temp == -5 && temp > -6", 1},
	{"temp / 2 == -2 && temp % 2 == -1", 1},
	{"-temp == 5", 1},
	{"temp < id", 1},
	{"temp > huge", 0},
	{"huge > temp", 1},
	{"temp == huge", 0},
	{"temp != huge", 1},
	{"huge > -1", 1},
	{"huge == -1", 0},
	{"huge != -1", 1},
	{"temp < 0xffffffffffffffff", 1},
	{"temp == 18446744073709551611", 0},
	{"huge == 18446744073709551615", 1},
	{"id == temp + 12", 1},
	{"10k == 10000 * id / 7", 1},
	{"id < 1k && id < 1Ki && id < 4MB && id * 1024 == 7Ki", 1},
	{"took > 5ms", 1},
	{"took == 6ms && took >= 6000us && took < 6001us", 1},
	{"took > 1.5ms && took < 0.1s", 1},
	{"took > 0", 1},
	{"wait_ms == 3ms && wait_ms == 3", 1},
	{"wait_ms > 2500us && wait_ms < 3500us", 1},
	{"took / 2 == 3ms", 1},
	{"took - 2ms == 4ms", 1},
	{"price == 2.5 && price > 2 && price < 3 && price != 2", 1},
	{"debt < 0 && debt > -1 && debt == -0.5", 1},
	{"path == \"/cart/42\"", 1},
	{"path != \"/cart/42\"", 0},
	{"path == \"/cart/\"", 0},
	{"path ~ \"/cart*\"", 1},
	{"path ~ \"/cart\"", 0},
	{"path !~ \"*4[12]\"", 0},
	{"path ~ \"/c?rt/*\" && empty == \"\"", 1},
	{"empty ~ \"*\" && empty !~ \"?*\"", 1},
	{"\"odd name\" == 3", 1},
	{".\"odd name\" == 3 && .id == 7", 1},
	{"begin.id == 9", 1},
	{"err == ENOENT", 1},
	{"err == EPERM || err == SIGINT", 1},
	{"reason == Induced", 1},
	{"null == \"\"", 0},
	{"null != \"\"", 1},
	{"null == NULL && empty != NULL", 1},
	{"longish == CUT && path != CUT", 1},
	{"lost == UNREADABLE && gone == UNREADABLE && id != UNREADABLE", 1},
	{"longish == \"abc\"", 0},
	{"longish == \"abcdef\"", 0},
	{"longish ~ \"abc*\"", 1},
	{"str(path, 3) == \"/cart/42\"", 1},
	{"bucket(id, 5) == 5", 1},
	/* what is not known */
	{"lost == \"x\"", TAPIR_QUESTION_UNDEFINED},
	{"lost ~ \"*\"", TAPIR_QUESTION_UNDEFINED},
	{"gone > 1", TAPIR_QUESTION_UNDEFINED},
	{"gone + 1 > 1", TAPIR_QUESTION_UNDEFINED},
	{"longish == \"abcdefg\"", TAPIR_QUESTION_UNDEFINED},
	{"id / zero == 1", TAPIR_QUESTION_UNDEFINED},
	{"id % zero == 1", TAPIR_QUESTION_UNDEFINED},
	/* and is not asked for */
	{"zero && id / zero == 1", 0},
	{"id || lost == \"x\"", 1},
};

static void conditions_are_decided_as_in_c(void **state)
{
	(void)state;
	for (size_t i = 0; i < CNT(decisions); i++)
		if (decide(decisions[i].text) != decisions[i].result)
			fail_msg("'%s' is %d, not %d", decisions[i].text, decide(decisions[i].text),
				 decisions[i].result);
}

/* Each text with a part of its message, and the caret under the mistake; NULL: anywhere. */
static const struct {
	const char *text, *message, *caret;
} mistakes[] = {
	{"centz > 5", "--where: shop:order has no field 'centz'", "  ^~~~~"},
	{"id == 1 && centz > 5", "has no field 'centz'", "             ^~~~~"},
	{"id = 5", "'=' does not compare", "     ^"},
	{"flags & 3 == 1", "parentheses are required", "          ^~~~~~"},
	{"took > 5", "'took' is a time: write it with a unit, such as 5ms", "         ^"},
	{"id > 5ms", "'id' has no unit", "       ^~~"},
	{"id > 5xs", "'xs' is no unit", "        ^~"},
	{"path == 5", "'path' is a text: compare it with", "  ^~~~~~~~~"},
	{"id == \"5\"", "'id' is a number, and compared with a text", "  ^~~~~~~~~"},
	{"id ~ \"5\"", "'id' is not a text", "  ^~~~~~~~"},
	{"path < \"5\"", "texts compare by ==", "  ^~~~~~~~~~"},
	{"path ~ 5", "a \"GLOB\" is required", "         ^"},
	{"path == empty", "two texts of an event", "  ^~~~~~~~~~~~~"},
	{"path", "a text is not a number", "  ^~~~"},
	{"price + 1 > 2", "arithmetic with floating-point numbers", "  ^~~~~"},
	{"id == 2.5", "'id' is a whole number", "        ^~~"},
	{"id / 0 == 1", "divides by zero", "       ^"},
	{"5 == 5", "both sides are constants", "  ^~~~~~"},
	{"5", "a constant is not a condition", "  ^"},
	{"(id == 5", "')' is required", "          ^"},
	{"id == 5 id", "an operator is required", "          ^"},
	{"id ==", "a field, a number or a \"text\" is required", "       ^"},
	{"id==!", "a field, a number or", "       ^"},
	{"path == \"a", "closing '\"'", "          ^"},
	{"stack == 1", "stack cannot be compared", "  ^~~~~"},
	{"len(path) > 3", "no function 'len'", "  ^~~"},
	{"p99(\"path\") > 3", "no function 'p99'", "  ^~~~~~~~~~~"},
	{"p99(\"path\" > 3", "')' is required", "             ^"},
	{"id > 1.2x", "a number with the unit x", "  ^~~~~~~~~"},
	{"id in 5", "'(' and values", "        ^"},
	{"id == NULL", "only a text can be NULL", "  ^~~~~~~~~~"},
	{"(id == 5) + 1 == 2", "a condition is not a number", "   ^~~~~~~"},
	{"99999999999999999999 == id", "too large", "  ^~~~~~~~~~~~~~~~~~~~"},
	{"", "an expression is required", "  ^"},
	{"path ~ \"?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\?\"",
	 "this GLOB has 32 elements", NULL},
};

static void mistakes_have_a_caret(void **state)
{
	(void)state;
	for (size_t i = 0; i < CNT(mistakes); i++) {
		struct tapir_expression *e = NULL;
		struct tapir_program p;

		tapir_diag__clear();
		if (!tapir_expression__parse("--where", mistakes[i].text, &e))
			assert_int_equal(tapir_expression__condition(e, &scope, &p), -EINVAL);
		else
			assert_null(e);
		assert_in_range(tapir_diag__cnt(), 3, 4);
		if (!strstr(tapir_diag__line(0), mistakes[i].message))
			fail_msg("'%s': '%s' is not in '%s'", mistakes[i].text, mistakes[i].message,
				 tapir_diag__line(0));
		assert_string_equal(tapir_diag__line(1) + 2, mistakes[i].text);
		if (mistakes[i].caret && strcmp(tapir_diag__line(2), mistakes[i].caret))
			fail_msg("'%s': the caret is '%s'", mistakes[i].text, tapir_diag__line(2));
		tapir_expression__free(e);
	}
	tapir_diag__clear();
}

static void fields_are_listed_when_a_name_is_unknown(void **state)
{
	struct tapir_expression *e = NULL;
	struct tapir_program p;

	(void)state;
	tapir_diag__clear();
	assert_int_equal(tapir_expression__parse("--by", "colour", &e), 0);
	assert_int_equal(tapir_expression__value(e, &scope, &p), -EINVAL);
	assert_string_equal(tapir_diag__line(0), "--by: shop:order has no field 'colour'");
	assert_string_equal(tapir_diag__line(3), "  it has id, path (text)");
	tapir_expression__free(e);
	tapir_diag__clear();
}

static char *repeated(const char *part, const char *between, unsigned cnt)
{
	struct tapir_str out = {};

	for (unsigned i = 0; i < cnt; i++)
		tapir_str__addf(&out, "%s%s", i ? between : "", part);
	return out.data;
}

static void bounds_are_told(void **state)
{
	static const struct {
		const char *part, *between;
		unsigned cnt;
		const char *message;
	} cases[] = {
		{"id == 1", "||", 33, "this takes 33 of 32"},
		{"(", "", 100, "nested more than"},
		{"!", "", 100, "nested more than"},
		{"id", "+", 300, "more than 511 parts"},
		{"id", "+", 20, "more than 16 steps"},
		{"x", "", 5000, "longer than 4096"},
		{"path == \"a\"", "||", 9, "more than 8 texts"},
	};

	(void)state;
	for (size_t i = 0; i < CNT(cases); i++) {
		char *text = repeated(cases[i].part, cases[i].between, cases[i].cnt);
		struct tapir_expression *e = NULL;
		struct tapir_program p;
		int err;

		tapir_diag__clear();
		err = tapir_expression__parse("--where", text, &e);
		if (!err)
			err = tapir_expression__condition(e, &scope, &p);
		assert_int_equal(err, -EINVAL);
		if (!strstr(tapir_diag__line(0), cases[i].message))
			fail_msg("'%s' is not in '%s'", cases[i].message, tapir_diag__line(0));
		tapir_expression__free(e);
		free(text);
	}
	tapir_diag__clear();
}

static void as_many_terms_as_there_may_be_are_decided(void **state)
{
	char *text = repeated("id == 1", "||", 31);
	struct tapir_str all = {};

	(void)state;
	tapir_str__addf(&all, "%s || id == 7", text);
	assert_int_equal(decide(all.data), 1);
	tapir_str__fini(&all);
	free(text);
}

static void floats_keep_their_order(void **state)
{
	static const double values[] = {-1e300, -2.5, -1e-300, 0.0, 1e-300, 2.5, 1e300};

	(void)state;
	assert_true(tapir_program__float_bits(-0.0) == tapir_program__float_bits(0.0));
	for (size_t i = 0; i < CNT(values); i++) {
		assert_true(tapir_program__float_of(tapir_program__float_bits(values[i])) ==
			    values[i]);
		if (i)
			assert_true(tapir_program__float_bits(values[i - 1]) <
				    tapir_program__float_bits(values[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_are_decided_as_in_c),
		cmocka_unit_test(mistakes_have_a_caret),
		cmocka_unit_test(fields_are_listed_when_a_name_is_unknown),
		cmocka_unit_test(bounds_are_told),
		cmocka_unit_test(as_many_terms_as_there_may_be_are_decided),
		cmocka_unit_test(floats_keep_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
