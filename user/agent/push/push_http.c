// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libcurl's multi interface: several targets at once on one thread. An option that this libcurl
 * lacks is a reason not to use it, and an answer that does not end is not waited for.
 */
#include "agent/push/push_http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/libcurl.h"
#include "agent/push/push.h"

#define CONNECT_MS 5000
#define PROTOCOLS  "http,https"
#define MAX_HEADER 4096

struct tapir_push_http {
	struct tapir_libcurl curl;
	CURLM *multi;
};

int tapir_push_http__new(struct tapir_push_http **out)
{
	struct tapir_push_http *h = calloc(1, sizeof(*h));
	int err = h ? tapir_libcurl__load(&h->curl, "push") : -ENOMEM;

	if (!err) {
		h->multi = h->curl.multi_init();
		err = h->multi ? 0 : -ENOMEM;
	}
	if (err) {
		tapir_push_http__free(h);
		return err;
	}
	*out = h;
	return 0;
}

void tapir_push_http__free(struct tapir_push_http *h)
{
	if (h && h->multi)
		h->curl.multi_cleanup(h->multi);
	free(h);
}

/* ---- what libcurl asks for ------------------------------------------------------------------- */

static size_t on_read(char *buffer, size_t size, size_t cnt, void *ctx)
{
	struct tapir_push_transfer *t = ctx;
	uint64_t left = t->bytes - t->done;
	size_t max_bytes = size * cnt < left ? size * cnt : (size_t)left;
	ssize_t n = max_bytes ? pread(t->fd, buffer, max_bytes, (off_t)t->done) : 0;

	if (n < 0 || (!n && max_bytes))
		return CURL_READFUNC_ABORT;
	t->done += (uint64_t)n;
	return (size_t)n;
}

/* An answer that does not end is not waited for. */
static size_t count_answer(struct tapir_push_transfer *t, size_t len)
{
	t->answer_bytes += len;
	return t->answer_bytes > TAPIR_PUSH_ANSWER_BYTES ? 0 : len;
}

static size_t on_header(char *data, size_t size, size_t cnt, void *ctx)
{
	struct tapir_push_transfer *t = ctx;

	tapir_grpc_status__add_header(&t->grpc, data, size * cnt);
	return count_answer(t, size * cnt);
}

static size_t on_body(char *data, size_t size, size_t cnt, void *ctx)
{
	struct tapir_push_transfer *t = ctx;

	tapir_grpc_status__add_body(&t->grpc, data, size * cnt);
	return count_answer(t, size * cnt);
}

/* ---- transfers ------------------------------------------------------------------------------- */

static bool add_header(struct tapir_push_http *h, struct tapir_push_transfer *t, const char *line)
{
	struct curl_slist *list = h->curl.slist_append(t->list, line);

	if (list)
		t->list = list;
	return list;
}

static bool add_headers(struct tapir_push_http *h, struct tapir_push_transfer *t)
{
	char line[MAX_HEADER];
	const char *at = t->headers;
	bool ok;

	snprintf(line, sizeof(line), "Content-Type: %s", t->type);
	ok = add_header(h, t, line) && add_header(h, t, "Expect:");
	if (ok && t->is_grpc)
		ok = add_header(h, t, "X-Grpc-Web: 1");
	if (ok && t->is_gzip)
		ok = add_header(h, t, "Content-Encoding: gzip");
	for (size_t len; ok && at && *at; at += len + (at[len] != '\0')) {
		len = strcspn(at, "\r\n");
		if (!len || len >= sizeof(line))
			continue;
		snprintf(line, sizeof(line), "%.*s", (int)len, at);
		ok = add_header(h, t, line);
	}
	explicit_bzero(line, sizeof(line));
	return ok;
}

/* False: this libcurl does not know an option without which it must not be used. */
static bool set_up(struct tapir_push_http *h, struct tapir_push_transfer *t)
{
	const struct {
		CURLoption option;
		long value;
	} numbers[] = {
		{CURLOPT_NOSIGNAL, 1},
		{CURLOPT_UPLOAD, 1},
		{CURLOPT_FOLLOWLOCATION, 0},
		{CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS},
		{CURLOPT_TIMEOUT_MS, (long)t->timeout_s * 1000},
	};
	const struct {
		CURLoption option;
		const void *value;
	} pointers[] = {
		{CURLOPT_URL, t->url},
		{CURLOPT_CUSTOMREQUEST, t->method},
		{CURLOPT_PROTOCOLS_STR, PROTOCOLS},
		{CURLOPT_USERAGENT, "tapir/" TAPIR_VERSION},
		{CURLOPT_HTTPHEADER, t->list},
		{CURLOPT_READDATA, t},
		{CURLOPT_WRITEDATA, t},
		{CURLOPT_HEADERDATA, t},
		{CURLOPT_PRIVATE, t},
	};
	bool ok = !h->curl.easy_setopt(t->easy, CURLOPT_READFUNCTION, on_read) &&
		  !h->curl.easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body) &&
		  !h->curl.easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header) &&
		  !h->curl.easy_setopt(t->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)t->bytes);

	for (size_t i = 0; ok && i < sizeof(numbers) / sizeof(*numbers); i++)
		ok = !h->curl.easy_setopt(t->easy, numbers[i].option, numbers[i].value);
	for (size_t i = 0; ok && i < sizeof(pointers) / sizeof(*pointers); i++)
		ok = !h->curl.easy_setopt(t->easy, pointers[i].option, pointers[i].value);
	if (ok && t->ca_path) /* NULL would mean no certificates */
		ok = !h->curl.easy_setopt(t->easy, CURLOPT_CAINFO, t->ca_path) &&
		     !h->curl.easy_setopt(t->easy, CURLOPT_CAPATH, NULL);
	return ok;
}

static void drop_transfer(struct tapir_push_http *h, struct tapir_push_transfer *t)
{
	if (t->easy)
		h->curl.easy_cleanup(t->easy);
	h->curl.slist_free_all(t->list);
	t->easy = t->list = NULL;
}

int tapir_push_http__start(struct tapir_push_http *h, struct tapir_push_transfer *t)
{
	t->status = 0;
	t->retry_after_s = t->done = t->answer_bytes = 0;
	tapir_grpc_status__init(&t->grpc);
	t->why[0] = '\0';
	t->easy = h->curl.easy_init();
	if (!t->easy)
		return -ENOMEM;
	if (add_headers(h, t) && set_up(h, t) && !h->curl.multi_add_handle(h->multi, t->easy))
		return 0;
	drop_transfer(h, t);
	return -EPROTO;
}

int tapir_push_http__wait(struct tapir_push_http *h, int fd, int timeout_ms, bool *is_readable)
{
	struct curl_waitfd extra = {.fd = fd, .events = CURL_WAIT_POLLIN};
	int running;

	*is_readable = false;
	if (h->curl.multi_perform(h->multi, &running) ||
	    h->curl.multi_poll(h->multi, &extra, fd >= 0, timeout_ms, NULL) ||
	    h->curl.multi_perform(h->multi, &running))
		return -EPROTO;
	*is_readable = extra.revents != 0;
	return 0;
}

struct tapir_push_transfer *tapir_push_http__next(struct tapir_push_http *h)
{
	const CURLMsg *message;
	struct tapir_push_transfer *t = NULL;
	curl_off_t retry_after = 0;
	CURLcode code;
	int left;

	do
		message = h->curl.multi_info_read(h->multi, &left);
	while (message && message->msg != CURLMSG_DONE);
	if (!message)
		return NULL;
	code = message->data.result;
	h->curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
	h->curl.easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->status);
	h->curl.easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &retry_after);
	t->retry_after_s = retry_after > 0 ? (uint64_t)retry_after : 0;
	/* If an answer is too long, or does not end, its status has arrived all the same. */
	if (code && !(t->status && (t->done == t->bytes || t->status >= 300)))
		snprintf(t->why, sizeof(t->why), "%s", h->curl.easy_strerror(code));
	h->curl.multi_remove_handle(h->multi, t->easy);
	drop_transfer(h, t);
	return t;
}
