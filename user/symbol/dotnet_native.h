/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dotnet_native.h - the "native format" in which compiled assemblies keep their tables: numbers of
 * 1 to 5 bytes, sparse arrays, hash tables.
 *
 * Formats: "Native Format" of dotnet/runtime docs/design/coreclr/botr/readytorun-format.md. Files
 * are untrusted: every access is checked. Pure; positions count from the section's start, 0 means
 * none.
 */
#ifndef TAPIR_USER_DOTNET_NATIVE_H
#define TAPIR_USER_DOTNET_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A section. */
struct tapir_native {
	uint8_t *data;
	size_t len;
};

/* Reads a number; returns the offset at which it ends; 0: it is cut. */
size_t tapir_native__number(const struct tapir_native *b, size_t at, uint32_t *out);

struct tapir_native_array {
	const struct tapir_native *bytes; /* borrowed */
	size_t base;
	unsigned width_log; /* of the places of its blocks */
	uint32_t cnt;
};

/* Reads the header of an array that begins the section. False: it is cut. */
bool tapir_native_array__init(struct tapir_native_array *array, const struct tapir_native *b);

/* Returns the offset of the element; 0: there is none. */
size_t tapir_native_array__find(const struct tapir_native_array *array, uint32_t idx);

/* An element of a hash table; false ends the walk. */
typedef bool (*tapir_native_fn)(size_t at, void *ctx);

/* Calls fn for all elements of the table, max at most. False: it is cut, or fn ended it. */
bool tapir_native_table__each(const struct tapir_native *b, size_t max, tapir_native_fn fn,
			      void *ctx);

#endif
