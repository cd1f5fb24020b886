// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as instructions, one after another: each has a length, and lies in what was read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/returns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t bytes[TAPIR_X86_READ_BYTES];
	struct tapir_x86_insn insn;

	for (size_t at = 0; at < size; at += insn.bytes) {
		size_t len = size - at < sizeof(bytes) ? size - at : sizeof(bytes);

		memset(bytes, 0, sizeof(bytes));
		memcpy(bytes, data + at, len);
		if (!tapir_x86_insn__decode(bytes, &insn))
			break;
		if (!insn.bytes || insn.bytes >= sizeof(bytes))
			abort();
	}
	return 0;
}
