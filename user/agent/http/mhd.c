// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions of libmicrohttpd, by name. GnuTLS's one function comes from the library that
 * libmicrohttpd itself has loaded: another copy would not know its sessions.
 */
#include "agent/http/mhd.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "base/library.h"

struct tapir_mhd tapir_mhd;

/* gnutls_certificate_verify_peers2: 0, and bits of what is wrong. */
static int (*verify_peers)(void *session, unsigned *problems);

/* The library that libmicrohttpd itself uses: it is in memory. */
static int load_verifier(void)
{
	static const char *const names[] = {"libgnutls.so.30", NULL};
	void *library = tapir_library__open(names, "verify certificates", "libgnutls30");
	void *at = library ? dlsym(library, "gnutls_certificate_verify_peers2") : NULL;

	if (!at)
		return -ENOSYS;
	memcpy(&verify_peers, &at, sizeof(at));
	return 0;
}

int tapir_mhd__load(bool verifies_clients)
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
	return verifies_clients ? load_verifier() : 0;
}

bool tapir_mhd__has_client_certificate(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		tapir_mhd.get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	unsigned problems = 1;

	return info && info->tls_session && verify_peers &&
	       !verify_peers(info->tls_session, &problems) && !problems;
}
