/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_switch.h - how runtime.systemstack of a Go program comes back to the goroutine that called it,
 * read off its instructions: the offsets of Go's own structures differ between its versions, and
 * nothing in a program says which ones it has.
 *
 * The instructions may be anything: what is not exactly the known sequence is not found. x86-64
 * programs that keep g in the word below the thread pointer.
 */
#ifndef TAPIR_USER_GO_SWITCH_H
#define TAPIR_USER_GO_SWITCH_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/unwind.h"

struct tapir_go_switch {
	uint32_t from, until; /* file offsets: where row holds */
	struct tapir_unwind_row row;
};

/*
 * Finds the sequence in a function. code: its len bytes; pc: where it is in the file. rows: how
 * deep its stack is, sorted, the first one at pc. False: it is not there.
 */
bool tapir_go_switch__find(const uint8_t *code, size_t len, uint32_t pc,
			   const struct tapir_unwind_row *rows, size_t row_cnt,
			   struct tapir_go_switch *out);

#endif
