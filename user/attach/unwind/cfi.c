// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * .eh_frame as an index of its functions. The program of a function's rules is run only when it is
 * requested, up to the instruction in question.
 */
#include "attach/unwind/cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/vec.h"
#include "elf/image.h"
#include "attach/unwind/eh_source.h"

struct entry {
	struct tapir_eh_function function;
	size_t cie_off; /* in the section */
};

struct tapir_cfi {
	struct tapir_eh_section section;	/* its data borrowed */
	struct tapir_vec(struct entry) entries; /* by start_va */
};

/* ---- entries ---------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return tapir_order__up(x->function.start_va, y->function.start_va);
}

static int build_index(struct tapir_cfi *cfi)
{
	struct tapir_eh_iter it;
	struct entry entry;

	tapir_eh__begin(&it, &cfi->section);
	while (tapir_eh__next(&it, &entry.function)) {
		entry.cie_off = it.cie_off - 1;
		if (!tapir_vec__push(&cfi->entries, entry))
			return -ENOMEM;
	}
	if (cfi->entries.cnt)
		qsort(cfi->entries.data, cfi->entries.cnt, sizeof(*cfi->entries.data), by_start);
	return 0;
}

int tapir_cfi__load(struct tapir_elf *elf, struct tapir_cfi **out)
{
	struct tapir_eh_section section;
	struct tapir_cfi *cfi;
	int err = tapir_eh_source__find(elf, &section);

	if (err)
		return err;
	cfi = calloc(1, sizeof(*cfi));
	if (!cfi)
		return -ENOMEM;
	cfi->section = section;
	err = build_index(cfi);
	if (err) {
		tapir_cfi__free(cfi);
		return err;
	}
	*out = cfi;
	return 0;
}

void tapir_cfi__free(struct tapir_cfi *cfi)
{
	if (!cfi)
		return;
	tapir_vec__fini(&cfi->entries);
	free(cfi);
}

/* ---- running an entry's instructions ----------------------------------------------------- */

struct search {
	uint64_t va;
	struct tapir_eh_state state;
	bool found;
};

static void on_row(void *ctx, uint64_t from_va, uint64_t until_va,
		   const struct tapir_eh_state *state)
{
	struct search *search = ctx;

	if (search->va < from_va || search->va >= until_va)
		return;
	search->state = *state;
	search->found = true;
}

static bool fits_cfi_offset(int64_t off)
{
	return off >= -(1 << 20) && off <= 1 << 20;
}

static bool as_row(const struct tapir_eh_state *s, struct tapir_cfi_row *out)
{
	bool fp_is_saved = s->fp.kind == TAPIR_EH_SAVED;

	if ((s->cfa_reg != TAPIR_EH_RSP && s->cfa_reg != TAPIR_EH_RBP) ||
	    s->ra.kind != TAPIR_EH_SAVED || s->ra.off != -8 || !fits_cfi_offset(s->cfa_off) ||
	    (s->fp.kind != TAPIR_EH_SAME && !(fp_is_saved && fits_cfi_offset(s->fp.off))))
		return false;
	*out = (struct tapir_cfi_row){.cfa_is_from_fp = s->cfa_reg == TAPIR_EH_RBP,
				      .fp_is_saved = fp_is_saved,
				      .cfa_off = (int32_t)s->cfa_off,
				      .fp_off = fp_is_saved ? (int32_t)s->fp.off : 0};
	return true;
}

static const struct entry *find_fde(const struct tapir_cfi *cfi, uint64_t va)
{
	size_t after = tapir_sorted__upper_bound(cfi->entries.data, cfi->entries.cnt,
						 function.start_va, va);
	const struct entry *entry = after ? &cfi->entries.data[after - 1] : NULL;

	return entry && va < entry->function.end_va ? entry : NULL;
}

bool tapir_cfi__row_at(const struct tapir_cfi *cfi, uint64_t va, struct tapir_cfi_row *out)
{
	const struct entry *entry = find_fde(cfi, va);
	struct search search = {.va = va};
	struct tapir_eh_common common;

	return entry && tapir_eh__cie(&cfi->section, entry->cie_off, &common) &&
	       tapir_eh__each_row(&cfi->section, &common, &entry->function, on_row, &search) &&
	       search.found && as_row(&search.state, out);
}
