/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rust_name.h - decides whether a mangled Rust name (v0, RFC 2603) is worth demangling. Pure.
 *
 * A binder, 'G' and a number, announces that many lifetimes, and libiberty counts them up one by
 * one, also in the parts of a name that it does not print, where no limit of the text applies: a
 * name of 17 bytes can keep it busy for years. So the name is parsed here first, as libiberty does.
 * Any thread.
 */
#ifndef TAPIR_USER_RUST_NAME_H
#define TAPIR_USER_RUST_NAME_H

#include <stdbool.h>

/* name: begins with "_R". False: it is malformed, too deep, or has too many lifetimes. */
bool tapir_rust_name__is_cheap(const char *name);

#endif
