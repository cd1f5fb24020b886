/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eh_frame_builder.h - sections .eh_frame with functions of our making. */
#ifndef TAPIR_TEST_EH_FRAME_BUILDER_H
#define TAPIR_TEST_EH_FRAME_BUILDER_H

#include <stdint.h>
#include <string.h>

#define CIE_BYTES 20

/* "zR", code alignment 1, data alignment -8, RA 16, absolute pointers; cfa = rsp + 8, RA saved. */
static const uint8_t cie[CIE_BYTES + 4] = {CIE_BYTES, 0,  0, 0, 0,    0, 0, 0,	  1, 'z', 'R', 0, 1,
					   0x78,      16, 1, 0, 0x0c, 7, 8, 0x90, 1, 0,	  0};

struct built {
	uint8_t bytes[65536];
	size_t len;
};

static inline void begin(struct built *b)
{
	memcpy(b->bytes, cie, sizeof(cie));
	b->len = sizeof(cie);
}

static inline void add_fde(struct built *b, uint64_t start_va, uint64_t range, const uint8_t *code,
			   size_t code_bytes)
{
	uint32_t len = (uint32_t)(4 + 8 + 8 + 1 + code_bytes), id = (uint32_t)b->len + 4;
	uint8_t no_augmentation = 0;

	memcpy(b->bytes + b->len, &len, 4);
	memcpy(b->bytes + b->len + 4, &id, 4);
	memcpy(b->bytes + b->len + 8, &start_va, 8);
	memcpy(b->bytes + b->len + 16, &range, 8);
	memcpy(b->bytes + b->len + 24, &no_augmentation, 1);
	memcpy(b->bytes + b->len + 25, code, code_bytes);
	b->len += 25 + code_bytes;
}

#endif
