/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * grpc_status.h - the status of a gRPC-Web call, read from the server's answer as it arrives.
 *
 * It is the header grpc-status, or a line of the trailers that end the body. The body is a sequence
 * of frames: a byte of flags (0x80: trailers, 0x01: compressed), the length as a big-endian u32,
 * and that many bytes; trailers are lines "name: value". The last status counts. Any bytes may
 * come, in pieces of any size; no more than one short line is kept. One thread.
 */
#ifndef TAPIR_USER_GRPC_STATUS_H
#define TAPIR_USER_GRPC_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAPIR_GRPC_NO_STATUS  (-1)
#define TAPIR_GRPC_FRAME_HEAD 5u

struct tapir_grpc_status {
	int32_t status; /* TAPIR_GRPC_NO_STATUS: none so far */
	/* of the body */
	uint8_t head[TAPIR_GRPC_FRAME_HEAD];
	uint8_t head_len;
	uint8_t line_len;
	bool is_line_truncated;
	uint32_t left; /* bytes of this frame that are to come */
	char line[64]; /* of trailers; a status is shorter */
};

/* Begins another answer. */
void tapir_grpc_status__init(struct tapir_grpc_status *s);
/* A header with its name, or the status line of HTTP, which begins an answer anew. */
void tapir_grpc_status__add_header(struct tapir_grpc_status *s, const char *line, size_t len);
/* Takes the next len bytes of the body; s->status is complete when the transfer is. */
void tapir_grpc_status__add_body(struct tapir_grpc_status *s, const char *data, size_t len);

#endif
