/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * logins.h - browsers that have signed in: a random cookie stands for a token for 12 hours. A login
 * ends with its token, which is looked up again at each use. Kept in the agent's memory alone, so
 * that an agent that starts again knows none. When all places are taken, the oldest login ends. One
 * thread.
 */
#ifndef TAPIR_USER_LOGINS_H
#define TAPIR_USER_LOGINS_H

#include <stdint.h>

#include "agent/tokens.h"

#define TAPIR_LOGINS_MAX    128
#define TAPIR_LOGIN_SECONDS (12 * 3600)
#define TAPIR_COOKIE_DIGITS 64

struct tapir_login {
	char cookie[TAPIR_COOKIE_DIGITS + 1]; /* "": a free place */
	char token[TAPIR_TOKEN_MAX_BYTES];
	int64_t until_s; /* CLOCK_BOOTTIME: no step of the wall clock matters */
};

struct tapir_logins {
	struct tapir_login data[TAPIR_LOGINS_MAX];
};

/* A new login of a token; its cookie goes to out. 0 or -errno. */
int tapir_logins__add(struct tapir_logins *logins, const char *token, int64_t now_s,
		      char out[TAPIR_COOKIE_DIGITS + 1]);
/*
 * Returns the token's text, borrowed until the next change; NULL: no such login, or it has ended.
 */
const char *tapir_logins__find(const struct tapir_logins *logins, const char *cookie,
			       int64_t now_s);
void tapir_logins__remove(struct tapir_logins *logins, const char *cookie);

#endif
