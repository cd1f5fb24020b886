// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of Go's functions, of every layout of .gopclntab, whole and malformed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "elf/go_table.h"
#include "elf/symbols.h"
#include "elf_builder.h"

#define MAGIC_116 0xfffffffau
#define MAGIC_118 0xfffffff0u
#define MAGIC_120 0xfffffff1u
#define BYTES	  512u

/* Three functions: at 0, 0x40 and 0x100 of the text, which ends at 0x180. */
static const char names[] = "\0runtime.text\0main.(*shop).burn\0_rt0_amd64_linux";
static const uint32_t starts[] = {0, 0x40, 0x100, 0x180};
static const uint32_t name_offs[] = {1, 14, 32};

static void put(uint8_t *at, uint64_t value, unsigned bytes)
{
	memcpy(at, &value, bytes);
}

/* text_va: what the header says; Go 1.16's addresses are absolute. */
static void fill(uint8_t table[BYTES], uint32_t magic, uint64_t text_va)
{
	bool is_old = magic == MAGIC_116;
	unsigned word = is_old ? 8 : 4, at = is_old ? 24 : 32;
	const unsigned names_off = 0x60, functions_off = 0xc0;

	memset(table, 0, BYTES);
	put(table, magic, 4);
	table[6] = 1;
	table[7] = 8;
	put(table + 8, 3, 8);
	if (!is_old)
		put(table + 24, text_va, 8);
	put(table + at, names_off, 8);
	put(table + at + 32, functions_off, 8);
	memcpy(table + names_off, names, sizeof(names));
	for (unsigned i = 0; i < 4; i++)
		put(table + functions_off + 2 * word * i, starts[i] + (is_old ? TEXT_VA : 0), word);
	for (unsigned i = 0; i < 3; i++) {
		unsigned record = 0x80 + 0x20 * i;

		put(table + functions_off + 2 * word * i + word, record, word);
		put(table + functions_off + record + word, name_offs[i], 4);
	}
}

static struct tapir_elf *elf_with(struct elf_builder *b, const char *section, const uint8_t *table,
				  size_t len)
{
	struct tapir_elf *elf;

	elf_builder__init(b, ET_DYN);
	elf_builder__add_section(b, section, SHT_PROGBITS, table, len);
	elf_builder__finish(b);
	elf = elf_builder__open(b);
	assert_non_null(elf);
	return elf;
}

static void check_named(struct tapir_elf *elf)
{
	struct tapir_symtab *symtab;
	struct tapir_symbol got;

	assert_int_equal(tapir_symtab__load(elf, &symtab), 0);
	assert_int_equal(tapir_symtab__cnt(symtab), 3);
	assert_true(tapir_symtab__find(symtab, TEXT_OFF + 0xff, &got));
	assert_string_equal(got.name, "main.(*shop).burn");
	assert_int_equal(got.start_off, TEXT_OFF + 0x40);
	assert_int_equal(got.size, 0xc0);
	assert_true(tapir_symtab__find(symtab, TEXT_OFF + 0x100, &got));
	assert_string_equal(got.name, "_rt0_amd64_linux");
	assert_false(tapir_symtab__find(symtab, TEXT_OFF + 0x180, &got));
	tapir_symtab__free(symtab);
}

static void functions_have_names_in_every_layout(void **state)
{
	static const uint32_t magics[] = {MAGIC_116, MAGIC_118, MAGIC_120};
	uint8_t table[BYTES];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct elf_builder b;
		struct tapir_elf *elf;

		fill(table, magics[i], TEXT_VA);
		elf = elf_with(&b, ".gopclntab", table, BYTES);
		check_named(elf);
		tapir_elf__free(elf);
		elf_builder__fini(&b);
	}
}

static void table_is_found_among_other_data(void **state)
{
	uint8_t data[64 + BYTES] = {};
	struct elf_builder b;
	struct tapir_elf *elf;

	(void)state;
	fill(data + 64, MAGIC_120, TEXT_VA);
	elf_builder__init(&b, ET_DYN);
	elf_builder__add_section(&b, ".data.rel.ro", SHT_PROGBITS, data, sizeof(data));
	elf_builder__add_section(&b, ".go.buildinfo", SHT_PROGBITS, "x", 1);
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	check_named(elf);
	tapir_elf__free(elf);
	elf_builder__fini(&b);
}

/* The header of a position independent program has the address after relocation only. */
static void address_of_the_code_comes_from_a_relocation(void **state)
{
	Elf64_Rela relas[] = {{.r_offset = 24, .r_info = R_X86_64_RELATIVE, .r_addend = TEXT_VA}};
	uint8_t table[BYTES];
	struct elf_builder b;
	struct tapir_elf *elf;
	unsigned section;

	(void)state;
	fill(table, MAGIC_120, 0);
	elf_builder__init(&b, ET_DYN);
	elf_builder__add_section(&b, ".data.rel.ro.gopclntab", SHT_PROGBITS, table, BYTES);
	section = elf_builder__add_section(&b, ".rela", SHT_RELA, relas, sizeof(relas));
	b.sections[section].sh_entsize = sizeof(relas[0]);
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	check_named(elf);
	tapir_elf__free(elf);
	elf_builder__fini(&b);
}

/* Where the code begins is a guess then: wrong names would be worse than none. */
static void without_an_address_names_need_the_entry_as_a_proof(void **state)
{
	uint8_t table[BYTES];

	(void)state;
	for (int is_proven = 0; is_proven < 2; is_proven++) {
		struct elf_builder b;
		struct tapir_elf *elf;
		struct tapir_symtab *symtab;

		fill(table, MAGIC_120, 0);
		elf_builder__init(&b, ET_DYN);
		elf_builder__add_section(&b, ".gopclntab", SHT_PROGBITS, table, BYTES);
		elf_builder__finish(&b);
		((Elf64_Ehdr *)b.bytes)->e_entry = TEXT_VA + (is_proven ? 0x100 : 0x40);
		elf = elf_builder__open(&b);
		if (is_proven)
			check_named(elf);
		assert_int_equal(tapir_symtab__load(elf, &symtab), 0);
		assert_int_equal(tapir_symtab__cnt(symtab), is_proven ? 3 : 0);
		tapir_symtab__free(symtab);
		tapir_elf__free(elf);
		elf_builder__fini(&b);
	}
}

static void symbols_of_the_linker_go_first(void **state)
{
	Elf64_Sym syms[2] = {{}, {.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1}};
	const char *symbol_names[2] = {"", "linked"};
	uint8_t table[BYTES];
	struct elf_builder b;
	struct tapir_elf *elf;
	struct tapir_symtab *symtab;

	(void)state;
	syms[1].st_value = TEXT_VA;
	fill(table, MAGIC_120, TEXT_VA);
	elf_builder__init(&b, ET_DYN);
	elf_builder__add_section(&b, ".gopclntab", SHT_PROGBITS, table, BYTES);
	elf_builder__add_symbols(&b, SHT_SYMTAB, syms, 2, symbol_names);
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	assert_int_equal(tapir_symtab__load(elf, &symtab), 0);
	assert_int_equal(tapir_symtab__cnt(symtab), 1);
	tapir_symtab__free(symtab);
	tapir_elf__free(elf);
	elf_builder__fini(&b);
}

/* Cut anywhere, or any word replaced by a large one: no crash, and no function out of the text. */
static void malformed_tables_are_harmless(void **state)
{
	static const uint32_t magics[] = {MAGIC_116, MAGIC_118};
	uint8_t table[BYTES];

	(void)state;
	for (unsigned i = 0; i < 4 * BYTES; i++) {
		size_t len = i < 2 * BYTES ? i / 2 + 1 : BYTES;
		struct elf_builder b;
		struct tapir_elf *elf;
		struct tapir_symtab *symtab;
		struct tapir_symbol got;

		fill(table, magics[i % 2], TEXT_VA);
		if (i >= 2 * BYTES)
			put(table + (i / 2 - BYTES) / 8 * 8, i % 4 < 2 ? UINT64_MAX : 1ull << 62,
			    8);
		elf = elf_with(&b, ".gopclntab", table, len);
		assert_int_equal(tapir_symtab__load(elf, &symtab), 0);
		assert_false(tapir_symtab__find(symtab, DATA_OFF, &got));
		tapir_symtab__free(symtab);
		tapir_elf__free(elf);
		elf_builder__fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_have_names_in_every_layout),
		cmocka_unit_test(table_is_found_among_other_data),
		cmocka_unit_test(address_of_the_code_comes_from_a_relocation),
		cmocka_unit_test(without_an_address_names_need_the_entry_as_a_proof),
		cmocka_unit_test(symbols_of_the_linker_go_first),
		cmocka_unit_test(malformed_tables_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
