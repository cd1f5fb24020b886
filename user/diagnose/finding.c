// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The findings that a report has, their severity, and the words for them. Findings that another one
 * explains are removed or lessened by the table of explanations: the order in which detectors ran
 * does not matter.
 */
#include "diagnose/finding.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

const char *tapir_finding__kind_name(unsigned kind)
{
	return kind < TAPIR_FINDING_KIND_CNT ? tapir_finding_kinds[kind].name : "";
}

const char *tapir_finding__unit(unsigned kind)
{
	return kind < TAPIR_FINDING_KIND_CNT ? tapir_finding_kinds[kind].unit : "";
}

const char *tapir_finding__title(unsigned kind)
{
	return kind < TAPIR_FINDING_KIND_CNT ? tapir_finding_kinds[kind].title : "";
}

const char *tapir_finding__level(double severity)
{
	static const struct {
		double from;
		const char *name;
	} levels[] = {{TAPIR_FINDING_CRITICAL, "critical"},
		      {50, "serious"},
		      {20, "moderate"},
		      {0, "minor"}};
	size_t i = 0;

	while (severity < levels[i].from)
		i++;
	return levels[i].name;
}

bool tapir_finding__exceeds_threshold(enum tapir_finding_kind kind, double magnitude)
{
	return magnitude >= tapir_finding_kinds[kind].report_at;
}

static double severity_of(const struct tapir_finding_kind_info *t, double magnitude)
{
	double above = magnitude - t->report_at, range = t->critical_at - t->report_at;
	double share = range > 0 && above < range ? above / range : 1;

	return t->min_severity + (t->max_severity - t->min_severity) * share;
}

double tapir_finding__magnitude_at(const struct tapir_finding_kind_info *kind, double severity)
{
	if (kind->max_severity < severity)
		return -1;
	if (kind->min_severity >= severity)
		return kind->report_at;
	return kind->report_at + (kind->critical_at - kind->report_at) *
					 (severity - kind->min_severity) /
					 (kind->max_severity - kind->min_severity);
}

char *tapir_findings__take_text(struct tapir_findings *list, struct tapir_str *text)
{
	char *data = text ? text->data : NULL;

	list->failed |= text && text->failed;
	if (text)
		*text = (struct tapir_str){};
	return data;
}

static char *copy(struct tapir_findings *list, const char *text)
{
	char *data = text ? strdup(text) : NULL;

	list->failed |= text && !data;
	return data;
}

static void fini_one(struct tapir_finding *finding)
{
	free(finding->subject);
	free(finding->text);
	free(finding->evidence);
	free(finding->facts);
	free(finding->source);
	free(finding->view);
	free(finding->process);
}

struct tapir_finding *tapir_findings__add(struct tapir_findings *list, enum tapir_finding_kind kind,
					  double magnitude, const char *subject,
					  struct tapir_str *text, struct tapir_str *evidence,
					  const char *view)
{
	const struct tapir_finding_kind_info *t = &tapir_finding_kinds[kind];
	struct tapir_finding finding = {.kind = kind,
					.severity = severity_of(t, magnitude),
					.magnitude = magnitude,
					.subject = copy(list, subject),
					.text = tapir_findings__take_text(list, text),
					.evidence = tapir_findings__take_text(list, evidence),
					.view = copy(list, view ? view : t->view)};

	if (finding.text && tapir_finding__exceeds_threshold(kind, magnitude) &&
	    tapir_vec__push(&list->rows, finding))
		return &list->rows.data[list->rows.cnt - 1];
	list->failed |= !finding.text || tapir_finding__exceeds_threshold(kind, magnitude);
	fini_one(&finding);
	return NULL;
}

bool tapir_limit__holds(enum tapir_limit limit, double value)
{
	return tapir_limits[limit].role == TAPIR_AT_MOST ? value <= tapir_limits[limit].number
							 : value >= tapir_limits[limit].number;
}

/* Returns true if one is closer to a finding than the other, of whichever subjects they are. */
static bool is_closer(const struct tapir_trial *a, const struct tapir_trial *b)
{
	return !b->was_tried ||
	       (a->was_admitted != b->was_admitted ? a->was_admitted : a->magnitude > b->magnitude);
}

bool tapir_findings__admits(struct tapir_findings *list, enum tapir_finding_kind kind,
			    double magnitude, const struct tapir_check *checks, size_t cnt)
{
	struct tapir_trial trial = {.was_tried = true,
				    .was_admitted =
					    tapir_finding__exceeds_threshold(kind, magnitude),
				    .magnitude = magnitude};

	for (size_t i = 0; i < cnt && i < TAPIR_CHECKS_MAX; i++) {
		trial.checks[trial.check_cnt++] = checks[i];
		trial.was_admitted &= tapir_limit__holds(checks[i].limit, checks[i].value);
	}
	if (is_closer(&trial, &list->trials[kind]))
		list->trials[kind] = trial;
	return trial.was_admitted;
}

const char *tapir_finding__explainer(const struct tapir_explanation *e)
{
	return e->by == TAPIR_FINDING_ANY	? "any other kind"
	       : e->by == TAPIR_FINDING_WAITING ? "a kind in threads, awaits or calls"
						: tapir_finding__kind_name(e->by);
}

/* ---- judging -------------------------------------------------------------------------------- */

static bool is_explained_by(unsigned by, const struct tapir_finding *finding,
			    enum tapir_finding_kind explained)
{
	const char *unit = tapir_finding__unit(finding->kind);

	if (by == TAPIR_FINDING_WAITING)
		return !strcmp(unit, "threads") || !strcmp(unit, "awaits") ||
		       !strcmp(unit, "calls");
	return by == TAPIR_FINDING_ANY ? finding->kind != explained : finding->kind == by;
}

static bool is_explained(const struct tapir_findings *list, const struct tapir_finding *finding,
			 const struct tapir_explanation *e)
{
	double of = finding->threads > 0 ? finding->threads : finding->magnitude;
	const struct tapir_finding *other;

	if (e->of != finding->kind)
		return false;
	tapir_vec_for_each (other, &list->rows)
		if (is_explained_by(e->by, other, e->of) && other->magnitude * 100 >= of * e->at)
			return true;
	return false;
}

static void explain(const struct tapir_findings *list, struct tapir_finding *finding)
{
	for (const struct tapir_explanation *e = tapir_explanations; e->why; e++)
		if (is_explained(list, finding, e) && (!finding->explained || !e->leaves))
			finding->explained = e;
}

/* Takes out what others explain wholly, and lessens what they explain in part. */
static void apply(struct tapir_findings *list)
{
	struct tapir_finding *finding;
	size_t left = 0;

	tapir_vec_for_each (finding, &list->rows) {
		if (finding->explained && !finding->explained->leaves) {
			if (!tapir_vec__push(&list->hidden, *finding)) {
				list->failed = true;
				fini_one(finding);
			}
			continue;
		}
		if (finding->explained && finding->magnitude > finding->explained->leaves) {
			finding->magnitude = finding->explained->leaves;
			finding->severity = severity_of(&tapir_finding_kinds[finding->kind],
							finding->magnitude);
		}
		list->rows.data[left++] = *finding;
	}
	list->rows.cnt = left;
}

/* Compares findings that are as severe as their kinds become. */
static double excess(const struct tapir_finding *finding)
{
	return finding->magnitude / tapir_finding_kinds[finding->kind].critical_at;
}

static int by_severity(const void *a, const void *b)
{
	const struct tapir_finding *x = a, *y = b;

	if (x->severity != y->severity)
		return x->severity < y->severity ? 1 : -1;
	if (x->kind != y->kind)
		return strcmp(tapir_finding__kind_name(x->kind), tapir_finding__kind_name(y->kind));
	return tapir_order__down(excess(x), excess(y)) ?: strcmp(x->text, y->text);
}

void tapir_findings__judge(struct tapir_findings *list)
{
	struct tapir_finding *finding;

	tapir_vec_for_each (finding, &list->rows)
		explain(list, finding);
	apply(list);
	tapir_findings__rank(list);
}

void tapir_findings__rank(struct tapir_findings *list)
{
	if (list->rows.cnt)
		qsort(list->rows.data, list->rows.cnt, sizeof(*list->rows.data), by_severity);
}

void tapir_findings__take(struct tapir_findings *list, struct tapir_findings *from, uint32_t pid,
			  const char *process)
{
	struct tapir_finding *finding;

	list->failed |= from->failed;
	list->more += from->more;
	tapir_vec_for_each (finding, &from->rows) {
		finding->pid = pid;
		finding->process = strdup(process);
		if (!finding->process || !tapir_vec__push(&list->rows, *finding)) {
			list->failed = true;
			fini_one(finding);
		}
	}
	from->rows.cnt = 0;
}

void tapir_findings__fini(struct tapir_findings *list)
{
	struct tapir_finding *finding;

	tapir_vec_for_each (finding, &list->rows)
		fini_one(finding);
	tapir_vec__fini(&list->rows);
	tapir_vec_for_each (finding, &list->hidden)
		fini_one(finding);
	tapir_vec__fini(&list->hidden);
}
