// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The requests that forms of pages make to the agent. Each must carry the token of its form, so
 * that a page of another site cannot send one in a visitor's name.
 */
#include <stdio.h>
#include <string.h>

#include "agent/pages/html.h"
#include "agent/pages/pages.h"
#include "agent/front_checks.h"
#include "agent/front_page_data.h"

#define FORM "application/x-www-form-urlencoded"

/* The fields of the form, without the one named name, whose value is returned; "": it has none. */
static const char *take_form_value(struct tapir_wire_request *rq, const char *name)
{
	for (size_t i = 0; i < rq->pair_cnt; i++) {
		const char *value = rq->pairs[i].value;

		if (strcmp(rq->pairs[i].name, name) != 0)
			continue;
		memmove(&rq->pairs[i], &rq->pairs[i + 1],
			(--rq->pair_cnt - i) * sizeof(rq->pairs[i]));
		return value;
	}
	return "";
}

static bool read_form(struct tapir_page_job *job, struct tapir_wire_request *rq)
{
	const char *type =
		tapir_mhd.lookup_connection_value(job->connection, MHD_HEADER_KIND, "Content-Type");
	struct tapir_http_exchange *exchange =
		(struct tapir_http_exchange *)job->exchange; /* its body is ours */
	int cnt = 0;

	if (exchange->body && (!type || strncmp(type, FORM, strlen(FORM)) != 0)) {
		tapir_page_job__refuse(job, 415, "The form is not " FORM ".");
		return false;
	}
	if (exchange->body)
		cnt = tapir_front__parse_form(exchange->body, rq->pairs, TAPIR_WIRE_MAX_PAIRS);
	if (cnt < 0) {
		tapir_page_job__refuse(job, 400, "The form has too many fields.");
		return false;
	}
	rq->pair_cnt = (size_t)cnt;
	rq->flags = TAPIR_WIRE_IS_FORM;
	snprintf(exchange->csrf, sizeof(exchange->csrf), "%s", take_form_value(rq, "csrf"));
	return true;
}

void tapir_page_form__start_session(struct tapir_page_job *job)
{
	struct tapir_wire_request rq = {.route = TAPIR_ROUTE_SESSION_BEGIN};
	struct tapir_page_doc answer;

	if (!read_form(job, &rq))
		return;
	if (rq.pair_cnt == TAPIR_WIRE_MAX_PAIRS) {
		tapir_page_job__refuse(job, 400, "The form has too many fields.");
		return;
	}
	rq.pairs[rq.pair_cnt++] = (struct tapir_wire_pair){"pid", job->exchange->match.arg};
	tapir_page_doc__ask(job, &answer, &rq);
	(void)tapir_page_doc__take(job, &answer);
	if (answer.head.status == 201 && strlen(answer.head.location) > 3)
		tapir_page_job__redirect(job, answer.head.location + 3); /* without "/v1" */
	else
		tapir_page_job__fail(job, &answer);
	tapir_page_doc__fini(&answer);
}

static void end_session(struct tapir_page_job *job, enum tapir_route_id route, const char *then)
{
	struct tapir_wire_request rq = {};
	struct tapir_page_doc answer;

	if (!read_form(job, &rq))
		return;
	rq.route = (uint16_t)route;
	rq.path_arg = job->exchange->match.arg;
	if (rq.pair_cnt == TAPIR_WIRE_MAX_PAIRS) {
		tapir_page_job__refuse(job, 400, "The form has too many fields.");
		return;
	}
	rq.pairs[rq.pair_cnt++] = (struct tapir_wire_pair){"format", "none"};
	tapir_page_doc__ask(job, &answer, &rq);
	/* A session that failed has no trace, and is removed all the same. */
	if (tapir_page_doc__take(job, &answer) || answer.head.status == 409)
		tapir_page_job__redirect(job, then);
	else
		tapir_page_job__fail(job, &answer);
	tapir_page_doc__fini(&answer);
}

void tapir_page_form__stop_session(struct tapir_page_job *job)
{
	char path[96];

	snprintf(path, sizeof(path), "/sessions/%.64s", job->exchange->match.arg);
	end_session(job, TAPIR_ROUTE_SESSION_STOP, path);
}

void tapir_page_form__delete_session(struct tapir_page_job *job)
{
	end_session(job, TAPIR_ROUTE_SESSION_DELETE, "/sessions");
}

/* ---- signing in ----------------------------------------------------------------------------- */

void tapir_page_form__show_login(struct tapir_page_job *job)
{
	const char *next =
		tapir_mhd.lookup_connection_value(job->connection, MHD_GET_ARGUMENT_KIND, "next");

	tapir_page__login(&job->out, "", next && tapir_front__is_local_path(next) ? next : "/");
}

static void take_cookie(struct tapir_page_job *job, const struct tapir_page_doc *answer)
{
	snprintf(job->cookie_text, sizeof(job->cookie_text), "%s", answer->head.cookie);
	job->cookie = job->cookie_text;
}

void tapir_page_form__sign_in(struct tapir_page_job *job)
{
	struct tapir_wire_request rq = {}, login = {.route = TAPIR_ROUTE_LOGIN};
	struct tapir_http_exchange *exchange = (struct tapir_http_exchange *)job->exchange;
	struct tapir_page_doc answer;
	const char *next;

	if (!read_form(job, &rq))
		return;
	next = take_form_value(&rq, "next");
	if (!tapir_front__is_local_path(next))
		next = "/";
	snprintf(exchange->token, sizeof(exchange->token), "%s", take_form_value(&rq, "token"));
	tapir_page_doc__ask(job, &answer, &login);
	if (tapir_page_doc__take(job, &answer)) {
		take_cookie(job, &answer);
		tapir_page_job__redirect(job, next);
	} else {
		const char *error = tapir_member__text(answer.json, "error");

		tapir_page__login(&job->out, *error ? error : "The agent gave no answer.", next);
		job->status = answer.head.status == 429 ? 429 : 403;
		job->retry_s = answer.head.retry_s;
	}
	tapir_page_doc__fini(&answer);
}

void tapir_page_form__sign_out(struct tapir_page_job *job)
{
	struct tapir_wire_request rq = {};
	struct tapir_page_doc answer;

	if (!read_form(job, &rq))
		return;
	rq.route = TAPIR_ROUTE_LOGOUT;
	tapir_page_doc__ask(job, &answer, &rq);
	if (tapir_page_doc__take(job, &answer)) {
		take_cookie(job, &answer);
		tapir_page_job__redirect(job, "/login");
	} else {
		tapir_page_job__fail(job, &answer);
	}
	tapir_page_doc__fini(&answer);
}
