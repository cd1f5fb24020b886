/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbol_package.h - the package that has a file's symbols, by dpkg's database of this machine. Any
 * thread.
 */
#ifndef TAPIR_USER_SYMBOL_PACKAGE_H
#define TAPIR_USER_SYMBOL_PACKAGE_H

#include "base/str.h"
#include "trace/record.h"

/*
 * Appends "php8.2-cli-dbgsym" for "/usr/bin/php8.2"; false: there is no such database, or the file
 * is of none of its packages. database: a directory of NAME.list; NULL: dpkg's.
 */
bool tapir_symbol_package__add(struct tapir_str *out, struct tapir_sv path, const char *database);

#endif
