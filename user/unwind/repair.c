// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows in the section's order -> rows by address, with the gaps between them, and their pages. */
#include "unwind/repair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "elf/image.h"
#include "tapir/eh_rows.h"

#define SECTION_MAX_BYTES (64u << 20)
#define JUMPS_MAX_BYTES	  (1u << 20)
#define MIN_PAGE_SHIFT	  10 /* with 1 KB few pages have both rows and other functions */

/* Each row may need another one that marks its end. */
#define SECTION_ROWS	  (TAPIR_REPAIR_ROWS / 2 - 1)

static int by_start(const void *a, const void *b)
{
	const struct tapir_eh_row *x = a, *y = b;

	return x->start_va < y->start_va ? -1 : x->start_va > y->start_va;
}

static void mark_pages(struct tapir_repair_file *file, uint32_t off, uint32_t size)
{
	for (uint64_t page = off >> file->page_shift;
	     page <= ((uint64_t)off + size - 1) >> file->page_shift; page++)
		file->pages[page / 64] |= 1ull << (page % 64);
}

static void add_row(struct tapir_repair_table *t, uint32_t off, uint32_t cfa_off)
{
	struct tapir_repair_row *last = t->row_cnt ? &t->file.rows[t->row_cnt - 1] : NULL;

	if (last && last->off == off)
		last->cfa_off = cfa_off;
	else if (!last || last->cfa_off != cfa_off)
		t->file.rows[t->row_cnt++] = (struct tapir_repair_row){off, cfa_off};
}

/* rows: sorted. One that overlaps the one before it is left out: no honest file has it. */
static int fill(struct tapir_repair_table *t, const struct tapir_eh_row *rows, uint32_t cnt)
{
	uint64_t size = 0, end;

	t->start_va = rows[0].start_va;
	for (uint32_t i = 0; i < cnt; i++) {
		end = rows[i].start_va - t->start_va;
		if (end > UINT32_MAX || end + rows[i].size > UINT32_MAX)
			return -EFBIG;
		end += rows[i].size;
		size = end > size ? end : size;
	}
	t->size = (uint32_t)size;
	t->file.page_shift = MIN_PAGE_SHIFT;
	while ((size - 1) >> t->file.page_shift >= TAPIR_REPAIR_PAGES)
		t->file.page_shift++;
	end = 0;
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t off = (uint32_t)(rows[i].start_va - t->start_va);

		if (off < end)
			continue;
		add_row(t, off, rows[i].cfa_off);
		add_row(t, off + rows[i].size, 0);
		mark_pages(&t->file, off, rows[i].size);
		end = (uint64_t)off + rows[i].size;
	}
	for (uint32_t i = t->row_cnt; i < TAPIR_REPAIR_ROWS; i++)
		t->file.rows[i].off = UINT32_MAX;
	return 0;
}

static bool find_function(struct tapir_elf *elf, const char *name, struct tapir_eh_want *out)
{
	struct tapir_elf_syms syms;

	if (tapir_elf__syms(elf, SHT_DYNSYM, &syms))
		return false;
	for (size_t i = 0; i < syms.cnt; i++) {
		const Elf64_Sym *sym = &syms.syms[i];

		if (!sym->st_size || strcmp(tapir_elf_syms__name(&syms, i), name))
			continue;
		out->from_va = sym->st_value;
		out->until_va = sym->st_value + sym->st_size;
		return true;
	}
	return false;
}

/* Jumps to functions of other files, which .eh_frame does not describe: a return address each. */
static uint32_t add_jumps(struct tapir_elf *elf, struct tapir_eh_row *rows, uint32_t cnt)
{
	const Elf64_Shdr *plt = tapir_elf__section(elf, ".plt");

	if (!plt || !plt->sh_size || plt->sh_size > JUMPS_MAX_BYTES || cnt == SECTION_ROWS)
		return cnt;
	rows[cnt++] = (struct tapir_eh_row){plt->sh_addr, (uint32_t)plt->sh_size, 8};
	return cnt;
}

static int make(struct tapir_elf *elf, const struct tapir_eh_section *section,
		const struct tapir_eh_want *want, struct tapir_repair_table **out)
{
	struct tapir_eh_row *rows = calloc(SECTION_ROWS, sizeof(*rows));
	struct tapir_repair_table *t = calloc(1, sizeof(*t));
	uint32_t cnt = 0, is_cut = 0;
	int err = -ENOMEM;

	if (rows && t) {
		cnt = tapir_eh__rows(section, want, rows, SECTION_ROWS, &is_cut);
		if (cnt && !want)
			cnt = add_jumps(elf, rows, cnt);
		qsort(rows, cnt, sizeof(*rows), by_start);
		err = cnt ? fill(t, rows, cnt) : -ENOENT;
	}
	free(rows);
	if (err) {
		free(t);
		return err;
	}
	if (is_cut)
		tapir_debug("%s: rows beyond %u of functions without a frame are dropped",
			    tapir_elf__name(elf), cnt);
	*out = t;
	return 0;
}

int tapir_repair_table__make(struct tapir_elf *elf, const char *only,
			     struct tapir_repair_table **out)
{
	const Elf64_Shdr *shdr = tapir_elf__section(elf, ".eh_frame");
	struct tapir_eh_section section = {};
	struct tapir_eh_want want;
	const void *data;
	size_t len;
	int err;

	if (!shdr || tapir_elf__machine(elf) != EM_X86_64 ||
	    (only && !find_function(elf, only, &want)))
		return -ENOENT;
	if (shdr->sh_size > SECTION_MAX_BYTES)
		return -EFBIG;
	err = tapir_elf__data(elf, shdr, &data, &len);
	if (err)
		return err;
	section.data = data;
	section.bytes = len;
	section.va = shdr->sh_addr;
	return make(elf, &section, only ? &want : NULL, out);
}

void tapir_repair_file__set_leaves(struct tapir_repair_file *file)
{
	memset(file, 0xff, sizeof(*file)); /* every page has rows, and no row but the first */
	file->rows[0] = (struct tapir_repair_row){0, 8};
	file->page_shift = 31;
	file->pad0 = 0;
}
