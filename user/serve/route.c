// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of resources, and how a path is found in it. */
#include "serve/route.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "serve/ask.h"

const char *tapir_role__name(unsigned i)
{
	static const char *const names[] = {"view", "profile", "admin"};

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
}

enum tapir_role tapir_role__find(const char *name)
{
	for (unsigned i = 0; tapir_role__name(i); i++)
		if (!strcmp(tapir_role__name(i), name))
			return (enum tapir_role)(i + 1);
	return TAPIR_ROLE_NONE;
}

const struct tapir_route tapir_routes[TAPIR_ROUTE_CNT] = {
	[TAPIR_ROUTE_HEALTHZ] = {"GET",
				 "/healthz",
				 TAPIR_ROLE_NONE,
				 false,
				 TAPIR_MIME_JSON,
				 "The agent answers.",
				 {}},
	[TAPIR_ROUTE_READYZ] = {"GET",
				"/readyz",
				TAPIR_ROLE_NONE,
				false,
				TAPIR_MIME_JSON,
				"The agent accepts recordings now; 503 while its limits are "
				"reached.",
				{}},
	[TAPIR_ROUTE_OPENAPI] = {"GET",
				 "/v1/openapi.json",
				 TAPIR_ROLE_NONE,
				 false,
				 TAPIR_MIME_JSON,
				 "This description.",
				 {}},
	[TAPIR_ROUTE_PROCESSES] = {"GET",
				   "/v1/processes",
				   TAPIR_ROLE_VIEW,
				   false,
				   TAPIR_MIME_JSON,
				   "Processes that have something to record, as 'tapir ps' lists "
				   "them.",
				   {tapir_params_processes}},
	[TAPIR_ROUTE_PROCESS] = {"GET",
				 "/v1/processes/{pid}",
				 TAPIR_ROLE_VIEW,
				 false,
				 TAPIR_MIME_JSON,
				 "One process: its probes and events, what can be recorded and "
				 "what cannot.",
				 {}},
	[TAPIR_ROUTE_PROFILE] = {"GET",
				 "/v1/profile",
				 TAPIR_ROLE_PROFILE,
				 false,
				 TAPIR_MIME_BINARY,
				 "Records for some seconds; the answer is the recording.",
				 {tapir_params_target, tapir_params_capture, tapir_params_format}},
};

/* Compares one segment of the template with one of the path; both are moved behind it. */
static bool take_segment(const char **template, const char **path, char *arg)
{
	size_t template_len = strcspn(*template, "/"), path_len = strcspn(*path, "/");

	if (**template == '{') {
		if (!path_len || path_len >= TAPIR_ROUTE_ARG_BYTES)
			return false;
		memcpy(arg, *path, path_len);
		arg[path_len] = '\0';
	} else if (template_len != path_len || memcmp(*template, *path, path_len)) {
		return false;
	}
	*template += template_len;
	*path += path_len;
	return true;
}

static bool is_path(const char *template, const char *path, char *arg)
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

int tapir_route__find(const char *method, const char *path, struct tapir_route_match *out)
{
	size_t len = 0;

	*out = (struct tapir_route_match){};
	for (size_t i = 0; i < TAPIR_ROUTE_CNT; i++) {
		const struct tapir_route *r = &tapir_routes[i];

		if (!is_path(r->path, path, out->arg))
			continue;
		out->id = (enum tapir_route_id)i;
		if (!strcmp(r->method, method))
			return 0;
		len += (size_t)snprintf(out->allowed + len, sizeof(out->allowed) - len, "%s%s",
					len ? ", " : "", r->method);
	}
	return len ? -EOPNOTSUPP : -ENOENT;
}

const struct tapir_param *tapir_route__param(const struct tapir_route *route, const char *name)
{
	for (size_t t = 0; t < TAPIR_ROUTE_MAX_TABLES && route->params[t]; t++)
		for (const struct tapir_param *p = route->params[t]; p->name; p++)
			if (!strcmp(p->name, name))
				return p;
	return NULL;
}
