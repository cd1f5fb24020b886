// SPDX-License-Identifier: GPL-2.0-or-later
/* All that is needed of a file is read at once; its methods are sorted by their places. */
#include "symbol/dotnet_r2r.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/vec.h"
#include "runtime/dotnet_metadata.h"
#include "runtime/dotnet_pe.h"
#include "trace/record.h"

#define MACHINE_X86_64	     0x8664u
#define MACHINE_X86_64_LINUX (0x8664u ^ 0x7b79u) /* code for one system is marked so */
#define NATIVE_HEADER_OFF    64u		 /* in the CLI header */
#define MAGIC		     0x00525452u	 /* "RTR" */
#define SECTIONS_MAX	     64u
#define SECTION_MAX	     (64u << 20)
#define NESTED_MAX	     8

enum { SECTION_FUNCTIONS = 102, SECTION_METHODS = 103 };

struct function { /* of the section of functions */
	uint32_t start_va, end_va, unwind_va;
};

struct bytes {
	uint8_t *data;
	size_t len;
};

struct tapir_r2r {
	struct tapir_vec(struct tapir_r2r_method) methods; /* by start_off */
	struct tapir_metadata metadata;
	struct bytes metadata_bytes;
};

/* ---- sections ----------------------------------------------------------------------------------- */

static int read_section(const struct tapir_pe *pe, uint32_t va, uint32_t size, struct bytes *out)
{
	uint64_t off;
	int err = size && size <= SECTION_MAX ? tapir_pe__off(pe, va, &off) : -ENOEXEC;

	if (err)
		return err;
	out->data = malloc(size);
	if (!out->data)
		return -ENOMEM;
	out->len = size;
	return tapir_pe__read(pe, off, out->data, size) ? 0 : -ENOEXEC;
}

static int read_sections(const struct tapir_pe *pe, struct bytes *functions, struct bytes *methods)
{
	uint32_t place[2], head[4], one[3]; /* va, bytes; magic, version, flags, count; type, ... */
	uint64_t off;
	int err = 0;

	if (!tapir_pe__read(pe, pe->cli_off + NATIVE_HEADER_OFF, place, sizeof(place)) ||
	    tapir_pe__off(pe, place[0], &off) || !tapir_pe__read(pe, off, head, sizeof(head)) ||
	    head[0] != MAGIC)
		return -ENOEXEC;
	for (uint32_t i = 0; i < head[3] && i < SECTIONS_MAX && !err; i++) {
		if (!tapir_pe__read(pe, off + sizeof(head) + i * sizeof(one), one, sizeof(one)))
			return -ENOEXEC;
		if (one[0] == SECTION_FUNCTIONS && !functions->data)
			err = read_section(pe, one[1], one[2], functions);
		else if (one[0] == SECTION_METHODS && !methods->data)
			err = read_section(pe, one[1], one[2], methods);
	}
	return err ? err : functions->data && methods->data ? 0 : -ENOEXEC;
}

/* ---- the sparse array of methods ------------------------------------------------------------- */

/*
 * A number of 1 to 5 bytes: as many as the lowest byte has ones at its end, and one; the bits above
 * them, or, of five bytes, the four others, are its value. Returns where it ends; 0: it is cut.
 */
static size_t take_number(const struct bytes *b, size_t at, uint32_t *out)
{
	uint64_t value = 0;
	unsigned cnt;

	if (at >= b->len)
		return 0;
	cnt = (unsigned)__builtin_ctz(~(uint32_t)b->data[at]) + 1;
	if (cnt > 5 || b->len - at < cnt)
		return 0;
	memcpy(&value, b->data + at, cnt);
	*out = (uint32_t)(value >> (cnt == 5 ? 8 : cnt));
	return at + cnt;
}

/* Where the tree of the block of 16 that idx is in begins; 0: there is none. */
static size_t block_of(const struct bytes *b, size_t base, unsigned width_log, uint32_t idx)
{
	size_t width = (size_t)1 << width_log, at = base + width * (idx / 16);
	uint32_t off = 0;

	if (width > 4 || at > b->len || b->len - at < width)
		return 0;
	memcpy(&off, b->data + at, width);
	return base + off;
}

/*
 * Where the element's entry is; 0: there is none. In a node, bit 0 says that a left half follows,
 * bit 1 that a right half stands that far from it; with neither it is a leaf, of that element.
 */
static size_t find_entry(const struct bytes *b, size_t base, unsigned width_log, uint32_t idx)
{
	size_t at = block_of(b, base, width_log, idx);

	for (uint32_t bit = 8; at && bit; bit /= 2) {
		uint32_t node;
		size_t behind = take_number(b, at, &node);

		if (!behind)
			return 0;
		if (!(node & 3))
			return node >> 2 == (idx & 15) ? behind : 0;
		if (!(node & (idx & bit ? 2 : 1)))
			return 0;
		at = idx & bit ? at + (node >> 2) : behind;
	}
	return at;
}

/* Its number behind which, where bit 0 is set, fixups are told of. */
static bool read_entry(const struct bytes *b, size_t at, uint32_t *function)
{
	uint32_t id;

	if (!take_number(b, at, &id))
		return false;
	*function = id & 1 ? id >> 2 : id >> 1;
	return true;
}

static int add_method(struct tapir_r2r *r, const struct tapir_pe *pe, const struct bytes *functions,
		      uint32_t idx, uint32_t row)
{
	struct tapir_r2r_method method = {.row = row};
	struct function f;

	if (idx >= functions->len / sizeof(f))
		return 0;
	memcpy(&f, functions->data + idx * sizeof(f), sizeof(f));
	if (f.end_va <= f.start_va || tapir_pe__off(pe, f.start_va, &method.start_off))
		return 0;
	method.size = f.end_va - f.start_va;
	return tapir_vec__push(&r->methods, method) ? 0 : -ENOMEM;
}

static int add_methods(struct tapir_r2r *r, const struct tapir_pe *pe,
		       const struct bytes *functions, const struct bytes *methods)
{
	uint32_t head, cnt, function, rows = tapir_metadata__rows(&r->metadata, TAPIR_MD_METHOD);
	size_t base = take_number(methods, 0, &head), at;
	int err = base ? 0 : -ENOEXEC;

	cnt = base && head >> 2 < rows ? head >> 2 : rows;
	for (uint32_t i = 0; i < cnt && !err; i++) {
		at = find_entry(methods, base, head & 3, i);
		if (at && read_entry(methods, at, &function))
			err = add_method(r, pe, functions, function, i + 1);
	}
	return err;
}

/* ---- the file ----------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct tapir_r2r_method *x = a, *y = b;

	return x->start_off < y->start_off ? -1 : x->start_off > y->start_off;
}

static int fill(struct tapir_r2r *r, const struct tapir_pe *pe)
{
	struct bytes functions = {}, methods = {};
	void *metadata = NULL;
	int err = tapir_pe__read_metadata(pe, &metadata, &r->metadata_bytes.len);

	r->metadata_bytes.data = metadata;
	if (!err && tapir_metadata__init(&r->metadata, metadata, r->metadata_bytes.len))
		err = -ENOEXEC;
	if (!err)
		err = read_sections(pe, &functions, &methods);
	if (!err)
		err = add_methods(r, pe, &functions, &methods);
	free(functions.data);
	free(methods.data);
	if (!err && !r->methods.cnt)
		err = -ENOEXEC;
	if (!err)
		qsort(r->methods.data, r->methods.cnt, sizeof(*r->methods.data), by_start);
	return err;
}

int tapir_r2r__load(int fd, struct tapir_r2r **out)
{
	struct tapir_r2r *r;
	struct tapir_pe pe;
	int err = tapir_pe__open(fd, &pe);

	if (!err && pe.machine != MACHINE_X86_64 && pe.machine != MACHINE_X86_64_LINUX)
		err = -ENOEXEC;
	if (err)
		return err;
	r = calloc(1, sizeof(*r));
	err = r ? fill(r, &pe) : -ENOMEM;
	if (err)
		tapir_r2r__free(r);
	else
		*out = r;
	return err;
}

void tapir_r2r__free(struct tapir_r2r *r)
{
	if (!r)
		return;
	tapir_vec__fini(&r->methods);
	free(r->metadata_bytes.data);
	free(r);
}

size_t tapir_r2r__bytes(const struct tapir_r2r *r)
{
	return r->metadata_bytes.len + r->methods.cnt * sizeof(*r->methods.data);
}

/* ---- questions ---------------------------------------------------------------------------------- */

bool tapir_r2r__find(const struct tapir_r2r *r, uint64_t file_off, struct tapir_r2r_method *out)
{
	size_t behind = tapir_sorted__behind(r->methods.data, r->methods.cnt, start_off, file_off);
	const struct tapir_r2r_method *method = behind ? &r->methods.data[behind - 1] : NULL;

	if (!method || file_off - method->start_off >= method->size)
		return false;
	*out = *method;
	return true;
}

/* The type it is nested in; 0: none. The table is sorted by its first column. */
static uint32_t outer_of(const struct tapir_metadata *m, uint32_t type)
{
	uint32_t row = tapir_metadata__last_upto(m, TAPIR_MD_NESTED_CLASS, 0, type);

	return tapir_metadata__number(m, TAPIR_MD_NESTED_CLASS, row, 0) == type
		       ? tapir_metadata__number(m, TAPIR_MD_NESTED_CLASS, row, 1)
		       : 0;
}

static void put_module(const struct tapir_metadata *m, struct tapir_str *out)
{
	const char *name = tapir_metadata__string(m, TAPIR_MD_MODULE, 1, TAPIR_MD_MODULE_NAME);
	struct tapir_sv text = tapir_sv__of(name);

	if (tapir_sv__ends_with(text, ".dll"))
		text.len -= strlen(".dll");
	tapir_str__addf(out, "[%.*s] ", (int)text.len, text.data);
}

void tapir_r2r__put_name(const struct tapir_r2r *r, uint32_t row, struct tapir_str *out)
{
	const struct tapir_metadata *m = &r->metadata;
	uint32_t types[NESTED_MAX] = {tapir_metadata__type_of(m, row)};
	unsigned cnt = 1;
	const char *space;

	while (cnt < NESTED_MAX && (types[cnt] = outer_of(m, types[cnt - 1])))
		cnt++;
	put_module(m, out);
	space = tapir_metadata__string(m, TAPIR_MD_TYPE_DEF, types[cnt - 1], TAPIR_MD_TYPE_SPACE);
	if (*space)
		tapir_str__addf(out, "%s.", space);
	while (cnt--)
		tapir_str__addf(out, "%s%s",
				tapir_metadata__string(m, TAPIR_MD_TYPE_DEF, types[cnt],
						       TAPIR_MD_TYPE_NAME),
				cnt ? "+" : "::");
	tapir_str__addf(out, "%s(...)[PreJIT]",
			tapir_metadata__string(m, TAPIR_MD_METHOD, row, TAPIR_MD_METHOD_NAME));
}
