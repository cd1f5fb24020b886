/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symbolizer.h - the function at an offset of a file, as people write its name.
 *
 * Files are opened when they are mapped, because they may be gone or replaced later, and read when
 * their first address is looked up. Few tables are kept at a time: a big library's is larger than
 * all the rest of tapir. One thread.
 */
#ifndef TAPIR_USER_SYMBOLIZER_H
#define TAPIR_USER_SYMBOLIZER_H

#include <stdbool.h>
#include <stdint.h>

struct tapir_r2r;
struct tapir_symbolizer;

struct tapir_symbol_name {
	const char *name; /* demangled; borrowed until the next call */
	uint64_t start_off, size;
	bool is_range; /* no symbol is known; the name has the function's beginning */
};

/* 0 or -ENOMEM; *out is the caller's. __free closes all files. NULL is fine. */
int tapir_symbolizer__new(struct tapir_symbolizer **out);
void tapir_symbolizer__free(struct tapir_symbolizer *symbolizer);

/*
 * fd: the file whose content file_id names, or a handle (base/foreign/foreign_file.h), borrowed, or
 * -1 if it could not be opened; path: where the process tgid (0: this one) sees it, for separate
 * debug information. A file_id that is known is left as it is. Each file takes a descriptor, of
 * which the symbolizer uses a quarter at most: beyond that, the file that was asked longest ago is
 * dropped.
 * __missed counts requests for names in a file that was dropped or could not be kept.
 */
void tapir_symbolizer__add_file(struct tapir_symbolizer *symbolizer, uint64_t file_id, int fd,
				const char *path, uint32_t tgid);
uint64_t tapir_symbolizer__missed(const struct tapir_symbolizer *symbolizer);

/*
 * Returns the id of the "file" that is the running kernel with its modules and begins at
 * TAPIR_KERNEL_START_VA. Its names are requested one by one (kernel_names.h); all are read
 * (kallsyms.h) where that is impossible, and where there are thousands.
 */
uint64_t tapir_symbolizer__kernel_id(void);
#define TAPIR_KERNEL_START_VA 0xffff800000000000ull

/*
 * The methods compiled into a .NET assembly; read when first requested. NULL: not an assembly, or
 * an unknown file. Borrowed until the next call.
 */
const struct tapir_r2r *tapir_symbolizer__r2r(struct tapir_symbolizer *symbolizer,
					      uint64_t file_id);

/*
 * Names the function at an offset of a file. False: no name is known; *out is untouched. The first
 * name of a file costs the reading of its symbols.
 */
bool tapir_symbolizer__name(struct tapir_symbolizer *symbolizer, uint64_t file_id,
			    uint64_t file_off, struct tapir_symbol_name *out);

#endif
