/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * request_routes.h - requests by route: how many, how long, and where their time went. Fed with
 * intervals as they close. If several sources report the requests of a process, the one with most
 * details counts: each request once. Bounded; one thread.
 */
#ifndef TAPIR_USER_REQUEST_ROUTES_H
#define TAPIR_USER_REQUEST_ROUTES_H

#include "analyze/view_result.h"
#include "analyze/timeline.h"

/* Sources of requests. If a process has several, the last of them counts. */
enum tapir_request_source { TAPIR_REQUEST_OTHER, TAPIR_REQUEST_KESTREL, TAPIR_REQUEST_DIAGNOSTICS };

/* Returns of which server or client the requests of a kind are. */
enum tapir_request_source tapir_request__source(const struct tapir_kind *kind);

struct tapir_request_routes;

struct tapir_request_routes *
tapir_request_routes__new(struct tapir_timeline *tl); /* NULL: memory */
void tapir_request_routes__free(struct tapir_request_routes *r);

/* Intervals of other kinds than requests and calls of other servers are ignored. */
void tapir_request_routes__close(struct tapir_request_routes *r, const struct tapir_interval *i);
/*
 * Adds, after the last one, the headline, the facts, the tables "routes" and "calls", of at most
 * top rows, and notes. False: there was no request and no call; then only facts and notes are
 * added.
 */
bool tapir_request_routes__finish(struct tapir_request_routes *r, struct tapir_view_result *result,
				  uint64_t top);

#endif
