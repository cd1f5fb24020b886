// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A name itself shows that none is known: "module!fn_5cd7f0", "module+0x1234" and "0x7f00..." are
 * written exactly then, and no function is called so.
 */
#include "symbol/unnamed_frames.h"

#include <string.h>

static bool is_hex(const char *text)
{
	return *text && !text[strspn(text, "0123456789abcdef")];
}

struct tapir_sv tapir_unnamed_frame__module(const char *name)
{
	const char *plus = strrchr(name, '+'), *range = strstr(name, "!fn_");

	if (!strncmp(name, "0x", 2) && is_hex(name + 2))
		return tapir_sv__of("[unknown]");
	if (range && range != name && is_hex(range + 4))
		return (struct tapir_sv){name, (size_t)(range - name)};
	if (!plus || plus == name || strncmp(plus, "+0x", 3) != 0 || !is_hex(plus + 3))
		return (struct tapir_sv){};
	return (struct tapir_sv){name, (size_t)(plus - name)};
}

bool tapir_unnamed_frames__are_alike(const char *name, const char *other)
{
	struct tapir_sv module = tapir_unnamed_frame__module(name);

	return module.len && !tapir_sv__compare(module, tapir_unnamed_frame__module(other));
}
