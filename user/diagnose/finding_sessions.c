// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See finding_sessions.h. The last snapshot that saw a session decides: a session that was idle
 * then, and has slept for its client since, was idle until the recording ended.
 */
#include "diagnose/finding_sessions.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/statement_text.h"
#include "analyze/view.h"
#include "base/keyed.h"
#include "decode/postgresql_text.h"
#include "diagnose/diagnosis_impl.h"

#define MAX_SESSIONS 65536u

/* text: empty, it is not idle */
static void keep_session_text(struct tapir_diagnosis *f, uint32_t tid, uint64_t at_ns,
			      struct tapir_sv text, bool is_of_holder)
{
	struct tapir_postgresql_session session;
	struct tapir_idle_session *row;
	struct tapir_str statement = {};
	bool is_idle = tapir_postgresql_session__parse(text, &session);

	if (!is_idle && !f->sessions.rows.cnt)
		return;
	row = tapir_keyed__add(
		&f->sessions.rows, tid, MAX_SESSIONS,
		((struct tapir_idle_session){.tid = tid, .is_of_holder = is_of_holder}));
	if (!row)
		return;
	free(row->statement);
	*row = (struct tapir_idle_session){.tid = tid,
					   .is_of_holder = row->is_of_holder && is_of_holder};
	if (!is_idle)
		return;
	tapir_statement_text__add(session.statement, &statement);
	row->seen_ns = at_ns;
	row->transaction = session.transaction;
	row->transaction_ns = session.transaction_ns;
	row->idle_ns = session.idle_ns;
	row->statement = statement.data;
}

void tapir_finding_sessions__call(struct tapir_diagnosis *f, const struct tapir_rec *rec)
{
	struct tapir_wait_view wait;

	tapir_wait_view__of(rec, &wait);
	keep_session_text(f, wait.rec->tid, rec->time_ns, wait.session, false);
	if (wait.rec->owner_tid && wait.holder_session.len)
		keep_session_text(f, wait.rec->owner_tid, rec->time_ns, wait.holder_session, true);
}

/* The time for which the session had been idle when the recording ended; 0: it was not. */
static uint64_t idle_ns(struct tapir_diagnosis *f, const struct tapir_idle_session *row)
{
	const struct tapir_tl_thread *t =
		row && row->seen_ns ? tapir_timeline__thread(f->tl, row->tid) : NULL;
	const struct tapir_lore_wait *wait;

	if (!t || t->is_gone || t->state != TAPIR_THREAD_SLEEPING || t->out_ns > row->seen_ns)
		return 0;
	wait = tapir_diagnosis__wait_at(f, t->offcpu_node);
	if (wait && !wait->is_common && strcmp(wait->reason, "client") != 0)
		return 0;
	return row->idle_ns + (tapir_timeline__stats(f->tl)->last_ns - row->seen_ns);
}

bool tapir_finding_sessions__add(struct tapir_diagnosis *f, uint32_t tid, struct tapir_str *out)
{
	const struct tapir_idle_session *row = tapir_keyed__get(&f->sessions.rows, tid);
	uint64_t ns = idle_ns(f, row);
	char text[TAPIR_NS_TEXT_BYTES];

	if (!ns)
		return false;
	tapir_str__addf(out, ", idle in transaction for %s", tapir_ns__text(ns, text));
	if (row->statement)
		tapir_str__addf(out, ", after %s", row->statement);
	return true;
}

static void judge_longest(struct tapir_diagnosis *f, const struct tapir_idle_session *longest,
			  size_t cnt, struct tapir_findings *list)
{
	uint64_t ns = idle_ns(f, longest);
	struct tapir_str who = {};

	tapir_diagnosis__add_thread_id(f, longest->tid, &who);
	TAPIR_JUDGE(f, list, IDLE_SESSIONS, .cnt = cnt, .other = longest->transaction,
		    .seconds = ns / 1e9, .ns = ns,
		    .since_ns = tapir_timeline__stats(f->tl)->last_ns - ns,
		    .own_ns = (double)(longest->transaction_ns - longest->idle_ns + ns),
		    .subject = longest->statement, .who = who);
}

void tapir_finding_sessions__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	const struct tapir_idle_session *row, *longest = NULL;
	size_t cnt = 0;

	tapir_vec_for_each (row, &f->sessions.rows) {
		uint64_t ns = row->is_of_holder ? 0 : idle_ns(f, row);

		cnt += tapir_finding__exceeds_threshold(TAPIR_FINDING_IDLE_SESSIONS,
							(double)ns / 1e9);
		if (ns && (!longest || ns > idle_ns(f, longest)))
			longest = row;
	}
	if (longest)
		judge_longest(f, longest, cnt, list);
}

void tapir_finding_sessions__fini(struct tapir_diagnosis *f)
{
	struct tapir_idle_session *row;

	tapir_vec_for_each (row, &f->sessions.rows)
		free(row->statement);
	tapir_keyed__fini(&f->sessions.rows);
}
