/* SPDX-License-Identifier: GPL-2.0-or-later */
/* demangle.h - C++ and Rust names as people wrote them. Thread-safe. */
#ifndef TAPIR_USER_DEMANGLE_H
#define TAPIR_USER_DEMANGLE_H

/*
 * Returns a text that the caller frees. NULL: the name is not mangled, or is not worth the work
 * (too long, too deep: demangle.c).
 */
char *tapir_demangle(const char *name);
/* The same with the parameters of a C++ function: "ns::add(int, long)". */
char *tapir_demangle__with_params(const char *name);

#endif
