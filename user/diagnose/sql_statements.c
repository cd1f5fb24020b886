// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the statements for which threads work; see finding_cpu_activity.h. A database's process
 * executes one statement at a time, so its CPU time is that statement's; where a begin was lost,
 * the text is the one that its memory has.
 */
#include <string.h>

#include "analyze/statement_text.h"
#include "base/keyed.h"
#include "decode/postgresql_text.h"
#include "diagnose/diagnosis_impl.h"

#define MAX_PROCESSES 65536u

void tapir_finding_cpu_activity__call(struct tapir_diagnosis *f, const struct tapir_rec *rec)
{
	struct tapir_wait_view wait;
	struct tapir_str text = {};
	struct tapir_open_statement *begun;

	tapir_wait_view__of(rec, &wait);
	if (!wait.statement.len)
		return;
	begun = tapir_keyed__get(&f->cpu_activities.begun, wait.rec->tid);
	tapir_statement_text__add(wait.statement, &text);
	if (!begun && text.data &&
	    tapir_keyed__add(&f->cpu_activities.begun, wait.rec->tid, MAX_PROCESSES,
			     ((struct tapir_open_statement){.text = text.data})))
		return;
	if (begun && !begun->has_ended && text.data && !strcmp(begun->text, text.data))
		begun->is_seen_again = true;
	tapir_str__fini(&text);
}

void tapir_finding_cpu_activity__close(struct tapir_diagnosis *f, const struct tapir_interval *i)
{
	const struct tapir_interval_kind *kinds = tapir_timeline__pairs(f->tl)->kinds.data;
	struct tapir_open_statement *begun =
		f->cpu_activities.begun.cnt && tapir_finding_requests__is_one(&kinds[i->kind])
			? tapir_keyed__get(&f->cpu_activities.begun, i->tid)
			: NULL;

	if (begun)
		begun->has_ended = true;
}

/* Are there events by which its end is known? */
static bool has_ends(const struct tapir_diagnosis *f)
{
	const struct tapir_interval_kind *kind;

	tapir_vec_for_each (kind, &tapir_timeline__pairs(f->tl)->kinds)
		if (tapir_finding_requests__is_one(kind))
			return true;
	return false;
}

bool tapir_finding_cpu_activity__is_confirmed(const struct tapir_diagnosis *f,
					      const char *statement)
{
	const struct tapir_open_statement *begun;

	if (has_ends(f))
		return true;
	tapir_vec_for_each (begun, &f->cpu_activities.begun)
		if (!begun->is_seen_again && !strcmp(begun->text, statement))
			return false;
	return true;
}

static bool add_begun(const struct tapir_diagnosis *f, uint32_t tid, struct tapir_str *out)
{
	const struct tapir_open_statement *begun = tapir_keyed__get(&f->cpu_activities.begun, tid);

	if (!begun || begun->has_ended)
		return false;
	tapir_str__adds(out, begun->text);
	return true;
}

static bool add_statement_of(struct tapir_diagnosis *f, uint32_t tid, struct tapir_str *out)
{
	const struct tapir_tl_thread *thread = tapir_timeline__thread(f->tl, tid);
	const struct tapir_interval_kind *kinds = tapir_timeline__pairs(f->tl)->kinds.data;
	const struct tapir_interval *i = thread ? thread->open : NULL;

	while (i && (!i->label || !tapir_finding_requests__is_one(&kinds[i->kind])))
		i = i->outer;
	if (!i)
		return add_begun(f, tid, out);
	tapir_statement_text__add(tapir_sv__of(i->label), out);
	return true;
}

/* The record holds until the catalog learns something: no later one is known. */
static bool is_last(const struct tapir_catalog *catalog, uint32_t tgid,
		    const struct tapir_rec_process *rec)
{
	return tapir_catalog__process(catalog, tgid, UINT64_MAX) == rec;
}

/*
 * Adds the work of a server's process that works for another one, or for the server, by its title.
 * It is requested for each sample, and most processes have none.
 */
static void add_by_title(struct tapir_diagnosis *f, uint32_t tgid, struct tapir_str *out)
{
	const struct tapir_catalog *catalog = tapir_timeline__catalog(f->tl);
	struct tapir_untitled *known = &f->cpu_activities.untitled[tgid % TAPIR_UNTITLED];
	uint64_t version = tapir_catalog__version(catalog);
	const struct tapir_rec_process *rec;
	struct tapir_process_view view;
	struct tapir_sv app;
	uint32_t leader;

	if (known->tgid == tgid && known->version == version)
		return;
	rec = tapir_catalog__process(catalog, tgid, tapir_timeline__stats(f->tl)->last_ns);
	if (!rec) {
		if (is_last(catalog, tgid, NULL))
			*known = (struct tapir_untitled){version, tgid};
		return;
	}
	tapir_process_view__of(&rec->h, &view);
	app = tapir_postgresql_title__autovacuum(view.cmdline);
	leader = tapir_postgresql_title__leader(view.cmdline);
	tapir_str__add_printable(out, app.data, app.len);
	if (!app.len && leader &&
	    rec->ns_tgid == rec->tgid) /* else it counts as its namespace does */
		(void)add_statement_of(f, leader, out);
	if (!app.len && !leader && is_last(catalog, tgid, rec))
		*known = (struct tapir_untitled){version, tgid};
}

bool tapir_finding_cpu_activity__statement(struct tapir_diagnosis *f, uint32_t tid,
					   struct tapir_str *out)
{
	if (!add_statement_of(f, tid, out))
		add_by_title(f, tid, out);
	return out->len && !out->failed;
}

void tapir_finding_cpu_activity__add_statement(struct tapir_diagnosis *f, uint32_t tid,
					       struct tapir_label_sums *statements, uint64_t weight)
{
	struct tapir_str text = {};

	if (tapir_finding_cpu_activity__statement(f, tid, &text))
		tapir_label_sums__add(statements, 1, text.data, TAPIR_APP_CODE_NONE, weight);
	tapir_str__fini(&text);
}
