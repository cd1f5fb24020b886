/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol_http.h - one file from an HTTP server, by libcurl, which is loaded for the first one: a
 * tapir that fetches nothing neither needs the library nor maps it.
 *
 * The server is hostile until its file proves to be the right one: http and https only, also after
 * a redirect (never from https to http), three redirects, 5 seconds to connect, 60 for the file,
 * nothing decompressed, and not one byte more than the caller takes. One thread at a time.
 */
#ifndef TAPIR_USER_SYMBOL_HTTP_H
#define TAPIR_USER_SYMBOL_HTTP_H

#include <stdbool.h>
#include <stdint.h>

struct tapir_http;

/* -ENOSYS, with a line: libcurl is not installed, or lacks what is needed. */
int tapir_http__new(struct tapir_http **out);
void tapir_http__free(struct tapir_http *http);

#define TAPIR_HTTP_CONNECT_MS 5000
#define TAPIR_HTTP_FILE_MS    60000
#define TAPIR_HTTP_WHY_BYTES  96

struct tapir_http_get {
	const char *url;
	int fd;		    /* written from its start; holds a part of the file after a failure */
	uint64_t max_bytes; /* more is -EFBIG */
	/* Asked ten times a second; total 0: unknown. False: the transfer ends with -EINTR. */
	bool (*should_continue)(void *ctx, uint64_t done, uint64_t total);
	void *ctx;
	char why[TAPIR_HTTP_WHY_BYTES]; /* out: what failed, where the errno does not say it */
};

/*
 * Fetches a file; blocks up to the limits above. 0; -ENOENT: the server does not have it; -EFBIG,
 * -EINTR; -ETIMEDOUT, -EHOSTUNREACH: the server does not answer; -EPROTO: any other answer; or
 * write(2)'s error. No line.
 */
int tapir_http__get(struct tapir_http *http, struct tapir_http_get *get);

#endif
