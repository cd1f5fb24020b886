// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages: which documents of the agent each needs, and what its forms ask the agent for. The agent
 * decides, as for any client, who may have and do what; a page is made of what it answers.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attach/proc.h"
#include "base/str.h"
#include "base/clock.h"
#include "agent/pages/assets.h"
#include "agent/pages/html.h"
#include "agent/pages/pages.h"
#include "output/render/flamegraph_svg.h"
#include "agent/front_checks.h"
#include "agent/front_page_data.h"

struct tapir_front_page {
	const char *method, *path;
	void (*run)(struct tapir_page_job *job); /* NULL: an asset */
	bool is_inner;				 /* only pages of the agent lead to it */
	bool is_open;				 /* without a visitor who is known */
};

/* ---- the list ------------------------------------------------------------------------------- */

/* Returns true if the list is requested with it: order and page number are only for the page. */
static bool note_filter(struct tapir_page_filter *filter, const struct tapir_wire_pair *given)
{
	const struct {
		const char *name, **value;
	} texts[] = {{"name", &filter->name},
		     {"runtime", &filter->runtime},
		     {"user", &filter->user},
		     {"container", &filter->container},
		     {"sort", &filter->sort}};

	for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
		if (!strcmp(given->name, texts[k].name))
			*texts[k].value = given->value;
	filter->all |= !strcmp(given->name, "all") && *given->value;
	if (!strcmp(given->name, "page"))
		(void)tapir_str__to_u64(given->value, 1, UINT32_MAX, &filter->page);
	return *given->value && strcmp(given->name, "sort") != 0 &&
	       strcmp(given->name, "page") != 0;
}

static void show_processes(struct tapir_page_job *job)
{
	struct tapir_wire_request rq = {.route = TAPIR_ROUTE_PROCESSES}, given = {};
	struct tapir_page_filter filter = {.name = "",
					   .runtime = "",
					   .user = "",
					   .container = "",
					   .sort = "",
					   .now_ms = tapir_clock__now_ns() / TAPIR_NS_PER_MS};
	struct tapir_page_doc list;

	uint32_t only_pid = tapir_front__only_pid(job->front, job->connection);

	if (only_pid) { /* a list of one */
		char path[32];

		snprintf(path, sizeof(path), "/processes/%u", only_pid);
		tapir_page_job__redirect(job, path);
		return;
	}
	tapir_front__add_query(job->connection, &given);
	if (given.pair_cnt > TAPIR_WIRE_MAX_PAIRS) {
		tapir_page_job__refuse(job, 400, "The address has too many parameters.");
		return;
	}
	for (size_t i = 0; i < given.pair_cnt; i++)
		if (note_filter(&filter, &given.pairs[i])) /* an empty field asks for nothing */
			rq.pairs[rq.pair_cnt++] = given.pairs[i];
	tapir_page_doc__ask(job, &list, &rq);
	if (tapir_page_doc__take(job, &list))
		tapir_page__processes(&job->out, job->caller.json, list.json, &filter);
	else
		tapir_page_job__fail(job, &list);
	tapir_page_doc__fini(&list);
}

/* ---- what a recording says ------------------------------------------------------------------ */

#define VIEW(name) {#name, offsetof(struct tapir_page_results, name)},
static const struct {
	const char *name;
	size_t document_off; /* in struct tapir_page_results */
} views[] = {TAPIR_PAGE_VIEWS(VIEW)};

#define VIEW_CNT (sizeof(views) / sizeof(views[0]))

struct results {
	struct tapir_page_doc findings, views[VIEW_CNT];
	struct tapir_page_results page;
};

static bool has_ended(const json_t *session)
{
	return tapir_member__is(session, "state", "finished") ||
	       tapir_member__is(session, "state", "cut");
}

static void ask_view(struct tapir_page_job *job, struct results *r, const char *id, size_t i)
{
	struct tapir_wire_request rq = {.route = TAPIR_ROUTE_SESSION_VIEW};
	char arg[TAPIR_ROUTE_ARG_BYTES];

	snprintf(arg, sizeof(arg), "%s/%s", id, views[i].name);
	rq.path_arg = arg;
	if (!strcmp(views[i].name, "gc")) /* all pauses, for the chart */
		rq.pairs[rq.pair_cnt++] = (struct tapir_wire_pair){"top", "2000"};
	tapir_page_doc__ask(job, &r->views[i], &rq);
}

/* For a session that has ended; what is not available is left out. */
static void take_results(struct tapir_page_job *job, struct results *r, const json_t *session)
{
	const char *id = tapir_member__text(session, "id");

	r->page.session = session;
	if (!has_ended(session))
		return;
	tapir_page_doc__get(job, &r->findings, TAPIR_ROUTE_SESSION_FINDINGS, id);
	for (size_t i = 0; i < VIEW_CNT; i++)
		ask_view(job, r, id, i);
	if (tapir_page_doc__take(job, &r->findings))
		r->page.findings = r->findings.json;
	for (size_t i = 0; i < VIEW_CNT; i++)
		if (tapir_page_doc__take(job, &r->views[i]))
			*(const json_t **)((char *)&r->page + views[i].document_off) =
				r->views[i].json;
}

static void init_results(struct results *r)
{
	*r = (struct results){.findings.fd = -1};
	for (size_t i = 0; i < VIEW_CNT; i++)
		r->views[i].fd = -1;
}

static void fini_results(struct results *r)
{
	tapir_page_doc__fini(&r->findings);
	for (size_t i = 0; i < VIEW_CNT; i++)
		tapir_page_doc__fini(&r->views[i]);
}

/* ---- one process ---------------------------------------------------------------------------- */

/* The address's "started"; "": it has none. */
static const char *started_of(const struct tapir_page_job *job)
{
	const char *text = tapir_mhd.lookup_connection_value(job->connection, MHD_GET_ARGUMENT_KIND,
							     "started");

	return text ? text : "";
}

/* Another process may have its number by now. */
static bool is_same_process(const struct tapir_page_job *job, const json_t *process)
{
	const char *text = started_of(job);
	uint64_t started;

	return !*text ||
	       (tapir_str__to_u64(text, 0, INT64_MAX, &started) &&
		tapir_proc__is_same_start(started, tapir_member__u64(process, "started")));
}

/* Sessions of this process, and not of one that had its number before. */
static json_t *sessions_of(const json_t *process, const json_t *sessions)
{
	json_t *out = json_array(), *s;
	size_t i;

	json_array_foreach(json_object_get(sessions, "sessions"), i,
			   s) if (tapir_member__u64(s, "pid") ==
					  tapir_member__u64(process, "pid") &&
				  tapir_proc__is_same_start(tapir_member__u64(s, "started"),
							    tapir_member__u64(process, "started")))
		json_array_append(out, s);
	return out;
}

static const json_t *latest_over(const json_t *sessions)
{
	for (size_t i = json_array_size(sessions); i-- > 0;)
		if (has_ended(json_array_get(sessions, i)))
			return json_array_get(sessions, i);
	return NULL;
}

static void make_process(struct tapir_page_job *job, const json_t *process, const json_t *all)
{
	json_t *sessions = sessions_of(process, all);
	const json_t *latest = latest_over(sessions);
	struct results results;

	init_results(&results);
	if (latest)
		take_results(job, &results, latest);
	tapir_page__process(&job->out, job->caller.json, process, sessions,
			    latest ? &results.page : NULL);
	fini_results(&results);
	json_decref(sessions);
}

/* A process that is not watched has no such counters, and nothing is recorded for them. */
static void ask_watched(struct tapir_page_job *job, struct tapir_page_doc *doc)
{
	struct tapir_wire_request rq = {
		.route = TAPIR_ROUTE_COUNTER,
		.path_arg = "*",
		.pairs = {{"pid", job->exchange->match.arg}, {"watched", "true"}},
		.pair_cnt = 2};

	tapir_page_doc__ask(job, doc, &rq);
}

static void show_process(struct tapir_page_job *job)
{
	struct tapir_page_doc process, sessions, watched;

	tapir_page_doc__get(job, &process, TAPIR_ROUTE_PROCESS, job->exchange->match.arg);
	ask_watched(job, &watched);
	tapir_page_doc__get(job, &sessions, TAPIR_ROUTE_SESSIONS, NULL);
	(void)tapir_page_doc__take(job, &sessions);
	if (tapir_page_doc__take(job, &process) && tapir_page_doc__take(job, &watched))
		json_object_set(process.json, "watched", watched.json);
	if (process.head.status != 200 || !process.json)
		tapir_page_job__fail(job, &process);
	else if (!is_same_process(job, process.json))
		tapir_page_job__refuse(job, 409, "Another process has this number by now.");
	else
		make_process(job, process.json, sessions.json);
	tapir_page_doc__fini(&process);
	tapir_page_doc__fini(&sessions);
	tapir_page_doc__fini(&watched);
}

static void show_stacks(struct tapir_page_job *job)
{
	struct tapir_wire_request rq = {.route = TAPIR_ROUTE_STACKS, .pair_cnt = 1};
	const char *started = started_of(job);
	struct tapir_page_doc stacks;

	rq.pairs[0] = (struct tapir_wire_pair){"pid", job->exchange->match.arg};
	if (*started)
		rq.pairs[rq.pair_cnt++] = (struct tapir_wire_pair){"started", started};
	tapir_page_doc__ask(job, &stacks, &rq);
	if (tapir_page_doc__take(job, &stacks))
		tapir_page__stacks(&job->out, job->caller.json, job->exchange->match.arg,
				   stacks.json);
	else
		tapir_page_job__fail(job, &stacks);
	tapir_page_doc__fini(&stacks);
}

/* ---- sessions ------------------------------------------------------------------------------- */

static void show_sessions(struct tapir_page_job *job)
{
	struct tapir_page_doc list;

	tapir_page_doc__get(job, &list, TAPIR_ROUTE_SESSIONS, NULL);
	if (tapir_page_doc__take(job, &list))
		tapir_page__sessions(&job->out, job->caller.json, list.json);
	else
		tapir_page_job__fail(job, &list);
	tapir_page_doc__fini(&list);
}

static void show_session(struct tapir_page_job *job)
{
	struct tapir_page_doc session;
	struct results results;

	init_results(&results);
	tapir_page_doc__get(job, &session, TAPIR_ROUTE_SESSION, job->exchange->match.arg);
	if (tapir_page_doc__take(job, &session)) {
		take_results(job, &results, session.json);
		tapir_page__session(&job->out, job->caller.json, &results.page);
	} else {
		tapir_page_job__fail(job, &session);
	}
	fini_results(&results);
	tapir_page_doc__fini(&session);
}

static void show_flamegraph(struct tapir_page_job *job)
{
	struct tapir_page_doc session;

	tapir_page_doc__get(job, &session, TAPIR_ROUTE_SESSION, job->exchange->match.arg);
	if (!tapir_page_doc__take(job, &session))
		tapir_page_job__fail(job, &session);
	else
		tapir_page__flamegraph(&job->out, job->caller.json, session.json);
	tapir_page_doc__fini(&session);
}

static bool has_parameter(const struct tapir_page_job *job, const char *name)
{
	return tapir_mhd.lookup_connection_value(job->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* A browser shrinks a picture to the frame; in a page it has its size, and the frame scrolls. */
static void put_into_page(struct tapir_page_job *job)
{
	const char *svg = job->out.data ? strstr(job->out.data, "<svg") : NULL;
	struct tapir_str page = {};

	if (!svg)
		return;
	tapir_str__adds(&page, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
			       "<title>Flame graph</title>\n");
	tapir_str__adds(&page, svg);
	tapir_str__fini(&job->out);
	job->out = page;
	job->mime = TAPIR_MIME_HTML;
}

/* The picture is a document of its own, whose script belongs to no site and can reach none. */
static void show_picture(struct tapir_page_job *job)
{
	struct tapir_wire_request rq = {.route = TAPIR_ROUTE_SESSION_TRACE,
					.path_arg = job->exchange->match.arg,
					.pair_cnt = 1};
	struct tapir_page_doc picture;

	rq.pairs[0] = (struct tapir_wire_pair){"format", "flamegraph"};
	tapir_page_doc__ask(job, &picture, &rq);
	if (tapir_page_doc__take(job, &picture)) {
		job->policy = tapir_flamegraph_policy;
		job->mime = TAPIR_MIME_SVG;
		job->out = picture.text;
		picture.text = (struct tapir_str){};
		if (has_parameter(job, "frame"))
			put_into_page(job);
	} else {
		tapir_page_job__fail(job, &picture);
	}
	tapir_page_doc__fini(&picture);
}

static void show_health(struct tapir_page_job *job)
{
	struct tapir_page_doc health, metrics;

	tapir_page_doc__get(job, &health, TAPIR_ROUTE_HEALTHZ, NULL);
	tapir_page_doc__get(job, &metrics, TAPIR_ROUTE_METRICS, NULL);
	(void)tapir_page_doc__take(job, &health);
	if (tapir_page_doc__take(job, &metrics))
		tapir_page__health(&job->out, job->caller.json, health.json, metrics.text.data);
	else
		tapir_page_job__fail(job, &metrics);
	tapir_page_doc__fini(&health);
	tapir_page_doc__fini(&metrics);
}

/* ---- the table ------------------------------------------------------------------------------ */

static const struct tapir_front_page pages[] = {
	{"GET", "/", show_processes, false, false},
	{"GET", "/processes/{pid}", show_process, false, false},
	{"GET", "/processes/{pid}/stacks", show_stacks, true, false},
	{"POST", "/processes/{pid}/record", tapir_page_form__start_session, true, false},
	{"GET", "/sessions", show_sessions, false, false},
	{"GET", "/sessions/{id}", show_session, false, false},
	{"GET", "/sessions/{id}/flamegraph", show_flamegraph, false, false},
	{"GET", "/sessions/{id}/flamegraph.svg", show_picture, true, false},
	{"POST", "/sessions/{id}/stop", tapir_page_form__stop_session, true, false},
	{"POST", "/sessions/{id}/delete", tapir_page_form__delete_session, true, false},
	{"GET", "/health", show_health, false, false},
	{"GET", "/login", tapir_page_form__show_login, false, true},
	{"POST", "/login", tapir_page_form__sign_in, true, true},
	{"POST", "/logout", tapir_page_form__sign_out, true, false},
	{"GET", "/assets/{name}", NULL, false, true},
};

int tapir_front_page__find(const char *method, const char *path, struct tapir_route_match *match,
			   const struct tapir_front_page **out)
{
	*match = (struct tapir_route_match){};
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		if (!tapir_route__is_path(pages[i].path, path, match->arg))
			continue;
		*out = &pages[i];
		if (!strcmp(pages[i].method, method))
			return 0;
		tapir_route__allow(match, pages[i].method);
	}
	return *match->allowed ? -EOPNOTSUPP : -ENOENT;
}

bool tapir_front_page__is_inner(const struct tapir_front_page *page)
{
	return page->is_inner;
}

static enum tapir_mime mime_of(const char *name)
{
	const char *dot = strrchr(name, '.');

	return !strcmp(dot, ".css")  ? TAPIR_MIME_CSS
	       : !strcmp(dot, ".js") ? TAPIR_MIME_JS
				     : TAPIR_MIME_SVG;
}

static enum MHD_Result answer_asset(struct tapir_front *front, struct MHD_Connection *connection,
				    const char *name)
{
	const struct tapir_asset *asset = tapir_asset__find(name);
	struct tapir_front_reply reply = {
		.status = 200, .policy = TAPIR_PAGE_POLICY, .is_static = true};

	if (!asset)
		return tapir_front__refuse(connection, 404, "no such file", NULL);
	reply.mime = mime_of(asset->name);
	reply.data = asset->data;
	reply.len = asset->len;
	return tapir_front__send(front, connection, &reply);
}

/* A visitor who is not known signs in first, and comes back to the page. */
static void ask_to_sign_in(struct tapir_page_job *job)
{
	char path[128];
	bool comes_back = !job->exchange->page->is_inner && strlen(job->url) < 64 &&
			  tapir_front__is_local_path(job->url);

	snprintf(path, sizeof(path), "/login%s%s", comes_back ? "?next=" : "",
		 comes_back ? job->url : "");
	tapir_page_job__redirect(job, path);
}

static void run_page(struct tapir_page_job *job)
{
	const struct tapir_front_page *page = job->exchange->page;

	if (page->is_open) {
		page->run(job);
		return;
	}
	tapir_page_doc__get(job, &job->caller, TAPIR_ROUTE_WHOAMI, NULL);
	if (tapir_page_doc__take(job, &job->caller))
		page->run(job);
	else if (job->caller.head.status == 401)
		ask_to_sign_in(job);
	else
		tapir_page_job__fail(job, &job->caller);
}

enum MHD_Result tapir_front_page__answer(struct tapir_front *front,
					 struct MHD_Connection *connection,
					 const struct tapir_http_exchange *exchange)
{
	struct tapir_page_job job = {.front = front,
				     .connection = connection,
				     .exchange = exchange,
				     .caller = {.fd = -1},
				     .status = 200,
				     .mime = TAPIR_MIME_HTML,
				     .policy = TAPIR_PAGE_POLICY};
	struct tapir_front_reply reply;
	enum MHD_Result result;

	/* A route without a function is a file of user/agent/assets. */
	if (!exchange->page->run)
		return answer_asset(front, connection, exchange->match.arg);
	job.url = exchange->url;
	run_page(&job);
	if (job.mime == TAPIR_MIME_HTML)
		tapir_page__mount(&job.out, tapir_front__root(front, connection));
	reply = (struct tapir_front_reply){.status = job.status,
					   .retry_s = job.retry_s,
					   .mime = job.mime,
					   .policy = job.policy,
					   .location = job.location,
					   .cookie = job.cookie,
					   .data = job.out.data ? job.out.data : "",
					   .len = job.out.len};
	/* MHD_NO closes the connection: half of a page would pass for all of it. */
	result = job.out.failed ? MHD_NO : tapir_front__send(front, connection, &reply);
	tapir_page_doc__fini(&job.caller);
	tapir_str__fini(&job.out);
	return result;
}
