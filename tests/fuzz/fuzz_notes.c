// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An ELF file as a traced process might present it. The first byte says which: a whole file
 * (headers, build ID, notes with operands and symbols, the function table), or the two note
 * sections of a file that is otherwise in order.
 */
#include <assert.h>

#include "base/diag.h"
#include "elf/image.h"
#include "elf/needed.h"
#include "elf/notes.h"
#include "elf/symbols.h"
#include "elf/tls_symbol.h"
#include "runtime/exported.h"
#include "tapir/otel_context.h"
#include "tests/unit/elf_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_notes(struct tapir_elf *elf)
{
	struct tapir_usdt_notes notes;
	const struct tapir_usdt_note *note;
	size_t len;

	if (tapir_usdt_notes__read(elf, &notes) < 0)
		return;
	tapir_vec_for_each (note, &notes) {
		assert(*note->provider && *note->name);
		assert(note->arg_cnt <= TAPIR_MAX_ARGS);
		for (unsigned i = 0; i < note->arg_cnt; i++)
			assert(*tapir_usdt_note__arg_text(note, i, &len));
	}
	tapir_usdt_notes__fini(&notes);
}

static void read_needed(struct tapir_elf *elf)
{
	struct tapir_needed needed;
	size_t len = 0;

	tapir_needed__read(elf, &needed);
	assert(needed.cnt <= TAPIR_NEEDED_MAX);
	for (size_t i = 0; i < needed.cnt; i++)
		len += strlen(needed.names[i]);
	for (const char *text = needed.runpath; text && *text; text++)
		len++;
	assert(len < SIZE_MAX);
}

static void read_tls_symbol(struct tapir_elf *elf)
{
	struct tapir_tls_symbol found = tapir_tls_symbol__find(elf, TAPIR_OTEL_THREAD_SYMBOL);

	assert(found.model <= TAPIR_TLS_MODULE);
}

static void read_exported(struct tapir_elf *elf)
{
	const struct tapir_mapping_line m = {.start_va = 1 << 20, .end_va = 1 << 21, .path = "/x"};

	(void)tapir_exported__linked_va(elf, "main");
	(void)tapir_exported__va(elf, &m, "main");
}

static void read_symbols(struct tapir_elf *elf)
{
	struct tapir_symtab *table;
	struct tapir_symbol symbol;

	if (tapir_symtab__load(elf, &table))
		return;
	for (uint64_t off = 0; off < 1 << 16; off += 997)
		if (tapir_symtab__find(table, off, &symbol))
			assert(off - symbol.start_off < symbol.size && *symbol.name);
	tapir_symtab__free(table);
}

static struct tapir_elf *open_whole(const uint8_t *data, size_t size)
{
	struct tapir_elf *elf = NULL;
	int fd = elf_builder__memfd(data, size);

	if (tapir_elf__open_fd(fd, &elf))
		elf = NULL;
	close(fd);
	return elf;
}

static struct tapir_elf *open_wrapped(const uint8_t *data, size_t size)
{
	size_t half = size > 1 << 16 ? 0 : size / 2;
	struct elf_builder b;
	struct tapir_elf *elf;

	elf_builder__init(&b, ET_DYN);
	elf_builder__add_header(&b, ".stapsdt.base", SHT_PROGBITS, SHF_ALLOC, TEXT_OFF, 1);
	elf_builder__add_section(&b, ".note.stapsdt", SHT_NOTE, data, half);
	elf_builder__add_section(&b, ".note.tapir", SHT_NOTE, data + half, half);
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	elf_builder__fini(&b);
	assert(elf);
	return elf;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tapir_elf *elf;

	if (!size)
		return 0;
	elf = *data & 1 ? open_wrapped(data + 1, size - 1) : open_whole(data + 1, size - 1);
	if (elf) {
		assert(tapir_elf__file_id(elf));
		read_needed(elf);
		read_notes(elf);
		read_symbols(elf);
		read_tls_symbol(elf);
		read_exported(elf);
		tapir_elf__free(elf);
	}
	tapir_diag__clear();
	return 0;
}
