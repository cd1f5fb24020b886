// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libmicrohttpd's functions over frames. A response is sent while it is queued: the thread of its
 * request has nothing else to do. The connection of a request is one end of a socket pair, so that
 * a client who has gone is seen as on a real one.
 */
#include "agent/http/stdio_http.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "agent/http/stdio_frame.h"

#define FIRST_CREDIT (1u << 20)
#define STACK_BYTES  (256u * 1024)

struct MHD_Connection {
	struct MHD_Connection *next;
	uint32_t id;
	int client[2]; /* the request's thread polls [0]; [1] is shut when the client has left */
	uint64_t credit;
	bool is_cancelled, is_answered;
	union MHD_ConnectionInfo fd_info, context_info;
	char *data; /* of the frame */
	struct tapir_stdio_request rq;
};

struct MHD_Response {
	struct tapir_str head;
	const char *data;
	size_t len;
	bool is_owned;
	MHD_ContentReaderCallback read; /* NULL: data is the body */
	MHD_ContentReaderFreeCallback free;
	void *ctx;
};

static const struct tapir_stdio_http *http;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of connections */
static pthread_mutex_t out_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* credit, or cancelled */
static struct MHD_Connection *connections;
static unsigned connection_cnt;

/* ---- bytes ---------------------------------------------------------------------------------- */

static bool read_exactly(void *out, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = read(http->in_fd, (char *)out + at, len - at);

		if (!n || (n < 0 && errno != EINTR))
			return false;
		at += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static bool write_exactly(const void *data, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = write(http->out_fd, (const char *)data + at, len - at);

		if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static bool send_frame(uint32_t type, uint32_t id, const void *data, size_t len)
{
	const struct tapir_stdio_frame frame = {type, id, (uint32_t)len};
	bool is_sent;

	pthread_mutex_lock(&out_lock);
	is_sent = write_exactly(&frame, sizeof(frame)) && write_exactly(data, len);
	pthread_mutex_unlock(&out_lock);
	return is_sent;
}

static void add_field(struct tapir_str *out, uint32_t kind, const char *text)
{
	const struct tapir_stdio_field f = {kind, (uint32_t)strlen(text) + 1};

	tapir_str__add(out, (const char *)&f, sizeof(f));
	tapir_str__add(out, text, f.len);
}

static void send_refusal(uint32_t id, uint32_t status)
{
	if (send_frame(TAPIR_STDIO_HEAD, id, &status, sizeof(status)))
		(void)send_frame(TAPIR_STDIO_END, id, NULL, 0);
}

/* ---- connections ---------------------------------------------------------------------------- */

static const union MHD_ConnectionInfo *get_connection_info(struct MHD_Connection *c,
							   enum MHD_ConnectionInfoType type, ...)
{
	return type == MHD_CONNECTION_INFO_CONNECTION_FD    ? &c->fd_info
	       : type == MHD_CONNECTION_INFO_SOCKET_CONTEXT ? &c->context_info
							    : NULL;
}

static enum MHD_Result set_connection_option(struct MHD_Connection *c,
					     enum MHD_CONNECTION_OPTION option, ...)
{
	(void)c;
	(void)option;
	return MHD_YES;
}

static uint32_t stdio_part_of_kind(enum MHD_ValueKind kind)
{
	return kind == MHD_GET_ARGUMENT_KIND ? TAPIR_STDIO_QUERY
	       : kind == MHD_HEADER_KIND     ? TAPIR_STDIO_HEADER
					     : 0;
}

static const char *lookup_connection_value(struct MHD_Connection *c, enum MHD_ValueKind kind,
					   const char *name)
{
	return tapir_stdio_request__find(&c->rq, stdio_part_of_kind(kind), name);
}

static int get_connection_values(struct MHD_Connection *c, enum MHD_ValueKind kind,
				 MHD_KeyValueIterator each, void *ctx)
{
	int cnt = 0;

	for (size_t i = 0; i < c->rq.pair_cnt; i++) {
		const struct tapir_stdio_pair *p = &c->rq.pairs[i];

		if (p->kind != stdio_part_of_kind(kind))
			continue;
		cnt++;
		if (each(ctx, kind, p->name, p->value) == MHD_NO)
			break;
	}
	return cnt;
}

/* ---- responses ------------------------------------------------------------------------------ */

static struct MHD_Response *create_response_from_buffer(size_t len, void *data,
							enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->is_owned = mode != MHD_RESPMEM_PERSISTENT;
	r->len = len;
	r->data = data;
	if (mode == MHD_RESPMEM_MUST_COPY) {
		void *copy = malloc(len + 1);

		if (!copy) {
			free(r);
			return NULL;
		}
		r->data = memcpy(copy, data, len);
	}
	return r;
}

static struct MHD_Response *create_response_from_callback(uint64_t size, size_t block,
							  MHD_ContentReaderCallback read_fn,
							  void *ctx,
							  MHD_ContentReaderFreeCallback free_fn)
{
	struct MHD_Response *r = calloc(1, sizeof(*r));

	(void)size;
	(void)block;
	if (r) {
		r->read = read_fn;
		r->free = free_fn;
		r->ctx = ctx;
	}
	return r;
}

static enum MHD_Result add_response_header(struct MHD_Response *r, const char *name,
					   const char *value)
{
	add_field(&r->head, TAPIR_STDIO_HEADER, name);
	add_field(&r->head, TAPIR_STDIO_VALUE, value);
	return r->head.failed ? MHD_NO : MHD_YES;
}

static void destroy_response(struct MHD_Response *r)
{
	if (r->free)
		r->free(r->ctx);
	if (r->is_owned)
		free((void *)r->data);
	tapir_str__fini(&r->head);
	free(r);
}

/* Waits until some bytes may be sent; returns how many of len; 0: the client does not take them. */
static size_t take_credit(struct MHD_Connection *c, size_t len)
{
	size_t taken;

	pthread_mutex_lock(&lock);
	while (!c->credit && !c->is_cancelled)
		pthread_cond_wait(&changed, &lock);
	taken = c->is_cancelled ? 0 : len < c->credit ? len : (size_t)c->credit;
	c->credit -= taken;
	pthread_mutex_unlock(&lock);
	return taken;
}

static bool send_data(struct MHD_Connection *c, const char *data, size_t len)
{
	for (size_t n; len; data += n, len -= n) {
		n = take_credit(c, len < TAPIR_STDIO_DATA_BYTES ? len : TAPIR_STDIO_DATA_BYTES);
		if (!n || !send_frame(TAPIR_STDIO_DATA, c->id, data, n))
			return false;
	}
	return true;
}

static bool send_stream(struct MHD_Connection *c, const struct MHD_Response *r)
{
	char data[TAPIR_STDIO_DATA_BYTES];
	uint64_t at = 0;
	ssize_t n;

	while ((n = r->read(r->ctx, at, data, sizeof(data))) > 0) {
		if (!send_data(c, data, (size_t)n))
			return false;
		at += (uint64_t)n;
	}
	return n == MHD_CONTENT_READER_END_OF_STREAM;
}

static enum MHD_Result queue_response(struct MHD_Connection *c, unsigned status,
				      struct MHD_Response *r)
{
	const uint32_t code = status;
	struct tapir_str head = {};
	bool is_sent;

	tapir_str__add(&head, (const char *)&code, sizeof(code));
	tapir_str__add(&head, r->head.data ? r->head.data : "", r->head.len);
	if (head.failed || r->head.failed) {
		tapir_str__fini(&head);
		return MHD_NO;
	}
	c->is_answered = true;
	is_sent = send_frame(TAPIR_STDIO_HEAD, c->id, head.data, head.len) &&
		  (r->read ? send_stream(c, r) : send_data(c, r->data, r->len));
	tapir_str__fini(&head);
	(void)send_frame(is_sent ? TAPIR_STDIO_END : TAPIR_STDIO_BROKEN, c->id, NULL, 0);
	return MHD_YES;
}

/* ---- requests ------------------------------------------------------------------------------- */

static struct MHD_Connection *new_connection(uint32_t id, char *data, size_t len)
{
	struct MHD_Connection *c = calloc(1, sizeof(*c));

	if (!c || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, c->client)) {
		free(c);
		return NULL;
	}
	c->id = id;
	c->credit = FIRST_CREDIT;
	c->fd_info.connect_fd = c->client[0];
	c->data = data;
	(void)tapir_stdio_request__decode(data, len, &c->rq);
	pthread_mutex_lock(&lock);
	c->next = connections;
	connections = c;
	connection_cnt++;
	pthread_mutex_unlock(&lock);
	return c;
}

static void free_connection(struct MHD_Connection *c)
{
	pthread_mutex_lock(&lock);
	for (struct MHD_Connection **at = &connections; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			break;
		}
	connection_cnt--;
	pthread_mutex_unlock(&lock);
	close(c->client[0]);
	close(c->client[1]);
	free(c->data);
	free(c);
}

/* Header, body, end: as libmicrohttpd calls it. */
static bool answer_request(struct MHD_Connection *c, void **slot)
{
	const char *parts[] = {NULL, c->rq.body, NULL};

	for (size_t i = 0; i < 3 && !c->is_answered; i++) {
		size_t len = parts[i] ? c->rq.body_len : 0;

		if (i == 1 && !len)
			continue;
		if (http->on_request(http->ctx, c, c->rq.path, c->rq.method, "HTTP/1.1", parts[i],
				     &len, slot) == MHD_NO)
			return false;
	}
	return c->is_answered;
}

static void *run_http(void *arg)
{
	struct MHD_Connection *c = arg;
	void *slot = NULL, *context = NULL;

	http->on_connection(http->ctx, c, &context, MHD_CONNECTION_NOTIFY_STARTED);
	c->context_info.socket_context = context;
	if (!answer_request(c, &slot) && !c->is_answered)
		(void)send_frame(TAPIR_STDIO_BROKEN, c->id, NULL, 0);
	http->on_completed(http->ctx, c, &slot, MHD_REQUEST_TERMINATED_COMPLETED_OK);
	http->on_connection(http->ctx, c, &context, MHD_CONNECTION_NOTIFY_CLOSED);
	free_connection(c);
	return NULL;
}

static int start_thread(void *(*fn)(void *arg), void *arg)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int err = pthread_attr_init(&attributes);

	if (err)
		return -err;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attributes, fn, arg);
	pthread_attr_destroy(&attributes);
	return -err;
}

static bool has_room(void)
{
	bool has;

	pthread_mutex_lock(&lock);
	has = connection_cnt < http->requests;
	pthread_mutex_unlock(&lock);
	return has;
}

/* Takes data. false: it is no request. */
static bool take_request(uint32_t id, char *data, size_t len)
{
	struct tapir_stdio_request rq;
	struct MHD_Connection *c;

	if (tapir_stdio_request__decode(data, len, &rq)) {
		free(data);
		return false;
	}
	c = has_room() ? new_connection(id, data, len) : NULL;
	if (!c)
		free(data);
	if (c && !start_thread(run_http, c))
		return true;
	if (c)
		free_connection(c);
	send_refusal(id, MHD_HTTP_SERVICE_UNAVAILABLE);
	return true;
}

/* Applies a note to a request, which may have ended since. */
static void take_note(const struct tapir_stdio_frame *frame, uint32_t credit)
{
	pthread_mutex_lock(&lock);
	for (struct MHD_Connection *c = connections; c; c = c->next) {
		if (c->id != frame->id)
			continue;
		c->credit += credit;
		if (frame->type == TAPIR_STDIO_CANCEL) {
			c->is_cancelled = true;
			shutdown(c->client[1], SHUT_RDWR);
		}
	}
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static bool take_frame(void)
{
	struct tapir_stdio_frame frame;
	uint32_t credit = 0;
	char *data;

	if (!read_exactly(&frame, sizeof(frame)))
		return false;
	switch (frame.type) {
	case TAPIR_STDIO_REQUEST:
		/*
		 * False ends the connection: there is no way to find the next frame behind a wrong
		 * one.
		 */
		if (frame.len > TAPIR_STDIO_MAX_BYTES || !(data = malloc(frame.len + 1)))
			return false;
		if (!read_exactly(data, frame.len)) {
			free(data);
			return false;
		}
		return take_request(frame.id, data, frame.len);
	case TAPIR_STDIO_CREDIT:
		if (frame.len != sizeof(credit) || !read_exactly(&credit, sizeof(credit)))
			return false;
		take_note(&frame, credit);
		return true;
	case TAPIR_STDIO_CANCEL:
		take_note(&frame, 0);
		return !frame.len;
	default:
		return false;
	}
}

static void *take_frames(void *arg)
{
	(void)arg;
	while (take_frame())
		;
	_exit(0);
}

void tapir_stdio_http__load(void)
{
	tapir_mhd = (struct tapir_mhd){
		.get_connection_info = get_connection_info,
		.get_connection_values = get_connection_values,
		.lookup_connection_value = lookup_connection_value,
		.set_connection_option = set_connection_option,
		.create_response_from_buffer = create_response_from_buffer,
		.create_response_from_callback = create_response_from_callback,
		.add_response_header = add_response_header,
		.queue_response = queue_response,
		.destroy_response = destroy_response,
	};
}

int tapir_stdio_http__start(const struct tapir_stdio_http *opts)
{
	http = opts;
	return start_thread(take_frames, NULL);
}
