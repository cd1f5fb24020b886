// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Figures of two recordings as the operands of an expression. A row that neither recording has
 * fails the comparison: a misspelt name would otherwise pass for ever.
 */
#include "output/render/diff_fail_on.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/diag.h"

struct facts {
	const struct tapir_diff *diff;
	struct tapir_vec(uint64_t) values; /* by an operand's id */
	struct tapir_str text;		   /* 'p99("GET /") is 2.1x (10 ms -> 21 ms)' */
};

static bool find_figure(const char *name, size_t len, enum tapir_diff_figure *out)
{
	for (unsigned i = 0; i < TAPIR_DIFF_FIGURE_CNT; i++) {
		const char *known = tapir_diff_figure__name((enum tapir_diff_figure)i);

		if (strlen(known) != len || memcmp(known, name, len) != 0)
			continue;
		*out = (enum tapir_diff_figure)i;
		return true;
	}
	return false;
}

static void add_fact(struct facts *f, const struct tapir_diff_change *c, bool is_ratio,
		     double value)
{
	struct tapir_str *out = &f->text;

	tapir_str__addf(out, "%s%s(\"", out->len ? ", " : "", tapir_diff_figure__name(c->figure));
	tapir_str__add_printable(out, c->name, strlen(c->name));
	tapir_str__adds(out, "\") is ");
	if (!is_ratio) {
		tapir_diff_change__add_value(c, value, f->diff->base, out);
		return;
	}
	if (isinf(value))
		tapir_str__adds(out, "new");
	else
		tapir_str__addf(out, "%.3gx", value);
	tapir_str__adds(out, " (");
	tapir_diff_change__add_value(c, c->value[0], f->diff->base, out);
	tapir_str__adds(out, " -> ");
	tapir_diff_change__add_value(c, c->value[1], f->diff->base, out);
	tapir_str__adds(out, ")");
}

/* Returns NULL, or why there is no such number: the text ends the message about the condition. */
static const char *figure(void *ctx, const char *name, size_t len, const char *row, bool is_ratio,
			  struct tapir_question_operand *out)
{
	struct facts *f = ctx;
	struct tapir_diff_change c;
	enum tapir_diff_figure which;
	double value;
	bool is_time;

	if (!find_figure(name, len, &which))
		return "the figures are count, sum, mean, p50, p90, p99 and max";
	if (!tapir_diff__find(f->diff, which, row, &c))
		return "neither recording has that name: 'tapir diff --all --top 0' lists them";
	if (!c.is_known[1] || (is_ratio && !c.is_known[0]))
		return c.is_known[1] ? "this figure is not known of the first recording: it has "
				       "none or too few of it, or did not record it"
				     : "this figure is not known of the second recording: it has "
				       "none or too few of it, or did not record it";
	value = is_ratio ? tapir_diff_change__ratio(&c) : c.value[1];
	is_time = !is_ratio && tapir_diff_change__is_time(&c);
	*out = (struct tapir_question_operand){.class = TAPIR_CLASS_FLOAT,
					       .unit_ns = is_time,
					       .wants_unit = is_time,
					       .id = (uint32_t)f->values.cnt};
	add_fact(f, &c, is_ratio, value);
	return tapir_vec__push(&f->values, tapir_program__float_bits(value)) ? NULL
									     : "out of memory";
}

static bool find_name(void *ctx, const char *name, size_t len, bool is_field,
		      struct tapir_question_operand *out)
{
	(void)ctx, (void)name, (void)len, (void)is_field, (void)out;
	return false;
}

static bool no_enumerator(void *ctx, const struct tapir_question_operand *of, const char *name,
			  size_t len, uint64_t *out)
{
	(void)ctx, (void)of, (void)name, (void)len, (void)out;
	return false;
}

static void list_figures(void *ctx, struct tapir_str *out)
{
	(void)ctx;
	tapir_str__adds(out, "count(\"NAME\"), sum, mean, p50, p90, p99 and max of a row");
}

int tapir_diff_fail_on__parse(const char *text, struct tapir_expression **out)
{
	return tapir_expression__parse("--fail-on", text, out);
}

int tapir_diff_fail_on__evaluate(const struct tapir_expression *e, const struct tapir_diff *diff)
{
	struct facts facts = {.diff = diff};
	const struct tapir_scope scope = {.subject = "a comparison",
					  .find = find_name,
					  .enumerator = no_enumerator,
					  .list = list_figures,
					  .figure = figure,
					  .ctx = &facts};
	struct tapir_question_slot slots[TAPIR_QUESTION_SLOTS] = {};
	struct tapir_program program;
	bool failed = tapir_expression__condition(e, &scope, &program);

	if (!failed) {
		for (unsigned i = 0; i < program.slot_cnt; i++)
			slots[i].number = facts.values.data[program.slots[i].id];
		failed = tapir_program__decide(&program, slots) == TAPIR_QUESTION_ACCEPT;
		if (failed)
			tapir_diag__add("failed on %s: %s", tapir_expression__text(e),
					facts.text.data ? facts.text.data : "");
	}
	tapir_vec__fini(&facts.values);
	tapir_str__fini(&facts.text);
	return failed ? -ERANGE : 0;
}
