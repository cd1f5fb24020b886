/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mapping_bias.h - the address as linked less the offset in the file, of the code of a mapping:
 * what a recording says of a file that is not there. Pure.
 */
#ifndef TAPIR_USER_MAPPING_BIAS_H
#define TAPIR_USER_MAPPING_BIAS_H

#include <stdio.h>

#include "trace/record.h"

#define TAPIR_VADDR_PAGE_BYTES 4096 /* of tapir_rec_mapping.vaddr_pages */

/*
 * Returns the bias in bytes. range: a symbol near the code, or NULL. A function's range says it
 * exactly; without one, the recorder's word for the first executable segment is used, whole pages.
 */
static inline uint64_t tapir_mapping__bias(const struct tapir_rec_mapping *mapping,
					   const struct tapir_rec_symbol *range)
{
	struct tapir_symbol_view view;
	unsigned long long va;
	char text[32];

	if (range && range->flags & TAPIR_SYMBOL_RANGE) {
		tapir_symbol_view__of(&range->h, &view);
		tapir_sv__copy(view.name, text, sizeof(text));
		if (sscanf(text, "fn_%llx", &va) == 1)
			return va - range->start_off;
	}
	return (uint64_t)(int64_t)mapping->vaddr_pages * TAPIR_VADDR_PAGE_BYTES;
}

#endif
