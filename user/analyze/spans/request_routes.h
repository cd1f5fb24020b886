/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * request_routes.h - requests by route: how many, how long, and where their time went, with what
 * they awaited. Fed with intervals as they open, are awaited and close, with awaits and with calls
 * on connections. If several sources report the requests of a process, the one with most details
 * counts: each request once. Bounded; one thread.
 */
#ifndef TAPIR_USER_REQUEST_ROUTES_H
#define TAPIR_USER_REQUEST_ROUTES_H

#include "analyze/awaits.h"
#include "analyze/exchange_sums.h"
#include "analyze/timeline.h"
#include "analyze/view_result.h"

/* Sources of requests. If a process has several, the last of them counts. */
enum tapir_request_source { TAPIR_REQUEST_OTHER, TAPIR_REQUEST_KESTREL, TAPIR_REQUEST_DIAGNOSTICS };

/* Returns of which server or client the requests of a kind are. */
enum tapir_request_source tapir_request__source(const struct tapir_interval_kind *kind);

struct tapir_request_routes;

/* Sources of the names of awaits and peers, once they are complete; borrowed. */
struct tapir_request_names {
	const struct tapir_awaits *awaits;	     /* finished */
	const struct tapir_exchange_sums *exchanges; /* NULL: none */
};

struct tapir_request_routes *
tapir_request_routes__new(struct tapir_timeline *tl); /* NULL: memory */
void tapir_request_routes__free(struct tapir_request_routes *r);

/* Intervals of other kinds than requests and calls of other servers are ignored. */
void tapir_request_routes__open(struct tapir_request_routes *r, const struct tapir_interval *i);
/* For ns, up to now, no thread worked for it. */
void tapir_request_routes__awaited(struct tapir_request_routes *r, const struct tapir_interval *i,
				   uint64_t ns);
void tapir_request_routes__close(struct tapir_request_routes *r, const struct tapir_interval *i);
/* An await of the request has ended: as tapir_awaits has it, whose .ended this can be. */
void tapir_request_routes__await(void *routes, uint64_t request,
				 const struct tapir_await_span *span);
/*
 * An event: a wait for a connection is a part of the request, and what it awaits from a statement
 * on is the statement. Others are ignored.
 */
void tapir_request_routes__event(struct tapir_request_routes *r,
				 const struct tapir_tl_thread *thread,
				 const struct tapir_probe_view *probe,
				 const struct tapir_event_view *event);
/* An answered call on a connection that its process opened; row: of the sums that names it. */
void tapir_request_routes__exchange(struct tapir_request_routes *r,
				    const struct tapir_rec_exchange *rec, uint32_t row);
/* A statement of a database that requests await. */
struct tapir_awaited_statement {
	const char *text;		     /* normalized; borrowed from the routes */
	const struct tapir_await_site *site; /* that awaits it most; NULL: not known */
	uint64_t cnt, sum_ns;
	uint64_t ns;	      /* of the requests' time */
	uint64_t request_cnt; /* of the routes that await it */
	uint64_t requests_ns; /* of all requests of that kind */
};

/*
 * Finds the one that has most of the time of the requests of a kind, after the last record; before
 * __finish. False: they await none.
 */
bool tapir_request_routes__statement(const struct tapir_request_routes *r, uint32_t kind,
				     const struct tapir_awaits *awaits,
				     struct tapir_awaited_statement *out);
/*
 * Adds, after the last one, the headline, the facts, the tables "routes" and "calls", of at most
 * top rows, and notes. False: there was no request and no call; then only facts and notes are
 * added.
 */
bool tapir_request_routes__finish(struct tapir_request_routes *r,
				  const struct tapir_request_names *names,
				  struct tapir_view_result *result, uint64_t top);

#endif
