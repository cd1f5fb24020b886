// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Applies the table of rules to facts: derives what follows from the numbers of a fact, compares it
 * with the tables of kinds.h, and writes the sentence, whose figures are formatted here alone.
 */
#include "diagnose/rules.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "analyze/view.h"
#include "diagnose/diagnosis_impl.h"

#define Z_95	     1.96 /* standard deviations within which 95 % of a normal distribution are */
#define FRAMES_SHOWN 6u
#define NUMBER(name) offsetof(struct tapir_rule_fact, name)
#define REQUIRES(limit, name)                                                                      \
	{                                                                                          \
		TAPIR_LIMIT_##limit, NUMBER(name)                                                  \
	}

static const struct tapir_rule rows[TAPIR_RULE_CNT] = {
#define RULE(fact, kind, magnitude, view, sentence, evidence, ...)                                 \
	{TAPIR_FACT_##fact, TAPIR_FINDING_##kind, NUMBER(magnitude), view, sentence,               \
	 evidence,	    {__VA_ARGS__}},
	TAPIR_RULES(RULE)};

const struct tapir_rule *tapir_rules = rows;

static const struct {
	const char *name;
	size_t at;
} numbers[] =
	{
#define NAMED(name) {#name, NUMBER(name)},
		TAPIR_FACT_NUMBERS(NAMED) TAPIR_DERIVED_NUMBERS(NAMED)},
  words[] = {TAPIR_FACT_WORDS(NAMED)};
#define NUMBER_CNT (sizeof(numbers) / sizeof(*numbers))
#define WORD_CNT   (sizeof(words) / sizeof(*words))

static double number_at(const struct tapir_rule_fact *fact, size_t at)
{
	double number;

	memcpy(&number, (const char *)fact + at, sizeof(number));
	return number;
}

static struct tapir_str *word_at(struct tapir_rule_fact *fact, size_t i)
{
	return (struct tapir_str *)((char *)fact + words[i].at);
}

static void derive(const struct tapir_diagnosis *f, struct tapir_rule_fact *fact)
{
	double cpus = tapir_diagnosis__wanted_cpus(f), seconds = fact->seconds;
	uint64_t span_ns = tapir_timeline__span_ns(f->tl);
	uint64_t switched_ns = tapir_timeline__switched_ns(f->tl);

	fact->recorded = (double)span_ns / 1e9;
	seconds = seconds ? seconds : fact->recorded;
	fact->per_s = seconds > 0 ? fact->cnt / seconds : 0;
	fact->per_min = seconds > 0 ? fact->cnt * 60 / seconds : 0;
	fact->at_once = span_ns ? fact->ns / (double)span_ns : 0;
	fact->threads = switched_ns ? fact->ns / (double)switched_ns : 0;
	fact->share = fact->of > 0 ? 100 * fact->cnt / fact->of : 0;
	fact->cost = fact->share * (cpus >= 0 && cpus < 1 ? cpus : 1);
	fact->cpus = cpus < 0 ? 1 : cpus * fact->share / 100;
}

/* ---- sentences ------------------------------------------------------------------------------ */

static bool add_rule_function(const struct tapir_diagnosis *f,
			      const struct tapir_function_sums *where, struct tapir_str *out)
{
	return where && tapir_diagnosis__append_top_function(f, where, "", out);
}

static bool add_words(const char *text, struct tapir_str *out)
{
	tapir_str__adds(out, text ? text : "");
	return text && *text;
}

void tapir_rules__add_share(double cnt, double of, struct tapir_str *out)
{
	/* Wilson's interval, which holds for few samples and for shares near 0 and 1, too. */
	double share = of > 0 ? cnt / of : 0, z2_of = of > 0 ? Z_95 * Z_95 / of : 0;
	double middle = (share + z2_of / 2) / (1 + z2_of);
	double half =
		of > 0 ? Z_95 * sqrt(share * (1 - share) / of + z2_of / (4 * of)) / (1 + z2_of) : 0;

	if (200 * half <= TAPIR_LIMIT(SHARE_RANGE))
		tapir_str__addf(out, "%.0f%%", 100 * share);
	else
		tapir_str__adds(out,
				100 * (middle - half) >= TAPIR_LIMIT(DOMINANT) ? "most" : "part");
}

/* how: "" or ".1" after the name for decimals, "|one|many" for a word that goes with it. */
static bool add_figure(double number, struct tapir_sv name, struct tapir_sv how,
		       struct tapir_str *out)
{
	const char *many = how.len > 1 ? memchr(how.data + 1, '|', how.len - 1) : NULL;
	char text[TAPIR_NS_TEXT_BYTES];

	if (many && number == 1)
		tapir_str__add(out, how.data + 1, (size_t)(many - how.data) - 1);
	else if (many)
		tapir_str__add(out, many + 1, (size_t)(how.data + how.len - many) - 1);
	else if (name.len >= 2 && !memcmp(name.data + name.len - 2, "ns", 2))
		tapir_str__adds(out, tapir_ns__text((uint64_t)number, text));
	else
		tapir_str__addf(out, "%.*f", how.len ? how.data[1] - '0' : 0, number);
	return number != 0;
}

#define STACK		   NULL
#define SOURCE(id, source) source,
static const char *const sources[] = {TAPIR_FACTS(SOURCE)};

/* Times that go beyond the recording, and rates of events of which some were lost. */
static bool is_lower_limit(const struct tapir_diagnosis *f, const struct tapir_rule_fact *fact,
			   size_t at)
{
	const char *source = sources[fact->fact_kind];

	return (at == NUMBER(ns) && fact->is_least && fact->ns != 0) ||
	       (at == NUMBER(per_s) && fact->per_s != 0 && source &&
		tapir_sv__starts_with(tapir_sv__of(source), "event") &&
		tapir_timeline__stats(f->tl)->lost_events);
}

/* No other place says that a figure is a lower limit. */
static bool add_number(const struct tapir_diagnosis *f, const struct tapir_rule_fact *fact,
		       size_t at, struct tapir_sv name, struct tapir_sv how, struct tapir_str *out)
{
	bool is_word = memchr(how.data, '|', how.len) != NULL;

	if (!is_word && is_lower_limit(f, fact, at))
		tapir_str__adds(out, "at least ");
	return add_figure(number_at(fact, at), name, how, out);
}

static bool add_own_words(const struct tapir_rule_fact *fact, struct tapir_sv name,
			  struct tapir_str *out)
{
	size_t i = 0;

	while (i < WORD_CNT && !tapir_sv__is(name, words[i].name))
		i++;
	assert(i < WORD_CNT); /* else it is no value of a fact */
	return i < WORD_CNT &&
	       add_words(((const struct tapir_str *)((const char *)fact + words[i].at))->data, out);
}

/* Returns false if it is 0 or not known. */
static bool add_rule_value(const struct tapir_diagnosis *f, const struct tapir_rule_fact *fact,
			   struct tapir_sv value, struct tapir_str *out)
{
	size_t len = 0;

	while (len < value.len && value.data[len] != '.' && value.data[len] != '|')
		len++;
	for (size_t i = 0; i < NUMBER_CNT; i++)
		if (tapir_sv__is((struct tapir_sv){value.data, len}, numbers[i].name))
			return add_number(
				f, fact, numbers[i].at, (struct tapir_sv){value.data, len},
				(struct tapir_sv){value.data + len, value.len - len}, out);
	if (tapir_sv__is(value, "sampled"))
		return tapir_rules__add_share(fact->cnt, fact->of, out), fact->cnt != 0;
	return tapir_sv__is(value, "place")	  ? add_rule_function(f, fact->where, out)
	       : tapir_sv__is(value, "elsewhere") ? add_rule_function(f, fact->elsewhere, out)
	       : tapir_sv__is(value, "subject")	  ? add_words(fact->subject, out)
	       : tapir_sv__is(value, "label")	  ? add_words(fact->label, out)
	       : tapir_sv__is(value, "note")	  ? add_words(fact->note, out)
						  : add_own_words(fact, value, out);
}

/* Returns false if one of the values is not known. */
static bool add_rule_text(const struct tapir_diagnosis *f, const struct tapir_rule_fact *fact,
			  const char *text, const char *end, struct tapir_str *out)
{
	bool has_all = true;

	while (text < end) {
		const char *open = memchr(text, '{', (size_t)(end - text));
		const char *close = open ? strchr(open, '}') : NULL;

		tapir_str__add(out, text, (size_t)((close ? open : end) - text));
		if (!close)
			break;
		has_all &= add_rule_value(
			f, fact, (struct tapir_sv){open + 1, (size_t)(close - open) - 1}, out);
		text = close + 1;
	}
	return has_all;
}

void tapir_rules__add_sentence(const struct tapir_diagnosis *f, const struct tapir_rule_fact *fact,
			       const char *text, struct tapir_str *out)
{
	bool is_said = true;
	size_t len;

	for (const char *end = text; *text; text = end + 1) {
		end = text + strcspn(text, "<");
		(void)add_rule_text(f, fact, text, end, out);
		if (!*end)
			break;
		text = end + 1;
		end = strchr(text, '>');
		if (*text == '?' && is_said)
			continue;
		len = out->len;
		is_said = add_rule_text(f, fact, text + (*text == '?'), end, out);
		if (!is_said && out->data)
			out->data[out->len = len] = '\0';
	}
}

/* "cnt 51, of 60, share 85": what it has. */
static void add_facts(const struct tapir_rule_fact *fact, struct tapir_str *out)
{
	for (size_t i = 0; i < NUMBER_CNT; i++)
		if (number_at(fact, numbers[i].at) != 0)
			tapir_str__addf(out, "%s%s %.6g", out->len ? ", " : "", numbers[i].name,
					number_at(fact, numbers[i].at));
}

/* "stack: futex_wait < Shop.Draw(int) < Shop.Serve()": what shows it. */
static void add_source(const struct tapir_diagnosis *f, const struct tapir_rule_fact *fact,
		       struct tapir_str *out)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint32_t node = fact->where && fact->where->top ? fact->where->node : 0;
	bool has_stack = !sources[fact->fact_kind] && node && node < tree->nodes.cnt;

	if (!has_stack)
		tapir_str__adds(out, sources[fact->fact_kind] ? sources[fact->fact_kind]
							      : "SAMPLE and SWITCH records");
	for (unsigned cnt = 0; has_stack && node; node = tree->nodes.data[node].parent) {
		tapir_str__adds(out, !cnt ? "stack: " : cnt < FRAMES_SHOWN ? " < " : " < ...");
		if (cnt++ == FRAMES_SHOWN)
			break;
		tapir_diagnosis__add_name(f, tree->nodes.data[node].name, out);
	}
}

/* Adds what else is known of a finding: the fact's numbers, its time, and what shows it. */
static void describe(const struct tapir_diagnosis *f, const struct tapir_rule_fact *fact,
		     struct tapir_findings *list, struct tapir_finding *finding)
{
	const struct tapir_timeline_stats *stats = tapir_timeline__stats(f->tl);
	uint64_t until_ns = fact->until_ns ? fact->until_ns : stats->last_ns;
	struct tapir_str facts = {}, source = {};

	finding->threads = fact->in_threads;
	/* Times that a server or a counter reports may be of before the recording, or of no time.
	 */
	finding->to_ns = until_ns > stats->first_ns ? until_ns - stats->first_ns : 0;
	finding->from_ns = fact->since_ns > stats->first_ns ? fact->since_ns - stats->first_ns : 0;
	finding->from_ns = finding->from_ns < finding->to_ns ? finding->from_ns : 0;
	add_facts(fact, &facts);
	add_source(f, fact, &source);
	finding->facts = tapir_findings__take_text(list, &facts);
	finding->source = tapir_findings__take_text(list, &source);
}

/* ---- judging -------------------------------------------------------------------------------- */

static bool is_met(const struct tapir_rule *rule, const struct tapir_rule_fact *fact,
		   struct tapir_findings *list)
{
	struct tapir_check checks[TAPIR_CHECKS_MAX];
	size_t cnt = 0;

	for (; cnt < TAPIR_CHECKS_MAX && rule->requires[cnt].number; cnt++)
		checks[cnt] = (struct tapir_check){rule->requires[cnt].limit,
						   number_at(fact, rule->requires[cnt].number)};
	return tapir_findings__admits(list, rule->kind, number_at(fact, rule->magnitude), checks,
				      cnt);
}

bool tapir_rules__are_met(const struct tapir_diagnosis *f, struct tapir_findings *list,
			  const struct tapir_rule_fact *fact)
{
	struct tapir_rule_fact all = *fact;
	bool are_met = false;

	derive(f, &all);
	for (size_t i = 0; i < TAPIR_RULE_CNT; i++)
		are_met |= tapir_rules[i].fact == fact->fact_kind &&
			   is_met(&tapir_rules[i], &all, list);
	return are_met;
}

void tapir_rules__judge(const struct tapir_diagnosis *f, struct tapir_findings *list,
			struct tapir_rule_fact fact)
{
	const char *subject = fact.subject;

	derive(f, &fact);
	if (!subject && fact.where)
		subject = tapir_diagnosis__top_function(f, fact.where);
	for (const struct tapir_rule *rule = tapir_rules; rule < tapir_rules + TAPIR_RULE_CNT;
	     rule++) {
		struct tapir_str text = {}, evidence = {};
		struct tapir_finding *finding;

		if (rule->fact != fact.fact_kind || !is_met(rule, &fact, list))
			continue;
		tapir_rules__add_sentence(f, &fact, rule->sentence, &text);
		tapir_rules__add_sentence(f, &fact, rule->evidence ? rule->evidence : "",
					  &evidence);
		finding = tapir_findings__add(list, rule->kind, number_at(&fact, rule->magnitude),
					      subject, &text, &evidence,
					      fact.view ? fact.view : rule->view);
		if (finding)
			describe(f, &fact, list, finding);
	}
	for (size_t i = 0; i < WORD_CNT; i++) {
		list->failed |= word_at(&fact, i)->failed;
		tapir_str__fini(word_at(&fact, i));
	}
}
