// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * gHotSpotVMStructs: a table of (type, field, offset) that HotSpot exports for its own debugger.
 * Its strides and members are exported as variables, too, so nothing of a version is assumed.
 * Observed on JDK 17 and 25.
 */
#include "runtime/jvm/jvm_structs.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ENTRIES	 16384u /* of a table; JDK 17 has 2,000 */
#define MAX_STRIDE_BYTES 256u
#define MAX_OFFSET	 65536u /* in a structure, and of its size */
#define NAME_BYTES	 64u
#define PAGE_BYTES	 4096u
#define PAGES		 64u

const char *const tapir_jvm_exports[TAPIR_JVM_EXPORT_CNT] = {
#define TAPIR_X(name, symbol) [TAPIR_JVM_EXPORT_##name] = symbol,
	TAPIR_JVM_EXPORTS(TAPIR_X)
#undef TAPIR_X
};

struct page {
	uint64_t va; /* 0: none */
	size_t bytes;
	uint8_t data[PAGE_BYTES];
};

/* Entries and their names are close to one another: a page is read once. */
struct pages {
	const struct tapir_process_memory *memory;
	struct page pages[PAGES];
};

static const struct page *page_at(struct pages *p, uint64_t va)
{
	uint64_t start = va & ~(uint64_t)(PAGE_BYTES - 1);
	struct page *page = &p->pages[va / PAGE_BYTES % PAGES];

	if (page->va != start) {
		page->va = start;
		page->bytes = p->memory->read(p->memory->ctx, start, page->data, PAGE_BYTES);
	}
	return page;
}

static bool read_bytes(struct pages *p, uint64_t va, void *out, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		const struct page *page = page_at(p, va + done);
		size_t off = (va + done) % PAGE_BYTES, cnt = PAGE_BYTES - off;

		cnt = cnt < bytes - done ? cnt : bytes - done;
		if (off + cnt > page->bytes)
			return false;
		memcpy((char *)out + done, page->data + off, cnt);
		done += cnt;
	}
	return true;
}

static uint64_t u64_at(struct pages *p, uint64_t va)
{
	uint64_t value;

	return va && read_bytes(p, va, &value, sizeof(value)) ? value : 0;
}

static bool is_name(struct pages *p, uint64_t va, const char *name)
{
	char text[NAME_BYTES];
	size_t bytes = strlen(name) + 1;

	return bytes <= sizeof(text) && va && read_bytes(p, va, text, bytes) &&
	       !memcmp(text, name, bytes);
}

/* A table, with the offsets of what an entry has. */
struct table {
	uint64_t va, stride;
	uint64_t type_off, field_off, value_off, address_off; /* field_off: UINT64_MAX: none */
};

static bool fits_struct_stride(const struct table *t)
{
	return t->va && t->stride >= 8 && t->stride <= MAX_STRIDE_BYTES &&
	       t->type_off <= t->stride - 8 &&
	       (t->field_off == UINT64_MAX || t->field_off <= t->stride - 8) &&
	       t->value_off <= t->stride - 8 && t->address_off <= t->stride - 8;
}

static void take_struct_entry(struct pages *p, const struct table *t, uint64_t entry_va,
			      struct tapir_jvm_struct *wanted)
{
	uint64_t off = wanted->is_static ? t->address_off : t->value_off;

	wanted->value = u64_at(p, entry_va + off);
	wanted->is_found = wanted->is_static ? wanted->value != 0 : wanted->value <= MAX_OFFSET;
}

static void search_pages(struct pages *p, const struct table *t, struct tapir_jvm_struct *wanted,
			 size_t cnt)
{
	bool has_fields = t->field_off != UINT64_MAX;

	for (uint64_t i = 0, va = t->va; i < MAX_ENTRIES; i++, va += t->stride) {
		uint64_t type_va = u64_at(p, va + t->type_off);

		if (!type_va)
			return; /* the last one, or memory that cannot be read */
		for (size_t n = 0; n < cnt; n++) {
			struct tapir_jvm_struct *w = &wanted[n];

			if (!w->is_found && !w->field == !has_fields &&
			    is_name(p, type_va, w->type) &&
			    (!has_fields || is_name(p, u64_at(p, va + t->field_off), w->field)))
				take_struct_entry(p, t, va, w);
		}
	}
}

void tapir_jvm_structs__find(const struct tapir_process_memory *memory,
			     const uint64_t vas[TAPIR_JVM_EXPORT_CNT],
			     struct tapir_jvm_struct *wanted, size_t cnt)
{
	struct pages *p = calloc(1, sizeof(*p));
	uint64_t values[TAPIR_JVM_EXPORT_CNT];
	struct table fields, types;

	if (!p)
		return;
	p->memory = memory;
	for (unsigned i = 0; i < TAPIR_JVM_EXPORT_CNT; i++)
		values[i] = u64_at(p, vas[i]);
	fields = (struct table){values[TAPIR_JVM_EXPORT_STRUCTS],
				values[TAPIR_JVM_EXPORT_STRUCT_STRIDE],
				values[TAPIR_JVM_EXPORT_STRUCT_TYPE_NAME],
				values[TAPIR_JVM_EXPORT_STRUCT_FIELD_NAME],
				values[TAPIR_JVM_EXPORT_STRUCT_OFFSET],
				values[TAPIR_JVM_EXPORT_STRUCT_ADDRESS]};
	types = (struct table){
		values[TAPIR_JVM_EXPORT_TYPES],	    values[TAPIR_JVM_EXPORT_TYPE_STRIDE],
		values[TAPIR_JVM_EXPORT_TYPE_NAME], UINT64_MAX,
		values[TAPIR_JVM_EXPORT_TYPE_SIZE], 0};
	if (fits_struct_stride(&fields))
		search_pages(p, &fields, wanted, cnt);
	if (fits_struct_stride(&types))
		search_pages(p, &types, wanted, cnt);
	free(p);
}
