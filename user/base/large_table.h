/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * large_table.h - memory for hash tables of megabytes that are read at random: in large pages,
 * where the kernel has them, since with small ones most reads wait for the page's address, too. One
 * thread for each table.
 */
#ifndef TAPIR_USER_LARGE_TABLE_H
#define TAPIR_USER_LARGE_TABLE_H

#include <stddef.h>

/* Zeroed; the caller frees it by free(). NULL: out of memory. */
void *tapir_large_table__alloc(size_t cnt, size_t elem_bytes);

#endif
