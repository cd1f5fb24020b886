// SPDX-License-Identifier: GPL-2.0-or-later
/* Conditions of --fail-on: how they are written, and whether a recording meets them. */
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

static bool find_kind(const char *text, size_t len, unsigned *kind)
{
	for (*kind = 0; *kind < TAPIR_FOUND_KIND_CNT; ++*kind)
		if (is_word(text, len, tapir_found__kind_name(*kind)))
			return true;
	return false;
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
	if (find_kind(c->text, c->name_len, &c->kind)) {
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
	else if (find_kind(c->text, c->len, &c->kind))
		c->subject = TAPIR_FAIL_KIND;
	else
		return bad(why, c,
			   "is not a condition: lost, gap, finding, gc:pause>50ms, exceptions>100");
	return 0;
}

int tapir_fail_on__parse(const char *text, struct tapir_fail_conditions *out, struct tapir_str *why)
{
	for (const char *p = text;; p++) {
		struct tapir_fail_condition c = {.text = p, .len = strcspn(p, ",")};
		int err;

		c.name_len = strcspn(p, ">,");
		err = parse_one(&c, why);
		if (err)
			return err;
		if (!tapir_vec__push(&out->rows, c))
			return -ENOMEM;
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

static bool judge_lost(const struct tapir_fail_condition *c, const struct tapir_report_view *v)
{
	uint64_t cnt = tapir_report__lost(v) + tapir_report__hidden(v);
	char fact[64];

	if (cnt) {
		snprintf(fact, sizeof(fact), "%" PRIu64 " record%s lost", cnt,
			 cnt == 1 ? " was" : "s were");
		fail_text(c, fact);
	} else if (v->stats->cut || tapir_reader_stats__is_damaged(v->stats)) {
		fail_text(c, "the file is cut or damaged");
		cnt = 1;
	}
	return cnt;
}

static bool judge_gap(const struct tapir_fail_condition *c, const struct tapir_report_view *v)
{
	char fact[64];

	snprintf(fact, sizeof(fact), "%" PRIu64 " gap%s", v->summary->gap_cnt,
		 v->summary->gap_cnt == 1 ? "" : "s");
	if (v->summary->gap_cnt)
		fail_text(c, fact);
	return v->summary->gap_cnt;
}

static bool judge_findings(const struct tapir_fail_condition *c, const struct tapir_report_view *v)
{
	const struct tapir_found *found;
	bool failed = false;

	tapir_vec_for_each (found, &v->findings->rows) {
		/* Neither is a fault of the program, unless it is asked for. */
		if (c->subject == TAPIR_FAIL_FINDING
			    ? found->kind == TAPIR_FOUND_IDLE || found->kind == TAPIR_FOUND_HEADERS
			    : found->kind != c->kind)
			continue;
		if (c->name_len < c->len && found->magnitude <= c->above)
			continue;
		fail_text(c, found->text);
		failed = true;
	}
	return failed;
}

static bool is_meant(const struct tapir_fail_condition *c, const struct tapir_kind *kind)
{
	char *name;
	bool is_it;

	if (is_word(c->text, c->name_len, PAUSE) && kind->cause == TAPIR_CAUSE_GC)
		return true;
	name = strndup(c->text, c->name_len);
	is_it = name && tapir_kind__is_called(kind, name);
	free(name);
	return is_it;
}

/* A name that is misspelled never fails otherwise. */
static bool judge_unseen(const struct tapir_fail_condition *c)
{
	struct tapir_kind known;
	const struct tapir_pair *p;
	bool is_known = is_word(c->text, c->name_len, PAUSE);

	for (size_t i = 0; !is_known && (p = tapir_lore__pair(i)); i++) {
		known = (struct tapir_kind){.provider = (char *)p->provider,
					    .name = (char *)p->kind};
		is_known = is_meant(c, &known);
	}
	if (is_known)
		tapir_warn("--fail-on %.*s: the recording has no such interval", (int)c->len,
			   c->text);
	else
		fail_text(c, "no event of this recording begins an interval of that name");
	return !is_known;
}

static bool judge_interval(const struct tapir_fail_condition *c, const struct tapir_report_view *v)
{
	const struct tapir_kind *kind;
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
	return is_seen ? failed : judge_unseen(c);
}

static bool judge_one(const struct tapir_fail_condition *c, const struct tapir_report_view *v)
{
	switch (c->subject) {
	case TAPIR_FAIL_LOST:
		return judge_lost(c, v);
	case TAPIR_FAIL_GAP:
		return judge_gap(c, v);
	case TAPIR_FAIL_FINDING:
	case TAPIR_FAIL_KIND:
		return judge_findings(c, v);
	case TAPIR_FAIL_INTERVAL:
		return judge_interval(c, v);
	}
	return false;
}

int tapir_fail_on__judge(const struct tapir_fail_conditions *conditions,
			 const struct tapir_report_view *view)
{
	const struct tapir_fail_condition *c;
	bool failed = false;

	tapir_vec_for_each (c, &conditions->rows)
		failed |= judge_one(c, view);
	return failed ? -ERANGE : 0;
}

void tapir_fail_on__fini(struct tapir_fail_conditions *conditions)
{
	tapir_vec__fini(&conditions->rows);
}
