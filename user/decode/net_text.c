// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The C library writes addresses; an IPv4 address, which the kernel stores as IPv6, loses the
 * prefix ::ffff:.
 */
#include "decode/net_text.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>

void tapir_net__add_address(struct tapir_str *out, const uint8_t *address, uint16_t port)
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	bool is_v4 = !memcmp(address, v4, sizeof(v4));
	char text[INET6_ADDRSTRLEN] = "";

	inet_ntop(is_v4 ? AF_INET : AF_INET6, address + (is_v4 ? sizeof(v4) : 0), text,
		  sizeof(text));
	if (is_v4)
		tapir_str__addf(out, "%s:%u", text, port);
	else
		tapir_str__addf(out, "[%s]:%u", text, port);
}
