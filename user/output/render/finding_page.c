// SPDX-License-Identifier: GPL-2.0-or-later
/* The kinds of findings as people read them, from the table. */
#include "output/render/finding_page.h"

#include <string.h>

#include "diagnose/found.h"
#include "output/render/help_text.h"

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
static void add_number(double number, const char *unit, struct tapir_str *out)
{
	tapir_str__addf(out, "%.4g", number);
	if (*unit)
		tapir_str__addf(out, "%s%s", *unit == '1' ? "" : " ", unit + (*unit == '1'));
}

/* "from 5 % on, with severity 50, to 87 from 60 % on; critical from 34.7 % on" */
static void add_severity(const struct tapir_finding_kind *kind, struct tapir_str *out)
{
	double critical = tapir_found__magnitude_at(kind, TAPIR_FOUND_CRITICAL);

	tapir_str__adds(out, "from ");
	add_number(kind->least, kind->unit, out);
	tapir_str__addf(out, " on, with severity %g", kind->low);
	if (kind->severe > kind->least) {
		tapir_str__addf(out, "; %g from ", kind->high);
		add_number(kind->severe, kind->unit, out);
		tapir_str__adds(out, " on");
	}
	if (critical < 0)
		return;
	tapir_str__adds(out, "; critical from ");
	add_number(critical, kind->unit, out);
	tapir_str__adds(out, " on");
}

static void add_limit(const struct tapir_limit_row *limit, struct tapir_str *out)
{
	tapir_str__adds(out, limit->role == TAPIR_AT_MOST ? "at most " : "");
	add_number(limit->number, limit->unit, out);
	tapir_str__addf(out, "%s%s", *limit->what == ':' ? "" : " ", limit->what);
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
		tapir_str__addf(&text, "by %s", tapir_found__explainer(e));
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

static void add_text(struct tapir_str *out, const char *name, const char *value)
{
	struct tapir_str text = {};

	tapir_str__adds(&text, value);
	add_line(out, name, &text);
	tapir_str__fini(&text);
}

static void add_kind(unsigned i, struct tapir_str *out)
{
	const struct tapir_finding_kind *kind = &tapir_finding_kinds[i];
	struct tapir_str severity = {};
	size_t from = out->len + 1;

	tapir_str__addf(out, "\n%s: ", kind->name);
	tapir_text__add_wrapped(out, from, tapir_text__sv(kind->claims), 2);
	tapir_str__addc(out, '\n');
	add_text(out, "measure", kind->measured);
	add_severity(kind, &severity);
	add_line(out, "report", &severity);
	tapir_str__fini(&severity);
	add_limits(i, out);
	add_explanations(i, out);
	add_text(out, "view", kind->view);
	add_text(out, "remedy", kind->remedy);
}

void tapir_finding_page__add(struct tapir_str *out)
{
	for (unsigned i = 0; i < TAPIR_FOUND_KIND_CNT; i++)
		add_kind(i, out);
	tapir_str__adds(out, "\nNumbers of several kinds:\n\n");
	add_limits(TAPIR_FOUND_KIND_CNT, out);
}
