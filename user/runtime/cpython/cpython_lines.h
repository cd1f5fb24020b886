/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpython_lines.h - the line of an instruction of a Python function, by the table that its code has
 * (co_linetable of 3.11 and later). Pure.
 */
#ifndef TAPIR_USER_CPYTHON_LINES_H
#define TAPIR_USER_CPYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/*
 * unit: the instruction's index, in units of 2 bytes. Returns 0 if it has no line, or the table is
 * wrong.
 */
uint32_t tapir_cpython_lines__at(const uint8_t *table, size_t bytes, int32_t first_line,
				 uint32_t unit);

#endif
