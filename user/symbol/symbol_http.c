// SPDX-License-Identifier: GPL-2.0-or-later
/* libcurl's functions by name, one transfer at a time, asked every 100 ms whether to go on. */
#include "symbol/symbol_http.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/library.h"

#define MAX_REDIRECTS 3L
#define POLL_MS	      100
#define PROTOCOLS     "http,https"

struct tapir_http {
	void *lib;
	__typeof__(curl_global_init) *global_init;
	__typeof__(curl_easy_init) *easy_init;
	__typeof__(curl_easy_setopt) *easy_setopt;
	__typeof__(curl_easy_getinfo) *easy_getinfo;
	__typeof__(curl_easy_strerror) *easy_strerror;
	__typeof__(curl_easy_cleanup) *easy_cleanup;
	__typeof__(curl_multi_init) *multi_init;
	__typeof__(curl_multi_add_handle) *multi_add_handle;
	__typeof__(curl_multi_remove_handle) *multi_remove_handle;
	__typeof__(curl_multi_perform) *multi_perform;
	__typeof__(curl_multi_poll) *multi_poll;
	__typeof__(curl_multi_info_read) *multi_info_read;
	__typeof__(curl_multi_cleanup) *multi_cleanup;
};

struct transfer {
	struct tapir_http_get *get;
	uint64_t done, total;
	int err; /* why the body was refused */
};

static bool load_functions(struct tapir_http *h)
{
	const struct {
		const char *name;
		void **at;
	} wanted[] = {
		{"curl_global_init", (void **)&h->global_init},
		{"curl_easy_init", (void **)&h->easy_init},
		{"curl_easy_setopt", (void **)&h->easy_setopt},
		{"curl_easy_getinfo", (void **)&h->easy_getinfo},
		{"curl_easy_strerror", (void **)&h->easy_strerror},
		{"curl_easy_cleanup", (void **)&h->easy_cleanup},
		{"curl_multi_init", (void **)&h->multi_init},
		{"curl_multi_add_handle", (void **)&h->multi_add_handle},
		{"curl_multi_remove_handle", (void **)&h->multi_remove_handle},
		{"curl_multi_perform", (void **)&h->multi_perform},
		{"curl_multi_poll", (void **)&h->multi_poll},
		{"curl_multi_info_read", (void **)&h->multi_info_read},
		{"curl_multi_cleanup", (void **)&h->multi_cleanup},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		*wanted[i].at = dlsym(h->lib, wanted[i].name);
		if (!*wanted[i].at)
			return false;
	}
	return true;
}

int tapir_http__new(struct tapir_http **out)
{
	static const char *const names[] = {"libcurl-gnutls.so.4", "libcurl.so.4", NULL};
	struct tapir_http *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->lib = tapir_library__open(names, "fetch symbols", "libcurl3-gnutls");
	if (h->lib && (!load_functions(h) || h->global_init(CURL_GLOBAL_DEFAULT))) {
		tapir_diag__add("cannot fetch symbols: libcurl is too old");
		h->lib = NULL;
	}
	if (!h->lib) {
		tapir_http__free(h);
		return -ENOSYS;
	}
	*out = h;
	return 0;
}

/* The library stays mapped: threads of its resolver may outlive a transfer. */
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

static int on_progress(void *ctx, curl_off_t total, curl_off_t now, curl_off_t up_total,
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
	bool ok = !h->easy_setopt(easy, CURLOPT_URL, url) &&
		  !h->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, PROTOCOLS) &&
		  !h->easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, after_redirect) &&
		  !h->easy_setopt(easy, CURLOPT_USERAGENT, "tapir/" TAPIR_VERSION) &&
		  !h->easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data) &&
		  !h->easy_setopt(easy, CURLOPT_WRITEDATA, t) &&
		  !h->easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress) &&
		  !h->easy_setopt(easy, CURLOPT_XFERINFODATA, t) &&
		  !h->easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)t->get->max_bytes);

	for (size_t i = 0; ok && i < sizeof(numbers) / sizeof(*numbers); i++)
		ok = !h->easy_setopt(easy, numbers[i].option, numbers[i].value);
	return ok;
}

static int result_of(struct tapir_http *h, CURL *easy, const struct transfer *t, CURLcode code)
{
	long status = 0;

	h->easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
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
		snprintf(t->get->why, sizeof(t->get->why), "%s", h->easy_strerror(code));
	return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
			       code == CURLE_COULDNT_RESOLVE_PROXY
		       ? -EHOSTUNREACH
		       : -EPROTO;
}

static int run(struct tapir_http *h, CURLM *multi, struct transfer *t, CURLcode *code)
{
	int running = 1, left;
	const CURLMsg *message;

	while (running) {
		if (h->multi_perform(multi, &running) ||
		    (running && h->multi_poll(multi, NULL, 0, POLL_MS, NULL)))
			return -EPROTO;
		if (t->get->goes_on && !t->get->goes_on(t->get->ctx, t->done, t->total))
			return -EINTR;
	}
	message = h->multi_info_read(multi, &left);
	if (!message || message->msg != CURLMSG_DONE)
		return -EPROTO;
	*code = message->data.result;
	return 0;
}

int tapir_http__get(struct tapir_http *h, struct tapir_http_get *get)
{
	struct transfer t = {.get = get};
	CURL *easy = h->easy_init();
	CURLM *multi = h->multi_init();
	CURLcode code = CURLE_OK;
	int err = easy && multi ? 0 : -ENOMEM;

	get->why[0] = '\0';
	if (!err && !set_up(h, easy, &t)) {
		snprintf(get->why, sizeof(get->why), "this libcurl is too old");
		err = -EPROTO;
	}
	if (!err && h->multi_add_handle(multi, easy))
		err = -ENOMEM;
	if (!err) {
		err = run(h, multi, &t, &code);
		if (!err)
			err = result_of(h, easy, &t, code);
		h->multi_remove_handle(multi, easy);
	}
	if (easy)
		h->easy_cleanup(easy);
	if (multi)
		h->multi_cleanup(multi);
	return err;
}
