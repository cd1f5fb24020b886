// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fetches symbol files from servers and judges what comes: it must be an ELF image of that very
 * build. A server that does not answer, or answers with something else, is reported once and left
 * alone from then on, so that a report does not wait for it at each library.
 */
#include "symbol/symbol_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "elf/debug_file.h"
#include "elf/image.h"
#include "symbol/symbol_cache.h"
#include "symbol/symbol_http.h"

#define KINDS	     3
#define MAX_FAILURES 3 /* wrong answers, until a server is asked no more */

struct tapir_symbol_fetcher {
	const struct tapir_symbol_watch *watch;
	struct tapir_http *http;
	struct tapir_symbol_cache cache; /* dir_fd -1: there is none */
	const char *file;		 /* that is fetched */
	bool was_stopped;
};

struct tapir_symbol_server {
	char *url;		/* without a slash at its end */
	struct tapir_str shown; /* without a password, for messages */
	unsigned first_kind;	/* what it had last is asked for first */
	unsigned failure_cnt;
	bool is_down;
};

/* ---- the fetcher ------------------------------------------------------------------------- */

int tapir_symbol_fetcher__new(const struct tapir_symbol_watch *watch,
			      struct tapir_symbol_fetcher **out)
{
	struct tapir_symbol_fetcher *f = calloc(1, sizeof(*f));
	int mark = tapir_diag__cnt(), err;

	if (!f)
		return -ENOMEM;
	f->watch = watch;
	f->cache.dir_fd = -1;
	err = tapir_http__new(&f->http);
	if (err) {
		tapir_symbol_fetcher__free(f);
		return err;
	}
	if (tapir_symbol_cache__open(&f->cache))
		tapir_warn("%s", tapir_diag__line(tapir_diag__cnt() - 1));
	tapir_diag__rewind(mark);
	*out = f;
	return 0;
}

void tapir_symbol_fetcher__free(struct tapir_symbol_fetcher *f)
{
	if (!f)
		return;
	tapir_http__free(f->http);
	tapir_symbol_cache__close(&f->cache);
	free(f);
}

static void put_id(struct tapir_str *out, const struct tapir_symbol_key *key)
{
	tapir_str__add_hex(out, key->build_id, key->build_id_bytes);
}

int tapir_symbol_copy__open(int fd, const struct tapir_symbol_key *key, struct tapir_elf **out)
{
	struct tapir_elf *elf = NULL;
	int mark = tapir_diag__cnt(), err = 0;

	if (tapir_elf__open_fd(fd, &elf))
		err = -ENOENT;
	else if (!tapir_debug_file__is_of(elf, key->build_id, key->build_id_bytes))
		err = -ESTALE;
	else if (!tapir_debug_file__has_functions(elf))
		err = -ENOENT;
	tapir_diag__rewind(mark);
	if (err)
		tapir_elf__free(elf);
	else
		*out = elf;
	return err;
}

int tapir_symbol_fetcher__cached(struct tapir_symbol_fetcher *f, const struct tapir_symbol_key *key,
				 struct tapir_elf **out)
{
	tapir_autofd int fd = -1;
	struct tapir_str name = {};

	put_id(&name, key);
	if (f->cache.dir_fd >= 0 && !name.failed)
		fd = tapir_symbol_cache__get(&f->cache, name.data);
	tapir_str__fini(&name);
	return fd < 0 || tapir_symbol_copy__open(fd, key, out) ? -ENOENT : 0;
}

/* In the cache's file system, else where temporary files are. */
static int new_file(struct tapir_symbol_fetcher *f)
{
	int fd = f->cache.dir_fd >= 0 ? tapir_symbol_cache__new_file(&f->cache) : -ENOENT;

	return fd >= 0 ? fd : tapir_file__temporary();
}

static void keep_symbol_file(struct tapir_symbol_fetcher *f, int fd,
			     const struct tapir_symbol_key *key)
{
	struct tapir_str name = {};
	int err;

	put_id(&name, key);
	err = f->cache.dir_fd < 0 || name.failed
		      ? 0
		      : tapir_symbol_cache__put(&f->cache, fd, name.data);
	if (err && err != -EXDEV)
		tapir_warn("cannot keep symbols in %s: %s", f->cache.dir.data,
			   tapir_errno__text(err));
	tapir_str__fini(&name);
}

static bool should_continue_transfer(void *ctx, uint64_t done, uint64_t total)
{
	struct tapir_symbol_fetcher *f = ctx;

	f->was_stopped |= f->watch->should_continue &&
			  !f->watch->should_continue(f->watch->ctx, f->file, done, total);
	return !f->was_stopped;
}

/* ---- a server ---------------------------------------------------------------------------- */

/* "https://user:password@host/" is shown as "https://host/". */
static void put_shown(struct tapir_str *out, const char *url)
{
	const char *host = strstr(url, "//"), *at;

	host = host ? host + 2 : url;
	at = memrchr(host, '@', strcspn(host, "/"));
	tapir_str__add(out, url, (size_t)(host - url));
	host = at ? at + 1 : host;
	tapir_str__add_printable(out, host, strlen(host));
}

int tapir_symbol_server__new(const char *url, struct tapir_symbol_server **out)
{
	struct tapir_symbol_server *s = calloc(1, sizeof(*s));
	size_t len = strlen(url);

	while (len && url[len - 1] == '/')
		len--;
	if (s)
		s->url = strndup(url, len);
	if (s)
		put_shown(&s->shown, url);
	if (!s || !s->url || s->shown.failed) {
		tapir_symbol_server__free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

void tapir_symbol_server__free(struct tapir_symbol_server *s)
{
	if (!s)
		return;
	free(s->url);
	tapir_str__fini(&s->shown);
	free(s);
}

/*
 * Adds the name as an element of a path: unreserved characters of RFC 3986, lower case, others
 * escaped.
 */
static void put_name(struct tapir_str *out, const char *path)
{
	static const char hex[] = "0123456789ABCDEF";
	const char *slash = strrchr(path, '/');

	for (const char *p = slash ? slash + 1 : path; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c >= 'A' && c <= 'Z')
			tapir_str__addc(out, (char)(c - 'A' + 'a'));
		else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || strchr("-._~", c))
			tapir_str__addc(out, (char)c);
		else
			tapir_str__addf(out, "%%%c%c", hex[c >> 4], hex[c & 15]);
	}
}

static void put_url(struct tapir_str *out, const struct tapir_symbol_server *s, unsigned kind,
		    const struct tapir_symbol_key *key)
{
	tapir_str__clear(out);
	tapir_str__adds(out, s->url);
	tapir_str__adds(out, kind == 0	 ? "/buildid/"
			     : kind == 1 ? "/_.debug/elf-buildid-sym-"
					 : "/");
	if (kind == 2) {
		put_name(out, key->path);
		tapir_str__adds(out, "/elf-buildid-");
	}
	put_id(out, key);
	tapir_str__adds(out, kind == 0 ? "/debuginfo" : kind == 1 ? "/_.debug" : "/");
	if (kind == 2)
		put_name(out, key->path);
}

static void report(struct tapir_symbol_server *s, const struct tapir_symbol_fetcher *f, int err,
		   const char *why)
{
	bool does_not_answer = err == -ETIMEDOUT || err == -EHOSTUNREACH;
	const char *reason = err == -ESTALE  ? "the server sent another build"
			     : err == -EFBIG ? "it is larger than 1 GB"
			     : *why	     ? why
					     : tapir_errno__text(err);

	s->is_down = does_not_answer || ++s->failure_cnt >= MAX_FAILURES;
	tapir_warn("cannot fetch symbols of %s from %s: %s%s", f->file, s->shown.data, reason,
		   s->is_down ? "; this server is not asked again" : "");
}

static int fetch(struct tapir_symbol_server *s, struct tapir_symbol_fetcher *f, const char *url,
		 const struct tapir_symbol_key *key, struct tapir_elf **out)
{
	tapir_autofd int fd = new_file(f);
	struct tapir_http_get get = {.url = url,
				     .fd = fd,
				     .max_bytes = TAPIR_SYMBOL_FILE_MAX_BYTES,
				     .should_continue = should_continue_transfer,
				     .ctx = f};
	int err = fd < 0 ? fd : tapir_http__get(f->http, &get);

	if (!err)
		err = tapir_symbol_copy__open(fd, key, out);
	if (!err)
		keep_symbol_file(f, fd, key);
	else if (err != -ENOENT && err != -EINTR)
		report(s, f, err, get.why);
	return err;
}

int tapir_symbol_server__open(struct tapir_symbol_server *s, struct tapir_symbol_fetcher *f,
			      const struct tapir_symbol_key *key, struct tapir_elf **out)
{
	const char *slash = strrchr(key->path, '/');
	struct tapir_str url = {}, file = {};
	int err = -ENOENT;

	tapir_str__adds(&file, "");
	tapir_str__add_printable(&file, slash ? slash + 1 : key->path,
				 strlen(slash ? slash + 1 : key->path));
	f->file = file.data ? file.data : "a file";
	for (unsigned i = 0; err && i < KINDS && !s->is_down && !f->was_stopped; i++) {
		unsigned kind = (s->first_kind + i) % KINDS;

		put_url(&url, s, kind, key);
		if (url.failed)
			break;
		err = fetch(s, f, url.data, key, out);
		if (!err)
			s->first_kind = kind;
	}
	if (f->watch->ended)
		f->watch->ended(f->watch->ctx);
	f->file = NULL;
	tapir_str__fini(&url);
	tapir_str__fini(&file);
	return err ? -ENOENT : 0;
}
