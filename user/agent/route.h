/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * route.h - every resource of the agent in one table: method, path, role, parameters. The HTTP
 * process finds a route by it, the agent checks a request by it, and the OpenAPI document is
 * written from it. No state; any thread.
 */
#ifndef TAPIR_USER_ROUTE_H
#define TAPIR_USER_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/role.h"
#include "agent/wire.h"

enum tapir_route_id {
	TAPIR_ROUTE_HEALTHZ,
	TAPIR_ROUTE_READYZ,
	TAPIR_ROUTE_OPENAPI,
	TAPIR_ROUTE_PROCESSES,
	TAPIR_ROUTE_PROCESS,
	TAPIR_ROUTE_PROFILE,
	TAPIR_ROUTE_PPROF,
	TAPIR_ROUTE_STACKS,
	TAPIR_ROUTE_VIEW,
	TAPIR_ROUTE_FINDINGS,
	TAPIR_ROUTE_SESSIONS,
	TAPIR_ROUTE_SESSION_BEGIN,
	TAPIR_ROUTE_SESSION,
	TAPIR_ROUTE_SESSION_TRACE,
	TAPIR_ROUTE_SESSION_STOP,
	TAPIR_ROUTE_SESSION_DELETE,
	TAPIR_ROUTE_METRICS,
	TAPIR_ROUTE_EVENTS,
	TAPIR_ROUTE_COUNTERS,
	TAPIR_ROUTE_COUNTER,
	TAPIR_ROUTE_WHOAMI,
	TAPIR_ROUTE_LOGIN,
	TAPIR_ROUTE_LOGOUT,
	TAPIR_ROUTE_SESSION_FINDINGS,
	TAPIR_ROUTE_SESSION_VIEW,
	TAPIR_ROUTE_CONTINUOUS,
	TAPIR_ROUTE_FREEZE,
	TAPIR_ROUTE_CONFIG,
	TAPIR_ROUTE_QUESTIONS,
	TAPIR_ROUTE_QUERY,
	TAPIR_ROUTE_SESSION_QUERY,
	TAPIR_ROUTE_REQUESTS,
	TAPIR_ROUTE_SESSION_REQUESTS,
	TAPIR_ROUTE_SESSION_DIFF,
	TAPIR_ROUTE_CNT,
};

/* The type of a parameter at its offset in struct tapir_request_params (request_params.h). */
enum tapir_param_kind {
	TAPIR_PARAM_PIDS,     /* struct tapir_pids; repeatable */
	TAPIR_PARAM_U64,      /* uint64_t in [min, max] */
	TAPIR_PARAM_DURATION, /* uint64_t ns in [min, max]; "10", "0.5", "500ms" */
	TAPIR_PARAM_TEXT,     /* const char * */
	TAPIR_PARAM_LIST,     /* struct tapir_words; repeatable */
	TAPIR_PARAM_FLAG,     /* bool: "true", "1", "" or "false", "0" */
	TAPIR_PARAM_CHOICE,   /* const char *, one of value */
	TAPIR_PARAM_CHOICES,  /* struct tapir_words, each one of value */
};

struct tapir_param {
	const char *name; /* NULL ends a table */
	enum tapir_param_kind kind;
	size_t offset;
	const char *description; /* half a line, for the OpenAPI document */
	uint64_t min, max;
	const char *(*value)(size_t i); /* of CHOICE: the i-th; NULL after the last */
};

#define TAPIR_ROUTE_MAX_TABLES 4

struct tapir_route {
	/* "{x}" in path is one segment: the path's argument; two of them make "FIRST/SECOND" */
	const char *method, *path;
	enum tapir_client_role role; /* at least */
	bool has_body;		     /* JSON with the same parameters */
	bool is_action;		     /* it starts, ends or removes something: logged */
	enum tapir_mime mime;	     /* of a successful answer; others where a format is chosen */
	const char *description;     /* a sentence, for the OpenAPI document */
	const struct tapir_param *params[TAPIR_ROUTE_MAX_TABLES]; /* ended by NULL if fewer */
};

extern const struct tapir_route tapir_routes[TAPIR_ROUTE_CNT];

#define TAPIR_ROUTE_ARG_BYTES 128

struct tapir_route_match {
	enum tapir_route_id id;
	char arg[TAPIR_ROUTE_ARG_BYTES]; /* of the path; "": it has none */
	char allowed[32];		 /* methods of this path, after -EOPNOTSUPP */
};

/*
 * Finds the resource of a method and a path. 0; -ENOENT: no such path; -EOPNOTSUPP: it has other
 * methods.
 */
int tapir_route__find(const char *method, const char *path, struct tapir_route_match *out);

/* Returns true if a path is of a template; the argument goes to arg, TAPIR_ROUTE_ARG_BYTES. */
bool tapir_route__is_path(const char *template, const char *path, char *arg);

/* Adds one more method to those of a path. */
void tapir_route__allow(struct tapir_route_match *match, const char *method);

#endif
