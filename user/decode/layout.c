// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names and lengths of the types of layouts. Both tables come from TAPIR_LAYOUT_TYPES, the X-macro
 * that defines the types, so that none can be missing; a length of 0 means that the payload gives
 * it.
 */
#include "decode/layout.h"

const char *tapir_layout_type__name(unsigned type)
{
	static const char *const names[] = {
#define TAPIR_X(name, bytes) #name,
		TAPIR_LAYOUT_TYPES(TAPIR_X)
#undef TAPIR_X
	};

	return type < TAPIR_LAYOUT_TYPE_CNT ? names[type] : NULL;
}

unsigned tapir_layout_type__bytes(unsigned type)
{
	static const uint8_t sizes[] = {
#define TAPIR_X(name, bytes) bytes,
		TAPIR_LAYOUT_TYPES(TAPIR_X)
#undef TAPIR_X
	};

	return type < TAPIR_LAYOUT_TYPE_CNT ? sizes[type] : 0;
}
