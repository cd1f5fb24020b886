// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The findings that a report has, their severity, and the words for them. Findings that another one
 * explains are removed or lessened by the table of explanations: the order in which detectors ran
 * does not matter.
 */
#include "diagnose/found.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

const char *tapir_found__kind_name(unsigned kind)
{
	return kind < TAPIR_FOUND_KIND_CNT ? tapir_finding_kinds[kind].name : "";
}

const char *tapir_found__unit(unsigned kind)
{
	return kind < TAPIR_FOUND_KIND_CNT ? tapir_finding_kinds[kind].unit : "";
}

const char *tapir_found__title(unsigned kind)
{
	return kind < TAPIR_FOUND_KIND_CNT ? tapir_finding_kinds[kind].title : "";
}

const char *tapir_found__level(double severity)
{
	static const struct {
		double from;
		const char *name;
	} levels[] = {{TAPIR_FOUND_CRITICAL, "critical"},
		      {50, "serious"},
		      {20, "moderate"},
		      {0, "minor"}};
	size_t i = 0;

	while (severity < levels[i].from)
		i++;
	return levels[i].name;
}

bool tapir_found__counts(enum tapir_found_kind kind, double magnitude)
{
	return magnitude >= tapir_finding_kinds[kind].least;
}

static double severity_of(const struct tapir_finding_kind *t, double magnitude)
{
	double above = magnitude - t->least, range = t->severe - t->least;
	double share = range > 0 && above < range ? above / range : 1;

	return t->low + (t->high - t->low) * share;
}

double tapir_found__magnitude_at(const struct tapir_finding_kind *kind, double severity)
{
	if (kind->high < severity)
		return -1;
	if (kind->low >= severity)
		return kind->least;
	return kind->least +
	       (kind->severe - kind->least) * (severity - kind->low) / (kind->high - kind->low);
}

char *tapir_found_list__take_text(struct tapir_found_list *list, struct tapir_str *text)
{
	char *data = text ? text->data : NULL;

	list->failed |= text && text->failed;
	if (text)
		*text = (struct tapir_str){};
	return data;
}

static char *copy(struct tapir_found_list *list, const char *text)
{
	char *data = text ? strdup(text) : NULL;

	list->failed |= text && !data;
	return data;
}

static void fini_one(struct tapir_found *found)
{
	free(found->subject);
	free(found->text);
	free(found->evidence);
	free(found->facts);
	free(found->source);
	free(found->view);
	free(found->process);
}

struct tapir_found *tapir_found_list__add(struct tapir_found_list *list, enum tapir_found_kind kind,
					  double magnitude, const char *subject,
					  struct tapir_str *text, struct tapir_str *evidence,
					  const char *view)
{
	const struct tapir_finding_kind *t = &tapir_finding_kinds[kind];
	struct tapir_found found = {.kind = kind,
				    .severity = severity_of(t, magnitude),
				    .magnitude = magnitude,
				    .subject = copy(list, subject),
				    .text = tapir_found_list__take_text(list, text),
				    .evidence = tapir_found_list__take_text(list, evidence),
				    .view = copy(list, view ? view : t->view)};

	if (found.text && tapir_found__counts(kind, magnitude) &&
	    tapir_vec__push(&list->rows, found))
		return &list->rows.data[list->rows.cnt - 1];
	list->failed |= !found.text || tapir_found__counts(kind, magnitude);
	fini_one(&found);
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

bool tapir_found_list__admits(struct tapir_found_list *list, enum tapir_found_kind kind,
			      double magnitude, const struct tapir_check *checks, size_t cnt)
{
	struct tapir_trial trial = {.was_tried = true,
				    .was_admitted = tapir_found__counts(kind, magnitude),
				    .magnitude = magnitude};

	for (size_t i = 0; i < cnt && i < TAPIR_CHECKS_MAX; i++) {
		trial.checks[trial.check_cnt++] = checks[i];
		trial.was_admitted &= tapir_limit__holds(checks[i].limit, checks[i].value);
	}
	if (is_closer(&trial, &list->trials[kind]))
		list->trials[kind] = trial;
	return trial.was_admitted;
}

const char *tapir_found__explainer(const struct tapir_explanation *e)
{
	return e->by == TAPIR_FOUND_ANY	      ? "any other kind"
	       : e->by == TAPIR_FOUND_WAITING ? "a kind in threads, awaits or calls"
					      : tapir_found__kind_name(e->by);
}

/* ---- judging -------------------------------------------------------------------------------- */

static bool is_explained_by(unsigned by, const struct tapir_found *found,
			    enum tapir_found_kind explained)
{
	const char *unit = tapir_found__unit(found->kind);

	if (by == TAPIR_FOUND_WAITING)
		return !strcmp(unit, "threads") || !strcmp(unit, "awaits") ||
		       !strcmp(unit, "calls");
	return by == TAPIR_FOUND_ANY ? found->kind != explained : found->kind == by;
}

static bool is_explained(const struct tapir_found_list *list, const struct tapir_found *found,
			 const struct tapir_explanation *e)
{
	double of = found->threads > 0 ? found->threads : found->magnitude;
	const struct tapir_found *other;

	if (e->of != found->kind)
		return false;
	tapir_vec_for_each (other, &list->rows)
		if (is_explained_by(e->by, other, e->of) && other->magnitude * 100 >= of * e->at)
			return true;
	return false;
}

static void explain(const struct tapir_found_list *list, struct tapir_found *found)
{
	for (const struct tapir_explanation *e = tapir_explanations; e->why; e++)
		if (is_explained(list, found, e) && (!found->explained || !e->leaves))
			found->explained = e;
}

/* Takes out what others explain wholly, and lessens what they explain in part. */
static void apply(struct tapir_found_list *list)
{
	struct tapir_found *found;
	size_t left = 0;

	tapir_vec_for_each (found, &list->rows) {
		if (found->explained && !found->explained->leaves) {
			if (!tapir_vec__push(&list->hidden, *found)) {
				list->failed = true;
				fini_one(found);
			}
			continue;
		}
		if (found->explained && found->magnitude > found->explained->leaves) {
			found->magnitude = found->explained->leaves;
			found->severity =
				severity_of(&tapir_finding_kinds[found->kind], found->magnitude);
		}
		list->rows.data[left++] = *found;
	}
	list->rows.cnt = left;
}

/* Compares findings that are as severe as their kinds become. */
static double excess(const struct tapir_found *found)
{
	return found->magnitude / tapir_finding_kinds[found->kind].severe;
}

static int by_severity(const void *a, const void *b)
{
	const struct tapir_found *x = a, *y = b;

	if (x->severity != y->severity)
		return x->severity < y->severity ? 1 : -1;
	if (x->kind != y->kind)
		return strcmp(tapir_found__kind_name(x->kind), tapir_found__kind_name(y->kind));
	return tapir_order__down(excess(x), excess(y)) ?: strcmp(x->text, y->text);
}

void tapir_found_list__judge(struct tapir_found_list *list)
{
	struct tapir_found *found;

	tapir_vec_for_each (found, &list->rows)
		explain(list, found);
	apply(list);
	tapir_found_list__rank(list);
}

void tapir_found_list__rank(struct tapir_found_list *list)
{
	if (list->rows.cnt)
		qsort(list->rows.data, list->rows.cnt, sizeof(*list->rows.data), by_severity);
}

void tapir_found_list__take(struct tapir_found_list *list, struct tapir_found_list *from,
			    uint32_t pid, const char *process)
{
	struct tapir_found *found;

	list->failed |= from->failed;
	list->more += from->more;
	tapir_vec_for_each (found, &from->rows) {
		found->pid = pid;
		found->process = strdup(process);
		if (!found->process || !tapir_vec__push(&list->rows, *found)) {
			list->failed = true;
			fini_one(found);
		}
	}
	from->rows.cnt = 0;
}

void tapir_found_list__fini(struct tapir_found_list *list)
{
	struct tapir_found *found;

	tapir_vec_for_each (found, &list->rows)
		fini_one(found);
	tapir_vec__fini(&list->rows);
	tapir_vec_for_each (found, &list->hidden)
		fini_one(found);
	tapir_vec__fini(&list->hidden);
}
