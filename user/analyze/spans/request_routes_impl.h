/* SPDX-License-Identifier: GPL-2.0-or-later */
/* request_routes_impl.h - what the files of requests by route share: routes, and what they await.
 */
#ifndef TAPIR_USER_REQUEST_ROUTES_IMPL_H
#define TAPIR_USER_REQUEST_ROUTES_IMPL_H

#include "analyze/spans/request_routes.h"
#include "analyze/spans/request_waits.h"
#include "base/histogram.h"
#include "base/keyed.h"

enum tapir_request_part {
	TAPIR_REQUEST_CPU,
	TAPIR_REQUEST_RUNNABLE,
	TAPIR_REQUEST_ASLEEP,
	TAPIR_REQUEST_LOCK,
	TAPIR_REQUEST_IO,
	TAPIR_REQUEST_GC,
	TAPIR_REQUEST_STOP,
	TAPIR_REQUEST_JIT,
	TAPIR_REQUEST_AWAITED, /* without a dependency */
	TAPIR_REQUEST_INSIDE,
	TAPIR_REQUEST_QUEUED,
	TAPIR_REQUEST_UNKNOWN,
	TAPIR_REQUEST_PART_CNT
};

struct tapir_route_sum {
	uint32_t tgid, kind;
	uint8_t source;
	bool is_call;
	char *name; /* owned */
	uint64_t cnt, half_cnt, attach_cnt, nested_cnt, sum_ns;
	uint64_t error_cnt, status_cnt; /* status_cnt: requests whose status is known */
	uint64_t first_ns;
	uint64_t parts[TAPIR_REQUEST_PART_CNT];
	struct tapir_histogram *took; /* owned */
};

struct tapir_one_request {
	uint32_t route;
	uint64_t took_ns;
	uint64_t parts[TAPIR_REQUEST_PART_CNT];
	uint32_t status; /* 0: not known */
	uint32_t first_use, use_cnt;
};

/* A dependency: requests of a route await it, at one call site or of one peer. */
struct tapir_dependency {
	uint32_t route, site, peer;
	uint64_t cnt, sum_ns, ns; /* ns: of the requests' time, divided among all that they await */
	uint64_t request_cnt;	  /* with at least one */
	uint64_t parallel_cnt;	  /* of cnt: while others of its request went on */
	/* In requests with several in parallel: how many, and the longest of each. */
	uint64_t group_cnt, group_calls, group_ns, longest_ns;
	uint64_t slow_ns; /* of ns: in the slowest hundredth */
	/* of the request at hand */
	uint64_t now_cnt, now_ns, now_longest_ns, now_parallel_cnt;
};

struct tapir_request_use {
	uint32_t dependency;
	uint64_t ns;
};

struct tapir_request_peer {
	char *text;	   /* owned; NULL: that of a row of the exchanges */
	bool is_statement; /* the text is one of a database */
	uint32_t exchange; /* the row */
};

/* A request that has not ended. */
struct tapir_open_request {
	const struct tapir_interval *interval; /* the timeline's */
	struct tapir_request_waits waits;
	uint64_t rider; /* map_key of a request that is part of it */
};

#define TAPIR_PEER_QUEUE    (TAPIR_NO_PEER - 1) /* as a dependency's peer: waits for a connection */

#define TAPIR_REQUESTS_KEPT 65536u /* requests whose parts are kept */
#define TAPIR_REQUEST_TAKEN 8u

/* The requests that a thread has taken up last. */
struct tapir_request_taken {
	uint64_t at_ns, request; /* map_key; 0: none */
};

struct tapir_request_thread {
	struct tapir_request_taken taken[TAPIR_REQUEST_TAKEN];
	unsigned next;
};

struct tapir_request_routes {
	struct tapir_timeline *tl;
	struct tapir_keyed(struct tapir_route_sum) routes;
	struct tapir_vec(struct tapir_one_request) kept;
	uint64_t unkept_cnt;	       /* their parts are in no cohort */
	uint64_t dropped_cnt;	       /* beyond the bound of routes */
	struct tapir_map open;	       /* map_key -> struct tapir_open_request * */
	struct tapir_map call_request; /* map_key of a call -> of its request */
	struct tapir_map span_request; /* key of a span -> map_key of its request */
	struct tapir_keyed(struct tapir_dependency) dependencies;
	struct tapir_vec(struct tapir_request_use) uses;
	struct tapir_keyed(struct tapir_request_peer) peers;
	struct tapir_keyed(struct tapir_request_thread) threads; /* by tid */
	uint64_t unseen_cnt; /* awaits and calls beyond the bounds: their time is awaited, for
				what is not known */
	bool failed;
};

static inline const struct tapir_interval_kind *
tapir_request_routes__kind(const struct tapir_request_routes *r, uint32_t kind)
{
	return &tapir_timeline__pairs(r->tl)->kinds.data[kind];
}

/* open_requests.c */
struct tapir_open_request *tapir_open_request__of(const struct tapir_request_routes *r,
						  uint64_t map_key);
/* Adds it to the request, and to the one that is part of that. */
void tapir_request_routes__add_wait(struct tapir_request_routes *r, uint64_t request,
				    const struct tapir_request_wait *wait);

/* request_dependencies.c */
/*
 * Divides the awaited part of a request that closes among what it awaited: one->parts are those
 * without. waits may be NULL.
 */
void tapir_dependencies__count(struct tapir_request_routes *r, const struct tapir_interval *i,
			       struct tapir_request_waits *waits, struct tapir_one_request *one);
/* The peer of that text, which is copied, or of that row of the exchanges; TAPIR_NO_PEER: no room.
 */
uint32_t tapir_dependencies__peer(struct tapir_request_routes *r, const char *text,
				  uint32_t exchange);
/* The peer of a statement, as it is normalized. */
uint32_t tapir_dependencies__statement(struct tapir_request_routes *r, const char *text);
/* Adds the dependencies of a route: as rows of its parts, and with how they come about. */
void tapir_dependencies__add(struct tapir_request_routes *r, struct tapir_view_result *result,
			     size_t table, size_t parts, uint32_t route,
			     const struct tapir_request_names *names, uint64_t slow_ns);

/* request_tables.c */
extern const char *const tapir_request_part_names[TAPIR_REQUEST_PART_CNT];

#endif
