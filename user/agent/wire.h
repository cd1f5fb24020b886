/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire.h - the protocol between an HTTP process and the agent.
 *
 * A request is one message of a SOCK_SEQPACKET socket pair that lives as long as the HTTP process.
 * With it comes one end of another such pair: the answer goes there, as HEAD, DATA..., END. That
 * the HTTP process closes its end means that the client is gone; an end without END means that the
 * answer is incomplete.
 *
 * The HTTP process parses what strangers send and may have been taken over: nothing it sends is
 * trusted but what the credentials in it prove. Every text is checked: length, one NUL, at its end.
 * Any thread.
 */
#ifndef TAPIR_USER_WIRE_H
#define TAPIR_USER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAPIR_WIRE_MAX_PAIRS	  64
#define TAPIR_WIRE_MAX_TEXT_BYTES 32768 /* of a name, value or credential */
#define TAPIR_WIRE_MAX_BODY_BYTES 65536
#define TAPIR_WIRE_MAX_BYTES	  163840 /* of a request */
#define TAPIR_WIRE_DATA_BYTES	  32768	 /* of a DATA message, at most */

enum tapir_wire_flag {
	TAPIR_WIRE_IS_FORM = 1, /* sent by a form of a page: csrf is required */
};

struct tapir_wire_pair {
	const char *name, *value;
};

/* A request. Texts are borrowed; NULL: absent. */
struct tapir_wire_request {
	uint16_t route;	   /* enum tapir_route_id */
	uint16_t flags;	   /* enum tapir_wire_flag */
	uint32_t only_pid; /* the client wants to be limited to this process; 0: it does not */
	const char *path_arg;
	const char *token;  /* Bearer, or password of Basic */
	const char *cookie; /* of a login */
	const char *csrf;   /* of a form, or the header X-Csrf-Token */
	const char *peer;   /* the client's address; "": a unix socket */
	const char *body;   /* NUL-terminated after body_len bytes, which may contain NUL */
	size_t body_len;
	size_t pair_cnt; /* query parameters, in order */
	struct tapir_wire_pair pairs[TAPIR_WIRE_MAX_PAIRS];
};

/*
 * Writes the bytes of a message into out (TAPIR_WIRE_MAX_BYTES): returns their number, or -E2BIG.
 */
int tapir_wire__encode(const struct tapir_wire_request *rq, char *out);

/* Decodes a message; texts of rq point into it. 0 or -EBADMSG. */
int tapir_wire__decode(const char *message, size_t len, struct tapir_wire_request *rq);

enum tapir_wire_type { TAPIR_WIRE_HEAD = 1, TAPIR_WIRE_DATA, TAPIR_WIRE_END };

enum tapir_mime {
	TAPIR_MIME_JSON,
	TAPIR_MIME_TEXT,
	TAPIR_MIME_HTML,
	TAPIR_MIME_EVENTS,
	TAPIR_MIME_BINARY,
	TAPIR_MIME_SVG,
	TAPIR_MIME_METRICS,
	TAPIR_MIME_CSS,
	TAPIR_MIME_JS,
	TAPIR_MIME_CNT,
};

/* Returns "application/json" and the like, static. */
const char *tapir_mime__text(enum tapir_mime mime);

struct tapir_wire_head {
	uint32_t type;
	uint16_t status;
	uint8_t mime;	     /* enum tapir_mime */
	uint8_t is_streamed; /* DATA comes over time: forward it as it comes */
	uint32_t retry_s;    /* 0: no Retry-After */
	char location[96];   /* path; "": none */
	char file_name[96];  /* of a download; "": none */
	char cookie[128];    /* value of the login cookie to set; "-": remove it; "": none */
};

/* The kind of a message of an answer. */
struct tapir_wire_reply {
	enum tapir_wire_type type;
	const struct tapir_wire_head *head; /* HEAD */
	const char *data;		    /* DATA */
	size_t len;
};

/* Decodes a message of an answer, aligned to 8. 0 or -EBADMSG. */
int tapir_wire__reply(const void *message, size_t len, struct tapir_wire_reply *out);

/* Sending an answer: 0, -EPIPE (the client is gone) or another -errno. flags: of send(2). */
int tapir_wire__send_head(int fd, const struct tapir_wire_head *head, int flags);
int tapir_wire__send_data(int fd, const void *data, size_t len, int flags); /* any length */
int tapir_wire__send_end(int fd, int flags);

#endif
