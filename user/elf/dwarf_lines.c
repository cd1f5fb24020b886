// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libdw finds a line by its table; for functions it would go through the whole unit at each
 * address. So each unit's functions are listed when the first of its addresses is looked up, and
 * only the children of one function are walked.
 */
#include "elf/dwarf_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define MAX_RANGES 65536 /* of one unit or function */
#define MAX_UNITS  (1u << 20)
#define MAX_DEPTH  128 /* of blocks, and of namespaces */
#define MAX_TEXT   2048

struct range {
	uint64_t start_va, end_va;
	uint64_t at; /* idx of a unit, or offset of a function's entry */
};

struct ranges tapir_vec(struct range);

struct unit {
	Dwarf_Die die;
	bool is_listed;
	struct ranges functions;
};

struct tapir_dwarf_lines {
	Elf *elf, *alt_elf;
	Dwarf *dwarf, *alt;
	struct tapir_vec(struct unit) units;
	struct ranges ranges;
};

/* ---- answers ------------------------------------------------------------------------------ */

static bool is_lines_text(const struct tapir_lines_answer *answer, uint32_t at)
{
	return at == TAPIR_LINES_NO_TEXT || at < answer->text_bytes;
}

bool tapir_lines_answer__is_valid(const struct tapir_lines_answer *answer)
{
	if (answer->cnt > TAPIR_LINES_MAX_FRAMES || answer->text_bytes > TAPIR_LINES_TEXT_BYTES ||
	    (answer->text_bytes && answer->texts[answer->text_bytes - 1]))
		return false;
	for (uint32_t i = 0; i < answer->cnt; i++)
		if (!is_lines_text(answer, answer->frames[i].function) ||
		    !is_lines_text(answer, answer->frames[i].file))
			return false;
	return true;
}

static uint32_t add_lines_text(struct tapir_lines_answer *answer, const char *text)
{
	size_t len = text ? strnlen(text, MAX_TEXT) : 0;
	uint32_t at = answer->text_bytes;

	if (!len || len >= sizeof(answer->texts) - at)
		return TAPIR_LINES_NO_TEXT;
	memcpy(answer->texts + at, text, len);
	answer->texts[at + len] = '\0';
	answer->text_bytes += (uint32_t)len + 1;
	return at;
}

/* ---- ranges ------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start_va < y->start_va ? -1 : x->start_va > y->start_va;
}

static void sort_ranges(struct ranges *ranges)
{
	if (ranges->cnt > 1)
		qsort(ranges->data, ranges->cnt, sizeof(*ranges->data), by_start);
}

static void add_ranges(struct ranges *ranges, Dwarf_Die *die, uint64_t at)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t off = 0;

	for (unsigned i = 0; i < MAX_RANGES; i++) {
		off = dwarf_ranges(die, off, &base, &start, &end);
		if (off <= 0)
			return;
		if (start < end && !tapir_vec__push(ranges, ((struct range){start, end, at})))
			return;
	}
}

/* The last one that begins at or before va, if va is in it. */
static const struct range *find_range(const struct ranges *ranges, uint64_t va)
{
	size_t idx = tapir_sorted__upper_bound(ranges->data, ranges->cnt, start_va, va);

	return idx && va < ranges->data[idx - 1].end_va ? &ranges->data[idx - 1] : NULL;
}

/* ---- opening ------------------------------------------------------------------------------ */

static void list_units(struct tapir_dwarf_lines *lines)
{
	Dwarf_Off off = 0, next;
	size_t header_bytes;

	while (lines->units.cnt < MAX_UNITS &&
	       !dwarf_nextcu(lines->dwarf, off, &next, &header_bytes, NULL, NULL, NULL)) {
		struct unit unit = {};

		if (dwarf_offdie(lines->dwarf, off + header_bytes, &unit.die)) {
			add_ranges(&lines->ranges, &unit.die, lines->units.cnt);
			if (!tapir_vec__push(&lines->units, unit))
				return;
		}
		if (next <= off)
			return;
		off = next;
	}
	sort_ranges(&lines->ranges);
}

static Dwarf *open_dwarf(int fd, Elf **elf)
{
	elf_version(EV_CURRENT);
	*elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	return *elf ? dwarf_begin_elf(*elf, DWARF_C_READ, NULL) : NULL;
}

int tapir_dwarf_lines__open(int fd, int alt_fd, struct tapir_dwarf_lines **out)
{
	struct tapir_dwarf_lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	lines->dwarf = open_dwarf(fd, &lines->elf);
	lines->alt = open_dwarf(alt_fd, &lines->alt_elf);
	if (lines->dwarf && lines->alt)
		dwarf_setalt(lines->dwarf, lines->alt);
	if (lines->dwarf)
		list_units(lines);
	if (!lines->ranges.cnt) {
		tapir_dwarf_lines__free(lines);
		return -ENODATA;
	}
	*out = lines;
	return 0;
}

void tapir_dwarf_lines__free(struct tapir_dwarf_lines *lines)
{
	struct unit *unit;

	if (!lines)
		return;
	tapir_vec_for_each (unit, &lines->units)
		tapir_vec__fini(&unit->functions);
	tapir_vec__fini(&lines->units);
	tapir_vec__fini(&lines->ranges);
	dwarf_end(lines->dwarf);
	dwarf_end(lines->alt);
	elf_end(lines->elf);
	elf_end(lines->alt_elf);
	free(lines);
}

/* ---- functions of a unit ------------------------------------------------------------------ */

static void list_functions(struct ranges *functions, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth == MAX_DEPTH || dwarf_child(parent, &die))
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			add_ranges(functions, &die, dwarf_dieoffset(&die));
		if (tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
		    tag == DW_TAG_structure_type)
			list_functions(functions, &die, depth + 1);
	} while (!dwarf_siblingof(&die, &die));
}

static bool find_function(struct tapir_dwarf_lines *lines, struct unit *unit, uint64_t va,
			  Dwarf_Die *out)
{
	const struct range *range;

	if (!unit->is_listed) {
		list_functions(&unit->functions, &unit->die, 0);
		sort_ranges(&unit->functions);
		unit->is_listed = true;
	}
	range = find_range(&unit->functions, va);
	return range && dwarf_offdie(lines->dwarf, range->at, out);
}

/* The child, or its child, in which va is: what was inlined, or a block. */
static bool find_block(Dwarf_Die *parent, uint64_t va, Dwarf_Die *out)
{
	if (dwarf_child(parent, out))
		return false;
	do {
		int tag = dwarf_tag(out);

		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
		     tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
		    dwarf_haspc(out, va) > 0)
			return true;
	} while (!dwarf_siblingof(out, out));
	return false;
}

/* Finds the functions that were inlined at va, outermost first. */
static unsigned find_inlined(Dwarf_Die *function, uint64_t va,
			     Dwarf_Die inlined[TAPIR_LINES_MAX_FRAMES])
{
	Dwarf_Die at = *function, next;
	unsigned cnt = 0;

	for (unsigned depth = 0;
	     depth < MAX_DEPTH && cnt < TAPIR_LINES_MAX_FRAMES - 1 && find_block(&at, va, &next);
	     depth++) {
		if (dwarf_tag(&next) == DW_TAG_inlined_subroutine)
			inlined[cnt++] = next;
		at = next;
	}
	return cnt;
}

/* ---- names and places --------------------------------------------------------------------- */

static const char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		return dwarf_formstring(&attr);
	return dwarf_diename(die);
}

static uint32_t attr_number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	return dwarf_attr(die, name, &attr) && !dwarf_formudata(&attr, &value) && value <= INT32_MAX
		       ? (uint32_t)value
		       : 0;
}

/* Adds the source line of va by the unit's line table. */
static void add_lines_location(struct tapir_lines_answer *out, struct unit *unit, uint64_t va,
			       struct tapir_lines_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, va);
	int number = 0;

	if (!line || dwarf_lineno(line, &number) || number <= 0)
		return;
	frame->line = (uint32_t)number;
	frame->file = add_lines_text(out, dwarf_linesrc(line, NULL, NULL));
}

/* Adds the source line at which an inlined function was called. */
static void add_call(struct tapir_lines_answer *out, struct unit *unit, Dwarf_Die *inlined,
		     struct tapir_lines_frame *frame)
{
	uint32_t file = attr_number(inlined, DW_AT_call_file);
	Dwarf_Files *files;
	size_t cnt;

	frame->line = attr_number(inlined, DW_AT_call_line);
	if (frame->line && !dwarf_getsrcfiles(&unit->die, &files, &cnt) && file < cnt)
		frame->file = add_lines_text(out, dwarf_filesrc(files, file, NULL, NULL));
}

void tapir_dwarf_lines__find(struct tapir_dwarf_lines *lines, uint64_t va,
			     struct tapir_lines_answer *out)
{
	Dwarf_Die inlined[TAPIR_LINES_MAX_FRAMES], function;
	const struct range *range = find_range(&lines->ranges, va);
	struct unit *unit;
	unsigned cnt;

	out->cnt = out->text_bytes = 0;
	if (!range)
		return;
	unit = &lines->units.data[range->at];
	cnt = find_function(lines, unit, va, &function) ? find_inlined(&function, va, inlined) : 0;
	for (unsigned i = 0; i <= cnt; i++) {
		struct tapir_lines_frame *frame = &out->frames[i];

		*frame = (struct tapir_lines_frame){TAPIR_LINES_NO_TEXT, TAPIR_LINES_NO_TEXT, 0};
		if (i)
			add_call(out, unit, &inlined[cnt - i], frame);
		else
			add_lines_location(out, unit, va, frame);
		if (i < cnt)
			frame->function = add_lines_text(out, die_name(&inlined[cnt - 1 - i]));
	}
	out->cnt = cnt + 1;
}
