// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dlopen(3), in a program that may have been linked statically: there, it would load a second C
 * library into the process, so it is refused before it is called.
 */
#include "base/library.h"

#include <dlfcn.h>
#include <stddef.h>

#include "base/diag.h"

/* The dynamic section, which a static program has not (System V ABI, "Dynamic Section"). */
extern const char _DYNAMIC[] __attribute__((weak));

bool tapir_program__is_static(void)
{
	return !_DYNAMIC;
}

void *tapir_library__open(const char *const *names, const char *verb, const char *package)
{
	void *library = NULL;

	if (tapir_program__is_static()) {
		tapir_diag__add("cannot %s: requires %s, which a static tapir cannot load", verb,
				*names);
		return NULL;
	}
	for (const char *const *name = names; *name && !library; name++)
		library = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		tapir_diag__add("cannot %s: %s is not installed (Debian package %s)", verb, *names,
				package);
	return library;
}
