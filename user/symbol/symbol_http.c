// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One transfer at a time. Every 100 ms the caller is asked whether to continue, so that Ctrl-C ends
 * a slow transfer. An option that this libcurl lacks is a reason not to use it: each of them is a
 * limit.
 */
#include "symbol/symbol_http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/libcurl.h"

#define MAX_REDIRECTS 3L
#define POLL_MS	      100
#define PROTOCOLS     "http,https"

struct tapir_http {
	struct tapir_libcurl curl;
};

struct transfer {
	struct tapir_http_get *get;
	uint64_t done, total;
	int err; /* why the body was refused */
};

int tapir_http__new(struct tapir_http **out)
{
	struct tapir_http *h = calloc(1, sizeof(*h));
	int err = h ? tapir_libcurl__load(&h->curl, "fetch symbols") : -ENOMEM;

	if (err) {
		tapir_http__free(h);
		return err;
	}
	*out = h;
	return 0;
}

void tapir_http__free(struct tapir_http *h)
{
	free(h);
}

static size_t on_data(char *data, size_t size, size_t cnt, void *ctx)
{
	struct transfer *t = ctx;
	size_t len = size * cnt;

	if (len > t->get->max_bytes - t->done)
		t->err = -EFBIG;
	else
		t->err = tapir_file__write_all(t->get->fd, data, len);
	if (t->err)
		return 0;
	t->done += len;
	return len;
}

static int http_on_progress(void *ctx, curl_off_t total, curl_off_t now, curl_off_t up_total,
			    curl_off_t up_now)
{
	struct transfer *t = ctx;

	(void)now, (void)up_total, (void)up_now;
	t->total = total > 0 ? (uint64_t)total : 0;
	return 0;
}

/* False: this libcurl does not know an option without which it must not be used. */
static bool set_up(struct tapir_http *h, CURL *easy, struct transfer *t)
{
	const char *url = t->get->url;
	/* A server that was asked over TLS must not send this elsewhere without it. */
	const char *after_redirect = strncmp(url, "https:", 6) ? PROTOCOLS : "https";
	const struct {
		CURLoption option;
		long value;
	} numbers[] = {
		{CURLOPT_NOSIGNAL, 1},
		{CURLOPT_FAILONERROR, 1},
		{CURLOPT_FOLLOWLOCATION, 1},
		{CURLOPT_MAXREDIRS, MAX_REDIRECTS},
		{CURLOPT_CONNECTTIMEOUT_MS, TAPIR_HTTP_CONNECT_MS},
		{CURLOPT_TIMEOUT_MS, TAPIR_HTTP_FILE_MS},
		{CURLOPT_NOPROGRESS, 0},
	};
	bool ok = !h->curl.easy_setopt(easy, CURLOPT_URL, url) &&
		  !h->curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, PROTOCOLS) &&
		  !h->curl.easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, after_redirect) &&
		  !h->curl.easy_setopt(easy, CURLOPT_USERAGENT, "tapir/" TAPIR_VERSION) &&
		  !h->curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data) &&
		  !h->curl.easy_setopt(easy, CURLOPT_WRITEDATA, t) &&
		  !h->curl.easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, http_on_progress) &&
		  !h->curl.easy_setopt(easy, CURLOPT_XFERINFODATA, t) &&
		  !h->curl.easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE,
				       (curl_off_t)t->get->max_bytes);

	for (size_t i = 0; ok && i < sizeof(numbers) / sizeof(*numbers); i++)
		ok = !h->curl.easy_setopt(easy, numbers[i].option, numbers[i].value);
	return ok;
}

static int result_of(struct tapir_http *h, CURL *easy, const struct transfer *t, CURLcode code)
{
	long status = 0;

	h->curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	if (t->err)
		return t->err;
	if (code == CURLE_OK && status == 200)
		return 0;
	if (status == 404 || status == 410)
		return -ENOENT;
	if (code == CURLE_OPERATION_TIMEDOUT)
		return -ETIMEDOUT;
	if (code == CURLE_FILESIZE_EXCEEDED)
		return -EFBIG;
	if (code == CURLE_OK || code == CURLE_HTTP_RETURNED_ERROR)
		snprintf(t->get->why, sizeof(t->get->why), "HTTP status %ld", status);
	else
		snprintf(t->get->why, sizeof(t->get->why), "%s", h->curl.easy_strerror(code));
	return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
			       code == CURLE_COULDNT_RESOLVE_PROXY
		       ? -EHOSTUNREACH
		       : -EPROTO;
}

static int run_transfer(struct tapir_http *h, CURLM *multi, struct transfer *t, CURLcode *code)
{
	int running = 1, left;
	const CURLMsg *message;

	while (running) {
		if (h->curl.multi_perform(multi, &running) ||
		    (running && h->curl.multi_poll(multi, NULL, 0, POLL_MS, NULL)))
			return -EPROTO;
		if (t->get->should_continue &&
		    !t->get->should_continue(t->get->ctx, t->done, t->total))
			return -EINTR;
	}
	message = h->curl.multi_info_read(multi, &left);
	if (!message || message->msg != CURLMSG_DONE)
		return -EPROTO;
	*code = message->data.result;
	return 0;
}

int tapir_http__get(struct tapir_http *h, struct tapir_http_get *get)
{
	struct transfer t = {.get = get};
	CURL *easy = h->curl.easy_init();
	CURLM *multi = h->curl.multi_init();
	CURLcode code = CURLE_OK;
	int err = easy && multi ? 0 : -ENOMEM;

	get->why[0] = '\0';
	if (!err && !set_up(h, easy, &t)) {
		snprintf(get->why, sizeof(get->why), "this libcurl is too old");
		err = -EPROTO;
	}
	if (!err && h->curl.multi_add_handle(multi, easy))
		err = -ENOMEM;
	if (!err) {
		err = run_transfer(h, multi, &t, &code);
		if (!err)
			err = result_of(h, easy, &t, code);
		h->curl.multi_remove_handle(multi, easy);
	}
	if (easy)
		h->curl.easy_cleanup(easy);
	if (multi)
		h->curl.multi_cleanup(multi);
	return err;
}
