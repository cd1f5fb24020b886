/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * front_impl.h - what the files of the HTTP process share: connections and requests on them. Many
 * threads: one for each request.
 */
#ifndef TAPIR_USER_FRONT_IMPL_H
#define TAPIR_USER_FRONT_IMPL_H

#include <pthread.h>

#include "base/str.h"
#include "agent/front.h"
#include "agent/logins.h"
#include "agent/http/mhd.h"
#include "agent/route.h"
#include "agent/tokens.h"

/*
 * A connection. Its client has to send a whole request, or to take what it was sent, until
 * deadline_ns; 0: it waits for the agent.
 */
struct tapir_conn {
	struct tapir_conn *next, *prev;
	int fd;
	uint64_t since_ns, deadline_ns;
};

struct tapir_front {
	const struct tapir_front_opts *opts;
	pthread_mutex_t lock; /* of the list */
	struct tapir_conn *conns;
	size_t conn_cnt;
};

#define TAPIR_FRONT_REQUEST_NS (20 * TAPIR_NS_PER_SEC) /* for all bytes of a request */

/* An MHD_NotifyConnectionCallback; ctx is the front. */
void tapir_front_conn__on_change(void *ctx, struct MHD_Connection *connection, void **slot,
				 enum MHD_ConnectionNotificationCode code);
/* Returns false if there was no memory for it. */
bool tapir_front_conn__is_known(struct MHD_Connection *connection);
/* Ends the connections that have used up their time. */
void tapir_front_conns__end_late(struct tapir_front *front);
/* Gives the client ns from now on; 0: it waits for the agent. */
void tapir_front__limit(struct tapir_front *front, struct MHD_Connection *connection, uint64_t ns);

/* A request while it arrives. */
struct tapir_http_exchange {
	const struct tapir_front_page *page; /* NULL: a resource, match.id */
	struct tapir_route_match match;	     /* its argument, of a page, too */
	char url[TAPIR_ROUTE_ARG_BYTES]; /* path of a page; "": it is too long to come back to */
	char token[TAPIR_TOKEN_MAX_BYTES];
	char cookie[TAPIR_COOKIE_DIGITS + 1];
	char csrf[TAPIR_CSRF_DIGITS + 1];
	char *body;
	size_t body_len;
};

/* Returns true if something else admits those that connect: a socket's mode, a program. */
bool tapir_front__is_local(const struct tapir_front *front);

#define TAPIR_FRONT_ROOT_HEADER "Tapir-Root"
#define TAPIR_FRONT_OWN_HEADER	"Tapir-Own"

/*
 * The only process that the request may concern; 0: any. It is the one that started the agent, or
 * the client of a unix socket itself, where the client, which may do everything, asks for that on
 * behalf of its own visitors.
 */
uint32_t tapir_front__only_pid(const struct tapir_front *front, struct MHD_Connection *connection);

/*
 * Returns the path at which a program has mounted the agent, "/tapir", as a prefix of all its
 * paths; "" for clients of TCP, and where it is not a plain path.
 */
const char *tapir_front__root(const struct tapir_front *front, struct MHD_Connection *connection);

/* Asks the agent and answers. The request is complete. */
enum MHD_Result tapir_front__answer(struct tapir_front *front, struct MHD_Connection *connection,
				    const struct tapir_http_exchange *exchange);

/* ---- requests of the agent ------------------------------------------------------------------ */

/* Credentials of the visitor into rq. Texts are borrowed. */
void tapir_front__sign(const struct tapir_http_exchange *exchange, struct tapir_wire_request *rq);
/* Query parameters, in the same way; more than fit are seen by tapir_wire__encode. */
void tapir_front__add_query(struct MHD_Connection *connection, struct tapir_wire_request *rq);
/* *out: where its answer comes. 0, -E2BIG or another -errno. */
int tapir_front__ask(const struct tapir_front *front, struct MHD_Connection *connection,
		     struct tapir_wire_request *rq, int *out);
/*
 * Reads the answer as a whole; body: NULL: its head alone. Closes fd, which the agent sees. 0;
 * -EPIPE: the client is gone; -EBADMSG: the answer ends early, or is wrong.
 */
int tapir_front__take(struct tapir_front *front, struct MHD_Connection *connection, int fd,
		      struct tapir_wire_head *head, struct tapir_str *body);

/* ---- answers to the client ------------------------------------------------------------------ */

/* An answer of this process's own. */
struct tapir_front_reply {
	unsigned status, retry_s;
	enum tapir_mime mime;
	const char *policy;   /* Content-Security-Policy */
	const char *location; /* path below the root; NULL: none */
	const char *cookie;   /* of a login; "-": removed; NULL: as it is */
	const char *data;
	size_t len;
	bool is_static; /* data is part of the program, and browsers may keep it */
};

/* Sends a reply to the client, with the headers that every answer has. */
enum MHD_Result tapir_front__send(const struct tapir_front *front,
				  struct MHD_Connection *connection,
				  const struct tapir_front_reply *reply);

/* Answers {"error": text} with this status; allow: header of 405, or NULL. */
enum MHD_Result tapir_front__refuse(struct MHD_Connection *connection, unsigned status,
				    const char *text, const char *allow);

/* ---- pages ---------------------------------------------------------------------------------- */

struct tapir_front_page;

/* 0; -ENOENT: no such page; -EOPNOTSUPP: it has other methods. As tapir_route__find. */
int tapir_front_page__find(const char *method, const char *path, struct tapir_route_match *match,
			   const struct tapir_front_page **out);
/* Returns true if only a page of the agent may lead to it: it acts, or is part of a page. */
bool tapir_front_page__is_inner(const struct tapir_front_page *page);
enum MHD_Result tapir_front_page__answer(struct tapir_front *front,
					 struct MHD_Connection *connection,
					 const struct tapir_http_exchange *exchange);

#define TAPIR_FRONT_NAME_BYTES 32

/* Returns true if clients are served by TLS. */
bool tapir_front__has_tls(const struct tapir_front_opts *opts);
/*
 * Writes the name of the login's cookie. Agents on one host have different ones: cookies know no
 * ports.
 */
void tapir_front__cookie_name(const struct tapir_front_opts *opts,
			      char name[TAPIR_FRONT_NAME_BYTES]);

#endif
