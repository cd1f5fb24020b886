// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as the payload of MethodLoadVerbose: what is a name is also shown. */
#include <assert.h>

#include "decode/dotnet_methods.h"
#include "symbol/dotnet_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tapir_event_view event = {.payload = data, .payload_bytes = size};
	struct tapir_dotnet_method method;
	struct tapir_str name = {}, shown = {};
	struct tapir_sv tier;

	if (tapir_dotnet_method__of(&event, &method, &name))
		assert(!name.len);
	else
		assert(method.size && method.start_va + method.size > method.start_va && name.len);
	(void)tapir_dotnet_name__add(&shown, (struct tapir_sv){name.data, name.len}, &tier);
	tapir_str__fini(&name);
	tapir_str__fini(&shown);
	return 0;
}
