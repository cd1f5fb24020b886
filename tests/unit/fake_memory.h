/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_memory.h - the memory of a made-up process: one piece, from MEMORY_VA on. */
#ifndef TAPIR_TEST_FAKE_MEMORY_H
#define TAPIR_TEST_FAKE_MEMORY_H

#include <string.h>

#include "base/str.h"
#include "runtime/process_memory.h"

#define MEMORY_VA    0x100000ull
#define MEMORY_BYTES 0x10000u

struct fake_memory {
	uint8_t bytes[MEMORY_BYTES];
	size_t size; /* of it that can be read */
	unsigned read_cnt;
};

static inline size_t fake_memory__read(void *ctx, uint64_t va, void *out, size_t bytes)
{
	struct fake_memory *m = ctx;
	uint64_t at = va - MEMORY_VA;

	m->read_cnt++;
	if (va < MEMORY_VA || at >= m->size)
		return 0;
	bytes = bytes < m->size - at ? bytes : m->size - at;
	memcpy(out, m->bytes + at, bytes);
	return bytes;
}

static inline struct tapir_process_memory fake_memory__of(struct fake_memory *m)
{
	return (struct tapir_process_memory){fake_memory__read, m};
}

static inline void fake_memory__put32(struct fake_memory *m, uint64_t va, uint32_t value)
{
	memcpy(m->bytes + (va - MEMORY_VA), &value, sizeof(value));
}

static inline void fake_memory__put(struct fake_memory *m, uint64_t va, uint64_t value)
{
	memcpy(m->bytes + (va - MEMORY_VA), &value, sizeof(value));
}

/* A name of an interpreter's function as it was found, or not, against the expected one; NULL:
 * none. */
static inline void fake_memory__is_named(bool was_found, struct tapir_str *name, bool is_internal,
					 const char *expected, bool expected_internal)
{
	if (!was_found) {
		assert_null(expected);
	} else {
		assert_non_null(expected);
		assert_string_equal(name->data, expected);
		assert_int_equal(is_internal, expected_internal);
	}
	tapir_str__fini(name);
}

#endif
