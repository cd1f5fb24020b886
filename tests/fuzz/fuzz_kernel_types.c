// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as the kernel's type information. */
#include <bpf/btf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/kernel_types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct btf *own;
	struct tapir_str out = {};
	void *copy = malloc(size + 1);

	if (!own) {
		own = btf__new_empty();
		btf__add_struct(own, "a", 8);
		btf__add_enum(own, "b", 4);
	}
	if (copy)
		memcpy(copy, data, size);
	if (copy)
		(void)tapir_kernel_types__keep(copy, size, own, &out);
	tapir_str__fini(&out);
	free(copy);
	return 0;
}
