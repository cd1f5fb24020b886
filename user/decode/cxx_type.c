// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A table of names under one lock. Demangling is the expensive part and its input is hostile, so
 * each name is demangled once, names longer than MAX_NAME_BYTES never.
 */
#include "decode/cxx_type.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "elf/demangle.h"

#define MAX_NAMES      65536u
#define MAX_NAME_BYTES 2048u

static const char prefix[] = "_ZTS", shown_prefix[] = "typeinfo name for ";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tapir_map names; /* hash -> char *; 0: not mangled */

/* Yours; NULL: it is not a mangled type. */
static char *demangled(struct tapir_sv mangled)
{
	char symbol[sizeof(prefix) + MAX_NAME_BYTES], *shown, *name;

	if (mangled.len > MAX_NAME_BYTES)
		return NULL;
	memcpy(symbol, prefix, sizeof(prefix) - 1);
	memcpy(symbol + sizeof(prefix) - 1, mangled.data, mangled.len);
	symbol[sizeof(prefix) - 1 + mangled.len] = '\0';
	shown = tapir_demangle(symbol);
	name = shown && !strncmp(shown, shown_prefix, sizeof(shown_prefix) - 1)
		       ? strdup(shown + sizeof(shown_prefix) - 1)
		       : NULL;
	free(shown);
	return name;
}

struct tapir_sv tapir_cxx_type__name(struct tapir_sv mangled)
{
	struct tapir_sv name = mangled;
	bool is_new = false;
	uint64_t *known, key;

	/* GCC marks names that are compared by address. */
	if (name.len && *name.data == '*') {
		name.data++;
		name.len--;
	}
	key = tapir_hash__bytes(11, name.data, name.len);
	pthread_mutex_lock(&lock);
	known = tapir_map__get(&names, key);
	if (!known && names.cnt < MAX_NAMES)
		known = tapir_map__put(&names, key, &is_new);
	if (known && is_new)
		*known = (uintptr_t)demangled(name);
	if (known && *known)
		name = tapir_sv__of((const char *)(uintptr_t)*known);
	pthread_mutex_unlock(&lock);
	return name;
}
