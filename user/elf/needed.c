// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the dynamic section and the string table that it names. Both come from the file: an offset
 * outside of the table counts as an entry that is absent.
 */
#include "elf/needed.h"

#include <string.h>

struct strings {
	const char *data;
	size_t len;
};

static const char *string_at(const struct strings *s, uint64_t off)
{
	return off < s->len && memchr(s->data + off, '\0', s->len - off) ? s->data + off : NULL;
}

static void take_dynamic(struct tapir_needed *out, const Elf64_Dyn *dyn,
			 const struct strings *strings)
{
	const char *text = string_at(strings, dyn->d_un.d_val);

	if (!text || !*text)
		return;
	if (dyn->d_tag == DT_NEEDED && out->cnt < TAPIR_NEEDED_MAX)
		out->names[out->cnt++] = text;
	else if (dyn->d_tag == DT_RPATH)
		out->rpath = text;
	else if (dyn->d_tag == DT_RUNPATH)
		out->runpath = text;
}

static void read_interpreter(struct tapir_elf *elf, struct tapir_needed *out)
{
	const Elf64_Shdr *sec = tapir_elf__section(elf, ".interp");
	struct strings text;

	if (sec && !tapir_elf__data(elf, sec, (const void **)&text.data, &text.len))
		out->interpreter = string_at(&text, 0);
}

void tapir_needed__read(struct tapir_elf *elf, struct tapir_needed *out)
{
	const Elf64_Shdr *dynamic = tapir_elf__section_of_type(elf, SHT_DYNAMIC), *names;
	struct strings strings;
	const void *data;
	size_t len;

	*out = (struct tapir_needed){};
	read_interpreter(elf, out);
	names = dynamic ? tapir_elf__section_at_idx(elf, dynamic->sh_link) : NULL;
	if (!names || tapir_elf__data(elf, dynamic, &data, &len) ||
	    tapir_elf__data(elf, names, (const void **)&strings.data, &strings.len))
		return;
	for (const Elf64_Dyn *dyn = data; len >= sizeof(*dyn); dyn++, len -= sizeof(*dyn)) {
		if (dyn->d_tag == DT_NULL)
			break;
		if (dyn->d_tag == DT_NEEDED || dyn->d_tag == DT_RPATH || dyn->d_tag == DT_RUNPATH)
			take_dynamic(out, dyn, &strings);
	}
}
