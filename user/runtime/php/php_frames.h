/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * php_frames.h - which functions of PHP a process runs, by the engine's list of calls
 * (execute_data). Builds without threads, as Debian's are: the globals are a variable of the
 * program, whose size tells the version. Of other versions nothing is known.
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

struct tapir_php {
	uint64_t globals_va;	       /* executor_globals */
	struct tapir_interp_loop loop; /* execute_ex */
};

/* globals_bytes: of executor_globals. False: its version is not known. */
bool tapir_php__read(struct tapir_php *out, uint64_t globals_va, uint64_t globals_bytes,
		     struct tapir_interp_loop loop);

/* Describes to BPF programs how they find the frames of the process's first thread. */
void tapir_php__interp(const struct tapir_php *php, struct tapir_interp *out);

/*
 * "php::Shop::draw:/srv/shop.php", "php::{main}:/srv/shop.php", "php::usort:[internal]". False: it
 * is no function, and out may hold a part. *is_internal: C runs it, not the loop.
 */
bool tapir_php__add_name(const struct tapir_process_memory *memory, uint64_t function_va,
			 struct tapir_str *out, bool *is_internal);

#endif
