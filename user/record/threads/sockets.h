/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sockets.h - what sockets are connected to, by the lists of a process's network namespace in
 * /proc/PID/net: "socket:[4711]" becomes "tcp 127.0.0.1:5432 to 127.0.0.1:40112".
 *
 * The lists are read when a socket is first requested, and only so much of them: a socket of a
 * machine with more than some thousand stays a number. One thread.
 */
#ifndef TAPIR_USER_SOCKETS_H
#define TAPIR_USER_SOCKETS_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

struct tapir_socket {
	uint32_t text_at, text_len; /* in texts */
};

struct tapir_sockets {		       /* zeroed at first */
	struct tapir_map idx_by_inode; /* and 1 */
	struct tapir_vec(struct tapir_socket) vec;
	struct tapir_str texts;
	bool are_read;
};

enum tapir_socket_list {
	TAPIR_SOCKETS_TCP,
	TAPIR_SOCKETS_TCP6,
	TAPIR_SOCKETS_UDP,
	TAPIR_SOCKETS_UDP6,
	TAPIR_SOCKETS_UNIX,
	TAPIR_SOCKETS_CNT
};

/* Adds the sockets of a list; lines that are not as the kernel writes them are skipped. */
void tapir_sockets__parse(struct tapir_sockets *s, enum tapir_socket_list list, const char *text,
			  size_t len);

/* Adds text to out, with each socket in it that is known by what it is connected to. */
void tapir_sockets__explain(struct tapir_sockets *s, uint32_t tgid, const char *text,
			    struct tapir_str *out);
void tapir_sockets__fini(struct tapir_sockets *s);

#endif
