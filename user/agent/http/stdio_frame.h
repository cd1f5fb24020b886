/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stdio_frame.h - the protocol between a program and the agent that it has started for itself
 * (`tapir serve --stdio`). The program has an HTTP server of its own; it hands requests that this
 * has parsed to the agent's standard input, and passes on what comes from its standard output.
 *
 * Both ways a frame is a struct tapir_stdio_frame and len bytes; numbers are in the machine's
 * order. Requests have ids of the program's choice and are answered at the same time, as HEAD,
 * DATA..., END. No more DATA is sent than the program has given credit for, so that a client who
 * takes nothing holds up no other.
 *
 * A frame that is not understood leaves the two out of step: the agent ends. One thread for each
 * direction.
 */
#ifndef TAPIR_USER_STDIO_FRAME_H
#define TAPIR_USER_STDIO_FRAME_H

#include <stddef.h>
#include <stdint.h>

enum tapir_stdio_type {
	/* To the agent. */
	TAPIR_STDIO_REQUEST = 1, /* fields */
	TAPIR_STDIO_CREDIT,	 /* uint32_t: this many more bytes of DATA */
	TAPIR_STDIO_CANCEL,	 /* the client no longer waits for the answer */
	/* Frames from the agent. */
	TAPIR_STDIO_HEAD,   /* uint32_t status, and fields: headers */
	TAPIR_STDIO_DATA,   /* a part of the body */
	TAPIR_STDIO_END,    /* the answer is complete, or the client no longer waits for it */
	TAPIR_STDIO_BROKEN, /* it ends here and is not whole */
};

struct tapir_stdio_frame {
	uint32_t type; /* enum tapir_stdio_type */
	uint32_t id;
	uint32_t len; /* of what follows */
};

/* A field: its header, and len bytes whose last is the only NUL (of BODY: the last). */
enum tapir_stdio_field_kind {
	TAPIR_STDIO_METHOD = 1,
	TAPIR_STDIO_PATH, /* without %XX, below the place where the agent is mounted */
	TAPIR_STDIO_BODY,
	TAPIR_STDIO_QUERY,  /* a parameter's name, without %XX; its VALUE follows */
	TAPIR_STDIO_HEADER, /* a header's name; its VALUE follows */
	TAPIR_STDIO_VALUE,
};

struct tapir_stdio_field {
	uint32_t kind; /* enum tapir_stdio_field_kind */
	uint32_t len;
};

#define TAPIR_STDIO_MAX_BYTES  163840 /* of a frame to the agent */
#define TAPIR_STDIO_DATA_BYTES 32768  /* of a DATA frame, at most */
#define TAPIR_STDIO_MAX_PAIRS  96

struct tapir_stdio_pair {
	uint32_t kind; /* QUERY or HEADER */
	const char *name, *value;
};

/* Texts are borrowed from the frame. */
struct tapir_stdio_request {
	const char *method, *path;
	const char *body; /* NULL: none; may contain NUL */
	size_t body_len;
	size_t pair_cnt;
	struct tapir_stdio_pair pairs[TAPIR_STDIO_MAX_PAIRS];
};

/* Decodes the part after the header of a REQUEST: 0 or -EBADMSG. */
int tapir_stdio_request__decode(const char *data, size_t len, struct tapir_stdio_request *out);

/*
 * Returns the value of the first pair of this kind and name (any case for headers); NULL: there is
 * none.
 */
const char *tapir_stdio_request__find(const struct tapir_stdio_request *rq, uint32_t kind,
				      const char *name);

#endif
