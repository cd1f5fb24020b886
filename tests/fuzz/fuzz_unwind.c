// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as .eh_frame or .debug_frame, found by name or by program header: the rows are in
 * order, the table is sound, and the walker's search finds in it what the rows say.
 */
#include <assert.h>

#include "tests/unit/elf_builder.h"
#include "attach/unwind/rows.h"
#include "attach/unwind/undescribed.h"
#include "attach/unwind/unwind_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct tapir_unwind_row *slow_find(const struct tapir_unwind_rows *rows, uint32_t pc)
{
	size_t after = tapir_sorted__upper_bound(rows->vec.data, rows->vec.cnt, pc, pc);

	return &rows->vec.data[after - 1];
}

static void check(const struct tapir_unwind_rows *rows)
{
	struct tapir_unwind_table *t;

	for (size_t i = 1; i < rows->vec.cnt; i++)
		assert(rows->vec.data[i].pc > rows->vec.data[i - 1].pc);
	if (tapir_unwind_table__pack(rows, &t))
		return;
	assert(tapir_unwind_table__is_sound(t));
	for (uint32_t pc = TEXT_OFF; pc < DATA_OFF; pc += 7) {
		const struct tapir_unwind_row *got = tapir_unwind_table__find(t, pc);
		const struct tapir_unwind_row *want = slow_find(rows, pc);

		assert(got ? got->pc == want->pc && got->rule == want->rule
			   : want->rule == TAPIR_UNWIND_GAP);
	}
	tapir_unwind_table__free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {".eh_frame", ".debug_frame", ".other"};
	struct tapir_unwind_rows rows = {};
	struct elf_builder b;
	struct tapir_elf *elf;

	if (!size)
		return 0;
	elf_builder__init(&b, ET_DYN);
	elf_builder__add_section(&b, names[data[0] % 3], SHT_PROGBITS, data + 1, size - 1);
	if (data[0] % 3 == 2 && size - 1 <= IMAGE_BYTES - DATA_OFF) {
		memcpy(b.bytes + DATA_OFF, data + 1, size - 1);
		elf_builder__add_phdr(&b, PT_GNU_EH_FRAME, PF_R, DATA_OFF, size - 1);
	}
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	if (elf && !tapir_unwind_rows__make(elf, &rows))
		check(&rows);
	tapir_unwind_rows__fini(&rows);
	tapir_elf__free(elf);
	elf_builder__fini(&b);
	return 0;
}
