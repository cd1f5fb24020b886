/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * library.h - libraries that are loaded when they are first needed. A statically linked tapir
 * (build/tapir-static) loads none: what it would load is built for another C library. One thread.
 */
#ifndef TAPIR_USER_LIBRARY_H
#define TAPIR_USER_LIBRARY_H

#include <stdbool.h>

/* Is this program linked statically? */
bool tapir_program__is_static(void);

/*
 * A handle for dlsym(3), which stays open: the first of the names, ended by NULL, that can be
 * loaded. NULL: none, with a line: "cannot VERB: ... is not installed (Debian package PACKAGE)".
 */
void *tapir_library__open(const char *const *names, const char *verb, const char *package);

#endif
