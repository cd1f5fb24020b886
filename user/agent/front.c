// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The HTTP process: its sandbox, and requests until they are complete. It parses what strangers
 * send and is given nothing to lose: no files, no privileges, no tokens. What two programs may read
 * in different ways (two lengths, two hosts) is refused.
 */
#include "agent/front.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/diag.h"
#include "agent/http/stdio_http.h"
#include "agent/front_checks.h"
#include "agent/front_impl.h"
#include "agent/sandbox.h"
#include "base/child/capabilities.h"

#define IDLE_SECONDS	 15
#define TAKE_NS		 (5 * 60 * TAPIR_NS_PER_SEC) /* all bytes of an answer */
#define CONNECTION_BYTES 49152 /* of memory for headers: a SPEC may have 24 KB */
#define STACK_BYTES	 (256u * 1024)

/* ---- requests ------------------------------------------------------------------------------- */

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return tapir_mhd.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Headers that a proxy in front of the agent might read in another way. */
struct framing {
	unsigned hosts, lengths, codings, authorizations;
	bool is_too_long;
};

static enum MHD_Result see_header(void *ctx, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	struct framing *f = ctx;
	uint64_t len;

	(void)kind;
	f->hosts += !strcasecmp(name, "Host");
	f->authorizations += !strcasecmp(name, "Authorization");
	f->codings += !strcasecmp(name, "Transfer-Encoding");
	if (strcasecmp(name, "Content-Length") != 0)
		return MHD_YES;
	f->lengths++;
	f->is_too_long |= !value || !tapir_str__to_u64(value, 0, TAPIR_WIRE_MAX_BODY_BYTES, &len);
	return MHD_YES;
}

/* 0, or the status of a request that has two beginnings or ends, or a body that is not read. */
static unsigned check_framing(struct MHD_Connection *connection)
{
	struct framing f = {};

	tapir_mhd.get_connection_values(connection, MHD_HEADER_KIND, see_header, &f);
	if (f.hosts > 1 || f.authorizations > 1 || f.lengths + f.codings > 1)
		return MHD_HTTP_BAD_REQUEST;
	return f.is_too_long ? MHD_HTTP_CONTENT_TOO_LARGE : 0;
}

static enum MHD_Result refuse_framing(struct MHD_Connection *connection, unsigned status)
{
	return tapir_front__refuse(connection, status,
				   status == MHD_HTTP_BAD_REQUEST
					   ? "Host, Authorization, Content-Length and "
					     "Transfer-Encoding may occur only once"
					   : "body: at most 65536 bytes are read",
				   NULL);
}

/* NULL, or why a request is refused that a browser was talked into. */
static const char *check_origin(const struct tapir_front *front, struct MHD_Connection *connection,
				const struct tapir_front_page *page)
{
	const char *host = header(connection, "Host"), *origin = header(connection, "Origin");
	const char *site = header(connection, "Sec-Fetch-Site");

	if (!tapir_front__is_local(front) && !tapir_front__is_host(host, &front->opts->hosts))
		return "Host: not a name of this agent: add it to 'hosts' of its configuration";
	if (origin && !tapir_front__is_origin(origin, host))
		return "Origin: requests from other sites are not accepted";
	if (site && (!page || tapir_front_page__is_inner(page)) &&
	    strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		return "Sec-Fetch-Site: requests from other sites are not accepted";
	return NULL;
}

static enum MHD_Result refuse_route(struct MHD_Connection *connection, int err,
				    const struct tapir_http_exchange *exchange)
{
	if (err == -EOPNOTSUPP)
		return tapir_front__refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
					   "this resource does not have this method",
					   exchange->match.allowed);
	return tapir_front__refuse(connection, MHD_HTTP_NOT_FOUND,
				   "no such resource: /v1/openapi.json lists them", NULL);
}

/* A cookie that is too long is not the agent's. */
static void take_login_request(const struct tapir_front *front, struct MHD_Connection *connection,
			       struct tapir_http_exchange *exchange)
{
	const char *csrf = header(connection, "X-Csrf-Token"), *cookie;
	char name[TAPIR_FRONT_NAME_BYTES];

	tapir_front__cookie_name(front->opts, name);
	cookie = tapir_mhd.lookup_connection_value(connection, MHD_COOKIE_KIND, name);
	if (cookie && strlen(cookie) < sizeof(exchange->cookie))
		snprintf(exchange->cookie, sizeof(exchange->cookie), "%s", cookie);
	if (csrf && strlen(csrf) < sizeof(exchange->csrf))
		snprintf(exchange->csrf, sizeof(exchange->csrf), "%s", csrf);
}

static int find_route(const char *method, const char *url, struct tapir_http_exchange *exchange)
{
	int err = tapir_front_page__find(method, url, &exchange->match, &exchange->page);

	return err == -ENOENT ? tapir_route__find(method, url, &exchange->match) : err;
}

/* A HEAD request for something that attaches does not attach. */
static bool has_side_effects(struct tapir_http_exchange *exchange)
{
	bool does = exchange->page ? tapir_front_page__is_inner(exchange->page)
				   : tapir_routes[exchange->match.id].is_action;

	if (does)
		snprintf(exchange->match.allowed, sizeof(exchange->match.allowed), "GET");
	return does;
}

static enum MHD_Result begin_exchange(struct tapir_front *front, struct MHD_Connection *connection,
				      const char *url, const char *method,
				      struct tapir_http_exchange *exchange)
{
	const char *authorization = header(connection, "Authorization"), *reason;
	unsigned framing = check_framing(connection);
	bool is_head = !strcmp(method, "HEAD");
	int err;

	/*
	 * The framing is judged before anything else: a request that two servers may read
	 * differently could hide another one behind it.
	 */
	if (framing)
		return refuse_framing(connection, framing);
	if (strlen(url) < sizeof(exchange->url))
		snprintf(exchange->url, sizeof(exchange->url), "%s", url);
	err = find_route(is_head ? "GET" : method, url, exchange);
	/* HEAD of a recording would record. */
	if (!err && is_head && has_side_effects(exchange))
		err = -EOPNOTSUPP;
	if (err)
		return refuse_route(connection, err, exchange);
	if (front->opts->tls_client_ca && tapir_front__has_tls(front->opts) &&
	    !tapir_mhd__has_client_certificate(connection))
		return tapir_front__refuse(connection, MHD_HTTP_FORBIDDEN,
					   "a client certificate is required that an authority of "
					   "'client_ca' signed",
					   NULL);
	reason = check_origin(front, connection, exchange->page);
	if (reason)
		return tapir_front__refuse(connection, MHD_HTTP_FORBIDDEN, reason, NULL);
	if (authorization &&
	    !tapir_front__token(authorization, exchange->token, sizeof(exchange->token)))
		return tapir_front__refuse(connection, MHD_HTTP_UNAUTHORIZED,
					   "Authorization: Bearer TOKEN, or Basic with the token "
					   "as password, is required",
					   NULL);
	take_login_request(front, connection, exchange);
	return MHD_YES;
}

static enum MHD_Result take_body(struct tapir_http_exchange *exchange, const char *data,
				 size_t *len)
{
	char *grown;

	if (*len > TAPIR_WIRE_MAX_BODY_BYTES - exchange->body_len)
		return MHD_NO; /* no answer would arrive before the rest has */
	grown = realloc(exchange->body, exchange->body_len + *len + 1);
	if (!grown)
		return MHD_NO;
	memcpy(grown + exchange->body_len, data, *len);
	exchange->body = grown;
	exchange->body_len += *len;
	exchange->body[exchange->body_len] = '\0';
	*len = 0;
	return MHD_YES;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *data_len, void **slot)
{
	struct tapir_http_exchange *exchange = *slot;
	enum MHD_Result result;

	(void)version;
	if (!tapir_front_conn__is_known(connection))
		return MHD_NO;
	if (!exchange) {
		exchange = *slot = calloc(1, sizeof(*exchange));
		return exchange ? begin_exchange(ctx, connection, url, method, exchange) : MHD_NO;
	}
	if (*data_len)
		return take_body(exchange, data, data_len);
	tapir_front__limit(ctx, connection, 0);
	result = exchange->page ? tapir_front_page__answer(ctx, connection, exchange)
				: tapir_front__answer(ctx, connection, exchange);
	tapir_front__limit(ctx, connection, TAKE_NS); /* parts of a stream have their own */
	return result;
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **slot,
			 enum MHD_RequestTerminationCode code)
{
	struct tapir_http_exchange *exchange = *slot;

	(void)code;
	tapir_front__limit(ctx, connection, TAPIR_FRONT_REQUEST_NS);
	if (!exchange)
		return;
	explicit_bzero(exchange->token, sizeof(exchange->token));
	explicit_bzero(exchange->cookie, sizeof(exchange->cookie));
	free(exchange->body);
	free(exchange);
	*slot = NULL;
}

static size_t on_unescape(void *ctx, struct MHD_Connection *connection, char *text)
{
	(void)ctx;
	(void)connection;
	return tapir_front__unescape(text);
}

static void on_log(void *ctx, const char *format, va_list args)
{
	(void)ctx;
	(void)format;
	(void)args;
}

/* ---- the process ---------------------------------------------------------------------------- */

/* Twice the connections: those that are being closed, to make room, are among them for a moment. */
static struct MHD_Daemon *start_http(struct tapir_front *front)
{
	const struct tapir_front_opts *opts = front->opts;
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_TRUST, 0, (void *)opts->tls_client_ca},
		{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)opts->tls_certificate},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)opts->tls_key},
		{MHD_OPTION_END, 0, NULL}};
	bool has_tls = tapir_front__has_tls(opts);

	return tapir_mhd.start_daemon(
		MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
			MHD_USE_ERROR_LOG | (has_tls ? MHD_USE_TLS : 0),
		0, NULL, NULL, on_request, front, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, opts->listener->fd, MHD_OPTION_CONNECTION_LIMIT,
		2 * opts->connections, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_NOTIFY_CONNECTION,
		tapir_front_conn__on_change, front, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
		front, MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, NULL, MHD_OPTION_ARRAY,
		!has_tls ? tls + 3 : tls + !opts->tls_client_ca, MHD_OPTION_END);
}

/* Requests that the program has parsed which started the agent: nothing of HTTP is needed. */
static int start_stdio(struct tapir_front *front)
{
	static struct tapir_stdio_http http;

	http = (struct tapir_stdio_http){.in_fd = front->opts->listener->fd,
					 .out_fd = front->opts->listener->out_fd,
					 .requests = front->opts->connections,
					 .on_request = on_request,
					 .on_connection = tapir_front_conn__on_change,
					 .on_completed = on_completed,
					 .ctx = front};
	return tapir_stdio_http__start(&http);
}

static void serve(struct tapir_front *front)
{
	struct pollfd agent = {.fd = front->opts->control_fd};

	while (!(poll(&agent, 1, 1000) > 0 && (agent.revents & (POLLHUP | POLLERR))))
		tapir_front_conns__end_late(front);
}

int tapir_front__run(const struct tapir_front_opts *opts)
{
	struct tapir_front front = {.opts = opts, .lock = PTHREAD_MUTEX_INITIALIZER};
	int err;

	signal(SIGPIPE, SIG_IGN);
	err = opts->listener->is_stdio ? tapir_capabilities__drop() : tapir_sandbox__drop_user();
	if (!err)
		err = tapir_sandbox__confine_server();
	if (err)
		return err;
	if (opts->listener->is_stdio)
		err = start_stdio(&front);
	if (err)
		return err;
	if (!opts->listener->is_stdio && !start_http(&front))
		return tapir_diag__fail(-EIO, "cannot serve HTTP on %s%s", opts->listener->name,
					opts->tls_key ? " (check the certificate and its key)"
						      : "");
	serve(&front);
	return 0;
}
