// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See finding_statements.h. Statements are counted by their text without numbers, and by session:
 * only a session with many statements per second, most of them short, is a loop of a client. Waits
 * for the client within it show that the time is spent on the way.
 */
#include "diagnose/finding_statements.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/statement_text.h"
#include "base/keyed.h"
#include "diagnose/diagnosis_impl.h"

#define MAX_ROWS 65536u

static struct tapir_statement_session *session_of(struct tapir_diagnosis *f, uint32_t tid)
{
	struct tapir_statements *s = &f->statements;

	return tapir_keyed__add(&s->sessions, tid, MAX_ROWS,
				((struct tapir_statement_session){.tid = tid}));
}

static void count_statement(struct tapir_diagnosis *f, const char *label, uint64_t ns)
{
	struct tapir_statements *s = &f->statements;
	struct tapir_statement_row *row;
	struct tapir_str text = {};

	tapir_statement_text__add(tapir_sv__of(label), &text);
	row = text.len && !text.failed
		      ? tapir_keyed__add(&s->rows, tapir_hash__bytes(3, text.data, text.len),
					 MAX_ROWS, ((struct tapir_statement_row){}))
		      : NULL;
	if (row) {
		row->text = row->text ? row->text : strdup(text.data);
		row->cnt++;
		row->ns += ns;
	}
	tapir_str__fini(&text);
}

static bool is_statement_of(struct tapir_diagnosis *f, const struct tapir_interval *i,
			    const char *name)
{
	const struct tapir_interval_kind *kind = &tapir_timeline__pairs(f->tl)->kinds.data[i->kind];

	return kind->scope == TAPIR_PAIR_THREAD && !strcmp(kind->name, name);
}

/* A query; or what is executed without one, as prepared statements are, whose text no event has. */
static bool is_statement(struct tapir_diagnosis *f, const struct tapir_interval *i)
{
	const struct tapir_tl_thread *thread;
	const struct tapir_interval *open;

	if (!is_statement_of(f, i, "execute"))
		return is_statement_of(f, i, "query");
	thread = tapir_timeline__thread(f->tl, i->tid);
	for (open = thread ? thread->open : NULL; open; open = open->outer)
		if (is_statement_of(f, open, "query"))
			return false;
	return true;
}

void tapir_finding_statements__close(struct tapir_diagnosis *f, const struct tapir_interval *i)
{
	struct tapir_statement_session *session;

	if (i->flags & (TAPIR_INTERVAL_NO_BEGIN | TAPIR_INTERVAL_NO_END) ||
	    i->until_ns - i->from_ns > TAPIR_LIMIT_NS(STATEMENT_TIME) || !is_statement(f, i))
		return;
	session = session_of(f, i->tid);
	if (!session)
		return;
	session->cnt++;
	f->statements.cnt++;
	if (i->label)
		count_statement(f, i->label, i->until_ns - i->from_ns);
}

void tapir_finding_statements__wait(struct tapir_diagnosis *f, const struct tapir_wait *w)
{
	struct tapir_statement_session *session =
		f->statements.sessions.cnt && w->state
			? tapir_keyed__get(&f->statements.sessions, w->thread->tid)
			: NULL;
	const char *reason = session ? tapir_diagnosis__reason_at(f, w->node) : NULL;

	if (reason && !strcmp(reason, "client"))
		session->client_ns += w->wake_ns - w->from_ns;
}

/* Sums the sessions that are each as fast as a program that sends one statement after the other. */
static struct tapir_statement_session sum_sessions(const struct tapir_diagnosis *f, double seconds,
						   size_t *session_cnt)
{
	const struct tapir_statement_session *session;
	struct tapir_statement_session sum = {};

	*session_cnt = 0;
	tapir_vec_for_each (session, &f->statements.sessions) {
		if ((double)session->cnt < TAPIR_LIMIT(STATEMENT_LOOP) * seconds)
			continue;
		++*session_cnt;
		sum.cnt += session->cnt;
		sum.client_ns += session->client_ns;
	}
	return sum;
}

static const struct tapir_statement_row *top_statement(const struct tapir_statements *s)
{
	const struct tapir_statement_row *row, *top = NULL;

	tapir_vec_for_each (row, &s->rows)
		if (row->text && (!top || row->cnt > top->cnt))
			top = row;
	return top && TAPIR_IS_SHARE(DOMINANT, top->cnt, s->cnt) ? top : NULL;
}

void tapir_finding_statements__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	const struct tapir_statements *s = &f->statements;
	double seconds = (double)tapir_timeline__span_ns(f->tl) / 1e9;
	const struct tapir_statement_row *top = top_statement(s);
	size_t session_cnt;
	struct tapir_statement_session sum = sum_sessions(f, seconds, &session_cnt);
	uint64_t all_ns = session_cnt * tapir_timeline__switched_ns(f->tl);
	double client = tapir_diagnosis__percent(sum.client_ns, all_ns);

	TAPIR_JUDGE(f, list, STATEMENTS, .cnt = sum.cnt, .other = session_cnt,
		    /* The server's event of a prepared statement has its name, and no text. */
		    .note = s->rows.cnt ? NULL : ", which are prepared",
		    .percent = top ? tapir_diagnosis__percent(top->cnt, s->cnt) : 0,
		    .label = top ? top->text : NULL, .subject = top ? top->text : NULL,
		    .each_ms = top ? (double)top->ns / (double)top->cnt / 1e6 : 0,
		    .rest = client >= TAPIR_LIMIT(CLIENT_SHARE) ? client : 0);
}

void tapir_finding_statements__fini(struct tapir_diagnosis *f)
{
	struct tapir_statement_row *row;

	tapir_vec_for_each (row, &f->statements.rows)
		free(row->text);
	tapir_keyed__fini(&f->statements.rows);
	tapir_keyed__fini(&f->statements.sessions);
}
