// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * .gopclntab as the runtime reads it (runtime/symtab.go): a header, and a table of functions by
 * address, each with the offset of a record that has the offset of the name.
 *
 * From Go 1.18 on addresses are relative to the start of the code, which the header of a position
 * independent program has only after relocation, and that of newer versions not at all.
 */
#include "elf/go_table.h"

#include <string.h>

#include "base/diag.h"
#include "elf/image.h"

#define MAGIC_116     0xfffffffau
#define MAGIC_118     0xfffffff0u
#define MAGIC_120     0xfffffff1u
#define TEXT_OFF      24 /* in the header */
#define ALIGNMENT     32 /* of the table */
#define MAX_FUNCTIONS (1u << 20)

static const Elf64_Shdr *find_section(const struct tapir_elf *elf)
{
	const Elf64_Shdr *section = tapir_elf__section(elf, ".gopclntab");

	return section ? section : tapir_elf__section(elf, ".data.rel.ro.gopclntab");
}

/* C's linker puts the table of a position independent program among other data. */
static const Elf64_Shdr *find_mixed(const struct tapir_elf *elf)
{
	return tapir_elf__section(elf, ".go.buildinfo") ? tapir_elf__section(elf, ".data.rel.ro")
							: NULL;
}

bool tapir_go_table__is_in(const struct tapir_elf *elf)
{
	return find_section(elf) || find_mixed(elf);
}

static bool is_magic(uint64_t magic)
{
	return magic == MAGIC_116 || magic == MAGIC_118 || magic == MAGIC_120;
}

static uint64_t read_go_table_word(const struct tapir_go_table *t, uint64_t off, unsigned bytes,
				   bool *ok)
{
	uint64_t value = 0;

	if (off > t->bytes || bytes > t->bytes - off) {
		*ok = false;
		return 0;
	}
	memcpy(&value, t->data + off, bytes); /* little-endian, as every image here */
	return value;
}

/* The value that a relocation writes to va; 0: none does. */
static uint64_t relocated_to(struct tapir_elf *elf, uint64_t va)
{
	const Elf64_Shdr *section;
	const void *data;
	size_t len;

	for (size_t i = 1; (section = tapir_elf__section_at_idx(elf, i)); i++) {
		const Elf64_Rela *rela;

		if (section->sh_type != SHT_RELA || section->sh_entsize != sizeof(*rela) ||
		    tapir_elf__data(elf, section, &data, &len))
			continue;
		for (rela = data; len >= sizeof(*rela); rela++, len -= sizeof(*rela))
			if (rela->r_offset == va && ELF64_R_TYPE(rela->r_info) == R_X86_64_RELATIVE)
				return (uint64_t)rela->r_addend;
	}
	return 0;
}

/* Is the program's first instruction where the table says that its first function is? */
static bool begins_at_entry(const struct tapir_elf *elf, const struct tapir_go_table *t)
{
	uint64_t entry_va = tapir_elf__entry_va(elf);
	struct tapir_go_function f;

	for (uint32_t i = 0; i < t->function_cnt; i++)
		if (tapir_go_table__function(t, i, &f) && f.start_va == entry_va)
			return !strncmp(f.name, "_rt0_", 5);
	return false;
}

/* A wrong address would give every function the name of another: without a proof, no names. */
static bool find_text(struct tapir_elf *elf, uint64_t table_va, struct tapir_go_table *t)
{
	const Elf64_Shdr *text = tapir_elf__section(elf, ".text");

	if (!t->text_va)
		t->text_va = relocated_to(elf, table_va + TEXT_OFF);
	if (t->text_va)
		return true;
	t->text_va = text ? text->sh_addr : 0;
	return t->text_va && begins_at_entry(elf, t);
}

static bool read_header(struct tapir_go_table *t)
{
	bool ok = true;
	uint64_t cnt, magic = read_go_table_word(t, 0, 4, &ok);
	unsigned at;

	if (!is_magic(magic) || read_go_table_word(t, 7, 1, &ok) != sizeof(uint64_t))
		return false;
	t->version = magic == MAGIC_116 ? 116 : magic == MAGIC_118 ? 118 : 120;
	t->quantum = (uint32_t)read_go_table_word(t, 6, 1, &ok);
	cnt = read_go_table_word(t, 8, 8, &ok);
	at = t->version == 116 ? TEXT_OFF : TEXT_OFF + 8;
	t->word_bytes = t->version == 116 ? 8 : 4;
	t->text_va = t->version == 116 ? 0 : read_go_table_word(t, TEXT_OFF, 8, &ok);
	t->names_off = read_go_table_word(t, at, 8, &ok);
	t->steps_off = read_go_table_word(t, at + 24, 8, &ok);
	t->functions_off = read_go_table_word(t, at + 32, 8, &ok);
	t->function_cnt = (uint32_t)cnt;
	return ok && cnt && cnt <= MAX_FUNCTIONS;
}

/* Moves on to the header: magic, two zeros, 1, 8. False: there is none. */
static bool find_header(struct tapir_go_table *t, uint64_t *va)
{
	for (; t->bytes >= ALIGNMENT;
	     t->data += ALIGNMENT, t->bytes -= ALIGNMENT, *va += ALIGNMENT) {
		uint64_t head;

		memcpy(&head, t->data, sizeof(head));
		if (is_magic((uint32_t)head) && head >> 32 == 0x08010000)
			return true;
	}
	return false;
}

static bool open_table(struct tapir_elf *elf, struct tapir_go_table *t)
{
	const Elf64_Shdr *own = find_section(elf), *section = own ? own : find_mixed(elf);
	uint64_t va;
	const void *data;

	if (!section || tapir_elf__machine(elf) != EM_X86_64 ||
	    tapir_elf__data(elf, section, &data, &t->bytes))
		return false;
	t->data = data;
	va = section->sh_addr;
	if (!own && !find_header(t, &va))
		return false;
	return read_header(t) && (t->version == 116 || find_text(elf, va, t));
}

bool tapir_go_table__open(struct tapir_elf *elf, struct tapir_go_table *out)
{
	struct tapir_go_table t = {};
	int mark = tapir_diag__cnt();
	bool ok = open_table(elf, &t);

	tapir_diag__rewind(mark);
	if (ok)
		*out = t;
	return ok;
}

bool tapir_go_table__function(const struct tapir_go_table *t, uint32_t idx,
			      struct tapir_go_function *out)
{
	uint64_t at = t->functions_off + 2ull * t->word_bytes * idx, record, name, end_va;
	struct tapir_go_function f = {};
	bool ok = t->functions_off <= t->bytes;

	f.start_va = t->text_va + read_go_table_word(t, at, t->word_bytes, &ok);
	record = read_go_table_word(t, at + t->word_bytes, t->word_bytes, &ok);
	end_va = t->text_va + read_go_table_word(t, at + 2 * t->word_bytes, t->word_bytes, &ok);
	ok = ok && record <= t->bytes && end_va > f.start_va;
	name = ok ? read_go_table_word(t, t->functions_off + record + t->word_bytes, 4, &ok) : 0;
	if (!ok || t->names_off > t->bytes || name >= t->bytes - t->names_off)
		return false;
	f.name = (const char *)t->data + t->names_off + name;
	f.size = end_va - f.start_va;
	f.record_off = t->functions_off + record;
	if (!memchr(f.name, '\0', t->bytes - t->names_off - name))
		return false;
	*out = f;
	return true;
}
