/* SPDX-License-Identifier: MIT */
/*
 * coreclr_repair.c - the callers that the runtime's assembly helpers hide from a walk by frame
 * pointers: from .NET 10 on the methods that allocate. Which functions do so is read from the
 * runtime's own .eh_frame (tapir/eh_rows.h) as it is mapped, in libcoreclr.so or in the executable
 * of a single-file app: whichever holds the functions it has passed to the library. That takes 1.2
 * ms, 5 the first time; a lookup tests a bit of a page and takes ten steps. Done before the tracer
 * gets its answer: a tracer that leaves quickly must find the control thread at work.
 */
#include <link.h>
#include <string.h>

#include "../ring/ring_writer.h"
#include "coreclr_impl.h"
#include "tapir/eh_rows.h"

#define ROW_MAX	   1023u
#define PAGE_MAX   16384u
#define PAGE_SHIFT 10 /* 1 KB: few pages have both helpers and other functions */

struct table {
	struct tapir_ring_repair repair;
	uint32_t row_cnt, pad0;
	uint64_t pages[PAGE_MAX / 64];
	struct tapir_eh_row rows[ROW_MAX];
};

static struct table *table;

/* ---- asked for each return address in the runtime ---------------------------------------------- */

static const struct tapir_eh_row *row_at(uint64_t va)
{
	uint32_t low = 0, high = table->row_cnt;
	const struct tapir_eh_row *row;

	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;

		if (table->rows[middle].start_va <= va)
			low = middle;
		else
			high = middle;
	}
	row = &table->rows[low];
	return va - row->start_va < row->size ? row : NULL;
}

/* The call is before its return address; the stack pointer was from_va then. */
static uint64_t find_call(uint64_t ip, uint64_t fp, uint64_t from_va, uint64_t until_va)
{
	uint64_t off = ip - 1 - table->repair.low_va, page = off >> PAGE_SHIFT;
	const struct tapir_eh_row *row;

	(void)fp;
	(void)until_va; /* the walker looks whether the word may be read */
	if (page >= PAGE_MAX || !(table->pages[page / 64] >> (page % 64) & 1))
		return 0;
	row = row_at(ip - 1);
	return row && row->cfa_off > TAPIR_EH_DEEP ? from_va + row->cfa_off - 8 : 0;
}

/* ---- where the runtime is ---------------------------------------------------------------------- */

struct search {
	uint64_t va; /* of one of its functions */
	struct tapir_eh_section header, frames;
};

/* The rest of the loaded segment that contains va. */
static uint64_t readable_bytes(const struct dl_phdr_info *info, uint64_t va)
{
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t off = va - info->dlpi_addr - segment->p_vaddr;

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_R &&
		    off < segment->p_filesz)
			return segment->p_filesz - off;
	}
	return 0;
}

/*
 * Finds .eh_frame by the header of the module that has the address (.eh_frame_hdr, as in the Linux
 * Standard Base): its version, which is 1, the encodings of three values, and at offset 4 the first
 * of these, the address of .eh_frame. Nothing is read beyond a readable segment. 1 ends
 * dl_iterate_phdr(3).
 */
static int on_module(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
	struct search *search = ctx;

	(void)bytes;
	if (!readable_bytes(info, search->va))
		return 0;
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_GNU_EH_FRAME)
			continue;
		search->header.va = info->dlpi_addr + segment->p_vaddr;
		search->header.bytes = readable_bytes(info, search->header.va);
		search->header.data = (const uint8_t *)(uintptr_t)search->header.va;
	}
	if (search->header.bytes >= 8 && search->header.data[0] == 1) {
		struct tapir_eh_cursor c = {
			.section = &search->header, .at = 4, .end = search->header.bytes};

		search->frames.va = tapir_eh__pointer(&c, search->header.data[1]);
		search->frames.bytes = c.bad ? 0 : readable_bytes(info, search->frames.va);
		search->frames.data = (const uint8_t *)(uintptr_t)search->frames.va;
	}
	return 1;
}

/* ---- the table ----------------------------------------------------------------------------------- */

/* A few hundred rows, most of them in order. */
static void sort_rows(void)
{
	for (uint32_t i = 1; i < table->row_cnt; i++) {
		struct tapir_eh_row row = table->rows[i];
		uint32_t at = i;

		for (; at && table->rows[at - 1].start_va > row.start_va; at--)
			table->rows[at] = table->rows[at - 1];
		table->rows[at] = row;
	}
}

/* 0: no code, or more of it than pages. */
static int mark_pages(void)
{
	uint64_t low_va = table->rows[0].start_va, end_va = low_va;

	for (uint32_t i = 0; i < table->row_cnt; i++) {
		uint64_t off = table->rows[i].start_va - low_va, end = off + table->rows[i].size;

		if (end > (uint64_t)PAGE_MAX << PAGE_SHIFT)
			return 0;
		end_va = low_va + end > end_va ? low_va + end : end_va;
		for (uint64_t page = off >> PAGE_SHIFT; page <= (end - 1) >> PAGE_SHIFT; page++)
			table->pages[page / 64] |= 1ull << (page % 64);
	}
	table->repair.low_va = low_va;
	table->repair.high_va = end_va + 1; /* a return address may be the first byte after it */
	return 1;
}

int coreclr_repair__start(void)
{
	struct search search = {.va = (uint64_t)(uintptr_t)(*(void ***)coreclr.info)[0]};
	uint32_t is_truncated;

	if (!dl_iterate_phdr(on_module, &search) || !search.frames.bytes)
		return 0;
	table = coreclr_memory__take(sizeof(*table));
	if (!table)
		return 0;
	table->row_cnt = tapir_eh__rows(&search.frames, table->rows, ROW_MAX, &is_truncated);
	sort_rows();
	table->repair.find = find_call;
	if (table->row_cnt && mark_pages())
		tapir_ring__set_repair(&table->repair);
	return 0;
}

void coreclr_repair__stop(void)
{
	tapir_ring__set_repair(NULL);
	table = NULL;
}
