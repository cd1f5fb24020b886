// SPDX-License-Identifier: GPL-2.0-or-later
// fuzz: user/unwind/repair.c user/elf/image.c user/elf/note_iter.c user/base/map.c
// fuzz: user/base/diag.c user/base/str.c user/base/log.c
// fuzz: user/base/file.c
// fuzz: user/foreign/foreign_file.c user/foreign/foreign_path.c user/foreign/file_system.c
// fuzz: user/foreign/helper.c user/foreign/helper_child.c user/foreign/mount_list.c
// fuzz: user/foreign/overlay.c
/* Any bytes as .eh_frame: what comes out is in order, and the walker's search finds its rows. */
#include <assert.h>
#include <stdlib.h>

#include "bpf/repair_logic.bpf.h"
#include "tests/unit/elf_builder.h"
#include "unwind/repair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct tapir_repair_table *t)
{
	assert(t->row_cnt && t->row_cnt <= TAPIR_REPAIR_ROWS);
	for (uint32_t i = 0; i < t->row_cnt; i++) {
		const struct tapir_repair_row *row = &t->file.rows[i];

		assert(!i || row->off > row[-1].off);
		assert(!(row->cfa_off & 7) && row->cfa_off <= 0xfff8);
		assert(!row->cfa_off || tapir_repair__cfa_off(&t->file, row->off) == row->cfa_off);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_builder b;
	struct tapir_elf *elf;
	struct tapir_repair_table *t;

	elf_builder__init(&b, ET_DYN);
	elf_builder__add_section(&b, ".eh_frame", SHT_PROGBITS, data, size);
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	if (elf && !tapir_repair_table__make(elf, NULL, &t)) {
		check(t);
		free(t);
	}
	tapir_elf__free(elf);
	elf_builder__fini(&b);
	return 0;
}
