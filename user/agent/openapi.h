/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * openapi.h - the description of all resources, OpenAPI 3.0, from the table of routes. No state;
 * any thread.
 */
#ifndef TAPIR_USER_OPENAPI_H
#define TAPIR_USER_OPENAPI_H

#include "base/str.h"

/* Writes the OpenAPI document, derived from tapir_routes (route.h), as JSON. */
void tapir_openapi__write(struct tapir_str *out);

#endif
