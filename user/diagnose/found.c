// SPDX-License-Identifier: GPL-2.0-or-later
/* The values of the findings that a report has, and the words for them. */
#include "diagnose/found.h"

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

static char *take(struct tapir_found_list *list, struct tapir_str *text)
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
	free(found->view);
}

void tapir_found_list__add(struct tapir_found_list *list, enum tapir_found_kind kind,
			   double magnitude, const char *subject, struct tapir_str *text,
			   struct tapir_str *evidence, const char *view)
{
	const struct tapir_finding_kind *t = &tapir_finding_kinds[kind];
	struct tapir_found found = {.kind = kind,
				    .severity = severity_of(t, magnitude),
				    .magnitude = magnitude,
				    .subject = copy(list, subject),
				    .text = take(list, text),
				    .evidence = take(list, evidence),
				    .view = copy(list, view ? view : t->view)};

	if (found.text && tapir_found__counts(kind, magnitude) &&
	    tapir_vec__push(&list->rows, found))
		return;
	list->failed |= !found.text || tapir_found__counts(kind, magnitude);
	fini_one(&found);
}

static int by_severity(const void *a, const void *b)
{
	const struct tapir_found *x = a, *y = b;

	if (x->severity != y->severity)
		return x->severity < y->severity ? 1 : -1;
	return (int)x->kind - (int)y->kind;
}

void tapir_found_list__rank(struct tapir_found_list *list)
{
	if (list->rows.cnt)
		qsort(list->rows.data, list->rows.cnt, sizeof(*list->rows.data), by_severity);
}

void tapir_found_list__fini(struct tapir_found_list *list)
{
	struct tapir_found *found;

	tapir_vec_for_each (found, &list->rows)
		fini_one(found);
	tapir_vec__fini(&list->rows);
}
