/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol_server.h - symbols that are fetched: which names a server is asked for, what becomes of an
 * answer, and when a server is asked no more. symbol_files.h describes the whole; this is its part.
 * One thread at a time.
 */
#ifndef TAPIR_USER_SYMBOL_SERVER_H
#define TAPIR_USER_SYMBOL_SERVER_H

#include "symbol/symbol_files.h"

struct tapir_symbol_fetcher; /* libcurl and the cache, for all servers */
struct tapir_symbol_server;

/* watch: borrowed. -ENOSYS with a line: no libcurl. Without a cache it works all the same. */
int tapir_symbol_fetcher__new(const struct tapir_symbol_watch *watch,
			      struct tapir_symbol_fetcher **out);
void tapir_symbol_fetcher__free(struct tapir_symbol_fetcher *f);
/* Opens a file that was fetched before; *out is the caller's. -ENOENT: it was not. */
int tapir_symbol_fetcher__cached(struct tapir_symbol_fetcher *f, const struct tapir_symbol_key *key,
				 struct tapir_elf **out);

/* Opens fd, a copy of a file: 0; -ENOENT: no ELF file, or without symbols; -ESTALE: of another
 * build. */
int tapir_symbol_copy__open(int fd, const struct tapir_symbol_key *key, struct tapir_elf **out);

/* url is copied; a password in it is never shown. 0 or -errno; *out is the caller's to free. */
int tapir_symbol_server__new(const char *url, struct tapir_symbol_server **out);
void tapir_symbol_server__free(struct tapir_symbol_server *s);
/*
 * Fetches a file of symbols by its build ID, and checks it. Blocks up to the limits of
 * symbol_http.h. -ENOENT: the server does not have it.
 */
int tapir_symbol_server__open(struct tapir_symbol_server *s, struct tapir_symbol_fetcher *f,
			      const struct tapir_symbol_key *key, struct tapir_elf **out);

#endif
