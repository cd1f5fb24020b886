// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A complete request: to the agent, and its answer to the client, as it comes or as a whole. While
 * the agent works, the client is watched: one that has gone takes the request with it.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <arpa/inet.h>

#include "base/clock.h"
#include "base/fd_message.h"
#include "base/file.h"
#include "base/json.h"
#include "agent/front_checks.h"
#include "agent/front_impl.h"

#define IDLE_SECONDS	 15u
#define MAX_ANSWER_BYTES (64u << 20)
#define TAKE_NS		 (60 * TAPIR_NS_PER_SEC) /* for a client to take a part of a stream */

/* An answer on its way. */
struct answer {
	struct tapir_front *front;
	struct MHD_Connection *connection;
	int fd, client_fd;
	_Alignas(8) char message[TAPIR_WIRE_DATA_BYTES + sizeof(struct tapir_wire_head)];
	const char *data; /* of message, not yet passed on */
	size_t len;
};

/* ---- headers -------------------------------------------------------------------------------- */

#define NO_POLICY "default-src 'none'; frame-ancestors 'none'; sandbox"

static void add_common_headers(struct MHD_Response *response, const char *policy)
{
	tapir_mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
	tapir_mhd.add_response_header(response, "Referrer-Policy", "same-origin");
	tapir_mhd.add_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
	tapir_mhd.add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	tapir_mhd.add_response_header(response, "Content-Security-Policy", policy);
}

/* A script that polls needs only the status; a browser would ask its user for a password. */
static bool is_script(struct MHD_Connection *connection)
{
	const char *mode =
		tapir_mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Mode");

	return mode && strcmp(mode, "navigate") != 0;
}

static enum MHD_Result queue_and_release(struct MHD_Connection *connection, unsigned status,
					 struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	if (status == MHD_HTTP_UNAUTHORIZED && !is_script(connection))
		tapir_mhd.add_response_header(response, "WWW-Authenticate",
					      "Basic realm=\"tapir\"");
	result = tapir_mhd.queue_response(connection, status, response);
	tapir_mhd.destroy_response(response);
	return result;
}

enum MHD_Result tapir_front__refuse(struct MHD_Connection *connection, unsigned status,
				    const char *text, const char *allow)
{
	struct MHD_Response *response;
	struct tapir_str body = {};
	struct tapir_json j = tapir_json__to(&body);

	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "error", text);
	tapir_json__close(&j, '}');
	tapir_str__addc(&body, '\n');
	if (body.failed) {
		tapir_str__fini(&body);
		return MHD_NO;
	}
	response =
		tapir_mhd.create_response_from_buffer(body.len, body.data, MHD_RESPMEM_MUST_COPY);
	tapir_str__fini(&body);
	if (!response)
		return MHD_NO;
	add_common_headers(response, NO_POLICY);
	tapir_mhd.add_response_header(response, "Cache-Control", "no-store");
	tapir_mhd.add_response_header(response, "Content-Type", tapir_mime__text(TAPIR_MIME_JSON));
	if (allow)
		tapir_mhd.add_response_header(response, "Allow", allow);
	return queue_and_release(connection, status, response);
}

static void add_retry(struct MHD_Response *response, unsigned retry_s)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", retry_s);
	if (retry_s)
		tapir_mhd.add_response_header(response, "Retry-After", text);
}

bool tapir_front__has_tls(const struct tapir_front_opts *opts)
{
	return opts->tls_key && !opts->listener->is_unix;
}

void tapir_front__cookie_name(const struct tapir_front_opts *opts,
			      char name[TAPIR_FRONT_NAME_BYTES])
{
	snprintf(name, TAPIR_FRONT_NAME_BYTES, "%stapir-%u",
		 tapir_front__has_tls(opts) ? "__Host-" : "", opts->listener->port);
}

static void add_cookie(struct MHD_Response *response, const struct tapir_front *front,
		       const char *value)
{
	char name[TAPIR_FRONT_NAME_BYTES], text[256];
	bool is_removed = !strcmp(value, "-");

	tapir_front__cookie_name(front->opts, name);
	snprintf(text, sizeof(text), "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d%s", name,
		 is_removed ? "" : value, is_removed ? 0 : TAPIR_LOGIN_SECONDS,
		 tapir_front__has_tls(front->opts) ? "; Secure" : "");
	if (*value)
		tapir_mhd.add_response_header(response, "Set-Cookie", text);
}

bool tapir_front__is_local(const struct tapir_front *front)
{
	return front->opts->listener->is_unix || front->opts->listener->is_stdio;
}

const char *tapir_front__root(const struct tapir_front *front, struct MHD_Connection *connection)
{
	const char *root = tapir_front__is_local(front)
				   ? tapir_mhd.lookup_connection_value(connection, MHD_HEADER_KIND,
								       TAPIR_FRONT_ROOT_HEADER)
				   : NULL;

	return root && tapir_front__is_local_path(root) ? root : "";
}

uint32_t tapir_front__only_pid(const struct tapir_front *front, struct MHD_Connection *connection)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (!front->opts->listener->is_unix ||
	    !tapir_mhd.lookup_connection_value(connection, MHD_HEADER_KIND, TAPIR_FRONT_OWN_HEADER))
		return front->opts->only_pid;
	/* A peer that cannot be seen from here has no process id: -1. */
	return !getsockopt(
		       tapir_mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
			       ->connect_fd,
		       SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
			       peer.pid > 0
		       ? (uint32_t)peer.pid
		       : UINT32_MAX;
}

static void add_location(struct MHD_Response *response, const char *root, const char *path)
{
	struct tapir_str whole = {};

	tapir_str__addf(&whole, "%s%s", root, path);
	if (whole.data && *path)
		tapir_mhd.add_response_header(response, "Location", whole.data);
	tapir_str__fini(&whole);
}

static void add_headers(struct MHD_Response *response, const struct tapir_front *front,
			struct MHD_Connection *connection, const struct tapir_wire_head *head)
{
	char text[192];

	add_common_headers(response, NO_POLICY);
	add_cookie(response, front, head->cookie);
	tapir_mhd.add_response_header(response, "Cache-Control", "no-store");
	tapir_mhd.add_response_header(response, "Content-Type", tapir_mime__text(head->mime));
	add_location(response, tapir_front__root(front, connection), head->location);
	if (*head->file_name) {
		snprintf(text, sizeof(text), "attachment; filename=\"%s\"", head->file_name);
		tapir_mhd.add_response_header(response, "Content-Disposition", text);
	}
	add_retry(response, head->retry_s);
}

enum MHD_Result tapir_front__send(const struct tapir_front *front,
				  struct MHD_Connection *connection,
				  const struct tapir_front_reply *reply)
{
	struct MHD_Response *response = tapir_mhd.create_response_from_buffer(
		reply->len, (void *)reply->data,
		reply->is_static ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_COPY);

	if (!response)
		return MHD_NO;
	add_common_headers(response, reply->policy);
	add_cookie(response, front, reply->cookie ? reply->cookie : "");
	add_retry(response, reply->retry_s);
	tapir_mhd.add_response_header(response, "Cache-Control",
				      reply->is_static ? "max-age=31536000, immutable"
						       : "no-store");
	tapir_mhd.add_response_header(response, "Content-Type", tapir_mime__text(reply->mime));
	add_location(response, tapir_front__root(front, connection),
		     reply->location ? reply->location : "");
	return queue_and_release(connection, reply->status, response);
}

/* ---- the agent's side ----------------------------------------------------------------------- */

static enum MHD_Result add_pair(void *ctx, enum MHD_ValueKind kind, const char *name,
				const char *value)
{
	struct tapir_wire_request *rq = ctx;

	(void)kind;
	if (rq->pair_cnt == TAPIR_WIRE_MAX_PAIRS) {
		rq->pair_cnt++; /* too many */
		return MHD_NO;
	}
	if (rq->pair_cnt > TAPIR_WIRE_MAX_PAIRS)
		return MHD_NO;
	rq->pairs[rq->pair_cnt++] =
		(struct tapir_wire_pair){.name = name, .value = value ? value : ""};
	return MHD_YES;
}

static void describe_peer(struct MHD_Connection *connection, char text[INET6_ADDRSTRLEN])
{
	const union MHD_ConnectionInfo *info =
		tapir_mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *a = info ? info->client_addr : NULL;

	*text = '\0';
	if (a && a->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)a)->sin_addr, text,
			  INET6_ADDRSTRLEN);
	else if (a && a->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)a)->sin6_addr, text,
			  INET6_ADDRSTRLEN);
}

/* The message with one end of a new socket pair, whose other end is *out. */
static int send_request(int control_fd, const char *message, size_t len, int *out)
{
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	err = tapir_fd_message__send(control_fd, message, len, &pair[1], 1, 0);
	close(pair[1]);
	if (err)
		close(pair[0]);
	else
		*out = pair[0];
	return err;
}

int tapir_front__ask(const struct tapir_front *front, struct MHD_Connection *connection,
		     struct tapir_wire_request *rq, int *out)
{
	char peer[INET6_ADDRSTRLEN], *message = malloc(TAPIR_WIRE_MAX_BYTES);
	int len;

	describe_peer(connection, peer);
	rq->peer = peer;
	rq->only_pid = tapir_front__only_pid(front, connection);
	len = message ? tapir_wire__encode(rq, message) : -ENOMEM;
	rq->peer = NULL;
	if (len >= 0)
		len = send_request(front->opts->control_fd, message, (size_t)len, out);
	if (message)
		explicit_bzero(message, 4096); /* the token is at the beginning */
	free(message);
	return len;
}

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

void tapir_front__sign(const struct tapir_http_exchange *exchange, struct tapir_wire_request *rq)
{
	rq->token = or_null(exchange->token);
	rq->cookie = or_null(exchange->cookie);
	rq->csrf = or_null(exchange->csrf);
}

void tapir_front__add_query(struct MHD_Connection *connection, struct tapir_wire_request *rq)
{
	tapir_mhd.get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_pair, rq);
}

static int ask_agent(const struct tapir_front *front, struct MHD_Connection *connection,
		     const struct tapir_http_exchange *exchange, int *out)
{
	struct tapir_wire_request rq = {
		.route = (uint16_t)exchange->match.id,
		.path_arg = or_null(exchange->match.arg),
		.body = exchange->body,
		.body_len = exchange->body_len,
	};

	tapir_front__sign(exchange, &rq);
	tapir_front__add_query(connection, &rq);
	return tapir_front__ask(front, connection, &rq, out);
}

/* The next message: 0; -EPIPE: the client is gone; -EBADMSG: the answer ends early, or is wrong. */
static int next_reply(struct answer *a, struct tapir_wire_reply *reply)
{
	struct pollfd fds[2] = {{.fd = a->fd, .events = POLLIN},
				{.fd = a->client_fd, .events = POLLRDHUP}};
	ssize_t n;

	tapir_mhd.set_connection_option(a->connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
	do {
		n = poll(fds, 2, -1);
		if (n < 0 && errno != EINTR)
			return -errno;
	} while (n <= 0);
	tapir_mhd.set_connection_option(a->connection, MHD_CONNECTION_OPTION_TIMEOUT, IDLE_SECONDS);
	if (!fds[0].revents)
		return -EPIPE;
	n = recv(a->fd, a->message, sizeof(a->message), 0);
	return n > 0 ? tapir_wire__reply(a->message, (size_t)n, reply) : -EBADMSG;
}

/* ---- the client's side ---------------------------------------------------------------------- */

static void free_answer(void *ctx)
{
	struct answer *a = ctx;

	close(a->fd); /* before its end: the agent stops what it does for it */
	free(a);
}

static ssize_t read_stream(void *ctx, uint64_t at, char *out, size_t max)
{
	struct answer *a = ctx;
	struct tapir_wire_reply reply;

	(void)at;
	if (!a->len) {
		tapir_front__limit(a->front, a->connection, 0);
		if (next_reply(a, &reply) || reply.type == TAPIR_WIRE_HEAD)
			return MHD_CONTENT_READER_END_WITH_ERROR;
		if (reply.type == TAPIR_WIRE_END)
			return MHD_CONTENT_READER_END_OF_STREAM;
		a->data = reply.data;
		a->len = reply.len;
	}
	if (max > a->len)
		max = a->len;
	memcpy(out, a->data, max);
	a->data += max;
	a->len -= max;
	tapir_front__limit(a->front, a->connection, TAKE_NS);
	return (ssize_t)max;
}

static int read_whole(struct answer *a, struct tapir_str *out)
{
	struct tapir_wire_reply reply;
	int err;

	while (!(err = next_reply(a, &reply))) {
		if (reply.type == TAPIR_WIRE_END)
			return out->failed ? -ENOMEM : 0;
		if (reply.type == TAPIR_WIRE_HEAD || out->len + reply.len > MAX_ANSWER_BYTES)
			return -EBADMSG;
		tapir_str__add(out, reply.data, reply.len);
	}
	return err;
}

static int read_head(struct answer *a, struct tapir_wire_head *head)
{
	struct tapir_wire_reply reply;
	int err = next_reply(a, &reply);

	if (!err && reply.type != TAPIR_WIRE_HEAD)
		err = -EBADMSG;
	if (!err)
		*head = *reply.head;
	return err;
}

static struct answer *new_answer(struct tapir_front *front, struct MHD_Connection *connection)
{
	struct answer *a = malloc(sizeof(*a));

	if (!a)
		return NULL;
	a->front = front;
	a->connection = connection;
	a->client_fd = tapir_mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
			       ->connect_fd;
	a->len = 0;
	a->fd = -1;
	return a;
}

int tapir_front__take(struct tapir_front *front, struct MHD_Connection *connection, int fd,
		      struct tapir_wire_head *head, struct tapir_str *body)
{
	struct answer *a = new_answer(front, connection);
	int err;

	if (!a) {
		close(fd);
		return -ENOMEM;
	}
	a->fd = fd;
	err = read_head(a, head);
	if (!err && body)
		err = read_whole(a, body);
	free_answer(a);
	return err;
}

static enum MHD_Result answer_whole(struct answer *a, const struct tapir_wire_head *head)
{
	const struct tapir_front *front = a->front;
	struct MHD_Connection *connection = a->connection;
	struct MHD_Response *response;
	struct tapir_str body = {};
	int err = read_whole(a, &body);

	free_answer(a);
	if (err) {
		tapir_str__fini(&body);
		return err == -EPIPE ? MHD_NO
				     : tapir_front__refuse(connection, MHD_HTTP_BAD_GATEWAY,
							   "the agent's answer ended early", NULL);
	}
	response = tapir_mhd.create_response_from_buffer(body.len, body.data ? body.data : "",
							 body.data ? MHD_RESPMEM_MUST_FREE
								   : MHD_RESPMEM_PERSISTENT);
	if (!response) {
		tapir_str__fini(&body);
		return MHD_NO;
	}
	add_headers(response, front, connection, head);
	return queue_and_release(connection, head->status, response);
}

static enum MHD_Result answer_stream(struct answer *a, const struct tapir_wire_head *head)
{
	const struct tapir_front *front = a->front;
	struct MHD_Connection *connection = a->connection;
	struct MHD_Response *response = tapir_mhd.create_response_from_callback(
		MHD_SIZE_UNKNOWN, TAPIR_WIRE_DATA_BYTES, read_stream, a, free_answer);

	if (!response) {
		free_answer(a);
		return MHD_NO;
	}
	add_headers(response, front, connection, head);
	return queue_and_release(connection, head->status, response);
}

static enum MHD_Result pass_on(struct answer *a)
{
	struct MHD_Connection *connection = a->connection;
	struct tapir_wire_head head;
	int err = read_head(a, &head);

	if (err) {
		free_answer(a);
		return err == -EPIPE ? MHD_NO
				     : tapir_front__refuse(connection, MHD_HTTP_BAD_GATEWAY,
							   "the agent gave no answer", NULL);
	}
	return head.is_streamed ? answer_stream(a, &head) : answer_whole(a, &head);
}

enum MHD_Result tapir_front__answer(struct tapir_front *front, struct MHD_Connection *connection,
				    const struct tapir_http_exchange *exchange)
{
	struct answer *a = new_answer(front, connection);
	int err;

	if (!a)
		return MHD_NO;
	err = ask_agent(front, connection, exchange, &a->fd);
	if (!err)
		return pass_on(a);
	free(a);
	if (err == -E2BIG)
		return tapir_front__refuse(connection, MHD_HTTP_URI_TOO_LONG,
					   "too many or too long parameters", NULL);
	return tapir_front__refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				   "the agent cannot be asked now", NULL);
}
