/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libcurl.h - libcurl's functions, by name: the library is loaded when the first of them is asked
 * for, so that a tapir which fetches and sends nothing neither needs nor maps it. One thread.
 */
#ifndef TAPIR_USER_LIBCURL_H
#define TAPIR_USER_LIBCURL_H

#ifndef CURL_DISABLE_TYPECHECK
#define CURL_DISABLE_TYPECHECK
#endif
#include <curl/curl.h>

struct tapir_libcurl {
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
	__typeof__(curl_slist_append) *slist_append;
	__typeof__(curl_slist_free_all) *slist_free_all;
};

/*
 * verb: what it is for, in the line of -ENOSYS: it is not installed, or lacks a function. It stays
 * mapped: threads of its resolver may outlive a transfer.
 */
int tapir_libcurl__load(struct tapir_libcurl *out, const char *verb);

#endif
