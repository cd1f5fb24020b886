// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a method's name: what is shown is not much longer, and nothing is read outside. */
#include <assert.h>

#include "symbol/dotnet_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tapir_sv raw = {(const char *)data, size}, tier = {};
	struct tapir_str out = {};

	if (tapir_dotnet_name__add(&out, raw, &tier)) {
		assert(tier.len && tier.data > raw.data && tier.data + tier.len <= raw.data + size);
		assert(out.len && !out.failed);
	} else {
		assert(!out.len);
	}
	tapir_str__fini(&out);
	return 0;
}
