/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vdso.h - the library that the kernel maps into every process, "[vdso]" in maps: it has no file,
 * but a kernel gives all its 64-bit processes the same one, so tapir's own has the right symbols.
 * Thread-safe; no privileges.
 */
#ifndef TAPIR_USER_VDSO_H
#define TAPIR_USER_VDSO_H

#include <stdint.h>

#include "attach/maps.h"
#include "tapir/abi.h"

struct tapir_vdso {
	uint64_t file_id;
	uint64_t bytes; /* mapped */
	uint8_t build_id[TAPIR_BUILD_ID_BYTES];
	uint8_t build_id_bytes;
	int fd; /* a copy, for reading */
};

/* Returns tapir's own, copied at the first call and kept. NULL: there is none. */
const struct tapir_vdso *tapir_vdso__get(void);

/* Returns ours, if the mapping is the same one: not that of a 32-bit process. Else NULL. */
const struct tapir_vdso *tapir_vdso__at(const struct tapir_mapping_line *line);

#endif
