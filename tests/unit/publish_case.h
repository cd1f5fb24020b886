/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of --publish share: an event with a field of every type, for a stub of the
 * library. */
#ifndef TAPIR_TEST_PUBLISH_CASE_H
#define TAPIR_TEST_PUBLISH_CASE_H

#include <string.h>

#include "blob_builder.h"
#include "usdt/coreclr/coreclr_publish.h"

struct coreclr_state coreclr = {.key = 0xabc};

void coreclr_wakeup(void)
{
}

static inline void head(struct bytes *b, const char *name, unsigned field_cnt)
{
	head_of(b, name, 0xf00000000001, 4, field_cnt);
}

static const uint8_t guid[] = {0x33, 0x22, 0x11, 0,    0x55, 0x44, 0x77, 0x66,
			       0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};

/* Types 3 to 18, one of each, and what they hold. is_self: as an event that describes itself. */
static inline void all_types(struct bytes *blob, struct bytes *payload, int is_self)
{
	static const char *const names[] = {"b",   "c",	  "s8", "u8", "s16", "u16", "s32", "u32",
					    "s64", "u64", "f",	"d",  "m",   "t",   "g",   "s"};
	double d = -2.25;
	float f = 0.1f;

	head(blob, "All", is_self ? 1 : 16);
	if (is_self) {
		u(blob, CORECLR_OBJECT, 4);
		u(blob, 16, 4);
	}
	for (unsigned i = 0; i < 16; i++)
		field(blob, 3 + i, names[i]);
	if (is_self)
		wide(blob, "");
	*payload = (struct bytes){};
	u(payload, 1, is_self ? 1 : 4);
	u(payload, 'x', 2);
	u(payload, (uint64_t)-5, 1);
	u(payload, 200, 1);
	u(payload, (uint64_t)-3000, 2);
	u(payload, 60000, 2);
	u(payload, (uint64_t)-100000, 4);
	u(payload, 4000000000, 4);
	u(payload, (uint64_t)-5000000000, 8);
	u(payload, 10000000000000000000ull, 8);
	put(payload, &f, 4);
	put(payload, &d, 8);
	if (is_self) {
		put(payload, &d, 8);
	} else {
		u(payload, 2ull << 16 | 1ull << 31, 8); /* two digits, negative */
		u(payload, 12345, 8);
	}
	u(payload, 134000000001234567ull, 8);
	put(payload, guid, 16);
	wide(payload, "a \"b\"\\\n");
}

#endif
