// SPDX-License-Identifier: GPL-2.0-or-later
/* A symbol's name, as a hostile file may have it. libFuzzer's timeout is the check. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 3), *plain;

	assert(name);
	memcpy(name, "_Z", 2);
	memcpy(name + 2, data, size);
	name[size + 2] = '\0';
	if (size && data[size - 1] & 1)
		name[1] = 'R';
	plain = tapir_demangle(name);
	assert(!plain || *plain);
	free(plain);
	free(name);
	return 0;
}
