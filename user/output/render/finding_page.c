// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kinds of findings as people read them, from the table; and why a recording has one, or not,
 * from what was measured.
 */
#include "output/render/finding_page.h"

#include <string.h>

#include "base/json.h"
#include "diagnose/rules.h"
#include "output/render/help_text.h"
#include "output/render/report_view.h"

#define TEXT_COLUMN 13

static void add_line(struct tapir_str *out, const char *name, const struct tapir_str *text)
{
	size_t from = out->len;

	tapir_str__addf(out, "  %s", name);
	tapir_str__pad(out, from, TEXT_COLUMN);
	tapir_text__add_wrapped(out, from, tapir_text__sv(text->data ? text->data : ""),
				TEXT_COLUMN);
}

/* "20/s", "5 %" */
static void add_number_with_unit(double number, const char *unit, struct tapir_str *out)
{
	tapir_str__addf(out, "%.4g", number);
	if (*unit)
		tapir_str__addf(out, "%s%s", *unit == '1' ? "" : " ", unit + (*unit == '1'));
}

/* "from 5 % on, with severity 50, to 87 from 60 % on; critical from 34.7 % on" */
static void add_severity(const struct tapir_finding_kind_info *kind, struct tapir_str *out)
{
	double critical = tapir_finding__magnitude_at(kind, TAPIR_FINDING_CRITICAL);

	tapir_str__adds(out, "from ");
	add_number_with_unit(kind->report_at, kind->unit, out);
	tapir_str__addf(out, " on, with severity %g", kind->min_severity);
	if (kind->critical_at > kind->report_at) {
		tapir_str__addf(out, "; %g from ", kind->max_severity);
		add_number_with_unit(kind->critical_at, kind->unit, out);
		tapir_str__adds(out, " on");
	}
	if (critical < 0)
		return;
	tapir_str__adds(out, "; critical from ");
	add_number_with_unit(critical, kind->unit, out);
	tapir_str__adds(out, " on");
}

static void add_limit(const struct tapir_limit_row *limit, struct tapir_str *out)
{
	tapir_str__adds(out, limit->role == TAPIR_AT_MOST ? "at most " : "");
	add_number_with_unit(limit->number, limit->unit, out);
	tapir_str__addf(out, "%s%s", *limit->description == ':' ? "" : " ", limit->description);
}

static void add_limits(unsigned kind, struct tapir_str *out)
{
	static const char *const roles[] = {[TAPIR_AT_LEAST] = "requires",
					    [TAPIR_AT_MOST] = "requires",
					    [TAPIR_COUNTS] = "counts",
					    [TAPIR_WORDS] = "words"};
	struct tapir_str text = {};

	for (unsigned i = 0; i < TAPIR_LIMIT_CNT; i++) {
		if (tapir_limits[i].kind != kind)
			continue;
		tapir_str__clear(&text);
		add_limit(&tapir_limits[i], &text);
		add_line(out, roles[tapir_limits[i].role], &text);
	}
	tapir_str__fini(&text);
}

/* "gc: very large objects cause the collections" */
static void add_explanations(unsigned kind, struct tapir_str *out)
{
	struct tapir_str text = {};

	for (const struct tapir_explanation *e = tapir_explanations; e->why; e++) {
		if (e->of != kind)
			continue;
		tapir_str__clear(&text);
		tapir_str__addf(&text, "by %s", tapir_finding__explainer(e));
		if (e->at)
			tapir_str__addf(&text, " with %.4g %% of it", e->at);
		tapir_str__addf(&text, ": %s", e->why);
		if (e->leaves)
			tapir_str__addf(&text, "; it then counts as %.4g %s", e->leaves,
					tapir_finding_kinds[kind].unit);
		add_line(out, "explained", &text);
	}
	tapir_str__fini(&text);
}

static void add_finding_text(struct tapir_str *out, const char *name, const char *value)
{
	struct tapir_str text = {};

	tapir_str__adds(&text, value);
	add_line(out, name, &text);
	tapir_str__fini(&text);
}

/* Adds the sentences of its rules, but for what only a detector knows the words of. */
static void add_sentences(unsigned kind, struct tapir_str *out)
{
	for (const struct tapir_rule *rule = tapir_rules; rule < tapir_rules + TAPIR_RULE_CNT;
	     rule++)
		if (rule->kind == kind && strcmp(rule->sentence, "{more}") != 0)
			add_finding_text(out, "says", rule->sentence);
}

static void add_rule(unsigned i, struct tapir_str *out)
{
	struct tapir_str severity = {};

	add_severity(&tapir_finding_kinds[i], &severity);
	add_line(out, "report", &severity);
	tapir_str__fini(&severity);
}

static void add_kind(unsigned i, struct tapir_str *out)
{
	const struct tapir_finding_kind_info *kind = &tapir_finding_kinds[i];
	size_t from = out->len + 1;

	tapir_str__addf(out, "\n%s: ", kind->name);
	tapir_text__add_wrapped(out, from, tapir_text__sv(kind->claims), 2);
	tapir_str__addc(out, '\n');
	add_finding_text(out, "measure", kind->measured);
	add_sentences(i, out);
	add_rule(i, out);
	add_limits(i, out);
	add_explanations(i, out);
	add_finding_text(out, "view", kind->view);
	add_finding_text(out, "remedy", kind->remedy);
}

void tapir_finding_page__add(struct tapir_str *out)
{
	static const struct {
		const char *label, *waits;
	} takers[] = {
#define TAKER(number, name, label, waits) [number] = {label, waits},
		TAPIR_WAIT_CONSUMERS(TAKER)};

	for (unsigned i = 0; i < TAPIR_FINDING_KIND_CNT; i++)
		add_kind(i, out);
	tapir_str__adds(out, "\nNumbers of several kinds:\n\n");
	add_limits(TAPIR_FINDING_KIND_CNT, out);
	tapir_str__adds(out,
			"\nA wait is in one finding, of the first of these that knows it:\n\n");
	for (size_t i = 0; i < sizeof(takers) / sizeof(*takers); i++)
		add_finding_text(out, takers[i].label, takers[i].waits);
}

/* ---- report --explain ----------------------------------------------------------------------- */

/* Adds what kept it from being reported, and returns true; false: nothing did. */
static bool add_obstacle(unsigned kind, const struct tapir_trial *trial, struct tapir_str *out)
{
	const struct tapir_finding_kind_info *k = &tapir_finding_kinds[kind];

	if (trial->magnitude < k->report_at) {
		add_number_with_unit(trial->magnitude, k->unit, out);
		tapir_str__adds(out, ", and is reported from ");
		add_number_with_unit(k->report_at, k->unit, out);
		tapir_str__adds(out, " on");
		return true;
	}
	for (unsigned i = 0; i < trial->check_cnt; i++) {
		const struct tapir_check *check = &trial->checks[i];

		if (tapir_limit__holds(check->limit, check->value))
			continue;
		add_number_with_unit(trial->magnitude, k->unit, out);
		tapir_str__adds(out, ", but requires ");
		add_limit(&tapir_limits[check->limit], out);
		tapir_str__adds(out, ", and has ");
		add_number_with_unit(check->value, tapir_limits[check->limit].unit, out);
		return true;
	}
	return false;
}

static void add_found(const char *name, const struct tapir_finding *finding, struct tapir_str *out)
{
	struct tapir_str text = {};

	tapir_str__adds(&text, finding->text);
	add_line(out, name, &text);
	tapir_str__clear(&text);
	tapir_str__addf(&text, "%s, with severity %.3g: ", tapir_finding__level(finding->severity),
			finding->severity);
	add_number_with_unit(finding->magnitude, tapir_finding__unit(finding->kind), &text);
	if (finding->evidence)
		tapir_str__addf(&text, "; %s", finding->evidence);
	if (finding->explained)
		tapir_str__addf(&text, "; explained by %s: %s",
				tapir_finding__explainer(finding->explained),
				finding->explained->why);
	add_line(out, "", &text);
	if (finding->facts)
		add_finding_text(out, "facts", finding->facts);
	tapir_str__clear(&text);
	if (finding->to_ns) {
		tapir_str__addf(&text, "%.1f s to %.1f s of the recording",
				(double)finding->from_ns / 1e9, (double)finding->to_ns / 1e9);
		add_line(out, "time", &text);
	}
	if (finding->source)
		add_finding_text(out, "evidence", finding->source);
	tapir_str__fini(&text);
}

static size_t add_all_found(const struct tapir_findings *list, unsigned kind, struct tapir_str *out)
{
	const struct tapir_finding *finding;
	size_t cnt = 0;

	tapir_vec_for_each (finding, &list->rows)
		if (finding->kind == kind) {
			add_found("found", finding, out);
			cnt++;
		}
	tapir_vec_for_each (finding, &list->hidden)
		if (finding->kind == kind) {
			add_found("not listed", finding, out);
			cnt++;
		}
	return cnt;
}

static void add_not_found(unsigned kind, const struct tapir_trial *trial, struct tapir_str *out)
{
	struct tapir_str text = {};

	if (!trial->was_tried)
		tapir_str__adds(&text, "nothing was measured: what it counts did not occur, or was "
				       "not recorded");
	else if (!add_obstacle(kind, trial, &text))
		tapir_str__adds(&text, "another finding is about the same");
	add_line(out, "not found", &text);
	tapir_str__fini(&text);
}

static void add_measured(unsigned kind, const struct tapir_trial *trial, struct tapir_str *out)
{
	struct tapir_str text = {};

	if (trial->was_tried) {
		add_number_with_unit(trial->magnitude, tapir_finding_kinds[kind].unit, &text);
		tapir_str__adds(&text, ": ");
	}
	tapir_str__adds(&text, tapir_finding_kinds[kind].measured);
	add_line(out, "measure", &text);
	for (unsigned i = 0; i < trial->check_cnt; i++) {
		const struct tapir_check *check = &trial->checks[i];

		tapir_str__clear(&text);
		add_limit(&tapir_limits[check->limit], &text);
		tapir_str__adds(&text, "; it has ");
		add_number_with_unit(check->value, tapir_limits[check->limit].unit, &text);
		add_line(out, "requires", &text);
	}
	tapir_str__fini(&text);
}

/* Returns true if half as much more would be a finding, or only a requirement does not hold. */
static bool is_close(unsigned kind, const struct tapir_trial *trial)
{
	return trial->was_tried && !trial->was_admitted &&
	       TAPIR_IS_SHARE(DOMINANT, trial->magnitude, tapir_finding_kinds[kind].report_at);
}

static void add_close(const struct tapir_findings *list, unsigned but, struct tapir_str *out)
{
	struct tapir_str text = {};
	bool is_first = true;

	for (unsigned i = 0; i < TAPIR_FINDING_KIND_CNT; i++) {
		size_t from;

		if (i == but || !is_close(i, &list->trials[i]))
			continue;
		tapir_str__adds(out, is_first ? "\nOther kinds that are close:\n\n" : "");
		is_first = false;
		tapir_str__clear(&text);
		(void)add_obstacle(i, &list->trials[i], &text);
		from = out->len;
		tapir_str__addf(out, "  %s: ", tapir_finding_kinds[i].name);
		tapir_text__add_wrapped(out, from, tapir_text__sv(text.data ? text.data : ""), 4);
	}
	tapir_str__fini(&text);
}

void tapir_finding_page__explain(const struct tapir_report_view *view, unsigned kind,
				 struct tapir_str *out)
{
	const struct tapir_findings *list = view->findings;
	const struct tapir_finding_kind_info *k = &tapir_finding_kinds[kind];
	size_t from = out->len;

	tapir_str__addf(out, "%s: ", k->name);
	tapir_text__add_wrapped(out, from, tapir_text__sv(k->claims), 2);
	tapir_str__addc(out, '\n');
	if (!add_all_found(list, kind, out))
		add_not_found(kind, &list->trials[kind], out);
	add_measured(kind, &list->trials[kind], out);
	add_rule(kind, out);
	add_explanations(kind, out);
	add_finding_text(out, "view", k->view);
	add_finding_text(out, "remedy", k->remedy);
	add_close(list, kind, out);
	if (view->is_machine)
		tapir_str__adds(out, "\nOf all recorded processes together; --pid restricts it to "
				     "one.\n");
}

static void json_number(struct tapir_json *j, const char *key, double value, bool is_known)
{
	if (is_known)
		tapir_json__f64(j, key, value);
	else
		tapir_json__null(j, key);
}

static void json_trial(struct tapir_json *j, unsigned kind, const struct tapir_trial *trial)
{
	const struct tapir_finding_kind_info *k = &tapir_finding_kinds[kind];
	double critical = tapir_finding__magnitude_at(k, TAPIR_FINDING_CRITICAL);

	tapir_json__str(j, "kind", k->name);
	tapir_json__str(j, "unit", k->unit);
	json_number(j, "measured", trial->magnitude, trial->was_tried);
	tapir_json__f64(j, "report_at", k->report_at);
	json_number(j, "critical_at", critical, critical >= 0);
	tapir_json__bool(j, "is_met", trial->was_admitted);
	tapir_json__open(j, "requires", '[');
	for (unsigned i = 0; i < trial->check_cnt; i++) {
		const struct tapir_check *check = &trial->checks[i];
		const struct tapir_limit_row *limit = &tapir_limits[check->limit];

		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "what", limit->description + 2 * (*limit->description == ':'));
		tapir_json__str(j, "unit", limit->unit);
		tapir_json__str(j, "is", limit->role == TAPIR_AT_MOST ? "at most" : "at least");
		tapir_json__f64(j, "number", limit->number);
		tapir_json__f64(j, "measured", check->value);
		tapir_json__bool(j, "is_met", tapir_limit__holds(check->limit, check->value));
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

void tapir_finding_page__add_facts(struct tapir_json *j, const struct tapir_finding *finding)
{
	tapir_json__str(j, "facts", finding->facts);
	tapir_json__u64(j, "from_ns", finding->from_ns);
	tapir_json__u64(j, "to_ns", finding->to_ns);
	tapir_json__str(j, "shown_by", finding->source);
}

static void json_found(struct tapir_json *j, const struct tapir_finding *finding, bool is_listed)
{
	tapir_json__open(j, NULL, '{');
	tapir_json__bool(j, "is_listed", is_listed);
	tapir_json__str(j, "level", tapir_finding__level(finding->severity));
	tapir_json__f64(j, "severity", finding->severity);
	tapir_json__f64(j, "magnitude", finding->magnitude);
	tapir_json__str(j, "subject", finding->subject);
	tapir_json__str(j, "text", finding->text);
	tapir_json__str(j, "evidence", finding->evidence);
	tapir_finding_page__add_facts(j, finding);
	tapir_json__str(j, "view", finding->view);
	tapir_json__str(j, "explained_by",
			finding->explained ? tapir_finding__explainer(finding->explained) : NULL);
	tapir_json__close(j, '}');
}

void tapir_finding_page__explain_json(const struct tapir_report_view *view, unsigned kind,
				      struct tapir_str *out)
{
	const struct tapir_findings *list = view->findings;
	const struct tapir_finding_kind_info *k = &tapir_finding_kinds[kind];
	struct tapir_json j = tapir_json__to(out);
	const struct tapir_finding *finding;

	tapir_json__open(&j, NULL, '{');
	json_trial(&j, kind, &list->trials[kind]);
	tapir_json__str(&j, "title", k->title);
	tapir_json__str(&j, "claims", k->claims);
	tapir_json__str(&j, "measure", k->measured);
	tapir_json__str(&j, "remedy", k->remedy);
	tapir_json__open(&j, "findings", '[');
	tapir_vec_for_each (finding, &list->rows)
		if (finding->kind == kind)
			json_found(&j, finding, true);
	/*
	 * Found, but explained by another finding: the reader asked for this kind, so it is shown.
	 */
	tapir_vec_for_each (finding, &list->hidden)
		if (finding->kind == kind)
			json_found(&j, finding, false);
	tapir_json__close(&j, ']');
	tapir_json__open(&j, "close", '[');
	for (unsigned i = 0; i < TAPIR_FINDING_KIND_CNT; i++) {
		if (i == kind || !is_close(i, &list->trials[i]))
			continue;
		tapir_json__open(&j, NULL, '{');
		json_trial(&j, i, &list->trials[i]);
		tapir_json__close(&j, '}');
	}
	tapir_json__close(&j, ']');
	tapir_json__close(&j, '}');
	tapir_str__addc(out, '\n');
}
