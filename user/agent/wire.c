// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages between the HTTP process and the agent: fields after a header, each with its length and
 * a NUL at its end. Both sides use the same functions; the agent trusts none of what it decodes.
 */
#include "agent/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define MAGIC	0x52575054u /* "TPWR" */
#define VERSION 3

enum field_kind {
	FIELD_PATH_ARG = 1,
	FIELD_TOKEN,
	FIELD_COOKIE,
	FIELD_PEER,
	FIELD_BODY,
	FIELD_NAME, /* followed by its VALUE */
	FIELD_VALUE,
	FIELD_CSRF,
};

struct header {
	uint32_t magic;
	uint16_t version;
	uint16_t route;
	uint16_t flags;
	uint16_t pad;
	uint32_t only_pid;
	uint32_t field_cnt;
};

struct field {
	uint32_t kind;
	uint32_t len; /* with the NUL after it */
};

/* ---- requests ------------------------------------------------------------------------------- */

struct encoder {
	char *out;
	size_t len;
	uint32_t field_cnt;
	bool failed;
};

static void encode_field(struct encoder *e, uint32_t kind, const char *text, size_t len, size_t max)
{
	struct field f = {kind, (uint32_t)len + 1};

	if (!text || e->failed)
		return;
	if (len >= max || e->len + sizeof(f) + len + 1 > TAPIR_WIRE_MAX_BYTES) {
		e->failed = true;
		return;
	}
	memcpy(e->out + e->len, &f, sizeof(f));
	memcpy(e->out + e->len + sizeof(f), text, len);
	e->out[e->len + sizeof(f) + len] = '\0';
	e->len += sizeof(f) + len + 1;
	e->field_cnt++;
}

static void encode_text(struct encoder *e, uint32_t kind, const char *text)
{
	encode_field(e, kind, text, text ? strlen(text) : 0, TAPIR_WIRE_MAX_TEXT_BYTES);
}

int tapir_wire__encode(const struct tapir_wire_request *rq, char *out)
{
	struct header h = {.magic = MAGIC,
			   .version = VERSION,
			   .route = rq->route,
			   .flags = rq->flags,
			   .only_pid = rq->only_pid};
	struct encoder e = {.out = out, .len = sizeof(h)};

	if (rq->pair_cnt > TAPIR_WIRE_MAX_PAIRS) /* as a counter of too many has it */
		return -E2BIG;
	encode_text(&e, FIELD_PATH_ARG, rq->path_arg);
	encode_text(&e, FIELD_TOKEN, rq->token);
	encode_text(&e, FIELD_COOKIE, rq->cookie);
	encode_text(&e, FIELD_CSRF, rq->csrf);
	encode_text(&e, FIELD_PEER, rq->peer);
	encode_field(&e, FIELD_BODY, rq->body, rq->body_len, TAPIR_WIRE_MAX_BODY_BYTES + 1);
	for (size_t i = 0; i < rq->pair_cnt; i++) {
		encode_text(&e, FIELD_NAME, rq->pairs[i].name);
		encode_text(&e, FIELD_VALUE, rq->pairs[i].value);
	}
	if (e.failed)
		return -E2BIG;
	h.field_cnt = e.field_cnt;
	memcpy(out, &h, sizeof(h));
	return (int)e.len;
}

static int take_once(const char **member, const char *text)
{
	if (*member)
		return -EBADMSG;
	*member = text;
	return 0;
}

static int take_pair_part(struct tapir_wire_request *rq, uint32_t kind, const char *text)
{
	struct tapir_wire_pair *last = rq->pair_cnt ? &rq->pairs[rq->pair_cnt - 1] : NULL;

	if (kind == FIELD_VALUE)
		return last ? take_once(&last->value, text) : -EBADMSG;
	if (rq->pair_cnt == TAPIR_WIRE_MAX_PAIRS || (last && !last->value))
		return -EBADMSG;
	rq->pairs[rq->pair_cnt++] = (struct tapir_wire_pair){.name = text};
	return 0;
}

static int decode_field(struct tapir_wire_request *rq, const struct field *f, const char *text)
{
	size_t max =
		f->kind == FIELD_BODY ? TAPIR_WIRE_MAX_BODY_BYTES + 1 : TAPIR_WIRE_MAX_TEXT_BYTES;

	/*
	 * Each text ends with a NUL inside of its field, and only the body may have others: members
	 * are used as C strings in place, without a copy.
	 */
	if (!f->len || f->len > max || text[f->len - 1])
		return -EBADMSG;
	if (f->kind == FIELD_BODY) {
		rq->body_len = f->len - 1;
		return take_once(&rq->body, text);
	}
	if (memchr(text, '\0', f->len - 1))
		return -EBADMSG;
	switch (f->kind) {
	case FIELD_PATH_ARG:
		return take_once(&rq->path_arg, text);
	case FIELD_TOKEN:
		return take_once(&rq->token, text);
	case FIELD_COOKIE:
		return take_once(&rq->cookie, text);
	case FIELD_CSRF:
		return take_once(&rq->csrf, text);
	case FIELD_PEER:
		return take_once(&rq->peer, text);
	case FIELD_NAME:
	case FIELD_VALUE:
		return take_pair_part(rq, f->kind, text);
	default:
		return -EBADMSG;
	}
}

int tapir_wire__decode(const char *message, size_t len, struct tapir_wire_request *rq)
{
	struct header h;
	struct field f;
	size_t at = sizeof(h);
	int err = 0;

	if (len < sizeof(h) || len > TAPIR_WIRE_MAX_BYTES)
		return -EBADMSG;
	memcpy(&h, message, sizeof(h));
	if (h.magic != MAGIC || h.version != VERSION || h.pad)
		return -EBADMSG;
	*rq = (struct tapir_wire_request){
		.route = h.route, .flags = h.flags, .only_pid = h.only_pid};
	for (uint32_t i = 0; !err && i < h.field_cnt; i++) {
		if (len - at < sizeof(f))
			return -EBADMSG;
		memcpy(&f, message + at, sizeof(f));
		at += sizeof(f);
		if (f.len > len - at)
			return -EBADMSG;
		err = decode_field(rq, &f, message + at);
		at += f.len;
	}
	/* The last name may have come without its value. */
	if (rq->pair_cnt && !rq->pairs[rq->pair_cnt - 1].value)
		return -EBADMSG;
	return err ? err : at == len ? 0 : -EBADMSG;
}

/* ---- answers -------------------------------------------------------------------------------- */

const char *tapir_mime__text(enum tapir_mime mime)
{
	static const char *const texts[TAPIR_MIME_CNT] = {
		[TAPIR_MIME_JSON] = "application/json",
		[TAPIR_MIME_TEXT] = "text/plain; charset=utf-8",
		[TAPIR_MIME_HTML] = "text/html; charset=utf-8",
		[TAPIR_MIME_EVENTS] = "text/event-stream",
		[TAPIR_MIME_BINARY] = "application/octet-stream",
		[TAPIR_MIME_SVG] = "image/svg+xml",
		[TAPIR_MIME_METRICS] = "text/plain; version=0.0.4; charset=utf-8",
		[TAPIR_MIME_CSS] = "text/css; charset=utf-8",
		[TAPIR_MIME_JS] = "text/javascript; charset=utf-8",
	};

	return texts[mime];
}

static bool is_terminated(const char *text, size_t size)
{
	return strnlen(text, size) < size;
}

static bool is_head(const struct tapir_wire_head *h)
{
	return h->status >= 200 && h->status < 600 && h->mime < TAPIR_MIME_CNT &&
	       h->is_streamed <= 1 && is_terminated(h->location, sizeof(h->location)) &&
	       is_terminated(h->file_name, sizeof(h->file_name)) &&
	       is_terminated(h->cookie, sizeof(h->cookie));
}

int tapir_wire__reply(const void *message, size_t len, struct tapir_wire_reply *out)
{
	uint32_t type;

	if (len < sizeof(type))
		return -EBADMSG;
	memcpy(&type, message, sizeof(type));
	*out = (struct tapir_wire_reply){.type = type};
	switch (type) {
	case TAPIR_WIRE_HEAD:
		out->head = message;
		return len == sizeof(*out->head) && is_head(out->head) ? 0 : -EBADMSG;
	case TAPIR_WIRE_DATA:
		out->data = (const char *)message + sizeof(type);
		out->len = len - sizeof(type);
		return out->len && out->len <= TAPIR_WIRE_DATA_BYTES ? 0 : -EBADMSG;
	case TAPIR_WIRE_END:
		return len == sizeof(type) ? 0 : -EBADMSG;
	default:
		return -EBADMSG;
	}
}

static int send_parts(int fd, struct iovec *parts, size_t cnt, int flags)
{
	struct msghdr msg = {.msg_iov = parts, .msg_iovlen = cnt};
	ssize_t n;

	do
		n = sendmsg(fd, &msg, flags | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int tapir_wire__send_head(int fd, const struct tapir_wire_head *head, int flags)
{
	struct tapir_wire_head copy = *head;
	struct iovec part = {&copy, sizeof(copy)};

	copy.type = TAPIR_WIRE_HEAD;
	return send_parts(fd, &part, 1, flags);
}

int tapir_wire__send_data(int fd, const void *data, size_t len, int flags)
{
	uint32_t type = TAPIR_WIRE_DATA;
	int err = 0;

	for (size_t at = 0, n; !err && at < len; at += n) {
		struct iovec parts[2] = {{&type, sizeof(type)}, {(char *)data + at, 0}};

		n = len - at < TAPIR_WIRE_DATA_BYTES ? len - at : TAPIR_WIRE_DATA_BYTES;
		parts[1].iov_len = n;
		err = send_parts(fd, parts, 2, flags);
	}
	return err;
}

int tapir_wire__send_end(int fd, int flags)
{
	uint32_t type = TAPIR_WIRE_END;
	struct iovec part = {&type, sizeof(type)};

	return send_parts(fd, &part, 1, flags);
}
