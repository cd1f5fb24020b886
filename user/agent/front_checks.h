/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * front_checks.h - what headers of a request mean, and which requests come from a page that has no
 * business with the agent: by another name of its address (DNS rebinding) or from another site.
 * Pure functions over any text. Any thread.
 */
#ifndef TAPIR_USER_FRONT_CHECKS_H
#define TAPIR_USER_FRONT_CHECKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"
#include "agent/wire.h"

/*
 * Returns true if a Host header names the agent: a numeric address, localhost, or one of hosts.
 * What else leads here may be a name that an attacker has made lead here.
 */
bool tapir_front__is_host(const char *host, const struct tapir_words *hosts);

/* Returns true if an Origin header names the host that the request went to. */
bool tapir_front__is_origin(const char *origin, const char *host);

/*
 * Copies the token of an Authorization header, "Bearer TOKEN" or the password of "Basic BASE64",
 * into out. False: neither, or it does not fit.
 */
bool tapir_front__token(const char *authorization, char *out, size_t size);

/* %XX decoded in place, except %00; a '%' without two digits stays. Returns the length. */
size_t tapir_front__unescape(char *text);

/*
 * Parses the fields of a form (application/x-www-form-urlencoded), decoded in place; those without
 * a value are left out. Returns their number, or -E2BIG.
 */
int tapir_front__parse_form(char *text, struct tapir_wire_pair *out, size_t max);

/* Returns true if a page's path may be where a browser is sent to: of this agent, and plain. */
bool tapir_front__is_local_path(const char *path);

#endif
