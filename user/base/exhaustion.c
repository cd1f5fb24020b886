// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counters of exhaustion.h. Relaxed atomics are enough: they are read once, at the end, for one
 * line.
 */
#include "base/exhaustion.h"

#include <errno.h>
#include <stdatomic.h>

static atomic_uint_least64_t memory_cnt, fd_cnt; /* the process has one limit of each */

void tapir_exhaustion__note(int err)
{
	err = err < 0 ? -err : err;
	if (err == ENOMEM)
		atomic_fetch_add_explicit(&memory_cnt, 1, memory_order_relaxed);
	else if (err == EMFILE || err == ENFILE)
		atomic_fetch_add_explicit(&fd_cnt, 1, memory_order_relaxed);
}

struct tapir_exhaustions tapir_exhaustion__all(void)
{
	return (struct tapir_exhaustions){.memory_cnt = atomic_load(&memory_cnt),
					  .fd_cnt = atomic_load(&fd_cnt)};
}

int tapir_exhaustion__err(void)
{
	struct tapir_exhaustions all = tapir_exhaustion__all();

	return all.memory_cnt ? -ENOMEM : all.fd_cnt ? -EMFILE : 0;
}
