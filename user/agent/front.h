/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * front.h - the HTTP process of one listener. It parses HTTP and nothing else: it has no
 * capabilities, no files and no tokens, and hands each request to the agent (wire.h). One thread
 * per connection; a request that does not arrive in time, or a client that takes nothing, loses its
 * connection.
 */
#ifndef TAPIR_USER_FRONT_H
#define TAPIR_USER_FRONT_H

#include "base/vec.h"
#include "agent/address.h"

struct tapir_front_opts {
	const struct tapir_address *listener;
	int control_fd; /* requests go there */
	struct tapir_words hosts;
	uint32_t only_pid;		       /* the agent touches no other process; 0: any */
	unsigned connections;		       /* at once */
	const char *tls_certificate, *tls_key; /* PEM; NULL: no TLS */
	const char *tls_client_ca;	       /* PEM; NULL: clients need no certificate */
};

/*
 * Serves until the agent is gone. The calling process has just been forked for it and ends with
 * what this returns. Diagnostic lines on stderr.
 */
int tapir_front__run(const struct tapir_front_opts *opts);

#endif
