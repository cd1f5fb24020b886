/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stdio_http.h - the functions of libmicrohttpd that the HTTP process calls (mhd.h), over frames of
 * standard input and output: the program that started the agent has parsed the requests
 * (stdio_frame.h). A thread per request.
 */
#ifndef TAPIR_USER_STDIO_HTTP_H
#define TAPIR_USER_STDIO_HTTP_H

#include "agent/http/mhd.h"

/* Called as libmicrohttpd calls them, with ctx, on the thread of a request. */
struct tapir_stdio_http {
	int in_fd, out_fd;
	unsigned requests; /* at once; further ones are answered with 503 */
	MHD_AccessHandlerCallback on_request;
	MHD_NotifyConnectionCallback on_connection;
	MHD_RequestCompletedCallback on_completed;
	void *ctx;
};

/* tapir_mhd becomes these functions, in this process and its children. */
void tapir_stdio_http__load(void);

/*
 * Starts the thread that takes requests. At the end of the input, or where that is no frame, the
 * process ends. http is borrowed for as long. 0 or -errno.
 */
int tapir_stdio_http__start(const struct tapir_stdio_http *http);

#endif
