/* SPDX-License-Identifier: GPL-2.0-or-later */
/* front_impl.h - what the files of the HTTP process share: connections and requests on them. */
#ifndef TAPIR_USER_FRONT_IMPL_H
#define TAPIR_USER_FRONT_IMPL_H

#include <pthread.h>

#include "serve/front.h"
#include "serve/mhd.h"
#include "serve/route.h"
#include "serve/tokens.h"

/* A connection that has to send a whole request until deadline_ns; 0: it has. */
struct tapir_conn {
	struct tapir_conn *next, *prev;
	int fd;
	uint64_t deadline_ns;
};

struct tapir_front {
	const struct tapir_front_opts *opts;
	pthread_mutex_t lock; /* of the list */
	struct tapir_conn *conns;
};

/* A request while it arrives. */
struct tapir_visit {
	struct tapir_route_match match;
	char token[TAPIR_TOKEN_MAX_BYTES];
	char *body;
	size_t body_len;
};

/* Asks the agent and answers. The request is complete. */
enum MHD_Result tapir_front__answer(struct tapir_front *front, struct MHD_Connection *connection,
				    const struct tapir_visit *visit);

/* {"error": text} with this status; allow: header of 405, or NULL. */
enum MHD_Result tapir_front__refuse(struct MHD_Connection *connection, unsigned status,
				    const char *text, const char *allow);

#endif
