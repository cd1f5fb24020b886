/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mhd.h - libmicrohttpd, loaded by the agent alone: it brings GnuTLS along, which would cost every
 * start of tapir 2 ms and a reading of its configuration. One thread loads it; then any thread.
 */
#ifndef TAPIR_USER_MHD_H
#define TAPIR_USER_MHD_H

#include <stdbool.h>
#include <microhttpd.h>

/* X(name): a function that is used, MHD_name. */
#define TAPIR_MHD_FUNCTIONS(X)                                                                     \
	X(start_daemon)                                                                            \
	X(get_connection_info)                                                                     \
	X(get_connection_values)                                                                   \
	X(lookup_connection_value)                                                                 \
	X(set_connection_option)                                                                   \
	X(create_response_from_buffer)                                                             \
	X(create_response_from_callback)                                                           \
	X(add_response_header)                                                                     \
	X(queue_response)                                                                          \
	X(destroy_response)

struct tapir_mhd {
#define X(name) __typeof__(&MHD_##name) name;
	TAPIR_MHD_FUNCTIONS(X)
#undef X
};

/* The library's functions, after __load, in this process and its children. */
extern struct tapir_mhd tapir_mhd;

/*
 * Loads it, with what verifies certificates of clients, or without. 0; -ENOSYS with a line: it is
 * not installed, or too old.
 */
int tapir_mhd__load(bool verifies_clients);

/* Returns true if the client of a TLS connection has proved a certificate, which is valid now. */
bool tapir_mhd__has_client_certificate(struct MHD_Connection *connection);

#endif
