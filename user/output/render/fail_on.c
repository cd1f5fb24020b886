// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Conditions of --fail-on: how they are written, and whether a recording meets them. A name that no
 * event of the recording has, and that is not known, is a mistake: as a condition it would never
 * fail.
 */
#include "output/render/fail_on.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/duration.h"
#include "base/log.h"
#include "spec/runtime_db/lore.h"
#include "output/render/human_units.h"

#define PAUSE "gc:pause" /* what a collector stops the program for, whatever it calls that */

/* ---- how they are written -------------------------------------------------------------------- */

static bool is_word(const char *text, size_t len, const char *word)
{
	return tapir_sv__is((struct tapir_sv){text, len}, word);
}

static int bad(struct tapir_str *out, const struct tapir_fail_condition *c, const char *why)
{
	tapir_str__addf(out, "'%.*s' %s", (int)c->len, c->text, why);
	return -EINVAL;
}

static int parse_limited(struct tapir_fail_condition *c, struct tapir_str *why)
{
	const char *value = c->text + c->name_len + 1;
	size_t value_len = c->len - c->name_len - 1;
	char word[32], *end;

	snprintf(word, sizeof(word), "%.*s", (int)value_len, value);
	if (tapir_finding_kind__find(c->text, c->name_len, &c->kind)) {
		c->subject = TAPIR_FAIL_KIND;
		c->above = strtod(word, &end);
		if (value_len && value_len < sizeof(word) && !*end && c->above >= 0)
			return 0;
		return bad(why, c, "compares a finding: a number, as in exceptions>100");
	}
	c->subject = TAPIR_FAIL_INTERVAL;
	if (c->name_len && value_len < sizeof(word) && tapir_duration__parse(word, &c->above_ns))
		return 0;
	return bad(why, c, "compares an interval: a time, as in gc:pause>50ms");
}

static int parse_one(struct tapir_fail_condition *c, struct tapir_str *why)
{
	if (c->name_len < c->len)
		return parse_limited(c, why);
	if (is_word(c->text, c->len, "lost"))
		c->subject = TAPIR_FAIL_LOST;
	else if (is_word(c->text, c->len, "gap"))
		c->subject = TAPIR_FAIL_GAP;
	else if (is_word(c->text, c->len, "finding"))
		c->subject = TAPIR_FAIL_FINDING;
	else if (tapir_finding_kind__find(c->text, c->len, &c->kind))
		c->subject = TAPIR_FAIL_KIND;
	else
		return bad(why, c,
			   "is not a condition: lost, gap, finding, gc:pause>50ms, exceptions>100");
	return 0;
}

/* No other form of condition has these characters, or blanks around its '>'. */
static bool is_expression(const struct tapir_fail_condition *c)
{
	static const char *const marks[] = {
		"\"", "&&", "||", "<", ">=", "==", "!=", "!", "(", " >", "> ", " in ", "~"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (memmem(c->text, c->len, marks[i], strlen(marks[i])))
			return true;
	return false;
}

static int parse_expression(struct tapir_fail_condition *c)
{
	c->subject = TAPIR_FAIL_EXPRESSION;
	c->copy = strndup(c->text, c->len);
	return c->copy ? tapir_expression__parse("--fail-on", c->copy, &c->expression) : -ENOMEM;
}

static void fini_condition(struct tapir_fail_condition *c)
{
	tapir_expression__free(c->expression);
	free(c->copy);
}

int tapir_fail_on__parse(const char *text, struct tapir_fail_conditions *out, struct tapir_str *why)
{
	for (const char *p = text;; p++) {
		struct tapir_fail_condition c = {};
		int err;

		p += strspn(p, " ");
		c.text = p;
		c.len = tapir_expression__part_len(p, ',');
		c.name_len = strcspn(p, ">,");
		err = is_expression(&c) ? parse_expression(&c) : parse_one(&c, why);
		if (!err && !tapir_vec__push(&out->rows, c))
			err = -ENOMEM;
		if (err) {
			fini_condition(&c);
			return err;
		}
		p += c.len;
		if (!*p)
			return 0;
	}
}

/* ---- whether they hold ----------------------------------------------------------------------- */

static void fail_text(const struct tapir_fail_condition *c, const char *fact)
{
	tapir_diag__add("failed on %.*s: %s", (int)c->len, c->text, fact);
}

static bool evaluate_lost(const struct tapir_fail_condition *c, const struct tapir_report_view *v)
{
	uint64_t cnt = tapir_report__lost(v) + tapir_report__hidden(v);
	char fact[64];

	if (cnt) {
		snprintf(fact, sizeof(fact), "%" PRIu64 " record%s lost", cnt,
			 cnt == 1 ? " was" : "s were");
		fail_text(c, fact);
	} else if (v->stats->is_truncated || tapir_reader_stats__is_damaged(v->stats)) {
		fail_text(c, "the file is cut or damaged");
		cnt = 1;
	}
	return cnt;
}

static bool evaluate_gap(const struct tapir_fail_condition *c, const struct tapir_report_view *v)
{
	char fact[64];

	snprintf(fact, sizeof(fact), "%" PRIu64 " gap%s", v->summary->gap_cnt,
		 v->summary->gap_cnt == 1 ? "" : "s");
	if (v->summary->gap_cnt)
		fail_text(c, fact);
	return v->summary->gap_cnt;
}

static bool evaluate_findings(const struct tapir_fail_condition *c,
			      const struct tapir_report_view *v)
{
	const struct tapir_finding *finding;
	bool failed = false;

	tapir_vec_for_each (finding, &v->findings->rows) {
		/* Neither is a fault of the program, unless it is requested. */
		if (c->subject == TAPIR_FAIL_FINDING
			    ? finding->kind == TAPIR_FINDING_IDLE ||
				      finding->kind == TAPIR_FINDING_INJECTED_TRACEPARENT
			    : finding->kind != c->kind)
			continue;
		if (c->name_len < c->len && finding->magnitude <= c->above)
			continue;
		fail_text(c, finding->text);
		failed = true;
	}
	return failed;
}

static bool is_meant(const struct tapir_fail_condition *c, const struct tapir_interval_kind *kind)
{
	char *name;
	bool is_it;

	if (is_word(c->text, c->name_len, PAUSE) && kind->cause == TAPIR_CAUSE_GC)
		return true;
	name = strndup(c->text, c->name_len);
	is_it = name && tapir_interval_kind__is_called(kind, name);
	free(name);
	return is_it;
}

static bool is_known_interval(const struct tapir_fail_condition *c)
{
	struct tapir_interval_kind known;
	const struct tapir_pair *p;
	bool is_known = is_word(c->text, c->name_len, PAUSE);

	for (size_t i = 0; !is_known && (p = tapir_lore__pair(i)); i++) {
		known = (struct tapir_interval_kind){.provider = (char *)p->provider,
						     .name = (char *)p->kind};
		is_known = is_meant(c, &known);
	}
	return is_known;
}

/* A name that is misspelled never fails otherwise. */
static bool evaluate_unseen(const struct tapir_fail_condition *c)
{
	bool is_known = is_known_interval(c);

	if (is_known)
		tapir_warn("--fail-on %.*s: the recording has no such interval", (int)c->len,
			   c->text);
	else
		fail_text(c, "no event of this recording begins an interval of that name");
	return !is_known;
}

static bool evaluate_interval(const struct tapir_fail_condition *c,
			      const struct tapir_report_view *v)
{
	const struct tapir_interval_kind *kind;
	struct tapir_str fact = {};
	bool failed = false, is_seen = false;

	tapir_vec_for_each (kind, &v->pairs->kinds) {
		if (!is_meant(c, kind))
			continue;
		is_seen = true;
		if (!kind->cnt || kind->worst_ns <= c->above_ns)
			continue;
		fact.len = 0;
		tapir_str__addf(&fact, "the longest of %" PRIu64 " took ", kind->cnt);
		tapir_human__add_duration(&fact, kind->worst_ns);
		fail_text(c, fact.data ? fact.data : "");
		failed = true;
	}
	tapir_str__fini(&fact);
	return is_seen ? failed : evaluate_unseen(c);
}

/* ---- expressions ------------------------------------------------------------------------------ */

/* The values of an expression's names in this recording, as it is bound. */
struct facts {
	const struct tapir_report_view *view;
	struct tapir_vec(uint64_t) values; /* by an operand's id */
	struct tapir_str text;		   /* "lost is 3, gc:pause is 80.0 ms" */
};

static bool add_fact(struct facts *f, const char *name, size_t len, uint64_t value,
		     struct tapir_question_operand *out)
{
	tapir_str__adds(&f->text, f->text.len ? ", " : "");
	tapir_str__add_printable(&f->text, name, len);
	tapir_str__adds(&f->text, " is ");
	if (out->unit_ns)
		tapir_human__add_duration(&f->text, value);
	else if (out->class == TAPIR_CLASS_FLOAT)
		tapir_str__addf(&f->text, "%g", tapir_program__float_of(value));
	else
		tapir_str__addu(&f->text, value);
	out->id = (uint32_t)f->values.cnt;
	return tapir_vec__push(&f->values, value);
}

static uint64_t worst_magnitude(const struct tapir_report_view *v, unsigned kind)
{
	const struct tapir_finding *finding;
	double worst = 0;

	tapir_vec_for_each (finding, &v->findings->rows)
		if (finding->kind == kind && finding->magnitude > worst)
			worst = finding->magnitude;
	return tapir_program__float_bits(worst);
}

static uint64_t finding_cnt(const struct tapir_report_view *v)
{
	const struct tapir_finding *finding;
	uint64_t cnt = 0;

	tapir_vec_for_each (finding, &v->findings->rows)
		cnt += finding->kind != TAPIR_FINDING_IDLE &&
		       finding->kind != TAPIR_FINDING_INJECTED_TRACEPARENT;
	return cnt;
}

static bool find_interval(struct facts *f, const char *name, size_t len, uint64_t *worst_ns)
{
	const struct tapir_fail_condition c = {.text = name, .len = len, .name_len = len};
	const struct tapir_interval_kind *kind;
	bool is_seen = false;

	*worst_ns = 0;
	tapir_vec_for_each (kind, &f->view->pairs->kinds) {
		if (!is_meant(&c, kind))
			continue;
		is_seen = true;
		if (kind->cnt && kind->worst_ns > *worst_ns)
			*worst_ns = kind->worst_ns;
	}
	return is_seen || is_known_interval(&c);
}

static bool find_fact(void *ctx, const char *name, size_t len, bool is_field,
		      struct tapir_question_operand *out)
{
	struct facts *f = ctx;
	const struct tapir_report_view *v = f->view;
	uint64_t worst_ns;
	unsigned kind;

	(void)is_field;
	*out = (struct tapir_question_operand){.class = TAPIR_CLASS_UINT};
	if (is_word(name, len, "lost"))
		return add_fact(f, name, len, tapir_report__lost(v) + tapir_report__hidden(v), out);
	if (is_word(name, len, "gap"))
		return add_fact(f, name, len, v->summary->gap_cnt, out);
	if (is_word(name, len, "finding"))
		return add_fact(f, name, len, finding_cnt(v), out);
	if (tapir_finding_kind__find(name, len, &kind)) {
		out->class = TAPIR_CLASS_FLOAT;
		return add_fact(f, name, len, worst_magnitude(v, kind), out);
	}
	if (!find_interval(f, name, len, &worst_ns))
		return false;
	out->unit_ns = 1;
	out->wants_unit = true;
	return add_fact(f, name, len, worst_ns, out);
}

static void list_facts(void *ctx, struct tapir_str *out)
{
	const struct facts *f = ctx;
	const struct tapir_interval_kind *kind;

	tapir_str__adds(out, "lost, gap, finding, kinds of findings, \"" PAUSE "\"");
	tapir_vec_for_each (kind, &f->view->pairs->kinds) {
		tapir_str__adds(out, ", \"");
		tapir_str__add_printable(out, kind->provider, strlen(kind->provider));
		tapir_str__addc(out, ':');
		tapir_str__add_printable(out, kind->name, strlen(kind->name));
		tapir_str__addc(out, '"');
	}
}

static bool no_enumerator(void *ctx, const struct tapir_question_operand *of, const char *name,
			  size_t len, uint64_t *out)
{
	(void)ctx, (void)of, (void)name, (void)len, (void)out;
	return false;
}

/*
 * An expression that does not fit the recording is misspelled: it fails, with lines that say why.
 */
static bool evaluate_expression(const struct tapir_fail_condition *c,
				const struct tapir_report_view *v)
{
	struct facts facts = {.view = v};
	const struct tapir_scope scope = {.subject = "a recording",
					  .find = find_fact,
					  .enumerator = no_enumerator,
					  .list = list_facts,
					  .ctx = &facts};
	struct tapir_question_slot slots[TAPIR_QUESTION_SLOTS] = {};
	struct tapir_program program;
	bool failed = tapir_expression__condition(c->expression, &scope, &program);

	if (!failed) {
		for (unsigned i = 0; i < program.slot_cnt; i++)
			slots[i].number = facts.values.data[program.slots[i].id];
		failed = tapir_program__decide(&program, slots) == TAPIR_QUESTION_ACCEPT;
		if (failed)
			fail_text(c, facts.text.data ? facts.text.data : "");
	}
	tapir_vec__fini(&facts.values);
	tapir_str__fini(&facts.text);
	return failed;
}

static bool evaluate_one(const struct tapir_fail_condition *c, const struct tapir_report_view *v)
{
	switch (c->subject) {
	case TAPIR_FAIL_LOST:
		return evaluate_lost(c, v);
	case TAPIR_FAIL_GAP:
		return evaluate_gap(c, v);
	case TAPIR_FAIL_FINDING:
	case TAPIR_FAIL_KIND:
		return evaluate_findings(c, v);
	case TAPIR_FAIL_INTERVAL:
		return evaluate_interval(c, v);
	case TAPIR_FAIL_EXPRESSION:
		return evaluate_expression(c, v);
	}
	return false;
}

int tapir_fail_on__evaluate(const struct tapir_fail_conditions *conditions,
			    const struct tapir_report_view *view)
{
	const struct tapir_fail_condition *c;
	bool failed = false;

	tapir_vec_for_each (c, &conditions->rows)
		failed |= evaluate_one(c, view);
	return failed ? -ERANGE : 0;
}

void tapir_fail_on__fini(struct tapir_fail_conditions *conditions)
{
	struct tapir_fail_condition *c;

	tapir_vec_for_each (c, &conditions->rows)
		fini_condition(c);
	tapir_vec__fini(&conditions->rows);
}
