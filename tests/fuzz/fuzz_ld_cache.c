// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as /etc/ld.so.cache: every path that is handed out lies in them and has an end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/ld_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bounds {
	const char *data;
	size_t len;
};

static int check(void *ctx, const char *path)
{
	const struct bounds *b = ctx;

	if (path < b->data || path + strlen(path) >= b->data + b->len)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bounds b = {(const char *)data, size};

	if (tapir_ld_cache__each(b.data, size, "libc.so.6", check, &b) ||
	    tapir_ld_cache__each(b.data, size, "", check, &b))
		abort();
	return 0;
}
