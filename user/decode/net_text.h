/* SPDX-License-Identifier: GPL-2.0-or-later */
/* net_text.h - addresses of connections as people write them. No state; any thread. */
#ifndef TAPIR_USER_NET_TEXT_H
#define TAPIR_USER_NET_TEXT_H

#include <stdint.h>

#include "base/str.h"

/* Appends "127.0.0.1:80" or "[::1]:80". address: 16 bytes, ::ffff:a.b.c.d for an IPv4 one. */
void tapir_net__add_address(struct tapir_str *out, const uint8_t *address, uint16_t port);

#endif
