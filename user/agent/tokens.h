/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tokens.h - who may do what: tokens with roles, from a file that may change while the agent runs,
 * or the one token of an agent without such a file. Kept by the agent alone: no HTTP process has
 * them.
 *
 * A token has 32 characters or more, so that it cannot be guessed; each is compared in constant
 * time. Wrong ones are counted by the client's address: beyond ten a minute, they are answered with
 * 429 and are no longer logged. A right one passes all the same: a client on the same machine must
 * not be able to lock others out.
 */
#ifndef TAPIR_USER_TOKENS_H
#define TAPIR_USER_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/role.h"

#define TAPIR_TOKEN_MIN_BYTES  32
#define TAPIR_TOKEN_MAX_BYTES  512
#define TAPIR_TOKEN_NAME_BYTES 64
#define TAPIR_TOKENS_MAX       256
#define TAPIR_CSRF_DIGITS      32

struct tapir_token {
	char name[TAPIR_TOKEN_NAME_BYTES];
	enum tapir_client_role role;
	int64_t expires_s; /* UTC; 0: never */
	char text[TAPIR_TOKEN_MAX_BYTES];
	char csrf[TAPIR_CSRF_DIGITS + 1]; /* that its forms carry; random for each agent */
};

struct tapir_tokens;

/*
 * The tokens of a file: {"tokens": [{"name": , "role": , "token": , "expires": }]}. The file is
 * mode 0600 and belongs to this user. -errno with a line that names file, line and member.
 */
int tapir_tokens__open(const char *path, struct tapir_tokens **out);
/*
 * Opens one token, named "admin", in the file path: created, 0600, with random content unless it
 * exists.
 */
int tapir_tokens__open_single(const char *path, struct tapir_tokens **out);
/* Makes an empty set: without tokens no caller is admitted by one. */
int tapir_tokens__new(struct tapir_tokens **out);
void tapir_tokens__free(struct tapir_tokens *tokens);

/*
 * Reads the file again if it has changed. A file that cannot be read or is wrong leaves the tokens
 * as they were; true, with lines, when that is first seen.
 */
int tapir_tokens__reload(struct tapir_tokens *tokens);

/*
 * Returns the token that this is, borrowed until the next reload; NULL: wrong, or expired at now_s.
 */
const struct tapir_token *tapir_tokens__find(const struct tapir_tokens *tokens, const char *text,
					     int64_t now_s);

/* Parses the content of such a file; on failure out is as it was. -EINVAL with a line. */
int tapir_tokens__parse(const char *text, size_t len, const char *path, struct tapir_token *out,
			size_t *cnt);

/* Takes as long whatever is equal; lengths are not secret. */
bool tapir_token__is_equal(const char *a, const char *b);

/* Writes digits hexadecimal digits that cannot be predicted. 0 or -errno. */
int tapir_token__random(char *out, size_t digits);

/* ---- failures ------------------------------------------------------------------------------- */

#define TAPIR_FAILURES_PEERS   64
#define TAPIR_FAILURES_MAX     10
#define TAPIR_FAILURES_SECONDS 60
#define TAPIR_FAILURES_LINES   20 /* of the log, in that time, whatever the addresses */

struct tapir_failures {
	struct {
		char peer[48]; /* of IPv6 the network: a host may use all its addresses */
		int64_t since_s;
		unsigned cnt;
	} peers[TAPIR_FAILURES_PEERS];
	int64_t lines_since_s;
	unsigned line_cnt, unlogged_cnt;
};

/*
 * Counts one more failure. Returns the seconds until the address is listened to again; 0: it has
 * not failed too often.
 */
unsigned tapir_failures__add(struct tapir_failures *failures, const char *peer, int64_t now_s);

/*
 * Returns true if a request without a token may have a line of the log: clients without one do not
 * determine its length. *unlogged_cnt, if true: number of lines left out before this one.
 */
bool tapir_failures__may_log(struct tapir_failures *failures, int64_t now_s,
			     unsigned *unlogged_cnt);

#endif
