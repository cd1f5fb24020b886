// SPDX-License-Identifier: GPL-2.0-or-later
/* EventPipe metadata blobs, which other processes write. */
#include <stdint.h>
#include <stdlib.h>

#include "output/export/nettrace_kind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tapir_nettrace_fields fields = {};
	struct tapir_nettrace_metadata metadata = {.id = 1, .fields = &fields};
	struct tapir_str row = {};

	tapir_nettrace_fields__of_blob(&fields, (struct tapir_sv){(const char *)data, size});
	tapir_nettrace__put_metadata(&row, &metadata);
	if (row.failed || row.len > 2 + UINT16_MAX)
		abort();
	tapir_str__fini(&row);
	tapir_str__fini(&fields.bytes);
	return 0;
}
