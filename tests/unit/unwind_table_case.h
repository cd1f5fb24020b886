/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unwind_table_case.h - unwind tables of sections built here, and the rows that they should have.
 */
#ifndef TAPIR_TESTS_UNWIND_TABLE_CASE_H
#define TAPIR_TESTS_UNWIND_TABLE_CASE_H

#include "eh_frame_builder.h"
#include "elf_builder.h"
#include "attach/unwind/unwind_table.h"

static inline int table_in(const char *name, const void *section, size_t len,
			   struct tapir_unwind_table **out)
{
	struct elf_builder b;
	struct tapir_elf *elf;
	int err;

	elf_builder__init(&b, ET_DYN);
	elf_builder__add_section(&b, name, SHT_PROGBITS, section, len);
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	assert_non_null(elf);
	err = tapir_unwind_table__build(elf, out);
	if (!err)
		assert_true(tapir_unwind_table__is_sound(*out));
	tapir_elf__free(elf);
	elf_builder__fini(&b);
	return err;
}

static inline int table_of(const struct built *b, struct tapir_unwind_table **out)
{
	return table_in(".eh_frame", b->bytes, b->len, out);
}

static inline void assert_row(const struct tapir_unwind_table *t, uint64_t va, unsigned rule,
			      int cfa, unsigned fp)
{
	const struct tapir_unwind_row *row =
		tapir_unwind_table__find(t, (uint32_t)(va - LOAD_BIAS));

	if (!row) {
		assert_int_equal(rule, TAPIR_UNWIND_GAP);
		return;
	}
	assert_int_equal(row->rule, rule);
	assert_int_equal((int16_t)row->cfa, cfa);
	assert_int_equal(row->fp, fp);
}

/* push rbp; mov rsp, rbp */
static const uint8_t framed[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6};

#endif
