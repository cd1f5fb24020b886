// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A sorted list of ranges, 16 bytes each. Entries of functions that a linker dropped remain in
 * .eh_frame with an address that is not code; they are left out.
 */
#include "attach/unwind/functions.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/vec.h"
#include "elf/image.h"
#include "attach/unwind/eh_source.h"

struct range {
	uint64_t start_va;
	uint32_t start_off;
	uint32_t size : 31, is_signal : 1;
};

struct tapir_functions {
	struct tapir_vec(struct range) ranges; /* by start_off */
};

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return tapir_order__up(x->start_off, y->start_off) ?: tapir_order__up(x->size, y->size);
}

/* False: not code of the file. A linker leaves the entries of functions that it dropped. */
static bool to_range(const struct tapir_elf *elf, const struct tapir_eh_function *f, bool is_signal,
		     struct range *out)
{
	const Elf64_Phdr *load = tapir_elf__load_at(elf, f->start_va);
	uint64_t off, size = f->end_va - f->start_va;

	if (!load || !(load->p_flags & PF_X) || !tapir_elf__va_to_off(elf, f->start_va, &off) ||
	    off > UINT32_MAX || size > INT32_MAX)
		return false;
	*out = (struct range){.start_va = f->start_va,
			      .start_off = (uint32_t)off,
			      .size = (uint32_t)size & INT32_MAX,
			      .is_signal = is_signal};
	return true;
}

static int add_ranges(struct tapir_functions *functions, const struct tapir_elf *elf,
		      const struct tapir_eh_section *section)
{
	struct tapir_eh_iter it;
	struct tapir_eh_function f;
	struct range range;

	tapir_eh__begin(&it, section);
	while (tapir_eh__next(&it, &f))
		if (to_range(elf, &f, it.common.is_signal, &range) &&
		    !tapir_vec__push(&functions->ranges, range))
			return -ENOMEM;
	if (!functions->ranges.cnt)
		return -ENOENT;
	qsort(functions->ranges.data, functions->ranges.cnt, sizeof(range), by_start);
	return 0;
}

int tapir_functions__load(struct tapir_elf *elf, struct tapir_functions **out)
{
	struct tapir_functions *functions;
	struct tapir_eh_section section;
	int err = tapir_eh_source__find(elf, &section);

	if (err)
		return err;
	functions = calloc(1, sizeof(*functions));
	err = functions ? add_ranges(functions, elf, &section) : -ENOMEM;
	if (err)
		tapir_functions__free(functions);
	else
		*out = functions;
	return err;
}

void tapir_functions__free(struct tapir_functions *functions)
{
	if (!functions)
		return;
	tapir_vec__fini(&functions->ranges);
	free(functions);
}

bool tapir_functions__find(const struct tapir_functions *functions, uint64_t file_off,
			   struct tapir_function_range *out)
{
	size_t after = tapir_sorted__upper_bound(functions->ranges.data, functions->ranges.cnt,
						 start_off, file_off);
	const struct range *range = after ? &functions->ranges.data[after - 1] : NULL;

	if (!range || file_off - range->start_off >= range->size)
		return false;
	*out = (struct tapir_function_range){range->start_off, range->size, range->start_va,
					     range->is_signal};
	return true;
}

size_t tapir_functions__cnt(const struct tapir_functions *functions)
{
	return functions->ranges.cnt;
}
