// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All that is needed of a file is read at once. The section of functions has a method's main part
 * and, after it, its exception handlers; two more sections identify the main parts: an array of the
 * methods that are not instances, and a table of those that are.
 */
#include "symbol/dotnet_r2r.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/vec.h"
#include "base/foreign/foreign_file.h"
#include "elf/pe_metadata.h"
#include "elf/pe_image.h"
#include "symbol/dotnet_native.h"
#include "symbol/dotnet_r2r_name.h"

#define NATIVE_HEADER_OFF 64u	      /* in the CLI header */
#define MAGIC		  0x00525452u /* "RTR" */
#define SECTIONS_MAX	  64u
#define SECTION_MAX	  (64u << 20)

enum {
	SECTION_FUNCTIONS = 102,
	SECTION_METHODS = 103,
	SECTION_INSTANCES = 109,
	SECTION_COLD = 120, /* parts that do not follow their main part */
};

struct function { /* of the section of functions */
	uint32_t start_va, end_va, unwind_va;
};

struct main_part {
	uint32_t function; /* its index */
	uint32_t row, sig;
};

struct tapir_r2r {
	struct tapir_vec(struct tapir_r2r_method) methods; /* by start_off */
	struct tapir_metadata metadata;
	void *metadata_bytes;
	size_t metadata_len;
	struct tapir_native instances;
};

struct loading {
	struct tapir_r2r *r;
	struct tapir_pe pe;
	struct tapir_native functions, methods;
	struct tapir_vec(struct main_part) main_parts;
	bool has_cold, has_unknown; /* the method of a part cannot be derived from its position */
	int err;
};

/* ---- sections ----------------------------------------------------------------------------------- */

static int read_section(const struct tapir_pe *pe, uint32_t va, uint32_t size,
			struct tapir_native *out)
{
	uint64_t off;
	int err = size && size <= SECTION_MAX ? tapir_pe__off(pe, va, &off) : -ENOEXEC;

	if (err || out->data)
		return err;
	out->data = malloc(size);
	if (!out->data)
		return -ENOMEM;
	out->len = size;
	return tapir_pe__read(pe, off, out->data, size) ? 0 : -ENOEXEC;
}

static int take_section(struct loading *l, const uint32_t section[3])
{
	switch (section[0]) {
	case SECTION_FUNCTIONS:
		return read_section(&l->pe, section[1], section[2], &l->functions);
	case SECTION_METHODS:
		return read_section(&l->pe, section[1], section[2], &l->methods);
	case SECTION_INSTANCES:
		return read_section(&l->pe, section[1], section[2], &l->r->instances);
	case SECTION_COLD:
		l->has_cold = true;
		return 0;
	default:
		return 0;
	}
}

static int read_sections(struct loading *l)
{
	uint32_t directory[2], head[4],
		one[3]; /* va, bytes; magic, version, flags, count; type, ... */
	const struct tapir_pe *pe = &l->pe;
	uint64_t off;
	int err = 0;

	if (!tapir_pe__read(pe, pe->cli_off + NATIVE_HEADER_OFF, directory, sizeof(directory)) ||
	    tapir_pe__off(pe, directory[0], &off) || !tapir_pe__read(pe, off, head, sizeof(head)) ||
	    head[0] != MAGIC)
		return -ENOEXEC;
	for (uint32_t i = 0; i < head[3] && i < SECTIONS_MAX && !err; i++) {
		if (!tapir_pe__read(pe, off + sizeof(head) + i * sizeof(one), one, sizeof(one)))
			return -ENOEXEC;
		err = take_section(l, one);
	}
	return err ? err : l->functions.data && l->methods.data ? 0 : -ENOEXEC;
}

/* ---- main parts --------------------------------------------------------------------------------- */

/* An entry: the function's index, and whether fixups follow it. */
static bool add_main_part(struct loading *l, const struct tapir_native *b, size_t entry,
			  uint32_t row, uint32_t sig)
{
	uint32_t id;

	if (!tapir_native__number(b, entry, &id)) {
		l->has_unknown = true;
		return true;
	}
	if (!tapir_vec__push(&l->main_parts,
			     ((struct main_part){id & 1 ? id >> 2 : id >> 1, row, sig})))
		l->err = -ENOMEM;
	return !l->err;
}

static void add_methods(struct loading *l)
{
	uint32_t rows = tapir_metadata__rows(&l->r->metadata, TAPIR_MD_METHOD);
	struct tapir_native_array array;

	if (!tapir_native_array__init(&array, &l->methods)) {
		l->err = -ENOEXEC;
		return;
	}
	for (uint32_t i = 0; i < array.cnt && i < rows && !l->err; i++) {
		size_t entry = tapir_native_array__find(&array, i);

		if (entry)
			add_main_part(l, &l->methods, entry, i + 1, 0);
	}
}

static bool parse_sig(const struct tapir_native *b, size_t at, struct tapir_r2r_sig *out)
{
	return tapir_r2r_sig__parse((struct tapir_md_blob){b->data + at, b->len - at}, out);
}

/* Reads an instance: its signature, then its entry. */
static bool add_instance(size_t at, void *ctx)
{
	struct loading *l = ctx;
	const struct tapir_native *b = &l->r->instances;
	struct tapir_r2r_sig sig;

	if (parse_sig(b, at, &sig))
		return add_main_part(l, b, at + sig.bytes, sig.method.row, (uint32_t)at);
	l->has_unknown = true;
	return true;
}

static void add_instances(struct loading *l)
{
	const struct tapir_native *b = &l->r->instances;

	if (b->data && !tapir_native_table__each(b, l->functions.len / sizeof(struct function),
						 add_instance, l))
		l->has_unknown = true;
}

/* ---- methods ------------------------------------------------------------------------------------ */

static bool function_at(const struct loading *l, uint64_t idx, struct function *out)
{
	if (idx >= l->functions.len / sizeof(*out))
		return false;
	memcpy(out, l->functions.data + idx * sizeof(*out), sizeof(*out));
	return out->end_va > out->start_va;
}

/* With the handlers after it, up to where the next method begins. */
static bool add_r2r_method(struct loading *l, const struct main_part *part, uint64_t next_function)
{
	struct tapir_r2r_method method = {.row = part->row, .sig = part->sig};
	struct function first, last;
	uint64_t off;

	if (!part->row || !function_at(l, part->function, &first) ||
	    tapir_pe__off(&l->pe, first.start_va, &off) || off > UINT32_MAX)
		return true;
	if (l->has_cold || l->has_unknown || !function_at(l, next_function - 1, &last) ||
	    last.end_va < first.end_va)
		last = first;
	method.start_off = (uint32_t)off;
	method.size = last.end_va - first.start_va;
	return tapir_vec__push(&l->r->methods, method);
}

static int by_function(const void *a, const void *b)
{
	const struct main_part *x = a, *y = b;

	return x->function < y->function ? -1 : x->function > y->function;
}

static int by_start(const void *a, const void *b)
{
	const struct tapir_r2r_method *x = a, *y = b;

	return x->start_off < y->start_off ? -1 : x->start_off > y->start_off;
}

static int make_methods(struct loading *l)
{
	const struct main_part *parts = l->main_parts.data;
	size_t cnt = l->main_parts.cnt;
	struct tapir_r2r *r = l->r;

	if (cnt)
		qsort(l->main_parts.data, cnt, sizeof(*parts), by_function);
	for (size_t i = 0; i < cnt; i++)
		if (!add_r2r_method(l, &parts[i],
				    i + 1 < cnt ? parts[i + 1].function
						: l->functions.len / sizeof(struct function)))
			return -ENOMEM;
	if (!r->methods.cnt)
		return -ENOEXEC;
	qsort(r->methods.data, r->methods.cnt, sizeof(*r->methods.data), by_start);
	return 0;
}

/* ---- the file ----------------------------------------------------------------------------------- */

static int fill_methods(struct loading *l)
{
	struct tapir_r2r *r = l->r;
	int err = tapir_pe__read_metadata(&l->pe, &r->metadata_bytes, &r->metadata_len);

	if (!err && tapir_metadata__init(&r->metadata, r->metadata_bytes, r->metadata_len))
		err = -ENOEXEC;
	if (!err)
		err = read_sections(l);
	if (err)
		return err;
	add_methods(l);
	if (!l->err)
		add_instances(l);
	return l->err ? l->err : make_methods(l);
}

int tapir_r2r__load(int fd, struct tapir_r2r **out)
{
	tapir_autofd int content_fd = tapir_foreign__content(fd);
	struct loading l = {};
	int err = content_fd < 0 ? content_fd : tapir_pe__open(content_fd, &l.pe);

	if (!err && !tapir_pe__is_x86_64(&l.pe))
		err = -ENOEXEC;
	if (err)
		return err;
	l.r = calloc(1, sizeof(*l.r));
	err = l.r ? fill_methods(&l) : -ENOMEM;
	free(l.functions.data);
	free(l.methods.data);
	tapir_vec__fini(&l.main_parts);
	if (err)
		tapir_r2r__free(l.r);
	else
		*out = l.r;
	return err;
}

void tapir_r2r__free(struct tapir_r2r *r)
{
	if (!r)
		return;
	tapir_vec__fini(&r->methods);
	free(r->instances.data);
	free(r->metadata_bytes);
	free(r);
}

size_t tapir_r2r__bytes(const struct tapir_r2r *r)
{
	return r->metadata_len + r->instances.len + r->methods.cnt * sizeof(*r->methods.data);
}

/* ---- questions ---------------------------------------------------------------------------------- */

bool tapir_r2r__find(const struct tapir_r2r *r, uint64_t file_off, struct tapir_r2r_method *out)
{
	size_t upper =
		tapir_sorted__upper_bound(r->methods.data, r->methods.cnt, start_off, file_off);
	const struct tapir_r2r_method *method = upper ? &r->methods.data[upper - 1] : NULL;

	if (!method || file_off - method->start_off >= method->size)
		return false;
	*out = *method;
	return true;
}

void tapir_r2r__put_name(const struct tapir_r2r *r, const struct tapir_r2r_method *method,
			 struct tapir_str *out)
{
	struct tapir_r2r_sig sig;
	bool has_sig = method->sig && parse_sig(&r->instances, method->sig, &sig);

	tapir_r2r_name__add(out, &r->metadata, method->row, has_sig ? &sig : NULL);
}
