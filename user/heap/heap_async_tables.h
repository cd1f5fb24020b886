/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heap_async_tables.h - suspended async methods as a sentence and tables, for
 * output/render/view_result_print.h. One thread.
 */
#ifndef TAPIR_USER_HEAP_ASYNC_TABLES_H
#define TAPIR_USER_HEAP_ASYNC_TABLES_H

#include "analyze/view_result.h"
#include "heap/heap_snapshot.h"

/*
 * Writes what each suspended method of the snapshot awaits, at most so many rows; out: empty but
 * for view. -ENOMEM.
 */
int tapir_heap_async_tables__make(const struct tapir_heap_snapshot *s, uint64_t top,
				  struct tapir_view_result *out);

#endif
