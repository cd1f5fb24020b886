/* SPDX-License-Identifier: GPL-2.0-or-later */
/* push_http.h - bodies of files sent by POST and PUT, several at a time. One thread. */
#ifndef TAPIR_USER_PUSH_HTTP_H
#define TAPIR_USER_PUSH_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/push/grpc_status.h"

struct tapir_push_http;

/* A transfer and its result. */
struct tapir_push_transfer {
	const char *method, *url; /* borrowed until its end, as all of them */
	const char *headers;	  /* "Name: value" lines; NULL: none */
	const char *ca_path; /* PEM: who may sign the server's certificate; NULL: the system's */
	const char *type;    /* Content-Type */
	bool is_gzip, is_grpc;
	int fd; /* read from its begin */
	uint64_t bytes;
	uint64_t timeout_s;
	/* out */
	long status;		       /* of HTTP; 0: there was no answer */
	uint64_t retry_after_s;	       /* what the server asks for; 0: nothing */
	struct tapir_grpc_status grpc; /* of gRPC: its status */
	char why[96];		       /* it failed; "": there was an answer */
	/* for push_http alone */
	void *easy, *list;
	uint64_t done, answer_bytes;
};

/* 0; -ENOSYS with a line: no libcurl; -ENOMEM. __free ends all transfers. */
int tapir_push_http__new(struct tapir_push_http **out);
void tapir_push_http__free(struct tapir_push_http *h);

/* Begins a transfer. 0 or -errno: it was not begun. */
int tapir_push_http__start(struct tapir_push_http *h, struct tapir_push_transfer *t);
/* Waits until something has happened, fd (-1: none) is readable, or this time has passed. */
int tapir_push_http__wait(struct tapir_push_http *h, int fd, int timeout_ms, bool *is_readable);
/* Returns the next transfer that has ended; NULL: none. */
struct tapir_push_transfer *tapir_push_http__next(struct tapir_push_http *h);

#endif
