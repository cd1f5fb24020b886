// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks up each function of libcurl by name. The build that Debian's other programs use is the one
 * with GnuTLS, so its soname is tried first; a library that lacks one of the functions is refused
 * as too old.
 */
#include "base/libcurl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"
#include "base/library.h"

static bool load_functions(void *lib, struct tapir_libcurl *out)
{
#define FUNCTION(name)                                                                             \
	{                                                                                          \
		"curl_" #name, (void **)&out->name                                                 \
	}
	const struct {
		const char *name;
		void **at;
	} wanted[] = {
		FUNCTION(global_init),	 FUNCTION(easy_init),	     FUNCTION(easy_setopt),
		FUNCTION(easy_getinfo),	 FUNCTION(easy_strerror),    FUNCTION(easy_cleanup),
		FUNCTION(multi_init),	 FUNCTION(multi_add_handle), FUNCTION(multi_remove_handle),
		FUNCTION(multi_perform), FUNCTION(multi_poll),	     FUNCTION(multi_info_read),
		FUNCTION(multi_cleanup), FUNCTION(slist_append),     FUNCTION(slist_free_all),
	};
#undef FUNCTION

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		*wanted[i].at = dlsym(lib, wanted[i].name);
		if (!*wanted[i].at)
			return false;
	}
	return true;
}

int tapir_libcurl__load(struct tapir_libcurl *out, const char *verb)
{
	static const char *const names[] = {"libcurl-gnutls.so.4", "libcurl.so.4", NULL};
	void *lib = tapir_library__open(names, verb, "libcurl3-gnutls");

	if (!lib)
		return -ENOSYS;
	if (!load_functions(lib, out) || out->global_init(CURL_GLOBAL_DEFAULT))
		return tapir_diag__fail(-ENOSYS, "cannot %s: libcurl is too old", verb);
	return 0;
}
