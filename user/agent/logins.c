// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of logins. A look-up compares every entry in constant time, so that its duration shows
 * nothing of a cookie.
 */
#include "agent/logins.h"

#include <stdio.h>
#include <string.h>

int tapir_logins__add(struct tapir_logins *logins, const char *token, int64_t now_s,
		      char out[TAPIR_COOKIE_DIGITS + 1])
{
	struct tapir_login *slot = logins->data;
	int err = tapir_token__random(out, TAPIR_COOKIE_DIGITS);

	if (err)
		return err;
	for (size_t i = 1; i < TAPIR_LOGINS_MAX; i++)
		if (logins->data[i].until_s < slot->until_s)
			slot = &logins->data[i];
	memcpy(slot->cookie, out, sizeof(slot->cookie));
	snprintf(slot->token, sizeof(slot->token), "%s", token);
	slot->until_s = now_s + TAPIR_LOGIN_SECONDS;
	return 0;
}

/* Takes as long wherever it is found. */
static size_t login_slot(const struct tapir_logins *logins, const char *cookie)
{
	size_t found = TAPIR_LOGINS_MAX;

	for (size_t i = 0; i < TAPIR_LOGINS_MAX; i++)
		if (*logins->data[i].cookie &&
		    tapir_token__is_equal(logins->data[i].cookie, cookie))
			found = i;
	return found;
}

const char *tapir_logins__find(const struct tapir_logins *logins, const char *cookie, int64_t now_s)
{
	size_t at = login_slot(logins, cookie);

	return at < TAPIR_LOGINS_MAX && logins->data[at].until_s > now_s ? logins->data[at].token
									 : NULL;
}

void tapir_logins__remove(struct tapir_logins *logins, const char *cookie)
{
	size_t at = login_slot(logins, cookie);

	if (at < TAPIR_LOGINS_MAX)
		explicit_bzero(&logins->data[at], sizeof(logins->data[at]));
}
