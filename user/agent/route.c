// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of resources, and how a path is found in it. Segments are compared one by one; "{pid}"
 * takes any segment, which its reader judges.
 */
#include "agent/route.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/request_params.h"

const char *tapir_role__name(unsigned i)
{
	static const char *const names[] = {"view", "profile", "admin"};

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
}

enum tapir_client_role tapir_role__find(const char *name)
{
	for (unsigned i = 0; tapir_role__name(i); i++)
		if (!strcmp(tapir_role__name(i), name))
			return (enum tapir_client_role)(i + 1);
	return TAPIR_ROLE_NONE;
}

const struct tapir_route tapir_routes[TAPIR_ROUTE_CNT] = {
	[TAPIR_ROUTE_HEALTHZ] = {.method = "GET",
				 .path = "/healthz",
				 .role = TAPIR_ROLE_NONE,
				 .mime = TAPIR_MIME_JSON,
				 .description = "The agent answers."},
	[TAPIR_ROUTE_READYZ] =
		{.method = "GET",
		 .path = "/readyz",
		 .role = TAPIR_ROLE_NONE,
		 .mime = TAPIR_MIME_JSON,
		 .description =
			 "The agent accepts recordings now; 503 while its limits are reached."},
	[TAPIR_ROUTE_OPENAPI] = {.method = "GET",
				 .path = "/v1/openapi.json",
				 .role = TAPIR_ROLE_NONE,
				 .mime = TAPIR_MIME_JSON,
				 .description = "This description."},
	[TAPIR_ROUTE_PROCESSES] =
		{.method = "GET",
		 .path = "/v1/processes",
		 .role = TAPIR_ROLE_VIEW,
		 .mime = TAPIR_MIME_JSON,
		 .description =
			 "Processes that have something to record, as 'tapir ps' lists them.",
		 .params = {tapir_params_processes}},
	[TAPIR_ROUTE_PROCESS] =
		{.method = "GET",
		 .path = "/v1/processes/{pid}",
		 .role = TAPIR_ROLE_VIEW,
		 .mime = TAPIR_MIME_JSON,
		 .description =
			 "One process: its probes and events, what can be recorded and what cannot."},
	[TAPIR_ROUTE_PROFILE] = {.method = "GET",
				 .path = "/v1/profile",
				 .role = TAPIR_ROLE_PROFILE,
				 .is_action = true,
				 .mime = TAPIR_MIME_BINARY,
				 .description =
					 "Records for some seconds; the answer is the recording.",
				 .params = {tapir_params_target, tapir_params_capture,
					    tapir_params_format}},
	[TAPIR_ROUTE_PPROF] = {.method = "GET",
			       .path = "/debug/pprof/profile",
			       .role = TAPIR_ROLE_PROFILE,
			       .is_action = true,
			       .mime = TAPIR_MIME_BINARY,
			       .description = "As /v1/profile, for go tool pprof URL.",
			       .params = {tapir_params_target, tapir_params_capture}},
	[TAPIR_ROUTE_STACKS] = {.method = "GET",
				.path = "/v1/stacks",
				.role = TAPIR_ROLE_PROFILE,
				.is_action = true,
				.mime = TAPIR_MIME_JSON,
				.description = "What all threads of a process do now.",
				.params = {tapir_params_stacks}},
	[TAPIR_ROUTE_VIEW] =
		{.method = "GET",
		 .path = "/v1/views/{view}",
		 .role = TAPIR_ROLE_PROFILE,
		 .is_action = true,
		 .mime = TAPIR_MIME_JSON,
		 .description =
			 "Records for some seconds and answers one question, as 'tapir report --view' does.",
		 .params = {tapir_params_target, tapir_params_capture, tapir_params_view}},
	[TAPIR_ROUTE_FINDINGS] =
		{.method = "GET",
		 .path = "/v1/findings",
		 .role = TAPIR_ROLE_PROFILE,
		 .is_action = true,
		 .mime = TAPIR_MIME_JSON,
		 .description =
			 "Records for some seconds; what is wrong with the processes, ranked.",
		 .params = {tapir_params_target, tapir_params_capture}},
	[TAPIR_ROUTE_SESSIONS] =
		{.method = "GET",
		 .path = "/v1/sessions",
		 .role = TAPIR_ROLE_VIEW,
		 .mime = TAPIR_MIME_JSON,
		 .description = "Recordings that run or have ended: one's own; for admin all."},
	[TAPIR_ROUTE_SESSION_BEGIN] = {.method = "POST",
				       .path = "/v1/sessions",
				       .role = TAPIR_ROLE_PROFILE,
				       .has_body = true,
				       .is_action = true,
				       .mime = TAPIR_MIME_JSON,
				       .description =
					       "Begins a recording; Location is its resource.",
				       .params = {tapir_params_target, tapir_params_capture,
						  tapir_params_session}},
	[TAPIR_ROUTE_SESSION] = {.method = "GET",
				 .path = "/v1/sessions/{id}",
				 .role = TAPIR_ROLE_VIEW,
				 .mime = TAPIR_MIME_JSON,
				 .description = "State, counts and losses of one recording."},
	[TAPIR_ROUTE_SESSION_TRACE] = {.method = "GET",
				       .path = "/v1/sessions/{id}/trace",
				       .role = TAPIR_ROLE_VIEW,
				       .mime = TAPIR_MIME_BINARY,
				       .description = "The recording, once it has ended.",
				       .params = {tapir_params_format}},
	[TAPIR_ROUTE_SESSION_STOP] = {.method = "POST",
				      .path = "/v1/sessions/{id}/stop",
				      .role = TAPIR_ROLE_PROFILE,
				      .is_action = true,
				      .mime = TAPIR_MIME_BINARY,
				      .description =
					      "Ends a recording and answers with it; it is kept.",
				      .params = {tapir_params_format}},
	[TAPIR_ROUTE_SESSION_DELETE] = {.method = "DELETE",
					.path = "/v1/sessions/{id}",
					.role = TAPIR_ROLE_PROFILE,
					.is_action = true,
					.mime = TAPIR_MIME_BINARY,
					.description =
						"Ends a recording, answers with it and removes it.",
					.params = {tapir_params_format}},
	[TAPIR_ROUTE_SESSION_FINDINGS] =
		{.method = "GET",
		 .path = "/v1/sessions/{id}/findings",
		 .role = TAPIR_ROLE_VIEW,
		 .mime = TAPIR_MIME_JSON,
		 .description =
			 "What is wrong with the processes of a recording that has ended, ranked."},
	[TAPIR_ROUTE_SESSION_VIEW] =
		{.method = "GET",
		 .path = "/v1/sessions/{id}/views/{view}",
		 .role = TAPIR_ROLE_VIEW,
		 .mime = TAPIR_MIME_JSON,
		 .description = "One question, answered by a recording that has ended.",
		 .params = {tapir_params_view}},
	[TAPIR_ROUTE_WHOAMI] = {.method = "GET",
				.path = "/v1/whoami",
				.role = TAPIR_ROLE_VIEW,
				.mime = TAPIR_MIME_JSON,
				.description =
					"Name and role of the caller, and what its forms carry."},
	[TAPIR_ROUTE_LOGIN] =
		{.method = "POST",
		 .path = "/v1/login",
		 .role = TAPIR_ROLE_VIEW,
		 .is_action = true,
		 .mime = TAPIR_MIME_JSON,
		 .description = "Turns the token of the request into a cookie, for 12 hours."},
	[TAPIR_ROUTE_LOGOUT] = {.method = "POST",
				.path = "/v1/logout",
				.role = TAPIR_ROLE_VIEW,
				.is_action = true,
				.mime = TAPIR_MIME_JSON,
				.description = "Ends the login of the request's cookie."},
	[TAPIR_ROUTE_METRICS] =
		{.method = "GET",
		 .path = "/metrics",
		 .role = TAPIR_ROLE_VIEW,
		 .mime = TAPIR_MIME_METRICS,
		 .description =
			 "Figures of the agent and of the runtimes that it watches, as Prometheus reads them."},
	[TAPIR_ROUTE_QUESTIONS] =
		{.method = "GET",
		 .path = "/v1/questions",
		 .role = TAPIR_ROLE_PROFILE,
		 .is_action = true,
		 .mime = TAPIR_MIME_JSON,
		 .description =
			 "Records events or intervals for some seconds and adds them up, as 'tapir events --json' does.",
		 .params = {tapir_params_target, tapir_params_question}},
	[TAPIR_ROUTE_QUERY] =
		{.method = "GET",
		 .path = "/v1/query",
		 .role = TAPIR_ROLE_PROFILE,
		 .is_action = true,
		 .mime = TAPIR_MIME_JSON,
		 .description =
			 "Records for some seconds and answers a statement in SQL, as 'tapir query --json' does.",
		 .params = {tapir_params_target, tapir_params_capture, tapir_params_query}},
	[TAPIR_ROUTE_SESSION_QUERY] =
		{.method = "GET",
		 .path = "/v1/sessions/{id}/query",
		 .role = TAPIR_ROLE_VIEW,
		 .mime = TAPIR_MIME_JSON,
		 .description = "A statement in SQL, answered by a recording that has ended.",
		 .params = {tapir_params_query}},
	[TAPIR_ROUTE_REQUESTS] =
		{.method = "GET",
		 .path = "/v1/requests",
		 .role = TAPIR_ROLE_PROFILE,
		 .is_action = true,
		 .mime = TAPIR_MIME_JSON,
		 .description =
			 "Records for some seconds; the requests by route and what their time is made of, as 'tapir report --view requests --json' has them.",
		 .params = {tapir_params_target, tapir_params_capture, tapir_params_requests}},
	[TAPIR_ROUTE_SESSION_REQUESTS] =
		{.method = "GET",
		 .path = "/v1/sessions/{id}/requests",
		 .role = TAPIR_ROLE_VIEW,
		 .mime = TAPIR_MIME_JSON,
		 .description = "The requests by route of a recording that has ended.",
		 .params = {tapir_params_requests}},
	[TAPIR_ROUTE_SESSION_DIFF] =
		{.method = "GET",
		 .path = "/v1/sessions/{id}/diff",
		 .role = TAPIR_ROLE_VIEW,
		 .mime = TAPIR_MIME_JSON,
		 .description =
			 "What became slower or more from another recording to this one, as 'tapir diff --json' has it.",
		 .params = {tapir_params_diff}},
	[TAPIR_ROUTE_EVENTS] =
		{.method = "GET",
		 .path = "/v1/events",
		 .role = TAPIR_ROLE_PROFILE,
		 .is_action = true,
		 .mime = TAPIR_MIME_EVENTS,
		 .description =
			 "Events as they happen, as Server-Sent Events whose data 'tapir trace --json' prints; losses are among them.",
		 .params = {tapir_params_target, tapir_params_capture, tapir_params_events}},
	[TAPIR_ROUTE_COUNTERS] =
		{.method = "GET",
		 .path = "/v1/counters",
		 .role = TAPIR_ROLE_VIEW,
		 .is_action = true,
		 .mime = TAPIR_MIME_JSON,
		 .description =
			 "Counters of processes that the agent watches, now; of others, for role profile, their values over some seconds.",
		 .params = {tapir_params_target, tapir_params_counters}},
	[TAPIR_ROUTE_CONTINUOUS] =
		{.method = "GET",
		 .path = "/v1/continuous",
		 .role = TAPIR_ROLE_VIEW,
		 .mime = TAPIR_MIME_JSON,
		 .description = "The continuous recording: its size, window and files."},
	[TAPIR_ROUTE_FREEZE] =
		{.method = "POST",
		 .path = "/v1/continuous/freeze",
		 .role = TAPIR_ROLE_PROFILE,
		 .is_action = true,
		 .mime = TAPIR_MIME_JSON,
		 .description =
			 "Writes the last part of the continuous recording; it becomes a session of the caller."},
	[TAPIR_ROUTE_CONFIG] =
		{.method = "GET",
		 .path = "/v1/config",
		 .role = TAPIR_ROLE_ADMIN,
		 .mime = TAPIR_MIME_JSON,
		 .description =
			 "The agent's configuration as it is in effect, by the keys of its file."},
	[TAPIR_ROUTE_COUNTER] =
		{.method = "GET",
		 .path = "/v1/counters/{name}",
		 .role = TAPIR_ROLE_VIEW,
		 .is_action = true,
		 .mime = TAPIR_MIME_JSON,
		 .description =
			 "The counters of this name (glob), too; of watched processes with all values that are kept.",
		 .params = {tapir_params_target, tapir_params_counters}},
};

/* After those before it, with a slash between them. */
static bool add_arg(char *arg, const char *text, size_t text_len)
{
	size_t len = strlen(arg);

	if (len + text_len + 2 > TAPIR_ROUTE_ARG_BYTES)
		return false;
	snprintf(arg + len, TAPIR_ROUTE_ARG_BYTES - len, "%s%.*s", len ? "/" : "", (int)text_len,
		 text);
	return true;
}

/* Compares one segment of the template with one of the path; both are moved behind it. */
static bool take_segment(const char **template, const char **path, char *arg)
{
	size_t template_len = strcspn(*template, "/"), path_len = strcspn(*path, "/");

	if (**template == '{') {
		if (!path_len || !add_arg(arg, *path, path_len))
			return false;
	} else if (template_len != path_len || memcmp(*template, *path, path_len)) {
		return false;
	}
	*template += template_len;
	*path += path_len;
	return true;
}

bool tapir_route__is_path(const char *template, const char *path, char *arg)
{
	*arg = '\0';
	while (*template == '/' && *path == '/') {
		template ++;
		path++;
		if (!take_segment(&template, &path, arg))
			return false;
	}
	return !*template && !*path;
}

void tapir_route__allow(struct tapir_route_match *match, const char *method)
{
	size_t len = strlen(match->allowed);

	snprintf(match->allowed + len, sizeof(match->allowed) - len, "%s%s", len ? ", " : "",
		 method);
}

int tapir_route__find(const char *method, const char *path, struct tapir_route_match *out)
{
	*out = (struct tapir_route_match){};
	for (size_t i = 0; i < TAPIR_ROUTE_CNT; i++) {
		const struct tapir_route *r = &tapir_routes[i];

		if (!tapir_route__is_path(r->path, path, out->arg))
			continue;
		out->id = (enum tapir_route_id)i;
		if (!strcmp(r->method, method))
			return 0;
		tapir_route__allow(out, r->method);
	}
	return *out->allowed ? -EOPNOTSUPP : -ENOENT;
}
