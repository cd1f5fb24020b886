/* SPDX-License-Identifier: MIT */
/*
 * eh_rows.h - the functions of a file that a frame-pointer walk cannot see through, by its
 * .eh_frame: hand-written ones that save the frame pointer without setting it, or have no frame at
 * all. For each of their instructions, the distance from the stack pointer to the end of their
 * frame: the return address is 8 bytes below that end. For tapir's code in a process that walks its
 * own stack.
 *
 * Where the return address is not there (thunks that are jumped to), there is no row.
 *
 * A function that sets its frame pointer somewhere has rows only for the places where it has not
 * and more than a return address and a saved frame pointer are on the stack: a function called from
 * there hides its caller, too. Its first and last instructions are left out.
 *
 * The bytes may be hostile (eh_frame.h). Calls nothing, keeps nothing, any thread, signal handlers
 * too. C11 and C++11.
 */
#ifndef TAPIR_EH_ROWS_H
#define TAPIR_EH_ROWS_H

#include "tapir/eh_frame.h"

#define TAPIR_EH_DEEP	 16	 /* bytes: a return address and a saved frame pointer */
#define TAPIR_EH_MAX_CFA 0xfff8u /* real ones: 3,288 at most */

struct tapir_eh_row {
	uint64_t start_va; /* as the section's: linked or mapped */
	uint32_t size;
	uint32_t cfa_off; /* the frame ends that far above the stack pointer: 8 ... */
};

/* The rows of one function. */
struct tapir_eh_found {
	struct tapir_eh_row *rows;
	uint32_t cap, cnt;
	uint32_t has_frame; /* its frame pointer is set somewhere */
	uint32_t is_truncated;
};

static inline void tapir_eh__on_row(void *ctx, uint64_t from_va, uint64_t until_va,
				    const struct tapir_eh_state *state)
{
	struct tapir_eh_found *found = (struct tapir_eh_found *)ctx;
	struct tapir_eh_row *row = found->rows + found->cnt;
	uint64_t cfa_off = (uint64_t)state->cfa_off;

	found->has_frame |= state->cfa_reg == TAPIR_EH_RBP;
	if (state->cfa_reg != TAPIR_EH_RSP || state->ra.kind != TAPIR_EH_SAVED ||
	    state->ra.off != -8 || cfa_off < 8 || cfa_off > TAPIR_EH_MAX_CFA || cfa_off & 7 ||
	    until_va - from_va > 0xffffffffu)
		return;
	if (found->cnt == found->cap) {
		found->is_truncated = 1;
		return;
	}
	row->start_va = from_va;
	row->size = (uint32_t)(until_va - from_va);
	row->cfa_off = (uint32_t)cfa_off;
	found->cnt++;
}

/* Keeps only what is deep of a function with a frame: the number of rows left. */
static inline uint32_t tapir_eh__keep(const struct tapir_eh_found *found)
{
	uint32_t cnt = 0;

	if (found->is_truncated)
		return 0;
	for (uint32_t i = 0; i < found->cnt; i++)
		if (!found->has_frame || found->rows[i].cfa_off > TAPIR_EH_DEEP)
			found->rows[cnt++] = found->rows[i];
	return cnt;
}

/*
 * Fills rows, at most cap, in the order of the section, and returns
 * their number. *is_cut: not all fit, some functions are missing. Rows of a hostile section may
 * overlap.
 */
static inline uint32_t tapir_eh__rows(const struct tapir_eh_section *section,
				      struct tapir_eh_row *rows, uint32_t cap,
				      uint32_t *is_truncated)
{
	struct tapir_eh_iter it;
	struct tapir_eh_function function;
	struct tapir_eh_found found;
	uint32_t cnt = 0;

	*is_truncated = 0;
	tapir_eh__begin(&it, section);
	while (tapir_eh__next(&it, &function)) {
		found.rows = rows + cnt;
		found.cap = cap - cnt;
		found.cnt = found.has_frame = found.is_truncated = 0;
		if (tapir_eh__each_row(section, &it.common, &function, tapir_eh__on_row, &found))
			cnt += tapir_eh__keep(&found);
		*is_truncated |= found.is_truncated;
	}
	return cnt;
}

#endif
