/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * address.h - an address at which the agent is reached. The agent opens it with its privileges and
 * keeps it, so that an HTTP process that ends can be replaced; only that process accepts from it.
 * One thread.
 */
#ifndef TAPIR_USER_ADDRESS_H
#define TAPIR_USER_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct tapir_address {
	int fd;
	int out_fd;    /* of standard output; else -1 */
	bool is_stdio; /* the process that started the agent, and no other */
	bool is_unix;  /* mode 0600: a client that can connect is this user, or root */
	bool is_loopback;
	uint16_t port;
	char host[64];	/* address, as in a Host header */
	char path[108]; /* of a unix socket */
	char name[128]; /* "http://127.0.0.1:9747", "unix:/run/tapir/tapir.sock" */
};

#define TAPIR_ADDRESS_STDIO "standard input" /* text of such an address; no option takes it */

/*
 * "HOST:PORT", "[HOST]:PORT", with a numeric address or "localhost", or "unix:PATH". A socket that
 * is left of an agent that has ended is replaced. TAPIR_ADDRESS_STDIO: standard input and output,
 * which become /dev/null, so that nothing else takes from or adds to them. -EINVAL or another
 * -errno, with a line.
 */
int tapir_address__open(const char *text, struct tapir_address *out);
/* Returns true if the listener's address says TLS; false for a unix socket. */
void tapir_address__uses_tls(struct tapir_address *listener);
/* Removes a unix socket's name, too. */
void tapir_address__close(struct tapir_address *listener);

#endif
