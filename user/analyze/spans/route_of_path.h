/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * route_of_path.h - what requests have in common: "GET /tax/760?full=1" is one of "GET /tax/{n}".
 * The text comes from clients: it may be anything, of any length. Pure.
 */
#ifndef TAPIR_USER_ROUTE_OF_PATH_H
#define TAPIR_USER_ROUTE_OF_PATH_H

#include "base/str.h"

#define TAPIR_ROUTE_MAX_BYTES 160 /* longer ones end in "..." */

/*
 * Adds the label without queries, with {n} for each part of the path that is a number and {id} for
 * each that is a UUID or a token. Scheme, host and port of a URL are kept.
 */
void tapir_route__add(struct tapir_str *out, const char *label);

#endif
