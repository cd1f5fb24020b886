// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A name is looked up once, also where there is none: without the row that says so, the file would
 * be read again for each object of that type.
 */
#include "runtime/dotnet/dotnet_type_names.h"

#include <stdlib.h>
#include <string.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/foreign/foreign_file.h"
#include "elf/pe_image.h"
#include "trace/record.h"

#define MAX_KNOWN  64u
#define MAX_NESTED 16u
#define MAX_ARITY  16u

/* ---- by metadata ---------------------------------------------------------------------------- */

/* The type around a nested one; 0: it is not nested. */
static uint32_t outer_of(const struct tapir_metadata *m, uint32_t row)
{
	uint32_t nesting = tapir_metadata__last_upto(m, TAPIR_MD_NESTED_CLASS, 0, row);

	return nesting && tapir_metadata__number(m, TAPIR_MD_NESTED_CLASS, nesting, 0) == row
		       ? tapir_metadata__number(m, TAPIR_MD_NESTED_CLASS, nesting, 1)
		       : 0;
}

/* "List`1" is "List<>", "Dictionary`2" is "Dictionary<,>". */
static void add_one(const char *name, struct tapir_str *out)
{
	size_t len = strcspn(name, "`");
	unsigned long arity = name[len] ? strtoul(name + len + 1, NULL, 10) : 0;

	tapir_str__add_printable(out, name, len);
	if (!arity)
		return;
	tapir_str__addc(out, '<');
	for (unsigned long i = 1; i < arity && i < MAX_ARITY; i++)
		tapir_str__addc(out, ',');
	tapir_str__addc(out, '>');
}

void tapir_dotnet_type__add_name(const struct tapir_metadata *m, uint32_t row,
				 struct tapir_str *out)
{
	uint32_t rows[MAX_NESTED];
	unsigned cnt = 0;
	const char *space;

	for (; row && row <= tapir_metadata__rows(m, TAPIR_MD_TYPE_DEF) && cnt < MAX_NESTED;
	     row = outer_of(m, row))
		rows[cnt++] = row;
	if (!cnt)
		return;
	space = tapir_metadata__string(m, TAPIR_MD_TYPE_DEF, rows[cnt - 1], TAPIR_MD_TYPE_SPACE);
	if (*space) {
		tapir_str__add_printable(out, space, strlen(space));
		tapir_str__addc(out, '.');
	}
	for (unsigned i = cnt; i--;) {
		add_one(tapir_metadata__string(m, TAPIR_MD_TYPE_DEF, rows[i], TAPIR_MD_TYPE_NAME),
			out);
		if (i)
			tapir_str__addc(out, '.');
	}
}

/* ---- of a process --------------------------------------------------------------------------- */

struct search {
	const struct tapir_dotnet_type_names *names;
	const struct tapir_dotnet_type_name *wanted;
	struct tapir_str found;
};

static void read_name(int fd, uint32_t row, struct tapir_str *out)
{
	tapir_autofd int content_fd = tapir_foreign__content(fd);
	tapir_autofree void *bytes = NULL;
	struct tapir_metadata m;
	struct tapir_pe pe;
	size_t len = 0;

	if (content_fd >= 0 && !tapir_pe__open(content_fd, &pe) &&
	    !tapir_pe__read_metadata(&pe, &bytes, &len) && !tapir_metadata__init(&m, bytes, len))
		tapir_dotnet_type__add_name(&m, row, out);
}

static int see_mapping(const struct tapir_mapping_line *line, void *ctx)
{
	struct search *search = ctx;
	tapir_autofd int fd = -1;

	if (!tapir_mapping_line__is_file(line) || strcmp(line->path, search->wanted->path) != 0)
		return 0;
	fd = tapir_proc__open_mapped(search->names->tgid, line, NULL);
	if (fd >= 0)
		read_name(fd, search->wanted->row, &search->found);
	return 1;
}

const char *tapir_dotnet_type_names__of(struct tapir_dotnet_type_names *names, const char *path,
					uint32_t row)
{
	struct tapir_dotnet_type_name one = {.row = row};
	const struct tapir_dotnet_type_name *known;
	struct search search = {.names = names, .wanted = &one};
	int mark = tapir_diag__cnt();

	tapir_vec_for_each (known, &names->known)
		if (known->row == row && !strcmp(known->path, path))
			return known->name;
	one.path = names->known.cnt < MAX_KNOWN ? strdup(path) : NULL;
	if (!one.path)
		return NULL;
	(void)tapir_proc__each_mapping(names->tgid, see_mapping, &search);
	tapir_diag__rewind(mark); /* without a name */
	one.name = search.found.data;
	if (tapir_vec__push(&names->known, one))
		return one.name;
	free(one.path);
	free(one.name);
	return NULL;
}

void tapir_dotnet_type_names__fini(struct tapir_dotnet_type_names *names)
{
	struct tapir_dotnet_type_name *known;

	tapir_vec_for_each (known, &names->known) {
		free(known->path);
		free(known->name);
	}
	tapir_vec__fini(&names->known);
}
