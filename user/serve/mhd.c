// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions of libmicrohttpd, by name. */
#include "serve/mhd.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "base/library.h"

struct tapir_mhd tapir_mhd;

int tapir_mhd__load(void)
{
	static const char *const names[] = {"libmicrohttpd.so.12", NULL};
	void *library = tapir_library__open(names, "serve HTTP", "libmicrohttpd12"), *at;

	if (!library)
		return -ENOSYS;
		/* dlsym returns an object pointer; POSIX allows it to be a function's. */
#define X(name)                                                                                    \
	at = dlsym(library, "MHD_" #name);                                                         \
	if (!at)                                                                                   \
		return tapir_diag__fail(-ENOSYS, "cannot serve HTTP: %s has no MHD_" #name,        \
					*names);                                                   \
	memcpy(&tapir_mhd.name, &at, sizeof(at));
	TAPIR_MHD_FUNCTIONS(X)
#undef X
	return 0;
}
