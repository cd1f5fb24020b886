/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * php_frames.h - which functions of PHP a process runs, by the engine's list of calls
 * (execute_data). Builds without threads, as Debian's are: the globals are a variable of the
 * program. Its size, and from 8.3 on a function, say which version it is: 8.2 and 8.4 are known,
 * of others nothing is.
 *
 * Nothing is asked of the engine. Memory that does not look like a function's names is none. Pure
 * but for reads.
 */
#ifndef TAPIR_USER_PHP_FRAMES_H
#define TAPIR_USER_PHP_FRAMES_H

#include "base/str.h"
#include "runtime/interp_merge.h"
#include "runtime/process_memory.h"

struct tapir_interp;

/* The symbols that the engine exports and this module needs. */
enum {
	TAPIR_PHP_GLOBALS, /* executor_globals */
	TAPIR_PHP_LOOP,	   /* execute_ex */
	TAPIR_PHP_VERSION, /* php_version; 0: there is none */
	TAPIR_PHP_EXPORT_CNT
};

struct tapir_php {
	uint64_t globals_va;
	struct tapir_interp_loop loop;
	uint16_t file; /* where a function has that it is in */
};

/* Addresses and sizes of the symbols. False: its version is not known. */
bool tapir_php__read(struct tapir_php *out, const struct tapir_process_memory *memory,
		     const uint64_t vas[TAPIR_PHP_EXPORT_CNT],
		     const uint64_t bytes[TAPIR_PHP_EXPORT_CNT]);

/* Describes to BPF programs how they find the frames of the process's first thread. */
void tapir_php__interp(const struct tapir_php *php, struct tapir_interp *out);

/*
 * "php::Shop::draw:/srv/shop.php", "php::{main}:/srv/shop.php", "php::usort:[internal]". False: it
 * is no function, and out may hold a part. *is_internal: C runs it, not the loop.
 */
bool tapir_php__add_name(const struct tapir_php *php, const struct tapir_process_memory *memory,
			 uint64_t function_va, struct tapir_str *out, bool *is_internal);

#endif
